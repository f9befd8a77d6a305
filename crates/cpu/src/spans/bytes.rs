//! A state as bytes: little-endian, with a version, the same on every machine.
//!
//! `WFSP`, the version, op, dtype of the elements, dtype asked for (255: none), precision, order of the norm, flags,
//! initial value (tag and 8 bytes), ddof, the shape of the outputs, then each range: start, end, and the nodes of its
//! canonical pieces.

use warpfold_array::request::Spec;
use warpfold_array::{Error, MAX_RANK, Op, Options, Ord, Precision, elements, memory};
use warpfold_core::{Cast, DType};

use super::Spans;
use super::range::{Ranges, levels};
use super::wrong::wrong;
use crate::dispatch::Kernels;
use crate::wire::Wire;

const MAGIC: [u8; 4] = *b"WFSP";
/// Changes with every change of the bytes.
const VERSION: u8 = 1;
const ORDS: [Ord; 3] = [Ord::One, Ord::Two, Ord::Inf];

fn code<T: PartialEq>(of: &T, all: &[T]) -> u8 {
    all.iter().position(|other| other == of).expect("the list is complete") as u8
}

impl Spans {
    /// The state as bytes, which [`Spans::from_bytes`] reads on any machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Spec { op, input, dtype, precision, skip_nan, masked, initial, ddof, ord, .. } = self.spec;
        let mut to = MAGIC.to_vec();
        to.extend([VERSION, code(&op, &Op::ALL), code(&input, &DType::ALL)]);
        to.push(dtype.map_or(u8::MAX, |dtype| code(&dtype, &DType::ALL)));
        to.extend([(precision == Precision::Compensated) as u8, code(&ord, &ORDS)]);
        to.push(skip_nan as u8 | (masked as u8) << 1);
        let (tag, bits) = match initial {
            None => (0, 0),
            Some(Cast::Signed(x)) => (1, x as u64),
            Some(Cast::Unsigned(x)) => (2, x),
            Some(Cast::Float(x)) => (3, x.to_bits()),
        };
        to.push(tag);
        bits.put(&mut to);
        ddof.put(&mut to);
        to.push(self.kept.len() as u8);
        self.kept.iter().for_each(|&len| (len as u64).put(&mut to));
        (self.ranges.len() as u64).put(&mut to);
        Kernels(&self.spec).with(|bound| {
            for (i, (start, end)) in self.ranges.bounds().enumerate() {
                start.put(&mut to);
                end.put(&mut to);
                self.ranges.put(bound, i, &mut to);
            }
        });
        to
    }

    /// The state of [`Spans::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Spans`] if the bytes are not those of a state, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let bad = |what: &str| wrong(format!("these bytes are no state of a reduction: {what}"));
        let mut from = bytes.strip_prefix(&MAGIC).ok_or_else(|| bad("they begin with something else"))?;
        let short = || bad("they end too early, or have an impossible number");
        let version = u8::take(&mut from).ok_or_else(short)?;
        if version != VERSION {
            return Err(bad(&format!("version {version}, this library reads version {VERSION}")));
        }
        let (spec, kept, ranges) = header(&mut from).ok_or_else(short)?;
        let outputs = elements(&kept, 1)?;
        // The options must be those that a reduction has: a kernel relies on it.
        let cast = match spec.initial {
            Some(Cast::Signed(x)) => Some(warpfold_array::Scalar::I64(x)),
            Some(Cast::Unsigned(x)) => Some(warpfold_array::Scalar::U64(x)),
            Some(Cast::Float(x)) => Some(warpfold_array::Scalar::F64(x)),
            None => None,
        };
        let spread = matches!(spec.op, Op::Var | Op::Std);
        let options = Options {
            dtype: spec.dtype,
            precision: spec.precision,
            skip_nan: spec.skip_nan,
            initial: cast,
            ddof: spread.then_some(spec.ddof),
            ord: (spec.op == Op::Norm).then_some(spec.ord),
            ..Options::default()
        };
        let mut state = Self::new(spec.op, spec.input, &kept, spec.masked, &options)?;
        state.ranges = Kernels(&state.spec).with(|bound| {
            let mut end_before = None;
            let mut all = Ranges::new(bound.kernel, outputs);
            for _ in 0..ranges {
                let (start, end) = (u64::take(&mut from), u64::take(&mut from));
                let (Some(start), Some(end)) = (start, end) else { return Err(short()) };
                if end_before.is_some_and(|before| start <= before) || start >= end || end > i64::MAX as u64 {
                    return Err(bad("ranges overlap, or are empty"));
                }
                end_before = Some(end);
                all.begin(start);
                for level in levels(start, end) {
                    // A node has at least one byte.
                    if from.len() < outputs {
                        return Err(short());
                    }
                    memory::afford("the nodes of a state", outputs, bound.kernel.facts().node)?;
                    let mut whole = false;
                    // SAFETY: there is room for a node of each output. If not all are written, none is read: canonical
                    // nodes have no siblings that they would be joined to, and the state is dropped.
                    unsafe {
                        all.push(bound.kernel, level, |to| {
                            whole = (bound.wires.take)(&mut from, outputs, 1 << level, to);
                        });
                    }
                    if !whole {
                        return Err(short());
                    }
                }
            }
            Ok(all)
        })?;
        if !from.is_empty() {
            return Err(bad("something follows"));
        }
        Ok(state)
    }
}

/// The reduction, the shape of its outputs, and the number of ranges.
fn header(from: &mut &[u8]) -> Option<(Spec, Vec<usize>, u64)> {
    let op = *Op::ALL.get(u8::take(from)? as usize)?;
    let input = *DType::ALL.get(u8::take(from)? as usize)?;
    let dtype = match u8::take(from)? {
        u8::MAX => None,
        code => Some(*DType::ALL.get(code as usize)?),
    };
    let precision = match u8::take(from)? {
        0 => Precision::Tree,
        1 => Precision::Compensated,
        _ => return None,
    };
    let ord = *ORDS.get(u8::take(from)? as usize)?;
    let flags = u8::take(from).filter(|&flags| flags < 4)?;
    let (tag, bits) = (u8::take(from)?, u64::take(from)?);
    let initial = match tag {
        0 => None,
        1 => Some(Cast::Signed(bits as i64)),
        2 => Some(Cast::Unsigned(bits)),
        3 => Some(Cast::Float(f64::from_bits(bits))),
        _ => return None,
    };
    let ddof = f64::take(from)?;
    let rank = u8::take(from).filter(|&rank| rank as usize <= MAX_RANK)?;
    let kept: Option<Vec<usize>> = (0..rank).map(|_| usize::try_from(u64::take(from)?).ok()).collect();
    let ranges = u64::take(from)?;
    let (skip_nan, masked) = (flags & 1 != 0, flags & 2 != 0);
    let spec = Spec::without_options(op, input);
    Some((Spec { dtype, precision, skip_nan, masked, initial, ddof, ord, ..spec }, kept?, ranges))
}
