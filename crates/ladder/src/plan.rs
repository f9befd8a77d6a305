//! What to launch: a pure value that the emulator and a GPU carry out alike.

use core::fmt;
use warpfold_kernels::ladder::c::{MAX_CELLS, MAX_CLUSTERS};
use warpfold_kernels::ladder::{DType, Family, Form, Rung, rung};
use warpfold_kernels::probe;

/// Memory that a plan uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The elements; for family C the points, `[coordinate][point]` in f32. Aligned to 16 bytes. The caller fills it.
    Input,
    /// Family C: the cluster of each point, i32. The caller fills it.
    Labels,
    /// Partial results between launches, two buffers in turn.
    Partials(u8),
    /// The result: one element; for family C the sums, `[cluster][coordinate]` in f32.
    Output,
    /// Family C: members per cluster, u32.
    Counts,
}

/// One kernel argument, in the order of the entry's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// The address of a buffer.
    Buffer(Buffer),
    /// A 64-bit number.
    U64(u64),
    /// A 32-bit number.
    U32(u32),
}

/// One kernel launch. No dynamic shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The entry; `warpfold_kernels::ptx` has its module.
    pub entry: String,
    /// Blocks.
    pub grid: u32,
    /// Threads per block.
    pub block: u32,
    /// Arguments.
    pub args: Vec<Arg>,
}

/// One thing to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Set all bytes of a buffer to zero.
    Zero(Buffer),
    /// Launch a kernel.
    Launch(Launch),
}

/// Everything needed to run a rung.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The rung.
    pub rung: &'static str,
    /// The buffers, and the bytes of each.
    pub buffers: Vec<(Buffer, u64)>,
    /// What to do.
    pub steps: Vec<Step>,
    /// Bytes of input, each of which has to be read once: what bandwidth is reckoned from.
    pub bytes: u64,
    /// Whether `Input` is overwritten, so that another run needs it filled again.
    pub clobbers_input: bool,
}

impl Plan {
    /// The kernel launches.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.steps.iter().filter_map(|s| match s {
            Step::Launch(launch) => Some(launch),
            Step::Zero(_) => None,
        })
    }
}

/// Choices that a rung leaves open. `None` is the rung's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Threads per block.
    pub block: Option<u32>,
    /// Coarsening factor (b4).
    pub coarsen: Option<u32>,
}

/// The sizes of a centroid update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Points.
    pub points: u64,
    /// Clusters.
    pub clusters: u32,
    /// Coordinates.
    pub coords: u32,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// There is no such rung, or it belongs to another family.
    NoSuchRung(String),
    /// The rung is a place for the production kernel.
    Slot(&'static str),
    /// The rung is not offered for this element type.
    DType(&'static str, DType),
    /// The rung is not offered for this choice.
    Choice {
        /// The rung.
        rung: &'static str,
        /// What was chosen.
        what: &'static str,
        /// The choice.
        chosen: u32,
        /// What there is.
        offered: &'static [u32],
    },
    /// More clusters or cells than the shared arrays hold.
    TooMany(Sizes),
    /// More blocks than a grid has room for.
    TooLong(u64),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NoSuchRung(name) => write!(f, "there is no rung `{name}` of this family"),
            PlanError::Slot(name) => write!(f, "{name} is the production kernel; the library plans it, not the ladder"),
            PlanError::DType(name, dtype) => write!(f, "{name} is not offered for {dtype:?}"),
            PlanError::Choice { rung, what, chosen, offered } => {
                write!(f, "{rung} is not offered with {what} {chosen}; choose from {offered:?}")
            }
            PlanError::TooMany(s) => write!(
                f,
                "{} clusters of {} coordinates: at most {MAX_CLUSTERS} clusters and {MAX_CELLS} cells fit",
                s.clusters, s.coords
            ),
            PlanError::TooLong(n) => write!(f, "{n} elements take more blocks than a grid has; use a larger block"),
        }
    }
}

impl core::error::Error for PlanError {}

fn find(name: &str, is_family: impl Fn(Family) -> bool) -> Result<&'static Rung, PlanError> {
    let rung = rung(name).filter(|r| is_family(r.family)).ok_or_else(|| PlanError::NoSuchRung(name.to_owned()))?;
    if rung.form == Form::Slot { Err(PlanError::Slot(rung.name)) } else { Ok(rung) }
}

fn choose(
    rung: &'static Rung,
    what: &'static str,
    chosen: Option<u32>,
    default: u32,
    offered: &'static [u32],
) -> Result<u32, PlanError> {
    let chosen = chosen.unwrap_or(default);
    if offered.contains(&chosen) {
        return Ok(chosen);
    }
    Err(PlanError::Choice { rung: rung.name, what, chosen, offered })
}

fn blocks(rung: &Rung, n: u64, block: u32, coarsen: u32) -> Result<u32, PlanError> {
    let blocks = rung.grid.blocks(n, block, coarsen);
    u32::try_from(blocks).ok().filter(|&b| b < 1 << 31).ok_or(PlanError::TooLong(n))
}

/// The plan to sum `n` elements with a rung of family A or B, down to one value.
///
/// # Errors
/// If the rung is not offered like that.
pub fn plan_reduce(name: &str, dtype: DType, n: u64, tuning: Tuning) -> Result<Plan, PlanError> {
    let rung = find(name, |f| matches!(f, Family::A | Family::B))?;
    if rung.name == "a7_as_published" && dtype != DType::F32 {
        return Err(PlanError::DType(rung.name, dtype));
    }
    let block = choose(rung, "a block of", tuning.block, rung.default_block, rung.blocks)?;
    let coarsen = match rung.coarsenings {
        [] => 1,
        offered => choose(rung, "a coarsening of", tuning.coarsen, offered[0], offered)?,
    };
    let mut plan = Plan {
        rung: rung.name,
        buffers: vec![(Buffer::Input, n * 4), (Buffer::Output, 4)],
        steps: Vec::new(),
        bytes: n * 4,
        clobbers_input: rung.in_place,
    };
    if rung.atomic || n == 0 {
        plan.steps.push(Step::Zero(Buffer::Output));
    }
    let (mut from, mut left, mut turn) = (Buffer::Input, n, 0);
    while left > 0 {
        let grid = blocks(rung, left, block, coarsen)?;
        let last = rung.atomic || grid == 1;
        let to = if last { Buffer::Output } else { Buffer::Partials(turn) };
        if turn < 2 && !last && plan.buffers.iter().all(|&(b, _)| b != to) {
            plan.buffers.push((to, u64::from(grid) * 4));
        }
        let entry = rung.entry(dtype, block, coarsen, 1);
        let args = vec![Arg::Buffer(from), Arg::Buffer(to), Arg::U64(left)];
        plan.steps.push(Step::Launch(Launch { entry, grid, block, args }));
        (from, left, turn) = (to, if last { 0 } else { u64::from(grid) }, 1 - turn);
    }
    Ok(plan)
}

/// The plan for a centroid update with a rung of family C.
///
/// # Errors
/// If the rung is not offered like that, or the sizes are too large.
pub fn plan_centroids(name: &str, sizes: Sizes, tuning: Tuning) -> Result<Plan, PlanError> {
    let rung = find(name, |f| f == Family::C)?;
    let Sizes { points, clusters, coords } = sizes;
    if clusters > MAX_CLUSTERS || u64::from(clusters) * u64::from(coords) > u64::from(MAX_CELLS) {
        return Err(PlanError::TooMany(sizes));
    }
    let block = choose(rung, "a block of", tuning.block, rung.default_block, rung.blocks)?;
    let unroll = if coords == 1 { 1 } else { 4 };
    let grid = blocks(rung, points, block, 1)?;
    let mut steps = vec![Step::Zero(Buffer::Output), Step::Zero(Buffer::Counts)];
    if points > 0 {
        let buffers = [Buffer::Input, Buffer::Labels, Buffer::Output, Buffer::Counts].map(Arg::Buffer);
        let args = [&buffers[..], &[Arg::U64(points), Arg::U32(clusters), Arg::U32(coords)]].concat();
        steps.push(Step::Launch(Launch { entry: rung.entry(DType::F32, block, 1, unroll), grid, block, args }));
    }
    let (input, labels) = (points * u64::from(coords) * 4, points * 4);
    Ok(Plan {
        rung: rung.name,
        buffers: vec![
            (Buffer::Input, input),
            (Buffer::Labels, labels),
            (Buffer::Output, u64::from(clusters * coords) * 4),
            (Buffer::Counts, u64::from(clusters) * 4),
        ],
        steps,
        bytes: input + labels,
        clobbers_input: false,
    })
}

/// The plan to read `n` 4-byte words and do nothing with them: the yardstick for bandwidth.
///
/// # Errors
/// If the block size is not offered.
pub fn plan_read(n: u64, tuning: Tuning) -> Result<Plan, PlanError> {
    let rung = find("read", |f| f == Family::Reference)?;
    let block = choose(rung, "a block of", tuning.block, rung.default_block, rung.blocks)?;
    let grid = blocks(rung, n, block, 1)?;
    // Some word that the data will hardly fold to; if it does, one harmless store follows.
    let args = vec![Arg::Buffer(Buffer::Input), Arg::Buffer(Buffer::Output), Arg::U64(n), Arg::U32(0x9e37_79b9)];
    Ok(Plan {
        rung: rung.name,
        buffers: vec![(Buffer::Input, n * 4), (Buffer::Output, u64::from(grid) * 4)],
        steps: vec![Step::Launch(Launch { entry: "read_u32".to_owned(), grid, block, args })],
        bytes: n / 4 * 16,
        clobbers_input: false,
    })
}

/// The plan to try every instruction that kernels use: see [`warpfold_kernels::probe`]. `Output` and `Counts` must come
/// out as in the emulator, word for word.
pub fn plan_probe() -> Plan {
    let (grid, block) = (probe::GRID, probe::BLOCK);
    let args = [Buffer::Input, Buffer::Counts, Buffer::Output].map(Arg::Buffer).to_vec();
    let words = [probe::INPUT, probe::TOTALS, (grid * block) as usize * probe::WORDS].map(|words| words as u64 * 4);
    Plan {
        rung: "probe",
        buffers: vec![(Buffer::Input, words[0]), (Buffer::Counts, words[1]), (Buffer::Output, words[2])],
        steps: vec![Step::Zero(Buffer::Counts), Step::Launch(Launch { entry: "probe".to_owned(), grid, block, args })],
        bytes: words[0],
        clobbers_input: false,
    }
}

/// The input of [`plan_probe`].
pub fn probe_input() -> Vec<u32> {
    (0..probe::INPUT as u32).map(|i| i.wrapping_mul(probe::SPREAD)).collect()
}
