//! Where an array came from, so that a missing value can be an error that names it.

use warpfold_array::request::hole_error;
use warpfold_array::{Error, Hole, KeyError, Op};
use warpfold_core::DType;
use warpfold_kernels::sort::state::of_special;

/// A reduction some of whose outputs may have no value, for the message.
pub(crate) struct Origin {
    pub op: Op,
    /// The name of the reduction in errors of parts.
    pub name: &'static str,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub axes: Vec<usize>,
    /// The parts that were reduced (segment, group or run), if not the array as a whole.
    pub parts: Option<&'static str>,
    /// Of reductions by labels, the number of groups and the dtype of the labels. The first label of no group then
    /// follows the status: see [`Origin::check_labels`].
    pub groups: Option<(usize, DType)>,
}

impl Origin {
    /// A reduction of segments, or of other parts of the first axis.
    pub fn of_parts(op: warpfold_array::Op, dtype: DType, shape: &[usize], parts: &'static str) -> Origin {
        Origin { op, name: op.name(), dtype, shape: shape.to_vec(), axes: vec![0], parts: Some(parts), groups: None }
    }

    /// Checks what the sort reports of labels: the place of the first label of no group in 4 bytes, as the kernels
    /// encode it, and the label in 8 bytes.
    pub(crate) fn check_labels(&self, said: &[u8]) -> Result<(), KeyError> {
        let Some((groups, dtype)) = self.groups else { return Ok(()) };
        let word = |at: usize| u32::from_ne_bytes([said[at], said[at + 1], said[at + 2], said[at + 3]]);
        label_error([word(0), word(4), word(8)], dtype, groups)
    }

    /// Checks the status: byte 0 is set by an output of no elements, byte 1 by an output of only NaN, byte 2 by offsets
    /// that decrease or go beyond the values.
    pub(crate) fn check(&self, status: u32) -> Result<(), Error> {
        let hole = match status.to_ne_bytes() {
            [_, _, bad, _] if bad != 0 => return Err(KeyError::BadOffsets { len: self.shape[0] }.into()),
            [0, 0, ..] => return Ok(()),
            [0, ..] => Hole::AllNan,
            // As on the CPU, nothing at all goes before nothing but NaN.
            _ => Hole::Empty,
        };
        if let Some(what) = self.parts {
            let why = hole.of_a_segment();
            return Err(KeyError::SomeEmpty { op: self.name, dtype: self.dtype, what, why }.into());
        }
        Err(hole_error(hole, self.op, self.dtype, &self.shape, &self.axes))
    }
}

/// What is wrong with labels: what kernels say of the first of no group, and what it is.
pub(crate) fn label_error([special, low, high]: [u32; 3], dtype: DType, groups: usize) -> Result<(), KeyError> {
    let Some((at, _)) = of_special(special) else { return Ok(()) };
    let raw = u64::from(high) << 32 | u64::from(low);
    let away = 64 - 8 * dtype.size() as u32;
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    let label = if signed { i128::from((raw << away).cast_signed() >> away) } else { i128::from(raw) };
    Err(KeyError::LabelOutOfRange { at: at as usize, label, groups })
}

#[cfg(test)]
mod tests {
    use super::label_error;
    use warpfold_array::KeyError;
    use warpfold_core::DType;

    #[test]
    fn a_label_of_no_group_is_said_with_its_sign() {
        // Position 5: all bits of ten, and one for nothing else.
        let special = !(5u32 << 1);
        let said = |dtype, low, high| label_error([special, low, high], dtype, 7).expect_err("no group");
        let error = |label| KeyError::LabelOutOfRange { at: 5, label, groups: 7 };
        assert_eq!(said(DType::I32, -5i32 as u32, 0), error(-5));
        assert_eq!(said(DType::I8, 0x80, 0), error(-128));
        assert_eq!(said(DType::U8, 0x80, 0), error(128));
        assert_eq!(said(DType::I64, 0, 1 << 8), error(1 << 40));
        assert_eq!(said(DType::U64, u32::MAX, u32::MAX), error(u64::MAX as i128));
        assert_eq!(label_error([0, 3, 3], DType::I32, 7), Ok(()));
    }
}
