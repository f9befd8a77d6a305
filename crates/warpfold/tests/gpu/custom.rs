//! A reducer of one's own on a real GPU: the bits of the CPU.

use crate::gpu;
use mat2::{KERNELS, Mat2, Mat2Product, matrices};
use warpfold::cuda::{Custom, Elements, Error, Stream};
use warpfold::reduce_elements;

fn bits(m: &[Mat2]) -> Vec<[u32; 4]> {
    m.iter().map(|m| [m.a, m.b, m.c, m.d].map(f32::to_bits)).collect()
}

#[test]
fn products_of_matrices_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    // SAFETY: the kernels are those of the example's source; `cargo xtask ptx --check` compares.
    let product = unsafe { Custom::new(&gpu, Mat2Product, KERNELS) }.expect("its kernels");
    let cases: [(&[usize], &[isize]); 13] = [
        (&[1], &[0]),
        (&[8191], &[0]),
        ((&[(1 << 22) + 7]), &[0]),
        (&[3000, 21], &[1]),
        (&[700, 3001], &[1]),
        (&[3001, 700], &[0]),
        (&[100_000, 3], &[0]),
        (&[17, 1025, 33], &[1]),
        (&[64, 300, 64], &[0, 2]),
        (&[64, 300, 2], &[0, 2]),
        (&[30, 20, 10, 40], &[1, 3]),
        (&[200, 300], &[]),
        (&[0, 5], &[1]),
    ];
    let mut classes = Vec::new();
    for (shape, axes) in cases {
        let data = matrices(shape.iter().product());
        let want = reduce_elements(Mat2Product, &data, shape, Some(axes)).expect("products");
        let elements = Elements::upload(&stream, &data, shape).expect("upload");
        let reduction = product.prepare(elements.view(), Some(axes)).expect("a plan");
        let mut out = reduction.output().expect("room");
        // Twice, since a run leaves the counters as it finds them.
        for _ in 0..2 {
            reduction.run(&stream, elements.view(), &mut out).expect("a run");
            let got = out.download(&stream).expect("products");
            assert_eq!(got.shape, want.shape);
            assert!(bits(&got.data) == bits(&want.data), "{shape:?} over {axes:?} by {:?}", reduction.kernels());
        }
        classes.extend(reduction.kernels().iter().map(|&k| k.to_owned()));
    }
    classes.sort();
    classes.dedup();
    println!("{}", classes.join(" "));
    assert!(classes.len() >= 6, "{classes:?}");
}

#[test]
fn turned_and_repeated_elements_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    // SAFETY: as above.
    let product = unsafe { Custom::new(&gpu, Mat2Product, KERNELS) }.expect("its kernels");
    let data = matrices(60 * 70);
    let elements = Elements::upload(&stream, &data, &[60, 70]).expect("upload");
    let turned: Vec<Mat2> = (0..70 * 60).map(|i| data[i % 60 * 70 + i / 60]).collect();
    for axes in [[0].as_slice(), &[1], &[0, 1]] {
        let want = reduce_elements(Mat2Product, &turned, &[70, 60], Some(axes)).expect("products").data;
        let view = elements.view().permute(&[1, 0]).expect("a view");
        let got = product.reduce(&stream, view, Some(axes)).and_then(|out| out.download(&stream)).expect("products");
        assert!(bits(&got.data) == bits(&want), "{axes:?}");
    }
    let none = Elements::<Mat2>::upload(&stream, &[], &[3, 0]).expect("nothing");
    let said = product.reduce(&stream, none.view(), Some(&[1])).err().expect("no identity");
    assert_eq!(said, warpfold::Error::CustomEmpty { shape: vec![3, 0], axes: vec![1] });
    // SAFETY: no bytes are no kernels.
    let said = unsafe { Custom::new(&gpu, Mat2Product, &[]) }.err();
    assert_eq!(said, Some(Error::NoArchive { len: 0 }));
}
