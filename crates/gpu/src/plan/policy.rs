//! The numbers that tune the planner of reductions and segments. None of them can change a bit of a result.
//! Each names the measurement that chose it, or says that it was not measured.

/// Warps of a block. Blocks of 256 threads reached 4.48 TB/s on an H200, of 128 4.41, of 512 4.46 (2^28 f32).
pub const WARPS: u64 = 8;
/// Tiles of 4 KiB that a warp of a long row takes, at most: on an H200, a GiB of f32 took 259 us with 16, 240 with 4;
/// of 300 random problems of 256 MiB (`plans-raw.txt.xz`) most took 1 to 5 % less with 8 than with 4; with 16, 220 took
/// 5 % more (`plans-after-raw.txt.xz`).
pub const ROW_TILES: u64 = 8;
/// The same of a row that comes in pieces, which are whole blocks. Not measured against other values.
pub const CHUNK_TILES: u64 = 4;
/// As [`ROW_TILES`] if there is one row only, whose blocks all leave a part: 2^28 f32 took an H200 243.4 us with 8,
/// 245.6 with 4, 247.7 with 16.
pub const ONE_ROW_TILES: u64 = 8;
/// Tiles of 8 steps that a warp takes down its columns, at most: 16 reached 4.36 TB/s on an H200, 8 4.28, 4 4.18.
pub const COLUMN_TILES: u64 = 16;
/// Tiles that a warp takes, at most: no measurement, but the depth of a lane's stack of partials, which is of five
/// levels.
pub const MOST_TILES: u64 = 32;
/// Tiles that a warp takes of any elements, at most, in rows and in columns. Not measured.
pub const ANY_TILES: [u64; 2] = [512, 8];
/// Outputs for each multiprocessor from which on a lane has one of any elements to itself, if it has at most so many
/// elements. Not measured against other values.
pub const MANY: u64 = 1024;
/// See [`MANY`].
pub const SHORT: u64 = 256;
/// Warps that a multiprocessor is given before each takes more than one tile. Not measured.
pub const SPREAD: u64 = 16;
/// Rows per multiprocessor from which each block has a row of its own, whatever its length. Not measured.
pub const ROWS_EACH: u64 = 4;
/// What it costs a warp of a row to start and to end, each doubling of its tiles, and a block to leave a part, in
/// tiles: the second as [`ROW_TILES`] was measured, others not.
pub const ROW_COSTS: [f64; 3] = [0.6, 0.06, 6.0];
/// The same down columns: the first as [`COLUMN_TILES`] was measured.
pub const COLUMN_COSTS: [f64; 3] = [0.4, 0.0, 8.0];
/// The same of variances of small integers, whose parts are f64 moments where their nodes are sums: about 600
/// instructions for a part of four columns, and 200 for a tile. Not measured against other values; with these, and with
/// teams, var u8 (4549753,59) along axis 0 took an H200 189 us, and 558 before.
pub const EXACT_COSTS: [f64; 3] = [3.0, 0.0, 8.0];
/// What a last wave of few blocks down columns takes, of the time of a full one. On an H200, sum f32 (4096,16384) along
/// axis 0 took 70 us of 512 blocks, of which 528 run at a time, and (147816,454) 97 us of 580.
pub const LAST_WAVE: f64 = 0.4;
/// How much more a block costs that has warps enough for its tiles, and not a power of two: of 71 random problems, such
/// blocks took 2 % less than others, but std bf16 (136,986895) 146 us and 123 (`plans-after-raw.txt.xz`).
pub const SHRUNK: f64 = 1.1;
/// Tiles that each warp of a block takes at most if the block has a set to itself, where sets are few, and where they
/// are at least half as many as multiprocessors: 2^14 f32 took an H200 4.1 us in one block, 4.9 in two, which wait for
/// one another. Of problems of 4 and 16 MiB in so many sets, with as many tiles, blocks alone took 15 to 30 % less in
/// the median; with more, more (`small-raw.txt.xz`).
pub const ALONE: [u64; 2] = [2, 4];
/// Seconds that a launch costs, for predictions: the order of what an empty launch takes on an H200. Not measured.
pub const LAUNCH: f64 = 2.5e-6;
/// Warps for each multiprocessor among which segments are shared out: more than run at once, so that warps that finish
/// early make room for others. Not measured against other values.
pub const SEGMENT_WARPS: u64 = 64;
/// Tiles of a stretch of a long segment, at most. Not measured against other values.
pub const STRETCH_TILES: u64 = 16;
/// Columns, from which on those of at most 8 rows are shallow. Not measured.
pub const SHALLOW: usize = 128;
/// Bytes of a column of few rows, up to which what lies between columns some steps apart is reduced as well, and not
/// copied: std bf16 (256,32,2,4096) along axis 2 in steps of 2 took an H200 930 us by lanes of eight rows each, and
/// 520 so. Not measured against other values.
pub const FILLED_BYTES: usize = 24;
/// Rows of columns of integers, up to which any or all of them are found by their greatest or least: any i8
/// (80,5,3,223696) along axis 1 took an H200 457 us by counts. Not measured against other values.
pub const TRUTH_ROWS: usize = 24;
/// Rows of columns of 4 bytes and more, and of what describes, up to which lanes write the results of all of their
/// columns themselves. Not measured against other values.
pub const DEALT_ROWS: u64 = 64;
/// Lanes that columns need, from which on teams take them, and up to which: of elements of 1 and 2 bytes, and of larger
/// ones. Fewer are taken staged, or abreast; more by warps.
pub const TEAM: [u64; 2] = [5, 6];
/// As [`TEAM`], of columns that no lane reads at once: of elements of 1 and 2 bytes, eight to a lane; and of 4. On an
/// H200 (`plans-raw.txt.xz`), means of bf16 with 21 columns took 166 us in stretches and 121 so, with 27 140 and 108,
/// but with 14 135 and 157; variances of f32 with 17 178 by warps and 106 so, with 10 163 and 153.
pub const TORN_TEAM: [u64; 2] = [3, 5];
/// Of a hundred lanes of panels of 32, how many columns at least need for warps to take them, if the lanes are so few
/// that teams could (`WIDE_TEAM`), of eight elements each: norms of bf16 with 278 columns took 152 us by warps and 113
/// so, means with 366 117 and 98, but sums with 781 116 both ways.
pub const FULL_PANELS: u64 = 73;
/// See [`FULL_PANELS`].
pub const WIDE_TEAM: u64 = 64;
/// See [`TEAM`].
pub const MOST_TEAM: [u64; 2] = [20, 16];
/// As [`TEAM`], of what describes columns.
pub const DESCRIBING_TEAM: u64 = 3;
/// Blocks that shared memory has room for, of kernels of columns.
pub const ROOM: u64 = 5;
/// Bytes of a run, from which on runs of several reduced axes are read as rows, and shorter ones as columns. Not
/// measured against other values.
pub const RUN_BYTES: usize = 64;
/// Bytes of a run, below which blocks that run together take different rows, since their runs may be neighbours. Not
/// measured against other values.
pub const ABREAST_BYTES: u64 = 4096;
/// Bytes of a row from which on few rows are not staged, but have a warp each: on an H200, 24 problems of 64 KiB with
/// rows of 256 bytes and more all took less so, 18 % in the median, and most of 13 with rows from 128 bytes on, 13 %
/// (`small-raw.txt.xz`).
pub const ROW_BYTES: usize = 128;
/// Staged units lie in one stretch of memory if what is between them is at most one of so many parts of a unit. Not
/// measured against other values.
pub const STAGED_GAP: usize = 4;
/// Of the lines that are staged of a turn, in the worst case, how many per cent must be the tile's own: of 67,
/// sum f16 (65,258111,8) of axes 0 and 2 took an H200 371 us, and 305 in `apart_`; of 78, bf16 (47,92119,31) 267
/// and 334.
pub const TURN_SHARE: usize = 70;
/// Tiles that a warp stages one after the other, at most: on an H200, most problems of 256 MiB took as long with 1, 2
/// and 4. bf16 rows of 1024 took 139, 129 and 122 us, outputs of one f32 each 195, 180 and 175.
pub const STAGED_TURNS: u64 = 2;
/// Rows of few columns from which on lanes of a warp take several units abreast, and from which on they need not be
/// whole tiles of 8. Not measured against other values.
pub const UNIT_ROWS: [u64; 2] = [8, 40];
/// Bytes of a unit up to which they do: above, warps have enough in one. Not measured against other values.
pub const UNIT_BYTES: u64 = 16 << 10;
/// What it costs a warp to take a pack of each lane, to exchange parts, both of one word, to find and write an output,
/// and to find and copy a tile: instructions, of the order that a profiler counts (mean f16 (14913080,9) along axis 0
/// on an H100: 60 to 75 for a pack, 700 for a tile; variances have 180 for a pack, and three words).
pub const STAGED_COSTS: [usize; 4] = [60, 20, 90, 600];
/// The same of all that `describe` says, whatever the words of its parts: by the profiler, on an H200, bf16 rows of
/// 156. Most is what an output costs: where its extremes are, parts of what is no whole pack, and nine results.
pub const DESCRIBED_COSTS: [usize; 4] = [170, 100, 1250, 300];
/// What a word of a part costs that another launch reads again, in the same unit: by a profiler, 24 to 70 instructions
/// of one lane, and that launch waits for memory, too.
pub const STRETCH_PART: usize = 3;
/// Bytes of rows side by side, below which a warp has too little of them to stage, and results are reordered: sum bf16
/// (131072,8,64,2) along axis 1 in order 2,0,3,1 took an H200 5033 us by two rows at a time. Not measured against other
/// values.
pub const STAGED_FEW: usize = 512;
/// Numbers of whole rounds of a warp's lanes for which tiles are considered, beside all outputs that fit. Not measured
/// against other values.
pub const TILE_ROUNDS: usize = 4;
/// Lanes that want different words of one bank, up to which gaps between lines cost more than they save. Not measured.
pub const STAGED_BANKS: usize = 3;
/// Packs of an output up to which lanes that share it read them word by word: each eight are one more lane that meets
/// the same bank. Not measured against other values.
pub const STAGED_FLAT: usize = 16;
/// Bytes of outputs side by side, below which rows in several runs are copied first. Not measured.
pub const BESIDE_BYTES: usize = 64;
/// Bytes of an output, up to which one whose short runs take turns with others' is staged, or, in any order, has its
/// runs reduced first: max i32 (1016800,11,2,3) of axes 1 and 3 took an H200 1462 us where it lies, and 158 so.
pub const NESTED_BYTES: usize = 4 << 10;
/// The same where neither will do, and it is copied first: argmax f32 (1016800,11,2,3) took 1827 us where it lies, and
/// 583 so, but (111848,40,3,5) 264 and 474.
pub const NESTED_COPY: usize = 256;
/// The same of an output in several longer runs, where a warp has each: of f32 (4,524288,32) along axes 0 and 2 argmax
/// took an H200 706 us where it lies, and 590 so, describe 1401 and 670; the mean of i64 (4,262144,32) 327 and 579.
pub const RUNS_COPY: usize = 512;
/// Bytes of rows that follow one another, each of fewer, from which on they are not copied first: a line. Not measured.
pub const TOGETHER: usize = 128;
/// Bytes of an input for each multiprocessor, below which nothing is copied first: a second launch costs more. Not
/// measured.
pub const TRANSPOSED_BYTES: usize = 8 << 10;
/// Seconds of reading, below which results are not reduced again, nor any and all found by extremes, since each launch
/// takes some: on an H200, of 29 problems of 4 MiB (0.9 us) all took less in one launch, 27 % in the median, of 40 of
/// 16 MiB most, 8 % (`small-raw.txt.xz`).
pub const AGAIN_SECONDS: f64 = 3.7e-6;
/// The same, below which tiles are few: what they would take is copied. On an H200, most of 25 problems of 4 MiB took
/// less by a copy, 20 % in the median, and half of 18 of 16 MiB (`small-raw.txt.xz`).
pub const TILES_SECONDS: f64 = 1.9e-6;
/// The same, below which elements some steps apart are read where they lie, each by itself: on an H200, norm f64
/// (262144,) in steps of two took 13 us in stretches and 7 so, logsumexp f32 (16,32768) 15 and 9; of 16 MiB, most took
/// as long (`small-raw.txt.xz`).
pub const STEPS_SECONDS: f64 = 1.9e-6;
/// The same, below which `any_` kernels take what `apart_` and `narrow_` would, if outputs have at least [`SINGLY`]
/// elements: a MiB on an H200, where var f32 (528,31) in Fortran order took 35 us in `apart_` and 8 so; of 250 such
/// problems 220 took less (`small-raw.txt.xz`).
pub const SINGLY_SECONDS: f64 = 2.4e-7;
/// See [`SINGLY_SECONDS`].
pub const SINGLY: usize = 256;
/// So many times the blocks of `narrow_` that kernel is as fast, and kept.
pub const SINGLY_BLOCKS: u32 = 4;
/// Bytes of a copy for each multiprocessor: a larger input is copied and reduced in pieces. A piece of 33 MiB stays in
/// the second-level cache of an H200 until it is reduced, and the workspace stays small. Not measured.
pub const COPIED_BYTES: usize = 256 << 10;
/// Blocks that copy, for each multiprocessor, at most: each takes several tiles. Not measured.
pub const TRANSPOSE_SPREAD: u64 = 32;
/// Elements of a column whose part another launch reduces, at most: so few that blocks need not share one. Not measured
/// against other values.
pub const COLUMN_ROWS: usize = 512;
/// Bytes of such a column for each word of its part, at least: parts are written and read. Not measured.
pub const PART_BYTES: usize = 32;
/// The same of nodes that are numbers, at most, if neighbours in memory would leave theirs in sectors of their own. Not
/// measured against other values.
pub const NODE_BYTES: usize = 512;
/// Elements of such a column, up to which nodes are left in the order of memory in any case: columns that leave parts
/// are not shallow. Sum f32 (1000,1677,40) in order 0,2,1 took an H200 176 us with parts of eight elements, and 136
/// with such nodes.
pub const NODE_ROWS: usize = 8;
/// Bytes for each multiprocessor, from which on elements so far apart in memory are not read at about the same time.
/// Not measured.
pub const APART: usize = 32 << 10;
/// Bytes side by side from which on such columns are reduced in place. Not measured.
pub const SUBTREE_BYTES: usize = 64;
/// Bytes of few columns, of which a warp stages a stretch of 32 rows and more. Not measured against other values.
pub const BETWEEN_BYTES: usize = 127;
/// The same of a stretch of 16 rows and more, where outputs are taken in pairs: on an H100, mean bf16 (14749,140,5,13)
/// of axes 0 and 1 took 280 us so, and 323 in columns.
pub const PAIRED_BYTES: usize = 255;
/// Bytes of columns whose results are reduced again: as many as several panels have. Not measured.
pub const TOGETHER_BYTES: usize = 8 << 10;
/// Bytes of a row of elements of 8 bytes, and of those that are counted or are summed of 1 byte, from which on rows of
/// columns are not taken together only so that they begin with lines: kernels read columns that begin anywhere, and
/// each launch more costs some; and the same of a row of other elements of 4 bytes. On an H200 (`plans-raw.txt.xz`),
/// sum u8 (9578,2,14013) along axis 0 took 142 us together and 100 alone, sum i64 (149,7,32171) 84 and 71, any u8
/// (5466,2,24555) along axes 0 and 1 132 and 91; but sum i8 (1917396,140) 100 and 155; max f32 (2266,29615) 101 and 77,
/// but (33554432,2) 77 and 106.
pub const ALONE_BYTES: [usize; 3] = [1 << 10, 512, 4 << 10];
/// Results are reduced again if they have at most one of so many parts of the input's bytes. Not measured.
pub const AGAIN: usize = 32;
/// The same, of runs whose outer axes are too short for that. Not measured.
pub const ALONG: usize = 8;
/// Bytes of an output, from which on tiles reduce it where order matters and elements lie in another one. Not measured.
pub const TILED_BYTES: usize = 16 << 10;
/// Rows of a column, from which on tiles need no more of them, and twice of which they have whole. Not measured.
pub const TILED_ROWS: usize = 128;
/// Bytes side by side in memory that a tile reads of a row: a line. Not measured against other values.
pub const TILED_STRETCH: usize = 128;
/// What an element of a tile costs besides its read, in reads without conflicts: some instructions. Not measured.
pub const TILED_WINDOW: usize = 3;
/// Bytes of a tile, at least: each takes its block about as long, however few they are. By tiles of 256 bytes the
/// standard deviation of f16 (32768,32,64,2) in order 3,1,0,2 took an H100 4900 us. Sizes above were not measured.
pub const TILED_LEAST: u64 = 2 << 10;
/// Bytes from column to column of a tile, at most. Not measured.
pub const TILED_GROUP: usize = 64;
/// The largest power of two that divides the length of the innermost reduced axis, up to which lanes walk down columns
/// of sums abreast: a quarter of it for f64. Above, nodes and subtrees of columns were faster.
pub const ABREAST_SUMS: usize = 16;
/// The same of variances, and of means that skip NaN.
pub const ABREAST_OTHERS: usize = 32;
/// Columns side by side, from which on they do: of fewer, but 16, too many lanes have none. On an H200, sum bf16
/// (28,4793491) in Fortran order took 240 us so, and 145 by tiles; sum f32 (51,32896,40) in order 2,1,0 159 and as
/// nodes 99; 601 columns 123 and 169. Between these it was not measured.
pub const ABREAST_COLUMNS: usize = 96;
/// Windows of a column of 16, from which on they do: 8 for each tile of a block. Fewer were not measured; of 3, three
/// quarters of a block's lanes would have none.
pub const ABREAST_TILES: usize = 128;
/// Blocks of 8 warps that a multiprocessor holds of the kernel that does.
pub const ABREAST_BLOCKS: usize = 2;
/// Rows that a block of that kernel could have read until it begins. A guess.
pub const ABREAST_START: usize = 64;
/// Numbers of blocks one below the other, among which that with the least rows in all waves is looked for.
pub const ABREAST_TRIED: usize = 64;
/// Bytes that memory writes at once.
pub const SECTOR: usize = 32;
/// Results that would have a sector each are copied to their places if all of these are at least one of so many parts
/// of the input's bytes. Not measured.
pub const REORDERED: usize = 8;
/// Bytes of elements side by side, from which on those that are reduced to themselves are copied by warps. Not
/// measured.
pub const SINGLE_BYTES: usize = 1 << 10;
