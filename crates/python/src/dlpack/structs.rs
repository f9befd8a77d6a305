//! The structs of DLPack, as its header `dlpack.h` defines them.

use std::ffi::{CStr, c_void};

use warpfold::DType;

/// The name of a capsule with a [`Managed`].
pub const PLAIN: &CStr = c"dltensor";
/// The name of a capsule with a [`Versioned`].
pub const VERSIONED: &CStr = c"dltensor_versioned";

pub const CPU: i32 = 1;
pub const CUDA: i32 = 2;
/// Page-locked memory of the host.
pub const CUDA_HOST: i32 = 3;
pub const CUDA_MANAGED: i32 = 13;

/// The major version of the structs here.
pub const MAJOR: u32 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Device {
    pub kind: i32,
    pub index: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
pub struct DlTensor {
    pub data: *mut c_void,
    pub device: Device,
    pub rank: i32,
    pub dtype: DataType,
    pub shape: *mut i64,
    /// In elements; null: C order.
    pub strides: *mut i64,
    pub offset: u64,
}

#[repr(C)]
pub struct Managed {
    pub tensor: DlTensor,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
pub struct Versioned {
    pub major: u32,
    pub minor: u32,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    pub flags: u64,
    pub tensor: DlTensor,
}

impl DataType {
    /// The dtype, if Warpfold has it.
    pub fn dtype(self) -> Option<DType> {
        let found = DType::ALL.into_iter().find(|&dtype| Self::of(dtype) == self);
        found.filter(|_| self.lanes == 1)
    }

    /// The type of a dtype.
    pub fn of(dtype: DType) -> Self {
        let code = match dtype {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
            DType::F16 | DType::F32 | DType::F64 => 2,
            DType::BF16 => 4,
            DType::Bool => 6,
        };
        Self { code, bits: 8 * dtype.size() as u8, lanes: 1 }
    }
}
