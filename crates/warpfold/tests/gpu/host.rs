//! Arrays in the host's memory: in pieces, and on a device given by name.

use crate::cases::{self, Class};
use crate::reference::{Random, Strided, element};
use crate::soak::{OnDevice, differs};
use crate::{axes, gpu, host_axes, numbers};
use warpfold::cuda::{self, Error, Stream};
use warpfold::{ArrayRef, DType, DeviceName, Op, Scalar, describe, reduce, reduce_on};

#[test]
fn arrays_in_pieces_have_the_bits_of_the_whole() {
    let Some(gpu) = gpu() else { return };
    let (mut wrong, mut checked, mut cannot) = (Vec::new(), 0, 0);
    let shapes: [(&[usize], &[isize]); 7] = [
        (&[700, 1000], &[1]),
        (&[700, 1000], &[0]),
        (&[1000, 7], &[0]),
        (&[3, 200_001], &[1]),
        (&[500_003], &[0]),
        (&[40, 50, 60], &[0, 2]),
        (&[40, 50, 60], &[1]),
    ];
    let ops = [Op::Sum, Op::Mean, Op::Var, Op::Max, Op::ArgMax, Op::MinMax, Op::LogSumExp, Op::CountNonzero];
    for (i, (shape, reduced)) in shapes.into_iter().enumerate() {
        for (j, op) in ops.into_iter().enumerate() {
            for dtype in [DType::F32, DType::BF16, DType::I32, DType::F64] {
                let r = &mut Random((31 * i + j + 1) as u64);
                let fill = |r: &mut Random| element(r, dtype, 1);
                let x = match j % 2 {
                    0 => Strided::new(r, dtype, shape, fill),
                    _ => Strided::place(r, dtype, shape, dense(shape, dtype), 0, fill),
                };
                let mask = (j % 3 == 1).then(|| Strided::new(r, DType::Bool, shape, |r| Scalar::Bool(r.chance(60))));
                let o = warpfold::Options { mask: mask.as_ref().map(Strided::view), ..host_axes(reduced) };
                let want = reduce(op, x.view(), &o);
                let got = cuda::stream_host(op, x.view(), &o, &gpu, 64 << 10);
                checked += 1;
                let why = match (&got, &want) {
                    (Err(warpfold::Error::Cuda(Error::TooLarge { .. })), _) => {
                        cannot += 1;
                        continue;
                    }
                    (Ok(got), Ok(want)) => differs(got, want),
                    _ if got == want => None,
                    _ => Some(format!("{:?}, not {:?}", got.err(), want.err())),
                };
                wrong.extend(why.map(|why| format!("{op} {dtype} {shape:?} {reduced:?}: {why}")));
            }
        }
    }
    println!("{checked} checked, {cannot} could not be cut");
    // One row of elements without a mask always can.
    let row = |op: Op| {
        let x = numbers(3_000_017, 5);
        let x = ArrayRef::from_slice(&x, &[3_000_017]).expect("a shape");
        let o = warpfold::Options::default();
        (cuda::stream_host(op, x, &o, &gpu, 1 << 20), reduce(op, x, &o))
    };
    for op in [Op::ArgMin, Op::ArgMax, Op::MinMax] {
        let (got, want) = row(op);
        assert_eq!(got, want, "{op} in chunks");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

fn dense(shape: &[usize], dtype: DType) -> Vec<isize> {
    let step = |axis: usize| shape[axis + 1..].iter().product::<usize>() * dtype.size();
    (0..shape.len()).map(|axis| step(axis) as isize).collect()
}

#[test]
fn host_arrays_reduce_on_a_named_device() {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    for seed in 0..100 {
        let case = cases::Case::new(Class::Wild, seed);
        let want = reduce(case.op, case.x.view(), &case.options());
        let got = reduce_on(DeviceName::Cuda(0), case.op, case.x.view(), &case.options());
        match (&got, &want) {
            (Ok(got), Ok(want)) => wrong.extend(differs(got, want).map(|why| format!("{case}: {why}"))),
            _ if got == want => {}
            _ => wrong.push(format!("{case}: {:?}, not {:?}", got.err(), want.err())),
        }
    }
    let stream = Stream::new(&gpu).expect("a stream");
    for dtype in DType::ALL {
        for reduced in [vec![0], vec![1], vec![0, 1]] {
            let x = Strided::new(&mut Random(5), dtype, &[40, 70], |r| element(r, dtype, 1));
            let o = host_axes(&reduced);
            let want = describe(x.view(), &o).expect("a description");
            let on_device = OnDevice::new(&stream, &x);
            // Cases for the CPU have elements at any address.
            let Ok(view) = on_device.view() else { continue };
            let got = cuda::describe(view, &axes(&reduced), &stream);
            match got {
                Ok(got) if format!("{got:?}") == format!("{want:?}") => {}
                other => wrong.push(format!("describe {dtype} {reduced:?}: {other:?}, not {want:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
