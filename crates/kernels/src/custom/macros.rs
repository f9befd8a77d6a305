//! What a user's crate calls.

/// Makes a struct travel as 32-bit words, so that kernels can read, keep and exchange it: an element, a node of the
/// tree, a result, or the reducer itself (without fields, or with at most four words of them, which kernels get at run
/// time).
///
/// Its fields are numbers of 32 or 64 bits, other such structs, pairs, or arrays of these. It becomes `repr(C)`,
/// `Clone` and `Copy`.
///
/// ```
/// warpfold_kernels::words! {
///     /// A 2x2 matrix, row by row.
///     #[derive(Debug, PartialEq)]
///     pub struct Mat2 {
///         pub a: f32,
///         pub b: f32,
///         pub c: f32,
///         pub d: f32,
///     }
/// }
/// warpfold_kernels::words! {
///     pub struct Mat2Product;
/// }
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis struct $name:ident;) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        $vis struct $name;

        impl $crate::custom::Node for $name {
            const WORDS: u32 = 0;
            #[inline(always)]
            fn zero() -> Self {
                $name
            }
            #[inline(always)]
            fn map(self, _: impl FnMut(u32, u32) -> u32) -> Self {
                self
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $t:ty),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $t,)+
        }

        impl $crate::custom::Node for $name {
            const WORDS: u32 = 0 $(+ <$t as $crate::custom::Node>::WORDS)+;
            #[inline(always)]
            fn zero() -> Self {
                Self { $($field: <$t as $crate::custom::Node>::zero()),+ }
            }
            #[inline(always)]
            fn map(self, mut f: impl FnMut(u32, u32) -> u32) -> Self {
                let mut first = 0;
                $(
                    let $field = $crate::custom::Node::map(
                        self.$field,
                        #[inline(always)]
                        |i, word| f(first + i, word),
                    );
                    first += <$t as $crate::custom::Node>::WORDS;
                )+
                let _ = first;
                Self { $($field),+ }
            }
        }

        const _: () = assert!(
            size_of::<$name>() == 4 * <$name as $crate::custom::Node>::WORDS as usize,
            "the struct has padding, or a field that is no number of 32 or 64 bits: \
             put 64-bit fields first, and fill up with u32",
        );

        // SAFETY: `repr(C)` puts the fields into memory in the order in which `map` goes through them; the assertion
        // says that nothing lies between them or after them; and each is such itself, since `Node`s of fewer than 32
        // bits would fail it.
        unsafe impl $crate::custom::Words for $name {
            type Bits = <$crate::custom::Bytes<{ size_of::<$name>() }> as $crate::custom::Read>::Bits;
        }
    };
}

/// Names the kernels of a reducer, and exports them where the crate is compiled for nvptx64: `export_reducer!(mat2:
/// Mat2Product);` makes `rows_mat2`, `columns_mat2` and the others that the planner chooses from. On the host it
/// implements [`Exported`](crate::custom::Exported), by which the library finds them, and the emulator runs them.
///
/// The reducer, its elements, nodes and results are [`words!`](crate::words). A reducer that says `INDEXED = false` and
/// has elements of 4, 8 or 16 bytes runs at the speed of memory, as far as its `combine` allows.
///
/// ```
/// use warpfold_kernels::{custom::Exported, export_reducer, words};
/// use warpfold_core::Reducer;
///
/// words! {
///     /// A polynomial's value: coefficients with the highest power first.
///     pub struct Horner {
///         pub x: f32,
///     }
/// }
///
/// impl Reducer for Horner {
///     type Item = f32;
///     type Acc = (f32, f32); // value, and x to the number of coefficients
///     type Output = f32;
///     const INDEXED: bool = false;
///     fn lift(&self, coefficient: f32, _index: u64) -> (f32, f32) {
///         (coefficient, self.x)
///     }
///     fn combine(&self, a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
///         (a.0 * b.1 + b.0, a.1 * b.1)
///     }
///     fn finish(&self, acc: (f32, f32), _count: u64) -> f32 {
///         acc.0
///     }
/// }
///
/// export_reducer!(horner: Horner);
/// assert_eq!(Horner::NAME, "horner");
/// ```
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! export_reducer {
    ($name:ident: $reducer:ty $(;)?) => {
        impl $crate::custom::Exported for $reducer {
            const NAME: &'static str = stringify!($name);
            fn find<V: $crate::Visit>(entry: &str, visitor: V) -> Option<V::Output> {
                $crate::reducer_kernels!(visit_reducer_kernel, (entry, visitor), $name, $reducer);
                None
            }
        }
    };
}

/// Exports the kernels of a reducer.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! export_reducer {
    ($name:ident: $reducer:ty $(;)?) => {
        $crate::reducer_kernels!(export_reducer_kernel, (), $name, $reducer);
        const _: () = {
            use $crate::custom::{Room, Sizes};
            /// Does nothing: its parameters' sizes are those of [`Sizes`].
            #[unsafe(export_name = concat!("words_", stringify!($name)))]
            extern "ptx-kernel" fn words(
                _: Room<{ Sizes::of::<$reducer>().item }>,
                _: Room<{ Sizes::of::<$reducer>().node }>,
                _: Room<{ Sizes::of::<$reducer>().result }>,
                _: Room<{ Sizes::of::<$reducer>().reducer }>,
                _: Room<{ Sizes::of::<$reducer>().kernels }>,
            ) {
            }
        };
    };
}

/// The kernels of a reducer: calls `$each` with `$with`, a name, the parameter and a function.
#[doc(hidden)]
#[macro_export]
macro_rules! reducer_kernels {
    ($each:ident, $with:tt, $name:ident, $r:ty) => {
        $crate::$each!($with, concat!("rows_", stringify!($name)), OfRows, $crate::custom::rows::<_, $r>);
        $crate::$each!($with, concat!("runs_", stringify!($name)), OfRuns, $crate::custom::runs::<_, $r>);
        $crate::$each!($with, concat!("staged_", stringify!($name)), OfStaged, $crate::custom::staged::<_, $r>);
        $crate::$each!(
            $with,
            concat!("columns_", stringify!($name)),
            OfColumns,
            $crate::custom::columns::<_, $r, false, { $crate::custom::wide::<$r>() }, { $crate::custom::slots::<$r>() }>
        );
        $crate::$each!(
            $with,
            concat!("narrow_", stringify!($name)),
            OfColumns,
            $crate::custom::columns::<_, $r, true, { $crate::custom::wide::<$r>() }, { $crate::custom::slots::<$r>() }>
        );
        $crate::$each!($with, concat!("any_rows_", stringify!($name)), OfAnyRows, $crate::custom::any_rows::<_, $r>);
        $crate::$each!(
            $with,
            concat!("any_columns_", stringify!($name)),
            OfAnyColumns,
            $crate::custom::any_columns::<_, $r, { $crate::custom::any_slots::<$r>() }>
        );
    };
}

/// Exports one of them.
///
/// # Safety
/// Of what it exports: as `Global::from_raw`, for every address that the call's shape reaches from its addresses; and a
/// workspace with the room that the planner says, whose counters are zero.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! export_reducer_kernel {
    ((), $name:expr, $call:ident, $run:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "ptx-kernel" fn kernel(call: $crate::custom::call::$call) {
                $run(&$crate::simt::hardware::Hardware, &call)
            }
        };
    };
}

/// Returns what the visitor makes of one of them, if it is the one that is looked for.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! visit_reducer_kernel {
    (($entry:ident, $visitor:ident), $name:expr, $call:ident, $run:expr) => {
        if $entry == $name {
            struct Found;
            impl $crate::Kernel for Found {
                type Params = $crate::custom::call::$call;
                #[inline(always)]
                fn run<S: $crate::simt::Simt>(s: &S, call: &$crate::custom::call::$call) {
                    $run(s, call)
                }
            }
            return Some($visitor.visit::<Found>());
        }
    };
}
