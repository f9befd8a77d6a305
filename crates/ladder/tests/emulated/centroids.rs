//! Family C: sums within tolerance, counts exact, no faults; and the published forms, which are wrong.

use crate::compare::{floats, is_sum, noise};
use warpfold_emulator::Kind;
use warpfold_kernels::ladder::{Family, Form, rungs};
use warpfold_ladder::{Sizes, Tuning, emulate_centroids};

struct Problem {
    points: Vec<f32>,
    labels: Vec<i32>,
    sizes: Sizes,
}

fn problem(points: usize, clusters: u32, coords: u32) -> Problem {
    Problem {
        points: floats(points * coords as usize),
        labels: noise(points, 5).map(|bits| (bits % clusters) as i32).collect(),
        sizes: Sizes { points: points as u64, clusters, coords },
    }
}

impl Problem {
    /// The first cell that is wrong.
    fn wrong(&self, sums: &[f32], counts: &[u32]) -> Option<String> {
        let Sizes { points, clusters, coords } = self.sizes;
        let members = |c: u32| (0..points as usize).filter(move |&i| self.labels[i] == c as i32);
        for c in 0..clusters {
            if counts[c as usize] as usize != members(c).count() {
                return Some(format!("count of cluster {c}"));
            }
            for a in 0..coords {
                let x: Vec<f32> = members(c).map(|i| self.points[a as usize * points as usize + i]).collect();
                // In the worst order, one after the other.
                let depth = x.len() as u64;
                if let Err(wrong) = is_sum(sums[(c * coords + a) as usize], &x, depth) {
                    return Some(format!("sum of cluster {c}, coordinate {a}: {wrong}"));
                }
            }
        }
        None
    }
}

#[test]
fn every_rung_updates_centroids() {
    for rung in rungs().iter().filter(|r| r.family == Family::C && r.form == Form::Sound) {
        for (points, clusters, coords) in [(1000, 16, 1), (1000, 16, 3), (777, 16, 16), (31, 3, 2), (1, 32, 64)] {
            for &block in rung.blocks.iter().filter(|b| [128, 256].contains(b)) {
                let p = problem(points, clusters, coords);
                let tuning = Tuning { block: Some(block), coarsen: None };
                let ran = emulate_centroids(rung.name, &p.points, &p.labels, p.sizes, tuning).expect("a plan");
                let what = format!("{} at {:?}, block {block}", rung.name, p.sizes);
                assert!(ran.faults.is_empty(), "{what}: {}", ran.faults[0]);
                assert_eq!(p.wrong(&ran.result.sums, &ran.result.counts), None, "{what}");
            }
        }
    }
}

#[test]
fn c1_as_published_reads_past_the_tail() {
    let p = problem(1000, 16, 1);
    let run = |p: &Problem| emulate_centroids("c1_as_published", &p.points, &p.labels, p.sizes, Tuning::default());
    let ran = run(&p).expect("a plan");
    assert!(ran.faults.iter().any(|f| f.kind == Kind::OutOfBounds), "{:?}", ran.faults);
    let p = problem(1024, 16, 1);
    assert!(run(&p).expect("a plan").faults.is_empty());
}

#[test]
fn c3_and_c7_as_published_are_right_with_one_coordinate_and_wrong_with_three() {
    for name in ["c3_as_published", "c7_as_published"] {
        for (coords, is_right) in [(1, true), (3, false)] {
            let p = problem(2048, 16, coords);
            let ran = emulate_centroids(name, &p.points, &p.labels, p.sizes, Tuning::default()).expect("a plan");
            assert_eq!(p.wrong(&ran.result.sums, &ran.result.counts).is_none(), is_right, "{name} at {coords}");
        }
    }
}
