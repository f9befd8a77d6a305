//! What lanes of a warp do together: barriers, shuffles, votes.

use super::counters::Counters;
use super::fault::{Fault, Kind};
use super::state::{Block, State};
use super::wait::{Ask, Wait};

impl Block<'_> {
    /// Answers every operation of a warp whose lanes have all arrived; false if there was none.
    pub(super) fn answer_warp(&self, warp: usize) -> bool {
        let mut state = self.state.borrow_mut();
        let mut answered = false;
        for lane in 0..32 {
            if let Some((mask, present)) = self.arrived(&state, warp, lane)
                && present == mask
                && mask >> lane & 1 == 1
            {
                self.answer(&mut state, warp, mask);
                answered = true;
            }
        }
        answered
    }

    /// For a waiting lane: the mask that it names, and those lanes that wait for the same.
    fn arrived(&self, state: &State, warp: usize, lane: usize) -> Option<(u32, u32)> {
        let Some(Wait::Warp { mask, ask, .. }) = state.waits.get(warp * 32 + lane) else { return None };
        let same = |l: &usize| {
            matches!(state.waits.get(warp * 32 + l),
                Some(Wait::Warp { mask: m, ask: a, .. }) if m == mask && a.agrees(ask))
        };
        let present = (0..32).filter(same).fold(0u32, |bits, l| bits | 1 << l);
        Some((*mask, present & *mask))
    }

    /// Carries out the operation that the lanes of `mask` wait for, and lets them go.
    fn answer(&self, state: &mut State, warp: usize, mask: u32) {
        let first = warp * 32 + mask.trailing_zeros() as usize;
        let Wait::Warp { ask: kind, site, .. } = state.waits[first] else { return };
        let asks: [Option<Ask>; 32] = core::array::from_fn(|l| match state.waits.get(warp * 32 + l) {
            Some(Wait::Warp { ask, .. }) if mask >> l & 1 == 1 => Some(*ask),
            _ => None,
        });
        let ballot =
            (0..32).filter(|&l| matches!(asks[l], Some(Ask::Vote { vote: true }))).fold(0, |b, l| b | 1u32 << l);
        for (lane, ask) in asks.iter().enumerate().filter_map(|(l, a)| a.map(|a| (l, a))) {
            let thread = warp * 32 + lane;
            state.answers[thread] = match ask {
                Ask::Barrier => 0,
                Ask::Vote { .. } => ballot,
                Ask::Words(words) => {
                    state.warps[warp].words[lane] = words;
                    0
                }
                Ask::Shuffle { way, by, value } => {
                    let source = way.source(lane as u32, by) as usize;
                    match asks[source] {
                        Some(Ask::Shuffle { value, .. }) => value,
                        _ => {
                            self.inactive(state, thread, warp * 32 + source);
                            value
                        }
                    }
                }
            };
        }
        let one = match kind {
            Ask::Barrier => {
                state.warps[warp].join(mask);
                Counters { warp_barriers: 1, ..Counters::default() }
            }
            Ask::Shuffle { .. } => Counters { shuffles: 1, ..Counters::default() },
            Ask::Vote { .. } => Counters { votes: 1, ..Counters::default() },
            Ask::Words(_) => Counters::default(),
        };
        let active_lanes = u64::from(mask.count_ones());
        state.table.add(site, None, &Counters { requests: 1, active_lanes, ..one });
        for lane in (0..32).filter(|&l| asks[l].is_some()) {
            state.waits[warp * 32 + lane] = Wait::Ready;
        }
    }

    /// When nothing in the block can run and lanes still wait for others: reports each operation, and completes it with
    /// the lanes that did come.
    pub(super) fn force_warps(&self) {
        let mut state = self.state.borrow_mut();
        for thread in 0..state.waits.len() {
            let (warp, lane) = (thread / 32, thread % 32);
            let Some((mask, present)) = self.arrived(&state, warp, lane) else { continue };
            let absent = (mask & !present).trailing_zeros() as usize;
            let outsider = mask >> lane & 1 == 0;
            self.inactive(&mut state, thread, if outsider { thread } else { warp * 32 + absent });
            let present = if outsider { 1 << lane } else { present };
            self.answer(&mut state, warp, present);
        }
    }

    fn inactive(&self, state: &mut State, thread: usize, other: usize) {
        let kind = match state.waits[thread] {
            Wait::Warp { ask: Ask::Barrier, .. } => Kind::BarrierDivergence,
            _ => Kind::InactiveLane,
        };
        let act = self.waiting(state, thread);
        let other = (other != thread && other < state.waits.len()).then(|| self.waiting(state, other));
        state.log.push(Fault { kind, act, other, place: None, occurrences: 1 });
    }
}
