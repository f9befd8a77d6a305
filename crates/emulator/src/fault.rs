//! What a kernel did wrong, and where.

use core::fmt;
use core::panic::Location;
use warpfold_simt::Dim;

/// A line of kernel source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    /// The file, as the compiler names it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&'static Location<'static>> for Site {
    fn from(l: &'static Location<'static>) -> Site {
        Site { file: l.file(), line: l.line(), column: l.column() }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(self.file);
        write!(f, "{name}:{}:{}", self.line, self.column)
    }
}

/// What a thread was doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// A relaxed read at device scope.
    VolatileRead,
    /// A relaxed write at device scope.
    VolatileWrite,
    /// An atomic addition.
    Atomic,
    /// Waiting for the block.
    Barrier,
    /// Waiting for lanes of its warp.
    WarpBarrier,
    /// A shuffle.
    Shuffle,
    /// A vote.
    Vote,
    /// A product of matrices by a warp.
    Product,
    /// The kernel had returned.
    Return,
}

impl Op {
    pub(super) fn writes(self) -> bool {
        matches!(self, Op::Write | Op::VolatileWrite | Op::Atomic)
    }
    /// Atomics and volatile accesses to one address never race with each other.
    pub(super) fn is_strong(self) -> bool {
        matches!(self, Op::VolatileRead | Op::VolatileWrite | Op::Atomic)
    }
    fn verb(self) -> &'static str {
        match self {
            Op::Read => "reads",
            Op::Write => "writes",
            Op::VolatileRead => "reads (volatile)",
            Op::VolatileWrite => "writes (volatile)",
            Op::Atomic => "adds atomically",
            Op::Barrier => "waits at the block barrier",
            Op::WarpBarrier => "waits at the warp barrier",
            Op::Shuffle => "shuffles",
            Op::Product => "multiplies matrices",
            Op::Vote => "votes",
            Op::Return => "has returned",
        }
    }
}

/// One thread doing one thing at one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Act {
    /// The block.
    pub block: Dim,
    /// The thread in the block.
    pub thread: Dim,
    /// What it does.
    pub op: Op,
    /// Where; `None` once it has returned.
    pub site: Option<Site>,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} of block {} {}", self.thread, self.block, self.op.verb())?;
        match self.site {
            Some(site) => write!(f, " at {site}"),
            None => Ok(()),
        }
    }
}

/// Which memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    /// The device's.
    Global,
    /// The block's.
    Shared,
}

/// The bytes concerned.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Which memory.
    pub space: Space,
    /// The array's name; empty if the address is in no array.
    pub array: String,
    /// Bytes from the start of the array; negative before it.
    pub offset: i64,
    /// Bytes accessed.
    pub size: u32,
    /// The array's bytes.
    pub length: u64,
    /// Bytes per element of the array.
    pub element: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = match self.space {
            Space::Global => "global",
            Space::Shared => "shared",
        };
        if self.array.is_empty() {
            return write!(f, "{space} address {:#x}, which is in no array", self.offset);
        }
        let element = i64::from(self.element.max(1));
        write!(f, "{space} `{}`[{}]", self.array, self.offset.div_euclid(element))?;
        write!(f, " (bytes {}..{} of {})", self.offset, self.offset + i64::from(self.size), self.length)
    }
}

/// The classes of fault.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// An access outside its array.
    OutOfBounds,
    /// An address that is not a multiple of the access size.
    Misaligned,
    /// A read of bytes that nothing has written.
    Uninitialised,
    /// Two threads on one address, at least one writing, not both atomic, and nothing that orders them.
    Race,
    /// An access to what is being copied.
    Coming,
    /// A product of what a thread has written to shared memory and not published.
    Unpublished,
    /// A barrier that some of its threads never reach, or reach elsewhere.
    BarrierDivergence,
    /// A shuffle or vote that names, or reads from, a lane that does not take part.
    InactiveLane,
    /// The kernel's own code panicked: an index, an overflow.
    Panic(String),
}

/// One fault; equal ones (kind, lines and array) are counted together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    /// The class.
    pub kind: Kind,
    /// Who did it.
    pub act: Act,
    /// The other party, if there is one.
    pub other: Option<Act>,
    /// The memory concerned, if any.
    pub place: Option<Place>,
    /// How many times it happened at these lines.
    pub occurrences: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::OutOfBounds => write!(f, "out of bounds")?,
            Kind::Misaligned => write!(f, "misaligned")?,
            Kind::Uninitialised => write!(f, "read of memory never written")?,
            Kind::Race => write!(f, "race")?,
            Kind::Coming => write!(f, "access to what is being copied")?,
            Kind::Unpublished => write!(f, "product of what is not published")?,
            Kind::BarrierDivergence => write!(f, "barrier not reached by all")?,
            Kind::InactiveLane => write!(f, "lane does not take part")?,
            Kind::Panic(message) => write!(f, "panic ({message})")?,
        }
        if let Some(place) = &self.place {
            write!(f, " on {place}")?;
        }
        write!(f, ": {}", self.act)?;
        if let Some(other) = &self.other {
            write!(f, "; {other}")?;
        }
        if self.kind == Kind::Race {
            write!(f, "; nothing orders the two")?;
        }
        if self.occurrences > 1 {
            write!(f, " (and {} more like it)", self.occurrences - 1)?;
        }
        Ok(())
    }
}

/// The distinct faults of a launch, up to a limit.
#[derive(Default)]
pub struct Log {
    faults: Vec<Fault>,
    /// Occurrences that found no room.
    pub(super) dropped: u64,
}

impl Log {
    const LIMIT: usize = 64;

    /// Adds a fault, or counts one more occurrence of one that is there.
    pub fn push(&mut self, fault: Fault) {
        let same = |known: &&mut Fault| {
            known.kind == fault.kind
                && known.act.site == fault.act.site
                && known.act.op == fault.act.op
                && known.other.map(|o| (o.op, o.site)) == fault.other.map(|o| (o.op, o.site))
                && known.place.as_ref().map(|p| &p.array) == fault.place.as_ref().map(|p| &p.array)
        };
        let has_room = self.faults.len() < Self::LIMIT;
        match self.faults.iter_mut().find(same) {
            Some(known) => {
                let occurrences = known.occurrences + fault.occurrences;
                // The representative does not depend on which block ran first.
                if (fault.act, fault.other) < (known.act, known.other) {
                    *known = fault;
                }
                known.occurrences = occurrences;
            }
            None if has_room => self.faults.push(fault),
            None => self.dropped += fault.occurrences,
        }
    }

    pub(crate) fn merge(&mut self, other: Log) {
        other.faults.into_iter().for_each(|f| self.push(f));
        self.dropped += other.dropped;
    }

    /// The distinct faults, sorted.
    pub fn into_sorted(mut self) -> Vec<Fault> {
        self.faults.sort();
        self.faults
    }
}
