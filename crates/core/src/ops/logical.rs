//! any, all and counts: order-free.

use core::marker::PhantomData;

use crate::element::Element;
use crate::reducer::Reducer;

macro_rules! logical {
    ($(#[$doc:meta])* $name:ident, $acc:ty, $out:ty, $identity:expr, $lift:expr, $combine:expr, $finish:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(bound = ""))]
        pub struct $name<T> {
            /// Whether NaNs are left out.
            pub skip_nan: bool,
            kind: PhantomData<T>,
        }

        impl<T> $name<T> {
            /// The reducer.
            pub fn new(skip_nan: bool) -> Self {
                Self { skip_nan, kind: PhantomData }
            }
        }

        impl<T: Element> Reducer for $name<T> {
            type Item = T;
            type Acc = $acc;
            type Output = $out;

            const INDEXED: bool = false;

            #[inline(always)]
            fn identity(&self) -> Option<$acc> {
                Some($identity)
            }

            #[inline(always)]
            fn lift(&self, x: T, _index: u64) -> $acc {
                let lifted = $lift(x);
                if self.skip_nan && x.is_nan() { $identity } else { lifted }
            }

            #[inline(always)]
            fn combine(&self, left: $acc, right: $acc) -> $acc {
                $combine(left, right)
            }

            #[inline(always)]
            fn finish(&self, acc: $acc, _count: u64) -> $out {
                $finish(acc)
            }
        }
    };
}

logical!(
    /// Whether any element is not zero; a NaN is not zero.
    Any, u8, bool, 0, |x: T| x.truthy() as u8, |a: u8, b: u8| a | b, |a: u8| a != 0
);
logical!(
    /// Whether every element is not zero; a NaN is not zero.
    All, u8, bool, 1, |x: T| x.truthy() as u8, |a: u8, b: u8| a & b, |a: u8| a != 0
);
logical!(
    /// How many elements are not zero; a NaN is not zero.
    CountNonzero, i64, i64, 0, |x: T| x.truthy() as i64, |a: i64, b: i64| a + b, |a: i64| a
);
logical!(
    /// How many elements are NaN.
    CountNan, i64, i64, 0, |x: T| x.is_nan() as i64, |a: i64, b: i64| a + b, |a: i64| a
);
