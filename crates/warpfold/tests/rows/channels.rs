//! Group norm and batch norm, and their gradients.

use warpfold::core::ops::{Deviation, Sum};
use warpfold::core::{Element, Reducer, tree};
use warpfold::rows::{
    BatchNorm, Norm, NormGradients, batch_norm, batch_norm_backward, group_norm, group_norm_backward, layer_norm,
};
use warpfold::{Array, ArrayRef, DType, Error, RowError};

use crate::reference::{Random, Strided};
use crate::{FLOATS, bits, float, floats, many, rounded, rows, same, wide, with_float};

/// A number of each channel, of any float dtype.
fn of_channels(r: &mut Random, channels: usize) -> Strided {
    let dtype = FLOATS[r.below(4)];
    Strided::new(r, dtype, &[channels], |r| float(r, dtype, 1.5, 0))
}

/// Samples, groups, channels of a group, and the lengths of other axes.
fn problem(r: &mut Random) -> (Vec<usize>, usize) {
    let sizes: &[usize] = [&[0, 1, 2, 3][..], &[1, 2, 5, 8], &[1, 7, 33, 64], &[3, 40, 130]][r.below(4)];
    let groups = 1 + r.below(4);
    let mut shape = vec![[0, 1, 2, 5][r.below(4)].max(r.below(4)), groups * r.below(5)];
    (0..r.below(4)).for_each(|_| shape.push(sizes[r.below(sizes.len())]));
    while shape.iter().filter(|&&n| n > 0).product::<usize>() > 60_000 {
        shape.pop();
    }
    (shape, groups)
}

macro_rules! sum {
    ($f:ident, $terms:expr) => {
        tree::tree(&Sum::<$f>::total(), $terms).unwrap_or(0.0)
    };
}

/// The mean of a row, and its sum of squared deviations.
macro_rules! moments {
    ($f:ident, $x:expr) => {{
        let reducer = Deviation::<$f>::new(0.0, false);
        let node = tree::tree(&reducer, $x.iter().map(|&x| reducer.lift(x, 0)));
        node.map_or((0.0, 0.0), |node| (node.mean, node.m2))
    }};
}

/// Numbers rounded to the dtype of an array that was given.
fn narrow<F: warpfold::Value>(x: Vec<F>, dtype: DType) -> Vec<u64> {
    let wide = F::wrap(x).cast(DType::F64).cast(dtype);
    let nan = warpfold::Values::F64(vec![f64::NAN]).cast(dtype).get(0).bits().0;
    let of = |i| if wide.get(i).to_f64().is_nan() { nan } else { wide.get(i).bits().0 };
    (0..wide.len()).map(of).collect()
}

#[test]
fn groups() {
    many(400, |r, dtype, what| {
        let (shape, groups) = problem(r);
        check_groups(r, dtype, &shape, groups, what);
    });
}

/// Groups beyond a chunk, many samples, and slabs of a sample.
#[test]
fn large_groups() {
    let r = &mut Random(3);
    for (shape, groups) in
        [(vec![2, 4, 90_001], 2), (vec![3_001, 12, 7], 3), (vec![9, 24, 57, 50], 4), (vec![5_000, 60], 20)]
    {
        for dtype in [DType::F32, DType::BF16] {
            check_groups(r, dtype, &shape, groups, "large");
        }
    }
}

fn check_groups(r: &mut Random, dtype: DType, shape: &[usize], groups: usize, what: &str) {
    let (samples, channels) = (shape[0], shape[1]);
    let (x, g) = (floats(r, dtype, shape), floats(r, dtype, shape));
    let weight = r.chance(60).then(|| of_channels(r, channels));
    let bias = r.chance(60).then(|| of_channels(r, channels));
    let (weight_offset, epsilon) = ([0.0, 1.0][r.below(2)], [0.0, 1e-5][r.below(2)]);
    let options = Norm {
        weight: weight.as_ref().map(Strided::view),
        bias: bias.as_ref().map(Strided::view),
        weight_offset,
        epsilon,
        threads: Some(1 + r.below(3)),
        ..Norm::default()
    };
    let got = group_norm(x.view(), groups, &options).unwrap();
    let of = group_norm_backward(x.view(), g.view(), groups, &options).unwrap();
    let frozen = group_norm_backward(x.view(), g.view(), groups, &Norm { frozen: true, ..options }).unwrap();
    let of_rest = |of: &NormGradients| (bits(&of.x), of.bias.as_ref().map(bits));
    assert!(frozen.weight.is_none() && of_rest(&frozen) == of_rest(&of), "{what} {shape:?} in {groups}, frozen");
    let what = format!("{what} {shape:?} in {groups} {:?} {:?}", x.strides, g.strides);
    with_float!(dtype, F => {
        let (x, g) = (wide::<F>(&x), wide::<F>(&g));
        let w = |c: usize, w: &[F]| if weight_offset != 0.0 { w[c] + weight_offset as F } else { w[c] };
        let offset = |given: Vec<F>| (0..channels).map(|c| w(c, &given)).collect::<Vec<F>>();
        let factors = weight.as_ref().map(wide::<F>).map(offset);
        let addends = bias.as_ref().map(wide::<F>);
        let run: usize = shape[2..].iter().product();
        let (of_group, n) = (channels / groups, (channels / groups * run) as F);
        let (mut want, mut want_x) = (vec![0; x.len()], vec![0; x.len()]);
        let (mut dots, mut totals) = (vec![Vec::new(); channels], vec![Vec::new(); channels]);
        for row in 0..samples * groups {
            let first = row * of_group * run;
            let (mean, m2) = moments!(F, x[first..first + of_group * run]);
            let inverse = 1.0 / (m2 / n + epsilon as F).sqrt();
            let weighted = |c: usize, x: F| factors.as_ref().map_or(x, |w| x * w[c]);
            let (mut of_dots, mut of_totals) = (Vec::new(), Vec::new());
            let channel = |i: usize| row % groups * of_group + i;
            for i in 0..of_group {
                let at = first + i * run..first + (i + 1) * run;
                let dot = sum!(F, at.clone().map(|i| g[i] * ((x[i] - mean) * inverse)));
                let total = sum!(F, at.map(|i| g[i]));
                dots[channel(i)].push(dot);
                totals[channel(i)].push(total);
                of_dots.push(weighted(channel(i), dot));
                of_totals.push(weighted(channel(i), total));
            }
            let (slope, centre) = (sum!(F, of_dots) / n, sum!(F, of_totals) / n);
            for i in 0..of_group * run {
                let (c, at) = (channel(i / run), first + i);
                let normal = (x[at] - mean) * inverse;
                let y = weighted(c, normal);
                want[at] = rounded(addends.as_ref().map_or(y, |bias| y + bias[c]), dtype);
                want_x[at] = rounded(((weighted(c, g[at]) - centre) - normal * slope) * inverse, dtype);
            }
        }
        same(&got, &want, &what);
        same(&of.x, &want_x, &format!("{what} gradient"));
        let down = |columns: &[Vec<F>], dtype| {
            narrow(columns.iter().map(|column| sum!(F, column.iter().copied())).collect::<Vec<F>>(), dtype)
        };
        assert_eq!(of.weight.as_ref().map(bits), weight.map(|w| down(&dots, w.dtype)), "{what}");
        assert_eq!(of.bias.as_ref().map(bits), bias.map(|b| down(&totals, b.dtype)), "{what}");
    });
    assert_eq!((&got.shape[..], got.dtype(), &of.x.shape[..]), (shape, dtype, shape));
}

#[test]
fn batches() {
    many(400, |r, dtype, what| {
        let (shape, _) = problem(r);
        let axis = r.below(shape.len());
        check_batches(r, dtype, &shape, axis, what);
    });
}

#[test]
fn large_batches() {
    let r = &mut Random(4);
    for (shape, axis) in [(vec![300_001, 3], 1), (vec![3, 280_000], 0), (vec![40, 24, 57], 1), (vec![70, 3_000], 1)] {
        for dtype in [DType::F32, DType::BF16] {
            (0..2).for_each(|_| check_batches(r, dtype, &shape, axis, "large"));
        }
    }
}

fn check_batches(r: &mut Random, dtype: DType, shape: &[usize], axis: usize, what: &str) {
    let channels = shape[axis];
    let (x, g) = (floats(r, dtype, shape), floats(r, dtype, shape));
    let weight = r.chance(60).then(|| of_channels(r, channels));
    let bias = r.chance(60).then(|| of_channels(r, channels));
    let given = r.chance(40).then(|| {
        let of_var = FLOATS[r.below(4)];
        let var = Strided::new(r, of_var, &[channels], |r| {
            warpfold::Values::F64(vec![r.below(9) as f64]).cast(of_var).get(0)
        });
        (of_channels(r, channels), var)
    });
    let epsilon = [0.0, 1e-5][r.below(2)];
    let options = BatchNorm {
        weight: weight.as_ref().map(Strided::view),
        bias: bias.as_ref().map(Strided::view),
        statistics: given.as_ref().map(|(mean, var)| (mean.view(), var.view())),
        epsilon,
        threads: Some(1 + r.below(3)),
    };
    let axis_given = if r.chance(50) { axis as isize } else { axis as isize - shape.len() as isize };
    let got = batch_norm(x.view(), axis_given, &options).unwrap();
    let of = batch_norm_backward(x.view(), g.view(), axis_given, &options).unwrap();
    let what = format!("{what} {shape:?} {axis} given {} {:?} {:?}", given.is_some(), x.strides, g.strides);
    let others: Vec<isize> = (0..shape.len()).filter(|&a| a != axis).map(|a| a as isize).collect();
    with_float!(dtype, F => {
        let (x, g) = (wide::<F>(&x), wide::<F>(&g));
        let (factors, addends) = (weight.as_ref().map(wide::<F>), bias.as_ref().map(wide::<F>));
        let statistics = given.as_ref().map(|(mean, var)| (wide::<F>(mean), wide::<F>(var)));
        let (mut want, mut want_x) = (vec![0; x.len()], vec![0; x.len()]);
        let (mut means, mut variances, mut dots, mut totals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (c, indices) in rows(shape, &others).iter().enumerate() {
            let items: Vec<F> = indices.iter().map(|&i| x[i]).collect();
            let n = items.len() as F;
            let (mean, variance) = match &statistics {
                Some((mean, variance)) => (mean[c], variance[c]),
                None if items.is_empty() => (F::NAN, F::NAN),
                None => {
                    let (mean, m2) = moments!(F, items);
                    (mean, m2 / n)
                }
            };
            means.push(mean);
            variances.push(variance);
            let inverse = 1.0 / (variance + epsilon as F).sqrt();
            let factor = factors.as_ref().map_or(inverse, |w| inverse * w[c]);
            let normal: Vec<F> = items.iter().map(|x| (x - mean) * inverse).collect();
            let dot = sum!(F, indices.iter().zip(&normal).map(|(&i, normal)| g[i] * normal));
            let total = sum!(F, indices.iter().map(|&i| g[i]));
            dots.push(dot);
            totals.push(total);
            for (&i, normal) in indices.iter().zip(&normal) {
                let y = factors.as_ref().map_or(*normal, |w| normal * w[c]);
                want[i] = rounded(addends.as_ref().map_or(y, |b| y + b[c]), dtype);
                let centred = if statistics.is_some() { g[i] } else { (g[i] - total / n) - normal * (dot / n) };
                want_x[i] = rounded(centred * factor, dtype);
            }
        }
        same(&got.y, &want, &what);
        same(&of.x, &want_x, &format!("{what} gradient"));
        let own = <F as Element>::DTYPE;
        assert_eq!(bits(&got.mean), narrow(means, own), "{what}");
        assert_eq!(bits(&got.variance), narrow(variances, own), "{what}");
        assert_eq!((got.mean.dtype(), &got.mean.shape[..]), (own, &[channels][..]));
        assert_eq!(of.weight.as_ref().map(bits), weight.map(|w| narrow(dots, w.dtype)), "{what}");
        assert_eq!(of.bias.as_ref().map(bits), bias.map(|b| narrow(totals, b.dtype)), "{what}");
    });
}

/// One group of channels of one element is layer norm; so is batch norm of the transposed array.
#[test]
fn norms_that_are_the_same() {
    let r = &mut Random(8);
    let x = floats(r, DType::F32, &[37, 50]);
    let layer = layer_norm(x.view(), &[1], &Norm::default()).unwrap();
    let same = |found: Array| assert_eq!(bits(&found), bits(&layer));
    same(group_norm(x.view(), 1, &Norm::default()).unwrap());
    same(batch_norm(x.view(), 0, &BatchNorm::default()).unwrap().y);
}

#[test]
fn errors() {
    let (x, four) = ([1.0f32; 12], [1.0f32; 4]);
    let x = ArrayRef::from_slice(&x, &[2, 6]).unwrap();
    let four = ArrayRef::flat(&four);
    let row = |error: Error| match error {
        Error::Row(error) => error,
        other => panic!("{other:?}"),
    };
    for groups in [0, 4, usize::MAX] {
        let error = row(group_norm(x, groups, &Norm::default()).unwrap_err());
        assert!(matches!(error, RowError::Groups { channels: 6, .. }));
    }
    let said = row(group_norm(x, 4, &Norm::default()).unwrap_err()).to_string();
    assert_eq!(said, "group_norm of 6 channels in 4 groups: give a number of groups that divides the channels");
    let options = Norm { weight: Some(four), ..Norm::default() };
    assert!(matches!(row(group_norm(x, 2, &options).unwrap_err()), RowError::Shape { what: "the weights", .. }));
    let error = row(group_norm_backward(x, four, 2, &Norm::default()).unwrap_err());
    assert!(matches!(error, RowError::Shape { what: "the gradients", .. }));
    assert!(matches!(group_norm(four, 2, &Norm::default()), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(batch_norm(x, 2, &BatchNorm::default()), Err(Error::AxisOutOfRange { .. })));
    let options = BatchNorm { statistics: Some((four, four)), ..BatchNorm::default() };
    assert!(matches!(row(batch_norm(x, 1, &options).unwrap_err()), RowError::Shape { what: "the means", .. }));
    let whole = [1i32; 12];
    let whole = ArrayRef::from_slice(&whole, &[2, 6]).unwrap();
    assert!(matches!(row(batch_norm(whole, 1, &BatchNorm::default()).unwrap_err()), RowError::NotFloats { .. }));
}
