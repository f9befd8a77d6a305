//! The names of devices.

use std::fmt;
use std::str::FromStr;

use warpfold_array::Error;

/// Where to compute, as users name it: `cpu`, `cuda`, `cuda:1`, or `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceName {
    /// The device that a computation is expected to be fastest on: see [`DeviceName::resolve`].
    #[default]
    Auto,
    /// This machine's processors.
    Cpu,
    /// The NVIDIA GPU with that index; `cuda` is the first.
    Cuda(usize),
}

impl FromStr for DeviceName {
    type Err = Error;

    fn from_str(name: &str) -> Result<DeviceName, Error> {
        let index = |text: &str| match text.bytes().all(|b| b.is_ascii_digit()) {
            true => text.parse().ok(),
            false => None,
        };
        match name {
            "auto" => return Ok(DeviceName::Auto),
            "cpu" => return Ok(DeviceName::Cpu),
            "cuda" => return Ok(DeviceName::Cuda(0)),
            _ => {}
        }
        name.strip_prefix("cuda:").and_then(index).map(DeviceName::Cuda).ok_or_else(|| Error::Device {
            name: name.into(),
            why: "give auto, cpu, cuda, or cuda:1 for the second GPU".into(),
        })
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Auto => f.write_str("auto"),
            DeviceName::Cpu => f.write_str("cpu"),
            DeviceName::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceName;

    #[test]
    fn devices_are_named_cpu_cuda_and_auto() {
        let parse = |name: &str| name.parse::<DeviceName>();
        assert_eq!(parse("auto"), Ok(DeviceName::Auto));
        assert_eq!(parse("cpu"), Ok(DeviceName::Cpu));
        assert_eq!(parse("cuda"), Ok(DeviceName::Cuda(0)));
        assert_eq!(parse("cuda:0"), Ok(DeviceName::Cuda(0)));
        assert_eq!(parse("cuda:12"), Ok(DeviceName::Cuda(12)));
        assert_eq!(DeviceName::Cuda(12).to_string(), "cuda:12");
    }

    #[test]
    fn other_names_are_refused_with_those_that_there_are() {
        for name in
            ["", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "cuda:1:2", "cuda:99999999999999999999"]
        {
            let text = name.parse::<DeviceName>().unwrap_err().to_string();
            assert!(text.contains(&format!("`{name}`")) && text.contains("cuda:1 for the second"), "{text}");
        }
    }
}
