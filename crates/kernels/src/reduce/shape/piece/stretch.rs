//! What a lane has of one output, and with whom it shares that.

/// Packs of a stretch, at most: a power of two, unless it is a whole output.
pub const PACKS: u32 = 8;
/// Packs of a whole output, at most: what four nodes count.
pub const ALONE: u32 = 15;

/// The elements of one output that a lane has.
#[derive(Clone, Copy)]
pub struct Stretch {
    /// The number of the first of them.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// Packs that any lane of the warp has, at most [`ALONE`].
    pub packs: u32,
    /// The lanes that share the output.
    pub team: Team,
}

/// Lanes that share an output, any number of them at equal distances.
#[derive(Clone, Copy)]
pub struct Team {
    /// The lane's number among them. Lanes that are left over have numbers beyond the last.
    pub own: u32,
    /// How many there are.
    pub lanes: u32,
    /// Lanes from one to the next.
    pub apart: u32,
}

impl Team {
    /// A lane that has an output to itself.
    pub const ALONE: Self = Self { own: 0, lanes: 1, apart: 32 };
}
