//! What a lane sees of the stretches that it folds for `describe`: extremes as numbers, and the stretches they are in.

use crate::node::Node;
use crate::reduce::fold::describe::{Described, End, Seen, Totals};
use crate::reduce::fold::ends::Ends;
use crate::reduce::fold::key::Key;
use crate::reduce::fold::{Share, Tree};
use crate::reduce::shape::split::next;
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element};
use warpfold_simt::Simt;

/// Of all stretches until now; places are their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Passing<V> {
    /// Without NaNs; before the first stretch, of no matter.
    ends: Ends<V>,
    /// NaNs.
    nans: u32,
    /// The stretch of the first, if there are some.
    first_nan: u32,
}

impl<V: Accumulate> Default for Passing<V> {
    #[inline(always)]
    fn default() -> Self {
        Self { ends: Ends { least: V::ZERO, first: 0, greatest: V::ZERO, last: 0 }, nans: 0, first_nan: 0 }
    }
}

impl<X> Described<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    /// The node over stretch `number`, counted from 0: `N` packs that lie side by side, a power of two.
    #[inline(always)]
    pub fn stretch<S: Simt, const N: usize>(
        &self,
        s: &S,
        passing: &mut Passing<X::Value>,
        w: [[u32; 4]; N],
        number: u32,
    ) -> <Totals<X> as Tree>::Node {
        let (totals, per) = (&self.totals, X::Bits::PER);
        let mut ends = Ends::of::<S, X>(s, &w[0], number);
        let mut under = [totals.pack(s, &w[0]); 4];
        let mut k = 1;
        while k < N {
            ends = ends.then::<S, X>(s, Ends::of::<S, X>(s, &w[k], number));
            let (mut node, mut d) = (totals.pack(s, &w[k]), 0);
            while k >> d & 1 == 1 {
                node = totals.join(under[d], node, per << d);
                d += 1;
            }
            under[d] = node;
            k += 1;
        }
        let node = under[N.trailing_zeros() as usize];
        // There is a NaN where the sum of squares is one.
        if s.branch(X::is_nan(node.squares)) {
            // Rarely needed, so it is kept short: the packs take turns.
            let (mut w, mut k, mut nans, all) = (w, 0, 0, s.opaque(N as u32));
            while s.again(k < all) {
                let mut e = 0;
                while e < per as usize {
                    nans += X::value(s, X::Bits::nth(&w[0], e)).is_nan() as u32;
                    e += 1;
                }
                w = next(w, w[0]);
                k += 1;
            }
            passing.first_nan = if passing.nans == 0 { number } else { passing.first_nan };
            passing.nans += nans;
        }
        let before = passing.ends;
        passing.ends = if number == 0 { ends } else { before.then::<S, X>(s, ends) };
        let zero = X::Value::ZERO;
        if !X::TELLS_ZEROS && s.branch(ends.least == zero || ends.greatest == zero) {
            let key = |bits| self.greatest.number(bits);
            let mut any = [false, number > 0 && key(X::bits(s, before.greatest)) == X::Key::cut(0)];
            let mut k = 0;
            while k < N * per as usize {
                let key = key(X::Bits::nth(&w[k / per as usize], k % per as usize));
                any = [any[0] || key == X::Key::cut(-1), any[1] || key == X::Key::cut(0)];
                k += 1;
            }
            let ends = &mut passing.ends;
            ends.least = if any[0] && ends.least == zero { X::Value::NOTHING } else { ends.least };
            ends.greatest = if any[1] && ends.greatest == zero { zero } else { ends.greatest };
        }
        node
    }

    /// What has passed, with the places of stretches, at least one.
    #[inline(always)]
    pub fn passed<S: Simt>(&self, s: &S, passing: Passing<X::Value>, place: impl Fn(u32) -> u32) -> Seen<X::Key, u32> {
        let Passing { ends, nans, first_nan } = passing;
        let key = |number: X::Value| self.greatest.number(X::bits(s, number));
        let least = End { key: key(ends.least).flipped(X::Key::cut(-1)), at: place(ends.first) };
        let greatest = End { key: key(ends.greatest), at: place(ends.last) };
        let nan = End { key: self.greatest.nan(), at: place(first_nan) };
        let [least, greatest] = if nans > 0 { [nan; 2] } else { [least, greatest] };
        Seen { nans, least, greatest }
    }
}
