//! Statistics of groups and of segments.

use warpfold::cuda::{describe_groups_host, describe_segments_host};
use warpfold::{ArrayRef, DType, Order};

use super::bytes;
use crate::gpu;
use crate::reference::Random;
use crate::soak::differs;

#[test]
fn statistics_of_groups_and_segments_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let r = &mut Random(i as u64 * 1_000_099 + 31);
        let (n, columns, k) = (20_000, [1, 3][i % 2], 9);
        let shape = if columns == 1 { vec![n] } else { vec![n, columns] };
        let x = bytes(r, dtype, n * columns, 0);
        let x = ArrayRef::from_bytes(&x, dtype, &shape, Order::C, false).expect("an array");
        let by: Vec<i64> = (0..n).map(|_| r.below(k) as i64).collect();
        let by = ArrayRef::from_slice(&by, &[n]).expect("labels");
        let plain = warpfold::Options::default();
        // One more than there are: the last has nothing.
        for groups in [k, k + 1] {
            let want = warpfold::Groups::new(by, Some(groups)).expect("groups").describe(x, &plain);
            let got = describe_groups_host(by, x, Some(groups), &gpu);
            same_statistics(got, want, dtype);
        }
        for offsets in [[0i64, 7, 900, n as i64], [0, 900, 900, 1000]] {
            let cuts = ArrayRef::from_slice(&offsets, &[4]).expect("offsets");
            let segments = warpfold::Segments::new(cuts).expect("segments");
            same_statistics(describe_segments_host(x, &segments, &gpu), segments.describe(x, &plain), dtype);
        }
    }
}

fn same_statistics(
    got: Result<warpfold::keys::Descriptions, warpfold::Error>,
    want: Result<warpfold::keys::Descriptions, warpfold::Error>,
    dtype: DType,
) {
    match (got, want) {
        (Ok(got), Ok(want)) => {
            assert_eq!((&got.shape, &got.counts), (&want.shape, &want.counts), "{dtype}");
            for ((name, got), (_, want)) in got.stats.into_iter().zip(want.stats) {
                let shape = vec![want.len()];
                let [got, want] = [got, want].map(|values| warpfold::Array { shape: shape.clone(), values });
                assert_eq!(differs(&got, &want), None, "{dtype} {name}");
            }
        }
        (Err(got), Err(want)) => assert_eq!(got.to_string(), want.to_string(), "{dtype}"),
        (got, want) => panic!("{dtype}: {got:?}, not {want:?}"),
    }
}
