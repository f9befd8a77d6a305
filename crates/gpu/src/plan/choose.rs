//! Which fold computes a reduction, and what it is told.

use warpfold_core::{Cast, DType, Element, Kind, bf16, f16};
use warpfold_kernels::recipe::{Recipe, code, flag};

use warpfold_array::request::Spec;
use warpfold_array::{Op, Ord, Precision};

/// A fold: part of a kernel's name, and what the planner must know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// As in `rows_sum_f32`.
    pub name: String,
    /// Whether the order of elements matters.
    pub ordered: bool,
    /// Whether its result is a place, so that partial results cannot change theirs.
    pub places: bool,
    /// Words of a part.
    pub words: usize,
    /// Columns that a lane takes.
    pub wide: u64,
    /// Whether it has kernels for outputs of few elements, in rows and in columns.
    pub few: bool,
    /// Whether a lane may take several short rows as one.
    pub packed: bool,
    /// Whether its results are as narrow as elements of 1 or 2 bytes, so that a lane writes several at once.
    pub narrow: bool,
    /// Whether there is a kernel for short rows.
    pub short: bool,
}

/// The fast fold for elements as they lie in memory, if there is one.
pub fn fast(spec: &Spec) -> Option<Fold> {
    if spec.masked || spec.swapped {
        return None;
    }
    let (input, result) = (spec.input, spec.result());
    // A float may come out wider if it is accumulated so in any case.
    let float = input.is_float() && (result == input || (input.size() == 2 && result == DType::F32));
    let integer = !input.is_float() && !result.is_float();
    let wide = if input == DType::F64 { 2 } else { 1 };
    let plain = spec.precision == Precision::Tree;
    let columns = if input.size() == 8 { 2 } else { 4 };
    let tree = |name: &str, words: usize| Fold {
        name: format!("{name}_{input}"),
        ordered: true,
        places: false,
        words,
        wide: columns,
        few: true,
        packed: false,
        narrow: false,
        short: true,
    };
    let heap = |name: &str, words: usize| Fold {
        name: format!("{name}_b{}", input.size()),
        ordered: false,
        places: name == "argmax",
        words,
        wide: if input.size() <= 2 { 8 } else { columns },
        few: true,
        packed: input.size() <= 2,
        narrow: name == "max" && input.size() <= 2,
        short: true,
    };
    // Nodes of one word leave room for 16 bytes of columns to a lane.
    let wider = |fold: Fold| {
        if input.size() == 2 { Fold { wide: 8, packed: true, narrow: result == input, ..fold } } else { fold }
    };
    let key = if input.size() == 8 { 2 } else { 1 };
    match spec.op {
        Op::Sum if float && plain => Some(wider(tree("sum", wide))),
        Op::Sum if float => Some(tree("sum2", 2 * wide)),
        Op::Sum if integer => Some(heap("sum", 4)),
        Op::Mean if float && plain && !spec.skip_nan => Some(wider(tree("sum", wide))),
        Op::Mean if float && !spec.skip_nan => Some(tree("sum2", 2 * wide)),
        Op::Mean if !input.is_float() && spec.dtype.is_none() => Some(heap("sum", 4)),
        Op::Prod if float && plain && input.size() >= 4 => Some(tree("prod", wide)),
        Op::Var | Op::Std if float && plain && !spec.skip_nan => Some(tree("var", 2 * wide + 2)),
        Op::Norm if float && spec.ord == Ord::Inf && result == input => Some(heap("max", key)),
        Op::Norm if float && plain && spec.ord != Ord::Inf => Some(wider(tree("norm", wide))),
        Op::LogSumExp if float && plain => Some(tree("logsumexp", 2 * wide)),
        Op::Min | Op::Max => Some(heap("max", key)),
        Op::MinMax => Some(heap("minmax", 2 * key)),
        Op::ArgMin | Op::ArgMax => Some(heap("argmax", key + 2)),
        Op::Any | Op::All | Op::CountNonzero => Some(heap("count", 2)),
        _ => None,
    }
}

/// The recipe for any elements.
pub fn any(spec: &Spec) -> Fold {
    // The CPU takes variances of most integers another way, to the same bits.
    let kernel = match spec.op {
        Op::Var | Op::Std if !spec.kernel_dtype().is_float() => DType::F64,
        _ => spec.kernel_dtype(),
    };
    let double = spec.precision == Precision::Compensated;
    let float = match kernel {
        DType::F64 => "f64",
        _ => "f32",
    };
    let element = if kernel.is_float() { float } else { "i64" };
    let wide = |name: &str| if double { format!("{name}2_{float}") } else { format!("{name}_{float}") };
    let name = match (spec.op, spec.ord) {
        (Op::Sum | Op::Mean, _) if !kernel.is_float() => {
            if spec.input == DType::U64 {
                "sum_u64".into()
            } else {
                "sum_i64".into()
            }
        }
        (Op::Prod, _) if !kernel.is_float() => "prod_i64".into(),
        (Op::Sum | Op::Mean, _) => wide("sum"),
        (Op::Prod, _) => wide("prod"),
        (Op::Var | Op::Std, _) => wide("var"),
        (Op::LogSumExp, _) => wide("logsumexp"),
        (Op::Norm, Ord::One) if double => format!("norm1x2_{float}"),
        (Op::Norm, Ord::Two) if double => format!("norm2x2_{float}"),
        (Op::Norm, Ord::One) => format!("norm1_{float}"),
        (Op::Norm, Ord::Two) => format!("norm2_{float}"),
        (Op::Norm, Ord::Inf) => format!("norminf_{float}"),
        (Op::Min | Op::Max, _) => format!("max_{element}"),
        (Op::MinMax, _) => format!("minmax_{element}"),
        (Op::ArgMin | Op::ArgMax, _) => format!("argmax_{element}"),
        (Op::Any, _) => format!("any_{element}"),
        (Op::All, _) => format!("all_{element}"),
        (Op::CountNonzero, _) => format!("count_{element}"),
    };
    // No part has more: a double double's mean, its deviation, and a count.
    Fold {
        name,
        ordered: true,
        places: false,
        words: 10,
        wide: 1,
        packed: false,
        narrow: false,
        few: false,
        short: true,
    }
}

/// The fold that describes floats of the machine's own byte order.
pub fn describe(dtype: DType) -> Option<Fold> {
    let wide = if dtype == DType::F64 { 2 } else { 1 };
    // The total, its count, NaNs, and two keys with their places.
    let words = 4 * wide as usize + 2 + 2 + 2 * (wide as usize + 2);
    let name = format!("describe_{dtype}");
    let short = dtype.size() > 2;
    let fold = Fold {
        name,
        ordered: true,
        places: true,
        words,
        wide: 2 / wide,
        packed: false,
        narrow: false,
        few: false,
        short,
    };
    dtype.is_float().then_some(fold)
}

/// What the kernel is told of the reduction. `count` elements are reduced into each output.
pub fn recipe(spec: &Spec, count: u64, fast: bool) -> Recipe {
    let unsigned = matches!(spec.input.kind(), Kind::Unsigned | Kind::Bool);
    let mut flags = 0;
    let mut set = |flag: u32, on: bool| flags |= if on { flag } else { 0 };
    // NaN is true, so that it decides nothing of whether all are: the fast kernels need not leave it out, and know how many there are.
    set(flag::SKIP_NAN, spec.skip_nan && !(fast && spec.op == Op::All));
    set(flag::MASKED, spec.masked);
    set(flag::MEAN, spec.op == Op::Mean);
    set(flag::ROOT, spec.op == Op::Std || (spec.op == Op::Norm && spec.ord == Ord::Two));
    set(flag::SQUARE, spec.op == Op::Norm && spec.ord == Ord::Two);
    set(flag::MAGNITUDE, spec.op == Op::Norm && spec.ord == Ord::Inf);
    set(flag::LEAST, matches!(spec.op, Op::Min | Op::ArgMin));
    set(flag::UNSIGNED, unsigned);
    set(flag::ANY, spec.op == Op::Any);
    set(flag::ALL, spec.op == Op::All);
    let initial = initial(spec, fast);
    set(flag::INITIAL, initial.is_some());
    let result = spec.result();
    let through = if matches!(result, DType::F16 | DType::BF16) { result } else { spec.input };
    Recipe {
        count,
        ddof: spec.ddof,
        initial: initial.unwrap_or_default(),
        flags,
        input: code(spec.input),
        output: code(result),
        through: code(through),
    }
}

/// The initial value as the fold takes it.
fn initial(spec: &Spec, fast: bool) -> Option<[u64; 2]> {
    let kernel = spec.kernel_dtype();
    let float = |x: Cast| match kernel {
        DType::F64 => f64::from_cast(x),
        _ => f32::from_cast(x) as f64,
    };
    match (spec.op, spec.initial) {
        // As in NumPy, a sum that leaves elements out starts from +0.0.
        (Op::Sum, None) if kernel.is_float() && (spec.skip_nan || spec.masked) => Some([0f64.to_bits(), 0]),
        (_, None) => None,
        (Op::Min | Op::Max, Some(x)) if fast => Some([element(spec.input, x), 0]),
        (_, Some(x)) if kernel.is_float() => Some([float(x).to_bits(), 0]),
        (_, Some(x)) => {
            let x = x.to_integer();
            Some([x as u64, (x >> 64) as u64])
        }
    }
}

/// The bits of a number as an element.
fn element(dtype: DType, x: Cast) -> u64 {
    match dtype {
        DType::Bool => bool::from_cast(x) as u64,
        DType::I8 | DType::U8 => i8::from_cast(x) as u8 as u64,
        DType::I16 | DType::U16 => i16::from_cast(x) as u16 as u64,
        DType::I32 | DType::U32 => i32::from_cast(x) as u32 as u64,
        DType::I64 | DType::U64 => i64::from_cast(x) as u64,
        DType::F16 => f16::from_cast(x).to_bits() as u64,
        DType::BF16 => bf16::from_cast(x).to_bits() as u64,
        DType::F32 => f32::from_cast(x).to_bits() as u64,
        DType::F64 => f64::from_cast(x).to_bits(),
    }
}
