//! Sums into places that indices name.

use warpfold::core::ops::Sum;
use warpfold::core::tree;
use warpfold::rows::{Embedding, embedding_backward, index_add, scatter_add};
use warpfold::{ArrayRef, DType, Error, RowError};

use crate::reference::{Random, Strided};
use crate::{FLOATS, floats, many, problem, rounded, same, wide, with_float};

const INTEGERS: [DType; 4] = [DType::I64, DType::I16, DType::I32, DType::U16];

fn indices(r: &mut Random, shape: &[usize], below: usize) -> Strided {
    let integer = INTEGERS[if below < 30_000 { r.below(4) } else { 0 }];
    Strided::new(r, integer, shape, |r| warpfold::Values::I64(vec![r.below(below) as i64]).cast(integer).get(0))
}

/// What is where, with the sums of what goes there added.
macro_rules! added {
    ($f:ident, $x:expr, $terms:expr, $alpha:expr, $dtype:expr) => {{
        let each = $x.into_iter().zip($terms).map(|(x, terms): ($f, Vec<$f>)| {
            let sum = tree::tree(&Sum::<$f>::total(), terms);
            rounded(sum.map_or(x, |sum| x + sum * $alpha as $f), $dtype)
        });
        each.collect::<Vec<u64>>()
    }};
}

/// The index along each axis of an element.
fn unravelled(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &n) in index.iter_mut().zip(shape).rev() {
        (*at, i) = (i % n, i / n);
    }
    index
}

fn ravelled(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |flat, (i, n)| flat * n + i)
}

#[test]
fn indices_along_an_axis() {
    many(300, |r, dtype, what| {
        let (shape, _) = problem(r);
        let axis = r.below(shape.len());
        let mut of_source = shape.clone();
        of_source[axis] = if shape[axis] == 0 { 0 } else { [0, 1, 5, 40, 700][r.below(5)] };
        while of_source.iter().product::<usize>() > 60_000 {
            of_source[axis] /= 2;
        }
        let of_dtype = FLOATS[r.below(4)];
        let (x, source) = (floats(r, dtype, &shape), floats(r, of_dtype, &of_source));
        let index = indices(r, &[of_source[axis]], shape[axis].max(1));
        let (alpha, threads) = ([1.0, 1.0, -0.5][r.below(3)], Some(1 + r.below(3)));
        let got = index_add(x.view(), axis as isize, index.view(), source.view(), alpha, threads).unwrap();
        with_float!(dtype, F => {
            let (index, source) = (wide::<i64>(&index), wide::<F>(&source));
            let mut terms = vec![Vec::new(); x.view().len()];
            for (i, &term) in source.iter().enumerate() {
                let mut to = unravelled(i, &of_source);
                to[axis] = index[to[axis]] as usize;
                terms[ravelled(&to, &shape)].push(term);
            }
            let want = added!(F, wide::<F>(&x), terms, alpha, dtype);
            same(&got, &want, &format!("{what} {shape:?} {axis} {of_source:?} {of_dtype} {alpha}"));
        });
        assert_eq!((&got.shape, got.dtype()), (&shape, dtype));
    });
}

#[test]
fn indices_of_elements() {
    many(300, |r, dtype, what| {
        let (shape, _) = problem(r);
        let axis = r.below(shape.len());
        let mut of_source: Vec<usize> = shape.iter().map(|&n| r.below(n + 1)).collect();
        of_source[axis] = if shape[axis] == 0 { 0 } else { [0, 1, 5, 40][r.below(4)] };
        while of_source.iter().product::<usize>() > 60_000 {
            of_source[axis] /= 2;
        }
        let (x, source) = (floats(r, dtype, &shape), floats(r, dtype, &of_source));
        let index = indices(r, &of_source, shape[axis].max(1));
        let got =
            scatter_add(x.view(), axis as isize - shape.len() as isize, index.view(), source.view(), None).unwrap();
        with_float!(dtype, F => {
            let (index, source) = (wide::<i64>(&index), wide::<F>(&source));
            let mut terms = vec![Vec::new(); x.view().len()];
            for (i, &term) in source.iter().enumerate() {
                let mut to = unravelled(i, &of_source);
                to[axis] = index[i] as usize;
                terms[ravelled(&to, &shape)].push(term);
            }
            same(&got, &added!(F, wide::<F>(&x), terms, 1, dtype), &format!("{what} {shape:?} {axis} {of_source:?}"));
        });
    });
}

#[test]
fn tables() {
    many(200, |r, dtype, what| {
        let (batch, _) = problem(r);
        let (count, width) = (1 + r.below(40), [0, 1, 3, 17][r.below(4)]);
        let mut shape = batch.clone();
        shape.push(width);
        let (gradient, taken) = (floats(r, dtype, &shape), indices(r, &batch, count));
        let options = Embedding {
            padding: r.chance(50).then(|| r.below(count)),
            by_frequency: r.chance(50),
            threads: Some(1 + r.below(3)),
        };
        let got = embedding_backward(gradient.view(), taken.view(), count, &options).unwrap();
        assert_eq!((&got.shape[..], got.dtype()), (&[count, width][..], dtype));
        with_float!(dtype, F => {
            let (gradient, taken) = (wide::<F>(&gradient), wide::<i64>(&taken));
            let mut terms = vec![Vec::new(); count * width];
            for (i, &row) in taken.iter().enumerate().filter(|(_, row)| options.padding != Some(**row as usize)) {
                (0..width).for_each(|j| terms[row as usize * width + j].push(gradient[i * width + j]));
            }
            let of = |terms: Vec<F>| {
                let n = terms.len().max(1) as F;
                let sum = tree::tree(&Sum::<F>::total(), terms).unwrap_or(0.0);
                rounded(if options.by_frequency { sum / n } else { sum }, dtype)
            };
            same(&got, &terms.into_iter().map(of).collect::<Vec<u64>>(), &format!("{what} {shape:?} {options:?}"));
        });
    });
}

#[test]
fn errors() {
    let x = [-0.0f32; 6];
    let x = ArrayRef::from_slice(&x, &[2, 3]).unwrap();
    let row = |error: Error| match error {
        Error::Row(error) => error,
        other => panic!("{other:?}"),
    };
    let add = |index: ArrayRef<'_>| index_add(x, 1, index, x, 1.0, None);
    assert_eq!(
        row(add(ArrayRef::flat(&[0i64, 1, 3])).unwrap_err()),
        RowError::Index { op: "index_add", at: 2, index: 3, len: 3 }
    );
    let said = row(add(ArrayRef::flat(&[0i8, -1, 3])).unwrap_err()).to_string();
    assert_eq!(said, "index_add: index -1, number 1 in row-major order, is not below 3, the number of places");
    assert!(matches!(row(add(ArrayRef::flat(&[0u64, u64::MAX, 0])).unwrap_err()), RowError::Index { at: 1, .. }));
    assert!(matches!(row(add(ArrayRef::flat(&[0.0f32; 3])).unwrap_err()), RowError::NotIndices { .. }));
    assert!(matches!(row(add(ArrayRef::flat(&[0i64; 2])).unwrap_err()), RowError::Shape { .. }));
    assert!(matches!(index_add(x, 2, x, x, 1.0, None), Err(Error::AxisOutOfRange { .. })));
    let wide = [0i64; 8];
    let (wide, source) = (ArrayRef::from_slice(&wide, &[2, 4]).unwrap(), [0.0f32; 8]);
    let source = ArrayRef::from_slice(&source, &[2, 4]).unwrap();
    assert!(matches!(row(scatter_add(x, 0, wide, source, None).unwrap_err()), RowError::Shape { .. }));
    assert!(scatter_add(x, 1, wide, source, None).is_ok());
    let error = row(embedding_backward(x, ArrayRef::flat(&[0i64, 5]), 5, &Embedding::default()).unwrap_err());
    assert!(matches!(error, RowError::Index { at: 1, len: 5, .. }));
    // Nothing is added to the second column, whose zeros stay negative.
    let sums = add(ArrayRef::flat(&[0i64, 0, 2])).unwrap().into_vec::<f32>().unwrap();
    assert_eq!(sums[1].to_bits(), (-0.0f32).to_bits());
}
