//! The numbers that tune the CPU backend, each with the measurement that chose it. None of them changes a bit.

/// Elements that one call of a block kernel reduces: its levels stay in the L1 cache. 1024 spends a third of its time
/// on the last, short levels; 16384 leaves L1.
pub const BLOCK: usize = 4096;

/// The most elements that a block kernel without a tree takes, if they lie as it reads them. The lanes of a block are
/// joined at its end, which takes longer than a few hundred elements. Other values have no record.
pub const LONG_BLOCK: usize = 1 << 16;

/// The first elements of an output, which may decide the result: a NaN among them.
pub const FIRST: usize = 256;
/// Rows from a row that ends early to the row whose first elements are prefetched.
pub const EARLY: usize = 8;
/// The fewest elements of an output whose first ones are looked at before any other: a sixteenth of the work at most.
pub const LEAST_DECIDED: usize = 16 * FIRST;
/// The most outputs whose first elements are looked at on the calling thread alone.
pub const MOST_DECIDED: usize = 1 << 10;

/// Bytes from the piece at hand to the piece that kernels prefetch, where a kernel's arithmetic keeps the CPU from
/// loading so far ahead itself. Of a plain read, one thread, without and with 2, 4, 8, 16 KiB: sum of f16 71, 89, 95,
/// 100, 100 %; bf16 86, 84, 99, 93, 92; var of f32 70, 73, 77, 82, 81; of f64 44, –, 59, 72, 71; logsumexp of f32 43,
/// –, 56, 59, 53. (Down 64 columns, where the CPU sees no stream, 43 % became 114, down 16 columns 49 % became 76.)
pub const AHEAD: usize = 8192;

/// [`AHEAD`] for kernels with little arithmetic: sums of elements as wide as their nodes, extrema of floats. 1 GiB, one
/// thread of an EPYC with AVX-512, ms without, with 1, 2 and 8 KiB (a read takes 45.7): sum of f32 61.7, 57.1, 54.1, –;
/// of f64 59.7, 58.5, 52.4, –; max of f32 58.7, –, 52.1, –; of f64 62.4, –, 48.8, –; of f16 55.0, –, 52.1, 58.3.
/// Extrema of integers are at the speed of a read without, and slower with: i32 45.9, –, 57.6, 54.9.
pub const AHEAD_LIGHT: usize = 2048;

/// [`AHEAD`] along each of a few rows that are reduced column by column: 128 MiB, two threads, ms without, and with 1
/// KiB (a read takes 3): min of 4 rows of f32 10.6, 5.4; max of 2 rows, with its results, 8.4, 6.5.
pub const AHEAD_COLUMNS: usize = 1024;

/// The fewest lines from the line at hand to the line that is prefetched while lines are copied. Other values have no
/// record.
pub const LINES_AHEAD: usize = 16;

/// Elements that one task reduces when an output is cut over threads. A power of two, so that a task is a subtree.
pub const CHUNK: usize = 1 << 18;

/// Elements under which a reduction stays on the calling thread: waking another costs about as much as 20 us of work.
pub const ONE_THREAD: usize = 1 << 17;

/// Rows of a matrix that the column kernel combines in registers.
pub const PANEL: usize = 8;

/// [`PANEL`] for a kernel that needs no tree. A node of each column is read and written once for this many rows, and
/// their places fit 7 bits.
pub const MOST_ROWS: usize = 64;

/// [`PANEL`] for a kernel of many trees, whose nodes are large: their places fit 7 bits.
pub const TALL: usize = 128;

/// [`MOST_ROWS`] for extrema, whose nodes are small: fewer rows at a time, each of them longer. 80 MB, one thread of a
/// busy EPYC with AVX-512, ms of 64 rows of strips of 8 KiB, of 16 rows of such strips, and of 16 rows of 32 KiB: max
/// of f64 (100, 100000) that skips NaNs 5.4, 4.5, 4.0; min of i64 (16810, 998), 128 MiB, 8.4, 7.8, 7.1; max of f32
/// (1000, 20000) 6.3, 5.3, 5.1; of bf16 2.3, 1.7, 1.7. With larger nodes it is slower: argmax of f64 (100, 100000) 6.3,
/// 7.0, 7.7. The loop by itself, one thread, the least of 9, ms of 16 rows of 32 KiB, of 8 rows of 32, 64 and 128 KiB:
/// max of f64 (100, 100000) that skips NaNs 3.4, 2.8, 2.4, 2.1; of f32 0.90, 1.0, 0.95, 0.79.
pub const FEW_ROWS: usize = 8;

/// Rows of fewer elements than this are transposed and reduced as columns by kernels of trees, if their length is no
/// power of two, or NaNs are left out; variances have a bound of their own. 128 MiB, two threads, ms of one row at a
/// time, and transposed (a read takes 2.6): rows of 78, sum of bf16 12.2, 5.5; of 100, sum of f32 4.9, 4.2; of bf16
/// 9.8, 5.1; var of f32 15.5, 5.3.
pub const SHORT: usize = 128;

/// Elements of short rows that are transposed at a time. 128 MiB, two threads of an EPYC with AVX-512, ms of 4096,
/// 8192, 16384 and 32768 (a read takes 4): sum of rows of 26 f32 7.8, 7.5, 7.0, 6.6; of bf16 12.4, 11.0, 9.1, 8.6; of
/// 100 f32 8.6, 8.9, 9.3, 8.3; max of 40 u8 10.2, 8.0, 6.9, 6.8; var of 12 bf16 14.7, 11.9, 11.4, 10.7.
pub const ROWS_ITEMS: usize = 8 * BLOCK;

/// Rows of fewer bytes than this are transposed and reduced as columns by order-free kernels. 128 MiB, ms of one row at
/// a time, and transposed: rows of 48 bytes, max of u8 19.1, 10.0 (rows of 40); of 100, argmax of u8 14.2, 9.2; of 400,
/// max of f32 3.8, so not transposed.
pub const SHORT_BYTES: usize = 256;

/// [`PANEL`] for kernels whose nodes take long to merge, and whose lower nodes stay in registers. 128 MiB, two threads
/// of a busy machine, times of 32 and of 128 rows over that of 8: var of u8 (2048,65500) along axis 0 1.06, 1.62; of i8
/// (2048,128,512) along axis 1 0.68, 0.62. Wider integers stay with 8: i16 (2048,32750) along axis 0 took twice as long
/// by 32.
pub const HIGH: usize = 4 * PANEL;

/// Rows of at least this many elements, if they are no columns, are blocks of their own. 1 GiB of f32 in rows of 1024,
/// two threads, ms of all rows of a block level by level, and so: max 42, 27; sum 44, 28 (a read takes 28). In rows of
/// 64, sum 51, 73.
pub const ALONE: usize = 256;

/// Bytes of a row that a task of columns reduces: a stack of log2(rows) such rows stays in L2, and two pages are read
/// per row.
pub const STRIP_BYTES: usize = 8192;

/// [`STRIP_BYTES`] of [`FEW_ROWS`].
pub const LONG_STRIP: usize = 16 * STRIP_BYTES;

/// [`STRIP_BYTES`] of columns that have some elements side by side, whose nodes are fewer. What is prefetched behind a
/// row's part is the next strip's, and read again. 128 MiB, two threads of a busy EPYC with AVX-512, CPU time of each,
/// ms of 8 and of 32 KiB: norm of f32 (512, 8192, 8) over axes 0 and 2 11.0, 8.9; of 512 MiB (4000, 4096, 8) 55.6,
/// 36.7.
pub const STRIP_BESIDE: usize = 4 * STRIP_BYTES;

/// Bytes of a strip of few rows, whose nodes are few, too: max of 2 rows 6.5, and with long strips 5.4 ms; min of 4
/// rows 5.4, 4.7.
pub const STRIP: usize = 1 << 17;

/// The most bytes of the nodes of such a strip, if all rows are one panel. Other values have no record.
pub const STRIP_NODES: usize = 1 << 15;

/// The most bytes between columns whose rows are gathered, where there are few neighbours, and rows of these are far
/// apart. 128 MiB, two threads of an EPYC with AVX-512, ms of the few columns, and of those so far apart, over axes 2
/// and 3, of memory order 3, 1, 2, 0: sum of bf16 (3, 86037, 5, 52) 66, 30; the same that skips NaNs 58, 30; sum of f32
/// (2, 100000, 3, 56) 42, 16; var of f32 (3, 43000, 5, 52) 36, 30; sum of f64 (4, 20000, 2, 110), 64 bytes apart, 30,
/// 31.
pub const SPREAD: isize = 64;

/// Kept columns under which all are reduced at once ([`super::route::Route::Interleaved`]).
pub const FEW_COLUMNS: usize = 8;

/// [`FEW_COLUMNS`] for dense rows, where a block of memory is some rows of all columns, at least [`PANEL`]. Of 1 GiB of
/// f32, two threads, ms before and after (a read takes 27): sum of 4 columns 96, 31; of 8 166, 29; of 16 64, 34; of 64
/// 39, 32; of 256 33, 31; var of 4 106, 33; of 64 39, 30; argmax of 4 95, 32; of 64 62, 36.
pub const FEW_DENSE_COLUMNS: usize = BLOCK / PANEL;

/// Elements of dense rows of few columns that are taken apart at a time, so that each column is a block. 128 MiB, two
/// threads of an EPYC with AVX-512, ms of columns side by side in a tile, and of 8192, 16384 and 32768 elements taken
/// apart (a read takes 4.3): sum of 16 columns of f32 8.7, 6.9, 5.6, 6.3; of 41 of bf16 9.9, –, 7.2, 7.5; var of 41 of
/// f32 that skips NaNs 24.6, –, 11.8, 17.0; logsumexp of 20 of f32 15.4, 11.8, 12.5, 12.6.
pub const APART_ITEMS: usize = 4 * BLOCK;

/// The fewest bytes of few columns' rows that are moved as they are, so that stretches of them lie abreast. 128 MiB,
/// two threads of a busy Xeon with AVX-512, ms of columns as blocks, and of stretches abreast, along axis 0: std of f16
/// (6134000, 11) 10.1, 12.1; of bf16 (4194304, 16) 8.6, 8.4; var of f32 (1500000, 20) 5.4, 5.4.
pub const LEAST_ABREAST: usize = 48;

/// Elements side by side of each column under which many columns are transposed as they are read, and reduced row by
/// row ([`super::route::Route::Columns`]).
pub const MOST_BESIDE: usize = 64;

/// Bytes of the elements side by side of each column from which on columns that fill no tile are not transposed: runs
/// are copied to one sequence of each output. Other values have no record.
pub const LEAST_COPIED: usize = 16;

/// Bytes of a row of a narrow strip, of which later rows are prefetched: too few for the CPU to see a stream. Other
/// values have no record.
pub const NARROW: usize = 2048;

/// Runs of each column from which on more elements side by side, up to a block, are columns of their own, of a kernel
/// that takes them in any order. Other values have no record.
pub const MANY_RUNS: usize = 16;

/// Elements of the innermost axis under which an output's elements are not read one after the other if a kept axis and
/// a few indices of an outer reduced axis lie closer.
pub const LEAST_INNER: usize = 16;

/// The most elements of a slab ([`super::route::Route::Slabs`]): a few of them are a block.
pub const MOST_SLAB: usize = BLOCK / 2;

/// The fewest slabs that are worth being transposed.
pub const LEAST_SLABS: usize = 8;

/// The fewest elements of a slab's piece that is transposed by itself.
pub const LEAST_PIECE: usize = 64;

/// The fewest bytes of neighbouring outputs' elements that are copied as they lie, where pieces would be smaller.
pub const LEAST_LINE: usize = 8;

/// The outputs of a slab from which on it is reduced as it lies, if a kernel takes dense rows by itself.
pub const WIDE_SLAB: usize = 64;
/// Bytes of a row of a slab's outputs from which on any kernel reduces it as it lies: the rows of many narrower slabs
/// are copied side by side. 128 MiB, two threads of an EPYC with AVX-512, ms as slabs lie, and of copied rows, along
/// axis 1: mean of bf16 (85926, 11, 71) 28.2, 12.3; sum of f32 (42900, 11, 71) 16.0, 9.3; (21450, 13, 100) 15.3, 7.4;
/// (20000, 8, 200) 9.4, 6.6; var of f32 (42900, 11, 71) 18.5, 10.9; max of u8 (171800, 11, 71) 18.8, 8.2; sum of f64
/// (10000, 8, 200) 6.6, 7.6. Of i32, whose kernel takes dense rows, (42900, 11, 71) 5.8, 7.9.
pub const WIDE_ROW: usize = 1024;

/// The most bytes of rows of columns side by side that are copied to follow one another, where they do not. 128 MiB,
/// two threads of a busy EPYC with AVX-512, CPU time of each, ms of panels of rows where they are, and of copied rows,
/// along axis 0: sum of f32 (1900000, 16), 17 apart, 39.3, 9.7; of f32 (6000000, 4), 5 apart, 7.5, 5.4; of i8 (6000000,
/// 20), 21 apart, 26.2, 14.6; norm of f32 (491520, 64), 68 apart, 12.0, 6.8; sum of f32 (245760, 128), 136 apart, 7.8,
/// 6.9; (61440, 512), 520 apart, 5.6, 6.5; argmax of f32 (1900000, 16), 17 apart, 32.2, 7.1; logsumexp 57.6, 14.7;
/// describe 44.9, 23.6.
pub const MOST_LINE: usize = 512;

/// The fewest such rows of an output. CPU time as above, ms of panels, and of copied rows, along axis 1 of 3, 17 apart:
/// sum of f32 (600000, 3, 16) 76.9, 299.6; (200000, 9, 16) 102.3, 124.6; (80000, 24, 16) 63.1, 55.8; (20000, 100, 16)
/// 56.1, 26.0.
pub const LEAST_LINES: usize = 24;
/// The fewest columns that are copied so, unless their number is a power of two: sums of f32 (2000000, 3) of rows 7
/// apart took 2.8 ms where they are, 4.0 copied; (2000000, 4), 5 apart, 3.8 and 2.0.
pub const LEAST_COLUMNS: usize = 8;

/// The most elements, about, of few columns that a task reduces.
pub const MOST_FEW: usize = 1 << 22;

/// The fewest elements of a run that is a block of its own ([`super::route::Route::Runs`]). Shorter runs are copied to
/// blocks.
pub const LEAST_RUN: usize = 256;
/// The fewest runs of an output. With fewer there would be too few tasks.
pub const LEAST_RUNS: usize = 64;

/// The most outputs between the elements of an output whose stretches are brought together in a tile
/// ([`super::route::Route::Tiles`]).
pub const MOST_ABREAST: usize = 64;
/// The most outputs of such a problem: one thread joins and writes them.
pub const MOST_OF_TILES: usize = 1 << 12;
/// The fewest outputs that are reduced in patches ([`crate::engine`]), if they lie in another order than the array.
/// Other values have no record.
pub const LEAST_PATCHED: usize = 1 << 15;
/// The most bytes of an output in such a patch, of longer ones results are a small part. 128 MiB, two threads of a busy
/// EPYC, ms of results one by one, and by patches: sum of f32 (3000, 300, 37) along axis 2, of memory order 2, 0, 1,
/// 6.5, 6.3 (148 bytes); max of f32 (100, 3000, 112) along axis 2, of order 1, 0, 2, 14.8, 8.8 (448 bytes).
pub const MOST_PATCHED: usize = 1 << 10;
/// Bytes of the results of a patch, if there are as many: a part of an L2 cache. 128 MiB, two threads of a busy EPYC,
/// ms of 64, 128, 256, 512 KiB: max of f32 (8, 12595, 37, 9) along axis 0, of memory order 2, 0, 1, 3, 11.4, 10.5, 9.9,
/// 9.6; sum of f32 (2000, 8, 2048) along axis 1, of order 1, 2, 0, 10.3, 10.8, 9.9, –; max of f64 (100, 30000, 5) along
/// axis 2, of order 1, 0, 2, 14.4, 11.5, 11.9, –.
pub const PATCH: usize = 1 << 18;
/// Bytes of the array that the neighbours in a patch have side by side, if there are as many. Other values have no
/// record.
pub const PATCH_RUN: usize = 1 << 12;
/// Bytes of the results that they have side by side. Other values have no record.
pub const PATCH_LINE: usize = 1 << 8;
/// The fewest bytes of a result that is written past the caches, about as many as these hold: lines are not read before
/// they are written. 128 MiB, two threads of an EPYC with AVX-512, ms through the caches, and past them: sum of f64 (1,
/// 16777216) along axis 0 7.9, 5.7; max of f32 (2, 16777216) 8.3, 6.7; argmax of bf16 (4, 6000, 2796) 17.1, 14.7; var
/// of u8 (14401, 10, 932) along axis 1 22.9, 19.7.
pub const LEAST_STREAMED: usize = 1 << 25;
/// The fewest bytes of neighbours of such a result that are written so. Other values have no record.
pub const LEAST_AT_ONCE: usize = 1 << 10;
/// The elements, or the bytes, of runs from which on such tiles bring them together one by one, instead of having each
/// element of a run in a row of its own. 128 MiB, two threads of an EPYC with AVX-512, ms of rows, and of tiles (a read
/// takes 4): sum over axes 0 and 2 of f32 (30000, 20, 50) 32.9, 5.3; (100000, 40, 8) 17.3, 8.1; (200000, 40, 4) 19.5,
/// 14.9; (400000, 40, 2) 19.9, 26.6; of f64 (100000, 40, 2) 8.1, 6.1 (64 MiB). Runs of 4 of bf16 gain nothing: 16.0,
/// 17.6.
pub const LEAST_BROUGHT: (usize, usize) = (4, 16);
/// The most bytes of an element of which such tiles bring pairs together, each pair as one element. 128 MiB, two
/// threads of a busy EPYC with AVX-512, ms of rows, and of pairs (a read takes 2.6): std of f16 (16384, 32, 64, 2)
/// over axes 0, 1 and 3 36.0, 18.1; sum of f32 (400000, 40, 2) over axes 0 and 2 37.8, 12.0.
pub const MOST_OF_PAIR: usize = 4;
/// The fewest indices of a reduced axis, each with a small block of memory, whose blocks such tiles bring into order.
pub const LEAST_LANE: usize = 32;
/// The fewest rows of few columns in each of several stretches that such tiles bring into order: each stretch begins
/// and ends with small subtrees. Other values have no record (`bench/record/cpu/2026-11-25/orders.txt`).
pub const LEAST_STRETCH: usize = 512;
/// Bytes of a run of the innermost axis from which on each output is read by itself, run after run.
pub const LONG_RUN: usize = 2048;

/// Bytes of a run of the innermost axis under which runs are transposed, each as one element, if the next one in memory
/// is not the next one of the index. Other values have no record.
pub const SHORT_RUN: usize = 512;

/// The fewest rows of a subtree of a transposed array's lanes that are reduced as columns. Lower subtrees leave so many
/// nodes that transposing tiles of all elements is faster: sum of f32 (82241, 408) in Fortran order has 80 % of a plain
/// read so, var of bf16 that skips NaNs, (8, 8128, 1032) with axis 1 fastest in memory, 34 % (the record
/// `blocks-after.json`). Other values have no record.
pub const LEAST_DEPTH: usize = 64;
/// The fewest elements of an output whose rows hold many lanes ([`super::route::Route::Crossed`]): each output has
/// spans of its own. Other values have no record.
pub const LEAST_CROSSED: usize = 4 * BLOCK;
/// Bytes of a row of such columns up to which a tile has the row whole: less of it would be parts of cache lines. Other
/// values have no record.
pub const DENSE_ROW: usize = 4096;
/// The most nodes of such subtrees of an output, which one thread joins.
pub const MOST_NODES: usize = 1 << 24;
/// Rows of a transposed array that a task reduces at most.
pub const MOST_DEPTH: usize = 2048;

/// Bytes of a tile of a transposed array's lanes in index order: half of an L2 cache.
pub const TILE_ITEMS: usize = 1 << 19;
/// [`TILE_ITEMS`] of parts of lanes, each of which begins and ends with small subtrees.
pub const TILE_PARTS: usize = 1 << 21;
/// Bytes of the nodes of a tile of the fewest lanes, if these are reduced by units, up to which a tile has its lanes
/// whole: what is in parts has small subtrees at each end.
pub const TILE_UNITS: usize = 1 << 21;
/// Bytes of the fewest lanes of such a tile, if there are as many. Each of its rows is on a page of its own, whose
/// address is looked up. 128 MiB, two threads of an EPYC, ms of tiles of 512 KiB and lanes of 128 bytes, and of 2 MiB
/// and 512 (a read takes 4): norm of f32 (593, 56584), the first axis fastest in memory, 20.9, 17.5; sum of f64 (4271,
/// 3928) 18.1, 11.6; norm of bf16 (82, 58457, 14) 24.8, 20.7.
pub const LEAST_LANES: usize = 512;
/// The most lanes of such a tile that are transposed at a time.
pub const MOST_LANES: usize = 256;
/// Rows from the row at hand to the row that is prefetched while rows far apart are transposed.
pub const ROWS_AHEAD: usize = 24;
/// The length of the innermost axis under which lines of such a tile, which then are far apart, are copied one by one.
pub const FEW_LINES: usize = 16;
/// Lines of such a tile that are copied before they are transposed, where elements cannot be read in place.
pub const LINES: usize = 64;

/// The most groups whose elements are queued at once ([`crate::engine`]). Elements of more groups go to buckets first.
/// 2^26 f32, two threads, by queues: 16 groups 62 ms, 1024 69, 2048 75, 4096 84; a million by buckets 118 (all of a
/// prototype).
pub const FEW_GROUPS: usize = 1 << 12;
/// Bytes of the queues of a thread, about as many as its L2 cache has. Longer queues cost less, but not much: 16
/// groups, queues of 64, 128, 256, 1024 elements: 70, 71, 67, 62 ms; 1024 groups, of 64, 128, 256: 71, 72, 69. 2^20 f32
/// in 1024 groups, of 64, 128, 256, 512: CPU time 2.4, 1.8, 1.27, 1.44 ms.
pub const QUEUE_BYTES: usize = 1 << 20;
/// The most bytes of the columns of a bucket's groups, about half of which are in use: a share of the L3 cache. CPU
/// time of 2^26 f32 in 250 000 groups by columns of 2 MiB, or else by queues: 220, 282 ms; of 2^27 in a million by
/// columns of 4 MiB: 429, 565.
pub const COLUMN_BYTES: usize = 1 << 23;
/// The fewest elements of a queue, if a group has as many. A full queue takes about 85 ns beside its elements. CPU time
/// of 2^26 f32 in 4096 groups, queues of 64, 128: 190, 139 ms.
pub const LEAST_QUEUE: usize = 128;
/// The most buckets that elements of many groups are scattered to. CPU time of a thread that brings 2^25 pairs of 8
/// bytes to 245, 489, 977, 1954 buckets: 33, 34, 43, 137 ms. (A cache line for each bucket, written when it is full,
/// takes 67 ms for any number of them, with stores past the cache or without.)
pub const BUCKETS: usize = 1 << 9;
/// The most lines of a labelled axis that are transposed and reduced side by side ([`crate::engine`]). Means of f32
/// (365, 721, 144) by 12 labels along the last axis, two threads, CPU time of one line at a time, and of 256: 278,
/// 26 ms; by 100 labels 316, 57. Other values have no record.
pub const LINES_ABREAST: usize = 256;
/// The fewest elements of a thread's part of a grouped reduction.
pub const LEAST_PART: usize = 1 << 16;
