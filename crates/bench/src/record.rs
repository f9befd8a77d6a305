//! The record of a run: every sample, every verdict, and the circumstances.

use crate::case::{Case, Measure, precision_name, tuple};
use crate::check::Verdict;
use crate::conditions::Conditions;
use crate::cpu::processor;
use crate::date::today;
use crate::error::Error;
use crate::layout::Layout;
use crate::sources::Sources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The name of Warpfold's own side.
pub const OURS: &str = "warpfold";
/// The name of the plain read of the same bytes.
pub const READ: &str = "read";
/// The name of the plain copy of half of the bytes: the bytes read and written add up to those of the elements.
pub const COPY: &str = "copy";
/// The version of the format.
pub const VERSION: u32 = 3;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format: [`VERSION`].
    pub version: u32,
    /// The date in UTC, such as `2026-11-20`.
    pub date: String,
    /// The command that made the record.
    pub command: String,
    /// The revision in git, if known.
    pub revision: Option<String>,
    /// The digest of the measured sources, as [`crate::sources`] lists them. Older records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The program, and how its benchmarks were built: `warpfold, release, opt-level 3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The machine of the run.
    pub machine: Machine,
    /// The state of the machine before and after each suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Conditions>,
    /// The requested peers, including absent ones.
    pub peers: Vec<PeerRecord>,
    /// The cases, in order.
    pub cases: Vec<Measured>,
}

/// The machine of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The kind of device: `cpu` or `cuda`.
    pub kind: String,
    /// The name of the processor or of the GPU.
    pub device: String,
    /// The version of the GPU's driver.
    pub driver: Option<String>,
    /// The host's processor.
    pub host: String,
    /// The number of the host's threads.
    pub threads: usize,
}

impl Machine {
    /// This machine, computing on its processors.
    pub fn cpu() -> Machine {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Machine { kind: "cpu".into(), device: processor(), driver: None, host: processor(), threads }
    }
}

/// A peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRecord {
    /// The name, such as `cub`.
    pub name: String,
    /// The version of the library.
    pub version: Option<String>,
    /// The device that it computes on.
    pub device: Option<String>,
    /// Why the peer is absent.
    pub absent: Option<String>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The suite's name.
    pub suite: String,
    /// The suite's title.
    pub title: String,
    /// The case as text: `sum f32 (1024,) axis 0`.
    pub name: String,
    /// The op, such as `sum`.
    pub op: String,
    /// The dtype, such as `f32`.
    pub dtype: String,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The reduced axes.
    pub axes: Vec<usize>,
    /// The layout, such as `c`.
    pub layout: String,
    /// The precision, such as `tree`.
    pub precision: String,
    /// Whether NaNs are left out.
    pub skip_nan: bool,
    /// `call`, `latency`, `graph` or `first`.
    pub measure: Measure,
    /// The number of threads on the CPU, if not all.
    pub threads: Option<usize>,
    /// What grouped the elements, if not an axis: `segments uniform:7`, `16 groups`, `1024 clusters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<String>,
    /// The bytes read and written, each counted once.
    pub bytes: u64,
    /// The bytes written. Older records have no such number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// Why no side measured the case, if so.
    pub skipped: Option<String>,
    /// The results by side: our own, [`READ`], and every peer that supports the case.
    pub sides: BTreeMap<String, SideRecord>,
    /// A plain copy, as [`READ`] is a plain read. Older records have it among the sides, as [`COPY`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<SideRecord>,
}

/// The result of one side for a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideRecord {
    /// Nanoseconds of one call.
    pub samples_ns: Vec<u64>,
    /// Calls per sample.
    pub calls: u64,
    /// Whether inputs came from memory or from a cache.
    pub cache: String,
    /// The verdict on the result that the timed code computed next, into memory that was overwritten before.
    pub verdict: Option<Verdict>,
    /// Why there is no result: the side does not support the case, or failed.
    pub absent: Option<String>,
}

impl SideRecord {
    /// The median in nanoseconds.
    pub fn median(&self) -> Option<f64> {
        let mut samples = self.samples_ns.clone();
        samples.sort_unstable();
        let (n, half) = (samples.len(), samples.len() / 2);
        match n {
            0 => None,
            _ if n % 2 == 1 => Some(samples[half] as f64),
            _ => Some((samples[half - 1] as f64 + samples[half] as f64) / 2.0),
        }
    }

    /// The slowest sample less the fastest, over the median.
    pub fn spread(&self) -> Option<f64> {
        let (least, most) = (*self.samples_ns.iter().min()?, *self.samples_ns.iter().max()?);
        Some((most - least) as f64 / self.median()?)
    }

    /// Whether the side took part and failed.
    pub fn has_failed(&self) -> bool {
        self.absent.as_ref().is_some_and(|why| why.starts_with("failed"))
    }

    /// Whether the result is wrong.
    pub fn is_wrong(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| !verdict.passed)
    }
}

impl Measured {
    /// A case without measurements yet.
    pub fn new(suite: &str, title: &str, case: &Case) -> Measured {
        Measured {
            suite: suite.into(),
            title: title.into(),
            name: case.to_string(),
            op: case.work.name().into(),
            dtype: case.dtype.name().into(),
            shape: case.shape.clone(),
            axes: case.axes.clone(),
            layout: case.layout.to_string(),
            precision: precision_name(case.precision).into(),
            skip_nan: case.skip_nan,
            measure: case.measure,
            threads: case.threads,
            keys: case.keys.map(|keys| keys.to_string()),
            bytes: case.bytes(),
            written: Some(case.written_bytes()),
            skipped: None,
            sides: BTreeMap::new(),
            copy: None,
        }
    }

    /// The result of a side by its name.
    pub fn side(&self, name: &str) -> Option<&SideRecord> {
        self.copy.as_ref().filter(|_| name == COPY).or_else(|| self.sides.get(name))
    }

    /// The shape, with the layout if it is not C order.
    pub fn shape_text(&self) -> String {
        let mut text = tuple(&self.shape);
        if self.layout != Layout::C.to_string() {
            text += &format!(" {}", self.layout);
        }
        text
    }
}

impl Record {
    /// The record of a run that has not begun.
    pub fn new(command: &str, program: &str, machine: &Machine) -> Record {
        let digest = if machine.kind == "cpu" { env!("WARPFOLD_SOURCES_CPU") } else { env!("WARPFOLD_SOURCES_GPU") };
        Record {
            version: VERSION,
            date: today(),
            command: command.into(),
            revision: revision(),
            digest: (!digest.is_empty()).then(|| digest.to_owned()),
            build: Some(format!("{program}, {}", env!("WARPFOLD_BENCH_BUILD"))),
            machine: machine.clone(),
            conditions: Vec::new(),
            peers: Vec::new(),
            cases: Vec::new(),
        }
    }

    /// Whether the sources in a folder differ from the measured ones.
    pub fn is_stale(&self, root: &Path) -> bool {
        self.digest.is_none() || self.digest != Sources::of(&self.machine.kind).digest(root)
    }

    /// The failures of our own side, and the wrong results of all sides.
    pub fn wrong(&self) -> Vec<String> {
        let sides = self.cases.iter().flat_map(|case| case.sides.iter().map(move |(name, side)| (case, name, side)));
        let said = |(case, name, side): (&Measured, &String, &SideRecord)| {
            let verdict = side.verdict.as_ref().filter(|verdict| !verdict.passed).map(|verdict| verdict.detail.clone());
            let failure = side.absent.clone().filter(|_| name == OURS && side.has_failed());
            Some(format!("{}: {name}: {}", case.name, verdict.or(failure)?))
        };
        sides.filter_map(said).collect()
    }

    /// The record as JSON.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a record is numbers and texts") + "\n"
    }

    /// Reads a record from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a record.
    pub fn read(path: &Path) -> Result<Record, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| Error::Read { path: path.into(), why })?;
        serde_json::from_str(&text).map_err(|why| Error::Record { path: path.into(), why: why.to_string() })
    }
}

/// Replaces a file in one step: at any time the file is the old one or the new one.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |why| Error::Write { path: path.into(), why };
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644)).map_err(failed)?;
    }
    file.persist(path).map(drop).map_err(|e| failed(e.error))
}

/// `$WARPFOLD_REVISION`, or what git says of the current folder.
pub fn revision() -> Option<String> {
    let given = std::env::var("WARPFOLD_REVISION").ok().filter(|revision| !revision.is_empty());
    given.or_else(|| {
        let out = std::process::Command::new("git").args(["describe", "--always", "--dirty"]).output().ok()?;
        let text = String::from_utf8(out.stdout).ok()?.trim().to_owned();
        (out.status.success() && !text.is_empty()).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads_are_of_all_samples() {
        let side = |samples: &[u64]| SideRecord { samples_ns: samples.to_vec(), ..Default::default() };
        assert_eq!(side(&[]).median(), None);
        assert_eq!(side(&[3, 1, 2]).median(), Some(2.0));
        assert_eq!(side(&[4, 1, 2, 3]).median(), Some(2.5));
        assert_eq!(side(&[10, 9, 12]).spread(), Some(0.3));
    }
}
