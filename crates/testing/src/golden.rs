//! Reductions whose bits a GPU gave, kept so that the CPU and the emulator can be held to them where there is no GPU.
//!
//! The list is fixed: every op of every dtype in every form, with a size, options and data that follow from its number
//! alone.

use std::collections::BTreeMap;
use std::fmt;

use warpfold::{ArrayRef, DType, Error, Op, Options, Ord, Precision, Scalar, bf16, f16};

/// What a GPU gave.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../warpfold/golden/h200.json");

/// How an array lies and what of it is reduced; in three sizes. Kernels are chosen by it.
struct Form {
    name: &'static str,
    sizes: [&'static [usize]; 3],
    axes: &'static [isize],
    /// Elements from one to the next along the last axis; more than one is what only the general kernels take.
    step: usize,
}

const fn form(name: &'static str, sizes: [&'static [usize]; 3], axes: &'static [isize]) -> Form {
    Form { name, sizes, axes, step: 1 }
}

const FORMS: [Form; 9] = [
    form("full", [&[1], &[1000], &[20011]], &[0]),
    form("rows", [&[17, 300], &[5, 1023], &[3, 6150]], &[1]),
    form("short", [&[301, 7], &[129, 33], &[1000, 2]], &[1]),
    form("columns", [&[37, 130], &[129, 67], &[300, 65]], &[0]),
    form("narrow", [&[1001, 3], &[257, 17], &[513, 8]], &[0]),
    form("middle", [&[3, 50, 37], &[2, 64, 5], &[7, 9, 64]], &[1]),
    form("parts", [&[6, 5, 200], &[9, 3, 129], &[4, 7, 64]], &[0, 2]),
    Form { step: 2, ..form("any rows", [&[5, 300], &[33, 70], &[400, 3]], &[1]) },
    Form { step: 2, ..form("any columns", [&[300, 5], &[70, 33], &[3, 400]], &[0]) },
];

/// What an array holds besides numbers, if it holds floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Specials {
    /// Nothing.
    None,
    /// Zeros of both signs.
    Zeros,
    /// Also NaN and infinities.
    All,
    /// Nothing, and numbers so near zero that the exponential of none outweighs another's.
    Near,
}

/// A reduction, without its data.
#[derive(Clone)]
pub struct Case {
    number: usize,
    form: &'static str,
    specials: Specials,
    masked: bool,
    step: usize,
    pub op: Op,
    pub dtype: DType,
    pub shape: &'static [usize],
    options: Options<'static>,
}

/// The bytes of an array and of a mask.
pub struct Data {
    pub bytes: Vec<u8>,
    pub mask: Option<Vec<bool>>,
}

/// The next of a sequence of random numbers (SplitMix64).
pub fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Bytes of `n` elements: few different values, so that there are equals; floats with what is special about them.
pub fn elements(dtype: DType, n: usize, mut seed: u64, specials: Specials) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(n * dtype.size());
    for _ in 0..n {
        let r = random(&mut seed);
        let number = ((r >> 20) % 2001) as f64 / 64.0 - 15.0;
        let number = match ((r >> 50) % 5, r % 97 < 3, specials) {
            (.., Specials::Near) => number / 64.0,
            (_, false, _) | (_, _, Specials::None) => number * if r & 1 << 60 == 0 { 1.0 } else { 0.001 },
            (0, _, Specials::All) => f64::NAN,
            (1, _, Specials::All) => f64::INFINITY,
            (2, _, Specials::All) => f64::NEG_INFINITY,
            (place, ..) => [-0.0, 0.0][place as usize % 2],
        };
        match dtype {
            DType::Bool => bytes.push((r >> 33) as u8 & 1),
            DType::F16 => bytes.extend(f16::from_f64(number).to_bits().to_ne_bytes()),
            DType::BF16 => bytes.extend(bf16::from_f64(number).to_bits().to_ne_bytes()),
            DType::F32 => bytes.extend((number as f32).to_ne_bytes()),
            DType::F64 => bytes.extend(number.to_ne_bytes()),
            dtype => bytes.extend(&(r >> 7).to_ne_bytes()[..dtype.size()]),
        }
    }
    bytes
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for op in Op::ALL {
        for dtype in DType::ALL {
            for form in &FORMS {
                cases.push(Case::new(cases.len(), op, dtype, form));
            }
        }
    }
    cases
}

impl Case {
    fn new(number: usize, op: Op, dtype: DType, form: &Form) -> Case {
        let mut seed = number as u64;
        let mut one_in = |n: u64| random(&mut seed).is_multiple_of(n);
        let mut options = Options { axes: Some(form.axes.to_vec()), skip_nan: one_in(5), ..Options::default() };
        if one_in(4) {
            options.precision = Precision::Compensated;
        }
        let masked = one_in(6);
        let is_casting = one_in(10);
        match op {
            // Floats are not cast to integers.
            Op::Sum | Op::Prod if is_casting && dtype.is_float() => options.dtype = Some(DType::F64),
            Op::Sum | Op::Prod if is_casting => options.dtype = Some([DType::U8, DType::F32][number % 2]),
            Op::Mean | Op::Var | Op::Std | Op::Norm | Op::LogSumExp if is_casting => {
                options.dtype = Some([DType::BF16, DType::F16, DType::F32, DType::F64][number % 4]);
            }
            _ => {}
        }
        if matches!(op, Op::Sum | Op::Prod | Op::Min | Op::Max) && one_in(5) {
            options.initial = Some(Scalar::F64([-0.0, 2.0, -3.0][number % 3]));
        }
        if matches!(op, Op::Var | Op::Std) && one_in(2) {
            options.ddof = Some(1.0);
        }
        if op == Op::Norm {
            options.ord = Some([Ord::One, Ord::Two, Ord::Inf][(number / 9) % 3]);
        }
        let turn = random(&mut seed) as usize;
        let specials = [Specials::None, Specials::Zeros, Specials::All][turn % 3];
        let shape = form.sizes[turn / 3 % 3];
        Case { number, form: form.name, specials, masked, step: form.step, op, dtype, shape, options }
    }

    /// Elements that are reduced.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn data(&self) -> Data {
        let mut seed = self.number as u64 ^ 77 << 32;
        let bytes = elements(self.dtype, self.len() * self.step, seed, self.specials);
        let mut mask = || (0..self.len()).map(|_| !random(&mut seed).is_multiple_of(3)).collect();
        Data { bytes, mask: self.masked.then(&mut mask) }
    }

    /// In bytes.
    pub fn strides(&self) -> Vec<isize> {
        let after = |axis: usize| self.shape[axis + 1..].iter().product::<usize>() * self.step * self.dtype.size();
        (0..self.shape.len()).map(|axis| after(axis) as isize).collect()
    }

    pub fn array<'a>(&self, data: &'a Data) -> ArrayRef<'a> {
        assert_eq!(data.bytes.len(), self.len() * self.step * self.dtype.size());
        // SAFETY: the last element begins `step` elements before the end of so many bytes, or earlier.
        let array = unsafe { ArrayRef::from_raw(data.bytes.as_ptr(), self.dtype, self.shape, &self.strides()) };
        array.expect("an array")
    }

    pub fn options<'a>(&self, data: &'a Data) -> Options<'a> {
        let mask = data.mask.as_ref().map(|mask| ArrayRef::from_slice(mask, self.shape).expect("a mask of the shape"));
        Options { mask, ..self.options.clone() }
    }
}

/// Its number, and all that decides about its result.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { number, form, op, dtype, shape, options: o, .. } = self;
        write!(f, "{number} {op} {dtype} {form} {shape:?}")?;
        for (is_set, text) in [
            (self.masked, " masked".to_owned()),
            (o.skip_nan, " skip_nan".to_owned()),
            (o.precision == Precision::Compensated, " compensated".to_owned()),
        ] {
            f.write_str(if is_set { &text } else { "" })?;
        }
        let named = [
            o.dtype.map(|dtype| dtype.to_string()),
            o.initial.map(|x| format!("initial {x}")),
            o.ddof.map(|ddof| format!("ddof {ddof}")),
            o.ord.map(|ord| format!("ord {ord:?}")),
        ];
        named.iter().flatten().try_for_each(|text| write!(f, " {text}"))
    }
}

/// Bytes in hexadecimal if they are few, or else their number and FNV-1a.
pub fn text(bytes: &[u8]) -> String {
    if bytes.len() <= 32 {
        return bytes.iter().map(|b| format!("{b:02x}")).collect();
    }
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{}:{hash:016x}", bytes.len())
}

/// What stands for a result. That there is none is one, too, if the data decide it.
pub fn said(result: Result<warpfold::Array, Error>) -> Result<String, Error> {
    match result {
        Ok(array) => Ok(text(array.values.as_bytes())),
        Err(Error::Empty { .. } | Error::AllNan { .. }) => Ok("none".into()),
        Err(why) => Err(why),
    }
}

/// What a GPU gave, and where.
pub struct Golden {
    pub device: String,
    pub driver: String,
    pub revision: String,
    /// By case.
    pub results: BTreeMap<String, String>,
}

impl Golden {
    /// JSON, a line for each case.
    pub fn json(&self, cases: &[impl fmt::Display]) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let [device, driver, revision] = [&self.device, &self.driver, &self.revision].map(|text| quoted(text));
        let lines = cases.iter().map(ToString::to_string).map(|name| {
            let result = self.results.get(&name).map_or("", String::as_str);
            format!("    {}: {}", quoted(&name), quoted(result))
        });
        let lines: Vec<String> = lines.collect();
        format!(
            "{{\n  \"version\": 1,\n  \"device\": {device},\n  \"driver\": {driver},\n  \"revision\": {revision},\n  \
             \"results\": {{\n{}\n  }}\n}}\n",
            lines.join(",\n")
        )
    }

    /// From such JSON.
    pub fn read(text: &str) -> Option<Golden> {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        let word = |key: &str| Some(value[key].as_str()?.to_owned());
        let results =
            value["results"].as_object()?.iter().map(|(name, v)| Some((name.clone(), v.as_str()?.to_owned())));
        let (device, driver, revision) = (word("device")?, word("driver")?, word("revision")?);
        Some(Golden { device, driver, revision, results: results.collect::<Option<_>>()? })
    }

    /// Compares what `run` gives of cases with what the GPU gave.
    ///
    /// # Panics
    /// With the first of those that differ, if there are any.
    pub fn compare<'a, C: fmt::Display + 'a>(
        &self,
        cases: impl Iterator<Item = &'a C>,
        mut run: impl FnMut(&C) -> String,
    ) {
        let differs = |case: &C| {
            let (got, want) = (run(case), self.results.get(&case.to_string()));
            (want != Some(&got)).then(|| format!("{case}: {got}, not {want:?}"))
        };
        let wrong: Vec<String> = cases.filter_map(differs).collect();
        let shown = wrong[..wrong.len().min(20)].join("\n");
        assert!(wrong.is_empty(), "{} differ from {} ({}):\n{shown}", wrong.len(), self.device, self.driver);
    }
}
