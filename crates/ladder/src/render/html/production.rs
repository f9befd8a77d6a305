//! The source of the last rungs, which is the library's own.

use super::super::markup::{escape, prose};
use super::code;
use crate::plan::Sizes;
use crate::record::Run;
use crate::run::case::Load;
use crate::run::production::entries;
use warpfold_kernels::ladder::{DType, made_of};

/// The workload of a run.
fn load(run: &Run) -> Load {
    match (run.clusters, run.coords) {
        (Some(clusters), Some(coords)) => Load::Points(Sizes { points: run.n, clusters, coords }),
        _ => Load::Elements { dtype: if run.dtype == "i32" { DType::I32 } else { DType::F32 }, n: run.n },
    }
}

/// The first kernel that the library launches for such a load.
fn entry(load: Load) -> String {
    entries(load).unwrap_or_default().into_iter().next().unwrap_or_default()
}

/// A number of elements for which the library launches the kernel of this rung.
const MANY: u64 = 1 << 25;

/// The kernel that the library launches, and the files that it is made of.
pub fn sources(run: &Run) -> String {
    let load = load(run);
    let launched = entry(load);
    let (told, parts) = match made_of(&launched) {
        parts if parts.is_empty() => {
            let usual = entry(load.with_n(MANY));
            let words = format!(
                "So few elements take <code>{}</code>; of more, it is <code>{}</code>",
                escape(&launched),
                escape(&usual)
            );
            (words, made_of(&usual))
        }
        parts => {
            (format!("Here it is <code>{}</code>, with blocks of {} threads", escape(&launched), run.block), parts)
        }
    };
    let mut out = format!(
        "<h4>What it is made of</h4>\n<p>This rung is the library's own kernel. {told}. The kernel is compiled from \
         these parts, the outermost first. The same parts, combined in other ways, are the library's other \
         kernels.</p>\n"
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
            let entry = entry(load);
            let is_few = load.n() <= 100 && made_of(&super::entry(load.with_n(MANY))).len() > 1;
            assert!(is_few || made_of(&entry).len() > 1, "{load:?}: {entry}");
        }
    }
}
