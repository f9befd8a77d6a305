//! Nodes as bytes that every build reads: little-endian, field after field, without padding.

use warpfold_core::DoubleWord;
use warpfold_core::ops::{ArgNode, Moments, Powers};

/// A node that can be written as bytes, and moved along the sequence.
pub trait Wire: Copy {
    /// Appends the node.
    fn put(self, to: &mut Vec<u8>);

    /// Reads a node, and leaves what follows it. `None` if the bytes are too few, or no node.
    fn take(from: &mut &[u8]) -> Option<Self>;

    /// Whether the node can be one of at most `n` elements: whether its counts and sums are within what these have.
    fn fits(self, _n: u64) -> bool {
        true
    }

    /// The node of elements whose indices are all greater by `by`.
    fn moved(self, _by: u64) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($t:ty $(: $fits:expr)?);*) => {$(impl Wire for $t {
        fn put(self, to: &mut Vec<u8>) {
            to.extend(self.to_le_bytes());
        }
        fn take(from: &mut &[u8]) -> Option<Self> {
            let (first, rest) = from.split_first_chunk()?;
            *from = rest;
            Some(Self::from_le_bytes(*first))
        }
        $(fn fits(self, n: u64) -> bool {
            $fits(self, n)
        })?
    })*};
}
// 128 bits are a sum of integers of at most 64 bits.
numbers!(u8; i8; u16; i16; u32; i32; u64; i64; f32; f64;
    i128: |sum: i128, n: u64| sum.unsigned_abs() <= u128::from(n) << 64);

/// Writes the two fields of a struct one after the other: `fields!([F] DoubleWord<F>, hi: F, lo: F)`. Methods may
/// follow.
macro_rules! fields {
    ([$n:ident $($m:ident)?] $t:ty, $a:tt: $ta:ty, $b:tt: $tb:ty $(, $more:item)*) => {
        impl<$n: $crate::wire::Wire $(, $m: $crate::wire::Wire)?> $crate::wire::Wire for $t {
            fn put(self, to: &mut Vec<u8>) {
                $crate::wire::Wire::put(self.$a, to);
                $crate::wire::Wire::put(self.$b, to);
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $a: $crate::wire::Wire::take(from)?, $b: $crate::wire::Wire::take(from)? })
            }
            $($more)*
        }
    };
}
pub(crate) use fields;

fields!([F] DoubleWord<F>, hi: F, lo: F);
fields!([R] Moments<R>, mean: R, m2: R);
fields!([E R] Powers<E, R>, scale: E, sum: R);
fields!([K] ArgNode<K>, key: K, index: u64,
    fn fits(self, _n: u64) -> bool {
        self.index <= i64::MAX as u64
    },
    fn moved(self, by: u64) -> Self {
        Self { index: self.index.wrapping_add(by), ..self }
    }
);

impl<K: Wire> Wire for (K, K) {
    fn put(self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((K::take(from)?, K::take(from)?))
    }
}

/// A node of elements that may be absent.
impl<A: Wire> Wire for Option<(A, u64)> {
    fn put(self, to: &mut Vec<u8>) {
        to.push(self.is_some() as u8);
        if let Some((node, count)) = self {
            node.put(to);
            count.put(to);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(None),
            1 => Some(Some((A::take(from)?, u64::take(from)?))),
            _ => None,
        }
    }
    fn fits(self, n: u64) -> bool {
        self.is_none_or(|(node, count)| count <= n && node.fits(n))
    }
    fn moved(self, by: u64) -> Self {
        self.map(|(node, count)| (node.moved(by), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_back_from_bytes() {
        fn check<N: Wire + PartialEq + std::fmt::Debug>(node: N) {
            let mut bytes = vec![];
            node.put(&mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(N::take(&mut rest), Some(node));
            assert!(rest.is_empty());
            assert_eq!(N::take(&mut &bytes[..bytes.len() - 1]), None);
        }
        check(-3i128);
        check(DoubleWord { hi: 1.5f32, lo: 1e-9 });
        check(Moments { mean: 1.5f64, m2: 2.5 });
        check(Powers { scale: 1f32, sum: 2f32 });
        check((1i8, -1i8));
        check(ArgNode { key: 7i32, index: 9 });
        check(Some((Moments { mean: 1.5f64, m2: 2.5 }, 3)));
        check(None::<(f32, u64)>);
        assert_eq!(ArgNode { key: 7i32, index: 9 }.moved(2).index, 11);
    }

    #[test]
    fn what_is_no_node_is_none() {
        assert_eq!(<Option<(f32, u64)> as Wire>::take(&mut &[2u8, 0, 0, 0, 0][..]), None);
    }
}
