//! Clusters: exact means, distances by the tree, and the same bits however the points lie.

use crate::reference::{Random, element};
use ndarray::Array2;
use warpfold::core::ops::Sum;
use warpfold::core::{Fixed, tree};
use warpfold::cpu::simd::Simd;
use warpfold::keys::{Axes, EmptyCluster, Fit, Init, centroid_update_with};
use warpfold::{Array, ArrayRef, DType, KMeans, Points, Scalar, Values, View, centroid_update, f16};

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let r = &mut Random(seed);
    (0..n).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect()
}

/// Points about a few centres.
fn blobs(n: usize, d: usize, k: usize, seed: u64) -> Array2<f32> {
    let (centres, noise) = (numbers(k * d, seed), numbers(n * d, seed + 1));
    Array2::from_shape_fn((n, d), |(i, j)| centres[i % k * d + j] * 3.0 + noise[i * d + j] * 0.1)
}

fn points(x: &Array2<f32>) -> Points<'_> {
    Points::new(x.view_of(), Axes::PointsFirst).unwrap()
}

/// [`View::view`], which ndarray's own method of that name hides.
trait ViewOf {
    fn view_of(&self) -> ArrayRef<'_>;
}

impl<V: View> ViewOf for V {
    fn view_of(&self) -> ArrayRef<'_> {
        View::view(self).unwrap()
    }
}

/// Whether `mean` is a nearest f32 to `total / count` units of 2^`unit`, in whole numbers of 2^-149.
fn is_nearest(mean: f32, total: i64, count: u64, unit: i32) -> bool {
    let off = |x: f32| {
        // Both sides times count, in units of 2^(unit - 64).
        let x = x as f64 * 2f64.powi(64 - unit);
        assert!(x == x.trunc() && x.abs() < 2f64.powi(118));
        (x as i128 * count as i128 - ((total as i128) << 64)).abs()
    };
    off(mean) <= off(mean.next_up()) && off(mean) <= off(mean.next_down())
}

#[test]
fn the_mean_in_units_is_rounded_once() {
    let r = &mut Random(4);
    for _ in 0..20_000 {
        let count = 1 + r.next() % if r.chance(50) { 9 } else { 4_000_000_000 };
        let total = (r.next() >> (12 + r.below(50))) as i64 * if r.chance(50) { 1 } else { -1 };
        let unit = -30 + r.below(20) as i32;
        let mean = f32::mean(total, count, unit);
        // Where its neighbours are 2^-64 units apart or more.
        if mean.abs() as f64 > 2f64.powi(unit - 38) {
            assert!(is_nearest(mean, total, count, unit), "{total} / {count} of 2^{unit}: {mean:e}");
        }
        // f64 is nearest to the quotient of numbers that it holds.
        let small = total >> 11;
        let exact = small as f64 / count as f64 * 2f64.powi(unit);
        assert_eq!(f64::mean(small as i128, count, unit).to_bits(), if small == 0 { 0 } else { exact.to_bits() });
    }
    // Subnormal results are rounded once, too.
    assert_eq!(f32::mean(3, 1 << 25, -126), f32::from_bits(1));
    assert_eq!(f32::mean(1, 2, -149), f32::from_bits(0));
    assert_eq!(f32::mean(3, 2, -149), f32::from_bits(2));
    assert_eq!(f64::mean(-5, 2, -1074), -f64::from_bits(2));
    assert_eq!(f64::mean(-7, 2, -1074), -f64::from_bits(4));
    assert_eq!(f64::mean(7, 4, -1022), 1.75 * f64::MIN_POSITIVE);
}

#[test]
fn elements_are_rounded_to_units_of_the_greatest() {
    let r = &mut Random(6);
    for i in 0..20_000 {
        let greatest = f32::from_bits(r.next() as u32 & 0x7fff_ffff);
        let x = f32::from_bits(r.next() as u32);
        let x = if i % 2 == 0 { greatest * (r.below(1001) as f32 / 1000.0 - 0.5) } else { x };
        if !greatest.is_finite() || x.is_nan() || x.abs() > greatest {
            continue;
        }
        let unit = f32::unit(greatest);
        let want = (x as f64 * 2f64.powi(-unit)).round_ties_even();
        assert_eq!(x.quantize(f32::scale(unit)) as f64, want, "{x:e} in 2^{unit}");
        let (x, greatest) = (x as f64 * 1e3, greatest as f64 * 1e3);
        let unit = f64::unit(greatest);
        assert_eq!(x.quantize(f64::scale(unit)) as f64, (x * f64::scale(unit)).round_ties_even(), "{x:e} in 2^{unit}");
    }
    for greatest in [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), 1.0] {
        assert!(greatest.quantize(f32::scale(f32::unit(greatest))) > 0 || greatest < 1e-37, "{greatest:e}");
    }
    let last = f64::MAX.quantize(f64::scale(f64::unit(f64::MAX)));
    assert_eq!(last, (1 << 62) - (1 << 9));
}

#[test]
fn an_update_is_within_its_bound_and_has_the_same_bits_in_any_order() {
    let (n, d, k) = (40_000, 5, 7);
    let x = Array2::from_shape_vec((n, d), numbers(n * d, 11)).unwrap();
    let r = &mut Random(12);
    let labels: Vec<i32> = (0..n).map(|_| r.below(k + 1) as i32 - 1).collect();
    let found = centroid_update(&points(&x), labels.view_of(), k).unwrap();
    assert_eq!(found.counts.iter().sum::<i64>(), labels.iter().filter(|&&label| label >= 0).count() as i64);
    let means = found.means.clone().into_vec::<f32>().unwrap();
    for cluster in 0..k {
        for coordinate in 0..d {
            let of = (0..n).filter(|&i| labels[i] == cluster as i32).map(|i| x[[i, coordinate]] as f64);
            let exact = of.sum::<f64>() / found.counts[cluster] as f64;
            let greatest = x.column(coordinate).iter().fold(0.0, |a: f32, b| a.max(b.abs())) as f64;
            let error = (means[cluster * d + coordinate] as f64 - exact).abs();
            // The f64 sum above has an error of its own.
            assert!(error <= greatest * 2f64.powi(-31) + exact.abs() * 2f64.powi(-24) + 1e-12, "{error}");
        }
    }
    // By the scale of these points, or of more.
    let scale = points(&x).scale().unwrap();
    assert_eq!(centroid_update_with(&points(&x), labels.view_of(), k, &scale).unwrap(), found);
    assert!(scale.greatest().iter().zip(x.columns()).all(|(&a, x)| x.iter().any(|x| x.abs() as f64 == a)));
    let narrow = x.slice(ndarray::s![.., ..2]);
    let narrow = Points::new(narrow.view_of(), Axes::PointsFirst).unwrap();
    let wrong = centroid_update_with(&narrow, labels.view_of(), k, &scale).unwrap_err().to_string();
    assert!(wrong.contains("the scale is for 5 coordinates"), "{wrong}");
    // Backwards, and coordinates first.
    let back = x.slice(ndarray::s![..;-1, ..]);
    let reversed: Vec<i32> = labels.iter().rev().copied().collect();
    let again = Points::new(back.view_of(), Axes::PointsFirst).unwrap();
    assert_eq!(centroid_update(&again, reversed.view_of(), k).unwrap(), found);
    let turned = x.t().as_standard_layout().to_owned();
    let turned = Points::new(turned.view_of(), Axes::CoordinatesFirst).unwrap();
    assert_eq!(centroid_update(&turned, labels.view_of(), k).unwrap(), found);
    // The mean of nothing.
    let none = centroid_update(&points(&x), vec![-1i8; n].view_of(), 1).unwrap();
    assert!((0..d).all(|i| none.means.values.get(i).to_f64().is_nan()) && none.counts == [0]);
}

/// The label by its definition: of the least score, of several the first.
fn label(x: &[f32], centroids: &[f32], centre: &[f32]) -> i32 {
    let scores = centroids.chunks(x.len()).map(|c| {
        let c: Vec<f32> = c.iter().zip(centre).map(|(c, m)| c - m).collect();
        let half = c.iter().fold(0.0f32, |sum, c| c.mul_add(*c, sum)) * 0.5;
        let x = x.iter().zip(centre).map(|(x, m)| x - m);
        x.zip(&c).fold(half, |score, (x, c)| (-x).mul_add(*c, score))
    });
    let least = scores.enumerate().reduce(|best, next| if next.1 < best.1 { next } else { best });
    least.map_or(0, |(cluster, _)| cluster as i32)
}

#[test]
fn distances_are_trees_and_the_first_of_equals_is_nearest() {
    for d in [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 40, 100] {
        let (n, k) = (150, 6);
        let x = Array2::from_shape_vec((n, d), numbers(n * d, d as u64)).unwrap();
        let mut centroids = numbers(k * d, 77 + d as u64);
        // The last is a copy of the first.
        centroids.copy_within(..d, (k - 1) * d);
        let given = Array { shape: vec![k, d], values: Values::F32(centroids.clone()) };
        let fit =
            KMeans { init: Init::Given(given.clone()), iterations: 1, ..KMeans::new(k) }.fit(&points(&x)).unwrap();
        let fit = Fit { centroids: given, ..fit };
        let labels = fit.predict(&points(&x)).unwrap();
        let all = fit.transform(&points(&x)).unwrap().into_vec::<f32>().unwrap();
        for i in 0..n {
            let squares: Vec<f32> = (0..k)
                .map(|c| {
                    let terms = (0..d).map(|j| x[[i, j]] - centroids[c * d + j]).map(|d| d * d);
                    tree::reduce(&Sum::<f32>::total(), terms).unwrap()
                })
                .collect();
            for (c, square) in squares.iter().enumerate() {
                assert_eq!(all[i * k + c].to_bits(), square.sqrt().to_bits(), "{d} coordinates");
            }
            let x = x.row(i).to_vec();
            let centre = fit.centre.clone().into_vec::<f32>().unwrap();
            assert_eq!(labels[i], label(&x, &centroids, &centre), "{d} coordinates");
            // The bound of docs/numerics.md, with a little for its second order.
            let length = |x: &[f32]| x.iter().zip(&centre).map(|(x, m)| (*x as f64 - *m as f64).powi(2)).sum::<f64>();
            let greatest = centroids.chunks(d).map(length).fold(length(&x), f64::max);
            let bound = 6.0 * (2 * d + 3) as f64 * 2f64.powi(-24) * greatest * 1.001;
            let least = squares.iter().copied().fold(f32::INFINITY, f32::min) as f64;
            assert!(squares[labels[i] as usize] as f64 - least <= bound, "{d} coordinates");
        }
    }
}

/// Lloyd's iterations, as plainly as can be, in f64.
fn plain(x: &Array2<f32>, first: &[f32], iterations: usize) -> (Vec<i32>, f64) {
    let (n, d) = x.dim();
    let mut centroids: Vec<f64> = first.iter().map(|&c| c as f64).collect();
    let k = centroids.len() / d;
    let mut labels = vec![-1; n];
    let mut inertia = 0.0;
    for _ in 0..iterations {
        inertia = 0.0;
        let before = labels.clone();
        for i in 0..n {
            let square = |c: usize| (0..d).map(|j| (x[[i, j]] as f64 - centroids[c * d + j]).powi(2)).sum::<f64>();
            let nearest = (0..k).fold(0, |best, c| if square(c) < square(best) { c } else { best });
            (labels[i], inertia) = (nearest as i32, inertia + square(nearest));
        }
        if labels == before {
            break;
        }
        for c in 0..k {
            let of: Vec<usize> = (0..n).filter(|&i| labels[i] == c as i32).collect();
            for j in 0..d {
                centroids[c * d + j] = of.iter().map(|&i| x[[i, j]] as f64).sum::<f64>() / of.len() as f64;
            }
        }
    }
    (labels, inertia)
}

#[test]
fn clusters_are_those_of_plain_iterations() {
    for (n, d, k) in [(600, 2, 4), (500, 9, 3), (300, 1, 5)] {
        let x = blobs(n, d, k, 100 + d as u64);
        let first: Vec<f32> = x.rows().into_iter().take(k).flatten().copied().collect();
        let given = Init::Given(Array { shape: vec![k, d], values: Values::F32(first.clone()) });
        let mut inertias = Vec::new();
        let fit = KMeans { init: given, tolerance: 0.0, ..KMeans::new(k) }
            .fit_with(&points(&x), &mut |step| inertias.push(step.inertia))
            .unwrap();
        let (labels, inertia) = plain(&x, &first, 300);
        assert_eq!(fit.labels, labels);
        assert!((fit.inertia - inertia).abs() <= 1e-6 * inertia, "{} and {inertia}", fit.inertia);
        assert!(fit.converged && inertias.len() == fit.iterations);
        assert!(inertias.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6)), "{inertias:?}");
    }
}

#[test]
fn a_fit_has_the_same_bits_on_any_threads_and_in_any_layout() {
    let x = blobs(4_000, 6, 8, 5);
    let turned = x.t().as_standard_layout().to_owned();
    for init in [Init::PlusPlus, Init::Random] {
        let settings = KMeans { init, runs: 2, seed: 9, iterations: 8, ..KMeans::new(8) };
        let fit = settings.fit(&points(&x)).unwrap();
        let turned = Points::new(turned.view_of(), Axes::CoordinatesFirst).unwrap();
        for threads in [1, 2, 3] {
            let again = KMeans { threads: Some(threads), ..settings.clone() };
            assert_eq!(again.fit(&points(&x)).unwrap(), fit);
            assert_eq!(again.fit(&turned).unwrap(), fit);
        }
        for level in [Simd::Baseline, Simd::Avx2, Simd::Avx512] {
            level.limit();
            assert_eq!(settings.fit(&points(&x)).unwrap(), fit);
        }
        assert_eq!(fit.predict(&turned).unwrap(), fit.labels);
        assert_ne!(KMeans { seed: 10, ..settings }.fit(&points(&x)).unwrap().centroids, fit.centroids);
    }
    // 16-bit points are those f32.
    let half = x.mapv(f16::from_f32);
    let widened = half.mapv(f16::to_f32);
    let half = Points::new(half.view_of(), Axes::PointsFirst).unwrap();
    let fit = KMeans::new(8).fit(&half).unwrap();
    assert_eq!(fit, KMeans::new(8).fit(&points(&widened)).unwrap());
    let wide = x.mapv(f64::from);
    let wide = Points::new(wide.view_of(), Axes::PointsFirst).unwrap();
    let fit = KMeans::new(8).fit(&wide).unwrap();
    assert_eq!((fit.centroids.dtype(), fit.converged), (DType::F64, true));
}

#[test]
fn points_far_from_the_origin_lose_nothing() {
    // All but the last of 10 bits are the offset's.
    let near = Array2::from_shape_fn((400, 3), |(i, j)| ((i * 7 + j * 5) % 64) as f32 + (i % 4 * 200) as f32);
    let far = near.mapv(|x| x + 4_000_000.0);
    let first = |x: &Array2<f32>| {
        let first = x.rows().into_iter().take(4).flatten().copied().collect();
        KMeans { init: Init::Given(Array { shape: vec![4, 3], values: Values::F32(first) }), ..KMeans::new(4) }
    };
    let (near, far) = (first(&near).fit(&points(&near)).unwrap(), first(&far).fit(&points(&far)).unwrap());
    assert_eq!(near.labels, far.labels);
    assert!((near.inertia - far.inertia).abs() < 1e-3 * near.inertia);
}

#[test]
fn an_empty_cluster_moves_or_stays() {
    let x = Array2::from_shape_vec((5, 1), vec![0.0, 1.0, 2.0, 10.0, 11.0]).unwrap();
    let given = Array { shape: vec![3, 1], values: Values::F32(vec![1.0, 100.0, 200.0]) };
    let fit = |empty| {
        let settings = KMeans { init: Init::Given(given.clone()), empty, ..KMeans::new(3) };
        settings.fit(&points(&x)).unwrap()
    };
    let kept = fit(EmptyCluster::Keep);
    assert_eq!((kept.labels, kept.centroids.values.get(1)), (vec![0; 5], Scalar::F32(100.0)));
    // To 11, then 10, of which each gets itself.
    let moved = fit(EmptyCluster::Farthest);
    assert_eq!(moved.labels, [0, 0, 0, 2, 1]);
    assert_eq!(moved.inertia, 2.0);
    // Fewer different points than clusters.
    let same = Array2::from_elem((4, 2), 3.0f32);
    for init in [Init::PlusPlus, Init::Random] {
        let fit = KMeans { init, ..KMeans::new(3) }.fit(&points(&same)).unwrap();
        assert_eq!((fit.labels, fit.inertia), (vec![0; 4], 0.0));
    }
}

#[test]
fn a_point_that_is_not_finite_is_found_wherever_it_is() {
    for at in 0..300 {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = Array2::from_shape_vec((300, 2), numbers(600, 3)).expect("a shape");
            x[[at, at % 2]] = bad;
            let said = points(&x).scale().expect_err("not finite").to_string();
            assert!(said.contains(&format!("point {at} is not finite: coordinate {} is {bad}", at % 2)), "{said}");
        }
    }
}

#[test]
fn bad_points_and_settings_say_what_is_wrong() {
    let mut x = blobs(50, 3, 2, 1);
    let says = |got: Result<Fit, warpfold::Error>, words: &str| {
        let text = got.unwrap_err().to_string();
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    };
    says(KMeans::new(0).fit(&points(&x)), "from 1 to");
    says(KMeans::new(51).fit(&points(&x)), "50 points cannot be 51 clusters");
    says(KMeans { iterations: 0, ..KMeans::new(2) }.fit(&points(&x)), "at least one iteration");
    says(KMeans { tolerance: f64::NAN, ..KMeans::new(2) }.fit(&points(&x)), "tolerance");
    let given = |shape: &[usize], x: f64| {
        let values = Values::F64(vec![x; shape.iter().product()]);
        KMeans { init: Init::Given(Array { shape: shape.to_vec(), values }), ..KMeans::new(2) }
    };
    says(given(&[2, 2], 0.0).fit(&points(&x)), "shape [2, 2], it must be [2, 3]");
    says(given(&[2, 3], f64::INFINITY).fit(&points(&x)), "must be finite");
    let fit = KMeans::new(2).fit(&points(&x)).unwrap();
    let wide = x.mapv(f64::from);
    let wide = Points::new(wide.view_of(), Axes::PointsFirst).unwrap();
    assert!(fit.predict(&wide).unwrap_err().to_string().contains("the points 3 of f64"));
    x[[40, 1]] = f32::NEG_INFINITY;
    x[[45, 0]] = f32::NAN;
    says(KMeans::new(2).fit(&points(&x)), "point 40 is not finite: coordinate 1 is -inf");
    assert!(centroid_update(&points(&x), vec![0u8; 50].view_of(), 1).is_err());
    x[[40, 1]] = f32::MAX;
    x[[45, 0]] = 0.0;
    says(KMeans::new(2).fit(&points(&x)), "overflows");
    x[[40, 1]] = 1.0;
    says(given(&[2, 3], 1e19).fit(&points(&x)), "overflows");
    assert!(given(&[2, 3], 1e18).fit(&points(&x)).is_ok());
    let integers = [1i32, 2];
    let text = Points::new(integers.view_of(), Axes::PointsFirst).unwrap_err().to_string();
    assert!(text.contains("coordinates must be floats, these are i32"), "{text}");
}
