//! The ladder on a GPU. Without a GPU these tests are skipped with a message; `WARPFOLD_REQUIRE_GPU=1` makes a skip a
//! failure.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use warpfold::cuda::{self, Buffer as DeviceBuffer, Driver, Error, Pinned, Stream};
use warpfold_kernels::ladder::{DType, Family, Form, Rung, rung, rungs};
use warpfold_kernels::probe::WORDS;
use warpfold_ladder::run::case::{Case, Load, cases};
use warpfold_ladder::run::golden::{Golden, deterministic, emulated_bits};
use warpfold_ladder::run::gpu::Gpu;
use warpfold_ladder::run::production;
use warpfold_ladder::run::{self, Chosen, Families, Options, is_as_expected};
use warpfold_ladder::{Buffer, Sizes, Tuning, emulate_probe, probe_input};
use warpfold_ladder::{Inputs, Program, Work};

static SKIPPED: AtomicU32 = AtomicU32::new(0);

/// The GPU, one test at a time; `None` to skip.
fn gpu() -> Option<MutexGuard<'static, Gpu>> {
    static GPU: LazyLock<Result<Mutex<Gpu>, run::Error>> =
        LazyLock::new(|| cuda::open(0).map_err(run::Error::from).and_then(|device| Gpu::new(&device)).map(Mutex::new));
    match &*GPU {
        // A test that failed leaves the device as usable as its error says.
        Ok(gpu) => Some(gpu.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(why) => {
            assert!(std::env::var_os("WARPFOLD_REQUIRE_GPU").is_none_or(|v| v != "1"), "a GPU is required: {why}");
            let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            println!("skipped ({skipped} so far): {why}");
            None
        }
    }
}

fn sound(families: &[Family]) -> impl Iterator<Item = &'static Rung> {
    rungs().iter().filter(move |r| r.form == Form::Sound && families.contains(&r.family))
}

/// The mistakes of a case's results.
fn faults(gpu: &mut Gpu, case: &Case) -> Vec<String> {
    let said = gpu.check(case).unwrap_or_else(|why| panic!("{case:?}: {why}"));
    assert!(!said.is_empty());
    said.into_iter().filter_map(Result::err).map(|why| format!("{case:?}: {why}")).collect()
}

fn assert_right(wrong: Vec<String>, checked: usize) {
    println!("{checked} cases checked");
    assert!(wrong.is_empty() && checked > 0, "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_instruction_does_what_the_emulator_says() {
    let Some(gpu) = gpu() else { return };
    let device = gpu.device();
    let stream = Stream::new(&device).expect("a stream");
    let inputs = Inputs::upload(&stream, &probe_input()).expect("upload");
    let mut program = Program::new(&device, Work::Probe).expect("the probe");
    program.reset(&stream, &inputs).expect("reset");
    program.run(&stream, &inputs).expect("run");
    let read = |b| program.read(&stream, b).expect("read");
    let words = [read(Buffer::Output), read(Buffer::Counts)].concat();
    let expected = emulate_probe().result;
    assert_eq!(words.len(), expected.len());
    let differ: Vec<String> = (0..words.len())
        .filter(|&i| words[i] != expected[i])
        .map(|i| format!("word {} of thread {}: {:08x}, not {:08x}", i % WORDS, i / WORDS, words[i], expected[i]))
        .collect();
    assert!(differ.is_empty(), "{} differ, the first:\n{}", differ.len(), differ[..differ.len().min(40)].join("\n"));
}

#[test]
fn every_rung_of_a_and_b_sums_any_length() {
    let Some(mut gpu) = gpu() else { return };
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for n in [1, 31, 1000, 2048, 1 << 22, (1 << 25) - 3, 1 << 25] {
        for dtype in [DType::F32, DType::I32] {
            for rung in sound(&[Family::A, Family::B]) {
                // The textbook's first three rungs are for one block of two elements per thread.
                if ["b0", "b1", "b2"].contains(&rung.name) && n > 2048 {
                    continue;
                }
                let case = Case::new(rung, Load::Elements { dtype, n }, Tuning::default());
                wrong.extend(faults(&mut gpu, &case));
                checked += 1;
            }
        }
    }
    assert_right(wrong, checked);
}

#[test]
fn every_block_and_coarsening_is_right() {
    let Some(mut gpu) = gpu() else { return };
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for n in [1, 31, 1000, 100_003] {
        for dtype in [DType::F32, DType::I32] {
            for rung in sound(&[Family::A, Family::B]) {
                let coarsenings = if rung.coarsenings.is_empty() { &[1] } else { rung.coarsenings };
                for &block in rung.blocks {
                    for &c in coarsenings {
                        let coarsen = (!rung.coarsenings.is_empty()).then_some(c);
                        let case = Case::new(rung, Load::Elements { dtype, n }, Tuning { block: Some(block), coarsen });
                        wrong.extend(faults(&mut gpu, &case));
                        checked += 1;
                    }
                }
            }
        }
    }
    assert_right(wrong, checked);
}

#[test]
fn every_rung_of_c_updates_centroids() {
    let Some(mut gpu) = gpu() else { return };
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for points in [1, 31, 1000, 100_003, 1 << 20] {
        for coords in [1, 3, 16] {
            let load = Load::Points(Sizes { points, clusters: 16, coords });
            for rung in sound(&[Family::C]) {
                for &block in rung.blocks {
                    let case = Case::new(rung, load, Tuning { block: Some(block), coarsen: None });
                    wrong.extend(faults(&mut gpu, &case));
                    checked += 1;
                }
            }
        }
    }
    for rung in sound(&[Family::C]) {
        let load = Load::Points(Sizes { points: (1 << 20) - 3, clusters: 32, coords: 64 });
        wrong.extend(faults(&mut gpu, &Case::new(rung, load, Tuning::default())));
        checked += 1;
    }
    assert_right(wrong, checked);
}

#[test]
fn emulator_and_gpu_give_the_same_bits() {
    let Some(mut gpu) = gpu() else { return };
    let (mut sums, mut wrong) = (Vec::new(), Vec::new());
    // By length, so that each input is uploaded once.
    let mut cases = deterministic();
    cases.sort_by_key(|c| (c.load.n(), c.load.dtype() == DType::I32));
    for case in cases {
        let bits = gpu.bits(&case).unwrap_or_else(|why| panic!("{case:?}: {why}"));
        let expected = emulated_bits(&case).expect("a plan");
        if bits != [expected] {
            wrong.push(format!("{case:?}: {bits:08x?}, the emulator gives {expected:08x}"));
        }
        sums.push((case, bits[0]));
    }
    if let Some(path) = std::env::var_os("WARPFOLD_GOLDEN") {
        let stream = Stream::new(&gpu.device()).expect("a stream");
        let inputs = Inputs::upload(&stream, &probe_input()).expect("upload");
        let mut program = Program::new(&gpu.device(), Work::Probe).expect("the probe");
        program.run(&stream, &inputs).expect("run");
        let read = |b| program.read(&stream, b).expect("read");
        let probe = [read(Buffer::Output), read(Buffer::Counts)].concat();
        let golden = Golden::new(&gpu.device().properties().name, &probe, sums.iter().cloned());
        let text = serde_json::to_string(&golden).expect("json").replace("},{", "},\n{");
        std::fs::write(&path, text + "\n").expect("a file that can be written");
        println!("wrote {}", path.display());
    }
    assert_right(wrong, sums.len());
}

#[test]
fn a_rung_that_is_deterministic_gives_the_same_bits_every_time() {
    let Some(mut gpu) = gpu() else { return };
    for case in deterministic().into_iter().filter(|c| c.load.n() == 1 << 16) {
        let first = gpu.bits(&case).expect("bits");
        for _ in 0..20 {
            assert_eq!(gpu.bits(&case).expect("bits"), first, "{case:?}");
        }
    }
}

#[test]
fn the_published_workloads_are_recorded() {
    let Some(gpu) = gpu() else { return };
    let chosen = Chosen::Gpu(gpu.device());
    drop(gpu);
    let options = Options { samples: Some(20), counters: false, ..Options::default() };
    let outcome = run::run(&options, &chosen, |_| ()).expect("a record");
    let rows = &outcome.record.rungs;
    for row in rows {
        assert!(is_as_expected(row), "{}: {:?}", row.rung, row.verdict);
        let is_published = row.rung.ends_with("_as_published");
        assert_eq!(row.samples_ns.len(), if is_published { 0 } else { 20 }, "{}", row.rung);
        assert!(row.samples_ns.iter().all(|&ns| ns > 500), "{}: {:?}", row.rung, row.samples_ns);
    }
    assert!(outcome.record.device.peak_gbs.is_some_and(|g| g > 50.0), "{:?}", outcome.record.device);
    assert!(outcome.record.device.read_gbs.is_some_and(|g| g > 20.0), "{:?}", outcome.record.device);
    let median = |name: &str| {
        let row = rows.iter().find(|r| r.rung == name).expect(name);
        let mut samples = row.samples_ns.clone();
        samples.sort_unstable();
        samples[samples.len() / 2]
    };
    for pair in ["a0", "a1", "a3", "a6"].windows(2) {
        assert!(median(pair[0]) > median(pair[1]), "{pair:?}: {} ns, {} ns", median(pair[0]), median(pair[1]));
    }
}

#[test]
fn vector_loads_come_near_to_a_plain_read() {
    let Some(gpu) = gpu() else { return };
    let chosen = Chosen::Gpu(gpu.device());
    if gpu.device().memory().expect("memory").0 < 4 << 30 {
        println!("skipped: needs 4 GiB");
        return;
    }
    drop(gpu);
    let names = Some(vec!["a8".to_owned()]);
    let family = Families::One(Family::A);
    let options = Options { family, rungs: names, n: Some(1 << 28), counters: false, ..Options::default() };
    let record = run::run(&options, &chosen, |_| ()).expect("a record").record;
    let gbs = |name: &str| {
        let row = record.rungs.iter().find(|r| r.rung == name).expect(name);
        assert!(is_as_expected(row), "{:?}", row.verdict);
        let mut samples = row.samples_ns.clone();
        samples.sort_unstable();
        row.bytes as f64 / samples[samples.len() / 2] as f64
    };
    let (a8, read) = (gbs("a8"), gbs("read"));
    println!("a8 {a8:.0} GB/s, a plain read {read:.0} GB/s");
    assert!(a8 >= 0.85 * read, "a8 reaches {a8:.0} GB/s of {read:.0}");
}

#[test]
fn what_cannot_be_had_is_said() {
    let Some(gpu) = gpu() else { return };
    let device = gpu.device();
    let count = Driver::load().expect("a driver").devices();
    let error = cuda::open(count).expect_err("no such device");
    assert_eq!(error, Error::NoSuchDevice { index: count, count });
    assert!(error.to_string().contains(&format!("`cuda:{count}`")), "{error}");

    let error = device.kernel("no_such_kernel").err().expect("no such kernel");
    assert_eq!(error, Error::UnknownEntry { entry: "no_such_kernel".to_owned() });

    let (free, total) = device.memory().expect("memory");
    let len = total as usize;
    match DeviceBuffer::<u32>::new(&device, len).err().expect("too large") {
        Error::OutOfMemory { needed, free: at_most, total: of, .. } => {
            assert_eq!((needed, of), (4 * total, total));
            assert!(at_most <= free + (64 << 20));
        }
        other => panic!("{other}"),
    }
    assert!(DeviceBuffer::<u64>::new(&device, usize::MAX).is_err());

    let stream = Stream::new(&device).expect("a stream");
    let error = Inputs::upload_labelled(&stream, &[0; 3], &[0, 16, 1], 16).err().expect("a label too high");
    assert_eq!(error, Error::Label { point: 1, label: 16, clusters: 16 });
    assert!(Inputs::upload_labelled(&stream, &[0; 3], &[0, -1, 1], 16).is_err());
    let work = Work::Reduce { rung: "a0", dtype: DType::F32, n: 4, tuning: Tuning::default() };
    let mut program = Program::new(&device, work).expect("a plan");
    let short = Inputs::upload(&stream, &[0; 3]).expect("upload");
    assert!(matches!(program.run(&stream, &short), Err(Error::Length { found: 3, expected: 4, .. })));
    let sizes = Sizes { points: 3, clusters: 8, coords: 1 };
    let work = Work::Centroids { rung: "c1", sizes, tuning: Tuning::default() };
    let mut program = Program::new(&device, work).expect("a plan");
    let many = Inputs::upload_labelled(&stream, &[0; 3], &[0, 9, 1], 16).expect("upload");
    assert!(program.run(&stream, &many).is_err(), "labels of 16 clusters for 8");
    assert!(device.synchronize().is_ok());
}

#[test]
fn memory_is_copied_and_filled() {
    let Some(gpu) = gpu() else { return };
    let device = gpu.device();
    let stream = Stream::new(&device).expect("a stream");
    let data: Vec<u64> = (0..100_000).map(|i| i * i).collect();
    let mut a = DeviceBuffer::upload(&stream, &data).expect("upload");
    assert_eq!((a.len(), a.bytes(), a.address() % 256), (100_000, 800_000, 0));
    assert_eq!(a.read(&stream).expect("read"), data);
    let mut b = DeviceBuffer::<u64>::new(&device, data.len() + 1).expect("a buffer");
    b.fill(&stream, 0xff).expect("fill");
    b.copy_from(&stream, &a).expect("copy");
    let read = b.read(&stream).expect("read");
    assert_eq!((&read[..data.len()], read[data.len()]), (&data[..], u64::MAX));
    assert!(a.copy_from(&stream, &b).is_err() && a.write(&stream, &read).is_err());
    let mut pinned = Pinned::<u64>::new(&device, data.len()).expect("page-locked memory");
    assert_eq!(pinned.get().expect("zeros")[7], 0);
    a.read_queued(&stream, &mut pinned).expect("queued");
    assert_eq!(pinned.get().expect("copied"), data);
    pinned.get_mut().expect("free")[3] = 42;
    a.write_queued(&stream, &pinned).expect("queued");
    assert_eq!(a.read(&stream).expect("read")[..5], [0, 1, 4, 42, 16]);
    let none = DeviceBuffer::<f32>::new(&device, 0).expect("nothing");
    assert!(none.is_empty() && none.read(&stream).expect("nothing").is_empty());
}

#[test]
fn devices_are_listed() {
    let Some(gpu) = gpu() else { return };
    let all = cuda::devices().expect("devices");
    assert_eq!(all[0], *gpu.device().properties());
    for p in all {
        println!("{p:?}, peak {:?} GB/s", p.peak_gbs());
        assert!(p.multiprocessors > 0 && p.memory_bytes > 1 << 30 && p.l2_bytes > 0 && p.capability >= (7, 5));
    }
}

#[test]
fn without_a_gpu_every_way_in_is_an_error_and_none_panics() {
    if cuda::open(0).is_ok() {
        return;
    }
    let error = cuda::open(0).expect_err("no GPU");
    assert!(error.to_string().contains("cpu"), "{error}");
    assert!(cuda::devices().is_err() || cuda::devices().is_ok_and(|d| d.is_empty()));
    assert!(cuda::open(7).is_err());
    assert!(rung("a0").is_some());
}

#[test]
fn the_last_rung_is_the_librarys_own_sum() {
    let Some(mut gpu) = gpu() else { return };
    for dtype in [DType::F32, DType::I32] {
        for n in [1, 31, 4097, 1 << 20, (1 << 22) + 1] {
            let options =
                Options { rungs: Some(vec!["a9".into()]), n: Some(n), dtype: Some(dtype), ..Options::default() };
            let (cases, notes) = cases(&options, false);
            assert_eq!((cases.len(), notes.len()), (1, 0));
            let run = gpu.row(&cases[0], 2).expect("a row");
            assert!(run.verdict.passed && run.samples_ns.len() == 2, "{dtype:?} {n}: {}", run.verdict.detail);
        }
    }
}

#[test]
fn the_last_rung_of_c_is_the_librarys_own_update_with_the_emulators_bits() {
    let Some(mut gpu) = gpu() else { return };
    for (n, clusters, coords) in [(1, 16, 1), (4097, 16, 1), (1 << 20, 16, 1), (5000, 16, 3), (3000, 32, 16)] {
        let (clusters, coords) = (Some(clusters), Some(coords));
        let options = Options { rungs: Some(vec!["c8".into()]), n: Some(n), clusters, coords, ..Options::default() };
        let (cases, notes) = cases(&options, false);
        assert_eq!((cases.len(), notes.len()), (1, 0));
        let run = gpu.row(&cases[0], 2).expect("a row");
        assert!(run.verdict.passed && run.samples_ns.len() == 2, "{n}: {}", run.verdict.detail);
        if n <= 5000 {
            let seen = production::emulated(cases[0].load).expect("a plan").expect("an input");
            assert!(seen.faults.is_empty());
            assert_eq!(gpu.own_bits(cases[0].load).expect("a result"), (seen.output, seen.counts), "{options:?}");
        }
    }
}
