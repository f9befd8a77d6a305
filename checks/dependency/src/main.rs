//! Suites of `warpfold bench` on the CPU, by calls of the public, typed interface from a crate that depends on it.

use std::error::Error;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

use warpfold::{Array, ArrayRef, DType, Op, Options, Precision, Tensor, Value, View, bf16, f16, over, reduce};
use warpfold_bench::cpu::Cpu;
use warpfold_bench::peer::{Program, folder};
use warpfold_bench::progress::Progress;
use warpfold_bench::record::{Machine, Record};
use warpfold_bench::runner::{self, Plan};
use warpfold_bench::{render, suite};

const USAGE: &str = "dependency [--suite NAMES] [--peers NAMES] [--filter TEXT] [--samples N] [--budget SECONDS] \
    [--bits] [--json FILE] [--resume]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (mut suites, mut peers) = ("cpu".to_owned(), "numpy,torch".to_owned());
    let (mut filter, mut samples, mut budget) = (String::new(), 11, 10.0);
    let (mut json, mut bits, mut resume) = (None, false, false);
    let mut command = vec!["dependency".to_owned()];
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(USAGE);
        match word.as_str() {
            "--suite" => suites = value()?,
            "--peers" => peers = value()?,
            "--filter" => filter = value()?,
            "--samples" => samples = value()?.parse()?,
            "--budget" => budget = value()?.parse()?,
            "--json" => json = Some(PathBuf::from(value()?)),
            "--bits" => bits = true,
            "--resume" => resume = true,
            _ => return Err(USAGE.into()),
        }
    }
    command.push(format!("--suite {suites} --peers {peers} --samples {samples} --budget {budget}"));
    command.extend((!filter.is_empty()).then(|| format!("--filter '{filter}'")));
    command.extend(bits.then(|| "--bits".to_owned()));
    let mut suites = suites.split(',').map(suite::load).collect::<Result<Vec<_>, _>>()?;
    suites.iter_mut().for_each(|suite| suite.cases.retain(|case| case.to_string().contains(&filter)));
    let folder = folder(None);
    let names = peers.split(',').filter(|name| *name != "none");
    let before = json.as_deref().filter(|path| resume && path.exists()).map(Record::read).transpose()?;
    let plan = Plan {
        suites,
        samples,
        budget: Duration::try_from_secs_f64(budget)?,
        limit: None,
        bits,
        command: command.join(" "),
        program: "a crate that depends on warpfold".into(),
        machine: Machine::cpu(),
        device: "cpu".into(),
        peers: names.map(|name| Program::named(name, folder.as_deref())).collect::<Result<_, _>>()?,
        before,
    };
    let mut progress = Progress::new(plan.len(), json);
    let record = runner::run(&plan, &mut Cpu::calling(call), &mut progress)?;
    print!("{}", render::text(&record));
    if record.wrong().is_empty() { Ok(()) } else { Err("results are wrong".into()) }
}

/// An array of the harness, as an array of this crate's own.
struct Data<'a, T>(ArrayRef<'a>, PhantomData<T>);

impl<T: Value> View for Data<'_, T> {
    type Elem = T;

    fn view(&self) -> Result<ArrayRef<'_>, warpfold::Error> {
        Ok(self.0)
    }
}

fn untyped<T: Value>(found: Tensor<T>) -> Array {
    Array { shape: found.shape, values: T::wrap(found.data) }
}

/// A reduction by the typed interface; what that lacks, by the other.
fn call(op: Op, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Array, warpfold::Error> {
    macro_rules! typed {
        ($t:ty) => {{
            let data = Data::<$t>(array, PhantomData);
            let mut some = over(&data);
            if let Some(axes) = &options.axes {
                some = some.axes(axes);
            }
            if let Some(threads) = options.threads {
                some = some.threads(threads);
            }
            match op {
                Op::Sum => some.sum().map(untyped),
                Op::Mean => some.mean().map(untyped),
                Op::Var => some.var().map(untyped),
                Op::Min => some.min().map(untyped),
                Op::Max => some.max().map(untyped),
                Op::ArgMax => some.argmax().map(untyped),
                _ => reduce(op, array, options),
            }
        }};
    }
    match array.dtype() {
        _ if options.skip_nan || options.precision != Precision::Tree => reduce(op, array, options),
        DType::F16 => typed!(f16),
        DType::BF16 => typed!(bf16),
        DType::F32 => typed!(f32),
        DType::F64 => typed!(f64),
        DType::I8 => typed!(i8),
        DType::U8 => typed!(u8),
        DType::I32 => typed!(i32),
        DType::I64 => typed!(i64),
        _ => reduce(op, array, options),
    }
}
