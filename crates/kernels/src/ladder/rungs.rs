//! The registry: what each rung is, says, and was published to reach.

use crate::ladder::DType;

/// Which ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The classic seven, and what came after.
    A,
    /// The textbook's.
    B,
    /// The centroid update of k-means.
    C,
    /// Not a reduction: the yardstick.
    Reference,
}

/// What kind of rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Right, and compiled to PTX.
    Sound,
    /// The published form where it is wrong: emulator only, which must find fault or a wrong result.
    AsPublished,
    /// A place for the production kernel; nothing to launch here.
    Slot,
}

/// Figures from the source, as printed there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Published {
    /// Microseconds.
    pub micros: Option<f64>,
    /// What was called bandwidth, in per cent. It was not DRAM bandwidth.
    pub percent: Option<f64>,
    /// Over the first rung.
    pub speedup: Option<f64>,
    /// Anything else, and where it was measured.
    pub note: &'static str,
}

/// How many blocks a launch takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// One thread per so many elements.
    PerThread(u32),
    /// One thread per so many elements, times the coarsening factor.
    Coarsened(u32),
    /// One thread per `per_thread` elements, but no more than `threads` in all; one block for up to `single` elements.
    Capped {
        /// Elements per thread before the cap.
        per_thread: u32,
        /// The most threads, as blocks of 256.
        blocks_of_256: u32,
        /// Whether the cap counts threads (blocks shrink with their number) or blocks.
        by_threads: bool,
        /// Up to here, one block.
        single: u32,
    },
}

impl Grid {
    /// Blocks for `n` elements by blocks of `block` threads.
    pub fn blocks(self, n: u64, block: u32, coarsen: u32) -> u64 {
        match self {
            Grid::PerThread(per) => n.div_ceil(u64::from(per * block)),
            Grid::Coarsened(per) => n.div_ceil(u64::from(per * block * coarsen)),
            Grid::Capped { single, .. } if n <= u64::from(single) => 1,
            Grid::Capped { per_thread, blocks_of_256, by_threads, .. } => {
                let most = if by_threads { blocks_of_256 * 256 / block } else { blocks_of_256 };
                n.div_ceil(u64::from(per_thread * block)).min(u64::from(most))
            }
        }
    }
}

/// One rung.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// As in `a0`, `b3`, `a4_as_published`.
    pub name: &'static str,
    /// Which ladder.
    pub family: Family,
    /// What kind.
    pub form: Form,
    /// Its file, under `src/ladder`.
    pub file: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Figures from the source.
    pub published: Published,
    /// Blocks per launch.
    pub grid: Grid,
    /// Block sizes offered.
    pub blocks: &'static [u32],
    /// Whether the block size is part of the entry's name, being a compile-time constant.
    pub block_in_name: bool,
    /// The block size used unless another is asked for.
    pub default_block: u32,
    /// Coarsening factors offered; empty if there is no such choice.
    pub coarsenings: &'static [u32],
    /// Coordinates at once offered (family C), each a separate entry; empty if there is no such choice.
    pub unrolls: &'static [u32],
    /// Whether blocks are joined by atomics rather than by a second launch.
    pub atomic: bool,
    /// Whether the input is overwritten.
    pub in_place: bool,
}

impl Rung {
    /// The first line of the source after the name: `(slug, title)`.
    fn heading(&self) -> (&'static str, &'static str) {
        let line = self.source.lines().next().unwrap_or_default().trim_start_matches("//! ");
        let (head, title) = line.split_once(": ").unwrap_or((line, ""));
        (head.split_once(' ').map_or(head, |(_, slug)| slug), title)
    }
    /// The rung's name in words with underscores, as in `interleaved_modulo`.
    pub fn slug(&self) -> &'static str {
        self.heading().0
    }
    /// One line.
    pub fn title(&self) -> &'static str {
        self.heading().1
    }
    /// What it does.
    pub fn idea(&self) -> String {
        self.paragraph("Idea: ")
    }
    /// What changed.
    pub fn delta(&self) -> String {
        self.paragraph("Delta: ")
    }
    /// What holds it back.
    pub fn bottleneck(&self) -> String {
        self.paragraph("Bottleneck: ")
    }

    /// A labelled sentence of the file's opening comment, up to the next label.
    fn paragraph(&self, label: &str) -> String {
        let comment = self.source.lines().map_while(|l| l.strip_prefix("//!")).map(str::trim);
        let mut words = comment.skip_while(|l| !l.starts_with(label));
        let first = words.next().and_then(|l| l.strip_prefix(label)).unwrap_or_default().to_owned();
        let labels = ["Idea: ", "Delta: ", "Bottleneck: "];
        words.take_while(|l| !labels.iter().any(|label| l.starts_with(label))).fold(first, |text, l| text + " " + l)
    }

    /// Whether the same input always gives the same bits.
    pub fn is_deterministic(&self, dtype: DType) -> bool {
        !self.atomic || dtype == DType::I32
    }

    /// The entry that runs this rung.
    pub fn entry(&self, dtype: DType, block: u32, coarsen: u32, unroll: u32) -> String {
        let mut name = self.name.to_owned();
        if self.family != Family::C {
            name += match dtype {
                DType::F32 => "_f32",
                DType::I32 => "_i32",
            };
        }
        if self.block_in_name {
            name += &format!("_b{block}");
        }
        if !self.coarsenings.is_empty() {
            name += &format!("_x{coarsen}");
        }
        if !self.unrolls.is_empty() {
            name += &format!("_u{unroll}");
        }
        name
    }
}

/// A workload that figures were published for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Which rungs it is for, by name.
    pub rungs: &'static [&'static str],
    /// Elements, or points.
    pub n: u64,
    /// The element type.
    pub dtype: DType,
    /// Threads per block.
    pub block: u32,
    /// Clusters and coordinates, for family C.
    pub clusters_coords: Option<(u32, u32)>,
}

/// The published workloads; the first that names a rung is its default.
pub const PRESETS: [Preset; 5] = [
    preset(&["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"], 1 << 25, DType::F32, 256),
    preset(&["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"], 1 << 22, DType::I32, 128),
    preset(&["b0", "b1", "b2"], 2048, DType::F32, 1024),
    preset(&["b3", "b4"], 100_000, DType::F32, 512),
    Preset {
        clusters_coords: Some((16, 1)),
        ..preset(&["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"], 1 << 20, DType::F32, 128)
    },
];

const fn preset(rungs: &'static [&'static str], n: u64, dtype: DType, block: u32) -> Preset {
    Preset { rungs, n, dtype, block, clusters_coords: None }
}

/// The rung of that name.
pub fn rung(name: &str) -> Option<&'static Rung> {
    rungs().iter().find(|r| r.name == name)
}

/// All rungs in order, published forms after the sound ones of their family.
pub fn rungs() -> &'static [Rung] {
    &RUNGS
}

const POWERS: &[u32] = &[64, 128, 256, 512, 1024];
const SMALL: &[u32] = &[128, 256];
const A100: &str = "A100-PCIE-40GB, 2^25 f32, block 256";
const KMEANS: &str = "2^20 points, 16 clusters, 1 coordinate, block 128";

const fn figures(micros: f64, percent: f64, speedup: f64) -> Published {
    Published { micros: Some(micros), percent: Some(percent), speedup: Some(speedup), note: A100 }
}
const fn micros(micros: f64, note: &'static str) -> Published {
    Published { micros: Some(micros), percent: None, speedup: None, note }
}
const fn note(note: &'static str) -> Published {
    Published { micros: None, percent: None, speedup: None, note }
}
const fn also(p: Published, note: &'static str) -> Published {
    Published { note, ..p }
}
const NONE: Published = note("");

/// A rung of families A and B; the functions below change what differs.
const fn base(name: &'static str, family: Family, file: &'static str, source: &'static str, grid: Grid) -> Rung {
    Rung {
        name,
        family,
        form: Form::Sound,
        file,
        source,
        published: NONE,
        grid,
        blocks: POWERS,
        block_in_name: false,
        default_block: 256,
        coarsenings: &[],
        unrolls: &[],
        atomic: false,
        in_place: false,
    }
}
const fn a(r: Rung, published: Published) -> Rung {
    Rung { published, ..r }
}
const fn constant(r: Rung) -> Rung {
    Rung { block_in_name: true, ..r }
}
const fn b(r: Rung, default_block: u32, published: &'static str) -> Rung {
    Rung { default_block, published: note(published), ..r }
}
const fn c(r: Rung, blocks: &'static [u32], unrolls: &'static [u32], published: Published) -> Rung {
    Rung { blocks, unrolls, published, default_block: 128, atomic: true, ..r }
}
const fn as_published(r: Rung) -> Rung {
    Rung { form: Form::AsPublished, blocks: SMALL, ..r }
}

const ONE: Grid = Grid::PerThread(1);
const TWO: Grid = Grid::PerThread(2);
const MANY: Grid = Grid::Capped { per_thread: 2, blocks_of_256: 1024, by_threads: false, single: 2048 };
const PACKS: Grid = Grid::Capped { per_thread: 4, blocks_of_256: 1024, by_threads: true, single: 4096 };
const SIXTEEN: Grid = Grid::PerThread(16);

macro_rules! file {
    ($name:literal, $family:ident, $file:literal, $grid:expr) => {
        base($name, Family::$family, $file, include_str!($file), $grid)
    };
}

static RUNGS: [Rung; 31] = [
    a(
        file!("a0", A, "a/a0.rs", ONE),
        also(figures(990.66, 39.57, 1.0), "A100-PCIE-40GB, 2^25 f32, block 256; an RTX 3050 laptop took 551.9 µs"),
    ),
    a(
        file!("a1", A, "a/a1.rs", ONE),
        also(figures(479.58, 81.74, 2.06), "A100-PCIE-40GB, 2^25 f32, block 256; an RTX 3050 laptop took 493.8 µs"),
    ),
    a(
        file!("a2", A, "a/a2.rs", ONE),
        also(figures(462.02, 84.81, 2.144), "A100-PCIE-40GB, 2^25 f32, block 256; an RTX 3050 laptop took 473.7 µs"),
    ),
    a(file!("a3", A, "a/a3.rs", TWO), figures(244.16, 83.16, 4.057)),
    a(file!("a4", A, "a/a4.rs", TWO), figures(167.10, 54.10, 5.928)),
    a(constant(file!("a5", A, "a/a5.rs", TWO)), figures(158.78, 56.94, 6.239)),
    a(constant(file!("a6", A, "a/a6.rs", MANY)), figures(105.47, 85.75, 9.392)),
    constant(file!("a7", A, "a/a7.rs", MANY)),
    constant(file!("a8", A, "a/a8.rs", PACKS)),
    Rung { form: Form::Slot, ..file!("a9", A, "a/a9.rs", ONE) },
    as_published(file!("a1_as_published", A, "published/a1.rs", ONE)),
    as_published(file!("a4_as_published", A, "published/a4.rs", TWO)),
    as_published(constant(file!("a5_as_published", A, "published/a5.rs", TWO))),
    as_published(constant(file!("a7_as_published", A, "published/a7.rs", MANY))),
    b(Rung { in_place: true, ..file!("b0", B, "b/b0.rs", TWO) }, 1024, "branch efficiency 74 % (T4)"),
    b(Rung { in_place: true, ..file!("b1", B, "b/b1.rs", TWO) }, 1024, "branch efficiency 99 %; L1 hit rate 66.88 %"),
    b(file!("b2", B, "b/b2.rs", TWO), 1024, "up to 2048 elements"),
    b(Rung { atomic: true, ..file!("b3", B, "b/b3.rs", TWO) }, 512, "n = 100 000; 1024 elements per block"),
    b(
        Rung { atomic: true, coarsenings: &[2, 4, 8], ..file!("b4", B, "b/b4.rs", Grid::Coarsened(2)) },
        512,
        "coarsening factor 2",
    ),
    c(file!("c1", C, "c/c1.rs", ONE), POWERS, &[], micros(393.0, "block 128; 1720 at block 1024")),
    c(file!("c2", C, "c/c2.rs", ONE), POWERS, &[], micros(850.0, KMEANS)),
    c(file!("c3", C, "c/c3.rs", ONE), SMALL, &[1, 4], micros(379.0, KMEANS)),
    c(constant(file!("c4", C, "c/c4.rs", ONE)), SMALL, &[1, 4], micros(363.0, KMEANS)),
    c(constant(file!("c5", C, "c/c5.rs", SIXTEEN)), SMALL, &[1, 4], micros(179.0, KMEANS)),
    c(constant(file!("c6", C, "c/c6.rs", SIXTEEN)), SMALL, &[1, 4], NONE),
    c(constant(file!("c7", C, "c/c7.rs", SIXTEEN)), SMALL, &[1, 4], micros(86.0, KMEANS)),
    Rung { form: Form::Slot, ..c(file!("c8", C, "c/c8.rs", ONE), SMALL, &[], NONE) },
    as_published(c(file!("c1_as_published", C, "published/c1.rs", ONE), SMALL, &[], NONE)),
    as_published(c(file!("c3_as_published", C, "published/c3.rs", ONE), SMALL, &[1, 4], NONE)),
    as_published(c(constant(file!("c7_as_published", C, "published/c7.rs", SIXTEEN)), SMALL, &[1, 4], NONE)),
    file!("read", Reference, "read.rs", PACKS),
];
