//! The driver's status codes, as errors.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use warpfold_array::CudaError;

/// The error of a call that concerns no particular device.
pub(crate) fn refused_call(call: &'static str, code: DriverError) -> CudaError {
    match code.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => CudaError::NoDevice { why: words(code) },
        _ => CudaError::Call { call, why: words(code) },
    }
}

/// Whether a context is unusable after this code.
pub(crate) fn is_fatal(code: DriverError) -> bool {
    matches!(
        code.0,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_DEINITIALIZED
    )
}

/// `CUDA_ERROR_X: in words`. Only for codes that the driver gave, so that it is known to be loaded.
pub(crate) fn words(code: DriverError) -> String {
    let text = |words: Result<&core::ffi::CStr, DriverError>| words.ok().map(|w| w.to_string_lossy().into_owned());
    match (text(code.error_name()), text(code.error_string())) {
        (Some(name), Some(words)) => format!("{name}: {words}"),
        _ => format!("error {}", code.0 as u32),
    }
}
