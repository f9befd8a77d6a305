//! The .npy format: a strict reader of untrusted headers, and a writer.
//!
//! A header is a Python dictionary of three entries. Nothing is evaluated: the few tokens that NumPy writes are
//! recognised, all others are refused. No allocation depends on numbers in a header.

use warpfold::{DType, Order};

use crate::error::InputError;

/// The first six bytes of every .npy file.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// Magic, version, and the longer of the two length fields.
pub const PREFIX: usize = 12;

/// The longest header. Longer ones describe structured dtypes or are invalid. NumPy itself stops at 10000 characters.
const LONGEST: usize = 1 << 20;

/// More axes than any array library has. The reduction has a lower limit of its own.
const MOST_AXES: usize = 1024;

/// The contents of a header.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Whether the byte order is not this machine's.
    pub swapped: bool,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Row-major or column-major.
    pub order: Order,
    /// The offset of the elements in the file.
    pub offset: usize,
}

impl Header {
    /// The number of bytes of the elements; `None` if it exceeds the address space.
    pub fn bytes(&self) -> Option<usize> {
        byte_len(&self.shape, self.dtype)
    }
}

/// The number of bytes of an array; `None` if it exceeds the address space.
pub fn byte_len(shape: &[usize], dtype: DType) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let bytes = shape.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d))?;
    isize::try_from(bytes).ok().map(|_| bytes)
}

/// The offset of the elements, from the first [`PREFIX`] bytes of a file.
pub fn offset(prefix: &[u8]) -> Result<usize, InputError> {
    let truncated = || InputError::Truncated { expected: PREFIX as u64, found: prefix.len() as u64 };
    let [major, minor, rest @ ..] = prefix.get(MAGIC.len()..).unwrap_or(&[]) else { return Err(truncated()) };
    let (field, len) = match (major, minor) {
        (1, 0) => (2, rest.first_chunk().map(|&b| u16::from_le_bytes(b) as usize)),
        (2 | 3, 0) => (4, rest.first_chunk().map(|&b| u32::from_le_bytes(b) as usize)),
        _ => return Err(InputError::Version(*major, *minor)),
    };
    let len = len.ok_or_else(truncated)?;
    if len > LONGEST {
        return Err(InputError::Header(format!("it is {len} bytes long, at most {LONGEST} are read")));
    }
    Ok(MAGIC.len() + 2 + field + len)
}

/// Reads the header at the start of a file that starts with [`MAGIC`].
pub fn parse(file: &[u8]) -> Result<Header, InputError> {
    let offset = offset(&file[..PREFIX.min(file.len())])?;
    let found = file.len() as u64;
    let header = file.get(..offset).ok_or(InputError::Truncated { expected: offset as u64, found })?;
    let start = MAGIC.len() + 2 + if header[MAGIC.len()] == 1 { 2 } else { 4 };
    let (dtype, swapped, shape, order) = Dictionary::read(&header[start..])?.understand()?;
    Ok(Header { dtype, swapped, shape, order, offset })
}

/// The header of a C-order array in this machine's byte order.
pub fn header(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let order = match dtype.size() {
        // The way NumPy saves an array of ml_dtypes.bfloat16.
        _ if dtype == DType::BF16 => "<V2".into(),
        1 => format!("|{}1", kind(dtype)),
        size => format!("{}{}{size}", if cfg!(target_endian = "big") { '>' } else { '<' }, kind(dtype)),
    };
    let mut axes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    axes.truncate(axes.len().saturating_sub(if shape.len() == 1 { 1 } else { 2 }));
    let mut text = format!("{{'descr': '{order}', 'fortran_order': False, 'shape': ({axes}), }}");
    // The elements start at a multiple of 64.
    let before = MAGIC.len() + 4;
    let padding = 63 - (before + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.into_bytes());
    header
}

fn kind(dtype: DType) -> char {
    match dtype.kind() {
        warpfold::Kind::Bool => 'b',
        warpfold::Kind::Signed => 'i',
        warpfold::Kind::Unsigned => 'u',
        warpfold::Kind::Float => 'f',
    }
}

/// The three entries, as they are written.
#[derive(Default)]
struct Dictionary<'a> {
    descr: Option<Descr<'a>>,
    fortran_order: Option<bool>,
    shape: Option<Vec<usize>>,
}

enum Descr<'a> {
    Name(&'a str),
    Structured,
}

impl<'a> Dictionary<'a> {
    fn read(header: &'a [u8]) -> Result<Self, InputError> {
        let mut tokens = Tokens { rest: header };
        let mut dictionary = Self::default();
        tokens.expect(b'{')?;
        while !tokens.take(b'}') {
            let key = tokens.string()?;
            tokens.expect(b':')?;
            let twice = match key {
                "descr" if tokens.at(b'[') || tokens.at(b'(') => {
                    // The rest of the header does not matter: this array cannot be used.
                    dictionary.descr = Some(Descr::Structured);
                    return Ok(dictionary);
                }
                "descr" => dictionary.descr.replace(Descr::Name(tokens.string()?)).is_some(),
                "fortran_order" => dictionary.fortran_order.replace(tokens.bool()?).is_some(),
                "shape" => dictionary.shape.replace(tokens.tuple()?).is_some(),
                _ => return Err(InputError::Header(format!("it has an unknown entry {key:?}"))),
            };
            if twice {
                return Err(InputError::Header(format!("it has two entries {key:?}")));
            }
            if !tokens.take(b',') {
                tokens.expect(b'}')?;
                break;
            }
        }
        if tokens.peek().is_some() {
            return Err(InputError::Header("something follows the closing brace".into()));
        }
        Ok(dictionary)
    }

    fn understand(self) -> Result<(DType, bool, Vec<usize>, Order), InputError> {
        let missing = |what| InputError::Header(format!("it has no {what}"));
        let (dtype, swapped) = match self.descr.ok_or_else(|| missing("'descr'"))? {
            Descr::Name(descr) => dtype(descr)?,
            Descr::Structured => {
                let hint = "save one field of it, for instance x['field']";
                return Err(InputError::DType { descr: "[...]".into(), what: "structured", hint });
            }
        };
        let fortran = self.fortran_order.ok_or_else(|| missing("'fortran_order'"))?;
        let shape = self.shape.ok_or_else(|| missing("'shape'"))?;
        Ok((dtype, swapped, shape, if fortran { Order::Fortran } else { Order::C }))
    }
}

/// The dtype of NumPy's `descr`, and whether its byte order is not this machine's.
fn dtype(descr: &str) -> Result<(DType, bool), InputError> {
    let (order, name) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'|' | b'=') => descr.split_at(1),
        _ => ("", descr),
    };
    let dtype = match (DType::from_code(name), name) {
        (Some(dtype), _) => dtype,
        (None, "bfloat16") => DType::BF16,
        // ml_dtypes.bfloat16 has a byte order; two bytes of NumPy's own void have none, and stay refused.
        (None, "V2") if order == "<" || order == ">" => DType::BF16,
        (None, _) => return Err(unusable(descr, name)),
    };
    let other = if cfg!(target_endian = "big") { "<" } else { ">" };
    Ok((dtype, order == other && dtype.size() > 1))
}

fn unusable(descr: &str, name: &str) -> InputError {
    let (what, hint) = match name.as_bytes().first() {
        Some(b'O') => ("Python objects", "save numbers, for instance x.astype('float64')"),
        Some(b'c') => ("complex", "save x.real, x.imag or abs(x)"),
        Some(b'S' | b'U' | b'a' | b'T') => ("strings", "save numbers, for instance x.astype('float64')"),
        Some(b'M' | b'm') => ("dates or durations", "save x.astype('int64')"),
        Some(b'V') => ("structured or void", "save one field of it, or x.view of a number type"),
        Some(b'f') => ("a float of a size that only some machines have", "save x.astype('float64')"),
        _ => ("unknown", "save one of bool, int8 to int64, uint8 to uint64, float16, float32, float64"),
    };
    let descr: String = descr.chars().take(40).collect();
    InputError::DType { descr: format!("'{}'", descr.escape_debug()), what, hint }
}

/// The tokens of a header.
struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn at(&mut self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.at(byte);
        if there {
            self.rest = &self.rest[1..];
        }
        there
    }

    fn expect(&mut self, byte: u8) -> Result<(), InputError> {
        if self.take(byte) { Ok(()) } else { Err(self.wrong(&format!("`{}`", byte as char))) }
    }

    fn wrong(&mut self, wanted: &str) -> InputError {
        let found = match self.peek() {
            Some(byte) => format!("`{}`", byte.escape_ascii()),
            None => "its end".into(),
        };
        InputError::Header(format!("expected {wanted}, found {found}"))
    }

    /// Text in quotes of either kind, without escapes.
    fn string(&mut self) -> Result<&'a str, InputError> {
        let quote = self.peek().filter(|b| matches!(b, b'\'' | b'"')).ok_or_else(|| self.wrong("a string"))?;
        let inside = &self.rest[1..];
        let end = inside.iter().position(|&b| b == quote).ok_or_else(|| self.wrong("a string that ends"))?;
        self.rest = &inside[end + 1..];
        std::str::from_utf8(&inside[..end]).map_err(|_| InputError::Header("a string is not UTF-8".into()))
    }

    fn bool(&mut self) -> Result<bool, InputError> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    /// `()`, `(3,)`, `(3, 4)`.
    fn tuple(&mut self) -> Result<Vec<usize>, InputError> {
        self.expect(b'(')?;
        let mut lengths = Vec::new();
        while !self.take(b')') {
            if lengths.len() == MOST_AXES {
                return Err(InputError::Header(format!("its shape has more than {MOST_AXES} axes")));
            }
            lengths.push(self.length()?);
            if !self.take(b',') {
                self.expect(b')')?;
                if lengths.len() == 1 {
                    return Err(InputError::Header("its shape is not a tuple".into()));
                }
                break;
            }
        }
        Ok(lengths)
    }

    /// A number that is not negative; Python 2 wrote `3L`.
    fn length(&mut self) -> Result<usize, InputError> {
        self.peek();
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return Err(self.wrong("a length (0 or more)"));
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest.strip_prefix(b"L").unwrap_or(rest);
        let number = number.iter().try_fold(0usize, |n, &b| n.checked_mul(10)?.checked_add((b - b'0') as usize));
        number.ok_or_else(|| InputError::Header("an axis is longer than memory can address".into()))
    }
}

#[cfg(test)]
#[path = "npy_tests.rs"]
mod tests;
