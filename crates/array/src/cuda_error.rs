//! Errors of GPUs and of the driver. They are plain data, so that the error type is the same with a driver and without.

use warpfold_core::DType;

use crate::op::Op;

/// An error of a GPU or of the driver: the call that failed, the cause, and what to do.
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
        /// The CUDA version that the driver supports.
        found: (u32, u32),
        /// The CUDA version that the kernels need.
        needed: (u32, u32),
    },
    /// A driver without a GPU.
    #[error("the NVIDIA driver sees no GPU ({why}): check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or compute on `cpu`")]
    NoDevice {
        /// The driver's message.
        why: String,
    },
    /// An index past the last GPU.
    #[error("no device `cuda:{index}`: {}", present(*count))]
    NoSuchDevice {
        /// The index asked for.
        index: usize,
        /// The number of GPUs.
        count: usize,
    },
    /// A GPU that the kernels are not compiled for.
    #[error(
        "cuda:{index} ({name}) has compute capability {}.{}, the kernels need {}.{}: compute on `cpu`",
        found.0, found.1, needed.0, needed.1
    )]
    OldDevice {
        /// The index of the device.
        index: usize,
        /// The name of the device.
        name: String,
        /// The compute capability of the device.
        found: (u32, u32),
        /// The least compute capability that the kernels need.
        needed: (u32, u32),
    },
    /// The allocation does not fit.
    #[error(
        "cuda:{index} is out of memory: {what} needs {}, {} of {} are free; give it less at once, or compute on `cpu`",
        Bytes(*needed), Bytes(*free), Bytes(*total)
    )]
    OutOfMemory {
        /// The index of the device.
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
    /// A kernel that the library does not have.
    #[error("there is no kernel `{entry}`; `cargo xtask ptx` compiles those that the source names")]
    UnknownEntry {
        /// The name asked for.
        entry: String,
    },
    /// Bytes that hold no kernels.
    #[error(
        "these {len} bytes are no kernels: embed the file that `cargo warpfold-ptx -o FILE` writes, by include_bytes!"
    )]
    NoArchive {
        /// The number of bytes.
        len: usize,
    },
    /// Kernels of another reducer.
    #[error(
        "there are no kernels of `{name}`: `{entry}` is missing, there is {}; write `export_reducer!({name}: ...)` in \
         the crate, and compile it again with `cargo warpfold-ptx`",
        found.join(", ")
    )]
    NoReducer {
        /// The name of the reducer.
        name: &'static str,
        /// The kernel that is missing.
        entry: String,
        /// The kernels that the file has.
        found: Vec<String>,
    },
    /// Kernels that were compiled of another source.
    #[error(
        "the kernels of `{name}` have {what} of {found} bytes, here they have {expected}: the source has changed, \
         compile the kernels again with `cargo warpfold-ptx`"
    )]
    OldKernels {
        /// The name of the reducer.
        name: &'static str,
        /// The type whose size differs.
        what: &'static str,
        /// Its size in the kernels.
        found: usize,
        /// Its size in this program.
        expected: usize,
    },
    /// Elements of a user's own type at addresses that a GPU cannot read them from.
    #[error(
        "elements of {size} bytes at address {address:#x} with steps of {strides:?} bytes: a GPU reads them only from \
         multiples of {align}; copy them"
    )]
    MisalignedElements {
        /// The size of an element.
        size: usize,
        /// The address of the element with all indices 0.
        address: u64,
        /// Bytes from neighbour to neighbour along each axis.
        strides: Vec<isize>,
        /// The alignment that addresses and steps must have.
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
        /// The call of the driver.
        call: &'static str,
        /// The driver's name for the error, and its message.
        why: String,
        /// The log of the driver's compiler.
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
        /// The driver's name for the error, and its message.
        why: String,
    },
    /// A kernel did something that ended the context; all that the device held for this process is lost.
    #[error(
        "cuda:{index} is lost to this process: {call}: {why}; {}start the process again, and report this",
        last(launched)
    )]
    Dead {
        /// The index of the device.
        index: usize,
        /// The call that reported the error.
        call: &'static str,
        /// The kernel launched last, which may have caused the error.
        launched: Option<String>,
        /// The driver's name for the error, and its message.
        why: String,
    },
    /// Any other error of a call.
    #[error("{call} failed: {why}")]
    Call {
        /// The call of the driver.
        call: &'static str,
        /// The driver's name for the error, and its message.
        why: String,
    },
    /// A copy between arrays of different lengths.
    #[error("{what}: {found} elements given, {expected} needed")]
    Length {
        /// The name of what was copied.
        what: &'static str,
        /// The number of elements given.
        found: usize,
        /// The number of elements needed.
        expected: usize,
    },
    /// A label that names no cluster.
    #[error("label {label} of point {point} is not a cluster: labels run from 0 to {}", clusters - 1)]
    Label {
        /// The index of the point.
        point: usize,
        /// The label.
        label: i32,
        /// The number of clusters.
        clusters: u32,
    },
    /// An array or a stream of another GPU than that of the work.
    #[error("the {what} is of cuda:{found}, the work is for cuda:{expected}: keep both on one device")]
    OtherDevice {
        /// The name of the array or stream.
        what: &'static str,
        /// The index of its device.
        found: usize,
        /// The index of the work's device.
        expected: usize,
    },
    /// An array that a reduction was not prepared for.
    #[error("the {what} is {found}, the reduction was prepared for {expected}: prepare another one for it")]
    Layout {
        /// The name of the array.
        what: &'static str,
        /// Its dtype, shape and strides.
        found: String,
        /// The dtype, shape and strides that the reduction was prepared for.
        expected: String,
    },
    /// Points or clusters that no kernel is for.
    #[error("k-means on a GPU: {why}")]
    Clusters {
        /// The cause, and what to do.
        why: String,
    },
    /// Keys, or values by key, that no kernel is for.
    #[error("keys on a GPU: {why}")]
    Keys {
        /// The cause, and what to do.
        why: String,
    },
    /// Labels of no cluster.
    #[error("{bad} labels are out of range: give 0 to {}, or -1 for points that belong to no cluster", clusters - 1)]
    BadLabels {
        /// The number of labels out of range.
        bad: u64,
        /// The number of clusters.
        clusters: usize,
    },
    /// Elements at addresses that a GPU cannot read them from.
    #[error(
        "elements of {dtype} at address {address:#x} with steps of {strides:?} bytes: a GPU reads an element only from \
         a multiple of its size; copy the array"
    )]
    Misaligned {
        /// The dtype of the array.
        dtype: DType,
        /// The address of the element with all indices 0.
        address: u64,
        /// Bytes from neighbour to neighbour along each axis.
        strides: Vec<isize>,
    },
    /// An index or a range outside of an array.
    #[error("{what} is outside of an array of shape {shape:?}")]
    Outside {
        /// The index or range.
        what: String,
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// No kernel computes this.
    #[error("no GPU kernel computes {op} of {dtype} with these options; compute on `cpu`")]
    NoKernel {
        /// The reduction.
        op: Op,
        /// The dtype of the array.
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
        /// The dtype of the array.
        dtype: DType,
        /// The shape of the array.
        shape: Vec<usize>,
        /// The axes reduced.
        axes: Vec<usize>,
        /// The index of the device.
        index: usize,
        /// The bytes needed.
        needed: u64,
        /// Why the array is not cut, and what to do.
        why: &'static str,
    },
    /// A plan that cannot be made.
    #[error("{why}")]
    Plan {
        /// The cause, and what to do.
        why: String,
    },
}

impl CudaError {
    /// Whether the machine cannot do the work: it lacks a driver, a GPU, memory or a kernel.
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

    /// Whether the request was refused: it is wrong, or no GPU can do it. All other errors are failures of the driver
    /// or of a device.
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
