//! Checks whether a case can be run.

use crate::case::{Case, Measure, tuple};
use crate::keys::Keys;
use crate::layout::Layout;
use crate::work::Work;
use warpfold::{ArrayRef, DType, Op, Precision};

/// Why a case cannot be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The wrong part of the case.
    pub field: Field,
    /// Why, and what to do.
    pub why: String,
}

/// A part of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Field {
    Op,
    Shape,
    Axes,
    Layout,
    Keys,
}

impl Case {
    /// Checks whether the case can be run.
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    pub fn check(&self) -> Result<(), Fault> {
        let fault = |field, why: String| Err(Fault { field, why });
        let shown = tuple(&self.shape);
        if self.shape.is_empty() || self.shape.contains(&0) {
            return fault(Field::Shape, format!("shape {shown} has no elements: give lengths of 1 or more"));
        }
        if let Some(axis) = self.axes.iter().find(|&&axis| axis >= self.shape.len()) {
            let last = self.shape.len() - 1;
            return fault(Field::Axes, format!("axis {axis} is not one of shape {shown}: give 0 to {last}"));
        }
        if self.axes.is_empty() || self.axes.windows(2).any(|pair| pair[0] >= pair[1]) {
            return fault(Field::Axes, "give axes in ascending order, each once, at least one".into());
        }
        let row = *self.shape.last().unwrap_or(&1);
        if let Layout::Pitch(pitch) = self.layout
            && pitch < row
        {
            let why = format!("pitch:{pitch} is less than a row of shape {shown}: give {row} or more");
            return fault(Field::Layout, why);
        }
        if let Layout::Order(order) = self.layout
            && order.rank() != self.shape.len()
        {
            let why = format!("{} does not name the axes of shape {shown}, each once", self.layout);
            return fault(Field::Layout, why);
        }
        if self.layout == Layout::Step(0) {
            return fault(Field::Layout, "step:0 has all elements in one place: give 1 or more".into());
        }
        let bytes = self.shape.iter().try_fold(self.dtype.size(), |n, &d| n.checked_mul(d));
        if bytes.is_none_or(|bytes| bytes > 1 << 40) {
            let why = format!("shape {shown} of {} has more than 2^40 bytes: take fewer elements", self.dtype);
            return fault(Field::Shape, why);
        }
        self.check_keys()?;
        self.explain().or_else(|why| fault(Field::Op, why))
    }

    /// Checks whether work and keys fit together.
    fn check_keys(&self) -> Result<(), Fault> {
        let fault = |field, why: String| Err(Fault { field, why });
        let (name, rank) = (self.work.name(), self.shape.len());
        let is_plain = self.layout == Layout::C
            && self.precision == Precision::Tree
            && !self.skip_nan
            && self.measure == Measure::Call
            && self.axes == [0];
        if self.measure == Measure::Graph && self.work == Work::Describe {
            return fault(Field::Op, "describe is not measured in a graph: take measure = \"call\"".into());
        }
        if self.is_keyed() && !is_plain {
            return fault(Field::Op, format!("{name} by keys takes no axes, layout, precision, skip_nan or measure"));
        }
        match (self.work, self.keys) {
            (Work::Update | Work::Iterate, Some(Keys::Clusters(k, _))) => {
                let n = self.shape[0];
                if rank != 2 {
                    return fault(Field::Shape, format!("{name} has shapes [points, coordinates]: give two lengths"));
                }
                if !self.dtype.is_float() {
                    let why = "give f16, bf16, f32 or f64";
                    return fault(Field::Op, format!("{name} of {} is not measured: {why}", self.dtype));
                }
                if k == 0 || n < 32 * k || k > 1 << 24 {
                    return fault(Field::Keys, format!("give 1 to {} clusters of {n} points, not {k}", n / 32));
                }
                Ok(())
            }
            (Work::Update | Work::Iterate, _) => fault(Field::Op, format!("{name} needs the key `clusters`")),
            (Work::Unique, None | Some(Keys::Groups(_))) if rank != 1 => {
                fault(Field::Shape, format!("{name} is measured along one axis: give one length"))
            }
            (Work::Unique, None | Some(Keys::Groups(_))) if self.dtype.size() > 4 || self.dtype == DType::U32 => {
                let why = "give a dtype whose values fit 32 bits with a sign";
                fault(Field::Op, format!("{name} of {} is not measured: {why}", self.dtype))
            }
            (Work::Unique, Some(Keys::Groups(k))) if k == 0 || k > exact(self.dtype) => {
                let why = format!("{} holds no more labels than {}", self.dtype, exact(self.dtype));
                fault(Field::Keys, format!("{why}: give 1 or more groups, and no more than that"))
            }
            (Work::Unique, None | Some(Keys::Groups(_))) | (_, None) => Ok(()),
            (Work::Op(Op::Sum | Op::Min | Op::Max | Op::ArgMin | Op::ArgMax), Some(Keys::Segments(_))) if rank == 1 => {
                Ok(())
            }
            (Work::Op(Op::Sum), Some(Keys::Groups(k))) if rank == 1 => match k {
                _ if self.dtype.size() > 4 => fault(
                    Field::Op,
                    format!("groups of {} are not measured: give a dtype of up to 4 bytes", self.dtype),
                ),
                0 | 0x0100_0001.. => fault(Field::Keys, format!("give 1 to 2^24 groups, not {k}")),
                _ => Ok(()),
            },
            (_, Some(keys)) => {
                let why = "segments have sum, min, max, argmin, argmax, groups have sum and unique, of one axis";
                fault(Field::Keys, format!("{name} by {keys} is not measured: {why}; clusters have k-means"))
            }
        }
    }

    /// Asks the library's planner, without any data.
    fn explain(&self) -> Result<(), String> {
        let Work::Op(op) = self.work else {
            if self.work != Work::Describe {
                return Ok(());
            }
            let is_plain = !self.skip_nan && self.precision == Precision::Tree;
            return if is_plain { Ok(()) } else { Err("describe takes neither skip_nan nor precision".into()) };
        };
        let (byte, strides) = ([0u8; 16], vec![0; self.shape.len()]);
        // SAFETY: with strides of zero every element is the first one, which the 16 bytes hold.
        let array = unsafe { ArrayRef::from_raw(byte.as_ptr(), self.dtype, &self.shape, &strides) };
        array.and_then(|array| warpfold::explain(op, array, &self.options())).map(drop).map_err(|e| e.to_string())
    }
}

/// The number of labels from 0 on that are exact in a dtype, at most 2^24.
fn exact(dtype: DType) -> usize {
    let bits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::Bool => 1,
        _ if dtype.is_float() => 24,
        _ => 8 * dtype.size() - usize::from(dtype.name().starts_with('i')),
    };
    1 << bits.min(24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::case;
    use crate::keys::Cloud;

    #[test]
    fn what_cannot_be_run_is_said_with_a_remedy() {
        let mut c = case(&[2, 3], Layout::Pitch(2));
        assert!(c.check().unwrap_err().why.contains("give 3 or more"));
        c.layout = Layout::C;
        assert_eq!(c.check(), Ok(()));
        c.axes = vec![2];
        assert!(c.check().unwrap_err().why.contains("give 0 to 1"));
        c.axes = vec![0];
        c.work = Work::Describe;
        c.skip_nan = true;
        assert_eq!(c.check().unwrap_err().field, Field::Op);
        assert!("prod".parse::<Work>().is_err() && "sun".parse::<Work>().unwrap_err().contains("`sum`"));
    }
    #[test]
    fn keys_that_do_not_go_with_the_rest_are_said_with_a_remedy() {
        let with = |work: Work, shape: &[usize], keys: Option<Keys>| {
            let mut c = Case { work, keys, ..case(shape, Layout::C) };
            c.axes = vec![0];
            c.check()
        };
        let why = |work: Work, shape: &[usize], keys: Option<Keys>| with(work, shape, keys).unwrap_err().why;
        let clusters = |k| Some(Keys::Clusters(k, Cloud::Normal));
        assert_eq!(with(Work::Update, &[1000, 3], clusters(10)), Ok(()));
        assert!(why(Work::Update, &[1000, 3], None).contains("`clusters`"));
        assert!(why(Work::Iterate, &[1000], clusters(10)).contains("two lengths"));
        assert!(why(Work::Iterate, &[1000, 3], clusters(32)).contains("1 to 31"));
        assert!(why(Work::Op(Op::Sum), &[1000, 3], clusters(3)).contains("clusters have k-means"));
        assert!(why(Work::Op(Op::Max), &[1000], Some(Keys::Groups(3))).contains("not measured"));
        assert!(why(Work::Op(Op::Sum), &[1000], Some(Keys::Groups(0))).contains("2^24"));
        assert!(why(Work::Unique, &[10, 10], None).contains("one length"));
        let mut c = Case { work: Work::Unique, dtype: DType::F64, ..case(&[10], Layout::C) };
        assert!(c.check().unwrap_err().why.contains("32 bits"));
        c = Case { dtype: DType::I8, keys: Some(Keys::Groups(129)), ..c };
        assert!(c.check().unwrap_err().why.contains("no more labels than 128"));
        c.keys = None;
        c.skip_nan = true;
        assert!(c.check().unwrap_err().why.contains("takes no"));
    }
}
