//! Softmax and norms, as a user runs them.

use crate::support::{Dir, f32s, floats, list, npy};

#[test]
fn softmax_and_norms() {
    let dir = Dir::new();
    let x = npy(1, "'<f4'", false, "(2, 2)", &f32s(&[0.0, 0.0, 3.0, -3.0]));
    dir.write("x.npy", &x);
    dir.write("w.npy", &floats(&[1.0, 2.0]));
    dir.write("mask.npy", &npy(1, "'|b1'", false, "(2,)", &[1, 0]));
    assert_eq!(dir.run("softmax x.npy --where mask.npy").ok(), "[[1. 0.]\n [1. 0.]]\n");
    assert_eq!(dir.run("softmax x.npy --scale 0 --axis 0,1").ok(), "[[0.25 0.25]\n [0.25 0.25]]\n");
    assert_eq!(dir.run("log-softmax x.npy --where mask.npy --axis -1 --scale 0").ok(), "[[  0. -inf]\n [  0. -inf]]\n");
    assert_eq!(dir.run("normalize x.npy --epsilon 0 --axis 0 --by rms --bits").ok().lines().count(), 2);
    assert_eq!(dir.run("normalize x.npy --weight w.npy --bias w.npy -o y.npy").ok(), "");
    let y = std::fs::read(dir.join("y.npy")).unwrap();
    assert_eq!((y.len(), &y[..128 - 8]), (x.len(), &x[..128 - 8]));
    dir.run("softmax - --where -").refused(&["cannot both be standard input"]);
    dir.run("softmax x.npy -o x.npy").refused(&["is the input, which would be lost"]);
    dir.run("softmax x.npy --axis 2").refused(&["axis 2"]);
    dir.run("softmax w.npy --where w.npy").refused(&["bool"]);
    dir.run("normalize x.npy --weight x.npy").refused(&["the weights have shape [2, 2], and must have shape [2]"]);
    dir.write("i.npy", &list(&[1, 2]));
    dir.run("normalize i.npy").refused(&["i64"]);
    dir.run("log-softmax x.npy --device cuda:4095").refused(&["error: no "]);
    dir.run("normalize x.npy --by variance").refused(&["possible values: rms, layer"]);
    assert_eq!(dir.files(), ["i.npy", "mask.npy", "w.npy", "x.npy", "y.npy"]);
}
