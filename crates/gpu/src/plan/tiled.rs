//! Plans of reductions in the order of the tree of elements that lie in another order: tiles of memory leave parts of
//! whole subtrees, which another launch reduces. Every element is read once, and nothing is copied.

use std::cmp::Reverse;

use warpfold_array::problem::{Dim, Problem};
use warpfold_kernels::reduce::any::{Stride, Strides};
use warpfold_kernels::reduce::shape::map::Divisor;
use warpfold_kernels::reduce::shape::parts::room;
use warpfold_kernels::reduce::shape::tiled::{ROWS, Tiled, WIDE, WINDOW};
use warpfold_kernels::reduce::table::KEPT;

use super::choose::Fold;
use super::limits::Limits;
use super::near::is_near;
use super::parts::{joined, numbered, parting};
use super::policy::TILED_BYTES;
use super::transpose::{Asked, Copied};

/// Folds of tiles.
const FOLDS: [&str; 3] = ["sum", "var", "logsumexp"];

/// The fold of tiles that has the bits of another. None, if order does not matter, or if a copy is as fast: where
/// floats are described, of which 256 MiB took an H200 669 us so, and 397 by a copy, and of integers' variances.
fn fold(of: &Fold) -> Option<Fold> {
    let (name, input) = of.name.split_once('_').filter(|(name, _)| FOLDS.contains(name))?;
    let value = match input {
        "f16" | "bf16" | "f32" => "f32",
        "f64" => "f64",
        _ => return None,
    };
    Fold::of(format!("{name}_{value}"), false)
}

/// The way along axes, of which the last given varies fastest, and how many places there are.
fn way(axes: &[Dim]) -> (Strides<KEPT>, u64) {
    let mut way = Strides { axes: axes.len() as u64, axis: [Stride::default(); KEPT] };
    for (to, axis) in way.axis.iter_mut().zip(axes.iter().rev()) {
        *to = Stride { len: axis.len as u64, x: axis.x as i64, mask: 0 };
    }
    (way, axes.iter().map(|axis| axis.len as u64).product())
}

/// Plans both launches. None, if elements of no reduced axis share lines.
pub(super) fn tiled(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let fold = fold(asked.fold)?;
    let Problem { kept, reduced, size, count, .. } = problem;
    // Of few columns most lanes would read nothing.
    let way_of = |&i: &usize| (reduced[i].len.min(WIDE as usize), Reverse(reduced[i].x.unsigned_abs()));
    let side = (0..reduced.len()).filter(|&i| is_near(reduced[i].x, *size)).max_by_key(way_of)?;
    let (columns, rows) = reduced.split_at(side + 1);
    if kept.len().max(columns.len()).max(rows.len()) > KEPT || count * size < TILED_BYTES {
        return None;
    }
    let ((across, columns), (down, rows)) = (way(columns), way(rows));
    // One row is in order already. Its runs are short, or in too many axes: a copy reads them with what is between.
    if rows == 1 {
        return None;
    }
    // Elements of a window; a tile has as many windows as a block has threads.
    let window = (WINDOW / if fold.name.ends_with("f64") { 8 } else { 4 }) as u64;
    let whole = rows <= 256;
    let (wide, fresh) = if whole {
        let most = 256 * window / rows;
        (1 << most.min(columns.next_power_of_two().max(window)).ilog2(), rows)
    } else {
        let least = (256 * window / ROWS as u64).next_power_of_two();
        let wide = columns.next_power_of_two().clamp(least, WIDE);
        let below = rows.div_ceil((256 / wide - 1) * window);
        (wide, rows.div_ceil(window * below) * window)
    };
    let numbered = numbered(problem);
    let asked = Asked { spec: asked.spec, fold: &fold, described: asked.described };
    let planner = parting(&asked, &numbered, limits);
    let parts = (*count as u64).div_ceil(window);
    let outer: Vec<Dim> =
        numbered.kept.iter().map(|axis| Dim { out: axis.out * room(parts) as isize, ..*axis }).collect();
    let shape = Tiled {
        outputs: planner.outputs::<KEPT>(&outer),
        across,
        down,
        columns,
        rows,
        beside: Divisor::new(columns.div_ceil(wide)),
        below: Divisor::new(rows.div_ceil(fresh)),
        wide: wide as u32,
        fresh: fresh as u32,
        whole: whole as u32,
        size: *size as u32,
    };
    let grid = shape.outputs.total * shape.beside.by * shape.below.by;
    let first = planner.launch(format!("tiled_{}", fold.name), grid, 8, shape);
    joined(first, parts, &asked, problem, limits)
}
