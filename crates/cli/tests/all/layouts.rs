//! The contract for files: the format and the layout of the numbers change no bit.

use crate::support::{Dir, npy, npz};

/// Numbers of many magnitudes, from a small generator.
fn numbers(n: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        state >> 8
    };
    (0..n).map(|_| (next() as f32 - 8388608.0) * 2f32.powi((next() % 40) as i32 - 20)).collect()
}

#[test]
fn c_order_fortran_order_byte_order_archives_and_pipes_give_the_same_bits() {
    let dir = Dir::new();
    let (rows, columns) = (700, 301);
    let x = numbers(rows * columns);
    let transposed = || (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| x[i * columns + j]);
    let little: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    let big: Vec<u8> = x.iter().flat_map(|v| v.to_be_bytes()).collect();
    let fortran: Vec<u8> = transposed().flat_map(|v| v.to_le_bytes()).collect();
    let shape = format!("({rows}, {columns})");
    let c = npy(1, "'<f4'", false, &shape, &little);
    dir.write("c.npy", &c);
    dir.write("f.npy", &npy(1, "'<f4'", true, &shape, &fortran));
    dir.write("b.npy", &npy(2, "'>f4'", false, &shape, &big));
    // An odd length of the name puts the member at an odd offset.
    dir.write("s.npz", &npz(&[("odd.npy", &c)], zip::CompressionMethod::Stored));
    dir.write("d.npz", &npz(&[("x.npy", &c)], zip::CompressionMethod::Deflated));
    dir.write("raw", &little);
    for op in ["sum", "std", "norm", "logsumexp", "argmin", "minmax"] {
        for axes in ["", "--axis 0", "--axis 1", "--precision compensated"] {
            let bits = |input: &str| dir.run(&format!("reduce {op} {input} {axes} --bits")).ok().to_string();
            let expected = bits("c.npy --threads 1");
            let raw = format!("raw --raw f32 --shape {rows},{columns}");
            for input in ["c.npy --threads 3", "f.npy", "b.npy", "s.npz", "d.npz", &raw] {
                assert_eq!(bits(input), expected, "{op} {axes} {input}");
            }
        }
    }
}
