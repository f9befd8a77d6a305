//! The state of the machine: clocks, power, temperature, load.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::process::Command;

/// The properties that `nvidia-smi` is asked for.
const ASKED: &str = "clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu,utilization.gpu";

/// The state of the machine at some time of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// When the state was read: `before full` or `after full`, for the suite `full`.
    pub when: String,
    /// The state by property, with units, as the system prints it.
    pub are: BTreeMap<String, String>,
}

impl Conditions {
    /// The present state of the machine and of a device (`cpu`, `cuda:0`). Properties that the system does not report
    /// are left out.
    pub fn now(when: String, device: &str) -> Conditions {
        let are = match device.strip_prefix("cuda:") {
            Some(index) => of_gpu(index),
            None => of_cpu(),
        };
        Conditions { when, are }
    }
}

fn of_gpu(index: &str) -> BTreeMap<String, String> {
    let words = ["-i", index, "--format=csv,noheader", &format!("--query-gpu={ASKED}")];
    let said = Command::new("nvidia-smi").args(words).output().ok().filter(|out| out.status.success());
    let line = said.and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
    let values = line.trim().split(',').map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    ASKED.split(',').map(str::to_owned).zip(values).collect()
}

fn of_cpu() -> BTreeMap<String, String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let clocks = info.lines().filter_map(|line| line.strip_prefix("cpu MHz")?.split_once(':')?.1.trim().parse().ok());
    let clocks: Vec<f64> = clocks.collect();
    let mean = (!clocks.is_empty()).then(|| format!("{:.0} MHz", clocks.iter().sum::<f64>() / clocks.len() as f64));
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| Some(text.split_whitespace().next()?.to_owned()));
    let pages = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    // The active setting is the one in brackets.
    let pages = pages.and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned()));
    let all = [("clock", mean), ("load of one minute", load), ("large pages", pages)];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_a_load() {
        let conditions = Conditions::now("before x".into(), "cpu");
        assert!(!cfg!(target_os = "linux") || conditions.are.contains_key("load of one minute"), "{conditions:?}");
        assert_eq!(Conditions::now("before x".into(), "cuda:99").when, "before x");
    }
}
