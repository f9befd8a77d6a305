//! Rows of a record: a row before its rung runs, and the verdict afterwards.

use super::case::{Case, Load};
use super::check;
use crate::plan::Plan;
use crate::record::{Run, Verdict};
use warpfold_kernels::ladder::{DType, Family};

/// A row without results yet.
pub fn blank(case: &Case, block: u32, bytes: u64, launches: u32) -> Run {
    let (clusters, coords) = match case.load {
        Load::Points(sizes) => (Some(sizes.clusters), Some(sizes.coords)),
        _ => (None, None),
    };
    let title = case.entry().title();
    Run {
        rung: case.name.clone(),
        title: match case.tuning.coarsen {
            Some(c) => format!("{title} Here {c} times as many per thread."),
            None => title.to_owned(),
        },
        family: match case.entry().family {
            Family::A => "a",
            Family::B => "b",
            Family::C => "c",
            Family::Reference => "",
        }
        .to_owned(),
        dtype: match case.load.dtype() {
            DType::F32 => "f32",
            DType::I32 => "i32",
        }
        .to_owned(),
        n: case.load.n(),
        block,
        clusters,
        coords,
        bytes,
        launches,
        verdict: Verdict { passed: false, detail: "not run".to_owned(), faults: Vec::new() },
        samples_ns: Vec::new(),
        cache: None,
        published_us: case.published_us(block),
        counters: None,
    }
}

/// A row without results yet, for a rung that the ladder plans.
pub fn blank_rung(case: &Case, plan: &Plan) -> Run {
    let block = plan.launches().next().map_or(0, |l| l.block);
    blank(case, block, plan.bytes, plan.launches().count() as u32)
}

/// The greatest number of additions that an element goes through.
pub fn depth_of(case: &Case, plan: &Plan) -> u64 {
    match case.load {
        Load::Points(_) => check::depth_centroids(plan),
        _ => check::depth(plan, case.load.n(), case.entry().atomic),
    }
}

/// The verdict: passed if all results are right and there are no faults. Published forms fail by one or the other.
pub fn verdict(said: Vec<Result<String, String>>, faults: Vec<String>) -> Verdict {
    let is_right = said.iter().all(Result::is_ok);
    let mut detail = match is_right {
        true => said.into_iter().flatten().collect::<Vec<_>>().join("; "),
        false => said.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("; "),
    };
    if !faults.is_empty() {
        detail += &format!("; {} fault{} in the emulator", faults.len(), if faults.len() == 1 { "" } else { "s" });
    }
    Verdict { passed: is_right && faults.is_empty(), detail, faults }
}
