//! Random norms of channels on a GPU, or in the emulator, beside the CPU's. The functions are of [`crate::rows::Test`].

use crate::reference::{Random, Strided, element};
use crate::rows::{FLOATS, Size, There, differs, floats, gradients_differ};
use warpfold::cuda::{self, ArrayView, Stream, rows};
use warpfold::{ArrayRef, DType, Scalar, bf16, f16, rows as cpu};

/// A shape, with samples first and channels second; the channels of a group.
fn problem(r: &mut Random, elements: usize) -> (Vec<usize>, usize) {
    let runs: [&[usize]; 9] = [&[], &[1], &[7], &[7, 7], &[3, 5], &[8], &[64], &[14, 14], &[300]];
    let run = runs[r.below(9)];
    let each = [1, 1, 2, 3, 8, 20][r.below(6)];
    let room = (elements / run.iter().product::<usize>() / each).max(1);
    let groups = 1 + r.below(room.min(9));
    // Few samples, or as many as there is room for; sometimes none.
    let most = (room / groups).max(1);
    let most = if r.chance(50) { most } else { most.min(4) };
    let samples = if r.chance(2) { 0 } else { 1 + r.below(most) };
    ([&[samples, groups * each], run].concat(), each)
}

/// A NaN that no arithmetic leaves.
fn nan(dtype: DType) -> Scalar {
    match dtype {
        DType::F16 => Scalar::F16(f16::from_bits(0xfe01)),
        DType::BF16 => Scalar::BF16(bf16::from_bits(0xffc1)),
        DType::F32 => Scalar::F32(f32::from_bits(0xffc0_0001)),
        _ => Scalar::F64(f64::from_bits(0xfff8_0000_0000_0001)),
    }
}

/// Numbers of channels of any dtype, sometimes.
fn factor(r: &mut Random, often: usize, channels: usize) -> Option<Strided> {
    let of = FLOATS[r.below(4)];
    let number = |r: &mut Random| if r.chance(3) { nan(of) } else { element(r, of, 0) };
    r.chance(often).then(|| Strided::new(r, of, &[channels], number))
}

/// Arrays of the device like those of the host, if there are any.
fn there<'a, const N: usize>(stream: &Stream, arrays: [&'a Option<Strided>; N]) -> [Option<There<'a>>; N] {
    arrays.map(|array| array.as_ref().map(|array| There::new(stream, array)))
}

/// The number of [`floats`] whose gradient has another dtype.
fn of_gradient(r: &mut Random, dtype: DType) -> DType {
    if r.chance(90) { dtype } else { FLOATS[r.below(4)] }
}

/// Group norm, and its gradients.
pub fn group(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let (shape, each) = problem(r, size.elements);
    let groups = shape[1] / each;
    let (x, other) = (floats(r, dtype, &shape), of_gradient(r, dtype));
    let g = floats(r, other, &shape);
    let (weight, bias) = (factor(r, 60, shape[1]), factor(r, 60, shape[1]));
    let (weight_offset, epsilon) = ([0.0, 0.0, 1.0][r.below(3)], [1e-5, 0.0, 1e-3][r.below(3)]);
    let [of_x, of_g] = [&x, &g].map(|array| There::new(stream, array));
    let [of_weight, of_bias] = there(stream, [&weight, &bias]);
    let host = {
        let [weight, bias] = [&weight, &bias].map(|array| array.as_ref().map(Strided::view));
        cpu::Norm { weight, weight_offset, bias, epsilon, frozen: false, threads: None }
    };
    let options = {
        let [weight, bias] = [&of_weight, &of_bias].map(|array| array.as_ref().map(There::view));
        rows::Norm { weight, weight_offset, bias, epsilon, noted: None }
    };
    let want = cpu::group_norm(x.view(), groups, &host).expect("a result");
    let wrong = differs(rows::group_norm(of_x.view(), groups, &options, stream), &want, stream);
    let wrong = wrong.or_else(|| {
        let want = cpu::group_norm_backward(x.view(), g.view(), groups, &host).expect("a result");
        let got = rows::group_norm_backward(of_x.view(), of_g.view(), groups, &options, stream);
        gradients_differ(got, want, stream)
    });
    let wrong = wrong.or_else(|| {
        // By what the norm has noted.
        let noted = rows::group_norm_noted(of_x.view(), groups, &options, stream).expect("a norm");
        let [y, noted] = noted;
        let first = differs(Ok(y), &cpu::group_norm(x.view(), groups, &host).expect("a result"), stream);
        let options = rows::Norm { noted: Some(noted.view()), ..options };
        let want = cpu::group_norm_backward(x.view(), g.view(), groups, &host).expect("a result");
        let got = rows::group_norm_backward(of_x.view(), of_g.view(), groups, &options, stream);
        first.or_else(|| gradients_differ(got, want, stream)).map(|why| format!("noted: {why}"))
    });
    let of = |array: &Option<Strided>| array.as_ref().map(|array| array.dtype);
    wrong.map(|why| {
        let more = format!("{:?} {:?} offset {weight_offset} epsilon {epsilon}", of(&weight), of(&bias));
        format!("group_norm {shape:?} {groups} {:?} {other} {:?} {more}: {why}", x.strides, g.strides)
    })
}

/// Batch norm along any axis, and its gradients.
pub fn batch(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let (shape, _) = problem(r, size.elements);
    let axis = if r.chance(70) { 1 } else { r.below(shape.len()) };
    let (x, other) = (floats(r, dtype, &shape), of_gradient(r, dtype));
    let g = floats(r, other, &shape);
    let channels = shape[axis];
    let (weight, bias) = (factor(r, 60, channels), factor(r, 60, channels));
    let given = r.chance(30);
    let mean = factor(r, 100 * given as usize, channels);
    let variance = given.then(|| {
        let of = FLOATS[r.below(4)];
        Strided::new(r, of, &[channels], |r| {
            let x = element(r, of, 0).to_f64().abs();
            if r.chance(3) { nan(of) } else { warpfold::Values::F64(vec![x]).cast(of).get(0) }
        })
    });
    let epsilon = [1e-5, 0.0, 1e-3][r.below(3)];
    let [of_x, of_g] = [&x, &g].map(|array| There::new(stream, array));
    let [of_weight, of_bias, of_mean, of_variance] = there(stream, [&weight, &bias, &mean, &variance]);
    let host = {
        fn of(array: &Option<Strided>) -> Option<ArrayRef<'_>> {
            array.as_ref().map(Strided::view)
        }
        let statistics = of(&mean).zip(of(&variance));
        cpu::BatchNorm { weight: of(&weight), bias: of(&bias), statistics, epsilon, threads: None }
    };
    let options = {
        fn of<'a>(array: &'a Option<There<'_>>) -> Option<ArrayView<'a>> {
            array.as_ref().map(There::view)
        }
        let statistics = of(&of_mean).zip(of(&of_variance));
        rows::BatchNorm { weight: of(&of_weight), bias: of(&of_bias), statistics, epsilon, noted: None }
    };
    let want = cpu::batch_norm(x.view(), axis as isize, &host).expect("a result");
    let wrong = match rows::batch_norm(of_x.view(), axis as isize, &options, stream) {
        Err(why) => Some(why.to_string()),
        Ok(got) => {
            let all =
                [("y", got.y, &want.y), ("mean", got.mean, &want.mean), ("variance", got.variance, &want.variance)];
            let of = |(what, got, want): (&str, cuda::Array, _)| {
                differs(Ok(got), want, stream).map(|why| format!("{what}: {why}"))
            };
            all.into_iter().find_map(of)
        }
    };
    let wrong = wrong.or_else(|| {
        let want = cpu::batch_norm_backward(x.view(), g.view(), axis as isize, &host).expect("a result");
        let got = rows::batch_norm_backward(of_x.view(), of_g.view(), axis as isize, &options, stream);
        gradients_differ(got, want, stream).or_else(|| {
            // By the statistics that the norm has found.
            let found = rows::batch_norm(of_x.view(), axis as isize, &options, stream).expect("a norm");
            let options = rows::BatchNorm { noted: Some((found.mean.view(), found.variance.view())), ..options };
            let want = cpu::batch_norm_backward(x.view(), g.view(), axis as isize, &host).expect("a result");
            let got = rows::batch_norm_backward(of_x.view(), of_g.view(), axis as isize, &options, stream);
            gradients_differ(got, want, stream).map(|why| format!("noted: {why}"))
        })
    });
    let of = |array: &Option<Strided>| array.as_ref().map(|array| array.dtype);
    wrong.map(|why| {
        let more = format!("{:?} {:?} given {given} epsilon {epsilon}", of(&weight), of(&bias));
        format!("batch_norm {shape:?} axis {axis} {:?} {other} {:?} {more}: {why}", x.strides, g.strides)
    })
}
