//! What to run.

use warpfold_device::ladder::{DType, Family};

/// Which ladders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    /// All of them.
    #[default]
    All,
    /// This one.
    One(Family),
}

impl Families {
    /// Whether a family is among them.
    pub fn has(self, family: Family) -> bool {
        match self {
            Families::All => family != Family::Reference,
            Families::One(one) => one == family,
        }
    }
}

/// What to run. `None` is what was published, or as near to it as the device can manage.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which ladders.
    pub family: Families,
    /// Only the rungs of these names, whatever their family.
    pub rungs: Option<Vec<String>>,
    /// Elements, or points.
    pub n: Option<u64>,
    /// Of the elements of families A and B: f32 if not given.
    pub dtype: Option<DType>,
    /// Threads per block.
    pub block: Option<u32>,
    /// Clusters of family C.
    pub clusters: Option<u32>,
    /// Coordinates of family C.
    pub coords: Option<u32>,
    /// How often each rung is timed: [`SAMPLES`] if not given.
    pub samples: Option<usize>,
    /// Whether a run on a GPU also counts in the emulator, on fewer elements.
    pub counters: bool,
    /// What the record says made it.
    pub command: String,
    /// And from which revision.
    pub revision: Option<String>,
}

/// How often a rung is timed.
pub const SAMPLES: usize = 48;

impl Default for Options {
    fn default() -> Options {
        Options {
            family: Families::All,
            rungs: None,
            n: None,
            dtype: None,
            block: None,
            clusters: None,
            coords: None,
            samples: None,
            counters: true,
            command: String::new(),
            revision: None,
        }
    }
}
