//! Whether a result is right.

use crate::case::Case;
use crate::exact::by_key::{Expected, expected};
use crate::exact::known::Known;
use crate::exact::sample::positions;
use crate::exact::walk::Walk;
use crate::exact::want::{Want, wanted};
use crate::side::{Answer, Number, Positions};
use serde::{Deserialize, Serialize};
use warpfold::Values;

/// Whether a result is right, and an explanation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether every compared value is right.
    pub passed: bool,
    /// The number of compared values, or what is wrong with the first wrong one.
    pub detail: String,
}

impl Verdict {
    /// The verdict on a wrong result.
    pub fn wrong(detail: String) -> Verdict {
        Verdict { passed: false, detail }
    }
}

/// The order of additions, which decides the rounding errors to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The tree.
    Tree,
    /// Another, unknown order.
    Other,
}

/// The exact results of the compared outputs of a case.
pub struct Reference {
    at: Vec<usize>,
    /// The expected values of each position, one position after the other.
    wants: Vec<Want>,
    outputs: usize,
    width: usize,
    /// A description of the elements of an output.
    of: String,
    /// Why no answer can be right, if so.
    fault: Option<String>,
}

impl Reference {
    /// Computes the reference from the facts in `known`, and adds missing facts. An iteration of k-means is compared
    /// with the means of the labels that the side itself found.
    pub fn new(case: &Case, known: &mut Known, labels: Option<&[i32]>) -> Reference {
        let width = case.work.width();
        if case.is_keyed() {
            let Expected { outputs, at, wants, of, fault } = expected(case, known, labels);
            return Reference { at, wants, outputs, width, of, fault };
        }
        let (walk, outputs) = (Walk::new(case), case.outputs());
        let at = positions(case).list(outputs);
        let wants = known.facts(&walk, &at).iter().flat_map(|facts| wanted(case, &walk, facts)).collect();
        Reference { at, wants, outputs, width, of: format!("of {} elements each", case.count()), fault: None }
    }

    /// The outputs that are compared.
    pub fn positions(&self) -> Positions {
        if self.at.len() == self.outputs { Positions::All } else { Positions::Some(self.at.clone()) }
    }

    /// Compares a side's answer.
    pub fn check(&self, answer: &Answer, order: Order) -> Verdict {
        if let Some(why) = &self.fault {
            return Verdict::wrong(why.clone());
        }
        if answer.outputs != self.outputs {
            return Verdict::wrong(format!("it has {} outputs instead of {}", answer.outputs, self.outputs));
        }
        if answer.values.len() != self.wants.len() || answer.dtypes.len() != self.width {
            return Verdict::wrong(format!("{} values came instead of {}", answer.values.len(), self.wants.len()));
        }
        for (i, (&found, want)) in answer.values.iter().zip(&self.wants).enumerate() {
            let dtype = &answer.dtypes[i % self.width];
            if let Err(why) = compare(found, want, dtype, order) {
                let at = self.at[i / self.width];
                return Verdict::wrong(format!("output {at} of {}: {why}", self.outputs));
            }
        }
        let many = self.at.len();
        let s = if many == 1 { "" } else { "s" };
        let of = if many == self.outputs { String::new() } else { format!(" of {}", self.outputs) };
        Verdict { passed: true, detail: format!("{many}{of} output{s} {}", self.of) }
    }
}

/// Compares a value with the exact one, up to the rounding errors of `order`. NaN never passes.
fn compare(found: Number, want: &Want, dtype: &str, order: Order) -> Result<(), String> {
    match (want, found) {
        (Want::Any, _) => Ok(()),
        (Want::Label { label, .. }, found) if order == Order::Tree => match found.to_f64() == *label as f64 {
            true => Ok(()),
            false => Err(format!("label {found} instead of {label}")),
        },
        (Want::Label { others, .. }, found) => match others.iter().any(|&label| found.to_f64() == label as f64) {
            true => Ok(()),
            false => Err(format!("label {found} instead of {others:?}")),
        },
        // Integer sums wrap.
        (&Want::Int(want), Number::Int(found)) => match (found - want) as u64 {
            0 => Ok(()),
            _ => Err(format!("{found} instead of {want}")),
        },
        (&Want::Int(want), Number::Float(_)) => Err(format!("{found} ({dtype}) instead of the integer {want}")),
        (&Want::Same(want), found) if found.to_f64() == want => Ok(()),
        (&Want::Same(want), found) => Err(format!("{found} instead of {want:?}")),
        (&Want::Near { value, .. }, found) if value.is_nan() => match found.to_f64().is_nan() {
            true => Ok(()),
            false => Err(format!("{found} instead of NaN")),
        },
        (&Want::Near { value, tree, other }, found) => {
            let bound = if order == Order::Tree { tree } else { other } + rounding(dtype, value)?;
            let error = (found.to_f64() - value).abs();
            // Not `error > bound`, which a NaN would pass.
            if error <= bound {
                Ok(())
            } else {
                Err(format!("{found} instead of {value:?}: off by {error:.3e}, {bound:.3e} is explained by rounding"))
            }
        }
    }
}

/// Half a unit in the last place of a value in a dtype.
fn rounding(dtype: &str, value: f64) -> Result<f64, String> {
    let (bits, least) = match dtype {
        "f16" => (11, 25),
        "bf16" => (8, 134),
        "f32" => (24, 150),
        "f64" => (53, 1022),
        _ => return Err(format!("dtype {dtype} where a float should be")),
    };
    Ok(value.abs() * 0.5f64.powi(bits) * 1.01 + 0.5f64.powi(least))
}

/// Whether two results have the same bits everywhere. `whose` describes the second result.
pub fn same_bits(ours: &[Values], reference: &[Values], width: usize, whose: &str) -> Verdict {
    let outputs = |all: &[Values]| all.first().map_or(0, |values| values.len() / width.max(1));
    let like = |all: &[Values]| all.iter().map(|values| (values.dtype(), values.len())).collect::<Vec<_>>();
    if like(ours) != like(reference) {
        return Verdict::wrong(format!("{:?}, {whose} {:?}", like(ours), like(reference)));
    }
    for (a, b) in ours.iter().zip(reference) {
        if a.as_bytes() == b.as_bytes() {
            continue;
        }
        let size = a.dtype().size();
        let differ = a.as_bytes().chunks(size).zip(b.as_bytes().chunks(size)).position(|(a, b)| a != b);
        let i = differ.unwrap_or(0);
        let shown = [a, b].map(|values| Number::from(values.get(i)));
        return Verdict::wrong(format!(
            "output {} of {}: {}, {whose} {}",
            i / width.max(1),
            outputs(ours),
            shown[0],
            shown[1]
        ));
    }
    Verdict { passed: true, detail: format!("all {} outputs have the bits {whose}", outputs(ours)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Cpu;
    use crate::side::Side;
    use crate::work::Work;

    fn near(found: f64, order: Order) -> bool {
        let want = Want::Near { value: 100.0, tree: 1e-5, other: 1e-3 };
        compare(Number::Float(found), &want, "f32", order).is_ok()
    }

    #[test]
    fn a_value_may_be_off_by_what_rounding_explains() {
        assert!(near(100.0, Order::Tree) && near(100.00001, Order::Tree));
        assert!(!near(100.0005, Order::Tree) && near(100.0005, Order::Other));
        assert!(!near(100.1, Order::Other) && !near(0.0, Order::Other));
    }

    #[test]
    fn nan_and_infinity_never_pass() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!near(bad, Order::Tree) && !near(bad, Order::Other));
            assert!(compare(Number::Float(bad), &Want::Same(1.0), "f32", Order::Other).is_err());
            assert!(compare(Number::Float(bad), &Want::Int(1), "i64", Order::Other).is_err());
        }
    }

    #[test]
    fn integers_are_equal_or_wrong_but_sums_wrap() {
        let same = |found: i128, want: i128| compare(Number::Int(found), &Want::Int(want), "i64", Order::Tree).is_ok();
        assert!(same(5, 5) && !same(5, 6) && !same(0, 1));
        assert!(same(-1, u64::MAX.into()) && same(4, (1 << 64) + 4));
    }

    /// Wrong sums of 1000 elements.
    #[test]
    fn zeros_nan_and_a_dropped_element_are_caught_in_any_order() {
        let case =
            crate::suite::load("smoke").unwrap().cases.into_iter().find(|c| c.to_string() == "sum f64 (1000,) axis 0");
        let case = crate::case::Case { dtype: warpfold::DType::F32, ..case.unwrap() };
        let reference = Reference::new(&case, &mut Known::default(), None);
        let values: Vec<f64> = (0..1000)
            .map(|i| match case.generator().exact(i) {
                crate::data::Exact::Units(k) => k as f64 * 0.5f64.powi(24),
                crate::data::Exact::Nan => f64::NAN,
            })
            .collect();
        let passes = |x: f64, order| {
            let answer = Answer { dtypes: vec!["f32".into()], outputs: 1, values: vec![Number::Float(x)] };
            reference.check(&answer, order).passed
        };
        let sum: f64 = values.iter().sum();
        for order in [Order::Tree, Order::Other] {
            assert!(passes(f64::from(sum as f32), order));
            assert!(!passes(sum - values[500], order) && !passes(0.0, order) && !passes(f64::NAN, order));
        }
    }

    #[test]
    fn bits_are_compared_as_bits() {
        let same =
            |a: f32, b: f32| same_bits(&[Values::F32(vec![1.0, a])], &[Values::F32(vec![1.0, b])], 1, "there").passed;
        assert!(same(0.5, 0.5) && same(f32::NAN, f32::NAN));
        assert!(!same(0.0, -0.0) && !same(0.5, f32::NAN) && !same(0.5, 0.50000006));
        assert!(!same_bits(&[Values::F32(vec![0.0])], &[Values::F32(vec![0.0; 2])], 1, "there").passed);
        assert!(!same_bits(&[Values::F32(vec![0.0])], &[Values::I32(vec![0])], 1, "there").passed);
    }
    /// For every keyed case of the suite `smoke`, our result passes, and fails with a value changed or dropped.
    #[test]
    fn a_wrong_value_by_key_is_caught() {
        let cases: Vec<Case> = crate::suite::load("smoke").unwrap().cases.into_iter().filter(Case::is_keyed).collect();
        assert!(cases.len() > 40);
        for case in cases {
            let mut cpu = Cpu::new();
            cpu.prepare(&case).unwrap();
            cpu.sample().unwrap();
            let labels = (case.work == Work::Iterate).then(|| cpu.labels().unwrap());
            let reference = Reference::new(&case, &mut Known::default(), labels.as_deref());
            let answer = cpu.result(&reference.positions()).unwrap();
            let passes =
                |answer: &Answer| [Order::Tree, Order::Other].map(|order| reference.check(answer, order).passed);
            assert_eq!(passes(&answer), [true; 2], "{case}");
            let n = answer.values.len();
            for i in [0, n / 2, n - 1] {
                // A fraction is not a label. Another label would not do: it may be as near by a peer's rounding.
                for wrong in [answer.values[i].to_f64() + 1.0 / 16.0, f64::NAN] {
                    let mut changed = answer.clone();
                    changed.values[i] = match answer.values[i] {
                        Number::Int(k) => Number::Int(k + 1),
                        Number::Float(_) => Number::Float(wrong),
                    };
                    assert_eq!(passes(&changed), [false; 2], "{case} {i}");
                }
            }
            let mut fewer = answer.clone();
            fewer.values.pop();
            assert_eq!(passes(&fewer), [false; 2], "{case}");
            assert_eq!(passes(&Answer { outputs: answer.outputs + 1, ..answer }), [false; 2], "{case}");
        }
    }
}
