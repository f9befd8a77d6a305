//! What a kernel is, so that one table can export it as PTX and run it in the emulator.

use crate::params::Params;
use warpfold_simt::Simt;

/// A kernel: a function of one thread, and the launch struct that all threads get.
pub trait Kernel {
    /// The launch struct.
    type Params: Params;

    /// What one thread does.
    fn run<S: Simt>(s: &S, params: &Self::Params);
}

/// What is done with a kernel that has been found.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// The names of the kernels that it may be shown. Others are not compiled for it. Without a list it may be shown
    /// every kernel.
    const AMONG: Option<&'static [&'static str]> = None;

    /// Does it.
    fn visit<K: Kernel>(self) -> Self::Output;
}

/// Calls `$each` with `$with` and every row of a table of `name: Params = function;`, one by one.
macro_rules! each_row {
    ($each:ident $with:tt $($name:expr; $params:ty = $run:expr;)*) => {
        $($each!($with $name, $params, $run);)*
    };
}
pub(crate) use each_row;

/// Exports a kernel under its name.
///
/// # Safety
/// Of what it exports: as `Global::from_raw`, for every address that the parameter reaches; and a workspace with the
/// room that the planner says, whose counters are zero.
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
macro_rules! export {
    (() $name:expr, $params:ty, $run:expr) => {
        const _: () = {
            $crate::params::checked::<$params>();
            #[unsafe(export_name = $name)]
            unsafe extern "ptx-kernel" fn kernel(params: $params) {
                if const { $crate::kernel::is_asked_for($name) } {
                    $run(&warpfold_simt::hardware::Hardware, &params)
                }
            }
        };
    };
}
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
pub(crate) use export;

/// Whether an entry is compiled: its name has one of the parts that `WARPFOLD_ENTRIES` lists, with commas between them.
/// Without the variable, or if it is empty, all are. Others are exported empty, and `cargo xtask ptx` leaves what is
/// committed of them.
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
pub(crate) const fn is_asked_for(name: &str) -> bool {
    let Some(parts) = option_env!("WARPFOLD_ENTRIES") else { return true };
    let (name, parts) = (name.as_bytes(), parts.as_bytes());
    if parts.is_empty() {
        return true;
    }
    let mut start = 0;
    while start < parts.len() {
        let mut end = start;
        while end < parts.len() && parts[end] != b',' {
            end += 1;
        }
        let mut at = 0;
        while at + (end - start) <= name.len() {
            let mut same = 0;
            while start + same < end && name[at + same] == parts[start + same] {
                same += 1;
            }
            if start + same == end && start < end {
                return true;
            }
            at += 1;
        }
        start = end + 1;
    }
    false
}

/// Exports all kernels of a table, the macro `$table`, and defines `find` of them.
macro_rules! tabled {
    ($table:ident) => {
        #[cfg(all(target_arch = "nvptx64", feature = "entries"))]
        $table!(export());

        /// Lets a visitor see the kernel of that name. Gives the visitor back if there is none.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn find<V: $crate::Visit>(entry: &str, visitor: V) -> Result<V::Output, V> {
            $table!(visit(entry, visitor: V));
            Err(visitor)
        }
    };
}
pub(crate) use tabled;

/// Whether a name is in a list. All names are, if there is none.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) const fn is_among(list: Option<&[&str]>, name: &str) -> bool {
    let Some(list) = list else { return true };
    let mut i = 0;
    while i < list.len() {
        if is_same(list[i].as_bytes(), name.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether two names are the same. (`==` of strings is no constant.)
#[cfg(not(target_arch = "nvptx64"))]
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Returns what the visitor makes of a kernel, if it is the one that is looked for.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! visit {
    (($entry:ident, $visitor:ident: $visit:ty) $name:expr, $params:ty, $run:expr) => {
        // A condition that is a constant, so that what it excludes is not compiled.
        if const { $crate::kernel::is_among(<$visit>::AMONG, $name) } && $entry == $name {
            struct Found;
            impl $crate::Kernel for Found {
                type Params = $params;
                #[inline(always)]
                fn run<S: warpfold_simt::Simt>(s: &S, params: &$params) {
                    $run(s, params)
                }
            }
            return Ok($visitor.visit::<Found>());
        }
    };
}
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use visit;
