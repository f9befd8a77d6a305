//! What a run found: every sample, every verdict, and under which circumstances.

use crate::Error;
use crate::case::{Case, Measure, precision_name, tuple};
use crate::check::Verdict;
use crate::conditions::Conditions;
use crate::cpu::processor;
use crate::layout::Layout;
use crate::sources::Sources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Ourselves.
pub const OURS: &str = "warpfold";
/// The plain read of the same bytes.
pub const READ: &str = "read";
/// The plain copy of half of them: as many bytes are read and written as elements have.
pub const COPY: &str = "copy";
/// Of the format.
pub const VERSION: u32 = 3;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of this format: [`VERSION`].
    pub version: u32,
    /// `2026-11-20`, UTC.
    pub date: String,
    /// The command that made it.
    pub command: String,
    /// Of git, if known.
    pub revision: Option<String>,
    /// Of the sources that were measured, as [`crate::sources`] lists them; records of before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Which program, and how its benchmarks were built: `warpfold, release, opt-level 3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// Before and after each suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Conditions>,
    /// All that were asked for, absent ones too.
    pub peers: Vec<PeerRecord>,
    /// In order.
    pub cases: Vec<Measured>,
}

/// Where it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// `cpu` or `cuda`.
    pub kind: String,
    /// Of the processor, or of the GPU.
    pub device: String,
    /// Of the GPU's driver.
    pub driver: Option<String>,
    /// The host's processor.
    pub host: String,
    /// The host's threads.
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
    /// `cub`.
    pub name: String,
    /// Of the library.
    pub version: Option<String>,
    /// What it computes on.
    pub device: Option<String>,
    /// Why it took no part.
    pub absent: Option<String>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The suite's name.
    pub suite: String,
    /// The suite's title.
    pub title: String,
    /// `sum f32 (1024,) axis 0`.
    pub name: String,
    /// `sum`.
    pub op: String,
    /// `f32`.
    pub dtype: String,
    /// Of the array.
    pub shape: Vec<usize>,
    /// Reduced.
    pub axes: Vec<usize>,
    /// `c`.
    pub layout: String,
    /// `tree`.
    pub precision: String,
    /// Whether NaNs are left out.
    pub skip_nan: bool,
    /// `call`, `latency`, `graph` or `first`.
    pub measure: Measure,
    /// On the CPU, if not all.
    pub threads: Option<usize>,
    /// What elements were taken together by, if not by an axis: `segments uniform:7`, `16 groups`, `1024 clusters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<String>,
    /// Read and written, each once.
    pub bytes: u64,
    /// Of these, those that are written; records of before do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// Why nobody measured it.
    pub skipped: Option<String>,
    /// Of ourselves, of [`READ`], and of every peer that does the case.
    pub sides: BTreeMap<String, SideRecord>,
}

/// What one side did with a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideRecord {
    /// Nanoseconds of one call.
    pub samples_ns: Vec<u64>,
    /// Calls per sample.
    pub calls: u64,
    /// Whether inputs came from memory or from a cache.
    pub cache: String,
    /// Of what the code that was timed computed next, into memory that held nonsense.
    pub verdict: Option<Verdict>,
    /// Why there is none: the side does not do this, or failed.
    pub absent: Option<String>,
}

impl SideRecord {
    /// Nanoseconds.
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

    /// Whether it was to take part, and could not go on.
    pub fn has_failed(&self) -> bool {
        self.absent.as_ref().is_some_and(|why| why.starts_with("failed"))
    }

    /// Whether its result is wrong.
    pub fn is_wrong(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| !verdict.passed)
    }
}

impl Measured {
    /// Nothing measured yet.
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
        }
    }

    /// Our record, or a peer's.
    pub fn side(&self, name: &str) -> Option<&SideRecord> {
        self.sides.get(name)
    }

    /// How the array lies, where that is not plain.
    pub fn shape_text(&self) -> String {
        let mut text = tuple(&self.shape);
        if self.layout != Layout::C.to_string() {
            text += &format!(" {}", self.layout);
        }
        text
    }
}

impl Record {
    /// Of a run on a machine, before it begins.
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

    /// Whether the sources in a folder are others than those that were measured.
    pub fn is_stale(&self, root: &Path) -> bool {
        self.digest.is_none() || self.digest != Sources::of(&self.machine.kind).digest(root)
    }

    /// What went wrong: cases of ours that failed, and results, ours or a peer's, that are not right.
    pub fn wrong(&self) -> Vec<String> {
        let sides = self.cases.iter().flat_map(|case| case.sides.iter().map(move |(name, side)| (case, name, side)));
        let said = |(case, name, side): (&Measured, &String, &SideRecord)| {
            let verdict = side.verdict.as_ref().filter(|verdict| !verdict.passed).map(|verdict| verdict.detail.clone());
            let failure = side.absent.clone().filter(|_| name == OURS && side.has_failed());
            Some(format!("{}: {name}: {}", case.name, verdict.or(failure)?))
        };
        sides.filter_map(said).collect()
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a record is numbers and texts") + "\n"
    }

    /// From a file.
    ///
    /// # Errors
    /// If it is not there, or none.
    pub fn read(path: &Path) -> Result<Record, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| Error::Read { path: path.into(), why })?;
        serde_json::from_str(&text).map_err(|why| Error::Record { path: path.into(), why: why.to_string() })
    }
}

/// Writes a file that is, at any time, the old one or the new one.
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

/// As `2026-11-20`, UTC.
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
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
