//! Copies an array from and to any axes, and converts floats: for arrays that lie otherwise than kernels of rows read
//! them, or write.
//!
//! Idea: a thread to an element, found by divisions. Bottleneck: these, and lines of memory of which only an element is
//! used; it is for layouts that are rare.

use crate::address::array;
use crate::block::each_of_grid;
use crate::params::params;
use crate::reduce::any::AXES;
use crate::reduce::out::Out;
use crate::reduce::recipe::{code, log_size};
use crate::reduce::shape::piece::Outputs;
use warpfold_core::{Cast, DType};
use warpfold_simt::{Global, Pod, Simt};

params! {
    #[derive(Default)]
    /// From where to where.
    pub struct ArrangeAt {
        /// The first element.
        pub input: u64,
        /// Where it goes.
        pub output: u64,
    }

    /// A copy, element by element.
    pub struct Arrange at ArrangeAt {
        /// The dtype of the elements, as its place in `DType::ALL`.
        pub from: u32,
        /// The dtype that they become: of floats another one of floats, or the same.
        pub to: u32,
        /// The axes.
        pub axes: Outputs<AXES>,
    }
}

/// An element to a thread, in turns.
#[inline(always)]
pub fn arrange<S: Simt>(s: &S, call: &Arrange) {
    each_of_grid(
        s,
        call.axes.total,
        #[inline(always)]
        |i| {
            let at = call.axes.at(i);
            let (from, to) = (array::<u8>(call.at.input.wrapping_add(at.x as u64)), call.at.output);
            if s.branch(call.from != call.to) {
                let out = Out { output: array(to), counters: array(0), index: at.out as usize };
                return out.number(s, call.to, Cast::Float(float(s, from, call.from)));
            }
            match log_size(call.from) {
                0 => moved::<S, u8>(s, from, to, at.out),
                1 => moved::<S, u16>(s, from, to, at.out),
                2 => moved::<S, u32>(s, from, to, at.out),
                _ => moved::<S, u64>(s, from, to, at.out),
            }
        },
    );
}

#[inline(always)]
fn moved<S: Simt, T: Pod>(s: &S, from: Global<u8>, to: u64, at: i64) {
    let address = to.wrapping_add((at * size_of::<T>() as i64) as u64);
    s.store(array::<T>(address), 0, s.load(from.cast::<T>(), 0));
}

/// A float of a dtype.
#[inline(always)]
fn float<S: Simt>(s: &S, at: Global<u8>, dtype: u32) -> f64 {
    match dtype {
        _ if dtype == code(DType::F16) => s.f16_to_f32(s.load(at.cast(), 0)) as f64,
        _ if dtype == code(DType::BF16) => s.bf16_to_f32(s.load(at.cast(), 0)) as f64,
        _ if dtype == code(DType::F32) => s.load(at.cast::<f32>(), 0) as f64,
        _ => s.load(at.cast(), 0),
    }
}
