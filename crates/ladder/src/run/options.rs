//! Options of a run.

use warpfold_kernels::ladder::{DType, Family};

/// A choice of ladders.
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

/// The options of a run. `None` is the published value, or the nearest that the device can manage.
#[derive(Clone, Debug)]
pub struct Options {
    /// The ladders.
    pub family: Families,
    /// Only the rungs of these names, whatever their family.
    pub rungs: Option<Vec<String>>,
    /// The number of elements, or of points.
    pub n: Option<u64>,
    /// The dtype of families A and B: f32 if not given.
    pub dtype: Option<DType>,
    /// Threads per block.
    pub block: Option<u32>,
    /// The number of clusters of family C.
    pub clusters: Option<u32>,
    /// The number of coordinates of family C.
    pub coords: Option<u32>,
    /// The number of samples of each rung: [`SAMPLES`] if not given.
    pub samples: Option<usize>,
    /// Whether a run on a GPU also counts in the emulator, on fewer elements.
    pub counters: bool,
    /// The command, for the record.
    pub command: String,
    /// The revision, for the record.
    pub revision: Option<String>,
}

/// The default number of samples of a rung.
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
