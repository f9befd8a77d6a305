//! What each element along an axis of a result takes from the axis of the source: an output the inputs of its window,
//! an input the windows that hold it.
//!
//! Either way elements of the result fall into groups of equal steps, in each of which the element number j takes the
//! source elements `offset + j * sources` for a list of offsets, as far as they are on the axis. So neighbours of a
//! group take neighbours, and vectors go along j.

use std::ops::Range;

use warpfold_core::pool::Window;

/// A source element relative to that of the element number 0 of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tap {
    /// Of the element that number 0 takes. It may be before the axis.
    offset: isize,
    /// The numbers whose elements are on the axis.
    from: usize,
    /// Their end.
    to: usize,
}

/// Elements of a result that are a step apart.
#[derive(Debug)]
pub struct Group {
    /// The first.
    pub first: usize,
    /// In the order of the source elements. Each is on the axis for some number.
    taps: Vec<Tap>,
    /// Numbers that take elements of the same taps.
    pub stretches: Vec<Stretch>,
}

/// Numbers of a group that take elements of the same taps.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Numbers.
    pub numbers: Range<usize>,
    /// Which of the group's taps.
    pub taps: Range<usize>,
    /// Taps of their windows with padding. (Of a result that is inputs, 0.)
    pub padded: usize,
}

/// What the elements along an axis of a result take.
#[derive(Debug)]
pub struct Reach {
    /// The length of the result's axis.
    pub targets: usize,
    /// The length of the source's axis.
    pub sources: usize,
    /// From an element of a group to the next.
    pub target_step: usize,
    /// Between the source elements of both.
    pub source_step: usize,
    /// They share all elements of the result.
    pub groups: Vec<Group>,
    window: Window,
    backward: bool,
}

impl Reach {
    /// What outputs take: the elements of `len` inputs that are in their window.
    pub fn forward(window: Window, len: usize, outputs: usize) -> Self {
        let taps = taps(&window, len, outputs).into_iter();
        let offsets = taps.map(|tap| (tap * window.dilation) as isize - window.padding as isize);
        let group = Group::new(0, offsets, (outputs, len, window.stride), |output| window.padded(output, len));
        Self {
            targets: outputs,
            sources: len,
            target_step: 1,
            source_step: window.stride,
            groups: vec![group],
            window,
            backward: false,
        }
    }

    /// What `len` inputs take: the windows that hold them.
    pub fn backward(window: Window, len: usize, outputs: usize) -> Self {
        let (stride, padding) = (window.stride, window.padding as isize);
        let mut offsets: Vec<Vec<isize>> = vec![Vec::new(); stride.min(len)];
        for tap in taps(&window, len, outputs).into_iter().rev() {
            // Input `stride * j + first` is at this tap of window `j + offset`.
            let at = (tap * window.dilation) as isize - padding;
            if let Some(of_first) = offsets.get_mut(at.rem_euclid(stride as isize) as usize) {
                of_first.push(-at.div_euclid(stride as isize));
            }
        }
        let group = |(first, offsets): (usize, Vec<isize>)| {
            Group::new(first, offsets.into_iter(), ((len - first).div_ceil(stride), outputs, 1), |_| 0)
        };
        let groups = offsets.into_iter().enumerate().map(group).collect();
        Self { targets: len, sources: outputs, target_step: stride, source_step: 1, groups, window, backward: true }
    }

    /// The source elements that an element takes, in order.
    pub fn sources_of(&self, target: usize, to: &mut Vec<usize>) {
        let (group, j) = (&self.groups[target % self.target_step], target / self.target_step);
        let on_axis = group.taps.iter().filter(|tap| (tap.from..tap.to).contains(&j));
        to.clear();
        to.extend(on_axis.map(|tap| tap.offset.wrapping_add_unsigned(j * self.source_step) as usize));
    }

    /// The source elements from the first to the last that some elements may take.
    pub fn span(&self, targets: &Range<usize>) -> Range<usize> {
        let Window { stride, padding, .. } = self.window;
        let reach = self.window.extent().expect("the window has been checked") - 1;
        let last = targets.end - 1;
        let (from, to) = match self.backward {
            false => {
                ((targets.start * stride).saturating_sub(padding), (last * stride + reach + 1).saturating_sub(padding))
            }
            true => ((targets.start + padding).saturating_sub(reach).div_ceil(stride), (last + padding) / stride + 1),
        };
        let from = from.min(self.sources);
        from..to.clamp(from, self.sources)
    }

    /// The number of source elements that an element takes.
    pub fn count(&self, target: usize) -> usize {
        let (group, j) = (&self.groups[target % self.target_step], target / self.target_step);
        group.taps.iter().filter(|tap| (tap.from..tap.to).contains(&j)).count()
    }

    /// Taps of the window of an output with its padding, of a forward reach without dilation.
    pub fn padded(&self, output: usize) -> usize {
        self.window.padded(output, self.sources)
    }
}

/// The taps that are on an axis of `len` elements in some window.
fn taps(window: &Window, len: usize, outputs: usize) -> Vec<usize> {
    let Window { stride, padding, dilation, size, .. } = *window;
    let of = |first: usize, last: usize| {
        let from = padding.saturating_sub(last * stride).div_ceil(dilation);
        from..(len + padding).saturating_sub(first * stride).div_ceil(dilation).min(size)
    };
    if stride <= len {
        return of(0, outputs - 1).collect();
    }
    // Between the taps of neighbouring windows are taps that are padding in both. There are two windows at most.
    let mut taps: Vec<usize> = (0..outputs).flat_map(|output| of(output, output)).collect();
    taps.sort_unstable();
    taps.dedup();
    taps
}

impl Group {
    /// A group of so many elements, whose source has so many elements, of which neighbours take elements a step apart.
    fn new(
        first: usize,
        offsets: impl Iterator<Item = isize>,
        (n, sources, step): (usize, usize, usize),
        padded: impl Fn(usize) -> usize,
    ) -> Self {
        let on_axis = |offset: isize| {
            let from = offset.min(0).unsigned_abs().div_ceil(step);
            let to = (sources as isize - offset).max(0).unsigned_abs().div_ceil(step).min(n);
            Tap { offset, from: from.min(to), to }
        };
        let taps: Vec<Tap> = offsets.map(on_axis).filter(|tap| tap.from < tap.to).collect();
        // Only the last window may go beyond the padding.
        let mut ends: Vec<usize> = taps.iter().flat_map(|tap| [tap.from, tap.to]).chain([0, n - 1, n]).collect();
        ends.sort_unstable();
        ends.dedup();
        let stretch = |ends: &[usize]| {
            // Offsets ascend: the first taps are before the axis, the last ones behind its end.
            let from = taps.partition_point(|tap| tap.from > ends[0]);
            let to = taps.partition_point(|tap| tap.to > ends[0]).max(from);
            Stretch { numbers: ends[0]..ends[1], taps: from..to, padded: padded(ends[0]) }
        };
        let stretches = ends.windows(2).map(stretch).collect();
        Self { first, taps, stretches }
    }

    /// The source elements that the number 0 takes by some taps, counted from `base`.
    pub fn offsets(&self, taps: &Range<usize>, base: usize) -> impl Iterator<Item = isize> {
        self.taps[taps.clone()].iter().map(move |tap| tap.offset.wrapping_sub_unsigned(base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an element takes, by the definition of the windows.
    fn wanted(window: &Window, (len, outputs): (usize, usize), target: usize, backward: bool) -> Vec<usize> {
        let inputs = |output: usize| (0..window.size).filter_map(move |tap| window.input(output, tap, len));
        match backward {
            false => inputs(target).collect(),
            true => (0..outputs).filter(|&output| inputs(output).any(|input| input == target)).collect(),
        }
    }

    #[test]
    fn elements_take_those_of_their_windows() {
        let mut cases = 0;
        for i in 0..6 * 5 * 4 * 3 * 2 * 12 {
            let [size, stride, padding, dilation, ceil, len] =
                [(1, 6), (6, 5), (30, 4), (120, 3), (360, 2), (720, 12)].map(|(by, n)| i / by % n);
            let (size, stride, dilation, len) = (size + 1, stride + 1, dilation + 1, len + 1);
            let window = Window { size, stride, padding: padding.min(size / 2), dilation, ceil_mode: ceil == 1 };
            let outputs = window.outputs(len).unwrap();
            if outputs == 0 {
                continue;
            }
            cases += 1;
            for backward in [false, true] {
                let of = if backward { Reach::backward } else { Reach::forward };
                let reach = of(window, len, outputs);
                let mut covered = vec![0; reach.targets];
                for group in &reach.groups {
                    for stretch in &group.stretches {
                        for j in stretch.numbers.clone() {
                            let target = group.first + j * reach.target_step;
                            covered[target] += 1;
                            let want = wanted(&window, (len, outputs), target, backward);
                            let step = (reach.source_step * j) as isize;
                            let taken = group.offsets(&stretch.taps, 0).map(|at| (at + step) as usize);
                            let got: Vec<usize> = taken.collect();
                            assert_eq!(got, want, "{window:?} {len} {target} {backward}");
                            let mut sources = Vec::new();
                            reach.sources_of(target, &mut sources);
                            assert_eq!(sources, want, "{window:?} {len} {target} {backward}");
                            let span = reach.span(&(target..target + 1));
                            assert!(want.iter().all(|source| span.contains(source)), "{window:?} {len} {span:?}");
                        }
                    }
                }
                assert!(covered.iter().all(|&n| n == 1), "{window:?} {len}: {covered:?}");
            }
        }
        assert!(cases > 5000, "{cases}");
    }

    #[test]
    fn huge_windows_take_no_more_than_the_axis() {
        let window = Window { size: 1 << 40, stride: 1 << 39, padding: 1 << 39, dilation: 1, ceil_mode: true };
        let outputs = window.outputs(10).unwrap();
        assert_eq!(outputs, 2);
        for reach in [Reach::forward(window, 10, 2), Reach::backward(window, 10, 2)] {
            assert!(reach.groups.len() <= 10 && reach.groups.iter().all(|group| group.taps.len() <= 20), "{reach:?}");
        }
    }
}
