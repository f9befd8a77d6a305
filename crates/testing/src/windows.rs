//! Random pooling on a GPU, or in the emulator, beside the CPU's. The functions are of [`crate::rows::Test`].

use std::cell::Cell;

use crate::reference::{Random, Strided};
use crate::rows::{Size, There, differs, floats};
use warpfold::cuda::{self, Stream, pool as gpu};
use warpfold::pool::{self as cpu, Pool};
use warpfold::{Array, ArrayRef, DType, Error, Scalar};

/// Windows that may fit an array or not: at most `elements` elements of it, about.
struct Problem {
    shape: Vec<usize>,
    numbers: [Vec<usize>; 4],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<i64>,
}

impl Problem {
    fn new(r: &mut Random, elements: usize, dilated: bool) -> Self {
        // Half of them have few elements, for which there are kernels of their own.
        let is_few = r.chance(50);
        let axes = 1 + r.below(if is_few { 2 } else { 3 });
        let batch = r.below(4);
        let mut room = elements;
        let mut numbers: [Vec<usize>; 4] = Default::default();
        let mut inner = Vec::new();
        for _ in 0..axes {
            let (most, widest) = ([3, 12, 40, 300][r.below(4)], if is_few { 3 } else { [2, 3, 5, 20][r.below(4)] });
            let len = 1 + r.below(room.min(most));
            room = (room / len).max(1);
            // Some windows have all of an axis, or are longer.
            let size = match r.below(20) {
                0..3 => len,
                3 => len + r.below(4),
                _ => 1 + r.below(len.min(widest)),
            };
            let padding = if r.chance(50) { 0 } else { r.below(size / 2 + 1) };
            let dilation = if dilated && r.chance(40) { 1 + r.below(3) } else { 1 };
            let stride = if r.chance(40) { size } else { 1 + r.below(size + 2) };
            inner.push(len);
            numbers.iter_mut().zip([size, stride, padding, dilation]).for_each(|(to, number)| to.push(number));
        }
        let mut shape: Vec<usize> = (0..batch).map(|_| if r.chance(4) { 0 } else { 1 + r.below(6) }).collect();
        if let Some(last) = shape.first_mut().filter(|len| **len > 0 && r.chance(50)) {
            *last = 1 + r.below((room / 20).max(1));
        }
        shape.extend(inner);
        Self {
            shape,
            numbers,
            ceil_mode: r.chance(30),
            count_include_pad: r.chance(50),
            divisor_override: if r.chance(20) { Some([-3, 1, 7, 1 << 40][r.below(4)]) } else { None },
        }
    }

    fn options(&self, dilated: bool) -> Pool<'_> {
        let [kernel_size, stride, padding, dilation] = &self.numbers;
        let &Self { ceil_mode, count_include_pad, divisor_override, .. } = self;
        let dilation = if dilated { dilation } else { &[][..] };
        Pool { kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override, threads: None }
    }

    fn size(&self) -> &[usize] {
        &self.shape[self.shape.len() - self.numbers[0].len()..]
    }

    fn about(&self, what: &str, x: &Strided, why: String) -> String {
        format!(
            "{what} {:?} steps {:?}, windows {:?} ceil {}: {why}",
            self.shape, x.strides, self.numbers, self.ceil_mode
        )
    }
}

/// What is wrong, if anything is, of a result or of the same error.
fn compared(got: Result<cuda::Array, Error>, want: Result<Array, Error>, stream: &Stream) -> Option<String> {
    match want {
        Ok(want) => differs(got, &want, stream),
        Err(want) => match got {
            Err(got) if got.to_string() == want.to_string() => None,
            Err(got) => Some(format!("{got}, not {want}")),
            Ok(_) => Some(format!("a result, not {want}")),
        },
    }
}

/// Means of windows, and their gradients.
pub fn average(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let problem = Problem::new(r, size.elements, false);
    let options = problem.options(false);
    let x = floats(r, dtype, &problem.shape);
    let there = There::new(stream, &x);
    let want = cpu::avg_pool(x.view(), &options);
    let shape = want.as_ref().ok().map(|want| want.shape.clone());
    let wrong = compared(gpu::avg_pool(there.view(), &options, stream), want, stream);
    if let Some(why) = wrong {
        return Some(problem.about("avg_pool", &x, why));
    }
    let gradient = floats(r, dtype, &shape?);
    let there = There::new(stream, &gradient);
    let want = cpu::avg_pool_backward(gradient.view(), problem.size(), &options);
    let got = gpu::avg_pool_backward(there.view(), problem.size(), &options, stream);
    compared(got, want, stream).map(|why| problem.about("avg_pool_backward", &gradient, why))
}

/// Windows of nearly as many elements as a kernel's tree has room for: none of a random test has such.
pub fn edges(stream: &Stream) {
    let r = &mut Random(7);
    for (size, about) in (507..=513).chain([1024]).map(|size| (size, format!("windows of {size}"))) {
        let options = Pool { kernel_size: &[size], stride: &[1], ..Pool::default() };
        let shape = [2, 2 * size];
        let x = floats(r, DType::F32, &shape);
        let there = There::new(stream, &x);
        let want = cpu::avg_pool(x.view(), &options);
        assert_eq!(compared(gpu::avg_pool(there.view(), &options, stream), want, stream), None, "{about}");
        let want = cpu::max_pool(x.view(), &options, true).expect("windows that fit");
        let indices = want.indices.expect("they were asked for");
        let results = indices.shape.clone();
        let numbers = indices.into_vec::<i64>().expect("i64");
        let indices = ArrayRef::from_slice(&numbers, &results).expect("a shape");
        let gradient = floats(r, DType::F32, &results);
        let of_x = There::new(stream, &gradient);
        let want = cpu::avg_pool_backward(gradient.view(), &shape[1..], &options);
        let got = gpu::avg_pool_backward(of_x.view(), &shape[1..], &options, stream);
        assert_eq!(compared(got, want, stream), None, "{about}");
        let of_indices = cuda::Array::upload(stream, indices).expect("room");
        let want = cpu::max_pool_backward(gradient.view(), indices, &shape[1..], &options);
        let got = gpu::max_pool_backward(of_x.view(), of_indices.view(), &shape[1..], &options, stream);
        assert_eq!(compared(got, want, stream), None, "{about}");
    }
}

/// Gradients of any bits over divisors of many kinds, which kernels find by products: subnormal ones, and those whose
/// quotients are, are among them.
pub fn quotients(stream: &Stream, count: usize) {
    let r = &mut Random(11);
    let mut bits: Vec<u64> = (0..count).map(|_| r.next()).collect();
    // The ends of each binade, and what is near them.
    bits.extend((0..2048u64).flat_map(|exponent| [0, 1, (1 << 52) - 1].map(|fraction| exponent << 52 | fraction)));
    let narrow: Vec<f32> = bits.iter().map(|bits| f32::from_bits((bits >> 32) as u32)).collect();
    let wide: Vec<f64> = bits.iter().map(|&bits| f64::from_bits(bits)).collect();
    let shape = [1, bits.len()];
    let arrays = [ArrayRef::from_slice(&narrow, &shape), ArrayRef::from_slice(&wide, &shape)];
    for gradient in arrays.map(|array| array.expect("a shape")) {
        let there = cuda::Array::upload(stream, gradient).expect("room");
        for divisor in [3, 5, 7, 9, 49, 169, 641, 12_543, 1_000_003, (1 << 22) - 1, -3, 1 << 22, (1 << 24) + 1] {
            for size in [2, 3] {
                // An element is in one window, or in two.
                let options =
                    Pool { kernel_size: &[size], stride: &[2], divisor_override: Some(divisor), ..Pool::default() };
                let inner = [2 * bits.len() + size - 2];
                let want = cpu::avg_pool_backward(gradient, &inner, &options);
                let got = gpu::avg_pool_backward(there.view(), &inner, &options, stream);
                assert_eq!(compared(got, want, stream), None, "{} over {divisor}, windows of {size}", gradient.dtype());
            }
        }
    }
}

/// Greatest elements of windows, their indices, and their gradients.
pub fn max(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let problem = Problem::new(r, size.elements, true);
    let options = problem.options(true);
    let x = floats(r, dtype, &problem.shape);
    let there = There::new(stream, &x);
    let want = match cpu::max_pool(x.view(), &options, true) {
        Ok(want) => want,
        Err(want) => {
            let got = gpu::max_pool(there.view(), &options, true, stream).map(|got| got.values);
            return compared(got, Err(want), stream).map(|why| problem.about("max_pool", &x, why));
        }
    };
    let got = match gpu::max_pool(there.view(), &options, true, stream) {
        Ok(got) => got,
        Err(why) => return Some(problem.about("max_pool", &x, why.to_string())),
    };
    let indices = want.indices.expect("they were asked for");
    let wrong = differs(Ok(got.values), &want.values, stream);
    if let Some(why) = wrong.or_else(|| differs(Ok(got.indices.expect("they were asked for")), &indices, stream)) {
        return Some(problem.about("max_pool", &x, why));
    }
    // The indices in any layout.
    let (numbers, next) = (indices.into_vec::<i64>().expect("i64"), Cell::new(0));
    let fill = |_: &mut Random| Scalar::I64(numbers[next.replace(next.get() + 1) % numbers.len().max(1)]);
    let chosen = Strided::new(r, DType::I64, &want.values.shape, fill);
    let gradient = floats(r, dtype, &want.values.shape);
    let [of_x, of_indices] = [&gradient, &chosen].map(|array| There::new(stream, array));
    let want = cpu::max_pool_backward(gradient.view(), chosen.view(), problem.size(), &options);
    let got = gpu::max_pool_backward(of_x.view(), of_indices.view(), problem.size(), &options, stream);
    compared(got, want, stream).map(|why| problem.about("max_pool_backward", &gradient, why))
}
