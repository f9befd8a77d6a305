//! The cross-entropy of rows of logits and the class of each, and its gradient.
//!
//! Idea: softmax, but that a lane finds the loss of its row from the logit of the class, which it reads again, and that
//! one element of a row has something subtracted.

use super::level::Sums;
use super::op::{Held, RowOp};
use super::softmax::{Exponents, Softmaxes};
use super::spread::{At, Packs, Place};
use super::{NARROW, NONE, Rowwise};
use crate::address::array;
use crate::node::{Node, fetch, publish};
use crate::rowwise::number::{MOST, canonical};
use crate::source::{Bits, Source};
use warpfold_core::ops::Powers;
use warpfold_core::rows::{ClassLoss, ClassWeights, LogSoftmax};
use warpfold_core::{Accumulate, Element, Float, Real};
use warpfold_simt::Simt;

/// The cross-entropy of rows, and its gradient.
#[derive(Clone, Copy)]
pub struct CrossEntropy<X: Source> {
    softmax: Softmaxes<X, false, false>,
    call: Rowwise,
}

/// The class of a row that has no loss.
const IGNORED: u64 = u64::MAX;

/// A row's node, the two words of its softmax, the weight of its class and the gradient of its loss, and its class.
type Stat<F> = (((F, F), (F, F)), ((F, F), u64));

/// How the loss of a class is weighed.
#[inline(always)]
fn loss<F: Float>(weight: F) -> ClassLoss<F> {
    ClassLoss::new(ClassWeights { target: F::ONE, each: F::ZERO }, weight, F::ZERO)
}

impl<X> CrossEntropy<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// The gradient's elements, from the probabilities of a pack.
    #[inline(always)]
    fn gradients<S: Simt>(
        &self,
        s: &S,
        mut each: [X::Value; MOST],
        (_, ((weight, scale), class)): Stat<X::Value>,
        at: At,
    ) -> [u32; 4] {
        let (own, of, zero, mut i) = (class.wrapping_sub(at.first), loss(weight), X::Value::ZERO, 0);
        if s.branch(class == IGNORED) {
            return [0; 4];
        }
        if s.branch(own < X::Bits::PER as u64) {
            while i < X::Bits::PER as usize {
                each[i] = of.gradient(each[i], zero, i as u64 == own, scale);
                i += 1;
            }
        } else {
            while i < X::Bits::PER as usize {
                each[i] = of.gradient(each[i], zero, false, scale);
                i += 1;
            }
        }
        canonical::<S, X>(s, each)
    }
}

impl<X> RowOp for CrossEntropy<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    const NOTED: bool = true;
    type Source = X;
    type Kept = [X::Value; MOST];
    type Level = Exponents<X::Value>;
    type Then = Sums<X::Value>;
    type Stat = Stat<X::Value>;
    type Ready = [u32; 0];

    #[inline(always)]
    fn new(call: &Rowwise) -> Self {
        Self { softmax: Softmaxes::new(call), call: *call }
    }

    #[inline(always)]
    fn blank(&self) -> [X::Bits; 2] {
        self.softmax.blank()
    }

    #[inline(always)]
    fn hold<S: Simt, P: Fn(u32) -> Place, const N: usize>(&self, s: &S, packs: &Packs<P, N>) -> Held<Self, N> {
        let Held { kept, clean, wild } = self.softmax.hold(s, packs);
        Held { kept, clean, wild }
    }

    #[inline(always)]
    fn nodes<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        &Held { kept, clean, wild }: &Held<Self, N>,
    ) -> [Powers<X::Value, X::Value>; N] {
        self.softmax.nodes::<S, P, WARP, N>(s, packs, &Held { kept, clean, wild })
    }

    #[inline(always)]
    fn stat<S: Simt>(&self, s: &S, node: Powers<X::Value, X::Value>, row: u64) -> Self::Stat {
        let (call, softmax) = (&self.call, self.softmax.stat(s, node, row));
        let class: i64 = s.load(array(call.at.targets), row as usize);
        let is_class = (class as u64) < call.len;
        // The weight of what is no class is NaN, and so is all that follows.
        let (zero, one) = (X::Value::ZERO, X::Value::ONE);
        let (mut weight, mut scale) = (if is_class { one } else { zero.div(zero) }, one);
        if s.branch(call.weights != NONE && is_class) {
            if s.branch(call.weights == NARROW) {
                weight = X::value(s, s.load(array::<X::Bits>(call.at.weight), class as usize));
            } else {
                weight = fetch(s, array(call.at.weight), class as usize, zero);
            }
        }
        if s.branch(call.at.scales != 0) {
            scale = fetch(s, array(call.at.scales), (row * call.scale_step) as usize, zero);
        }
        let class = if class == call.ignore { IGNORED } else { class as u64 & !(1 << 63) };
        (((node.scale, node.sum), softmax), ((weight, scale), class))
    }

    #[inline(always)]
    fn noted<S: Simt>(&self, s: &S, row: u64) -> Self::Stat {
        let zero = X::Value::ZERO;
        let (scale, sum) = fetch(s, array(self.call.at.norms), row as usize, (zero, zero));
        self.stat(s, Powers { scale, sum }, row)
    }

    #[inline(always)]
    fn note<S: Simt>(&self, s: &S, (((scale, sum), _), ((weight, _), class)): Self::Stat, row: u64) {
        let call = &self.call;
        if s.branch(call.at.norms != 0 && call.noted == 0) {
            publish(s, array(call.at.norms), row as usize, (scale, sum));
        }
        if s.branch(call.at.logs == 0 && call.at.losses == 0) {
            return;
        }
        let log = LogSoftmax::of(Powers { scale, sum });
        if s.branch(call.at.logs != 0) {
            publish(s, array(call.at.logs), row as usize, X::Value::from_float(log.log));
        }
        if s.branch(call.at.losses != 0) {
            let [from, ..] = call.places(row);
            let logits = array::<X::Bits>(call.at.input.wrapping_add(from as u64));
            let mut logit = X::Value::ZERO;
            if s.branch(class < call.len) {
                logit = X::value(s, s.load(logits, class as usize));
            }
            let found = loss(weight).loss(log.log_probability(logit), X::Value::ZERO);
            let found = if class == IGNORED { X::Value::ZERO } else { found };
            publish(s, array(call.at.losses), row as usize, X::Value::from_float(found));
        }
    }

    #[inline(always)]
    fn is_plain(&self, ((_, softmax), _): Self::Stat) -> bool {
        self.softmax.is_plain(softmax)
    }

    #[inline(always)]
    fn map<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, at: At) -> [u32; 4] {
        let each = self.softmax.each(kept, stat.0.1);
        self.gradients(s, each, stat, at)
    }

    #[inline(always)]
    fn map_any<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, wild: bool, at: At) -> [u32; 4] {
        let each = self.softmax.each_any(s, kept, stat.0.1, wild, at);
        self.gradients(s, each, stat, at)
    }
}
