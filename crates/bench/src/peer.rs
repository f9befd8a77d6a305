//! Other libraries: programs that speak JSON lines on standard input and output. `bench/peers/README.md` is the
//! protocol.

use crate::case::Case;
use crate::error::Error;
use crate::side::{About, Answer, Number, Positions, Prepared, Side};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The version of the protocol.
pub const PROTOCOL: u64 = 3;
/// The longest time to wait for an answer: a peer that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A peer's name and its program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The name, such as `cub`.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
}

impl Program {
    /// From the command line: one of [`NAMES`], in a folder of peers, or `NAME=PROGRAM`.
    ///
    /// # Errors
    /// If there is no such peer, or no folder of peers.
    pub fn named(word: &str, folder: Option<&Path>) -> Result<Program, Error> {
        if let Some((name, program)) = word.split_once('=') {
            let words: Vec<String> = program.split_whitespace().map(str::to_owned).collect();
            if !name.is_empty() && !words.is_empty() {
                return Ok(Program { name: name.into(), words });
            }
        }
        let python = || std::env::var("WARPFOLD_PYTHON").unwrap_or_else(|_| "python3".into());
        let (file, variant) = match word {
            "cub" => ("cub", None),
            "cub-by-key" => ("cub", Some("by-key")),
            "torch" | "cupy" | "numpy" => (word, None),
            "torch-compile" => ("torch", Some("compile")),
            "torch-deterministic" => ("torch", Some("deterministic")),
            "pandas" | "polars" => ("frames", Some(word)),
            "flash-kmeans" | "flashlib" => ("flash", Some(word)),
            _ => return Err(Error::NoPeer { name: word.into(), known: NAMES.join(", ") }),
        };
        let folder = folder.ok_or_else(|| Error::NoPeers { name: word.into() })?;
        let path = |file: &str| folder.join(file).to_string_lossy().into_owned();
        let mut words = match file {
            "cub" => vec![path("cub")],
            _ => vec![python(), path(&format!("{file}_peer.py"))],
        };
        words.extend(variant.map(str::to_owned));
        Ok(Program { name: word.into(), words })
    }
}

/// The peers of the repository. Each variant is a peer.
pub const NAMES: [&str; 11] = [
    "cub",
    "cub-by-key",
    "torch",
    "torch-compile",
    "torch-deterministic",
    "cupy",
    "numpy",
    "pandas",
    "polars",
    "flash-kmeans",
    "flashlib",
];

/// The folder of the peers: the one `given`, or else `$WARPFOLD_PEERS`, or else `bench/peers` beside the program, or
/// else that of the sources, for a program in cargo's target folder. A peer in the current folder never runs unless the
/// folder is given.
pub fn folder(given: Option<&Path>) -> Option<PathBuf> {
    if let Some(folder) = given.map(Path::to_owned).or_else(|| std::env::var_os("WARPFOLD_PEERS").map(PathBuf::from)) {
        return Some(folder);
    }
    let program = std::env::current_exe().ok()?;
    let beside = program.parent()?.join("bench/peers");
    if beside.is_dir() {
        return Some(beside);
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers").canonicalize().ok()?;
    program.starts_with(env!("WARPFOLD_BENCH_TARGET")).then_some(sources)
}

/// A running peer.
pub struct Peer {
    about: About,
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<String>,
    complaints: Arc<Mutex<VecDeque<String>>>,
    width: usize,
}

impl Peer {
    /// Starts a program and greets it.
    ///
    /// # Errors
    /// Why it is absent.
    pub fn start(program: &Program, device: &str) -> Result<Peer, String> {
        let (first, rest) = program.words.split_first().ok_or("no program")?;
        let is_path = first.contains('/');
        if is_path && !Path::new(first).exists() {
            let hint = if program.name == "cub" { "; bench/peers/build.sh builds it" } else { "" };
            return Err(format!("{first} is not there{hint}; WARPFOLD_PEERS may name the folder of the peers"));
        }
        let mut child = Command::new(first)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| format!("{first} does not start: {why}"))?;
        let (sender, from) = channel();
        let (to, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        std::thread::spawn(move || {
            for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let complaints = Arc::new(Mutex::new(VecDeque::new()));
        let kept = complaints.clone();
        std::thread::spawn(move || {
            for line in err.into_iter().flat_map(|err| BufReader::new(err).lines()).map_while(Result::ok) {
                if let Ok(mut kept) = kept.lock() {
                    kept.push_back(line);
                    if kept.len() > 4 {
                        kept.pop_front();
                    }
                }
            }
        });
        let about = About { name: program.name.clone(), version: String::new(), device: String::new() };
        let mut peer = Peer { about, child, to, from, complaints, width: 1 };
        let hello = peer.ask(&json!({ "do": "hello", "protocol": PROTOCOL, "device": device }))?;
        if let Some(why) = hello["absent"].as_str() {
            return Err(why.into());
        }
        if hello["protocol"].as_u64() != Some(PROTOCOL) {
            return Err(format!("it speaks protocol {} instead of {PROTOCOL}: build it again", hello["protocol"]));
        }
        peer.about.version = hello["version"].as_str().unwrap_or("unknown").into();
        peer.about.device = hello["device"].as_str().unwrap_or("unknown").into();
        Ok(peer)
    }

    /// The name, version and device that the peer reported.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Whether the peer still runs.
    pub fn is_alive(&mut self) -> bool {
        self.to.is_some() && matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a question, and reads the answer.
    fn ask(&mut self, question: &Value) -> Result<Value, String> {
        let asked = self.to.as_mut().is_some_and(|to| writeln!(to, "{question}").and_then(|()| to.flush()).is_ok());
        if !asked {
            return Err(self.last_words("it ended"));
        }
        let line = match self.from.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                self.end();
                return Err(format!("it said nothing for {} s and was ended", PATIENCE.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.last_words("it ended")),
        };
        let answer: Value =
            serde_json::from_str(&line).map_err(|why| format!("`{}` is not JSON: {why}", short(&line)))?;
        match answer["error"].as_str() {
            Some(why) => Err(short(why)),
            None => Ok(answer),
        }
    }

    /// The last lines that the peer wrote to standard error.
    fn last_words(&mut self, what: &str) -> String {
        self.end();
        // The thread that reads these lines may be behind: waits for it, but not for long.
        for _ in 0..20 {
            let said = self.complaints.lock().map_or(0, |lines| lines.len());
            if said > 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let lines = self.complaints.lock().map_or(Vec::new(), |lines| lines.iter().cloned().collect());
        if lines.is_empty() { what.into() } else { format!("{what}: {}", short(&lines.join(" | "))) }
    }

    fn end(&mut self) {
        self.to = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn short(text: &str) -> String {
    text.chars().take(400).collect()
}

impl Side for Peer {
    fn prepare(&mut self, case: &Case) -> Result<Prepared, String> {
        self.width = case.work.width();
        let answer = self.ask(&json!({ "do": "prepare", "case": case.told() }))?;
        if let Some(why) = answer["skip"].as_str() {
            return Ok(Prepared::Skipped(why.into()));
        }
        let calls = answer["calls"].as_u64().ok_or("it did not say how many calls a sample has")?;
        Ok(Prepared::Ready { calls, cache: answer["cache"].as_str().unwrap_or("unknown").into() })
    }

    fn sample(&mut self) -> Result<u64, String> {
        Ok(self.block(1)?[0])
    }

    fn block(&mut self, samples: usize) -> Result<Vec<u64>, String> {
        let answer = self.ask(&json!({ "do": "sample", "samples": samples }))?;
        let ns: Option<Vec<u64>> = answer["ns"].as_array().and_then(|all| all.iter().map(Value::as_u64).collect());
        let ns = ns.filter(|ns| ns.len() == samples);
        ns.ok_or_else(|| format!("no nanoseconds of {samples} samples in {}", short(&answer.to_string())))
    }

    fn poison(&mut self) -> Result<(), String> {
        self.ask(&json!({ "do": "poison" })).map(drop)
    }

    fn labels(&mut self) -> Result<Vec<i32>, String> {
        let file = tempfile::NamedTempFile::new().map_err(|why| format!("no file for labels: {why}"))?;
        self.ask(&json!({ "do": "labels", "to": file.path() }))?;
        let bytes = std::fs::read(file.path()).map_err(|why| format!("no labels: {why}"))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|word| i32::from_le_bytes(*word)).collect())
    }

    fn result(&mut self, at: &Positions) -> Result<Answer, String> {
        let positions = match at {
            Positions::All => Value::Null,
            Positions::Some(list) => json!(list),
        };
        let answer = self.ask(&json!({ "do": "result", "positions": positions }))?;
        let dtype = answer["dtype"].as_str().ok_or("a result without a dtype")?;
        let outputs = answer["outputs"].as_u64().ok_or("a result that does not say how many outputs it has")?;
        let texts = answer["values"].as_array().ok_or("a result without values")?;
        let read = |v: &Value| v.as_str().and_then(|text| Number::read(text, dtype));
        let values: Option<Vec<Number>> = texts.iter().map(read).collect();
        let values = values.ok_or_else(|| format!("values that are no {dtype}s"))?;
        Ok(Answer { dtypes: vec![dtype.into(); self.width], outputs: outputs as usize, values })
    }

    fn release(&mut self) {
        let _ = self.ask(&json!({ "do": "release" }));
    }
}

/// A peer ends when its standard input closes. One that does not is killed.
impl Drop for Peer {
    fn drop(&mut self) {
        self.to = None;
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.end();
    }
}
