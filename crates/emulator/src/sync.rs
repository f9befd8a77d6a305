//! Ordering between blocks: releases and acquires through atomics.
//!
//! Each address keeps the log of its acquire-release additions. To acquire is to know a prefix of that log, so a
//! thread's knowledge is a short list of (address, length), and the addition that a "last block done" counter makes
//! costs nothing more. Knowledge is not carried from one address to another.

use super::race::{Known, Stamp};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard};

/// A prefix of one address's log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Acquired {
    pub(super) address: u64,
    pub(super) length: usize,
}

struct Release {
    position: usize,
    block: u32,
    thread: u32,
    epoch: u32,
    lanes: [u32; 32],
}

#[derive(Default)]
struct Log {
    length: usize,
    by_block: FxHashMap<u32, Vec<Release>>,
}

/// The logs of all addresses of one launch.
#[derive(Default)]
pub(super) struct Releases {
    logs: Mutex<FxHashMap<u64, Log>>,
}

impl Releases {
    /// Releases what `known` covers through `address`, and acquires what others released there before.
    pub(super) fn acq_rel(&self, address: u64, known: Known<'_>) -> Acquired {
        let mut logs = self.logs.lock().expect("no holder panics");
        let log = logs.entry(address).or_default();
        log.length += 1;
        log.by_block.entry(known.block).or_default().push(Release {
            position: log.length,
            block: known.block,
            thread: known.thread,
            epoch: known.epoch,
            lanes: *known.lanes,
        });
        Acquired { address, length: log.length }
    }

    /// What has been released so far.
    pub(super) fn released(&self) -> Released<'_> {
        Released { releases: self, logs: None }
    }
}

/// The logs while accesses are looked up in them: locked from the first that needs them.
pub(super) struct Released<'a> {
    releases: &'a Releases,
    logs: Option<MutexGuard<'a, FxHashMap<u64, Log>>>,
}

impl Released<'_> {
    /// Whether an access is covered by something that was acquired.
    #[inline]
    pub(super) fn covers(&mut self, acquired: &[Acquired], stamp: &Stamp) -> bool {
        !acquired.is_empty() && self.is_there(acquired, stamp)
    }

    fn is_there(&mut self, acquired: &[Acquired], stamp: &Stamp) -> bool {
        let logs = self.logs.get_or_insert_with(|| self.releases.logs.lock().expect("no holder panics"));
        acquired.iter().any(|a| {
            let releases = logs.get(&a.address).and_then(|log| log.by_block.get(&stamp.block));
            releases
                .into_iter()
                .flatten()
                .take_while(|r| r.position <= a.length)
                .any(|r| Known { block: r.block, thread: r.thread, epoch: r.epoch, lanes: &r.lanes }.covers(stamp))
        })
    }
}

/// Adds what was acquired to what is known.
pub(super) fn learn(known: &mut Vec<Acquired>, news: &[Acquired]) {
    for new in news {
        match known.iter_mut().find(|k| k.address == new.address) {
            Some(k) => k.length = k.length.max(new.length),
            None => known.push(*new),
        }
    }
}
