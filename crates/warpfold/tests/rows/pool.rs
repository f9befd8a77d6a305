//! Pooling and its gradients.

use warpfold::core::ops::Sum;
use warpfold::core::pool::Window;
use warpfold::core::tree;
use warpfold::pool::{Pool, avg_pool, avg_pool_backward, max_pool, max_pool_backward};
use warpfold::{ArrayRef, DType, Element, Error, PoolError, RowError, Scalar, Value};

use crate::reference::{Random, Strided};
use crate::{bits, floats, many, rounded, same, wide, with_float};

/// Windows over the last axes of a shape.
#[derive(Debug)]
struct Case {
    /// The axes before those of the windows.
    outer: Vec<usize>,
    size: Vec<usize>,
    outputs: Vec<usize>,
    kernel_size: Vec<usize>,
    stride: Vec<usize>,
    padding: Vec<usize>,
    dilation: Vec<usize>,
    ceil_mode: bool,
    threads: Option<usize>,
}

impl Case {
    fn random(r: &mut Random, dilated: bool) -> Self {
        loop {
            let axes = 1 + r.below(3);
            let most = [200, 40, 12][axes - 1];
            let mut all = |from: usize, to: usize| (0..axes).map(|_| from + r.below(to - from)).collect::<Vec<_>>();
            let (kernel_size, stride, dilation) = (all(1, 6), all(1, 5), all(1, if dilated { 4 } else { 2 }));
            let size = all(1, most);
            let padding = kernel_size.iter().map(|&size| r.below(size / 2 + 1)).collect();
            let mut outer: Vec<usize> =
                (0..r.below(3)).map(|_| [1, 2, 3, 40, 0][r.below(4) + r.chance(5) as usize]).collect();
            while outer.iter().chain(&size).filter(|&&n| n > 0).product::<usize>() > 20_000 {
                outer.pop();
            }
            let (ceil_mode, threads) = (r.chance(40), Some(1 + r.below(3)));
            let outputs = Vec::new();
            let mut case = Self { outer, size, outputs, kernel_size, stride, padding, dilation, ceil_mode, threads };
            case.outputs = (0..axes).map(|axis| case.window(axis).outputs(case.size[axis]).unwrap()).collect();
            if !case.outputs.contains(&0) {
                return case;
            }
        }
    }

    fn window(&self, axis: usize) -> Window {
        Window {
            size: self.kernel_size[axis],
            stride: self.stride[axis],
            padding: self.padding[axis],
            dilation: self.dilation[axis],
            ceil_mode: self.ceil_mode,
        }
    }

    fn options(&self) -> Pool<'_> {
        let Self { kernel_size, stride, padding, dilation, ceil_mode, threads, .. } = self;
        let (ceil_mode, threads) = (*ceil_mode, *threads);
        Pool { kernel_size, stride, padding, dilation, ceil_mode, threads, ..Pool::default() }
    }

    /// The shape with these lengths of the last axes.
    fn shape(&self, last: &[usize]) -> Vec<usize> {
        [&self.outer[..], last].concat()
    }

    fn planes(&self) -> usize {
        self.outer.iter().product()
    }

    /// For each window of a plane the indices of its elements, and how many there are with padding.
    fn windows(&self) -> Vec<(Vec<usize>, usize)> {
        let mut windows = vec![(vec![0], 1)];
        for (axis, &len) in self.size.iter().enumerate() {
            let window = self.window(axis);
            let mut finer = Vec::new();
            for (places, padded) in windows {
                for output in 0..self.outputs[axis] {
                    let mut inside = Vec::new();
                    for place in &places {
                        inside.extend(
                            (0..window.size).filter_map(|tap| Some(place * len + window.input(output, tap, len)?)),
                        );
                    }
                    finer.push((inside, padded * window.padded(output, len)));
                }
            }
            windows = finer;
        }
        windows
    }
}

#[test]
fn averages() {
    many(250, |r, dtype, what| {
        let case = Case::random(r, false);
        let divisor_override = r.chance(20).then(|| [3, -7][r.below(2)]);
        let options = Pool { count_include_pad: r.chance(50), divisor_override, ..case.options() };
        let x = floats(r, dtype, &case.shape(&case.size));
        let gradient = floats(r, dtype, &case.shape(&case.outputs));
        let what = format!("{what} {case:?} {:?} {divisor_override:?} {}", x.strides, options.count_include_pad);
        let y = avg_pool(x.view(), &options).unwrap();
        let of = avg_pool_backward(gradient.view(), &case.size, &options).unwrap();
        assert_eq!((&y.shape, y.dtype()), (&gradient.shape, dtype), "{what}");
        assert_eq!((&of.shape, of.dtype()), (&x.shape, dtype), "{what}");
        let (want, want_of) = with_float!(dtype, F => {
            let (x, gradient) = (wide::<F>(&x), wide::<F>(&gradient));
            let windows = case.windows();
            let plane: usize = case.size.iter().product();
            let (mut want, mut want_of) = (Vec::new(), Vec::new());
            for p in 0..case.planes() {
                let mut terms = vec![Vec::new(); plane];
                for (i, (inside, padded)) in windows.iter().enumerate() {
                    let divisor = match divisor_override {
                        Some(n) => n as F,
                        None => (if options.count_include_pad { *padded } else { inside.len() }) as F,
                    };
                    let elements = inside.iter().map(|&at| x[p * plane + at]);
                    want.push(rounded(tree::tree(&Sum::<F>::total(), elements).unwrap() / divisor, dtype));
                    inside.iter().for_each(|&at| terms[at].push(gradient[p * windows.len() + i] / divisor));
                }
                let sums = terms.into_iter().map(|terms| tree::tree(&Sum::<F>::total(), terms));
                want_of.extend(sums.map(|sum| rounded(sum.unwrap_or(0.0) + 0.0, dtype)));
            }
            (want, want_of)
        });
        same(&y, &want, &what);
        same(&of, &want_of, &format!("backward {what} {:?}", gradient.strides));
    });
}

#[test]
fn maxima() {
    many(250, |r, dtype, what| {
        let case = Case::random(r, true);
        let ties = r.chance(50);
        let shape = case.shape(&case.size);
        let x = match ties {
            true => Strided::new(r, dtype, &shape, |r| small(r, dtype)),
            false => floats(r, dtype, &shape),
        };
        let other = [dtype, DType::F32][r.below(2)];
        let gradient = floats(r, other, &case.shape(&case.outputs));
        let what = format!("{what} {case:?} {:?} ties {ties}", x.strides);
        let found = max_pool(x.view(), &case.options(), true).unwrap();
        assert_eq!(bits(&max_pool(x.view(), &case.options(), false).unwrap().values), bits(&found.values), "{what}");
        let indices = found.indices.unwrap();
        assert_eq!((&found.values.shape, &indices.shape), (&gradient.shape, &gradient.shape), "{what}");
        let windows = case.windows();
        let plane: usize = case.size.iter().product();
        let (mut want, mut places) = (Vec::new(), Vec::new());
        with_float!(dtype, F => {
            let x = wide::<F>(&x);
            for p in 0..case.planes() {
                for (inside, _) in &windows {
                    let of = |at: usize| x[p * plane + at];
                    let nan = inside.iter().copied().find(|&at| of(at).is_nan());
                    let greatest = inside.iter().map(|&at| of(at)).fold(F::NEG_INFINITY, |a, b| {
                        // The sum of zeros is -0.0 only if both are.
                        if a == 0.0 && b == 0.0 { a + b } else if b > a { b } else { a }
                    });
                    let first = inside.iter().copied().find(|&at| of(at) == greatest);
                    places.push(nan.or(first).map_or(-1, |at| at as i64));
                    want.push(rounded(if nan.is_some() { F::NAN } else { greatest }, dtype));
                }
            }
        });
        same(&found.values, &want, &what);
        assert_eq!(indices.values, i64::wrap(places.clone()), "{what}");
        let given = laid(r, &gradient.shape, &places);
        let of = max_pool_backward(gradient.view(), given.view(), &case.size, &case.options()).unwrap();
        let want = with_float!(other, F => {
            let gradient = wide::<F>(&gradient);
            let mut want = Vec::new();
            for p in 0..case.planes() {
                let mut terms = vec![Vec::new(); plane];
                for (i, (inside, _)) in windows.iter().enumerate() {
                    let at = p * windows.len() + i;
                    for &input in inside {
                        terms[input].push(if places[at] == input as i64 { gradient[at] } else { -0.0 });
                    }
                }
                let sums = terms.into_iter().map(|terms| tree::tree(&Sum::<F>::total(), terms));
                want.extend(sums.map(|sum| rounded(sum.unwrap_or(0.0) + 0.0, other)));
            }
            want
        });
        assert_eq!((&of.shape, of.dtype()), (&shape, other), "{what}");
        same(&of, &want, &format!("backward {what}"));
    });
}

/// Few numbers, so that many are equal, and zeros of either sign.
fn small(r: &mut Random, dtype: DType) -> Scalar {
    let x = [-1.0, -0.0, 0.0, 1.0, f64::NEG_INFINITY, f64::NAN][r.below(5) + r.chance(3) as usize];
    warpfold::Values::F64(vec![x]).cast(dtype).get(0)
}

/// Indices in C order, or in that of the reversed axes.
fn laid(r: &mut Random, shape: &[usize], indices: &[i64]) -> Strided {
    let (reversed, mut step, mut strides) = (r.chance(50), 8, vec![0; shape.len()]);
    for i in 0..shape.len() {
        let axis = if reversed { i } else { shape.len() - 1 - i };
        strides[axis] = step;
        step *= shape[axis].max(1) as isize;
    }
    let next = std::cell::Cell::new(0);
    Strided::place(r, DType::I64, shape, strides, 0, |_| Scalar::I64(indices[next.replace(next.get() + 1)]))
}

/// Planes beyond a tile are cut into rows, and rows into columns; the bits are those of one thread and of parts.
#[test]
fn large_planes() {
    let r = &mut Random(5);
    for (shape, kernel_size, dtype) in [
        (vec![2, 300, 501], vec![3, 2], DType::F32),
        (vec![70_001], vec![5], DType::BF16),
        (vec![1, 30, 50, 60], vec![2, 3, 3], DType::F32),
        (vec![40, 9, 1300], vec![3], DType::F64),
    ] {
        let x = floats(r, dtype, &shape);
        let axes = kernel_size.len();
        let padding = vec![1; axes];
        for stride in [vec![], vec![1; axes], vec![2; axes]] {
            let options = Pool { kernel_size: &kernel_size, stride: &stride, padding: &padding, ..Pool::default() };
            let one = Pool { threads: Some(1), ..options };
            let two = Pool { threads: Some(2), ..options };
            let (a, b) = (max_pool(x.view(), &one, true).unwrap(), max_pool(x.view(), &two, true).unwrap());
            assert_eq!(bits(&a.values), bits(&b.values));
            assert_eq!(a.indices, b.indices);
            let mean = avg_pool(x.view(), &two).unwrap();
            assert_eq!(bits(&avg_pool(x.view(), &one).unwrap()), bits(&mean));
            // Some windows, by the definition.
            let elements = x.elements();
            let plane = shape[shape.len() - axes..].iter().product::<usize>();
            for _ in 0..200 {
                let at = r.below(mean.values.len());
                let (mut rest, mut inside) = (at, vec![]);
                let mut windows = Vec::new();
                for axis in (0..axes).rev() {
                    let len = mean.shape[mean.shape.len() - axes + axis];
                    windows.insert(0, rest % len);
                    rest /= len;
                }
                for (axis, &output) in windows.iter().enumerate() {
                    let len = shape[shape.len() - axes + axis];
                    let stride = stride.get(axis).copied().unwrap_or(kernel_size[axis]);
                    let window = Window { size: kernel_size[axis], stride, padding: 1, dilation: 1, ceil_mode: false };
                    let before = if axis == 0 { vec![0] } else { std::mem::take(&mut inside) };
                    for place in before {
                        inside.extend(
                            (0..window.size).filter_map(|tap| Some(place * len + window.input(output, tap, len)?)),
                        );
                    }
                }
                let count: usize = kernel_size.iter().product();
                let want = with_float!(dtype, F => {
                    let terms = inside.iter().map(|&i| F::from_cast(elements[rest * plane + i].to_cast()));
                    let sum = tree::tree(&Sum::<F>::total(), terms).unwrap();
                    rounded(sum / count as F, dtype)
                });
                assert_eq!(mean.values.get(at).bits().0, want, "{shape:?} {stride:?} {at}");
                let chosen: i64 = i64::of(a.indices.as_ref().unwrap().values.get(at)).unwrap();
                assert!(inside.contains(&(chosen as usize)), "{shape:?} {stride:?} {at}");
            }
            let gradient = floats(r, dtype, &mean.shape);
            let size = &shape[shape.len() - axes..];
            let of = |options| avg_pool_backward(gradient.view(), size, options).unwrap();
            assert_eq!(bits(&of(&one)), bits(&of(&two)));
            let indices = i64::unwrap(a.indices.unwrap().values).unwrap();
            let indices = ArrayRef::from_slice(&indices, &mean.shape).unwrap();
            let of = |options| max_pool_backward(gradient.view(), indices, size, options).unwrap();
            assert_eq!(bits(&of(&one)), bits(&of(&two)));
        }
    }
}

#[test]
fn errors() {
    let data = [1.0f32; 12];
    let x = ArrayRef::from_slice(&data, &[3, 4]).unwrap();
    let pool =
        |kernel_size, stride, padding, dilation| Pool { kernel_size, stride, padding, dilation, ..Pool::default() };
    let wrong = |options: Pool<'_>| match max_pool(x, &options, true).unwrap_err() {
        Error::Pool(error) => error,
        other => panic!("{other}"),
    };
    assert!(matches!(wrong(pool(&[], &[], &[], &[])), PoolError::Axes { axes: 0, rank: 2, .. }));
    assert!(matches!(wrong(pool(&[1, 1, 1], &[], &[], &[])), PoolError::Axes { axes: 3, rank: 2, .. }));
    assert!(matches!(wrong(pool(&[2, 2], &[1], &[], &[])), PoolError::Numbers { what: "stride", found: 1, .. }));
    assert!(matches!(wrong(pool(&[2, 0], &[], &[], &[])), PoolError::Zero { what: "kernel_size", .. }));
    assert!(matches!(wrong(pool(&[2], &[0], &[], &[])), PoolError::Zero { what: "stride", .. }));
    assert!(matches!(wrong(pool(&[2], &[], &[], &[0])), PoolError::Zero { what: "dilation", .. }));
    assert!(matches!(wrong(pool(&[2], &[], &[2], &[])), PoolError::Padding { padding: 2, size: 2, .. }));
    assert!(matches!(wrong(pool(&[5], &[], &[], &[])), PoolError::NoWindow { len: 4, extent: 5, .. }));
    const HUGE: usize = usize::MAX;
    assert!(matches!(wrong(pool(&[HUGE], &[], &[HUGE / 2], &[])), PoolError::Overflow { .. }));
    assert!(matches!(wrong(pool(&[3], &[], &[], &[HUGE / 2])), PoolError::Overflow { .. }));
    assert!(matches!(wrong(pool(&[2], &[HUGE], &[], &[])), PoolError::Overflow { .. }));
    // Large, but right: all elements.
    let all = pool(&[1 << 40], &[], &[1 << 39], &[]);
    assert_eq!(max_pool(x, &all, true).unwrap().values.shape, [3, 1]);
    assert_eq!(avg_pool(x, &all).unwrap().shape, [3, 1]);
    assert!(matches!(avg_pool(x, &pool(&[2], &[], &[], &[2])), Err(Error::Pool(PoolError::Option { .. }))));
    let zero = Pool { divisor_override: Some(0), ..pool(&[2], &[], &[], &[]) };
    assert!(matches!(avg_pool(x, &zero), Err(Error::Pool(PoolError::Zero { what: "divisor_override", .. }))));
    let nothing = ArrayRef::from_slice::<f32>(&[], &[3, 0]).unwrap();
    assert!(matches!(avg_pool(nothing, &pool(&[2], &[], &[], &[])), Err(Error::Pool(PoolError::Nothing { .. }))));
    let integers = ArrayRef::flat(&[1i32, 2]);
    let error = avg_pool(integers, &pool(&[2], &[], &[], &[])).unwrap_err();
    assert_eq!(error.to_string(), "avg_pool takes floats, but the elements have dtype i32: cast them first");
    let options = pool(&[2], &[], &[], &[]);
    assert!(matches!(avg_pool_backward(x, &[8, 1], &options), Err(Error::Pool(PoolError::Numbers { .. }))));
    assert!(matches!(avg_pool_backward(x, &[6], &options), Err(Error::Row(RowError::Shape { .. }))));
    let indices = |x: ArrayRef<'_>| max_pool_backward(ArrayRef::flat(&data[..2]), x, &[5], &options);
    assert!(matches!(indices(integers), Err(Error::Pool(PoolError::IndexDType { .. }))));
    assert!(matches!(indices(ArrayRef::flat(&[0i64])), Err(Error::Row(RowError::Shape { .. }))));
    for wrong in [-2, 5, i64::MIN, i64::MAX, 1 << 32] {
        let both = [0, wrong];
        let error = indices(ArrayRef::flat(&both)).unwrap_err();
        assert!(matches!(error, Error::Pool(PoolError::Index { elements: 5 })), "{error}");
    }
    assert_eq!(indices(ArrayRef::flat(&[-1i64, 3])).unwrap().into_vec::<f32>().unwrap(), [0.0, 0.0, 0.0, 1.0, 0.0]);
}

/// Dilated windows that have only padding.
#[test]
fn windows_of_padding() {
    let x = ArrayRef::flat(&[7.0f32]);
    let options = Pool { kernel_size: &[2], padding: &[1], dilation: &[2], ..Pool::default() };
    let found = max_pool(x, &options, true).unwrap();
    assert_eq!(found.values.into_vec::<f32>().unwrap(), [f32::NEG_INFINITY]);
    assert_eq!(found.indices.unwrap().into_vec::<i64>().unwrap(), [-1]);
}
