//! The table of reductions' kernels: a line for each fold. One expansion exports them as PTX, another finds them by
//! name.
//!
//! `tree`, `heap` and `packed` folds become `rows_`, `runs_`, `staged_`, `columns_`, `apart_`, `shallow_`, `segments_`
//! and `stretches_` (`narrow_` too for trees) with the fold's name; `_tall` ones have no `shallow_`. The number is how
//! many columns a lane takes; `packed` ones take all of a word together. A `broad` tree has all of these but `narrow_`
//! and `shallow_`, a `lean` one no segments either, a `live` one `shallow_` again. `sums` and `doubles`, which are
//! `broad`, do norms, too: the recipe says which. `describe` of a source becomes `rows_`, `runs_`, `staged_`,
//! `columns_`, `apart_` and `narrow_`. `tiled` becomes `tiled_`, and of sums and moments `abreast_`, too; those of f32
//! take 16-bit floats. `any` recipes become `any_rows_` and `any_columns_`. `copy` and `single` are
//! kernels of that name.

#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{Visit, visit};
use crate::reduce::any::{self, AXES, Any};
use crate::reduce::call::Call;
#[cfg(not(target_arch = "nvptx64"))]
use crate::reduce::facts::Facts;
use crate::reduce::fold::{self, Parts, Tree};
use crate::reduce::recipe::flag;
use crate::reduce::shape::abreast::{self, Abreast};
use crate::reduce::shape::beside::{self, Beside};
use crate::reduce::shape::columns::{self, Columns};
use crate::reduce::shape::describe::Both;
use crate::reduce::shape::panel::{self, Apart, Pitch};
use crate::reduce::shape::piece::{self, Dense, Runs};
use crate::reduce::shape::rows::{self, Rows};
use crate::reduce::shape::shallow::{self, Shallow};
use crate::reduce::shape::slots::{deep, deep_any, slots};
use crate::reduce::shape::staged::{self, Staged};
use crate::reduce::shape::tiled::{self, Tiled};
use crate::reduce::single::{self, Single};
use crate::reduce::transpose::{self, Transpose, room};
use crate::segment;
use crate::segment::call::SegmentsCall;
use crate::source;
use warpfold_core::ops::{Compensated, Plain};
use warpfold_simt::Simt;

/// Kept axes of the fast kernels.
pub const KEPT: usize = 4;

/// The kernel, or of two, of sums and of norms, that which the recipe asks for.
macro_rules! either {
    ($params:ty: $only:expr) => {
        $only
    };
    ($params:ty: $sums:expr, $norms:expr) => {{
        #[inline(always)]
        fn either<S: Simt>(s: &S, call: &$params) {
            if s.branch(call.recipe.has(flag::SQUARE | flag::MAGNITUDE)) { $norms(s, call) } else { $sums(s, call) }
        }
        either
    }};
}

/// Calls `$each` with `$with` and every kernel of a line of the table.
macro_rules! line {
    (($each:ident $with:tt) tree $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) all $name, [$fold], $wide);
    };
    (($each:ident $with:tt) sums $name:ident, $source:ty, $wide:literal) => {
        line!(($each $with) all $name, [fold::Sums<$source>, fold::Norms<$source>], $wide);
        line!(($each $with) beside $name, [fold::Sums<$source>, fold::Norms<$source>]);
    };
    (($each:ident $with:tt) moments $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) all $name, [$fold], $wide);
        line!(($each $with) beside $name, [$fold]);
    };
    (($each:ident $with:tt) beside $name:ident, [$($fold:ty),+]) => {
        $each!($with concat!("beside_", stringify!($name)), Call<Rows<KEPT, Beside>>,
            either!(Call<Rows<KEPT, Beside>>: $(beside::kernel::<_, $fold, KEPT, { beside::most_of::<$fold>() }>),+));
    };
    (($each:ident $with:tt) doubles $name:ident, $source:ty, $wide:literal) => {
        line!(($each $with) in_order $name, [fold::Doubles<$source, false>, fold::Doubles<$source, true>], $wide);
        line!(($each $with) segments $name,
            [piece::Ordered<fold::Doubles<$source, false>>, piece::Ordered<fold::Doubles<$source, true>>]);
    };
    (($each:ident $with:tt) broad $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) in_order $name, [$fold], $wide);
        line!(($each $with) segments $name, [piece::Ordered<$fold>]);
    };
    (($each:ident $with:tt) lean $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) in_order $name, [$fold], $wide);
    };
    (($each:ident $with:tt) live $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) lean $name, $fold, $wide);
        line!(($each $with) shallow $name, [panel::Ordered<$fold, false>], $wide);
    };
    (($each:ident $with:tt) heap $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) heap_tall $name, $fold, $wide);
        line!(($each $with) shallow $name, [panel::Free<$fold>], $wide);
    };
    (($each:ident $with:tt) heap_tall $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) in_any_order $name, piece::Free<$fold>, piece::Free<$fold, Runs>,
            panel::Free<$fold>, panel::Free<$fold, Apart>, $wide, { slots::<<$fold as Parts>::Part>($wide) });
    };
    (($each:ident $with:tt) packed $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) packed_tall $name, $fold, $wide);
        line!(($each $with) shallow $name, [panel::Packed<$fold>], $wide);
    };
    (($each:ident $with:tt) packed_tall $name:ident, $fold:ty, $wide:literal) => {
        line!(($each $with) in_any_order $name, piece::Free<$fold>, piece::Free<$fold, Runs>,
            panel::Packed<$fold>, panel::Packed<$fold, Apart>, $wide, { slots::<<$fold as Parts>::Part>($wide) });
    };
    (($each:ident $with:tt) all $name:ident, [$($fold:ty),+], $wide:literal) => {
        line!(($each $with) in_order $name, [$($fold),+], $wide);
        line!(($each $with) segments $name, [$(piece::Ordered<$fold>),+]);
        line!(($each $with) columns narrow_ $name, Pitch, [$(panel::Ordered<$fold, true>),+], $wide,
            [$({ deep::<<$fold as Parts>::Part, <$fold as Tree>::Node>($wide) }),+]);
        line!(($each $with) shallow $name, [$(panel::Ordered<$fold, false>),+], $wide);
    };
    (($each:ident $with:tt) in_order $name:ident, [$($fold:ty),+], $wide:literal) => {
        line!(($each $with) long $name, [$(piece::Ordered<$fold>),+], [$(piece::Ordered<$fold, Runs>),+]);
        line!(($each $with) columns columns_ $name, Pitch, [$(panel::Ordered<$fold, false>),+], $wide,
            [$({ deep::<<$fold as Parts>::Part, <$fold as Tree>::Node>($wide) }),+]);
        line!(($each $with) columns apart_ $name, Apart, [$(panel::Ordered<$fold, true, Apart>),+], $wide,
            [$({ deep::<<$fold as Parts>::Part, <$fold as Tree>::Node>($wide) }),+]);
    };
    (($each:ident $with:tt)
        in_any_order $name:ident, $piece:ty, $runs:ty, $panel:ty, $apart:ty, $wide:literal, $slots:block) => {
        line!(($each $with) long $name, [$piece], [$runs]);
        line!(($each $with) columns columns_ $name, Pitch, [$panel], $wide, [$slots]);
        line!(($each $with) columns apart_ $name, Apart, [$apart], $wide, [$slots]);
        line!(($each $with) segments $name, [$piece]);
    };
    (($each:ident $with:tt) long $name:ident, [$($piece:ty),+], [$($runs:ty),+]) => {
        $each!($with concat!("rows_", stringify!($name)), Call<Rows<KEPT, Dense>>,
            either!(Call<Rows<KEPT, Dense>>: $(rows::kernel::<_, $piece, KEPT>),+));
        $each!($with concat!("runs_", stringify!($name)), Call<Rows<KEPT, Runs>>,
            either!(Call<Rows<KEPT, Runs>>: $(rows::kernel::<_, $runs, KEPT>),+));
        $each!($with concat!("staged_", stringify!($name)), Call<Staged<KEPT>>,
            either!(Call<Staged<KEPT>>: $(staged::kernel::<_, $piece, KEPT>),+));
    };
    (($each:ident $with:tt)
        columns $class:ident $name:ident, $lines:ty, [$($panel:ty),+], $wide:literal, [$($slots:block),+]) => {
        $each!($with concat!(stringify!($class), stringify!($name)), Call<Columns<KEPT, $lines>>,
            either!(Call<Columns<KEPT, $lines>>: $(columns::kernel::<_, $panel, KEPT, $wide, $slots>),+));
    };
    (($each:ident $with:tt) shallow $name:ident, [$($panel:ty),+], $wide:literal) => {
        $each!($with concat!("shallow_", stringify!($name)), Call<Shallow<KEPT>>,
            either!(Call<Shallow<KEPT>>: $(shallow::kernel::<_, $panel, KEPT, $wide>),+));
    };
    (($each:ident $with:tt) segments $name:ident, [$($piece:ty),+]) => {
        $each!($with concat!("segments_", stringify!($name)), SegmentsCall,
            either!(SegmentsCall: $(segment::kernel::kernel::<_, $piece>),+));
        $each!($with concat!("stretches_", stringify!($name)), SegmentsCall,
            either!(SegmentsCall: $(segment::stretches::<_, $piece>),+));
    };
    (($each:ident $with:tt) describe $name:ident, $source:ty, $wide:literal) => {
        $each!($with concat!("rows_", stringify!($name)), Call<Rows<KEPT, Dense>>,
            rows::kernel::<_, Both<$source, false, Dense>, KEPT>);
        $each!($with concat!("runs_", stringify!($name)), Call<Rows<KEPT, Runs>>,
            rows::kernel::<_, Both<$source, false, Runs>, KEPT>);
        $each!($with concat!("staged_", stringify!($name)), Call<Staged<KEPT>>,
            staged::kernel::<_, Both<$source, false>, KEPT>);
        $each!($with concat!("apart_", stringify!($name)), Call<Columns<KEPT, Apart>>,
            columns::kernel::<_, Both<$source, true, Apart>, KEPT, $wide,
                { deep::<<fold::Described<$source> as Parts>::Part, <fold::Totals<$source> as Tree>::Node>($wide) }>);
        $each!($with concat!("columns_", stringify!($name)), Call<Columns<KEPT, Pitch>>,
            columns::kernel::<_, Both<$source, false, Pitch>, KEPT, $wide,
                { deep::<<fold::Described<$source> as Parts>::Part, <fold::Totals<$source> as Tree>::Node>($wide) }>);
        line!(($each $with) shallow $name, [Both<$source, false, Pitch>], $wide);
        $each!($with concat!("narrow_", stringify!($name)), Call<Columns<KEPT, Pitch>>,
            columns::kernel::<_, Both<$source, true, Pitch>, KEPT, $wide,
                { deep::<<fold::Described<$source> as Parts>::Part, <fold::Totals<$source> as Tree>::Node>($wide) }>);
    };
    (($each:ident $with:tt) tiled $name:ident, $fold:ty) => {
        line!(($each $with) tiles $name, [$fold]);
    };
    (($each:ident $with:tt) tiled_moments $name:ident, $fold:ty) => {
        line!(($each $with) tiles $name, [$fold]);
        line!(($each $with) abreast $name, [$fold]);
    };
    (($each:ident $with:tt) tiled_sums $name:ident, $source:ty) => {
        line!(($each $with) tiles $name, [fold::Sums<$source>, fold::Norms<$source>]);
        line!(($each $with) abreast $name, [fold::Sums<$source>, fold::Norms<$source>]);
    };
    (($each:ident $with:tt) abreast $name:ident, [$($fold:ty),+]) => {
        $each!($with concat!("abreast_", stringify!($name)), Call<Abreast<KEPT>>,
            either!(Call<Abreast<KEPT>>: $(abreast::kernel::<_, $fold, KEPT>),+));
    };
    (($each:ident $with:tt) tiles $name:ident, [$($fold:ty),+]) => {
        $each!($with concat!("tiled_", stringify!($name)), Call<Tiled<KEPT>>,
            either!(Call<Tiled<KEPT>>: $(tiled::kernel::<_, $fold, KEPT>),+));
    };
    (($each:ident $with:tt) copy $name:ident, $bits:ty) => {
        $each!($with stringify!($name), Transpose,
            transpose::kernel::<_, $bits, { room(size_of::<$bits>()) }>);
    };
    (($each:ident $with:tt) single $name:ident, $bits:ty) => {
        $each!($with stringify!($name), Single<KEPT>, single::kernel::<_, $bits, KEPT>);
    };
    (($each:ident $with:tt) any $name:ident, $recipe:ty) => {
        $each!($with concat!("any_rows_", stringify!($name)), Call<Rows<AXES, any::Strides<AXES>>>,
            rows::kernel::<_, Any<$recipe>, AXES>);
        $each!($with concat!("any_columns_", stringify!($name)), Call<Columns<AXES, any::Strides<AXES>>>,
            columns::kernel::<_, Any<$recipe>, AXES, 1, { deep_any::<<Any<$recipe> as Parts>::Part>() }>);
    };
}

/// Returns the facts of a line, if it is that of the fold or recipe (`any_…`) that is looked for.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! facts {
    (@return $fold:ident $name:expr, $facts:expr) => {
        if $fold == $name {
            return Some(const { $facts });
        }
    };
    ((($find:ident)) tree $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::tree::<$fold, $wide>());
    };
    ((($find:ident)) sums $name:ident, $source:ty, $wide:literal) => {
        facts!((($find)) moments $name, fold::Sums<$source>, $wide);
    };
    ((($find:ident)) moments $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::tree::<$fold, $wide>().beside());
    };
    ((($find:ident)) doubles $name:ident, $source:ty, $wide:literal) => {
        facts!((($find)) broad $name, fold::Doubles<$source, false>, $wide);
    };
    ((($find:ident)) broad $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::broad::<$fold>($wide));
    };
    ((($find:ident)) lean $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::lean::<$fold, $wide>());
    };
    ((($find:ident)) live $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::live::<$fold, $wide>());
    };
    ((($find:ident)) heap $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::any_order::<$fold>($wide));
    };
    ((($find:ident)) heap_tall $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::any_order::<$fold>($wide).tall());
    };
    ((($find:ident)) packed_tall $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::packed::<$fold, $wide>().tall());
    };
    ((($find:ident)) packed $name:ident, $fold:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::packed::<$fold, $wide>());
    };
    ((($find:ident)) describe $name:ident, $source:ty, $wide:literal) => {
        facts!(@return $find stringify!($name), Facts::in_order::<fold::Described<$source>>($wide).in_teams());
    };
    ((($find:ident)) any $name:ident, $recipe:ty) => {
        facts!(@return $find concat!("any_", stringify!($name)), {
            Facts { staged: false, shallow: false, ..Facts::in_order::<Any<$recipe>>(1) }
        });
    };
    ((($find:ident)) $other:ident $name:ident, $of:ty) => {};
}

/// Calls the macro `$line` with `$with` and each line.
macro_rules! lines {
    ($line:ident $with:tt $($class:ident $name:ident: $fold:ty $(, $wide:literal)?;)*) => {
        $($line!($with $class $name, $fold $(, $wide)?);)*
    };
}

/// Calls the macro `$line` with `$with` and every line.
macro_rules! table {
    ($line:ident $with:tt) => {
        lines! { $line $with
            sums sum_f32: source::F32, 4;
            sums sum_f64: source::F64, 2;
            sums sum_f16: source::F16, 8;
            sums sum_bf16: source::Bf16, 8;
            doubles sum2_f32: source::F32, 4;
            doubles sum2_f64: source::F64, 2;
            doubles sum2_f16: source::F16, 4;
            doubles sum2_bf16: source::Bf16, 4;
            broad prod_f32: fold::Products<source::F32>, 4;
            broad prod_f64: fold::Products<source::F64>, 2;
            moments var_f32: fold::Deviations<source::F32>, 4;
            moments var_f64: fold::Deviations<source::F64>, 2;
            moments var_f16: fold::Deviations<source::F16>, 4;
            moments var_bf16: fold::Deviations<source::Bf16>, 4;
            tree logsumexp_f32: fold::LogSumExps<source::F32, Plain>, 4;
            tree logsumexp_f64: fold::LogSumExps<source::F64, Plain>, 2;
            tree logsumexp_f16: fold::LogSumExps<source::F16, Plain>, 4;
            tree logsumexp_bf16: fold::LogSumExps<source::Bf16, Plain>, 4;
            lean logsumexp2_f32: fold::LogSumExps<source::F32, Compensated>, 2;
            lean logsumexp2_f64: fold::LogSumExps<source::F64, Compensated>, 1;
            lean logsumexp2_f16: fold::LogSumExps<source::F16, Compensated>, 2;
            lean logsumexp2_bf16: fold::LogSumExps<source::Bf16, Compensated>, 2;
            packed sum_b1: fold::Integer<u8>, 8;
            packed sum_b2: fold::Integer<u16>, 8;
            heap sum_b4: fold::Integer<u32>, 4;
            heap sum_b8: fold::Integer<u64>, 2;
            packed_tall count_b1: fold::Count<u8>, 8;
            packed_tall count_b2: fold::Count<u16>, 8;
            heap_tall count_b4: fold::Count<u32>, 4;
            heap_tall count_b8: fold::Count<u64>, 2;
            packed max_b1: fold::Extremum<u8, i32>, 8;
            packed max_b2: fold::Extremum<u16, i32>, 8;
            heap max_b4: fold::Extremum<u32, i32>, 4;
            heap max_b8: fold::Extremum<u64, i64>, 2;
            packed_tall minmax_b1: fold::MinMax<u8, i32>, 8;
            packed_tall minmax_b2: fold::MinMax<u16, i32>, 8;
            heap_tall minmax_b4: fold::MinMax<u32, i32>, 4;
            heap_tall minmax_b8: fold::MinMax<u64, i64>, 2;
            packed argmax_b1: fold::Arg<u8, i32>, 8;
            packed argmax_b2: fold::Arg<u16, i32>, 8;
            heap argmax_b4: fold::Arg<u32, i32>, 4;
            heap argmax_b8: fold::Arg<u64, i64>, 2;
            lean var_b1: fold::ExactDeviations<u8>, 4;
            lean var_b2: fold::ExactDeviations<u16>, 2;
            lean var_b4: fold::IntegerDeviations<u32>, 2;
            lean var_b8: fold::IntegerDeviations<u64>, 2;
            live livemean_f16: fold::LiveMeans<source::F16>, 4;
            live livemean_bf16: fold::LiveMeans<source::Bf16>, 4;
            live livemean_f32: fold::LiveMeans<source::F32>, 4;
            live livemean_f64: fold::LiveMeans<source::F64>, 2;
            describe describe_f32: source::F32, 2;
            describe describe_f64: source::F64, 1;
            describe describe_f16: source::F16, 2;
            describe describe_bf16: source::Bf16, 2;
            live livevar_f16: fold::LiveDeviations<source::F16>, 2;
            live livevar_bf16: fold::LiveDeviations<source::Bf16>, 2;
            live livevar_f32: fold::LiveDeviations<source::F32>, 2;
            live livevar_f64: fold::LiveDeviations<source::F64>, 1;
            tiled_sums sum_f32: source::F32;
            tiled_sums sum_f64: source::F64;
            tiled_moments var_f32: fold::Deviations<source::F32>;
            tiled_moments var_f64: fold::Deviations<source::F64>;
            tiled logsumexp_f32: fold::LogSumExps<source::F32, Plain>;
            tiled logsumexp_f64: fold::LogSumExps<source::F64, Plain>;
            tiled_moments livemean_f32: fold::LiveMeans<source::F32>;
            tiled_moments livevar_f32: fold::LiveDeviations<source::F32>;
            copy transpose_b1: u8;
            copy transpose_b2: u16;
            copy transpose_b4: u32;
            copy transpose_b8: u64;
            single single_b1: u8;
            single single_b2: u16;
            single single_b4: u32;
            single single_b8: u64;
            any sum_f32: any::Reals<f32, Plain>;
            any sum_i64: any::Integers<i64>;
            any sum_f64: any::Reals<f64, Plain>;
            any sum2_f32: any::Reals<f32, Compensated>;
            any sum2_f64: any::Reals<f64, Compensated>;
            any norm2_f32: any::Squares<f32>;
            any norm2_f64: any::Squares<f64>;
            any prod_f32: any::RealProducts<f32, Plain>;
            any prod_f64: any::RealProducts<f64, Plain>;
            any prod2_f32: any::RealProducts<f32, Compensated>;
            any prod2_f64: any::RealProducts<f64, Compensated>;
            any var_f32: any::Variances<f32, Plain>;
            any var_f64: any::Variances<f64, Plain>;
            any var2_f32: any::Variances<f32, Compensated>;
            any var2_f64: any::Variances<f64, Compensated>;
            any logsumexp_f32: any::Exponentials<f32, Plain>;
            any logsumexp_f64: any::Exponentials<f64, Plain>;
            any logsumexp2_f32: any::Exponentials<f32, Compensated>;
            any logsumexp2_f64: any::Exponentials<f64, Compensated>;
            any sum_u64: any::Integers<u64>;
            any prod_i64: any::IntegerProducts<i64>;
            any max_i64: any::Extrema<i64>;
            any max_f32: any::Extrema<f32>;
            any max_f64: any::Extrema<f64>;
            any minmax_i64: any::Ranges<i64>;
            any minmax_f32: any::Ranges<f32>;
            any minmax_f64: any::Ranges<f64>;
            any argmax_i64: any::Places<i64>;
            any argmax_f32: any::Places<f32>;
            any argmax_f64: any::Places<f64>;
            any count_i64: any::Trues<i64>;
            any count_f32: any::Trues<f32>;
            any count_f64: any::Trues<f64>;
        }
    };
}

#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
table!(line(export()));

/// Lets a visitor see the kernel of that name. Gives the visitor back if there is none.
#[cfg(not(target_arch = "nvptx64"))]
pub fn find<V: Visit>(entry: &str, visitor: V) -> Result<V::Output, V> {
    table!(line(visit(entry, visitor: V)));
    Err(visitor)
}

/// What a planner has to know of a fold: `sum_f32`, or `any_sum_f32` for the recipe that takes any elements. None if
/// the table has no such fold.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn facts(fold: &str) -> Option<Facts> {
    table!(facts((fold)));
    None
}
