//! Offsets and labels of every integer dtype, and the errors of bad ones.

use super::list;
use warpfold::{ArrayRef, DType, Error, Groups, KeyError, Kind, Op, Options, Order, Values, group_by, over, segmented};

#[test]
fn offsets_and_labels_of_every_integer_dtype() {
    let x = [1.0f64, 2.0, 4.0, 8.0];
    for dtype in DType::ALL.into_iter().filter(|d| matches!(d.kind(), Kind::Signed | Kind::Unsigned)) {
        let put = |x: &[i64]| Values::I64(x.to_vec()).cast(dtype);
        let (offsets, labels) = (put(&[0, 1, 4]), put(&[1, 0, 1, 0]));
        let swapped = |x: &Values| x.as_bytes().chunks(dtype.size()).flat_map(|b| b.iter().rev().copied()).collect();
        for swap in [false, true] {
            let bytes = |x: &Values| -> Vec<u8> { if swap { swapped(x) } else { x.as_bytes().to_vec() } };
            let (offsets, labels) = (bytes(&offsets), bytes(&labels));
            let offsets = ArrayRef::from_bytes(&offsets, dtype, &[3], Order::C, swap).unwrap();
            let labels = ArrayRef::from_bytes(&labels, dtype, &[4], Order::C, swap).unwrap();
            let view = ArrayRef::from_slice(&x, &[4]).unwrap();
            let o = &Options::default();
            assert_eq!(segmented(Op::Sum, view, offsets, o).unwrap().into_vec::<f64>().unwrap(), [1.0, 14.0]);
            let groups = Groups::new(labels, None).unwrap();
            assert_eq!(over(&x).groups(&groups).sum().unwrap().data, [10.0, 5.0]);
            let found = group_by(Op::Sum, labels, view, None, o).unwrap();
            assert_eq!(found.into_vec::<f64>().unwrap(), [10.0, 5.0]);
        }
    }
}

#[test]
fn bad_keys_say_what_is_wrong() {
    let x = [1.0f32, 2.0, 3.0];
    let v = ArrayRef::from_slice(&x, &[3]).unwrap();
    let o = Options::default();
    let says = |got: Result<warpfold::Array, Error>, words: &str| {
        let text = got.unwrap_err().to_string();
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    };
    says(segmented(Op::Sum, v, list(&[0, 2, 1]), &o), "entry 2 is 1 after 2");
    says(segmented(Op::Sum, v, list(&[-1, 2]), &o), "offset -1 (entry 0)");
    says(segmented(Op::Sum, v, list(&[0, 2, 4]), &o), "offset 4 (entry 2) is out of range: there are 3 elements");
    says(segmented(Op::Sum, v, list(&[]), &o), "at least one entry");
    says(segmented(Op::Sum, v, v, &o), "offsets must be integers, these are f32");
    says(segmented(Op::Max, v, list(&[0, 2, 2, 3]), &o), "max of segment 1 finds no elements");
    says(segmented(Op::Sum, v, list(&[0, 3]), &Options { axes: Some(vec![0]), ..o.clone() }), "leave out axes");
    let scalar = ArrayRef::from_slice(&x[..1], &[]).unwrap();
    says(segmented(Op::Sum, scalar, list(&[0]), &o), "without an axis");
    let huge = [u64::MAX; 3];
    let huge = ArrayRef::from_slice(&huge, &[3]).unwrap();
    let group = |labels, groups| Groups::new(labels, groups).and_then(|groups| groups.reduce(Op::Sum, v, &o));
    says(group(huge, None), "label 18446744073709551615 (entry 0)");
    says(group(list(&[0, -1, -2]), None), "label -2 (entry 2) is out of range");
    says(group(list(&[0, 5, 7]), Some(5)), "label 5 (entry 1) is out of range: give 0 to 4");
    says(group(list(&[0, 1 << 32, 7]), Some(5)), "label 4294967296 (entry 1) is out of range");
    let all_ones = [u32::MAX; 3];
    says(group(ArrayRef::from_slice(&all_ones, &[3]).unwrap(), None), "label 4294967295 (entry 0) is out of range");
    let mut far = vec![3i32; 100_000];
    far[90_000] = 4;
    far[95_000] = -2;
    says(group(ArrayRef::from_slice(&far, &[far.len()]).unwrap(), Some(4)), "label 4 (entry 90000) is out of range");
    says(group(list(&[0, 1]), None), "2 labels for values of shape [3]");
    says(group(v, None), "labels must be integers");
    says(group(list(&[0, 1 << 31, 0]), None), "label 2147483648 (entry 1)");
    says(group(list(&[0, 0, 0]), Some(1 << 32)), "4294967296 groups are too many");
    says(group(list(&[0, 0, 0]), Some(1 << 32)), "number the groups without gaps");
    let too_many = |what, most| KeyError::TooMany { what, n: 1 << 33, most }.to_string();
    assert!(too_many("labels", 1 << 30).ends_with("split them over several calls, or compute on `cpu`"));
    assert!(too_many("labels", u32::MAX as usize).ends_with("; split them over several calls"));
    let nan = [f32::NAN, 1.0];
    let skip = Options { skip_nan: true, ..o.clone() };
    let nan = ArrayRef::from_slice(&nan, &[2]).unwrap();
    says(segmented(Op::ArgMin, nan, list(&[0, 1, 2]), &skip), "argmin of segment 0 finds only NaN");
    assert!(over(&x).segments(&[1, 0]).sum().is_err());
}
