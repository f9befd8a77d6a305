//! The kernels of reducers of one's own, in the emulator: the bits of the CPU, and no fault. Elements of all kinds of
//! sizes, each with another way through the kernels.

use mat2::{Mat2, Mat2Product, matrices};
use warpfold::core::Zipped;
use warpfold::{Error, Reducer, emulate_elements, emulate_pairs, reduce_elements};
use warpfold_kernels::custom::{Exported, Node, Words};
use warpfold_kernels::{export_reducer, words};

/// Shapes and axes: rows and columns, odd, short and long, side by side and not.
const CASES: [(&[usize], &[isize]); 18] = [
    (&[1], &[0]),
    (&[31], &[0]),
    (&[257], &[0]),
    (&[20_001], &[0]),
    (&[40, 7], &[1]),
    (&[5, 1025], &[1]),
    (&[3, 16_384], &[1]),
    (&[7, 40], &[0]),
    (&[1030, 5], &[0]),
    (&[300, 70], &[0]),
    (&[9, 13, 11], &[0, 2]),
    (&[3, 40, 5], &[0, 2]),
    (&[3, 40, 2], &[0, 2]),
    (&[3, 4, 2], &[0, 2]),
    (&[6, 64, 5], &[1]),
    (&[5, 3, 64], &[0, 2]),
    (&[4, 3, 5, 7], &[1, 3]),
    (&[6, 5], &[]),
];

fn bits<T: Node>(values: &[T]) -> Vec<u32> {
    let mut words = Vec::new();
    for value in values {
        let _ = value.map(|_, word| {
            words.push(word);
            word
        });
    }
    words
}

/// Runs all cases; returns the classes of the kernels that ran.
fn check<R: Exported<Item: Words>>(reducer: R, element: impl Fn(usize) -> R::Item) -> Vec<String> {
    let mut classes = Vec::new();
    for (shape, axes) in CASES {
        let data: Vec<R::Item> = (0..shape.iter().product()).map(&element).collect();
        let cpu = reduce_elements(reducer, &data, shape, Some(axes)).expect("elements");
        let gpu =
            emulate_elements(reducer, &data, shape, Some(axes)).unwrap_or_else(|e| panic!("{shape:?} {axes:?}: {e}"));
        let kernels: Vec<&str> = gpu.launches.iter().map(|(kernel, _)| &kernel[..]).collect();
        assert_eq!(gpu.results.shape, cpu.shape);
        assert!(bits(&gpu.results.data) == bits(&cpu.data), "{shape:?} over {axes:?} by {kernels:?} has other bits");
        classes.extend(kernels.iter().filter_map(|k| k.strip_suffix(&format!("_{}", R::NAME)).map(str::to_owned)));
    }
    classes.sort();
    classes.dedup();
    classes
}

#[test]
fn matrices_of_16_bytes_take_every_kernel() {
    let data = matrices(40_000);
    let classes = check(Mat2Product, |i| data[i % data.len()]);
    assert_eq!(classes, ["any_columns", "any_rows", "columns", "narrow", "rows", "runs", "staged"]);
}

#[test]
fn nothing_to_multiply_is_an_error_unless_there_are_no_results() {
    let none: [Mat2; 0] = [];
    let said = emulate_elements(Mat2Product, &none, &[3, 0], Some(&[1])).expect_err("no identity");
    assert_eq!(said, Error::CustomEmpty { shape: vec![3, 0], axes: vec![1] });
    let results = emulate_elements(Mat2Product, &none, &[0, 3], Some(&[1])).expect("no results").results;
    assert_eq!((results.shape, results.data.len()), (vec![0], 0));
}

words! {
    /// A polynomial's value at `x`: numbers of 4 bytes, and a reducer with a number of its own.
    struct Horner {
        x: f32,
    }
}

impl Reducer for Horner {
    type Item = f32;
    type Acc = (f32, f32);
    type Output = f32;
    const INDEXED: bool = false;
    fn lift(&self, coefficient: f32, _index: u64) -> (f32, f32) {
        (coefficient, self.x)
    }
    fn combine(&self, a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
        (a.0 * b.1 + b.0, a.1 * b.1)
    }
    fn finish(&self, acc: (f32, f32), _count: u64) -> f32 {
        acc.0
    }
}
export_reducer!(horner: Horner);

#[test]
fn numbers_of_4_bytes_and_a_reducer_with_a_parameter() {
    let classes = check(Horner { x: 0.999 }, |i| (i % 17) as f32 - 8.0);
    assert!(classes.contains(&"columns".into()) && classes.contains(&"rows".into()), "{classes:?}");
}

words! {
    /// 12 bytes.
    struct Colour {
        red: f32,
        green: f32,
        blue: f32,
    }
}
words! {
    /// Looks at the index and at the count.
    struct Drift;
}

impl Reducer for Drift {
    type Item = Colour;
    type Acc = [f32; 3];
    type Output = f64;
    fn lift(&self, c: Colour, index: u64) -> [f32; 3] {
        [c.red * index as f32, c.green, c.blue]
    }
    fn combine(&self, a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
        [a[0] + b[0], a[1] + b[1] * 0.5, a[2] - b[2]]
    }
    fn finish(&self, acc: [f32; 3], count: u64) -> f64 {
        f64::from(acc[0] + acc[1] - acc[2]) / count as f64
    }
}
export_reducer!(drift: Drift);

#[test]
fn twelve_bytes_and_an_index_take_the_kernels_for_any_elements() {
    let colour = |i: usize| Colour { red: (i % 251) as f32 * 0.1, green: 1.0 / (i + 1) as f32, blue: (i % 7) as f32 };
    assert_eq!(check(Drift, colour), ["any_columns", "any_rows"]);
}

words! {
    /// A 4x4 matrix: 64 bytes, and nodes as large as nodes may be.
    struct Mat4 {
        m: [f32; 16],
    }
}
words! {
    struct Mat4Product;
}

impl Reducer for Mat4Product {
    type Item = Mat4;
    type Acc = Mat4;
    type Output = f32;
    const INDEXED: bool = false;
    fn lift(&self, item: Mat4, _index: u64) -> Mat4 {
        item
    }
    fn combine(&self, l: Mat4, r: Mat4) -> Mat4 {
        let dot = |i: usize, j: usize| (0..4).map(|k| l.m[4 * i + k] * r.m[4 * k + j]).sum::<f32>();
        Mat4 { m: core::array::from_fn(|i| dot(i / 4, i % 4) * 0.25) }
    }
    fn finish(&self, acc: Mat4, _count: u64) -> f32 {
        acc.m[0] + acc.m[7] * 2.0 - acc.m[13]
    }
}
export_reducer!(mat4: Mat4Product);

#[test]
fn sixty_four_bytes_are_read_in_one_piece_and_have_no_columns() {
    let matrix = |i: usize| Mat4 { m: core::array::from_fn(|k| ((i * 31 + k * 7) % 13) as f32 * 0.3 - 1.5) };
    assert_eq!(check(Mat4Product, matrix), ["any_rows"]);
}

words! {
    /// The mean of neighbours, weighted by how many there are: 8 bytes.
    struct Weighted;
}

impl Reducer for Weighted {
    type Item = f64;
    type Acc = f64;
    type Output = f64;
    const INDEXED: bool = false;
    fn lift(&self, item: f64, _index: u64) -> f64 {
        item
    }
    fn combine(&self, a: f64, b: f64) -> f64 {
        a * 0.5 + b * 0.5
    }
    fn combine_counted(&self, a: f64, n: u64, b: f64, m: u64) -> f64 {
        (a * n as f64 + b * m as f64) / (n + m) as f64
    }
    fn finish(&self, acc: f64, count: u64) -> f64 {
        acc * count as f64
    }
}
export_reducer!(weighted: Weighted);

#[test]
fn eight_bytes_and_counted_nodes() {
    let classes = check(Weighted, |i| ((i * 2_654_435_761) % 1000) as f64 * 0.01);
    assert!(classes.contains(&"columns".into()) && classes.contains(&"staged".into()), "{classes:?}");
}

words! {
    /// A number, and how much it counts.
    struct Measured {
        x: f32,
        weight: u32,
    }
}

words! {
    /// The mean of numbers, as much as each counts.
    struct MeasuredMean;
}

impl Reducer for MeasuredMean {
    type Item = Measured;
    type Acc = (f32, u32);
    type Output = f32;
    const INDEXED: bool = false;

    fn lift(&self, Measured { x, weight }: Measured, _index: u64) -> (f32, u32) {
        (x * weight as f32, weight)
    }
    fn combine(&self, left: (f32, u32), right: (f32, u32)) -> (f32, u32) {
        (left.0 + right.0, left.1.wrapping_add(right.1))
    }
    fn finish(&self, acc: (f32, u32), _count: u64) -> f32 {
        acc.0 / acc.1 as f32
    }
}

export_reducer!(measured: MeasuredMean);

words! {
    /// A matrix, and a number.
    struct Factored {
        by: Mat2,
        factor: f32,
    }
}

words! {
    /// The product of matrices times numbers.
    struct FactoredProduct;
}

impl Reducer for FactoredProduct {
    type Item = Factored;
    type Acc = Mat2;
    type Output = Mat2;

    fn lift(&self, Factored { by: m, factor }: Factored, _index: u64) -> Mat2 {
        Mat2 { a: m.a * factor, b: m.b * factor, c: m.c * factor, d: m.d * factor }
    }
    fn combine(&self, left: Mat2, right: Mat2) -> Mat2 {
        Mat2Product.combine(left, right)
    }
    fn finish(&self, acc: Mat2, _count: u64) -> Mat2 {
        acc
    }
}

export_reducer!(factored: FactoredProduct);

/// Reducers whose elements are in two arrays: the bits of elements in one.
#[test]
fn pairs_of_two_arrays() {
    for (shape, axes) in CASES {
        let len = shape.iter().product();
        let x: Vec<f32> = (0..len).map(|i| (i * 37 % 101) as f32 * 0.1 - 4.0).collect();
        let weight: Vec<u32> = (0..len).map(|i| (i * 13 % 7) as u32).collect();
        let both: Vec<Measured> = x.iter().zip(&weight).map(|(&x, &weight)| Measured { x, weight }).collect();
        let cpu = reduce_elements(MeasuredMean, &both, shape, Some(axes)).expect("elements");
        let gpu = emulate_pairs(MeasuredMean, (&x[..], &weight[..]), shape, Some(axes)).expect("elements");
        assert_eq!(gpu.results.shape, cpu.shape);
        assert!(bits(&gpu.results.data) == bits(&cpu.data), "{shape:?} over {axes:?} has other bits");
        if shape.len() == 1 {
            let of_pairs = Zipped::new(|x: f32, weight: u32| Measured { x, weight }, MeasuredMean);
            let zipped = warpfold::zip(&x, &weight).with(of_pairs).expect("elements");
            assert_eq!(bits(&zipped.data), bits(&cpu.data));
        }
        let (by, factor) = (matrices(len), x);
        let both: Vec<Factored> = by.iter().zip(&factor).map(|(&by, &factor)| Factored { by, factor }).collect();
        let cpu = reduce_elements(FactoredProduct, &both, shape, Some(axes)).expect("elements");
        let gpu = emulate_pairs(FactoredProduct, (&by[..], &factor[..]), shape, Some(axes)).expect("elements");
        assert!(bits(&gpu.results.data) == bits(&cpu.data), "{shape:?} over {axes:?} has other bits");
    }
}

#[test]
fn pairs_of_two_arrays_without_elements() {
    let said = emulate_pairs(MeasuredMean, (&[0.0f32; 0][..], &[0u32; 0][..]), &[3, 0], Some(&[1]));
    assert_eq!(said.expect_err("no identity"), Error::CustomEmpty { shape: vec![3, 0], axes: vec![1] });
}
