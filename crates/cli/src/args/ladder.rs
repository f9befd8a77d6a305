//! `warpfold ladder`

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Parser, ValueEnum};
use warpfold_kernels::ladder::{self, Form};
use warpfold_ladder::run::case::names;
use warpfold_ladder::run::{Families, Target};

/// Run the ladder of reduction kernels, rung by rung
///
/// On a GPU every rung's whole result is checked, and then the rung is timed, beside the published figures. In the
/// emulator, which needs no GPU, every rung is checked for results and faults, and the counters of a profiler are
/// counted. Published kernels that are wrong run in the emulator only, which has to catch them: always at 4093
/// elements, or points of at least 3 coordinates, where their faults show. Without -n, --dtype and --block, the
/// published workloads are run, or as much of them as the emulator can manage: 2^20 elements, 2^16 points.
///
/// The table goes to standard output, unless a file is `-`. An option that would change nothing is an error. Exit
/// status 1 if a rung is wrong, 2 if the command line is.
#[derive(Parser)]
pub struct Ladder {
    /// a: sums, from a literal tree to 16-byte loads; b: the textbook's sums; c: the centroid update of k-means
    #[arg(long, value_enum, default_value = "all")]
    pub family: Family,
    /// Only these rungs, such as a3,a4,a4_as_published; another name lists them all
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "family",
        value_parser = RungNames,
        hide_possible_values = true
    )]
    pub rung: Option<Vec<String>>,
    /// Where to run: auto (a GPU, or else the emulator), cuda, cuda:1, or emulator
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: Target,
    /// Elements, or points, such as 4194304 or 2^22
    #[arg(short, long = "elements", value_name = "N", value_parser = elements, allow_hyphen_values = true)]
    pub n: Option<u64>,
    /// The dtype of elements (default f32); points are f32
    #[arg(long, value_enum)]
    pub dtype: Option<Element>,
    /// Threads per block. Rungs that do not offer this number are left out; the library's own kernels choose theirs
    #[arg(long, value_name = "B", value_parser = PossibleValuesParser::new(BLOCKS).try_map(|b| b.parse::<u32>()))]
    pub block: Option<u32>,
    /// Clusters (family c)
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub clusters: Option<u32>,
    /// Coordinates (family c)
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..=2048))]
    pub coords: Option<u32>,
    /// The number of samples of each rung on a GPU (default 48)
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub samples: Option<u16>,
    /// Write the record, with every sample, to this file (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the table as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the table as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Draw the times, or else the counters
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a page to learn from: chart, tables, and for each rung its idea, its source and its counters
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// The block sizes that rungs offer.
const BLOCKS: [&str; 5] = ["64", "128", "256", "512", "1024"];

/// The parser of `--rung`, which also offers the names to completions.
#[derive(Clone)]
struct RungNames;

impl TypedValueParser for RungNames {
    type Value = String;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &std::ffi::OsStr) -> Result<String, clap::Error> {
        let given = value.to_string_lossy();
        let name = given.trim().to_lowercase();
        match names().contains(&name) {
            true => Ok(name),
            false => Err(clap::Error::raw(ErrorKind::InvalidValue, no_such_rung(&given)).with_cmd(command)),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(names().iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

/// Names the nearest rung, if one is near, and lists all.
fn no_such_rung(given: &str) -> String {
    let names = names();
    let mut text = format!("there is no rung `{}`", given.escape_debug());
    if let Some(near) = nearest(&given.trim().to_lowercase(), names) {
        text += &format!(": did you mean {near}?");
    }
    text += "\n  the rungs are";
    let mut line = 80;
    for (i, name) in names.iter().enumerate() {
        // Each family begins on a new line.
        let starts = i == 0 || names[i - 1].as_bytes()[0] != name.as_bytes()[0];
        if starts || line + 1 + name.len() > 80 {
            text += "\n   ";
            line = 3;
        }
        text += &format!(" {name}");
        line += 1 + name.len();
    }
    text + "\n"
}

/// The name of the rung that was probably meant: one edit, or a third of its length in edits, away from the given name,
/// by the rung's name or its idea.
fn nearest<'a>(given: &str, names: &'a [String]) -> Option<&'a str> {
    let distance = |name: &str| {
        let far = strsim::osa_distance(given, name);
        (far <= (name.len() / 3).max(1)).then_some(far)
    };
    let idea = |name: &str| ladder::rung(name).filter(|rung| rung.form != Form::AsPublished).map(|rung| rung.slug());
    let near = |name: &'a String| {
        let far = [distance(name), idea(name).and_then(distance)].into_iter().flatten().min()?;
        Some((far, name.as_str()))
    };
    names.iter().filter_map(near).min_by_key(|&(far, _)| far).map(|(_, name)| name)
}

/// `--family`.
#[derive(Clone, Copy, ValueEnum)]
pub enum Family {
    A,
    B,
    C,
    All,
}

impl From<Family> for Families {
    fn from(family: Family) -> Self {
        match family {
            Family::A => Families::One(ladder::Family::A),
            Family::B => Families::One(ladder::Family::B),
            Family::C => Families::One(ladder::Family::C),
            Family::All => Families::All,
        }
    }
}

/// `--dtype`.
#[derive(Clone, Copy, ValueEnum)]
pub enum Element {
    F32,
    I32,
}

impl From<Element> for ladder::DType {
    fn from(element: Element) -> Self {
        match element {
            Element::F32 => ladder::DType::F32,
            Element::I32 => ladder::DType::I32,
        }
    }
}

fn device(name: &str) -> Result<Target, String> {
    use warpfold::DeviceName;
    match name.parse() {
        Ok(DeviceName::Auto) => Ok(Target::Auto),
        Ok(DeviceName::Cuda(index)) => Ok(Target::Cuda(index)),
        Ok(DeviceName::Cpu) => Err("the ladder's kernels are for GPUs; on a CPU, `emulator` runs them".into()),
        Err(_) if name == "emulator" => Ok(Target::Emulator),
        Err(_) => Err("give auto, cuda, cuda:1 for the second GPU, or emulator".into()),
    }
}

fn elements(text: &str) -> Result<u64, String> {
    let n = match text.split_once('^') {
        Some((base, power)) => match (base.parse::<u64>(), power.parse()) {
            (Ok(base), Ok(power)) => base.checked_pow(power),
            _ => None,
        },
        None => text.parse().ok(),
    };
    // A larger number does not fit into the memory of any GPU.
    n.filter(|n| (1..=1 << 40).contains(n))
        .ok_or_else(|| "give a number from 1 to 2^40, such as 4194304 or 2^22".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_numbers_or_powers() {
        assert_eq!(elements("2^25"), Ok(1 << 25));
        assert_eq!(elements("100000"), Ok(100_000));
        for wrong in ["0", "-1", "2^", "^2", "2^64", "2^41", "1e6", "", "2^-1"] {
            assert!(elements(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rung_that_is_near_is_suggested_and_all_are_listed() {
        let near = |given| nearest(given, names()).map(str::to_owned);
        assert_eq!(near("a33").as_deref(), Some("a3"));
        assert_eq!(near("a4_published").as_deref(), Some("a4_as_published"));
        assert_eq!(near("first_ad").as_deref(), Some("a3"));
        assert_eq!(near("nope"), None);
        let text = no_such_rung("no\x1b[31m");
        assert!(text.contains("`no\\u{1b}[31m`") && !text.contains("did you mean"), "{text}");
        assert!(names().iter().all(|name| text.contains(name.as_str())), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn devices_are_gpus_or_the_emulator() {
        assert_eq!(device("auto"), Ok(Target::Auto));
        assert_eq!(device("cuda"), Ok(Target::Cuda(0)));
        assert_eq!(device("cuda:3"), Ok(Target::Cuda(3)));
        assert_eq!(device("emulator"), Ok(Target::Emulator));
        assert!(device("cpu").unwrap_err().contains("emulator"));
        assert!(device("gpu").is_err());
    }
}
