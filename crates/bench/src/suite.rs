//! Suites: TOML files that name cases by axes of values. `bench/suites/README.md` describes them.

use crate::case::{Case, Measure};
use crate::error::Error;
use crate::keys::{Cloud, Keys};
use crate::valid::Field;
use crate::work::Work;
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;
use warpfold::{DType, Precision};

/// The built-in suites: name and text.
const BUILT_IN: [(&str, &str); 11] = [
    ("full", include_str!("../../../bench/suites/full.toml")),
    ("dtypes", include_str!("../../../bench/suites/dtypes.toml")),
    ("shapes", include_str!("../../../bench/suites/shapes.toml")),
    ("ops", include_str!("../../../bench/suites/ops.toml")),
    ("small", include_str!("../../../bench/suites/small.toml")),
    ("first", include_str!("../../../bench/suites/first.toml")),
    ("kmeans", include_str!("../../../bench/suites/kmeans.toml")),
    ("segments", include_str!("../../../bench/suites/segments.toml")),
    ("groups", include_str!("../../../bench/suites/groups.toml")),
    ("smoke", include_str!("../../../bench/suites/smoke.toml")),
    ("cpu", include_str!("../../../bench/suites/cpu.toml")),
];

/// A list of cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The name on the command line.
    pub name: String,
    /// The title in tables.
    pub title: String,
    /// The cases, in order.
    pub cases: Vec<Case>,
}

/// The names of the built-in suites.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// A built-in suite, or one from a file.
///
/// # Errors
/// If there is no such suite, or it has a mistake.
pub fn load(name: &str) -> Result<Suite, Error> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return parse(name, &format!("bench/suites/{name}.toml"), text);
    }
    let path = Path::new(name);
    if !name.ends_with(".toml") && !path.exists() {
        return Err(Error::NoSuite { name: name.into(), known: names().join(", ") });
    }
    let text = std::fs::read_to_string(path).map_err(|why| Error::Read { path: path.into(), why })?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    parse(&stem, name, &text)
}

/// One value, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore<T> {
    One(T),
    Many(Vec<T>),
}

impl<T: Clone> OneOrMore<T> {
    fn list(&self) -> Vec<T> {
        match self {
            OneOrMore::One(one) => vec![one.clone()],
            OneOrMore::Many(many) => many.clone(),
        }
    }
}

/// `1024` or `"2^10"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(i64),
    Text(String),
}

impl Number {
    fn get(&self) -> Result<usize, String> {
        let value = match self {
            Number::Plain(n) => usize::try_from(*n).ok(),
            Number::Text(text) => match text.split_once('^') {
                Some((base, power)) => match (base.parse::<usize>(), power.parse()) {
                    (Ok(base), Ok(power)) => base.checked_pow(power),
                    _ => None,
                },
                None => text.parse().ok(),
            },
        };
        let shown = || match self {
            Number::Plain(n) => n.to_string(),
            Number::Text(text) => format!("\"{text}\""),
        };
        value.ok_or_else(|| format!("{} is not a length: give one such as 1024 or \"2^10\"", shown()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    cases: Vec<Spanned<Group>>,
}

type Axis<T> = Option<Spanned<OneOrMore<T>>>;

/// Cases that differ in one or more values each.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    op: Spanned<OneOrMore<String>>,
    dtype: Spanned<OneOrMore<String>>,
    shape: Axis<Vec<Number>>,
    elements: Axis<Number>,
    bytes: Axis<Number>,
    axes: Axis<Vec<usize>>,
    layout: Axis<String>,
    precision: Axis<String>,
    skip_nan: Axis<bool>,
    measure: Axis<String>,
    threads: Axis<usize>,
    segments: Axis<String>,
    groups: Axis<Number>,
    clusters: Axis<Number>,
    points: Axis<String>,
}

/// A mistake, and where it is.
struct Wrong {
    at: usize,
    why: String,
}

pub(crate) fn parse(name: &str, file: &str, text: &str) -> Result<Suite, Error> {
    let line = |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1;
    let fail = |wrong: Wrong| Error::Suite { file: file.into(), line: line(wrong.at), why: wrong.why };
    let parsed: File = toml::from_str(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        fail(Wrong { at, why: format!("{}; see bench/suites/README.md", e.message().replace('\n', " ")) })
    })?;
    let mut cases = Vec::new();
    for group in &parsed.cases {
        cases.extend(expand(group).map_err(fail)?);
    }
    Ok(Suite { name: name.into(), title: parsed.title, cases })
}

/// The product of all axes, the last changing fastest.
fn expand(spanned: &Spanned<Group>) -> Result<Vec<Case>, Wrong> {
    let (group, at) = (spanned.get_ref(), spanned.span().start);
    let works = each(&group.op, |name| name.parse::<Work>())?;
    let dtypes = each(&group.dtype, |name| name.parse().map_err(|known| format!("`{name}`: {known}")))?;
    let sizes = sizes(group, at)?;
    let first = Case::new(works[0], dtypes[0]);
    // In this order, the data can mostly be kept from one case to the next.
    let cases = vary(vec![first], dtypes, |case, dtype| case.dtype = dtype);
    let cases = vary(cases, works, |case, work| case.work = work);
    let cases = vary(cases, sizes, |case, size| {
        case.shape = size.shape(case.dtype);
        case.axes = (0..case.shape.len()).collect();
    });
    let cases = vary(cases, keys(group, at)?, |case, keys| {
        case.keys = Some(keys);
        case.axes = vec![0];
    });
    let axes = optional(&group.axes, |axes| Ok(axes.clone()))?;
    let cases = vary(cases, axes, |case, axes| case.axes = axes);
    let layouts = optional(&group.layout, |text| text.parse())?;
    let cases = vary(cases, layouts, |case, layout| case.layout = layout);
    let precisions = optional(&group.precision, |text| match text.as_str() {
        "tree" => Ok(Precision::Tree),
        "compensated" => Ok(Precision::Compensated),
        _ => Err(format!("unknown precision `{text}`: give tree or compensated")),
    })?;
    let cases = vary(cases, precisions, |case, precision| case.precision = precision);
    let cases = vary(cases, optional(&group.skip_nan, |&skip| Ok(skip))?, |case, skip| case.skip_nan = skip);
    let measures = optional(&group.measure, |text| match text.as_str() {
        "call" => Ok(Measure::Call),
        "latency" => Ok(Measure::Latency),
        "graph" => Ok(Measure::Graph),
        "first" => Ok(Measure::First),
        _ => Err(format!("unknown measure `{text}`: give call, latency, graph or first")),
    })?;
    let cases = vary(cases, measures, |case, measure| case.measure = measure);
    // Zero stands for all threads.
    let threads = optional(&group.threads, |&n| Ok((n > 0).then_some(n)))?;
    let cases = vary(cases, threads, |case, threads| case.threads = threads);
    for case in &cases {
        case.check().map_err(|fault| {
            let size = group.shape.as_ref().map(|s| s.span().start);
            let field = match fault.field {
                Field::Shape => size,
                Field::Axes => group.axes.as_ref().map(|a| a.span().start).or(size),
                Field::Layout => group.layout.as_ref().map(|l| l.span().start),
                Field::Op => Some(group.op.span().start),
                Field::Keys => [&group.groups, &group.clusters]
                    .iter()
                    .find_map(|axis| axis.as_ref().map(|a| a.span().start))
                    .or(group.segments.as_ref().map(|s| s.span().start)),
            };
            Wrong { at: field.unwrap_or(at), why: fault.why }
        })?;
    }
    Ok(cases)
}

/// Every case with every value; the cases as they are if there are no values.
fn vary<T: Clone>(cases: Vec<Case>, values: Vec<T>, set: impl Fn(&mut Case, T)) -> Vec<Case> {
    if values.is_empty() {
        return cases;
    }
    let with = |case: &Case, value: &T| {
        let mut case = case.clone();
        set(&mut case, value.clone());
        case
    };
    cases.iter().flat_map(|case| values.iter().map(|value| with(case, value)).collect::<Vec<_>>()).collect()
}

/// The values of an axis. Errors have the position of the axis.
fn each<T: Clone, U>(axis: &Spanned<OneOrMore<T>>, read: impl Fn(&T) -> Result<U, String>) -> Result<Vec<U>, Wrong> {
    let wrong = |why| Wrong { at: axis.span().start, why };
    let values = axis.get_ref().list();
    if values.is_empty() {
        return Err(wrong("an empty list makes no case: give one value or more, or leave the key out".into()));
    }
    values.iter().map(|value| read(value).map_err(wrong)).collect()
}

fn optional<T: Clone, U>(axis: &Axis<T>, read: impl Fn(&T) -> Result<U, String>) -> Result<Vec<U>, Wrong> {
    axis.as_ref().map_or(Ok(Vec::new()), |axis| each(axis, read))
}

/// The size of an array.
#[derive(Clone)]
enum Size {
    Shape(Vec<usize>),
    Bytes(usize),
}

impl Size {
    fn shape(&self, dtype: DType) -> Vec<usize> {
        match self {
            Size::Shape(shape) => shape.clone(),
            Size::Bytes(bytes) => vec![bytes / dtype.size()],
        }
    }
}

fn sizes(group: &Group, at: usize) -> Result<Vec<Size>, Wrong> {
    let shapes =
        optional(&group.shape, |shape| shape.iter().map(Number::get).collect::<Result<_, _>>().map(Size::Shape))?;
    let elements = optional(&group.elements, |n| n.get().map(|n| Size::Shape(vec![n])))?;
    let bytes = optional(&group.bytes, |n| n.get().map(Size::Bytes))?;
    let mut given: Vec<Vec<Size>> = [shapes, elements, bytes].into_iter().filter(|s| !s.is_empty()).collect();
    match (given.pop(), given.is_empty()) {
        (Some(sizes), true) => Ok(sizes),
        _ => Err(Wrong { at, why: "give exactly one of shape, elements and bytes".into() }),
    }
}

/// The keys: at most one of the three sorts.
fn keys(group: &Group, at: usize) -> Result<Vec<Keys>, Wrong> {
    let segments = optional(&group.segments, |text| text.parse().map(Keys::Segments))?;
    let groups = optional(&group.groups, |n| n.get().map(Keys::Groups))?;
    let clouds = optional(&group.points, |text| text.parse::<Cloud>())?;
    let clouds = if clouds.is_empty() { vec![Cloud::Normal] } else { clouds };
    let clusters = optional(&group.clusters, |n| n.get())?;
    if let (Some(points), true) = (&group.points, clusters.is_empty()) {
        return Err(Wrong { at: points.span().start, why: "points are of k-means: give clusters, too".into() });
    }
    let clusters: Vec<Keys> =
        clusters.iter().flat_map(|&n| clouds.iter().map(move |&cloud| Keys::Clusters(n, cloud))).collect();
    let given = [segments, groups, clusters].into_iter().filter(|keys| !keys.is_empty());
    match given.collect::<Vec<_>>().as_mut_slice() {
        [] => Ok(Vec::new()),
        [keys] => Ok(std::mem::take(keys)),
        _ => Err(Wrong { at, why: "give at most one of segments, groups and clusters".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        parse("x", "x.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn the_built_in_suites_parse() {
        for name in names() {
            let suite = load(name).unwrap();
            assert!(!suite.cases.is_empty(), "{name}");
            let mut ids: Vec<String> = suite.cases.iter().map(Case::to_string).collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), suite.cases.len(), "{name} has a case twice");
        }
    }

    #[test]
    fn axes_multiply() {
        let text = "title = 't'\n[[cases]]\nop = ['sum', 'max']\ndtype = 'f32'\nshape = [[4, '2^3'], [2, 2]]\n\
                    axes = [[0], [1]]";
        let suite = parse("x", "x.toml", text).unwrap();
        assert_eq!(suite.cases.len(), 8);
        assert_eq!(suite.cases[1].to_string(), "sum f32 (4,8) axis 1");
        assert_eq!(suite.cases[7].to_string(), "max f32 (2,2) axis 1");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let head = "title = 't'\n[[cases]]\n";
        let with = |rest: &str| wrong(&format!("{head}{rest}"));
        let op = with("op = 'sun'\ndtype = 'f32'\nelements = 4");
        assert!(op.starts_with("x.toml:3: ") && op.contains("did you mean `sum`"), "{op}");
        let dtype = with("op = 'sum'\ndtype = 'f31'\nelements = 4");
        assert!(dtype.starts_with("x.toml:4: `f31`"), "{dtype}");
        let shape = with("op = 'sum'\ndtype = 'f32'\nshape = [4, 0]");
        assert!(shape.starts_with("x.toml:5: ") && shape.contains("1 or more"), "{shape}");
        let shape = with("op = 'sum'\ndtype = 'f32'\nshape = [4, '2^x']");
        assert!(shape.starts_with("x.toml:5: ") && shape.contains("2^10"), "{shape}");
        let axes = with("op = 'sum'\ndtype = 'f32'\nshape = [4, 2]\naxes = [2]");
        assert!(axes.starts_with("x.toml:6: axis 2"), "{axes}");
        let both = with("op = 'sum'\ndtype = 'f32'\nshape = [4, 2]\nelements = 4");
        assert!(both.contains("exactly one"), "{both}");
        let key = with("op = 'sum'\ndtype = 'f32'\nelements = 4\nshappe = 3");
        assert!(key.starts_with("x.toml:6: ") && key.contains("shappe"), "{key}");
        assert!(wrong("title = ").starts_with("x.toml:1: "));
        assert!(load("nonesuch").unwrap_err().to_string().contains("smoke"));
    }
}
