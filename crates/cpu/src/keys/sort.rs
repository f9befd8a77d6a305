//! Sorting, cut over threads, between whose tasks an interrupt ends the work: a stable counting sort, and a sort of any
//! keys, which go to buckets between splitters, so that each bucket is sorted by itself.

use std::ops::Range;

use crate::output::{Output, large_pages};
use crate::parallel;

/// Keys that a task reads.
const TASK: usize = 1 << 16;

/// The fewest keys that buckets are worth.
const LEAST: usize = 1 << 15;
/// The keys of a bucket, about, and the least and the greatest number of buckets. A bucket is sorted in one step, which
/// takes some tens of ms.
const BUCKET: usize = 1 << 19;
const BUCKETS: std::ops::RangeInclusive<usize> = 64..=512;
/// Keys that a splitter is chosen of.
const EACH: usize = 16;

/// Sorts keys of which equal ones cannot be told apart.
pub(super) fn sort<K: Ord + Copy + Send + Sync>(keys: &mut Vec<K>) {
    if keys.len() < LEAST {
        return keys.sort_unstable();
    }
    let number = (keys.len() / BUCKET).clamp(*BUCKETS.start(), *BUCKETS.end());
    let mut some: Vec<K> = keys.iter().copied().step_by(keys.len() / (number * EACH)).collect();
    some.sort_unstable();
    let splitters: Vec<K> = (1..number).map(|i| some[i * EACH]).collect();
    let bucket = |i: usize| splitters.partition_point(|splitter| *splitter <= keys[i]);
    let (starts, mut sorted) = counting_sort(keys.len(), number, bucket, |i| keys[i]);
    let (mut rest, mut buckets) = (&mut sorted[..], Vec::with_capacity(number));
    for pair in starts.windows(2) {
        let (bucket, after) = rest.split_at_mut(pair[1] - pair[0]);
        buckets.push(bucket);
        rest = after;
    }
    parallel::chunks(&mut buckets, 1, |_, buckets| buckets.iter_mut().for_each(|bucket| bucket.sort_unstable()));
    *keys = sorted;
}

/// An empty vector with room for `n` items, in large pages if they are many.
pub(super) fn room_for<T>(n: usize) -> Vec<T> {
    let mut items = Vec::with_capacity(n);
    large_pages(&mut items.spare_capacity_mut()[..n]);
    items
}

/// The pieces of a part between which the caller may look.
pub(super) fn tasks(part: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    part.clone().step_by(TASK).map(move |from| {
        parallel::look();
        from..part.end.min(from + TASK)
    })
}

/// Sorts the items 0 to `n` by their keys, which are below `keys`, stably. Returns the first place of each key, the end
/// of the last key, and the items.
pub(super) fn counting_sort<T: Copy + Send>(
    n: usize,
    keys: usize,
    key: impl Fn(usize) -> usize + Sync,
    item: impl Fn(usize) -> T + Sync,
) -> (Vec<usize>, Vec<T>) {
    // Parts are many times longer than their tables of counters.
    let parts = (n / (4 * keys).max(TASK)).clamp(1, parallel::threads());
    let part = |i: usize| n * i / parts..n * (i + 1) / parts;
    let count = |i: usize| {
        // Two tables of counters, so that equal neighbours need not wait for each other.
        let [mut even, mut odd] = [(); 2].map(|()| vec![0usize; keys]);
        for range in tasks(part(i)) {
            for i in range.clone().step_by(2) {
                even[key(i)] += 1;
                if i + 1 < range.end {
                    odd[key(i + 1)] += 1;
                }
            }
        }
        even.iter_mut().zip(odd).for_each(|(even, odd)| *even += odd);
        even
    };
    let mut places: Vec<Vec<usize>> = parallel::map(parts, count);
    // An exclusive scan: the counts of each key and part become the places of their first items.
    let mut starts = Vec::with_capacity(keys + 1);
    let mut next = 0;
    for key in 0..keys {
        starts.push(next);
        for part in &mut places {
            next += std::mem::replace(&mut part[key], next);
        }
    }
    starts.push(next);
    let mut items: Vec<T> = room_for(n);
    let room = Output::new(&mut items.spare_capacity_mut()[..n]);
    let scatter = |of_part: usize, places: &mut [Vec<usize>]| {
        let [places] = places else { return };
        for range in tasks(part(of_part)) {
            for i in range {
                let place = &mut places[key(i)];
                // SAFETY: by the scan, each part and key has places of its own, as many as items.
                unsafe { room.write(*place as isize, item(i)) };
                *place += 1;
            }
        }
    };
    parallel::chunks(&mut places, 1, scatter);
    // SAFETY: there are as many places as items, and each item has been written to one of its own.
    unsafe { items.set_len(n) };
    (starts, items)
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
