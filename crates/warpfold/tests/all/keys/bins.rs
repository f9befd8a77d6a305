//! Histograms and counts of labels.

use super::{To, list};
use crate::reference::{Random, Strided, element};
use warpfold::{ArrayRef, Bins, DType, Groups, Op, Options, Scalar, bincount, histogram};

#[test]
fn bins_have_what_is_between_their_edges() {
    let r = &mut Random(31);
    let weights: Vec<f32> = (0..4000).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect();
    for dtype in DType::ALL {
        let x = Strided::new(r, dtype, &[4000], |r| Scalar::F64(r.below(2000) as f64 / 16.0 - 60.0).to(dtype));
        let given = vec![-40.0, -3.5, -3.5, 0.0, 0.125, 61.0];
        for bins in [
            Bins::Uniform { bins: 10, range: None },
            Bins::Uniform { bins: 97, range: Some((-7.3, 22.9)) },
            Bins::Edges(given),
        ] {
            let found = histogram(x.view(), &bins, None).unwrap();
            let edges: Vec<f64> = (0..found.edges.values.len()).map(|i| found.edges.values.get(i).to_f64()).collect();
            let last = edges.len() - 2;
            let within =
                |bin: usize, x: f64| edges[bin] <= x && (x < edges[bin + 1] || (bin == last && x == edges[bin + 1]));
            let labels: Vec<i64> = x
                .elements()
                .iter()
                .map(|x| (0..=last).position(|bin| within(bin, x.to_f64())).map_or(-1, |bin| bin as i64))
                .collect();
            let counts: Vec<i64> =
                (0..=last).map(|bin| labels.iter().filter(|&&x| x == bin as i64).count() as i64).collect();
            assert_eq!(found.counts.into_vec::<i64>().unwrap(), counts, "{dtype} {bins:?}");
            let weights = ArrayRef::from_slice(&weights, &[4000]).unwrap();
            let weighted = histogram(x.view(), &bins, Some(weights)).unwrap().counts;
            let groups = Groups::new(list(&labels), Some(last + 1)).unwrap();
            assert_eq!(weighted, groups.reduce(Op::Sum, weights, &Options::default()).unwrap());
            assert_eq!(bincount(list(&labels), None, last + 1).unwrap().into_vec::<i64>().unwrap(), counts);
            assert_eq!(bincount(list(&labels), Some(weights), last + 1).unwrap(), weighted);
        }
    }
    let x = [1.0f32, f32::NAN];
    let x = ArrayRef::from_slice(&x, &[2]).unwrap();
    for (bins, words) in [
        (Bins::Uniform { bins: 0, range: None }, "not 0"),
        (Bins::Uniform { bins: 5, range: None }, "is not finite"),
        (Bins::Uniform { bins: 5, range: Some((2.0, 1.0)) }, "is empty"),
        (Bins::Uniform { bins: 1 << 20, range: Some((1.0, 1.01)) }, "too narrow"),
        (Bins::Edges(vec![1.0]), "two edges"),
        (Bins::Edges(vec![1.0, f64::NAN]), "must not decrease"),
        (Bins::Edges(vec![1.0, 2.0, 1.5]), "after 2 (entry 1) comes 1.5"),
    ] {
        let text = histogram(x, &bins, None).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}
