//! Terms that are too small for the accumulator are lost, however many there are.

use warpfold_core::{f16, ops::Sum, tree};

pub fn print() -> String {
    let (large, small) = (1000.0f32, 1e-3f32);
    let narrow = |a: f16, b: f16| f16::from_f32(a.to_f32() + b.to_f32());
    let (large16, small16) = (f16::from_f32(large), f16::from_f32(small));
    let mut data = vec![small16; 1000];
    data.insert(0, large16);
    let swallowed = data.iter().fold(f16::from_f32(-0.0), |a, &b| narrow(a, b));
    let tree = tree::reduce(&Sum::<f16>::total(), data.iter().copied()).expect("a sum");
    let exact: f64 = data.iter().map(|x| x.to_f64()).sum();
    format!(
        "1000 + 1e-3, in f16                          {:.4}\n\
         1000 + 1e-3, in f32                          {:.4}\n\
         1000 + 1000 times 1e-3, accumulated in f16   {:.4}\n\
         the same as a tree, accumulated in f32       {:.4}\n\
         the same, exactly                            {exact:.4}\n\
         the nearest f16 to that                      {:.4}\n",
        narrow(large16, small16).to_f32(),
        large + small,
        swallowed.to_f32(),
        tree.to_f32(),
        f16::from_f64(exact).to_f32()
    )
}
