//! The exact results of an iteration of k-means on arbitrary points: the labels of some points by the definition in
//! docs/numerics.md (k-means), and the means of the labels that a side found, computed in integers.

use super::sample::{MOST, spread};
use super::want::{Want, near};
use crate::case::Case;
use crate::data::Exact;
use rayon::prelude::*;
use warpfold::DType;

/// The number of multiplications spent on the labels that are compared.
const PRODUCTS: usize = 1 << 26;

/// The first centroids of an iteration, \[cluster\]\[coordinate\]: values of the points' dtype.
pub fn centroids(case: &Case) -> Vec<f64> {
    let (generator, d, clusters) = (case.generator(), case.dimensions(), case.labels().unwrap_or(1));
    let unit = 0.5f64.powi(generator.shift());
    (0..clusters * d).into_par_iter().map(|i| generator.start(i / d, i % d, d) as f64 * unit).collect()
}

/// The points whose labels are compared.
pub fn points(case: &Case) -> Vec<usize> {
    let each = (case.labels().unwrap_or(1) * case.dimensions()).max(1);
    spread(0, case.shape[0], (PRODUCTS / each).clamp(16, MOST / 2))
}

/// The means that are compared, as positions among all outputs, of which the labels come first.
pub fn cells(case: &Case) -> Vec<usize> {
    spread(case.shape[0], case.outputs(), MOST / 2)
}

/// The nearest label by scores of the type, with each operation as docs/numerics.md defines it. The first of equal
/// scores wins.
macro_rules! nearest {
    ($t:ty, $x:expr, $centroids:expr) => {{
        let x: Vec<$t> = $x.iter().map(|&x| x as $t).collect();
        let mut least = (<$t>::INFINITY, 0);
        for (k, c) in $centroids.chunks_exact(x.len()).enumerate() {
            let half = c.iter().fold(0.0, |h: $t, &c| (c as $t).mul_add(c as $t, h)) * 0.5;
            let score = x.iter().zip(c).fold(half, |s: $t, (&x, &c)| (-x).mul_add(c as $t, s));
            if score < least.0 {
                least = (score, k);
            }
        }
        least.1
    }};
}

/// The expected labels of [`points`].
pub fn labels(case: &Case) -> Vec<Want> {
    let (generator, d) = (case.generator(), case.dimensions());
    let unit = 0.5f64.powi(generator.shift());
    let centroids = centroids(case);
    let want = |&i: &usize| {
        let coordinate = |c: usize| match generator.exact((i * d + c) as u64) {
            Exact::Units(k) => k as f64 * unit,
            Exact::Nan => f64::NAN,
        };
        let x: Vec<f64> = (0..d).map(coordinate).collect();
        // The mean that is subtracted first is zero, on every side.
        let label = match case.dtype {
            DType::F64 => nearest!(f64, x, centroids),
            _ => nearest!(f32, x, centroids),
        };
        Want::Label { label, others: as_near(case.dtype, &x, &centroids) }
    };
    points(case).par_iter().map(want).collect()
}

/// All labels that rounding errors explain, for a side with any method of multiplication: tensor cores round f32 to 11
/// bits, and some sides round scores to the dtype of the points.
fn as_near(dtype: DType, x: &[f64], centroids: &[f64]) -> Vec<usize> {
    let u = match dtype {
        DType::F64 => 0.5f64.powi(50),
        DType::BF16 => 0.5f64.powi(8),
        _ => 0.5f64.powi(11),
    };
    // The score, and the magnitude that its rounding errors are proportional to.
    let score = |c: &[f64]| {
        let half: f64 = 0.5 * c.iter().map(|c| c * c).sum::<f64>();
        let products = || x.iter().zip(c).map(|(x, c)| x * c);
        (half - products().sum::<f64>(), half + products().map(f64::abs).sum::<f64>())
    };
    let scores: Vec<(f64, f64)> = centroids.chunks_exact(x.len()).map(score).collect();
    let first = scores.first().copied().unwrap_or((0.0, 0.0));
    let least = scores.iter().fold(first, |least, &score| if score.0 < least.0 { score } else { least });
    let is_near = |&k: &usize| scores[k].0 - least.0 <= 4.0 * u * (scores[k].1 + least.1);
    (0..scores.len()).filter(is_near).collect()
}

/// The expected means at [`cells`], given the labels that a side found. An empty cluster may have any mean.
///
/// # Errors
/// If they are not the labels of all points.
pub fn means(case: &Case, labels: &[i32]) -> Result<Vec<Want>, String> {
    let (generator, n, d) = (case.generator(), case.shape[0], case.dimensions());
    let clusters = case.labels().unwrap_or(1);
    if labels.len() != n {
        return Err(format!("{} labels of {n} points", labels.len()));
    }
    if let Some(i) =
        labels.iter().position(|&label| usize::try_from(label).is_ok_and(|label| label >= clusters) || label < 0)
    {
        return Err(format!("point {i} has the label {} of {clusters}", labels[i]));
    }
    let unit = 0.5f64.powi(generator.shift());
    let cells = cells(case);
    // For each cluster, the compared coordinates and their places in the result.
    let mut of = vec![Vec::new(); clusters];
    cells.iter().enumerate().for_each(|(slot, cell)| of[(cell - n) / d].push(((cell - n) % d, slot)));
    let none = || vec![(0i128, 0u128, 0u64); cells.len()];
    let part = n.div_ceil(rayon::current_num_threads()).max(1);
    let sums = labels.par_chunks(part).enumerate().map(|(p, labels)| {
        let mut sums = none();
        for (i, &label) in labels.iter().enumerate() {
            for &(coordinate, slot) in &of[label as usize] {
                let Exact::Units(k) = generator.exact(((p * part + i) * d + coordinate) as u64) else { continue };
                let (sum, size, count) = sums[slot];
                sums[slot] = (sum + k, size + k.unsigned_abs(), count + 1);
            }
        }
        sums
    });
    let join = |a: Vec<_>, b: Vec<_>| {
        let add = |((s, m, n), (t, l, k)): ((i128, u128, u64), (i128, u128, u64))| (s + t, m + l, n + k);
        a.into_iter().zip(b).map(add).collect()
    };
    let want = |(sum, size, count): (i128, u128, u64)| match count {
        0 => Want::Any,
        _ => {
            let n = count as f64;
            let size = size as f64 * unit / n;
            let other = 0.5f64.powi(24) * (n.log2().ceil() + 2.0 * n.sqrt() + 3.0) * size;
            // Fixed point: half a unit of 2^-30 of the greatest magnitude, which is below 1.
            near(sum as f64 * unit / n, 0.5f64.powi(31), other)
        }
    };
    Ok(sums.reduce_with(join).unwrap_or_else(none).into_iter().map(want).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;
    use crate::work::Work;

    fn case(dtype: &str, points: &str) -> Case {
        let text = format!(
            "title = 't'\n[[cases]]\nop = 'kmeans-iteration'\ndtype = '{dtype}'\nshape = [3000, 5]\nclusters = 40\n\
             points = '{points}'"
        );
        suite::parse("x", "x.toml", &text).unwrap().cases.remove(0)
    }

    #[test]
    fn the_label_is_among_those_that_are_as_near() {
        for (dtype, cloud) in [("f32", "normal"), ("f16", "normal"), ("bf16", "clustered"), ("f64", "clustered")] {
            let case = case(dtype, cloud);
            assert_eq!(case.work, Work::Iterate);
            let mut unsure = 0;
            for want in labels(&case) {
                let Want::Label { label, others } = want else { panic!("{want:?}") };
                assert!(others.contains(&label), "{case}: {label} {others:?}");
                unsure += usize::from(others.len() > 1);
            }
            // Some points lie between two clusters. Their labels are the ones that need the check.
            assert!(dtype == "f64" || unsure > 0, "{case}");
        }
    }

    #[test]
    fn labels_that_are_none_are_said() {
        let case = case("f32", "normal");
        assert!(means(&case, &[0; 2999]).unwrap_err().contains("2999 labels of 3000"));
        let mut labels = vec![0; 3000];
        labels[7] = 40;
        assert!(means(&case, &labels).unwrap_err().contains("point 7 has the label 40 of 40"));
        labels[7] = -1;
        assert!(means(&case, &labels).unwrap_err().contains("label -1"));
    }
}
