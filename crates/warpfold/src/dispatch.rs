//! From a reduction named at run time to a kernel and a way of loading its elements.

use warpfold_core::ops::{
    AbsMax, All, Any, Arg, Compensated, CountNonzero, Deviation, Extremum, IntegerMean, LogSumExp, Mean, MinMax, Norm1,
    Norm2, Plain as PlainPrecision, Precision as Arithmetic, Prod, RealProd, RealSum, Sum, Term, Total,
};
use warpfold_core::{Accumulate, Cast, DType, Element, Float, Live, Real, Reducer};

use crate::cpu::free::{ArgScan, BlockSum, Counting, FromI64, IntegerMeans, IntegerSum, Lanes};
use crate::cpu::kernel::{Item, Kernel, Scalar as ScalarTree, Tree};
use crate::cpu::load::{Gather, Load, Loaded, Optional, Plain};
use crate::op::{Op, Ord, Precision};
use crate::values::{Collect, Value};

/// A reduction without its array's shape: what decides which code runs.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The reduction.
    pub op: Op,
    /// The dtype in memory.
    pub input: DType,
    /// Whether the bytes are in the other order.
    pub swapped: bool,
    /// The dtype that elements are cast to first, which is also the result's; `None`: NumPy's rules.
    pub dtype: Option<DType>,
    /// Plain or double words.
    pub precision: Precision,
    /// Whether NaNs are skipped.
    pub skip_nan: bool,
    /// Whether there is a mask.
    pub masked: bool,
    /// One more element on the left.
    pub initial: Option<Cast>,
    /// For var and std.
    pub ddof: f64,
    /// For norm.
    pub ord: Ord,
}

/// What is done with a kernel once it is found.
pub trait Visit {
    /// The result.
    type Out;
    /// Does it.
    fn visit<K, L>(self, kernel: K, load: L) -> Self::Out
    where
        K: Kernel,
        L: Load<Item<K>>,
        <K::R as Reducer>::Output: Collect;
}

impl Spec {
    /// The dtype of the result.
    pub fn result(&self) -> DType {
        self.dtype.unwrap_or(self.op.result_dtype(self.input))
    }

    /// The dtype that the kernel reads; elements of another one are converted in tiles on the way in.
    pub fn kernel_dtype(&self) -> DType {
        let widen = |dtype| match dtype {
            DType::F16 | DType::BF16 => DType::F32,
            other => other,
        };
        match self.op {
            Op::Any | Op::All | Op::CountNonzero => match self.input {
                DType::Bool | DType::I8 => DType::U8,
                DType::I16 => DType::U16,
                DType::I32 => DType::U32,
                DType::I64 => DType::U64,
                other => widen(other),
            },
            Op::Sum | Op::Prod | Op::Min | Op::Max | Op::MinMax | Op::ArgMin | Op::ArgMax => {
                let natural = self.dtype.is_none_or(|d| d == self.op.result_dtype(self.input));
                match if natural { self.input } else { self.result() } {
                    DType::Bool => DType::U8,
                    other => widen(other),
                }
            }
            Op::Mean if self.dtype.is_none() && !self.input.is_float() => match self.input {
                DType::Bool => DType::U8,
                other => other,
            },
            Op::Mean | Op::Var | Op::Std | Op::Norm | Op::LogSumExp => widen(self.result()),
        }
    }

    /// Finds the kernel.
    pub fn dispatch<V: Visit>(&self, v: V) -> V::Out {
        match self.kernel_dtype() {
            DType::F32 => self.float::<f32, V>(v),
            DType::F64 => self.float::<f64, V>(v),
            DType::I8 => self.integer::<i8, V>(v),
            DType::I16 => self.integer::<i16, V>(v),
            DType::I32 => self.integer::<i32, V>(v),
            DType::I64 => self.integer::<i64, V>(v),
            DType::U8 => self.unsigned::<u8, V>(v),
            DType::U16 => self.unsigned::<u16, V>(v),
            DType::U32 => self.unsigned::<u32, V>(v),
            DType::U64 => self.unsigned::<u64, V>(v),
            DType::Bool | DType::F16 | DType::BF16 => unreachable!("no kernel reads these"),
        }
    }

    fn float<F, V: Visit>(&self, v: V) -> V::Out
    where
        F: Loaded + Value + Real + Float + Element<Float = F, Mean = F, Sum = F, Total = F> + Collect,
        (F, F): Collect,
    {
        match self.precision {
            _ if self.op.selects() => self.select::<F, V>(v),
            _ if self.op.logical() => self.logical::<F, V>(v),
            Precision::Tree => self.real::<F, PlainPrecision, V>(v),
            Precision::Compensated => self.real::<F, Compensated, V>(v),
        }
    }

    /// Sums and their kin. Masked-out elements and NaNs that are skipped become the identity where it is exact.
    fn real<F, P, V: Visit>(&self, v: V) -> V::Out
    where
        F: Loaded + Value + Real + Float + Element<Float = F, Mean = F, Sum = F, Total = F> + Collect,
        P: Arithmetic<F>,
    {
        let skip = self.skip_nan;
        // As in NumPy, a sum that leaves elements out starts from +0.0.
        let partial = (skip || self.masked).then_some(F::ZERO);
        let initial = self.initial.map(F::from_cast);
        fn sum<F: Element<Float = F>, W: Term, P>(initial: Option<F>, skip: bool) -> Tree<RealSum<F, W, P>> {
            Tree(RealSum::with(initial, skip))
        }
        match (self.op, self.ord) {
            (Op::Sum, _) => v.visit(sum::<F, Total, P>(initial.or(partial), skip), self.plain(F::NOTHING)),
            (Op::Prod, _) => v.visit(Tree(RealProd::<F, P>::with(initial, skip)), self.plain(F::ONE)),
            (Op::Mean, _) if skip || self.masked => self.absent(v, RealSum::<F, Mean, P>::new(), skip),
            (Op::Mean, _) => v.visit(sum::<F, Mean, P>(None, false), self.plain(F::NOTHING)),
            (Op::Var | Op::Std, _) => {
                let deviation = Deviation::<F, P>::new(self.ddof, self.op == Op::Std);
                if skip || self.masked {
                    self.absent(v, deviation, skip)
                } else {
                    v.visit(Tree(deviation), self.plain(F::NOTHING))
                }
            }
            (Op::Norm, Ord::One) => v.visit(sum::<F, Norm1, P>(None, skip), self.plain(F::ZERO)),
            (Op::Norm, Ord::Two) => v.visit(sum::<F, Norm2, P>(None, skip), self.plain(F::ZERO)),
            (Op::Norm, Ord::Inf) if skip => v.visit(Lanes(AbsMax::<F, true>::new()), self.plain(F::ZERO)),
            (Op::Norm, Ord::Inf) => v.visit(Lanes(AbsMax::<F, false>::new()), self.plain(F::ZERO)),
            (Op::LogSumExp, _) => {
                let nothing = F::from_cast(Cast::Float(f64::NEG_INFINITY));
                let nan_as = skip.then_some(nothing);
                v.visit(Tree(LogSumExp::<F, P>::new()), Plain { nan_as, ..self.plain(nothing) })
            }
            (op, _) => unreachable!("{op} is not a sum"),
        }
    }

    fn integer<T, V: Visit>(&self, v: V) -> V::Out
    where
        T: Loaded + BlockSum + Value + Collect,
        T::Total: FromI64,
        T::Sum: Value + Collect,
        (T, T): Collect,
    {
        let initial = self.initial.map(|x| T::Sum::from_cast(x).total());
        let (zero, one) = (T::from_cast(Cast::Signed(0)), T::from_cast(Cast::Signed(1)));
        match self.op {
            Op::Sum => v.visit(IntegerSum::<T, T::Sum>(Sum::new(initial)), self.plain(zero)),
            Op::Prod => v.visit(Lanes(Prod::<T, T::Sum>::new(initial)), self.plain(one)),
            Op::Mean if self.masked => self.absent(v, IntegerMean::<T>::new(), false),
            Op::Mean => v.visit(IntegerMeans(IntegerMean::<T>::new()), self.plain(zero)),
            op if op.selects() => self.select::<T, V>(v),
            op => unreachable!("{op} of integers is computed in another dtype"),
        }
    }

    fn unsigned<T, V: Visit>(&self, v: V) -> V::Out
    where
        T: Loaded + BlockSum + Value + Collect,
        T::Total: FromI64,
        T::Sum: Value + Collect,
        (T, T): Collect,
    {
        if self.op.logical() { self.logical::<T, V>(v) } else { self.integer::<T, V>(v) }
    }

    fn logical<T: Loaded, V: Visit>(&self, v: V) -> V::Out {
        let (zero, one) = (T::from_cast(Cast::Signed(0)), T::from_cast(Cast::Signed(1)));
        match self.op {
            Op::Any => v.visit(Lanes(Any::<T>::new(self.skip_nan)), self.plain(zero)),
            Op::All => v.visit(Lanes(All::<T>::new(self.skip_nan)), self.plain(one)),
            _ => v.visit(Counting(CountNonzero::<T>::new(self.skip_nan)), self.plain(zero)),
        }
    }

    fn select<T: Loaded + Collect, V: Visit>(&self, v: V) -> V::Out
    where
        (T, T): Collect,
    {
        let skip = self.skip_nan && T::DTYPE.is_float();
        match (self.op, skip) {
            (Op::Min, false) => self.extremum::<T, false, false, V>(v),
            (Op::Min, true) => self.extremum::<T, false, true, V>(v),
            (Op::Max, false) => self.extremum::<T, true, false, V>(v),
            (Op::Max, true) => self.extremum::<T, true, true, V>(v),
            (Op::MinMax, false) => self.minmax::<T, false, V>(v),
            (Op::MinMax, true) => self.minmax::<T, true, V>(v),
            (Op::ArgMin, false) => self.arg::<T, false, false, V>(v),
            (Op::ArgMin, true) => self.arg::<T, false, true, V>(v),
            (Op::ArgMax, false) => self.arg::<T, true, false, V>(v),
            (_, false) => self.arg::<T, true, false, V>(v),
            (_, true) => self.arg::<T, true, true, V>(v),
        }
    }

    fn extremum<T: Loaded + Collect, const MAX: bool, const SKIP: bool, V: Visit>(&self, v: V) -> V::Out {
        let initial = self.initial.map(T::from_cast);
        let reducer = Extremum::<T, MAX, SKIP> { initial };
        match initial {
            // The initial value takes part in any case, so it may stand for every masked-out element.
            Some(x) => v.visit(Lanes(reducer), self.plain(x)),
            None if self.masked => self.absent(v, reducer, false),
            None => v.visit(Lanes(reducer), self.plain(T::from_cast(Cast::Signed(0)))),
        }
    }

    fn minmax<T: Loaded, const SKIP: bool, V: Visit>(&self, v: V) -> V::Out
    where
        (T, T): Collect,
    {
        let reducer = MinMax::<T, SKIP>::new();
        if self.masked {
            return self.absent(v, reducer, false);
        }
        v.visit(Lanes(reducer), self.plain(T::from_cast(Cast::Signed(0))))
    }

    fn arg<T: Loaded, const MAX: bool, const SKIP: bool, V: Visit>(&self, v: V) -> V::Out {
        let reducer = Arg::<T, MAX, SKIP>::new();
        if self.masked {
            return self.absent(v, reducer, false);
        }
        v.visit(ArgScan(reducer), self.plain(T::from_cast(Cast::Signed(0))))
    }

    /// Elements as they are; masked-out ones as `absent`.
    fn plain<T: Loaded>(&self, absent: T) -> Plain<T> {
        Plain {
            gather: self.gather(),
            direct: self.reads_in_place(),
            masked_as: self.masked.then_some(absent),
            nan_as: None,
        }
    }

    /// Whether the kernel's elements are what memory holds.
    pub fn reads_in_place(&self) -> bool {
        let same_bits = match (self.input, self.kernel_dtype()) {
            (DType::Bool, DType::U8) => self.op.logical(),
            (DType::I8, DType::U8) | (DType::I16, DType::U16) | (DType::I32, DType::U32) | (DType::I64, DType::U64) => {
                true
            }
            (input, kernel) => input == kernel,
        };
        same_bits && !self.swapped
    }

    fn gather<T: Loaded>(&self) -> Gather<T> {
        T::gather(self.input, self.swapped, self.result())
    }

    /// Elements that may be absent, which pass through at their place.
    fn absent<V: Visit, R>(&self, v: V, reducer: R, skip_nan: bool) -> V::Out
    where
        R: Reducer<Item: Loaded, Output: Collect>,
    {
        let load = Optional { gather: self.gather(), masked: self.masked, skip_nan };
        v.visit(ScalarTree(Live(reducer)), load)
    }
}
