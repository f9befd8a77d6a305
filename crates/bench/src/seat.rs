//! A peer's place in a run. It remains when the peer fails, and the peer is started again for the next case.

use crate::case::Case;
use crate::peer::{Peer, Program};
use crate::record::SideRecord;
use crate::side::{Prepared, Side};

/// A peer that may have to be started again.
pub struct Seat {
    /// The peer's program.
    pub program: Program,
    /// The running peer. `None` after a failure, until it is started again.
    pub peer: Option<Peer>,
}

/// The result of a side that failed. Its earlier measurements are dropped.
pub fn failed(why: String) -> SideRecord {
    SideRecord { absent: Some(format!("failed: {why}")), ..Default::default() }
}

impl Seat {
    /// Asks the running peer. A peer that fails is stopped: an error of CUDA stays with its process.
    pub fn with<T>(&mut self, f: impl FnOnce(&mut Peer) -> Result<T, String>) -> Result<T, String> {
        let peer = self.peer.as_mut().ok_or("it is not running")?;
        let answer = f(peer);
        if answer.is_err() || !peer.is_alive() {
            self.peer = None;
        }
        answer
    }

    /// Frees the memory of the case.
    pub fn release(&mut self) {
        let _ = self.with(|peer| {
            peer.release();
            Ok(())
        });
    }

    /// Prepares a case; a peer that is not running is started again.
    pub fn prepare(&mut self, case: &Case, device: &str) -> SideRecord {
        let mut side = SideRecord::default();
        if self.peer.is_none() {
            match Peer::start(&self.program, device) {
                Ok(peer) => self.peer = Some(peer),
                Err(why) => return failed(why),
            }
        }
        match self.with(|peer| peer.prepare(case)) {
            Ok(Prepared::Ready { calls, cache }) => (side.calls, side.cache) = (calls, cache),
            Ok(Prepared::Skipped(why)) => {
                side.absent = Some(why);
                self.release();
            }
            Err(why) => return failed(why),
        }
        side
    }
}
