//! `warpfold segments`

use warpfold::segmented_on;

use super::{keyed, threads};
use crate::args::Segments;
use crate::error::Failure;
use crate::input;

/// Reduces each segment.
pub fn run(args: &Segments) -> Result<(), Failure> {
    threads::check(args.keyed.threads, args.device)?;
    threads::limit(args.keyed.threads)?;
    let mask = args.keyed.how.mask.as_deref();
    keyed::one_standard_input(&[
        ("INPUT", Some(&args.input.input)),
        ("--offsets", Some(&args.offsets)),
        ("--where", mask),
    ])?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let offsets = input::open(&args.offsets, None)?;
    keyed::run(args.op.name(), Some(args.op), &args.keyed, &source, &offsets, |values, offsets, options, fill| {
        let segments = warpfold::Segments::new(offsets)?;
        let segments = fill.into_iter().fold(segments, warpfold::Segments::fill);
        segmented_on(args.device, args.op, values, &segments, options)
    })
}
