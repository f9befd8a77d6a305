//! `warpfold devices`

use std::io::Write;

use warpfold::cpu::simd::Simd;

use super::print;
use crate::args::Devices;
use crate::error::Failure;
use crate::json;

/// Lists what can compute.
pub fn run(args: &Devices) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let simd = Simd::current().name();
    print(|to| {
        if args.json {
            return writeln!(to, "[{{\"device\": \"cpu\", \"cores\": {cores}, \"simd\": {}}}]", json::string(simd));
        }
        writeln!(to, "cpu  {cores} core{}, {simd}", if cores == 1 { "" } else { "s" })
    })
}
