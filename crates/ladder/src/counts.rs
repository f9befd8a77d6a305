//! Converts the emulator's report to the counters of a record.

use crate::record::Counts;
use warpfold_emulator::Report;

impl Counts {
    /// The counters of `report`, over all launches for `n` elements.
    pub fn of(report: &Report, n: u64) -> Counts {
        let total = &report.total;
        let per_element = |count: u64| ratio(count, n);
        // Warp barriers are counted once per warp: all of its lanes take part.
        let warps = report.threads.div_ceil(32);
        let degrees = (1..).zip(&total.conflicts.0[1..]).filter(|&(_, &requests)| requests > 0);
        Counts {
            counted_n: n,
            barriers_per_block: report.barriers_per_block(),
            warp_barriers: ratio(total.warp_barriers, warps),
            branch_efficiency: 100.0 * total.branch_efficiency(),
            active_lanes: total.mean_active_lanes(),
            bank_conflicts: degrees.map(|(degree, &requests)| (degree, requests)).collect(),
            shared_wavefronts_per_request: ratio(total.shared_wavefronts, total.shared_requests),
            sectors_per_request: total.sectors_per_request(),
            shuffles_per_element: per_element(total.shuffles),
            atomics_per_element: per_element(total.atomics),
            global_requests_per_element: per_element(total.global_requests),
            shared_requests_per_element: per_element(total.shared_requests),
        }
    }

    /// Passes through shared memory: the number of requests, each times the degree of its bank conflicts.
    pub fn shared_passes_per_element(&self) -> f64 {
        self.shared_requests_per_element * self.shared_wavefronts_per_request
    }

    /// Shared requests with a conflict, by degree: two-way and worse.
    pub fn conflicts(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.bank_conflicts.iter().copied().filter(|&(degree, _)| degree > 1)
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::emulate_reduce;
    use crate::plan::Tuning;

    #[test]
    fn counts_are_those_of_the_report() {
        let data: Vec<i32> = (0..1024).collect();
        let ran = emulate_reduce("a1", &data, Tuning { block: Some(1024), coarsen: None }).expect("a plan");
        let counts = Counts::of(&ran.report, 1024);
        assert_eq!((counts.counted_n, counts.barriers_per_block), (1024, 11.0));
        let degrees: Vec<u32> = counts.conflicts().map(|(degree, _)| degree).collect();
        assert_eq!(degrees, [2, 4, 8, 16, 32]);
        assert!(counts.shared_wavefronts_per_request > 1.0 && counts.branch_efficiency < 100.0);
        let passes = ran.report.total.shared_wavefronts as f64 / 1024.0;
        assert!((counts.shared_passes_per_element() - passes).abs() < 1e-9);
        assert_eq!(counts.global_requests_per_element, 33.0 / 1024.0);
    }
}
