//! A peer's seat at the table: it stays when the peer fails, and the peer is started again for the next case.

use crate::case::Case;
use crate::peer::{Peer, Program};
use crate::record::SideRecord;
use crate::side::{Prepared, Side};

/// A peer that may have to be started again.
pub struct Seat {
    /// Which.
    pub program: Program,
    /// None after it failed, until it is started again.
    pub peer: Option<Peer>,
}

/// A side that could not go on. What it measured before is worth nothing.
pub fn failed(why: String) -> SideRecord {
    SideRecord { absent: Some(format!("failed: {why}")), ..Default::default() }
}

impl Seat {
    /// Asks the peer for something; one that does not answer is put out of its seat.
    pub fn with<T>(&mut self, f: impl FnOnce(&mut Peer) -> Result<T, String>) -> Result<T, String> {
        let peer = self.peer.as_mut().ok_or("it is not running")?;
        let answer = f(peer);
        if !peer.is_alive() {
            self.peer = None;
        }
        answer
    }

    /// Gives memory back.
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
