//! `warpfold group`

use warpfold::cuda::{self, Device, End, Stream};
use warpfold::{Array, ArrayRef, DeviceName, Groups, Options, Scalar};

use super::{keyed, threads};
use crate::args::{Group, GroupOp, Rounding};
use crate::error::Failure;
use crate::input;

/// Reduces each group.
pub fn run(args: &Group) -> Result<(), Failure> {
    let mask = args.keyed.mask.as_deref();
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
        if let DeviceName::Cuda(index) = args.device {
            return on_gpu(&cuda::shared(index)?, args, labels, values, options, fill);
        }
        let groups = fill.into_iter().fold(Groups::new(labels, args.groups)?, Groups::fill);
        match args.op {
            GroupOp::Reduce(op) => groups.reduce(op, values, options),
            GroupOp::First => groups.first(values),
            GroupOp::Last => groups.last(values),
            GroupOp::Size => groups.sizes(),
        }
    })
}

/// Reduces, picks or counts on a GPU.
fn on_gpu(
    device: &Device,
    args: &Group,
    labels: ArrayRef<'_>,
    values: ArrayRef<'_>,
    options: &Options<'_>,
    fill: Option<Scalar>,
) -> Result<Array, warpfold::Error> {
    match args.op {
        GroupOp::Reduce(op) => cuda::group_by_host(op, labels, values, args.groups, options, fill, device),
        GroupOp::First => cuda::ends_host(End::First, labels, values, args.groups, fill, device),
        GroupOp::Last => cuda::ends_host(End::Last, labels, values, args.groups, fill, device),
        GroupOp::Size => {
            let stream = Stream::new(device)?;
            let labels = cuda::Array::upload(&stream, labels)?;
            cuda::Groups::new(labels.view(), args.groups, &stream)?.counts(&stream)?.download(&stream)
        }
    }
}

/// What first, last and size do not take.
fn refuse_options(args: &Group) -> Result<(), Failure> {
    let (keyed, how) = (&args.keyed, &args.keyed.how);
    let given = [
        (keyed.mask.is_some(), "--where"),
        (keyed.initial.is_some(), "--initial"),
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
