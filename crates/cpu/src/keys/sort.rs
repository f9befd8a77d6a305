//! Sorting in tasks: keys go to buckets between splitters, and each bucket is sorted by itself. So both steps run on all
//! threads, and an interrupt ends them between tasks.

use super::labels::counting_sort;
use crate::parallel;

/// The fewest keys that buckets are worth.
const LEAST: usize = 1 << 15;
const BUCKETS: usize = 64;
/// Keys that a splitter is chosen of.
const EACH: usize = 16;

/// Sorts keys of which equal ones cannot be told apart.
pub(super) fn sort<K: Ord + Copy + Send + Sync>(keys: &mut Vec<K>) {
    if keys.len() < LEAST {
        return keys.sort_unstable();
    }
    let mut some: Vec<K> = keys.iter().copied().step_by(keys.len() / (BUCKETS * EACH)).collect();
    some.sort_unstable();
    let splitters: Vec<K> = (1..BUCKETS).map(|i| some[i * EACH]).collect();
    let bucket = |i: usize| splitters.partition_point(|splitter| *splitter <= keys[i]);
    let (starts, mut sorted) = counting_sort(keys.len(), BUCKETS, bucket, |i| keys[i]);
    let (mut rest, mut buckets) = (&mut sorted[..], Vec::with_capacity(BUCKETS));
    for pair in starts.windows(2) {
        let (bucket, after) = rest.split_at_mut(pair[1] - pair[0]);
        buckets.push(bucket);
        rest = after;
    }
    parallel::chunks(&mut buckets, 1, |_, buckets| buckets.iter_mut().for_each(|bucket| bucket.sort_unstable()));
    *keys = sorted;
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn keys_are_sorted() {
        for n in [0, 1, 1000, (1 << 15) - 1, 1 << 15, 100_003] {
            for modulus in [1, 3, 1 << 20, u64::MAX] {
                let key = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % modulus;
                let mut keys: Vec<u64> = (0..n).map(key).collect();
                let mut want = keys.clone();
                want.sort();
                sort(&mut keys);
                assert_eq!(keys, want, "{n} keys below {modulus}");
            }
        }
    }
}
