//! The same maximum one element after the other, in 9 steps, and as a tree, in 4.

use super::operations::reduce;

pub fn print() -> String {
    let data = [5, 2, 8, 1, 9, 3, 7, 4, 6, 0];
    let mut out = format!("data      {data:?}\n\nserial\n");
    let mut most = data[0];
    for (step, &x) in (1..).zip(&data[1..]) {
        let greater = most.max(x);
        out += &format!("step {step}    max({most}, {x}) = {greater}\n");
        most = greater;
    }
    out += "\ntree\n";
    let (mut level, mut step) = (data.to_vec(), 0);
    while level.len() > 1 {
        // An odd last element passes through.
        level = level.chunks(2).map(|pair| reduce(pair, i32::MIN, i32::max)).collect();
        step += 1;
        out += &format!("step {step}    {level:?}\n");
    }
    out
}
