//! Which kernels problems get whose axes lie in memory in another order than in the sequence, or in the result.

use super::{GpuPlan, Limits};
use warpfold_array::Op;
use warpfold_array::problem::Problem;
use warpfold_array::request::Spec;
use warpfold_core::DType;

const H200: Limits = Limits { multiprocessors: 132, bandwidth: 4.6e12, aligned: true, shared_bytes: 227 << 10 };

/// Op, dtype, shape, order, axes, and the kernels.
type Case<'a> = (Op, DType, [usize; 3], [usize; 3], &'a [usize], &'a str);

/// An array whose axes lie in this order, from the outermost to the innermost, with elements so many steps apart.
fn problem(dtype: DType, shape: &[usize], order: &[usize], axes: &[usize], steps: usize) -> Problem {
    let (mut strides, mut to) = (vec![0; shape.len()], dtype.size() * steps);
    for &axis in order.iter().rev() {
        strides[axis] = to as isize;
        to *= shape[axis];
    }
    Problem::of(shape, &strides, &vec![0; shape.len()], axes, dtype.size())
}

/// The kernels of a plan, without their folds.
fn classes(plan: &GpuPlan) -> String {
    let class = |entry: &str| entry.split('_').next().unwrap_or_default().to_owned();
    plan.launches.iter().map(|launch| class(&launch.entry)).collect::<Vec<_>>().join(" ")
}

fn ways(op: Op, dtype: DType, shape: &[usize], order: &[usize], axes: &[usize]) -> String {
    let spec = Spec::without_options(op, dtype);
    classes(&GpuPlan::new(&spec, &problem(dtype, shape, order, axes, 1), &H200))
}

/// A plan of rows in C order, of elements so many steps apart.
fn in_order(op: Op, dtype: DType, shape: &[usize], axis: usize, steps: usize) -> GpuPlan {
    let order: Vec<usize> = (0..shape.len()).collect();
    GpuPlan::new(&Spec::without_options(op, dtype), &problem(dtype, shape, &order, &[axis], steps), &H200)
}

#[test]
fn stretches_that_cross_others_are_staged_if_they_are_subtrees_and_else_read_by_tiles() {
    let all = [0, 1, 2];
    assert_eq!(ways(Op::Sum, DType::F16, &[2_097_152, 2, 32], &[0, 2, 1], &all), "staged rows");
    assert_eq!(ways(Op::Var, DType::BF16, &[250_000, 3, 96], &[0, 2, 1], &all), "staged rows");
    assert_eq!(ways(Op::Sum, DType::BF16, &[20_000, 2, 3301], &[0, 2, 1], &all), "tiled rows");
    assert_eq!(ways(Op::Sum, DType::F32, &[1_000_000, 2, 32], &[0, 2, 1], &all), "staged rows");
    // Short runs, between which those of an outer axis lie.
    assert_eq!(ways(Op::Sum, DType::BF16, &[7436, 3008, 3, 2], &[1, 0, 2, 3], &all), "tiled rows");
    // Tiles have no fold that skips NaN.
    let spec = Spec { skip_nan: true, ..Spec::without_options(Op::Var, DType::F32) };
    let own = problem(DType::F32, &[2, 174_762, 192], &[1, 2, 0], &[0, 2], 1);
    assert_eq!(classes(&GpuPlan::new(&spec, &own, &H200)), "staged rows");
}

#[test]
fn nodes_of_sums_lie_in_the_order_of_memory_if_they_would_be_far_apart_in_the_sequence() {
    let all = [0, 1, 2];
    assert_eq!(ways(Op::Sum, DType::F32, &[51, 32_896, 40], &[2, 1, 0], &all), "shallow tiled rows");
    assert_eq!(ways(Op::Norm, DType::F64, &[300, 2796, 40], &[2, 1, 0], &all), "shallow abreast rows");
    assert_eq!(ways(Op::Mean, DType::BF16, &[1_398_101, 96], &[1, 0], &[0, 1]), "columns tiled rows");
    // Few nodes, nodes that are neighbours, and nodes that are no numbers.
    assert_eq!(ways(Op::Sum, DType::F32, &[8192, 8192], &[1, 0], &[0, 1]), "columns rows");
    assert_eq!(ways(Op::Sum, DType::BF16, &[1000, 1677, 80], &[0, 2, 1], &all), "columns rows");
    assert_eq!(ways(Op::Var, DType::F32, &[51, 16_448, 64], &[2, 1, 0], &all), "columns rows");
    // Of eight elements, whose columns are shallow; nodes are not left of nodes.
    assert_eq!(ways(Op::Sum, DType::F32, &[1000, 1677, 40], &[0, 2, 1], &all), "shallow tiled rows");
    assert_eq!(ways(Op::Prod, DType::F32, &[1000, 1677, 24], &[0, 2, 1], &all), "columns rows");
    assert_eq!(ways(Op::Sum, DType::F64, &[61, 34_379, 4, 4], &[2, 1, 3, 0], &[0, 1, 2, 3]), "staged tiled rows");
    assert_eq!(ways(Op::Mean, DType::F64, &[600_000, 3, 4, 4], &[3, 2, 1, 0], &[0, 1, 2, 3]), "abreast rows");
}

#[test]
fn columns_that_follow_one_another_are_walked_abreast_unless_they_have_subtrees_or_nodes() {
    let of = |op, dtype, shape: &[usize]| ways(op, dtype, shape, &[1, 0], &[0, 1]);
    assert_eq!(of(Op::Sum, DType::F32, &[6981, 9613]), "abreast rows");
    assert_eq!(of(Op::Var, DType::BF16, &[134_083, 1001]), "abreast rows");
    assert_eq!(of(Op::Norm, DType::F64, &[684_784, 49]), "abreast rows");
    assert_eq!(ways(Op::Std, DType::F32, &[262_144, 16, 16], &[2, 1, 0], &[0, 1, 2]), "abreast rows");
    assert_eq!(ways(Op::Sum, DType::BF16, &[601, 74_441, 3], &[2, 1, 0], &[1, 2]), "abreast rows");
    // A warp has two tiles of 16 columns; of others there are too few, or too few rows.
    assert_eq!(of(Op::Sum, DType::BF16, &[16, 8_388_609]), "abreast rows");
    assert_eq!(ways(Op::Sum, DType::F32, &[20_000, 16, 97], &[0, 2, 1], &[0, 1, 2]), "tiled rows");
    assert_eq!(of(Op::Std, DType::F64, &[21, 1_597_831]), "tiled rows");
    assert_eq!(of(Op::Mean, DType::F64, &[860_370, 39]), "tiled rows");
    // Whole subtrees, and nodes.
    assert_eq!(of(Op::Var, DType::F32, &[349_525, 192]), "columns rows");
    assert_eq!(of(Op::Sum, DType::BF16, &[699_050, 192]), "columns tiled rows");
}

#[test]
fn means_and_variances_that_skip_nan_have_tiles() {
    for op in [Op::Mean, Op::Std] {
        let of = |dtype, shape: &[usize]| {
            let spec = Spec { skip_nan: true, ..Spec::without_options(op, dtype) };
            classes(&GpuPlan::new(&spec, &problem(dtype, shape, &[1, 0], &[0, 1], 1), &H200))
        };
        assert_eq!(of(DType::F32, &[3_050_402, 22]), "tiled rows");
        assert_eq!(of(DType::BF16, &[3866, 34_717]), "abreast rows");
        assert!(of(DType::F64, &[3866, 8675]).starts_with("transpose"));
    }
}

#[test]
fn variances_of_integers_have_teams_and_copies_of_short_runs() {
    assert_eq!(ways(Op::Var, DType::U8, &[4_549_753, 59], &[0, 1], &[0]), "columns");
    assert!(ways(Op::Var, DType::I8, &[2, 8_388_608, 16], &[0, 1, 2], &[0, 2]).starts_with("transpose staged"));
    assert_eq!(ways(Op::Var, DType::BF16, &[2, 8_388_608, 8], &[0, 1, 2], &[0, 2]), "staged");
}

#[test]
fn few_elements_whose_axes_are_woven_are_staged_as_they_lie() {
    assert_eq!(ways(Op::Norm, DType::F64, &[1_398_101, 6, 2, 2], &[1, 0, 3, 2], &[2, 3]), "staged transpose");
    assert_eq!(ways(Op::Sum, DType::BF16, &[1_000_000, 5, 7], &[0, 2, 1], &[1, 2]), "staged");
}

#[test]
fn neighbours_in_memory_are_reduced_as_such_and_then_copied() {
    assert_eq!(ways(Op::ArgMax, DType::F32, &[262_144, 2, 64, 2], &[0, 2, 1, 3], &[0]), "columns transpose");
    // In order they need no copy.
    assert_eq!(ways(Op::ArgMax, DType::F32, &[262_144, 2, 64, 2], &[0, 1, 2, 3], &[0]), "columns");
    let describe = |dtype, shape: &[usize], order: &[usize], axes: &[usize]| {
        classes(&GpuPlan::describe(dtype, false, &problem(dtype, shape, order, axes, 1), &H200).expect("a plan"))
    };
    let counts_and_others = "staged transpose transpose";
    assert_eq!(describe(DType::BF16, &[18, 1051, 7094], &[2, 1, 0], &[0]), counts_and_others);
    // All statistics of f64 have 8 bytes.
    assert_eq!(describe(DType::F64, &[18, 1051, 1094], &[2, 1, 0], &[0]), "staged transpose");
    assert_eq!(describe(DType::BF16, &[1051, 7094, 18], &[0, 1, 2], &[2]), "staged");
}

#[test]
fn columns_of_few_rows_some_steps_apart_are_reduced_with_what_lies_between() {
    let of = |op, dtype, rows: usize, steps| {
        let own = problem(dtype, &[64, rows, 16_384], &[0, 1, 2], &[1], steps);
        classes(&GpuPlan::new(&Spec::without_options(op, dtype), &own, &H200))
    };
    assert_eq!(of(Op::Std, DType::BF16, 2, 2), "shallow transpose");
    assert_eq!(of(Op::Max, DType::F32, 6, 4), "shallow transpose");
    // More rows, and results that are larger than what is read.
    assert_eq!(of(Op::Std, DType::BF16, 9, 2), "columns");
    assert_eq!(of(Op::Std, DType::F64, 4, 2), "columns");
    assert_eq!(of(Op::ArgMax, DType::BF16, 3, 2), "apart");
    // What is faster where each lane reads its own.
    assert_eq!(of(Op::LogSumExp, DType::F32, 40, 3), "apart");
    assert_eq!(of(Op::Max, DType::I8, 40, 3), "columns");
    assert_eq!(of(Op::Var, DType::F16, 40, 3), "apart");
    assert_eq!(of(Op::Sum, DType::F16, 40, 3), "columns");
}

#[test]
fn places_among_few_elements_of_each_row_are_staged_where_there_are_no_tiles() {
    assert_eq!(ways(Op::ArgMax, DType::F32, &[9, 7_456_540], &[1, 0], &[0, 1]), "staged rows");
    assert_eq!(ways(Op::LogSumExp, DType::F32, &[9, 7_456_540], &[1, 0], &[0, 1]), "tiled rows");
}

#[test]
fn few_columns_that_would_leave_lanes_idle_are_staged_in_stretches() {
    let of = |op, dtype, columns| ways(op, dtype, &[4_000_000, columns], &[0, 1], &[0]);
    let staged = [(Op::LogSumExp, DType::BF16, 6), (Op::ArgMax, DType::F16, 5), (Op::Norm, DType::F32, 3)];
    for (op, dtype, columns) in staged {
        assert_eq!(of(op, dtype, columns), "staged rows", "{op} {dtype} {columns}");
    }
    // As many as lanes take, more, and what columns are as fast with.
    assert_eq!(of(Op::LogSumExp, DType::BF16, 4), "narrow");
    assert_eq!(of(Op::LogSumExp, DType::BF16, 12), "narrow");
    assert_eq!(of(Op::ArgMax, DType::F16, 7), "apart");
    assert_eq!(of(Op::Var, DType::F32, 5), "narrow");
    assert_eq!(of(Op::LogSumExp, DType::F32, 7), "narrow");
    // Two, for which there is a kernel.
    assert_eq!(of(Op::Var, DType::BF16, 2), "beside");
    // Lanes read none of these at once.
    let spec = Spec::without_options(Op::LogSumExp, DType::BF16);
    let own = problem(DType::BF16, &[4_000_000, 2], &[0, 1], &[0], 1);
    let plan = GpuPlan::new(&spec, &own, &Limits { aligned: false, ..H200 });
    assert_eq!(classes(&plan), "staged rows");
}

#[test]
fn columns_that_no_lane_reads_at_once_are_taken_by_teams_of_few_lanes() {
    let block = |dtype, columns| {
        let plan = in_order(Op::Sum, dtype, &[268_435_456 / dtype.size() / columns, columns], 0, 1);
        (classes(&plan), plan.launches[0].block)
    };
    // Three and five lanes; 18 in each of two panels, of which warps would use a little more than half; 98.
    let blocks = [(DType::BF16, 21, 192), (DType::F32, 17, 160), (DType::BF16, 278, 160), (DType::BF16, 781, 256)];
    for (dtype, columns, threads) in blocks {
        assert_eq!(block(dtype, columns), ("columns".into(), threads), "{dtype} {columns}");
    }
}

#[test]
fn blocks_have_no_warps_without_tiles() {
    let block = |dtype, shape: &[usize], axis| in_order(Op::Sum, dtype, shape, axis, 1).launches[0].block;
    // 45 tiles and a bit: six of eight warps have some.
    assert_eq!(block(DType::BF16, &[361, 371_794], 0), 192);
    assert_eq!(block(DType::BF16, &[512, 262_144], 0), 256);
    // Rows keep theirs.
    assert_eq!(block(DType::F32, &[1600, 40_000], 1), 256);
}

#[test]
fn each_layout_has_the_way_that_was_fastest() {
    let c = [0, 1, 2];
    let all: [Case; 5] = [
        (Op::Norm, DType::F16, [262_144, 2, 256], c, &[1], "shallow"),
        (Op::Norm, DType::F64, [262_144, 2, 64], c, &[1], "staged"),
        (Op::Sum, DType::U8, [9578, 2, 14_013], c, &[0], "columns"),
        (Op::Norm, DType::BF16, [131_072, 512, 2], c, &[0, 2], "tiled rows"),
        (Op::Norm, DType::BF16, [256, 64, 8192], [2, 1, 0], &[1, 2], "columns rows"),
    ];
    for (op, dtype, shape, order, axes, want) in all {
        assert_eq!(ways(op, dtype, &shape, &order, axes), want, "{op} {dtype} {shape:?}");
    }
    // Two rows of eight side by side, and others far apart.
    let own = ways(Op::Sum, DType::BF16, &[131_072, 8, 64, 2], &[2, 0, 3, 1], &[1]);
    assert_eq!(own, "staged transpose");
    let stepped = |op, dtype, shape: &[usize]| classes(&in_order(op, dtype, shape, shape.len() - 1, 3));
    assert_eq!(stepped(Op::Min, DType::F64, &[11_184_810]), "apart");
    assert_eq!(stepped(Op::Var, DType::F32, &[28, 798_915]), "apart");
    assert_eq!(stepped(Op::Var, DType::F32, &[22_369_620]), "any");
    assert_eq!(stepped(Op::Var, DType::BF16, &[22_369_620]), "staged rows");
}

#[test]
fn small_arrays_have_one_launch_of_what_waits_least() {
    let c = [0, 1, 2];
    let all: [Case; 9] = [
        // Columns some steps apart, and few ones, each element by itself; not of few elements, nor in any order.
        (Op::Var, DType::F32, [1, 528, 31], [2, 1, 0], &[1, 2], "any"),
        (Op::Var, DType::F32, [1, 3276, 5], c, &[1], "any"),
        (Op::Max, DType::F32, [1, 528, 5], c, &[1], "columns"),
        (Op::LogSumExp, DType::F32, [40, 128, 16], [1, 2, 0], &[1], "narrow"),
        // No results that are reduced again, no extremes for any, no tiles.
        (Op::Max, DType::U8, [102, 839, 49], c, &[1], "columns"),
        (Op::Any, DType::I64, [17, 3426, 9], c, &[0], "columns"),
        (Op::Norm, DType::F32, [1, 512, 2048], [0, 2, 1], &[1, 2], "transpose rows"),
        // Rows of so many bytes have a warp each, if they are few.
        (Op::Sum, DType::F16, [1, 155, 211], c, &[2], "rows"),
        (Op::Sum, DType::F16, [1, 155, 50], c, &[2], "staged"),
    ];
    for (op, dtype, shape, order, axes, want) in all {
        assert_eq!(ways(op, dtype, &shape, &order, axes), want, "{op} {dtype} {shape:?}");
    }
    // Blocks do not share sets of few tiles.
    let grid = |rows, len| in_order(Op::Max, DType::BF16, &[rows, len], 1, 1).launches[0].grid;
    assert_eq!([grid(128, 65_536), grid(6, 30_000)], [128, 6]);
    assert!(grid(20, 65_536) > 20 && grid(128, 262_144) > 128);
}

#[test]
fn rows_of_odd_columns_of_small_elements_are_taken_several_at_once() {
    let of = |dtype, shape: &[usize]| ways(Op::Max, dtype, shape, &[0, 1, 2], &[1]);
    assert_eq!(of(DType::F16, &[4491, 360, 83]), "columns staged");
    assert_eq!(of(DType::F32, &[4491, 180, 83]), "columns");
}

#[test]
fn few_integers_side_by_side_are_true_if_their_greatest_is() {
    let c = [0, 1, 2];
    assert_eq!(ways(Op::Any, DType::I8, &[80, 5, 671_088], &c, &[1]), "shallow staged");
    assert_eq!(ways(Op::All, DType::I32, &[2, 16, 2_000_000], &c, &[1]), "columns staged");
    assert_eq!(ways(Op::Any, DType::I8, &[80, 50, 67_108], &c, &[1]), "columns");
    assert_eq!(ways(Op::Any, DType::U8, &[3, 134_217, 2], &c, &[2]), "staged");
    assert_eq!(ways(Op::CountNonzero, DType::I8, &[80, 5, 671_088], &c, &[1]), "columns");
    let spec = Spec::without_options(Op::Any, DType::I8);
    let own = problem(DType::I8, &[3, 44_739_242], &[0, 1], &[0], 2);
    assert_eq!(classes(&GpuPlan::new(&spec, &own, &H200)), "shallow staged");
}

#[test]
fn few_elements_in_several_runs_are_copied_where_no_kernel_stages_turns() {
    let of = |op, dtype, shape: &[usize]| ways(op, dtype, shape, &[0, 1, 2], &[0, 2]);
    assert!(of(Op::ArgMax, DType::F32, &[4, 524_288, 32]).starts_with("transpose"));
    assert_eq!(of(Op::Mean, DType::I64, &[4, 262_144, 32]), "runs");
    assert_eq!(of(Op::Sum, DType::I64, &[4, 262_144, 32]), "staged shallow");
    assert_eq!(of(Op::LogSumExp, DType::F32, &[4, 524_288, 32]), "staged");
}
