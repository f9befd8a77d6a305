//! The source of the last rungs, which is the library's own.

use super::{code, escape, prose};
use crate::record::Run;
use crate::run::case::Load;
use crate::run::production::entries;
use warpfold_device::ladder::{DType, Sizes, made_of};

/// The workload that a run was of.
fn load(run: &Run) -> Load {
    match (run.clusters, run.coords) {
        (Some(clusters), Some(coords)) => Load::Points(Sizes { points: run.n, clusters, coords }),
        _ => Load::Elements { dtype: if run.dtype == "i32" { DType::I32 } else { DType::F32 }, n: run.n },
    }
}

/// The kernel that the library launches, and the files that it is made of.
pub fn sources(run: &Run) -> String {
    let entry = entries(load(run)).unwrap_or_default().into_iter().next().unwrap_or_default();
    let parts = made_of(&entry);
    if parts.is_empty() {
        return "<p>This rung is the library's own kernel; its source is in crates/device/src/kernels.</p>\n"
            .to_owned();
    }
    let mut out = format!(
        "<h4>What it is made of</h4>\n<p>This rung is the library's own kernel, <code>{}</code>, with blocks of {} threads. It is \
         compiled from these parts, the outermost first. The same parts, combined in other ways, are the library's other \
         kernels.</p>\n",
        escape(&entry),
        run.block
    );
    for (i, part) in parts.iter().enumerate() {
        let (file, lines) = (escape(part.file), part.source.lines().count());
        out += &format!(
            "<details{}><summary>{file} <small>{lines} lines: {}</small></summary>\n{}</details>\n",
            if i == 0 { " open" } else { "" },
            prose(part.role),
            code::listing(&format!("The source of {}", part.file), part.source, part.line, &[])
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_launches_at_any_size_has_a_source_to_show() {
        let sums =
            [DType::F32, DType::I32].map(|dtype| [1, 100, 4093, 1 << 20, 1 << 25].map(|n| Load::Elements { dtype, n }));
        let points = [(16, 1), (32, 1), (16, 3), (32, 64), (1, 2048), (32, 2048)]
            .map(|(clusters, coords)| Load::Points(Sizes { points: 1 << 16, clusters, coords }));
        for load in sums.into_iter().flatten().chain(points) {
            let entries = entries(load).expect("a plan");
            assert!(!made_of(&entries[0]).is_empty(), "{load:?}: {entries:?}");
        }
    }
}
