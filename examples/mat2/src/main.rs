//! The product of many 2x2 matrices, on the CPU, by the GPU's kernels in the emulator, and on a GPU if there is one.

use mat2::{KERNELS, Mat2, Mat2Product, matrices};
use std::time::Instant;
use warpfold::cuda::{self, Custom, Device, Elements, Event, Stream};
use warpfold::{Error, emulate_elements, reduce_elements};

/// Matrices that the emulator multiplies; it is an interpreter.
const EMULATED: usize = 20_000;

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Error> {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1 << 24);
    let data = matrices(n);
    let start = Instant::now();
    let cpu = reduce_elements(Mat2Product, &data, &[n], None)?.data;
    println!("cpu       {n} matrices  {}  {:.3} ms", bits(&cpu), start.elapsed().as_secs_f64() * 1e3);

    let few = &data[..n.min(EMULATED)];
    let same = reduce_elements(Mat2Product, few, &[few.len()], None)?.data;
    let emulated = emulate_elements(Mat2Product, few, &[few.len()], None)?;
    let kernels: Vec<&str> = emulated.launches.iter().map(|(kernel, _)| &kernel[..]).collect();
    println!("emulator  {} matrices  {}  {}", few.len(), bits(&emulated.results.data), kernels.join(" "));
    println!("cpu       {} matrices  {}", few.len(), bits(&same));
    agree("the emulator", &emulated.results.data, &same);

    match cuda::shared(0) {
        Ok(gpu) => agree("the GPU", &on_gpu(&gpu, &data)?, &cpu),
        Err(why) => println!("gpu       skipped: {why}"),
    }
    Ok(())
}

/// The product on a GPU, and how long it takes: the median of 20 runs, by the device's clock.
fn on_gpu(gpu: &Device, data: &[Mat2]) -> Result<Vec<Mat2>, Error> {
    let stream = Stream::new(gpu)?;
    // SAFETY: the kernels are those of this crate; `cargo xtask ptx --check` compares.
    let product = unsafe { Custom::new(gpu, Mat2Product, KERNELS) }?;
    let elements = Elements::upload(&stream, data, &[data.len()])?;
    let reduction = product.prepare(elements.view(), None)?;
    let mut out = reduction.output()?;
    let (start, end) = (Event::new(gpu)?, Event::new(gpu)?);
    let mut times = Vec::new();
    for _ in 0..20 {
        stream.record(&start)?;
        reduction.run(&stream, elements.view(), &mut out)?;
        stream.record(&end)?;
        times.push(end.nanoseconds_since(&start)?);
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    let result = out.download(&stream)?.data;
    let speed = size_of_val(data) as f64 / median.max(1) as f64;
    let n = data.len();
    println!(
        "gpu       {n} matrices  {}  {:.3} ms, {speed:.0} GB/s, {}",
        bits(&result),
        median as f64 / 1e6,
        reduction.kernels().join(" ")
    );
    Ok(result)
}

fn words(m: &[Mat2]) -> Vec<[u32; 4]> {
    m.iter().map(|m| [m.a, m.b, m.c, m.d].map(f32::to_bits)).collect()
}

fn bits(m: &[Mat2]) -> String {
    words(m).concat().iter().map(|w| format!("{w:08x}")).collect::<Vec<_>>().join(" ")
}

fn agree(who: &str, found: &[Mat2], expected: &[Mat2]) {
    let verdict = if words(found) == words(expected) { "has the bits of the CPU" } else { "DIFFERS from the CPU" };
    println!("{who} {verdict}");
}
