//! Which fold computes a reduction, and what it is told.

use warpfold_core::{Cast, DType, Element, Kind, bf16, f16};
use warpfold_kernels::reduce::facts::Facts;
use warpfold_kernels::reduce::recipe::{Recipe, code, flag};
use warpfold_kernels::reduce::table::facts;

use warpfold_array::request::Spec;
use warpfold_array::{Op, Ord, Precision};

/// Folds of tiles.
const TILED: [&str; 5] = ["sum", "var", "logsumexp", "livemean", "livevar"];
/// Those of them that f64 has none of.
const ONLY_F32: &str = "live";

/// A fold: part of a kernel's name, and what the planner must know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// As in `rows_sum_f32`.
    pub name: String,
    /// What its types say.
    pub facts: Facts,
    /// Whether its results are as narrow as elements of 1 or 2 bytes, so that a lane writes several at once.
    pub narrow: bool,
    /// The same of staged lines that have several outputs each.
    pub lines: bool,
}

impl Fold {
    /// The fold of that name; none, if the table of kernels has no such fold.
    pub(super) fn of(name: String, result_is_input: bool) -> Option<Self> {
        let facts = facts(&name)?;
        let [narrow, lines] = [facts.narrow, facts.lines].map(|is| is && result_is_input);
        Some(Self { name, facts, narrow, lines })
    }
}

/// The fast fold for elements of the native byte order without a mask, if there is one.
pub fn fast(spec: &Spec) -> Option<Fold> {
    if spec.masked || spec.swapped {
        return None;
    }
    let (input, result) = (spec.input, spec.result());
    // A float may come out wider if it is accumulated so in any case.
    let float = input.is_float() && (result == input || (input.size() == 2 && result == DType::F32));
    let integer = !input.is_float() && !result.is_float();
    let plain = spec.precision == Precision::Tree;
    let tree = |name: &str| format!("{name}_{input}");
    let heap = |name: &str| format!("{name}_b{}", input.size());
    let name = match spec.op {
        Op::Sum if float && plain => tree("sum"),
        Op::Sum if float => tree("sum2"),
        Op::Sum if integer => heap("sum"),
        Op::Mean if float && plain && !spec.skip_nan => tree("sum"),
        Op::Mean if float && !spec.skip_nan => tree("sum2"),
        Op::Mean if float && plain => tree("livemean"),
        Op::Mean if !input.is_float() && spec.dtype.is_none() => heap("sum"),
        Op::Prod if float && plain => tree("prod"),
        Op::Var | Op::Std if float && plain && !spec.skip_nan => tree("var"),
        Op::Var | Op::Std if float && plain => tree("livevar"),
        Op::Var | Op::Std if !input.is_float() && plain && result == DType::F64 => heap("var"),
        Op::Norm if float && spec.ord == Ord::Inf && result == input => heap("max"),
        // The kernels of sums take norms, too.
        Op::Norm if float && spec.ord != Ord::Inf => tree(if plain { "sum" } else { "sum2" }),
        Op::LogSumExp if float => tree(if plain { "logsumexp" } else { "logsumexp2" }),
        Op::Min | Op::Max => heap("max"),
        Op::MinMax => heap("minmax"),
        Op::ArgMin | Op::ArgMax => heap("argmax"),
        Op::Any | Op::All | Op::CountNonzero => heap("count"),
        _ => return None,
    };
    let fold = Fold::of(name, result == input)?;
    // Magnitudes and squares are not taken in pairs.
    let twins = fold.facts.twins && spec.op != Op::Norm;
    // Shallow columns write no means.
    let shallow = fold.facts.shallow && spec.means == 0;
    Some(Fold { facts: Facts { twins, shallow, ..fold.facts }, ..fold })
}

/// The fold of tiles that has the bits of another. None, if order does not matter, or if a copy was faster than tiles
/// that copied each element by itself: where floats are described (256 MiB took an H200 669 us so, and 397 by a copy),
/// and of integers' variances.
pub(super) fn tiles(of: &Fold) -> Option<Fold> {
    let (name, input) = of.name.split_once('_').filter(|(name, _)| TILED.contains(name))?;
    let value = match input {
        "f16" | "bf16" | "f32" => "f32",
        "f64" if !name.starts_with(ONLY_F32) => "f64",
        _ => return None,
    };
    Fold::of(format!("{name}_{value}"), false)
}

/// The recipe for any elements; there is one for all that is asked.
pub fn any(spec: &Spec) -> Option<Fold> {
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
    let of = |name: &str, dtype: &str| format!("{name}_{dtype}");
    let name = match (spec.op, spec.ord) {
        (Op::Sum | Op::Mean, _) if !kernel.is_float() => {
            of("sum", if spec.input == DType::U64 { "u64" } else { "i64" })
        }
        (Op::Prod, _) if !kernel.is_float() => of("prod", "i64"),
        (Op::Sum | Op::Mean, _) => wide("sum"),
        (Op::Prod, _) => wide("prod"),
        (Op::Var | Op::Std, _) => wide("var"),
        (Op::LogSumExp, _) => wide("logsumexp"),
        (Op::Norm, Ord::Two) if double => of("norm2", float),
        (Op::Norm, Ord::Inf) => of("max", float),
        (Op::Norm, _) => wide("sum"),
        (Op::Min | Op::Max, _) => of("max", element),
        (Op::MinMax, _) => of("minmax", element),
        (Op::ArgMin | Op::ArgMax, _) => of("argmax", element),
        (Op::Any | Op::All | Op::CountNonzero, _) => of("count", element),
    };
    let facts = facts(&format!("any_{name}"))?;
    Some(Fold { name, facts, narrow: false, lines: false })
}

/// The fold that describes floats of the machine's own byte order.
pub fn describe(dtype: DType) -> Option<Fold> {
    Fold::of(format!("describe_{dtype}"), false)
}

/// Which of two reductions this is, if nodes are reduced again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nodes {
    /// Neither: elements become results.
    None,
    /// Elements become nodes, of this dtype.
    Left(DType),
    /// Nodes, each of so many elements, become results.
    Taken(u64),
}

impl Nodes {
    /// What the fold is told.
    pub(super) fn recipe(self, recipe: Recipe) -> Recipe {
        let mut flags = recipe.flags;
        match self {
            Self::None => recipe,
            Self::Left(dtype) => {
                flags &= !(flag::MEAN | flag::ROOT | flag::INITIAL);
                Recipe { flags, output: code(dtype), through: code(dtype), ..recipe }
            }
            Self::Taken(each) => {
                // NaNs are left out already. Sums of squares are added as their own magnitudes: roots are of norms.
                if flags & flag::SQUARE != 0 {
                    flags = flags & !flag::SQUARE | flag::MAGNITUDE;
                }
                Recipe { flags: flags & !flag::SKIP_NAN, count: recipe.count * each, ..recipe }
            }
        }
    }
}

/// What the kernel is told of the reduction. `count` elements are reduced into each output.
pub fn recipe(spec: &Spec, count: u64, fast: bool) -> Recipe {
    let unsigned = matches!(spec.input.kind(), Kind::Unsigned | Kind::Bool);
    let mut flags = 0;
    let mut set = |flag: u32, on: bool| flags |= if on { flag } else { 0 };
    // NaN is true, so that it decides nothing of whether all are: the fast kernels need not leave it out, and know how
    // many there are.
    set(flag::SKIP_NAN, spec.skip_nan && !(fast && spec.op == Op::All));
    set(flag::MASKED, spec.masked);
    set(flag::MEAN, spec.op == Op::Mean);
    set(flag::MEANS, spec.means > 0);
    set(flag::ROOT, spec.op == Op::Std || (spec.op == Op::Norm && spec.ord == Ord::Two));
    set(flag::SQUARE, spec.op == Op::Norm && spec.ord == Ord::Two);
    set(flag::MAGNITUDE, spec.op == Op::Norm && spec.ord != Ord::Two);
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
        initial: initial.unwrap_or([spec.means as u64, 0]),
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
        // The greatest magnitude of nothing is zero.
        (Op::Norm, None) if !fast && spec.ord == Ord::Inf => Some([0f64.to_bits(), 0]),
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
