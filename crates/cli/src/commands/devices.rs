//! `warpfold devices`

use std::io::Write;

use warpfold::cpu::simd::Simd;
use warpfold::cuda::{self, Properties};

use super::print;
use crate::args::Devices;
use crate::error::Failure;
use crate::json;
use crate::lines::{WIDE, wrapped};

/// Lists the devices.
pub fn run(args: &Devices) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let simd = Simd::current().name();
    let gpus = match cuda::devices() {
        Ok(gpus) => gpus,
        // Without a driver no GPU is expected. With one, the error is worth a message.
        Err(cuda::Error::NoDriver) => Vec::new(),
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            Vec::new()
        }
    };
    print(|to| {
        if args.json {
            let cpu = format!("{{\"device\": \"cpu\", \"cores\": {cores}, \"simd\": {}}}", json::string(simd));
            let all: Vec<String> = std::iter::once(cpu).chain(gpus.iter().map(object)).collect();
            return writeln!(to, "[{}]", all.join(", "));
        }
        writeln!(to, "cpu  {cores} core{}, {simd}", if cores == 1 { "" } else { "s" })?;
        gpus.iter().try_for_each(|gpu| writeln!(to, "{}", line(gpu)))
    })
}

/// The line of a GPU, continued on a second line if it is too long.
fn line(gpu: &Properties) -> String {
    let name = format!("cuda:{}  ", gpu.index);
    let facts = wrapped(&sentence(gpu), WIDE, name.len(), name.len());
    name + &facts
}

fn sentence(gpu: &Properties) -> String {
    let gib = gpu.memory_bytes as f64 / f64::from(1 << 30);
    let peak = gpu.peak_gbs().map_or(String::new(), |peak| format!(" at {peak:.0} GB/s"));
    format!(
        "{}, {} multiprocessors, {gib:.1} GiB{peak}, {} MiB of L2, compute capability {}.{}, driver for CUDA {}.{}",
        gpu.name,
        gpu.multiprocessors,
        gpu.l2_bytes >> 20,
        gpu.capability.0,
        gpu.capability.1,
        gpu.driver.0,
        gpu.driver.1
    )
}

fn object(gpu: &Properties) -> String {
    format!(
        "{{\"device\": \"cuda:{}\", \"name\": {}, \"multiprocessors\": {}, \"memory_bytes\": {}, \"l2_bytes\": {}, \
         \"peak_gbs\": {}, \"capability\": \"{}.{}\", \"driver\": \"{}.{}\"}}",
        gpu.index,
        json::string(&gpu.name),
        gpu.multiprocessors,
        gpu.memory_bytes,
        gpu.l2_bytes,
        gpu.peak_gbs().map_or("null".to_owned(), |peak| peak.to_string()),
        gpu.capability.0,
        gpu.capability.1,
        gpu.driver.0,
        gpu.driver.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_of_a_long_name_fits_a_terminal() {
        let gpu = Properties {
            index: 12,
            name: "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition".to_owned(),
            driver: (13, 0),
            capability: (12, 0),
            multiprocessors: 188,
            memory_bytes: 96 << 30,
            l2_bytes: 128 << 20,
            bus_bits: 512,
            shared_bytes: 101_376,
            memory_khz: 14_001_000,
        };
        let line = line(&gpu);
        assert!(line.lines().all(|line| line.chars().count() <= 100), "{line}");
        for words in ["cuda:12  NVIDIA RTX", "96.0 GiB at", "GB/s", "128 MiB of L2", "driver for CUDA 13.0"] {
            assert!(line.contains(words), "{words:?} is not in {line}");
        }
        assert!(line.lines().skip(1).all(|line| line.starts_with("         ")), "{line}");
    }
}
