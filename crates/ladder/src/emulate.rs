//! Carries out plans in the emulator.

use crate::plan::{Arg, Buffer, Launch, Plan, PlanError, Sizes, Step, Tuning};
use crate::plan::{plan_centroids, plan_probe, plan_reduce, probe_input};
use std::collections::HashMap;
use warpfold_emulator::{self as emulator, Fault, Faults, Log, Memory, Report};
use warpfold_kernels::ladder::c::Centroids;
use warpfold_kernels::ladder::{Element, published, read};
use warpfold_kernels::{for_each_rung, probe};
use warpfold_simt::Global;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Ran<T> {
    /// The result, right or wrong.
    pub result: T,
    /// Everything counted, over all launches.
    pub report: Report,
    /// What each launch did, by entry.
    pub launches: Vec<(String, Report)>,
    /// What was wrong; empty for a sound kernel.
    pub faults: Vec<Fault>,
}

/// The result of a centroid update.
#[derive(Clone, Debug, PartialEq)]
pub struct Centers {
    /// `[cluster][coordinate]`.
    pub sums: Vec<f32>,
    /// Members per cluster.
    pub counts: Vec<u32>,
}

/// Sums `data` with a rung of family A or B.
///
/// # Errors
/// If there is no such plan. Faults of the kernel are part of the result.
pub fn emulate_reduce<T: Element>(name: &str, data: &[T], tuning: Tuning) -> Result<Ran<T>, PlanError> {
    let plan = plan_reduce(name, T::DTYPE, data.len() as u64, tuning)?;
    let mut device = Device::new(&plan);
    device.fill(Buffer::Input, data);
    Ok(device.run(&plan).map(|device| device.memory.read(device.buffers[&Buffer::Output].cast::<T>(), 1)[0]))
}

/// Updates centroids with a rung of family C.
///
/// # Errors
/// If there is no such plan. Faults of the kernel are part of the result.
///
/// # Panics
/// If `points` or `labels` does not have the size that `sizes` says.
pub fn emulate_centroids(
    name: &str,
    points: &[f32],
    labels: &[i32],
    sizes: Sizes,
    tuning: Tuning,
) -> Result<Ran<Centers>, PlanError> {
    assert_eq!(points.len() as u64, sizes.points * u64::from(sizes.coords), "points");
    assert_eq!(labels.len() as u64, sizes.points, "labels");
    let plan = plan_centroids(name, sizes, tuning)?;
    let mut device = Device::new(&plan);
    device.fill(Buffer::Input, points);
    device.fill(Buffer::Labels, labels);
    let (clusters, cells) = (sizes.clusters as usize, (sizes.clusters * sizes.coords) as usize);
    Ok(device.run(&plan).map(|device| {
        let sums = device.memory.read(device.buffers[&Buffer::Output].cast::<f32>(), cells);
        Centers { sums, counts: device.memory.read(device.buffers[&Buffer::Counts], clusters) }
    }))
}

/// Runs [`warpfold_kernels::probe`]: the words of every thread, then the totals.
pub fn emulate_probe() -> Ran<Vec<u32>> {
    let plan = plan_probe();
    let mut device = Device::new(&plan);
    device.fill(Buffer::Input, &probe_input());
    device.run(&plan).map(|device| {
        let read = |b: Buffer| device.memory.read(device.buffers[&b], device.sizes[&b]);
        [read(Buffer::Output), read(Buffer::Counts)].concat()
    })
}

impl<T> Ran<T> {
    fn map<U>(self, f: impl FnOnce(T) -> U) -> Ran<U> {
        Ran { result: f(self.result), report: self.report, launches: self.launches, faults: self.faults }
    }
}

/// The emulated device with a plan's buffers.
struct Device {
    memory: Memory,
    buffers: HashMap<Buffer, Global<u32>>,
    sizes: HashMap<Buffer, usize>,
}

impl Device {
    fn new(plan: &Plan) -> Device {
        let mut memory = Memory::new();
        let name = |b: Buffer| format!("{b:?}").to_lowercase();
        let buffers = plan.buffers.iter().map(|&(b, bytes)| (b, memory.alloc(&name(b), bytes as usize / 4))).collect();
        let sizes = plan.buffers.iter().map(|&(b, bytes)| (b, bytes as usize / 4)).collect();
        Device { memory, buffers, sizes }
    }

    fn fill<T: warpfold_simt::Pod>(&mut self, buffer: Buffer, data: &[T]) {
        self.memory.write(self.buffers[&buffer].cast(), data);
    }

    fn run(mut self, plan: &Plan) -> Ran<Device> {
        let (mut report, mut launches, mut log) = (Report::default(), Vec::new(), Log::default());
        for step in &plan.steps {
            match step {
                Step::Zero(buffer) => self.fill(*buffer, &vec![0u32; self.sizes[buffer]]),
                Step::Launch(launch) => {
                    let one = self.launch(launch).unwrap_or_else(|wrong| {
                        wrong.faults.into_iter().for_each(|fault| log.push(fault));
                        wrong.report
                    });
                    report.add(&one);
                    launches.push((launch.entry.clone(), one));
                }
            }
        }
        Ran { result: self, report, launches, faults: log.into_sorted() }
    }

    fn buffer<T>(&self, launch: &Launch, i: usize) -> Global<T> {
        match launch.args[i] {
            Arg::Buffer(b) => self.buffers[&b].cast(),
            other => panic!("argument {i} of {} is {other:?}, not a buffer", launch.entry),
        }
    }

    fn number(&self, launch: &Launch, i: usize) -> u64 {
        match launch.args[i] {
            Arg::U64(n) => n,
            Arg::U32(n) => u64::from(n),
            Arg::Buffer(b) => panic!("argument {i} of {} is {b:?}, not a number", launch.entry),
        }
    }

    fn centroids(&self, l: &Launch) -> Centroids {
        Centroids {
            points: self.buffer(l, 0),
            labels: self.buffer(l, 1),
            sums: self.buffer(l, 2),
            counts: self.buffer(l, 3),
            n: self.number(l, 4) as usize,
            clusters: self.number(l, 5) as u32,
            coords: self.number(l, 6) as u32,
        }
    }

    /// Runs the kernel that a launch names.
    fn launch(&self, l: &Launch) -> Result<Report, Box<Faults>> {
        let memory = &self.memory;
        macro_rules! arm {
            (reduce $t:ty, $kernel:expr) => {{
                let (input, output): (Global<$t>, Global<$t>) = (self.buffer(l, 0), self.buffer(l, 1));
                let n = self.number(l, 2) as usize;
                emulator::launch(memory, &l.entry, l.grid, l.block, |s| $kernel(s, input, output, n))
            }};
            (centroid $t:ty, $kernel:expr) => {{
                let at = self.centroids(l);
                emulator::launch(memory, &l.entry, l.grid, l.block, |s| $kernel(s, at))
            }};
        }
        macro_rules! compiled {
            ($($class:ident $name:ident: $t:ty = $kernel:expr;)*) => {
                match &*l.entry {
                    $(stringify!($name) => return arm!($class $t, $kernel),)*
                    _ => {}
                }
            };
        }
        for_each_rung!(compiled);
        match &*l.entry {
            "a1_as_published_f32" => arm!(reduce f32, published::a1::kernel::<_, f32>),
            "a1_as_published_i32" => arm!(reduce i32, published::a1::kernel::<_, i32>),
            "a4_as_published_f32" => arm!(reduce f32, published::a4::kernel::<_, f32>),
            "a4_as_published_i32" => arm!(reduce i32, published::a4::kernel::<_, i32>),
            "a5_as_published_f32_b128" => arm!(reduce f32, published::a5::kernel::<_, f32, 128>),
            "a5_as_published_i32_b128" => arm!(reduce i32, published::a5::kernel::<_, i32, 128>),
            "a5_as_published_f32_b256" => arm!(reduce f32, published::a5::kernel::<_, f32, 256>),
            "a5_as_published_i32_b256" => arm!(reduce i32, published::a5::kernel::<_, i32, 256>),
            "a7_as_published_f32_b128" => arm!(reduce f32, published::a7::kernel::<_, 128>),
            "a7_as_published_f32_b256" => arm!(reduce f32, published::a7::kernel::<_, 256>),
            "c1_as_published" => arm!(centroid f32, published::c1::kernel),
            "c3_as_published_u1" => arm!(centroid f32, published::c3::kernel::<_, 1>),
            "c3_as_published_u4" => arm!(centroid f32, published::c3::kernel::<_, 4>),
            "c7_as_published_b128_u1" => arm!(centroid f32, published::c7::kernel::<_, 128, 1>),
            "c7_as_published_b128_u4" => arm!(centroid f32, published::c7::kernel::<_, 128, 4>),
            "c7_as_published_b256_u1" => arm!(centroid f32, published::c7::kernel::<_, 256, 1>),
            "c7_as_published_b256_u4" => arm!(centroid f32, published::c7::kernel::<_, 256, 4>),
            "read_u32" => {
                let (input, output) = (self.buffer(l, 0), self.buffer(l, 1));
                let (n, never) = (self.number(l, 2) as usize, self.number(l, 3) as u32);
                emulator::launch(memory, &l.entry, l.grid, l.block, |s| read::kernel(s, input, output, n, never))
            }
            "probe" => {
                let (input, totals, output) = (self.buffer(l, 0), self.buffer(l, 1), self.buffer(l, 2));
                emulator::launch(memory, &l.entry, l.grid, l.block, |s| probe::kernel(s, input, totals, output))
            }
            other => panic!("the plan names an entry that does not exist: {other}"),
        }
    }
}
