//! The gradient of cross-entropy in memory that is there: in place of the logits, or elsewhere.

use warpfold::rows::{cross_entropy_gradient, cross_entropy_gradient_into, cross_entropy_in_place};
use warpfold::{Array, ArrayMut, ArrayRef, DType, Error, Meeting, RowError, Scalar};

use crate::given::Given;
use crate::loss::of_many_classes;
use crate::reference::{Random, Strided};
use crate::{bits, float, floats, many_axes};

/// The memory of an array, and a copy of it that is written to.
struct Memory<'a> {
    of: &'a Strided,
    bytes: Vec<u8>,
}

impl<'a> Memory<'a> {
    fn of(of: &'a Strided) -> Self {
        Self { of, bytes: of.bytes().0.to_vec() }
    }

    /// An error if elements share memory.
    fn array(&mut self) -> Result<ArrayMut<'_>, Error> {
        let first = self.bytes.as_mut_ptr().wrapping_add(self.of.bytes().1);
        // SAFETY: the bytes hold every element that shape and strides reach.
        unsafe { ArrayMut::from_raw(first, self.of.dtype, &self.of.shape, &self.of.strides) }
    }

    /// Asserts that the elements are these, and all other bytes as they were.
    fn check(&mut self, want: &Array, what: &str) {
        let size = self.of.dtype.size();
        let mut expected = self.of.bytes().0.to_vec();
        for (at, want) in self.of.offsets().into_iter().zip(bits(want)) {
            expected[at..at + size].copy_from_slice(&want.to_le_bytes()[..size]);
        }
        assert!(self.bytes == expected, "{what}");
    }
}

fn check(r: &mut Random, dtype: DType, shape: &[usize], axis: usize, what: &str) {
    let classes = shape[axis];
    let batch: Vec<usize> = (0..shape.len()).filter(|&a| a != axis).map(|a| shape[a]).collect();
    let x = floats(r, dtype, shape);
    let of_distributions = r.chance(30);
    let targets = match of_distributions {
        true => Strided::new(r, DType::F32, shape, |r| float(r, DType::F32, 1.0, 2)),
        false => Strided::new(r, DType::I64, &batch, |r| Scalar::I64(r.below(classes) as i64)),
    };
    let given = Given::new(r, dtype, classes, &batch);
    let options = given.options();
    let axis = axis as isize;
    let what = format!("{what} {shape:?} {axis} {:?} {of_distributions}", x.strides);
    let want = cross_entropy_gradient(x.view(), targets.view(), axis, &options).unwrap();
    let mut memory = Memory::of(&x);
    if let Ok(array) = memory.array() {
        let got = cross_entropy_in_place(array, targets.view(), axis, &options).unwrap();
        assert_eq!((bits(&got.loss), bits(&got.logsumexp)), (bits(&want.loss), bits(&want.logsumexp)), "{what}");
        memory.check(&want.gradient, &what);
    }
    let other = floats(r, dtype, shape);
    let mut memory = Memory::of(&other);
    if let Ok(array) = memory.array() {
        let got = cross_entropy_gradient_into(x.view(), targets.view(), axis, &options, array).unwrap();
        assert_eq!((bits(&got.loss), bits(&got.logsumexp)), (bits(&want.loss), bits(&want.logsumexp)), "{what}");
        memory.check(&want.gradient, &what);
    }
}

#[test]
fn written() {
    many_axes(300, check);
}

#[test]
fn many_classes() {
    of_many_classes(4, |r, dtype, shape, axis| (0..4).for_each(|_| check(r, dtype, shape, axis, "many")));
}

#[test]
fn elements_that_share_memory_are_refused() {
    let mut x = [0.0f32; 12];
    let base = x.as_mut_ptr().cast::<u8>();
    let place = |shape: &[usize], strides: &[isize]| {
        // SAFETY: all elements are within the array.
        unsafe { ArrayMut::from_raw(base, DType::F32, shape, strides) }.map(|_| ())
    };
    for (shape, strides) in [(vec![3, 4], vec![0, 4]), (vec![3, 2], vec![4, 4]), (vec![2, 3], vec![8, 8])] {
        let error = place(&shape, &strides).unwrap_err();
        assert_eq!(error, Error::Row(RowError::Shared { shape, strides }));
        assert!(error.to_string().contains("share memory"), "{error}");
    }
    for (shape, strides) in [(vec![3, 4], vec![4, 12]), (vec![1, 4], vec![0, 4]), (vec![0, 4], vec![0, 0])] {
        place(&shape, &strides).unwrap();
    }
    place(&[4, 2], &[8, 4]).unwrap();
}

#[test]
fn arrays_that_meet() {
    let mut x = [0.0f32; 12];
    let base = x.as_mut_ptr().cast::<u8>();
    let at = |from: usize, shape: &[usize], strides: &[isize]| {
        // SAFETY: all elements are within the array.
        unsafe { ArrayMut::from_raw(base.wrapping_add(from), DType::F32, shape, strides) }.unwrap()
    };
    let meets = |left: ArrayMut<'_>, right: ArrayMut<'_>| left.meets(&right.array());
    let rows = || at(0, &[2, 3], &[12, 4]);
    assert_eq!(meets(rows(), rows()), Meeting::Same);
    assert_eq!(meets(rows(), at(0, &[2, 3], &[4, 8])), Meeting::Overlap);
    assert_eq!(meets(rows(), at(20, &[2, 3], &[12, 4])), Meeting::Overlap);
    assert_eq!(meets(rows(), at(24, &[2, 3], &[12, 4])), Meeting::Apart);
    assert_eq!(meets(rows(), at(44, &[2, 3], &[-12, -4])), Meeting::Apart);
    assert_eq!(meets(rows(), at(20, &[6], &[-4])), Meeting::Overlap);
    assert_eq!(meets(at(0, &[1, 3], &[4, 4]), at(0, &[1, 3], &[99, 4])), Meeting::Same);
    assert_eq!(meets(at(0, &[0, 3], &[4, 4]), at(0, &[0, 3], &[4, 4])), Meeting::Apart);
    assert_eq!(rows().meets(&rows().array().with_bytes_swapped(true)), Meeting::Overlap);
}

#[test]
fn memory_of_another_kind_is_refused() {
    let (logits, targets) = ([0.0f32; 6], [0i64, 1]);
    let logits = ArrayRef::from_slice(&logits, &[2, 3]).unwrap();
    let fails = |to: ArrayMut<'_>| {
        cross_entropy_gradient_into(logits, ArrayRef::flat(&targets), 1, &Default::default(), to).unwrap_err()
    };
    let error = fails(ArrayMut::from_slice(&mut [0.0f64; 6], &[2, 3]).unwrap());
    assert!(matches!(error, Error::Row(RowError::ResultDType { found: DType::F64, .. })), "{error}");
    let error = fails(ArrayMut::from_slice(&mut [0.0f32; 6], &[3, 2]).unwrap());
    assert!(matches!(error, Error::Row(RowError::Shape { .. })), "{error}");
    assert!(matches!(ArrayMut::from_slice(&mut [0.0f32; 5], &[3, 2]), Err(Error::Length { .. })));
    // After an error the logits are as they were.
    let mut logits = [1.0f32, 2.0];
    let place = ArrayMut::from_slice(&mut logits, &[1, 2]).unwrap();
    let error = cross_entropy_in_place(place, ArrayRef::flat(&[2i64]), 1, &Default::default()).unwrap_err();
    assert!(matches!(error, Error::Row(RowError::Target { .. })), "{error}");
    assert_eq!(logits, [1.0, 2.0]);
}
