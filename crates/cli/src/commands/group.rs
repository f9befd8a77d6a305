//! `warpfold group`

use warpfold::{GroupLabels, group_by_on, group_first_on, group_last_on, group_sizes_on};

use super::{keyed, threads};
use crate::args::{Group, GroupOp, Rounding};
use crate::error::Failure;
use crate::input;

/// Reduces each group.
pub fn run(args: &Group) -> Result<(), Failure> {
    let mask = args.keyed.how.mask.as_deref();
    keyed::one_standard_input(&[("INPUT", Some(&args.input.input)), ("--by", Some(&args.by)), ("--where", mask)])?;
    threads::check(args.keyed.threads, args.device)?;
    threads::limit(args.keyed.threads)?;
    let op = match args.op {
        GroupOp::Reduce(op) => Some(op),
        _ => refuse_options(args).map(|()| None)?,
    };
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let labels = input::open(&args.by, None)?;
    keyed::run(args.op.name(), op, &args.keyed, &source, &labels, |values, labels, options, fill| {
        let labels = args.groups.into_iter().fold(GroupLabels::new(labels), GroupLabels::groups);
        let labels = fill.into_iter().fold(labels, GroupLabels::fill);
        match args.op {
            GroupOp::Reduce(op) => group_by_on(args.device, op, values, &labels, options),
            GroupOp::First => group_first_on(args.device, values, &labels),
            GroupOp::Last => group_last_on(args.device, values, &labels),
            GroupOp::Size => group_sizes_on(args.device, &labels),
        }
    })
}

/// Refuses the options that first, last and size do not take.
fn refuse_options(args: &Group) -> Result<(), Failure> {
    let (keyed, how) = (&args.keyed, &args.keyed.how);
    let given = [
        (how.mask.is_some(), "--where"),
        (how.initial.is_some(), "--initial"),
        (how.dtype.is_some(), "--dtype"),
        (how.skip_nan, "--skip-nan"),
        (how.precision != Rounding::Tree, "--precision"),
        (args.op == GroupOp::Size && keyed.fill.is_some(), "--fill"),
        (how.ddof.is_some(), "--ddof"),
        (how.ord.is_some(), "--ord"),
    ];
    match given.iter().find(|(given, _)| *given) {
        Some((_, option)) => {
            let why = if args.op == GroupOp::Size { "it counts elements" } else { "it gives elements as they are" };
            Err(Failure::Usage(format!("{} does not take {option}: {why}", args.op.name())))
        }
        None => Ok(()),
    }
}
