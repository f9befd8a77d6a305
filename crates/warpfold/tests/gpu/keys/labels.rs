//! Bad labels: the error says which label, and where.

use warpfold::cuda::{Array, Error, Groups, Options, Stream, Wanted, group_by, unique};
use warpfold::{ArrayRef, DType, KeyError, Op, Order, Values};

use super::array;
use crate::gpu;

#[test]
fn labels_of_no_group_are_said_with_their_place() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let n = 100_000;
    let x = Values::F32((0..n).map(|i| i as f32).collect());
    let x = ArrayRef::from_bytes(x.as_bytes(), DType::F32, &[n], Order::C, false).expect("an array");
    let values = Array::upload(&stream, x).expect("upload");
    for (bad, dtype) in [(7i64, DType::I32), (-2, DType::I64), (1 << 40, DType::I64), (100, DType::U8)] {
        let mut list = vec![0i64; n];
        (list[90_000], list[70_001], list[99_999]) = (bad, bad, 8);
        let list: Vec<u8> = list.iter().flat_map(|label| label.to_le_bytes()[..dtype.size()].to_vec()).collect();
        let by = Array::upload(&stream, array(&list, dtype, n)).expect("upload");
        let expected = KeyError::LabelOutOfRange { at: 70_001, label: bad as i128, groups: 7 };
        let kept = Groups::new(by.view(), Some(7), &stream).expect("queued");
        let sum = group_by(Op::Sum, by.view(), values.view(), Some(7), &Options::default(), &stream).expect("queued");
        for said in [
            sum.download(&stream).map(|_| ()),
            kept.check(&stream),
            kept.counts(&stream).and_then(|counts| counts.download(&stream)).map(|_| ()),
        ] {
            assert!(matches!(&said, Err(warpfold::Error::Key(key)) if *key == expected), "{said:?}");
        }
        if bad < 0 {
            let said = group_by(Op::Sum, by.view(), values.view(), None, &Options::default(), &stream).map(|_| ());
            assert!(
                matches!(said, Err(warpfold::Error::Key(KeyError::LabelOutOfRange { at: 70_001, .. }))),
                "{said:?}"
            );
        }
    }
    let floats = group_by(Op::Sum, values.view(), values.view(), Some(7), &Options::default(), &stream).map(|_| ());
    assert!(matches!(floats, Err(warpfold::Error::Key(KeyError::NotIntegers { .. }))), "{floats:?}");
    let step = values.view().step(0, 2).expect("a view");
    let strided = unique(step, Wanted::default(), &stream).map(|_| ());
    assert!(matches!(strided, Err(warpfold::Error::Cuda(Error::Keys { .. }))), "{strided:?}");
}
