//! Random cases on a GPU, against the CPU. A run goes on after a failure, and tells of many at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cases::{Case, Class};
use crate::device_options;
use crate::reference::Strided;
use warpfold::cuda::{Array, ArrayView, Buffer, Device, Error, Options, Reduction, Stream, Survey};
use warpfold::reduce;

/// Failures that are shown.
const SHOWN: usize = 20;

/// An array of the host's on a device, byte for byte: the same strides, and the same distance from an address that is a
/// multiple of 16.
pub struct OnDevice {
    buffer: Buffer<u8>,
    offset: usize,
    dtype: warpfold::DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl OnDevice {
    pub fn new(stream: &Stream, x: &Strided) -> OnDevice {
        let (bytes, base) = x.bytes();
        let shift = bytes.as_ptr().addr() % 16;
        let mut all = vec![0xee; shift];
        all.extend(bytes);
        let buffer = Buffer::upload(stream, &all).expect("upload");
        OnDevice { buffer, offset: shift + base, dtype: x.dtype, shape: x.shape.clone(), strides: x.strides.clone() }
    }

    pub fn view(&self) -> Result<ArrayView<'_>, warpfold::Error> {
        let address = self.buffer.address() + self.offset as u64;
        // SAFETY: the buffer has the bytes of the host's array, whose strides stay within them.
        unsafe { ArrayView::from_raw(0, address, self.dtype, &self.shape, &self.strides) }
    }
}

/// Where two results differ, if they do.
pub fn differs(got: &warpfold::Array, want: &warpfold::Array) -> Option<String> {
    if got.shape != want.shape || got.dtype() != want.dtype() {
        return Some(format!("{} {:?}, not {} {:?}", got.dtype(), got.shape, want.dtype(), want.shape));
    }
    if got.values.as_bytes() == want.values.as_bytes() {
        return None;
    }
    let bits = |a: &warpfold::Array, i| a.values.get(i).bits().0;
    let all = 0..got.values.len();
    let wrong: Vec<usize> = all.filter(|&i| bits(got, i) != bits(want, i)).collect();
    let first: Vec<String> = wrong
        .iter()
        .take(3)
        .map(|&i| {
            format!("[{i}] {} {:#x}, not {} {:#x}", got.values.get(i), bits(got, i), want.values.get(i), bits(want, i))
        })
        .collect();
    Some(format!("{} of {} outputs differ: {}", wrong.len(), got.values.len(), first.join("; ")))
}

/// What came of a case.
struct Outcome {
    kernels: String,
    wrong: Option<String>,
    is_dead: bool,
}

fn check(device: &Device, stream: &Stream, case: &Case) -> Outcome {
    let mut kernels = "no kernel".to_owned();
    let said = attempt(device, stream, case, &mut kernels);
    let is_dead = matches!(said, Err(warpfold::Error::Cuda(Error::Dead { .. })));
    let want = reduce(case.op, case.x.view(), &case.options());
    let wrong = match (said, &want) {
        (Ok(got), Ok(want)) => got.iter().find_map(|(how, got)| Some(format!("{how}: {}", differs(got, want)?))),
        (Err(why), Err(expected)) if why == *expected => None,
        // Cases for the CPU have elements at any address.
        (Err(warpfold::Error::Cuda(Error::Misaligned { .. })), _) => None,
        (Err(why), Ok(_)) => Some(why.to_string()),
        (said, Err(expected)) => Some(format!("{:?}, not the error {expected}", said.map(|_| "a result"))),
    };
    Outcome { kernels, wrong, is_dead }
}

type Results = Vec<(&'static str, warpfold::Array)>;

fn attempt(device: &Device, stream: &Stream, case: &Case, kernels: &mut String) -> Result<Results, warpfold::Error> {
    let x = OnDevice::new(stream, &case.x);
    let mask = case.mask.as_ref().map(|mask| OnDevice::new(stream, mask));
    let mask = mask.as_ref().map(OnDevice::view).transpose()?;
    let o = case.options();
    let options = device_options(&o, mask);
    let reduction = Reduction::new(device, case.op, &x.view()?, &options)?;
    *kernels = reduction.kernels().join(" + ");
    let mut out: Array = reduction.output()?;
    out.fill(stream, 0xa5)?;
    reduction.run(stream, x.view()?, mask, &mut out)?;
    let first = out.download(stream);
    // Also after an error, which must not linger.
    let second = reduction.run_to_host(stream, x.view()?, mask);
    Ok(vec![("run", first?), ("run_to_host", second?)])
}

/// What an environment variable says.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs cases of a class, and fails with what was wrong.
pub fn soak(device: &Device, class: Class) {
    let least = number("WARPFOLD_GPU_CASES").unwrap_or(match class {
        Class::Large => 195,
        Class::Shared => 60,
        Class::Empty => 390,
        _ => 780,
    });
    let time = Duration::from_secs(number("WARPFOLD_GPU_SECONDS").unwrap_or(0));
    let from = number("WARPFOLD_GPU_FROM").unwrap_or(0);
    let is_traced = std::env::var_os("WARPFOLD_GPU_TRACE").is_some();
    let stream = Stream::new(device).expect("a stream");
    let start = Instant::now();
    let (mut wrong, mut by_kernel, mut checked) = (Vec::new(), BTreeMap::<String, (u32, u32)>::new(), 0);
    while checked < least || start.elapsed() < time {
        let case = Case::new(class, from + checked);
        if is_traced {
            eprintln!("{case}");
        }
        let Outcome { kernels, wrong: why, is_dead } = check(device, &stream, &case);
        checked += 1;
        let counts = by_kernel.entry(kernels.clone()).or_default();
        counts.0 += 1;
        if let Some(why) = why {
            counts.1 += 1;
            wrong.push(format!("{case}\n    {kernels}: {why}"));
        }
        if is_dead {
            break;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{class:?}: {checked} cases, {} wrong, {} kernels, {seconds:.1} s", wrong.len(), by_kernel.len());
    if !wrong.is_empty() {
        let bad = by_kernel.iter().filter(|(_, (_, bad))| *bad > 0);
        let bad: Vec<String> = bad.map(|(k, (all, bad))| format!("{k}: {bad} of {all}")).collect();
        let shown = wrong[..wrong.len().min(SHOWN)].join("\n");
        panic!("{} of {checked} cases of {class:?} are wrong:\n{shown}\nby kernel:\n{}", wrong.len(), bad.join("\n"));
    }
}

/// Describes the arrays of cases of a class, and fails with what was wrong.
pub fn describe_soak(device: &Device, class: Class) {
    // As many of each dtype; the ops do not matter.
    let step = match class {
        Class::Shared => 195,
        Class::Large => 60,
        _ => 15,
    };
    let seeds = (0..number("WARPFOLD_GPU_CASES").unwrap_or(780)).step_by(step);
    let stream = Stream::new(device).expect("a stream");
    let (mut wrong, mut by_kernel, mut checked) = (Vec::new(), BTreeMap::<String, u32>::new(), 0);
    for seed in seeds {
        let case = Case::new(class, seed);
        let axes = case.options().axes;
        let want = warpfold::describe(case.x.view(), &warpfold::Options { axes: axes.clone(), ..Default::default() });
        let x = OnDevice::new(&stream, &case.x);
        // Cases for the CPU have elements at any address.
        let Ok(view) = x.view() else { continue };
        let options = Options { axes, ..Options::default() };
        let mut kernels = "no kernel".to_owned();
        let got = Survey::new(device, &view, &options).and_then(|survey| {
            kernels = survey.kernels().join(" + ");
            let mut found = survey.output()?;
            survey.run(&stream, view, &mut found)?;
            survey.download(&found, &stream)
        });
        checked += 1;
        *by_kernel.entry(kernels.clone()).or_default() += 1;
        let why = match (&got, &want) {
            (Ok(got), Ok(want)) => unlike(got, want),
            (Err(got), Err(want)) if got == want => None,
            _ => Some(format!("{:?}, not {:?}", got.as_ref().err(), want.as_ref().err())),
        };
        wrong.extend(why.map(|why| format!("describe {case}\n    {kernels}: {why}")));
        if matches!(got, Err(warpfold::Error::Cuda(Error::Dead { .. }))) {
            break;
        }
    }
    println!("describe {class:?}: {checked} cases, {} wrong, {} ways", wrong.len(), by_kernel.len());
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong[..wrong.len().min(SHOWN)].join("\n"));
}

/// Where two descriptions differ, if they do.
fn unlike(got: &warpfold::Description, want: &warpfold::Description) -> Option<String> {
    let array =
        |d: &warpfold::Description, i: usize| warpfold::Array { shape: d.shape.clone(), values: d.stats[i].1.clone() };
    if got.count != want.count || got.stats.len() != want.stats.len() {
        return Some(format!(
            "{} statistics of {}, not {} of {}",
            got.stats.len(),
            got.count,
            want.stats.len(),
            want.count
        ));
    }
    (0..want.stats.len()).find_map(|i| {
        let (name, expected) = (got.stats[i].0, want.stats[i].0);
        let why =
            if name == expected { differs(&array(got, i), &array(want, i)) } else { Some("is out of place".into()) };
        Some(format!("{name}: {}", why?))
    })
}

/// Runs the case of that name, `Rows:123`.
pub fn one(device: &Device, name: &str) {
    let (class, seed) = name.split_once(':').expect("WARPFOLD_CASE=Class:seed");
    let case = Case::new(class.parse().expect("a class"), seed.parse().expect("a seed"));
    println!("{case}");
    let Outcome { kernels, wrong, .. } = check(device, &Stream::new(device).expect("a stream"), &case);
    println!("{kernels}: {}", wrong.as_deref().unwrap_or("right"));
    assert!(wrong.is_none(), "{case}\n    {kernels}: {}", wrong.unwrap_or_default());
}
