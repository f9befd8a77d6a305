//! What a GPU or its driver refused. Plain data, so that there is one error type with a driver and without.

use warpfold_core::DType;

use crate::op::Op;

/// What the driver refused, on which call, and what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The driver's library is not on this machine.
    #[error("no NVIDIA driver: its library (libcuda) was not found; install the driver, or compute on `cpu`")]
    NoDriver,
    /// The driver cannot load the kernels.
    #[error(
        "the NVIDIA driver supports CUDA {}.{}, the kernels need {}.{}: update the driver, or compute on `cpu`",
        found.0, found.1, needed.0, needed.1
    )]
    OldDriver {
        /// What the driver supports.
        found: (u32, u32),
        /// What the kernels need.
        needed: (u32, u32),
    },
    /// A driver, and nothing to drive.
    #[error("the NVIDIA driver sees no GPU ({why}): check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or compute on `cpu`")]
    NoDevice {
        /// The driver's words.
        why: String,
    },
    /// An index past the last GPU.
    #[error("no device `cuda:{index}`: {}", present(*count))]
    NoSuchDevice {
        /// As asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A GPU that the kernels are not compiled for.
    #[error(
        "cuda:{index} ({name}) has compute capability {}.{}, the kernels need {}.{}: compute on `cpu`",
        found.0, found.1, needed.0, needed.1
    )]
    OldDevice {
        /// Of the device.
        index: usize,
        /// Of the device.
        name: String,
        /// Of the device.
        found: (u32, u32),
        /// The least that will do.
        needed: (u32, u32),
    },
    /// The allocation does not fit.
    #[error(
        "cuda:{index} is out of memory: {what} needs {}, {} of {} are free; give it less at once, or compute on `cpu`",
        Bytes(*needed), Bytes(*free), Bytes(*total)
    )]
    OutOfMemory {
        /// Of the device.
        index: usize,
        /// What was to be allocated.
        what: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes that were free.
        free: u64,
        /// Bytes of the device.
        total: u64,
    },
    /// A kernel that was not compiled.
    #[error("there is no kernel `{entry}`; `cargo xtask ptx` compiles those that the source names")]
    UnknownEntry {
        /// As asked for.
        entry: String,
    },
    /// Bytes that hold no kernels.
    #[error(
        "these {len} bytes are no kernels: embed the file that `cargo warpfold-ptx -o FILE` writes, by include_bytes!"
    )]
    NoArchive {
        /// How many were given.
        len: usize,
    },
    /// Kernels of another reducer.
    #[error(
        "there are no kernels of `{name}`: `{entry}` is missing, there is {}; write `export_reducer!({name}: ...)` in \
         the crate, and compile it again with `cargo warpfold-ptx`",
        found.join(", ")
    )]
    NoReducer {
        /// The reducer's.
        name: &'static str,
        /// Which is missing.
        entry: String,
        /// Those that are there.
        found: Vec<String>,
    },
    /// Kernels that were compiled of another source.
    #[error(
        "the kernels of `{name}` have {what} of {found} bytes, here they have {expected}: the source has changed, \
         compile the kernels again with `cargo warpfold-ptx`"
    )]
    OldKernels {
        /// The reducer's.
        name: &'static str,
        /// What differs.
        what: &'static str,
        /// In the kernels.
        found: usize,
        /// In this program.
        expected: usize,
    },
    /// Elements of a user's own type at addresses that a GPU cannot read them from.
    #[error(
        "elements of {size} bytes at address {address:#x} with steps of {strides:?} bytes: a GPU reads them only from \
         multiples of {align}; copy them"
    )]
    MisalignedElements {
        /// Of an element.
        size: usize,
        /// Of the element with all indices 0.
        address: u64,
        /// Bytes from neighbour to neighbour along each axis.
        strides: Vec<isize>,
        /// What addresses and steps must be multiples of.
        align: usize,
    },
    /// The driver's compiler refused a kernel.
    #[error(
        "kernel `{entry}` could not be loaded: {call}: {why}{}; update the driver, or compute on `cpu`",
        log(log_text)
    )]
    Load {
        /// The kernel.
        entry: String,
        /// Of the driver.
        call: &'static str,
        /// Its name for the error, and its words.
        why: String,
        /// What its compiler said.
        log_text: String,
    },
    /// The launch was refused; nothing ran.
    #[error("kernel `{entry}` could not be launched with {grid} blocks of {block} threads: cuLaunchKernel: {why}")]
    Launch {
        /// The kernel.
        entry: String,
        /// Blocks.
        grid: u32,
        /// Threads per block.
        block: u32,
        /// The driver's name for the error, and its words.
        why: String,
    },
    /// A kernel did something that ended the context; all that the device held for this process is lost.
    #[error(
        "cuda:{index} is lost to this process: {call}: {why}; {}start the process again, and report this",
        last(launched)
    )]
    Dead {
        /// Of the device.
        index: usize,
        /// The call that found out.
        call: &'static str,
        /// The kernel launched last, perhaps the one to blame.
        launched: Option<String>,
        /// The driver's name for the error, and its words.
        why: String,
    },
    /// Anything else that a call said.
    #[error("{call} failed: {why}")]
    Call {
        /// Of the driver.
        call: &'static str,
        /// The driver's name for the error, and its words.
        why: String,
    },
    /// A copy between arrays of different lengths.
    #[error("{what}: {found} elements given, {expected} needed")]
    Length {
        /// What was copied.
        what: &'static str,
        /// As given.
        found: usize,
        /// As needed.
        expected: usize,
    },
    /// A label that names no cluster.
    #[error("label {label} of point {point} is not a cluster: labels run from 0 to {}", clusters - 1)]
    Label {
        /// Where.
        point: usize,
        /// What is there.
        label: i32,
        /// How many there are.
        clusters: u32,
    },
    /// An array or a stream of one GPU where another's belongs.
    #[error("the {what} is of cuda:{found}, the work is for cuda:{expected}: keep both on one device")]
    OtherDevice {
        /// What it is.
        what: &'static str,
        /// Its device.
        found: usize,
        /// The work's.
        expected: usize,
    },
    /// An array that a reduction was not prepared for.
    #[error("the {what} is {found}, the reduction was prepared for {expected}: prepare another one for it")]
    Layout {
        /// Which array.
        what: &'static str,
        /// Its dtype, shape and strides.
        found: String,
        /// Those that were promised.
        expected: String,
    },
    /// Points or clusters that no kernel is for.
    #[error("k-means on a GPU: {why}")]
    Clusters {
        /// And what to do.
        why: String,
    },
    /// Keys, or values by key, that no kernel is for.
    #[error("keys on a GPU: {why}")]
    Keys {
        /// And what to do.
        why: String,
    },
    /// Labels of no cluster.
    #[error("{bad} labels are out of range: give 0 to {}, or -1 for points that belong to no cluster", clusters - 1)]
    BadLabels {
        /// How many.
        bad: u64,
        /// How many clusters there are.
        clusters: usize,
    },
    /// Elements at addresses that a GPU cannot read them from.
    #[error(
        "elements of {dtype} at address {address:#x} with steps of {strides:?} bytes: a GPU reads an element only from \
         a multiple of its size; copy the array"
    )]
    Misaligned {
        /// Of the array.
        dtype: DType,
        /// Of the element with all indices 0.
        address: u64,
        /// Bytes from neighbour to neighbour along each axis.
        strides: Vec<isize>,
    },
    /// An index or a range outside of an array.
    #[error("{what} is outside of an array of shape {shape:?}")]
    Outside {
        /// What was asked for.
        what: String,
        /// Of the array.
        shape: Vec<usize>,
    },
    /// No kernel computes this.
    #[error("no GPU kernel computes {op} of {dtype} with these options; compute on `cpu`")]
    NoKernel {
        /// The reduction.
        op: Op,
        /// Of the array.
        dtype: DType,
    },
    /// Data of a host array that neither fit the GPU nor can be cut into pieces that do.
    #[error(
        "{op} of {dtype} {shape:?} over axes {axes:?} needs {} at once, which cuda:{index} does not have: {why}",
        Bytes(*needed)
    )]
    TooLarge {
        /// The reduction.
        op: Op,
        /// Of the array.
        dtype: DType,
        /// Of the array.
        shape: Vec<usize>,
        /// The axes reduced.
        axes: Vec<usize>,
        /// Of the device.
        index: usize,
        /// Bytes.
        needed: u64,
        /// Why it is not cut, and what to do.
        why: &'static str,
    },
    /// There is no such plan.
    #[error("{why}")]
    Plan {
        /// And what to do.
        why: String,
    },
}

impl CudaError {
    /// Whether the machine is not made for the work, rather than that something went wrong in it.
    pub fn is_unavailable(&self) -> bool {
        use CudaError::*;
        matches!(
            self,
            NoDriver
                | OldDriver { .. }
                | NoDevice { .. }
                | NoSuchDevice { .. }
                | OldDevice { .. }
                | OutOfMemory { .. }
                | NoKernel { .. }
                | TooLarge { .. }
        )
    }

    /// Whether it was asked for something that there is not on a GPU, or that is wrong, rather than that something went
    /// wrong.
    pub fn is_refusal(&self) -> bool {
        use CudaError::*;
        self.is_unavailable() || matches!(self, Clusters { .. } | Keys { .. } | Label { .. } | BadLabels { .. })
    }
}

fn present(count: usize) -> String {
    match count {
        0 => "there is no GPU; compute on `cpu`".into(),
        1 => "there is one GPU, `cuda:0`".into(),
        n => format!("there are `cuda:0` to `cuda:{}`", n - 1),
    }
}

fn log(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

fn last(launched: &Option<String>) -> String {
    launched.as_ref().map_or(String::new(), |entry| format!("the kernel launched last was `{entry}`; "))
}

/// A size that people can read.
struct Bytes(u64);

impl core::fmt::Display for Bytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            b if b < 10 << 10 => write!(f, "{b} bytes"),
            b if b < 10 << 20 => write!(f, "{} KiB", b >> 10),
            b if b < 10 << 30 => write!(f, "{} MiB", b >> 20),
            b => write!(f, "{:.1} GiB", b as f64 / f64::from(1 << 30)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let say = |e: CudaError, words: &[&str]| {
            let text = e.to_string();
            words.iter().for_each(|w| assert!(text.contains(w), "{text} does not say {w}"));
        };
        say(CudaError::NoDriver, &["install", "cpu"]);
        say(CudaError::OldDriver { found: (11, 4), needed: (11, 8) }, &["11.4", "11.8", "update"]);
        say(CudaError::NoSuchDevice { index: 3, count: 2 }, &["`cuda:3`", "`cuda:0` to `cuda:1`"]);
        say(CudaError::NoSuchDevice { index: 3, count: 1 }, &["`cuda:0`"]);
        let (needed, free, total) = (1 << 40, 3 << 20, 141 << 30);
        let full = CudaError::OutOfMemory { index: 0, what: "a device buffer", needed, free, total };
        say(full, &["a device buffer", "1024.0 GiB", "3072 KiB", "141.0 GiB"]);
        let why = "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned();
        let dead = CudaError::Dead { index: 0, call: "cuCtxSynchronize", launched: Some("a4_f32".into()), why };
        say(dead, &["a4_f32", "cuCtxSynchronize", "start the process again"]);
    }
}
