//! Refuses options without effect, and sizes that do not fit. The errors say what to do.

use super::case::{Case, EMULATED, EMULATED_WORDS, Load, PUBLISHED, PUBLISHED_COORDS, chosen, names};
use super::error::Error;
use super::options::Options;
use warpfold_kernels::ladder::{DType, Family, Form, PRESETS, Rung};

fn refused(option: impl Into<String>, why: impl Into<String>) -> Error {
    Error::Refused { option: option.into(), why: why.into() }
}

/// Whether every option has an effect on some rung.
///
/// # Errors
/// The first that has none.
pub fn unused(options: &Options, is_emulated: bool) -> Result<(), Error> {
    let known = names();
    if let Some(name) = options.rungs.iter().flatten().find(|name| !known.contains(name)) {
        return Err(Error::NoSuchRung(name.clone()));
    }
    let rungs: Vec<&Rung> = chosen(options).collect();
    let all = |is: fn(&Rung) -> bool| rungs.iter().all(|rung| is(rung));
    let all_points = all(|rung| rung.family == Family::C);
    let none_points = all(|rung| rung.family != Family::C);
    let all_published = all(|rung| rung.form == Form::AsPublished);
    if options.dtype == Some(DType::I32) && all_points {
        return Err(refused("--dtype i32", "points are f32: leave it out, or choose rungs of family a or b"));
    }
    for (option, is_given) in [("--clusters", options.clusters.is_some()), ("--coords", options.coords.is_some())] {
        if is_given && none_points {
            return Err(refused(option, "only family c has points: leave it out, or give --family c"));
        }
    }
    if options.block.is_some() && all(|rung| rung.form == Form::Slot) {
        return Err(refused("--block", "the library chooses its own blocks: leave it out, or choose other rungs"));
    }
    if options.n.is_some() && all_published {
        let why =
            format!("the published forms run at {PUBLISHED} elements, which brings out their faults: leave it out");
        return Err(refused("--elements", why));
    }
    if let Some(coords) = options.coords.filter(|&coords| coords < PUBLISHED_COORDS && all_published) {
        let why = format!("with fewer than {PUBLISHED_COORDS}, some published forms happen to be right: give more");
        return Err(refused(format!("--coords {coords}"), why));
    }
    if options.samples.is_some() && (is_emulated || all_published) {
        return Err(refused("--samples", "the emulator tells no times: leave it out, or run sound rungs on a GPU"));
    }
    if is_emulated && !all_published { emulated(options, none_points) } else { Ok(()) }
}

/// Refuses sizes that are too large for the emulator.
fn emulated(options: &Options, no_points: bool) -> Result<(), Error> {
    let Some(n) = options.n else { return Ok(()) };
    if n > EMULATED {
        let why = format!("the emulator takes {EMULATED} (2^20) at most: give fewer, or a GPU by --device cuda");
        return Err(refused(format!("--elements {n}"), why));
    }
    let published = PRESETS.iter().find_map(|preset| preset.clusters_coords).map_or(1, |(_, coords)| coords);
    let coords = options.coords.unwrap_or(published);
    if !no_points && n * (u64::from(coords) + 1) > EMULATED_WORDS {
        let most = EMULATED_WORDS / (u64::from(coords) + 1);
        let why = format!("the emulator takes {most} points of {coords} coordinates at most: give fewer of either");
        return Err(refused(format!("--elements {n}"), why));
    }
    Ok(())
}

/// Whether the two inputs of every case fit the GPU, and the host, which makes and checks them.
///
/// # Errors
/// The first that does not fit.
pub fn too_large(cases: &[Case], gpu: u64) -> Result<(), Error> {
    let host = available().unwrap_or(u64::MAX);
    cases.iter().filter(|case| case.entry().form != Form::AsPublished).try_for_each(|case| fits(case.load, gpu, host))
}

/// The host holds words, numbers and, for the check, wider numbers.
const HOST_BYTES: u64 = 16;

fn fits(load: Load, gpu: u64, host: u64) -> Result<(), Error> {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let places =
        [("GPU", load.words().saturating_mul(8), gpu), ("host", load.words().saturating_mul(HOST_BYTES), host)];
    for (place, needed, free) in places {
        if needed > free {
            let why = format!(
                "needs {:.1} GiB of memory on the {place}, which has {:.1} GiB free: give fewer",
                gib(needed),
                gib(free)
            );
            return Err(refused(format!("--elements {}", load.n()), why));
        }
    }
    Ok(())
}

/// The free memory of this machine in bytes, if the system reports it.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::super::options::Families;
    use super::*;

    /// The errors of these options, in the emulator and on a GPU.
    fn said(options: &Options) -> [Option<String>; 2] {
        [true, false].map(|is_emulated| unused(options, is_emulated).err().map(|why| why.to_string()))
    }

    fn family(family: Family) -> Options {
        Options { family: Families::One(family), ..Options::default() }
    }

    fn rungs(names: &[&str]) -> Options {
        Options { rungs: Some(names.iter().map(|&name| name.to_owned()).collect()), ..Options::default() }
    }

    #[test]
    fn options_without_an_effect_are_refused_everywhere() {
        let cases = [
            (Options { dtype: Some(DType::I32), ..family(Family::C) }, "--dtype i32: points are f32"),
            (Options { clusters: Some(4), ..family(Family::A) }, "--clusters: only family c"),
            (Options { coords: Some(4), ..rungs(&["a0", "b4_x8"]) }, "--coords: only family c"),
            (Options { block: Some(128), ..rungs(&["a9", "c8"]) }, "--block: the library"),
            (Options { n: Some(100), ..rungs(&["a4_as_published"]) }, "--elements: the published forms run at 4093"),
            (Options { coords: Some(1), ..rungs(&["c3_as_published"]) }, "--coords 1: with fewer than 3"),
            (Options { samples: Some(7), ..rungs(&["a4_as_published"]) }, "--samples: the emulator tells no times"),
            (rungs(&["a0", "nope\x1b"]), "there is no rung `nope\\u{1b}`; there are a0, a1,"),
        ];
        for (options, start) in cases {
            for said in said(&options) {
                assert!(said.as_ref().is_some_and(|text| text.starts_with(start)), "{said:?}, {start}");
            }
        }
    }

    #[test]
    fn what_the_emulator_cannot_do_is_refused_there_and_not_on_a_gpu() {
        let cases = [
            (
                Options { n: Some(1 << 40), ..Options::default() },
                "--elements 1099511627776: the emulator takes 1048576",
            ),
            (
                Options { n: Some(1 << 20), coords: Some(64), ..Options::default() },
                "--elements 1048576: the emulator takes 258111 points",
            ),
            (Options { samples: Some(7), ..Options::default() }, "--samples: the emulator"),
        ];
        for (options, start) in cases {
            let [emulated, gpu] = said(&options);
            assert!(emulated.as_ref().is_some_and(|text| text.starts_with(start)), "{emulated:?}, {start}");
            assert_eq!(gpu, None);
        }
    }

    #[test]
    fn options_with_an_effect_are_taken() {
        let all =
            Options { n: Some(1 << 20), block: Some(128), clusters: Some(4), coords: Some(3), ..Options::default() };
        let taken = [
            all,
            Options { dtype: Some(DType::I32), ..Options::default() },
            Options { dtype: Some(DType::F32), ..family(Family::C) },
            Options { block: Some(128), ..rungs(&["a8", "a9"]) },
            Options { n: Some(1), ..rungs(&["a4", "a4_as_published"]) },
            Options { coords: Some(3), ..rungs(&["c3_as_published"]) },
        ];
        for options in taken {
            assert_eq!(said(&options), [None, None], "{options:?}");
        }
    }

    #[test]
    fn inputs_that_do_not_fit_are_refused_with_the_bytes_they_would_take() {
        let load = |n| Load::Elements { dtype: DType::F32, n };
        assert!(fits(load(1 << 27), 1 << 30, 1 << 31).is_ok());
        let why = fits(load((1 << 27) + 1), 1 << 30, u64::MAX).unwrap_err().to_string();
        assert!(why.contains("1.0 GiB of memory on the GPU"), "{why}");
        let why = fits(load(1 << 40), u64::MAX, 1 << 34).unwrap_err().to_string();
        assert!(why.contains("16384.0 GiB of memory on the host, which has 16.0 GiB free"), "{why}");
    }
}
