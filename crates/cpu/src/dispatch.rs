//! From a reduction named at run time to a kernel and a way of loading its elements.
//!
//! Kernels exist for few dtypes, since each is compiled for every vector width. 16-bit floats are read as f32, except
//! by the hottest ops. Unsigned integers that are only compared are read as signed ones, and bools as bytes. No result
//! depends on that.

use std::ops::Deref;

use warpfold_array::request::Spec;
use warpfold_core::ops::{
    AbsMax, All, Any, Arg, Compensated, CountNonzero, Deviation, Extremum, IntegerProduct, IntegerSum, LogSumExp,
    Magnitude, MinMax, Plain as PlainPrecision, Precision as Arithmetic, Product, Search, Square, Sum,
};
use warpfold_core::{Cast, DType, Element, Float, Kind, Live, Real, Reducer, bf16, f16};

use crate::args::ArgScan;
use crate::bound::{Bound, Then};
use crate::exact::{Exact, Small};
use crate::exponentials::Exponentials;
use crate::extrema::Peak;
use crate::free::Lanes;
use crate::gather::{Gather, Readable, gather_same};
use crate::halves::{Half, Halves, Wide};
use crate::integers::{Integers, Summed};
use crate::kernel::{Kernel, Scalar as ScalarTree, Tree};
use crate::live::{Deviations, LiveDeviation};
use crate::live_mean::{LiveMean, Means};
use crate::load::{Loaded, Optional, Plain};
use crate::moments::Spread;
use crate::store::Stored;
use crate::terms::{Exponent, Fused};
use crate::wire::Wire;
use warpfold_array::Value;
use warpfold_array::{Op, Ord, Precision};

/// The choice of the CPU's kernel for a reduction.
pub struct Kernels<'a>(pub &'a Spec);

impl Deref for Kernels<'_> {
    type Target = Spec;
    fn deref(&self) -> &Spec {
        self.0
    }
}

impl Kernels<'_> {
    /// Finds the kernel, and calls `f` with it.
    pub fn with<T>(&self, f: impl FnOnce(&Bound<'_>) -> T) -> T {
        let (mut f, mut out) = (Some(f), None);
        self.dispatch(Then(&mut |bound| out = f.take().map(|f| f(bound))));
        out.expect("every reduction has one kernel")
    }

    /// Whether this is a logsumexp of 16-bit floats that are read as they are.
    fn reads_exponents(&self) -> bool {
        let is_half = matches!(self.input, DType::F16 | DType::BF16) && self.result() == self.input;
        is_half && self.op == Op::LogSumExp && self.precision == Precision::Tree && !self.masked
    }

    /// [`Spec::kernel_dtype`], as the CPU's kernels read elements.
    pub fn kernel_dtype(&self) -> DType {
        if self.reads_exponents() { self.input } else { self.0.kernel_dtype() }
    }

    /// Whether the kernel reads elements without a conversion.
    pub fn reads_in_place(&self) -> bool {
        if self.reads_exponents() { !self.swapped } else { self.0.reads_in_place() }
    }

    fn dispatch(&self, v: Then<'_>) {
        match (self.kernel_dtype(), self.op) {
            (DType::F16, Op::LogSumExp) => self.exponentials::<f16>(v),
            (DType::BF16, Op::LogSumExp) => self.exponentials::<bf16>(v),
            (DType::F32, _) => self.float::<f32>(v),
            (DType::F64, _) => self.float::<f64>(v),
            (DType::U8, op) if op.logical() => self.logical::<u8>(v),
            (DType::U16, op) if op.logical() => self.logical::<u16>(v),
            (DType::U32, op) if op.logical() => self.logical::<u32>(v),
            (DType::U64, op) if op.logical() => self.logical::<u64>(v),
            (DType::I8, op) if op.selects() => self.select::<i8>(v),
            (DType::I16, op) if op.selects() => self.select::<i16>(v),
            (DType::I32, op) if op.selects() => self.select::<i32>(v),
            (DType::I64, op) if op.selects() => self.select::<i64>(v),
            (DType::I64, Op::Prod) => {
                let initial = self.initial.map(|x| x.to_integer() as i64);
                v.visit(Lanes(IntegerProduct::<i64>::new(initial)), self.plain(1))
            }
            (DType::I64, Op::Mean) if self.masked => self.absent(v, IntegerSum::<i64>::new(true, None), false),
            (DType::U64, Op::Mean) if self.masked => self.absent(v, IntegerSum::<u64>::new(true, None), false),
            (DType::I8, Op::Var | Op::Std) => self.small::<i8>(v),
            (DType::I16, Op::Var | Op::Std) => self.small::<i16>(v),
            (DType::U8, Op::Var | Op::Std) => self.small::<u8>(v),
            (DType::U16, Op::Var | Op::Std) => self.small::<u16>(v),
            (DType::I32, Op::Var | Op::Std) => self.wide::<i32>(v),
            (DType::U32, Op::Var | Op::Std) => self.wide::<u32>(v),
            (DType::I8, _) => self.integer::<i8>(v),
            (DType::I16, _) => self.integer::<i16>(v),
            (DType::I32, _) => self.long::<i32>(v),
            (DType::I64, _) => self.long::<i64>(v),
            (DType::U8, _) => self.integer::<u8>(v),
            (DType::U16, _) => self.integer::<u16>(v),
            (DType::U32, _) => self.long::<u32>(v),
            (DType::U64, _) => self.long::<u64>(v),
            (DType::F16, _) => self.half::<f16>(v),
            (DType::BF16, _) => self.half::<bf16>(v),
            (DType::Bool, _) => unreachable!("no kernel reads bools"),
        }
    }

    /// logsumexp of elements of 16 bits, which are read in place.
    fn exponentials<T>(&self, v: Then<'_>)
    where
        T: Half + Readable + Stored + Exponent,
        LogSumExp<T>: Reducer<Item = T, Acc: Wire, Output: Stored>,
        Exponentials<T>: Kernel<R = LogSumExp<T>>,
    {
        let nan_as = self.skip_nan.then_some(T::from_cast(Cast::Float(f64::NEG_INFINITY)));
        let load = Plain { gather: gather_same(self.swapped), direct: !self.swapped, masked_as: None, nan_as };
        v.visit(Exponentials { reducer: LogSumExp::<T>::new(), dtype: T::DTYPE }, load);
    }

    fn half<T>(&self, v: Then<'_>)
    where
        T: Half + Readable + Stored + Element<Key: Wire>,
    {
        let load = Plain { gather: gather_same(self.swapped), direct: !self.swapped, masked_as: None, nan_as: None };
        let initial = self.initial.map(T::from_cast);
        let skip = self.skip_nan;
        let search = Search::new(matches!(self.op, Op::Max | Op::ArgMax), skip);
        let deviation = || Deviation::new(self.ddof, self.op == Op::Std);
        match (self.op, self.ord) {
            (Op::Sum, _) => {
                // As in NumPy, a sum that leaves elements out starts from +0.0.
                let initial = initial.map(T::float).or(skip.then_some(0.0));
                v.visit(Halves(Sum::total().initial(initial).skip_nan(skip)), load)
            }
            (Op::Mean, _) if skip => v.visit(Means(LiveMean::<T>::new()), load),
            (Op::Mean, _) => v.visit(Halves(Sum::mean()), load),
            (Op::Var | Op::Std, _) if skip => v.visit(Deviations(LiveDeviation(deviation())), load),
            (Op::Var | Op::Std, _) => v.visit(Spread(deviation()), load),
            (Op::Norm, Ord::One) => v.visit(Halves(Sum::<T, Magnitude>::norm1().skip_nan(skip)), load),
            (Op::Norm, _) => v.visit(Halves(Sum::<T, Square>::norm2().skip_nan(skip)), load),
            (Op::Min | Op::Max, _) => v.visit(Peak(Extremum { search, initial }), load),
            _ => v.visit(ArgScan(Arg::<T> { search }), load),
        }
    }

    fn float<F>(&self, v: Then<'_>)
    where
        F: Loaded + Wide + Fused + Value + Real + Float + Wire + Element<Float = F, Mean = F, Key: Wire> + Stored,
        (F, F): Stored,
        PlainPrecision: Arithmetic<F, Real: Wire>,
        Compensated: Arithmetic<F, Real: Wire>,
    {
        let some_absent = self.skip_nan || self.masked;
        let root = self.op == Op::Std;
        let nan = || self.plain(F::from_cast(Cast::Float(f64::NAN)));
        match (self.op, self.precision) {
            (op, _) if op.selects() => self.select::<F>(v),
            (op, _) if op.logical() => self.logical::<F>(v),
            (Op::Mean, Precision::Tree) if self.skip_nan => v.visit(Means(LiveMean::new()), nan()),
            (Op::Var | Op::Std, Precision::Tree) if self.skip_nan => {
                v.visit(Deviations(LiveDeviation(Deviation::new(self.ddof, root))), nan())
            }
            (Op::Var | Op::Std, Precision::Tree) if !some_absent => {
                v.visit(Spread(Deviation::new(self.ddof, root)), self.plain(F::NOTHING))
            }
            (Op::Var | Op::Std, Precision::Compensated) if !some_absent => {
                v.visit(Tree(Deviation::<F, Compensated>::new(self.ddof, root)), self.plain(F::NOTHING))
            }
            (Op::LogSumExp, precision) => {
                let nothing = F::from_cast(Cast::Float(f64::NEG_INFINITY));
                let load = Plain { nan_as: self.skip_nan.then_some(nothing), ..self.plain(nothing) };
                match precision {
                    Precision::Tree => v.visit(Exponentials { reducer: LogSumExp::new(), dtype: self.result() }, load),
                    Precision::Compensated => v.visit(Tree(LogSumExp::<F, Compensated>::new()), load),
                }
            }
            (_, Precision::Tree) => self.real::<F, PlainPrecision>(v),
            (_, Precision::Compensated) => self.real::<F, Compensated>(v),
        }
    }

    /// Sums, means, norms and products. Masked-out elements, and NaNs that are skipped, become the identity where that
    /// is exact.
    fn real<F, P>(&self, v: Then<'_>)
    where
        F: Loaded + Wide + Fused + Value + Real + Float + Wire + Element<Float = F, Mean = F, Key: Wire> + Stored,
        P: Arithmetic<F, Real: Wire>,
    {
        let skip = self.skip_nan;
        let some_absent = skip || self.masked;
        let initial = self.initial.map(F::from_cast);
        match (self.op, self.ord) {
            (Op::Sum, _) => {
                // As in NumPy, a sum that leaves elements out starts from +0.0.
                let initial = initial.or(some_absent.then_some(F::ZERO));
                let sum = Sum::<F, _, P>::total().initial(initial).skip_nan(skip);
                v.visit(Tree(sum), self.plain(F::NOTHING))
            }
            (Op::Prod, _) => v.visit(Tree(Product::<F, P>::new(initial, skip)), self.plain(F::ONE)),
            (Op::Mean, _) if some_absent => self.absent(v, Sum::<F, _, P>::mean(), skip),
            (Op::Mean, _) => v.visit(Tree(Sum::<F, _, P>::mean()), self.plain(F::NOTHING)),
            (Op::Var | Op::Std, _) => self.absent(v, Deviation::<F, P>::new(self.ddof, self.op == Op::Std), skip),
            (Op::Norm, Ord::One) => v.visit(Tree(Sum::<F, Magnitude, P>::norm1().skip_nan(skip)), self.plain(F::ZERO)),
            (Op::Norm, Ord::Two) => v.visit(Tree(Sum::<F, Square, P>::norm2().skip_nan(skip)), self.plain(F::ZERO)),
            (Op::Norm, Ord::Inf) => v.visit(Lanes(AbsMax::<F>::new(skip)), self.plain(F::ZERO)),
            (op, _) => unreachable!("{op} is not a sum"),
        }
    }

    /// Sums, and means of so few bits that 64 bits hold every sum.
    fn integer<T: Loaded + Summed<i64> + Element<Sum: Stored>>(&self, v: Then<'_>) {
        let zero = self.plain(T::from_cast(Cast::Signed(0)));
        if self.op == Op::Mean {
            return v.visit_as::<f64, _, _>(Integers::<T, i64>::new(IntegerSum::new(true, None)), zero);
        }
        let initial = self.initial.map(Cast::to_integer);
        v.visit_as::<T::Sum, _, _>(Integers::<T, i64>::new(IntegerSum::new(false, initial)), zero)
    }

    /// Sums, and means that need 128 bits.
    fn long<T: Loaded + Summed<i64> + Summed<i128> + Element<Sum: Stored>>(&self, v: Then<'_>) {
        if self.op != Op::Mean {
            return self.integer::<T>(v);
        }
        let mean = Integers::<T, i128>::new(IntegerSum::new(true, None));
        v.visit_as::<f64, _, _>(mean, self.plain(T::from_cast(Cast::Signed(0))))
    }

    fn small<T: Loaded + Small + Element<Mean = f64>>(&self, v: Then<'_>) {
        let variance = Exact(Deviation::new(self.ddof, self.op == Op::Std));
        v.visit(variance, self.plain(T::from_cast(Cast::Signed(0))))
    }

    fn wide<T: Loaded + Wide + Element<Float: Wire, Mean = f64>>(&self, v: Then<'_>) {
        let variance = Spread(Deviation::new(self.ddof, self.op == Op::Std));
        v.visit(variance, self.plain(T::from_cast(Cast::Signed(0))))
    }

    fn logical<T: Loaded>(&self, v: Then<'_>) {
        let (zero, one) = (T::from_cast(Cast::Signed(0)), T::from_cast(Cast::Signed(1)));
        match self.op {
            Op::Any => v.visit(Lanes(Any::<T>::new(self.skip_nan)), self.plain(zero)),
            Op::All => v.visit(Lanes(All::<T>::new(self.skip_nan)), self.plain(one)),
            _ => v.visit(Lanes(CountNonzero::<T>::new(self.skip_nan)), self.plain(zero)),
        }
    }

    fn select<T: Loaded + Stored + Element<Key: Wire>>(&self, v: Then<'_>)
    where
        (T, T): Stored,
    {
        let max = matches!(self.op, Op::Max | Op::ArgMax | Op::MinMax);
        let search = Search::new(max, self.skip_nan && T::DTYPE.is_float());
        let unsigned = matches!(self.input.kind(), Kind::Unsigned | Kind::Bool);
        let search = if unsigned { search.of_unsigned() } else { search };
        let zero = T::from_cast(Cast::Signed(0));
        match self.op {
            Op::MinMax if self.masked => self.absent(v, MinMax::<T> { search }, false),
            Op::MinMax => v.visit(Lanes(MinMax::<T> { search }), self.plain(zero)),
            Op::ArgMin | Op::ArgMax if self.masked => self.absent(v, Arg::<T> { search }, false),
            Op::ArgMin | Op::ArgMax => v.visit(ArgScan(Arg::<T> { search }), self.plain(zero)),
            _ => {
                let initial = self.initial.map(T::from_cast);
                let reducer = Extremum { search, initial };
                match initial {
                    // The initial value takes part in any case, so it may stand for every masked-out element.
                    Some(x) => v.visit(Peak(reducer), self.plain(x)),
                    None if self.masked => self.absent(v, reducer, false),
                    None => v.visit(Peak(reducer), self.plain(zero)),
                }
            }
        }
    }

    /// Loads elements as they are, and masked-out ones as `absent`.
    fn plain<T: Loaded>(&self, absent: T) -> Plain<T> {
        Plain {
            gather: self.gather(),
            direct: self.reads_in_place(),
            masked_as: self.masked.then_some(absent),
            nan_as: None,
        }
    }

    fn gather<T: Loaded>(&self) -> Gather<T> {
        T::gather(self.input, self.swapped, self.result())
    }

    /// Loads elements that may be absent, and keep their position in the tree.
    fn absent<R>(&self, v: Then<'_>, reducer: R, skip_nan: bool)
    where
        R: Reducer<Item: Loaded, Acc: Wire, Output: Stored>,
    {
        let load = Optional { gather: self.gather(), masked: self.masked, skip_nan };
        v.visit(ScalarTree(Live(reducer)), load)
    }
}
