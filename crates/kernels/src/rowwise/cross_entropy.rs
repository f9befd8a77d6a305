//! The cross-entropy of rows of logits and the class of each, and its gradient.
//!
//! Idea: softmax, but that a lane finds the loss of its row from the logit of the class, which it reads again, and that
//! one element of a row has something subtracted. Gradients of bf16 are few digits: those of ordinary elements take
//! exponentials in few operations, and a row's factor; the one that is not like the others is put in its place then.

use super::exponents::Exponents;
use super::level::pick;
use super::op::{Held, RowOp};
use super::softmax::Softmaxes;
use super::spread::{At, Packs, Place};
use super::{NARROW, NONE, Rowwise};
use crate::address::array;
use crate::node::{Node, fetch, publish};
use crate::rowwise::number::{MOST, canonical, rounded};
use crate::source::{Bits, Source};
use warpfold_core::ops::{Exponential, Powers, brief_exp};
use warpfold_core::rows::{ClassLoss, ClassWeights, LogSoftmax, Softmax};
use warpfold_core::{Accumulate, DType, Element, Float, Real};
use warpfold_simt::Simt;

/// The cross-entropy of rows, and its gradient.
#[derive(Clone, Copy)]
pub struct CrossEntropy<X: Source> {
    softmax: Softmaxes<X, false, false>,
    /// The same, whose elements are kept as they are.
    elements: Softmaxes<X, true, false>,
    call: Rowwise,
}

/// The class of a row that has no loss.
const IGNORED: u64 = u64::MAX;

/// A row's node, the two words of its softmax, the weight of its class, the gradient of its loss, the factor of brief
/// exponentials, and its class.
type Stat<F> = (((F, F), (F, F)), ((F, (F, F)), u64));

/// How the loss of a class is weighed.
#[inline(always)]
fn loss<F: Float>(weight: F) -> ClassLoss<F> {
    ClassLoss::new(ClassWeights { target: F::ONE, each: F::ZERO }, weight, F::ZERO)
}

impl<X> CrossEntropy<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// Whether gradients are found from the elements, not from their exponentials.
    const BRIEF: bool = matches!(X::DTYPE, DType::BF16);

    /// The gradient's elements, from the probabilities of a pack, and what was kept of it.
    #[inline(always)]
    fn gradients<S: Simt>(
        &self,
        s: &S,
        mut each: [X::Value; MOST],
        kept: [X::Value; MOST],
        (_, ((weight, (scale, factor)), class)): Stat<X::Value>,
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
        if Self::BRIEF && s.branch(factor != zero) {
            i = 0;
            while i < X::Bits::PER as usize {
                let brief = brief_exp(kept[i]).mul(factor);
                each[i] = if kept[i].is_ordinary() && i as u64 != own { brief } else { each[i] };
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
    const COMMON: bool = Self::BRIEF;
    const KEEPS: bool = true;
    const LINED: bool = true;
    type Source = X;
    type Kept = [X::Value; MOST];
    type Level = Exponents<X::Value>;
    type Stat = Stat<X::Value>;
    type Ready = [u32; 0];

    #[inline(always)]
    fn new(call: &Rowwise) -> Self {
        Self { softmax: Softmaxes::new(call), elements: Softmaxes::new(call), call: *call }
    }

    #[inline(always)]
    fn blank(&self) -> [X::Bits; 2] {
        self.softmax.blank()
    }

    #[inline(always)]
    fn hold<S: Simt, P: Fn(u32) -> Place, const N: usize>(&self, s: &S, packs: &Packs<P, N>) -> Held<Self, N> {
        if Self::BRIEF {
            let Held { kept, clean, wild } = self.elements.hold(s, packs);
            return Held { kept, clean, wild };
        }
        let Held { kept, clean, wild } = self.softmax.hold(s, packs);
        Held { kept, clean, wild }
    }

    #[inline(always)]
    fn nodes<S: Simt, P: Fn(u32) -> Place, const WARP: bool, const N: usize>(
        &self,
        s: &S,
        packs: &Packs<P, N>,
        &Held { kept, clean, wild }: &Held<Self, N>,
        _given: [Self::Stat; N],
    ) -> [Powers<X::Value, X::Value>; N] {
        let none = [(X::Value::ZERO, X::Value::ZERO); N];
        if Self::BRIEF {
            return self.elements.nodes::<S, P, WARP, N>(s, packs, &Held { kept, clean, wild }, none);
        }
        self.softmax.nodes::<S, P, WARP, N>(s, packs, &Held { kept, clean, wild }, none)
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
        let mut factor = zero;
        if Self::BRIEF && s.branch(class != IGNORED) {
            let row = Softmax { scale: softmax.0, inverse: softmax.1 };
            factor = loss(weight).brief_factor(X::DTYPE, row, scale);
        }
        (((node.scale, node.sum), softmax), ((weight, (scale, factor)), class))
    }

    #[inline(always)]
    fn is_there<S: Simt>(&self, s: &S) -> bool {
        let at = &self.call.at;
        if !s.branch(at.used != 0) {
            return false;
        }
        let [scale, used] = [at.scales, at.used].map(
            #[inline(always)]
            |at| fetch(s, array(at), 0, X::Value::ZERO),
        );
        // A zero may have either sign.
        scale == used && scale != X::Value::ZERO
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
    fn is_common(&self, kept: Self::Kept, clean: bool, stat: Self::Stat, at: At) -> bool {
        let ((_, _), ((_, (_, factor)), class)) = stat;
        // Packs that a row does not have are left alone. Rows that are ignored have zeros, by a factor of zero.
        let fine = clean || Softmaxes::<X, true, false>::all(&kept, |x| x.is_ordinary());
        at.count == 0 || (fine && (factor != X::Value::ZERO || class == IGNORED))
    }

    #[inline(always)]
    fn has_own(&self, (_, (_, class)): Self::Stat, at: At) -> bool {
        Self::BRIEF && class.wrapping_sub(at.first) < X::Bits::PER as u64
    }

    #[inline(always)]
    fn with_own<S: Simt>(&self, s: &S, w: [u32; 4], kept: Self::Kept, stat: Self::Stat, at: At) -> [u32; 4] {
        if !s.branch(self.has_own(stat, at)) {
            return w;
        }
        let ((_, (scale, inverse)), ((weight, (of_loss, _)), class)) = stat;
        let own = class.wrapping_sub(at.first) as u32;
        let probability = Softmax { scale, inverse }.of_ordinary(pick(kept, own).ordinary_exp_of(X::DTYPE));
        let gradient = loss(weight).gradient(probability, X::Value::ZERO, true, of_loss);
        let result = canonical::<S, X>(s, [gradient; MOST]);
        // Both elements of each word have it.
        let keep = 0xffff << (16 * (own & 1));
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| if i as u32 == own / 2 { (w[i] & !keep) | (result[i] & keep) } else { w[i] },
        )
    }

    #[inline(always)]
    fn map<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, at: At) -> [u32; 4] {
        let ((_, softmax), ((_, (_, factor)), _)) = stat;
        if !Self::BRIEF {
            return self.gradients(s, self.softmax.each(kept, softmax), kept, stat, at);
        }
        rounded::<S, X>(
            s,
            kept.map(
                #[inline(always)]
                |x| brief_exp(x).mul(factor),
            ),
        )
    }

    #[inline(always)]
    fn map_any<S: Simt>(&self, s: &S, kept: Self::Kept, stat: Self::Stat, wild: bool, at: At) -> [u32; 4] {
        let each = self.softmax.each_any(s, kept, stat.0.1, wild || Self::BRIEF, at);
        self.gradients(s, each, kept, stat, at)
    }
}
