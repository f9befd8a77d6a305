//! Elements that share lines of memory, or banks of shared memory.

use warpfold_array::problem::{Dim, Problem};

use super::choose::Fold;
use super::policy::{BESIDE_BYTES, NESTED_BYTES, RUN_BYTES};
use super::units::SUBTREES;

/// Elements from one to the next, up to which they are read where they lie. Not measured.
const STEPS: usize = 4;

/// Whether elements of so many bytes lie side by side or a few steps apart, and so have lines in common.
pub(super) fn is_near(step: isize, size: usize) -> bool {
    step.unsigned_abs() <= STEPS * size
}

/// Whether they are some steps apart, upwards.
pub(super) fn is_stepped(step: isize, size: usize) -> bool {
    step > size as isize && is_near(step, size)
}

/// Whether elements of 4 bytes and more that follow one another have those of other reduced axes between them. On an
/// H200, sum f32 (3,22369621) in Fortran order took 217 us by tiles, and 389 by stretches; but bf16 (4,33554432) 217
/// and 119. So do logarithms of sums of 2 bytes, if stretches are not whole subtrees: with those, bf16 (4,33554432)
/// took 217 us, and 396 by tiles (`plans-first-raw.txt.xz`).
pub(super) fn is_between(fold: &Fold, Problem { kept, reduced, size, .. }: &Problem) -> bool {
    let is_read = kept.iter().chain(reduced).all(|axis| axis.x != 0);
    let in_stretches = matches!(reduced[..], [columns, run] if columns.x == *size as isize
        && run.x == columns.x * columns.len as isize
        && run.len.is_multiple_of(1 << SUBTREES.start));
    let is_tiled = *size >= 4 || fold.name.starts_with("logsumexp") && !in_stretches;
    is_read && reduced.len() > 1 && is_tiled && reduced.last().is_some_and(|run| is_stepped(run.x, *size))
}

/// Whether columns as wide as a warp's lanes read at once have rows in several runs, and order matters: the kernel for
/// such rows takes half as many lanes. On an H200 (`plans-raw.txt.xz`), norm bf16 (256,64,8192) of axes 1 and 2 in
/// Fortran order took 220 us so, and 88 by subtrees; var f32 (256,64,4,1024) of axes 0 and 3 in order 3,0,1,2 121 and
/// 88.
pub(super) fn is_broad(fold: &Fold, Problem { kept, reduced, size, .. }: &Problem) -> bool {
    let is_wide = |columns: &Dim| columns.x == *size as isize && columns.len as u64 >= 32 * fold.facts.wide;
    fold.facts.ordered && reduced.len() > 1 && kept.last().is_some_and(is_wide)
}

/// Whether outputs have short runs of their few elements in turn, so that none has a sector to itself.
pub(super) fn is_nested(Problem { kept, reduced, size, count, .. }: &Problem) -> bool {
    let short = |axis: &Dim| axis.x > 0 && axis.len * axis.x as usize <= BESIDE_BYTES;
    let run = reduced.split_last().filter(|(run, far)| !far.is_empty() && run.x == *size as isize && run.len > 1);
    let few = count * size <= NESTED_BYTES;
    few && run.is_some_and(|(run, far)| {
        kept.last().is_some_and(|axis| short(axis) && axis.x > run.x && far.iter().all(|far| far.x > axis.x))
    })
}

/// Kept axes, none or one, which lie with all turns of an output in one short stretch of memory, and none between these
/// stretches: of outputs whose short runs take turns, or those whose inner axis has the longer steps. Norms of f64
/// (1398101,6,2,2) along axes 2 and 3 in order 1,0,3,2 took an H200 601 us where elements lie.
pub(super) fn inside(problem: &Problem) -> Option<usize> {
    let Problem { kept, reduced, size, count, .. } = problem;
    if is_nested(problem) {
        return Some(1);
    }
    let [far, run] = reduced[..] else { return None };
    if far.x <= 0 || run.x <= far.x || count * size > NESTED_BYTES {
        return None;
    }
    (0..=1.min(kept.len().saturating_sub(1))).find(|&own| {
        let (outer, own) = kept.split_at(kept.len() - own);
        let axes = || own.iter().chain(reduced);
        let last: usize = axes().map(|axis| (axis.len - 1) * axis.x.unsigned_abs()).sum();
        let elements: usize = axes().map(|axis| axis.len).product();
        let is_dense = last + size <= 2 * elements * size && own.iter().all(|axis| axis.x > 0);
        is_dense && outer.last().is_some_and(|along| along.x >= (last + size) as isize)
    })
}

/// Whether elements that follow one another have some of an outer reduced axis between them, or lie in short runs with
/// such between these, and order matters: lanes that take neighbours would read the same lines again and again. Sums of
/// f16 (2097152,2,32) in order 0,2,1 took an H200 2294 us where elements lie.
pub(super) fn is_crossed(fold: &Fold, Problem { reduced, .. }: &Problem) -> bool {
    let crosses = |run: &Dim, far: &[Dim]| far.iter().any(|far| far.x.unsigned_abs() < run.x.unsigned_abs());
    let [rest @ .., run] = &reduced[..] else { return false };
    let is_short = run.len * run.x.unsigned_abs() < RUN_BYTES;
    let turns = rest.split_last().is_some_and(|(next, far)| is_short && crosses(next, far));
    fold.facts.ordered && (crosses(run, rest) || turns)
}

/// How many of the lanes that read at once want different words of one of so many banks.
pub(super) fn conflicts(words: impl Iterator<Item = usize>, banks: usize) -> usize {
    let mut different: Vec<usize> = words.collect();
    different.sort_unstable();
    different.dedup();
    let mut of_bank = vec![0; banks];
    different.iter().for_each(|word| of_bank[word % banks] += 1);
    of_bank.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::conflicts;

    #[test]
    fn lanes_conflict_if_they_want_other_words_of_a_bank() {
        assert_eq!(conflicts(0..32, 32), 1);
        assert_eq!(conflicts((0..32).map(|lane| 3 * lane), 32), 1);
        assert_eq!(conflicts((0..32).map(|lane| 4 * lane), 32), 4);
        assert_eq!(conflicts((0..32).map(|lane| 96 * lane), 32), 32);
        // One word is read once for all lanes.
        assert_eq!(conflicts((0..32).map(|lane| lane / 2), 32), 1);
        assert_eq!(conflicts((0..32).map(|_| 7), 32), 1);
    }
}
