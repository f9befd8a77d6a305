//! Random reductions, each known by its class and a number: for a GPU, and for the emulator.

use std::fmt;
use std::str::FromStr;

use crate::reference::{Random, Strided, element, scaled};
use warpfold::{DType, Op, Options, Ord, Precision, Scalar};

/// What kind of shape. Kernels are chosen by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A few elements, up to four axes, any of them reduced; often none.
    Tiny,
    /// All of one dimension, at lengths around powers of two.
    Full,
    /// Long rows.
    Rows,
    /// Many rows of few elements.
    ShortRows,
    /// Down many columns.
    Columns,
    /// Down few columns.
    FewColumns,
    /// A middle axis, or all but that.
    Middle,
    /// Few rows of many columns.
    Shallow,
    /// Short runs of a few outputs in turn, in many units.
    Turns,
    /// Any layout: permuted, reversed, spread out, broadcast, at odd addresses.
    Wild,
    /// An axis of length zero.
    Empty,
    /// Millions of elements.
    Large,
    /// Tens of millions of elements and several outputs, each of which hundreds of a GPU's blocks share.
    Shared,
    /// Lengths of zero and one among others, up to five axes, any layout.
    Degenerate,
}

impl Class {
    pub const ALL: [Class; 14] = [
        Class::Tiny,
        Class::Full,
        Class::Rows,
        Class::ShortRows,
        Class::Columns,
        Class::FewColumns,
        Class::Middle,
        Class::Shallow,
        Class::Turns,
        Class::Wild,
        Class::Empty,
        Class::Large,
        Class::Shared,
        Class::Degenerate,
    ];

    /// Whether its arrays are large.
    pub fn is_large(self) -> bool {
        matches!(self, Class::Large | Class::Shared)
    }
}

impl FromStr for Class {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Class::ALL.into_iter().find(|c| format!("{c:?}") == name).ok_or_else(|| format!("no class {name}"))
    }
}

/// One reduction, with its data.
pub struct Case {
    pub class: Class,
    pub seed: u64,
    pub op: Op,
    pub dtype: DType,
    pub x: Strided,
    pub mask: Option<Strided>,
    options: Options<'static>,
}

impl Case {
    /// The same for the same class and seed. 195 seeds in a row have every op of every dtype.
    pub fn new(class: Class, seed: u64) -> Case {
        let (op, dtype) = (Op::ALL[(seed % 15) as usize], DType::ALL[(seed / 15 % 13) as usize]);
        let r = &mut Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (class as u64 + 1) << 56 | 1);
        for _ in 0..4 {
            r.next();
        }
        let (shape, axes) = shape(r, class);
        let mut options = options(r, op, dtype);
        options.axes = axes.map(|axes| {
            let rank = shape.len() as isize;
            axes.into_iter().map(|a| if r.chance(20) { a as isize - rank } else { a as isize }).collect()
        });
        let fill = fill(r, dtype);
        let x = match class {
            Class::Wild | Class::Degenerate => Strided::new(r, dtype, &shape, fill),
            _ => placed(r, dtype, &shape, fill),
        };
        let mask = r.chance(if class.is_large() { 10 } else { 25 }).then(|| mask(r, &shape));
        Case { class, seed, op, dtype, x, mask, options }
    }

    /// The options, with the mask.
    pub fn options(&self) -> Options<'_> {
        Options { mask: self.mask.as_ref().map(Strided::view), ..self.options.clone() }
    }
}

/// All that there is to know about it, and first how to run it again.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { class, seed, op, dtype, x, mask, options: o } = self;
        let place = |x: &Strided| {
            let (bytes, base) = x.bytes();
            bytes.as_ptr().wrapping_add(base).addr() % 16
        };
        write!(
            f,
            "WARPFOLD_CASE={class:?}:{seed} {op} of {dtype} {:?} steps {:?} at 16k+{}",
            x.shape,
            x.strides,
            place(x)
        )?;
        write!(f, " axes {:?}", o.axes)?;
        if let Some(mask) = mask {
            write!(f, " mask {:?} steps {:?} at 16k+{}", mask.shape, mask.strides, place(mask))?;
        }
        for (is_set, text) in [
            (o.keepdims, "keepdims".to_owned()),
            (o.skip_nan, "skip_nan".to_owned()),
            (o.precision != Precision::Tree, "compensated".to_owned()),
            (o.dtype.is_some(), format!("dtype {:?}", o.dtype)),
            (o.initial.is_some(), format!("initial {:?}", o.initial)),
            (o.ddof.is_some(), format!("ddof {:?}", o.ddof)),
            (o.ord.is_some(), format!("ord {:?}", o.ord)),
        ] {
            if is_set {
                write!(f, " {text}")?;
            }
        }
        Ok(())
    }
}

/// A length near one where kernels change their ways.
fn edge(r: &mut Random, most: usize) -> usize {
    let power = 1usize << r.below(most.ilog2() as usize + 1);
    let n = match r.below(6) {
        0 => power,
        1 => power + 1,
        2 => power.saturating_sub(1),
        3 => power + r.below(power.max(8)),
        4 => 3 * power / 2 + r.below(3),
        _ => 1 + r.below(most),
    };
    n.clamp(1, most)
}

fn shape(r: &mut Random, class: Class) -> (Vec<usize>, Option<Vec<usize>>) {
    let some = |r: &mut Random, rank: usize| (0..rank).filter(|_| r.chance(50)).collect::<Vec<_>>();
    match class {
        Class::Tiny => {
            let shape: Vec<usize> = (0..r.below(5)).map(|_| [1, 1, 2, 3, 4, 5, 8, 9][r.below(8)]).collect();
            let axes = r.chance(70).then(|| some(r, shape.len()));
            (shape, axes)
        }
        Class::Full => {
            let n = edge(r, 1 << 17);
            match r.below(3) {
                0 => (vec![n], None),
                1 => (vec![n], Some(vec![0])),
                _ => (vec![1, n, 1], None),
            }
        }
        Class::Rows => {
            let rows = edge(r, 48);
            (vec![rows, edge(r, 1 << 13)], Some(vec![1]))
        }
        Class::ShortRows => {
            let n = edge(r, 40);
            (vec![edge(r, 40_000 / n), n], Some(vec![1]))
        }
        Class::Columns => {
            let columns = 33 + edge(r, 2000);
            (vec![edge(r, 100_000 / columns), columns], Some(vec![0]))
        }
        Class::FewColumns => {
            let columns = 1 + r.below(32);
            (vec![edge(r, 60_000 / columns), columns], Some(vec![0]))
        }
        Class::Middle => {
            let shape = vec![edge(r, 20), edge(r, 100), edge(r, 60)];
            (shape, Some([vec![1], vec![0, 2], vec![0, 1], vec![1, 2], vec![0], vec![2]][r.below(6)].clone()))
        }
        Class::Shallow => {
            let (outer, rows) = (1 + r.below(5), 1 + r.below(9));
            (vec![outer, rows, 128 + edge(r, 8000 / rows)], Some(vec![1]))
        }
        Class::Turns => {
            let (turns, own, run) = (2 + r.below(20), 2 + r.below(6), 1 + r.below(6));
            let units = edge(r, 40_000 / (turns * own * run));
            match r.below(3) {
                0 => (vec![units, turns, own, run], Some(vec![1, 3])),
                1 => (vec![3, units, turns, own, run], Some(vec![2, 4])),
                _ => (vec![units, 2, turns, own, run], Some(vec![1, 2, 4])),
            }
        }
        Class::Wild => {
            let sizes: &[usize] =
                [&[1, 2, 3, 4, 5, 7, 8], &[1, 9, 16, 17, 33][..], &[2, 64, 100], &[1, 3, 129, 300]][r.below(4)];
            let mut shape: Vec<usize> = (0..r.below(5)).map(|_| sizes[r.below(sizes.len())]).collect();
            while shape.iter().product::<usize>() > 40_000 {
                shape.pop();
            }
            let axes = r.chance(80).then(|| some(r, shape.len()));
            (shape, axes)
        }
        Class::Empty => {
            let mut shape: Vec<usize> = (0..1 + r.below(4)).map(|_| r.below(5)).collect();
            let at = r.below(shape.len());
            shape[at] = 0;
            let axes = r.chance(80).then(|| some(r, shape.len()));
            (shape, axes)
        }
        Class::Degenerate => {
            let sizes = [0, 1, 1, 1, 2, 3, 16, 64, 65, 256];
            let mut shape: Vec<usize> = (0..r.below(6)).map(|_| sizes[r.below(sizes.len())]).collect();
            // What is kept of an empty array has outputs, too.
            while shape.iter().filter(|&&n| n > 0).product::<usize>() > 40_000 {
                shape.pop();
            }
            let axes = r.chance(90).then(|| some(r, shape.len()));
            (shape, axes)
        }
        Class::Large => {
            let n = (1 << 20) + r.below(1 << 21);
            let k = edge(r, 5000);
            match r.below(5) {
                0 => (vec![n], None),
                1 => (vec![n / k, k], Some(vec![1])),
                2 => (vec![n / k, k], Some(vec![0])),
                3 => (vec![k, n / k], Some(vec![1])),
                _ => (vec![1 + n / k / 50, k, 50], Some(vec![0, 2])),
            }
        }
        Class::Shared => {
            let n = (1 << 24) + r.below(1 << 23);
            let (few, columns) = (2 + r.below(7), 33 + r.below(300));
            match r.below(4) {
                0 => (vec![few, n / few], Some(vec![1])),
                1 => (vec![n / columns, columns], Some(vec![0])),
                2 => (vec![few, n / few / columns, columns], Some(vec![1])),
                _ => (vec![n / few / columns, few, columns], Some(vec![0, 2])),
            }
        }
    }
}

fn options(r: &mut Random, op: Op, dtype: DType) -> Options<'static> {
    let mut o = Options { keepdims: r.chance(30), skip_nan: r.chance(25), ..Options::default() };
    if r.chance(15) {
        o.precision = Precision::Compensated;
    }
    of_op(r, op, dtype, &mut o);
    o
}

/// Sets the options that only some ops take, at random.
pub fn of_op(r: &mut Random, op: Op, dtype: DType, o: &mut Options<'_>) {
    match op {
        Op::Sum | Op::Prod if r.chance(20) => {
            // Floats are not cast to integers.
            let first = if dtype.is_float() { 9 } else { 1 };
            o.dtype = Some(DType::ALL[first + r.below(13 - first)])
        }
        Op::Mean | Op::Var | Op::Std | Op::Norm | Op::LogSumExp if r.chance(20) => {
            o.dtype = Some([DType::F16, DType::BF16, DType::F32, DType::F64][r.below(4)])
        }
        _ => {}
    }
    if matches!(op, Op::Sum | Op::Prod | Op::Min | Op::Max) && r.chance(20) {
        o.initial = Some(Scalar::F64([0.0, -0.0, 2.5, -3.0][r.below(4)]));
    }
    if matches!(op, Op::Var | Op::Std) && r.chance(50) {
        o.ddof = Some([0.0, 1.0, 2.5][r.below(3)]);
    }
    if op == Op::Norm {
        o.ord = Some([Ord::One, Ord::Two, Ord::Inf][r.below(3)]);
    }
}

/// Mostly numbers, half of the arrays near zero only; at times many NaN, infinities and zeros of both signs, or nothing
/// but one value, so that there are ties.
fn fill(r: &mut Random, dtype: DType) -> impl Fn(&mut Random) -> Scalar + use<> {
    let wild = [0, 0, 3, 60][r.below(4)];
    let only = r.chance(6).then(|| element(r, dtype, 100));
    let most = [11.0, 0.25][r.below(2)];
    move |r| only.unwrap_or_else(|| scaled(r, dtype, wild, most))
}

/// In C order as a rule; at times with the axes in another order, with odd pitches, backwards, or at an odd address.
fn placed(r: &mut Random, dtype: DType, shape: &[usize], fill: impl Fn(&mut Random) -> Scalar) -> Strided {
    let (rank, size) = (shape.len(), dtype.size());
    let mut axes: Vec<usize> = (0..rank).collect();
    if r.chance(15) {
        axes.reverse();
    }
    let (padded, backwards) = (r.chance(15), r.chance(10));
    let mut strides = vec![0; rank];
    let mut step = size;
    for &axis in axes.iter().rev() {
        strides[axis] = step as isize;
        step *= shape[axis].max(1);
        if padded {
            step += size * r.below(5);
        }
        if backwards && r.chance(50) {
            strides[axis] = -strides[axis];
        }
    }
    let slack = match r.below(10) {
        0..=5 => 0,
        6..=8 => size * r.below(16 / size + 1),
        _ => r.below(16),
    };
    Strided::place(r, dtype, shape, strides, slack, fill)
}

/// Of the array's shape, or broadcast to it; from nothing to everything.
fn mask(r: &mut Random, shape: &[usize]) -> Strided {
    let from = if r.chance(60) { 0 } else { r.below(shape.len() + 1) };
    let thin = r.chance(30);
    let shape: Vec<usize> = shape[from..].iter().map(|&n| if thin && r.chance(40) { 1 } else { n }).collect();
    let percent = [0, 2, 50, 50, 95, 100][r.below(6)];
    let fill = |r: &mut Random| Scalar::Bool(r.chance(percent));
    match r.chance(50) {
        true => placed(r, DType::Bool, &shape, fill),
        false => Strided::new(r, DType::Bool, &shape, fill),
    }
}
