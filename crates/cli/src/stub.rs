//! Until the library describes.
use warpfold::*;
#[allow(missing_docs)]
pub struct Description { pub shape: Vec<usize>, pub count: u64, pub stats: Vec<(&'static str, Values)> }
#[allow(missing_docs)]
pub fn describe(array: ArrayRef<'_>, options: &Options<'_>) -> Result<Description, Error> {
    let mut stats = Vec::new();
    let mut shape = Vec::new();
    for (name, op) in [("nan_count", Op::CountNonzero), ("min", Op::Min), ("argmin", Op::ArgMin), ("max", Op::Max), ("argmax", Op::ArgMax), ("mean", Op::Mean), ("std", Op::Std), ("sum", Op::Sum), ("norm", Op::Norm)] {
        let r = reduce(op, array, options)?;
        shape = r.shape.clone();
        stats.push((name, r.values));
    }
    let count = array.len() as u64 / shape.iter().product::<usize>().max(1) as u64;
    Ok(Description { shape, count, stats })
}
