//! Duplicates: pairs of places that share a run of at least six lines of code.
//!
//! The lines of a run are equal, or have the same shape: equal except for names and literals. Comments, imports and
//! lines of punctuation are left out, and white space does not matter. Runs that stand in more than eight places are
//! idioms, and are left out, too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::finding::{Finding, Rule};
use crate::error::Error;

/// The fewest lines of a run.
const LINES: usize = 6;
/// The fewest tokens of a run whose lines are not equal but of the same shape.
const SHAPE_TOKENS: usize = 100;
/// The most places of a run of six lines.
const PLACES: usize = 8;

/// A line of code.
struct Line {
    /// Counted from 1.
    number: usize,
    tokens: usize,
    /// A hash of the tokens.
    text: u64,
    /// A hash of the tokens, with names and literals left open.
    shape: u64,
}

/// The lines of code of all files, one file after the other.
#[derive(Default)]
pub struct Sources {
    files: Vec<String>,
    lines: Vec<(usize, Line)>,
}

/// Two runs of lines, by their first lines' places in all lines.
#[derive(Clone, Copy, Debug)]
struct Pair {
    first: usize,
    second: usize,
    lines: usize,
}

impl Sources {
    /// Adds a file.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let tokens: TokenStream = text.parse().map_err(|error| format!("{name}: {error}"))?;
        let mut words = BTreeMap::new();
        read(tokens, &mut words);
        let file = self.files.len();
        self.files.push(name.to_owned());
        self.lines.extend(words.into_iter().filter_map(|(number, words)| Some((file, line(number, &words)?))));
        Ok(())
    }

    /// All pairs. Runs of the same shape count where no equal run of the same files overlaps them.
    pub fn check(&self) -> Vec<Finding> {
        let equal = self.pairs(|line| line.text);
        let alike = self.pairs(|line| line.shape).into_iter().filter(|pair| {
            let tokens = |first: usize| self.lines[first..first + pair.lines].iter().map(|(_, line)| line.tokens).sum();
            let tokens: usize = tokens(pair.first);
            tokens >= SHAPE_TOKENS && !equal.iter().any(|other| pair.overlaps(other))
        });
        let alike: Vec<Pair> = alike.collect();
        let named = |pairs: &[Pair], what| pairs.iter().map(|pair| self.finding(pair, what)).collect::<Vec<_>>();
        named(&equal, "equal").into_iter().chain(named(&alike, "the same shape")).collect()
    }

    fn finding(&self, pair: &Pair, what: &str) -> Finding {
        let place = |first: usize| {
            let (file, line) = &self.lines[first];
            format!("{}:{}-{}", self.files[*file], line.number, self.lines[first + pair.lines - 1].1.number)
        };
        let file = |first: usize| &self.files[self.lines[first].0];
        let rule = if is_rung(file(pair.first)) && is_rung(file(pair.second)) { Rule::Rungs } else { Rule::Duplicates };
        let text = format!("{} ~ {}: {} lines, {what}", place(pair.first), place(pair.second), pair.lines);
        Finding { rule, text }
    }

    /// The longest pairs of runs whose lines have equal keys.
    fn pairs(&self, key: impl Fn(&Line) -> u64) -> Vec<Pair> {
        let mut places: HashMap<Vec<u64>, Vec<usize>> = HashMap::new();
        for (at, window) in self.lines.windows(LINES).enumerate() {
            if window[0].0 == window[LINES - 1].0 {
                places.entry(window.iter().map(|(_, line)| key(line)).collect()).or_default().push(at);
            }
        }
        // Equal windows, by distance and then by place: neighbours are one run.
        let mut equal = BTreeSet::new();
        for at in places.values().filter(|places| (2..=PLACES).contains(&places.len())) {
            for (number, &first) in at.iter().enumerate() {
                let apart = at[number + 1..].iter().map(|second| second - first).filter(|&distance| distance >= LINES);
                equal.extend(apart.map(|distance| (distance, first)));
            }
        }
        let mut pairs: Vec<Pair> = Vec::new();
        for (distance, first) in equal {
            match pairs.last_mut() {
                Some(last) if last.second - last.first == distance && last.first + last.lines - LINES + 1 == first => {
                    last.lines += 1;
                }
                _ => pairs.push(Pair { first, second: first + distance, lines: LINES }),
            }
        }
        pairs.sort_by_key(|pair| (std::cmp::Reverse(pair.lines), pair.first, pair.second));
        pairs
    }
}

impl Pair {
    fn overlaps(&self, other: &Self) -> bool {
        let meet = |a: usize, b: usize| a < b + other.lines && b < a + self.lines;
        meet(self.first, other.first) && meet(self.second, other.second)
    }
}

/// Whether a file is a rung of the ladder: `ladder/a/a1.rs`. A rung repeats the rung below it, except for the step that
/// it shows.
fn is_rung(file: &str) -> bool {
    let parts: Vec<&str> = file.split('/').collect();
    parts.windows(2).any(|pair| pair[0] == "ladder" && pair[1].len() == 1)
}

/// Sorts tokens by line, without imports and doc comments.
fn read(tokens: TokenStream, lines: &mut BTreeMap<usize, Vec<(String, bool)>>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut begins = true;
    while let Some(token) = tokens.next() {
        let number = token.span().start().line;
        let mut add = |number: usize, word: String, open: bool| lines.entry(number).or_default().push((word, open));
        match &token {
            TokenTree::Ident(word) if begins && (word == "use" || word == "mod" && declares(&tokens)) => {
                tokens.by_ref().take_while(|token| !is(token, ';')).for_each(drop);
                continue;
            }
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                let inner = tokens.next_if(|next| is(next, '!')).is_some();
                if tokens.next_if(of_docs).is_some() {
                    continue;
                }
                add(number, if inner { "#!" } else { "#" }.into(), false);
            }
            TokenTree::Ident(word) => add(number, word.to_string(), !keyword(&word.to_string())),
            TokenTree::Literal(value) => add(number, value.to_string(), true),
            TokenTree::Punct(mark) => add(number, mark.to_string(), false),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                add(number, open.into(), false);
                read(group.stream(), lines);
                lines.entry(group.span_close().start().line).or_default().push((close.into(), false));
            }
        }
        let visibility = matches!(&token, TokenTree::Ident(word) if word == "pub");
        begins = visibility || is(&token, ';') || matches!(token, TokenTree::Group(_));
    }
}

/// Whether the tokens after `mod` say that the module has a file of its own.
fn declares(rest: &(impl Iterator<Item = TokenTree> + Clone)) -> bool {
    rest.clone().nth(1).is_some_and(|token| is(&token, ';'))
}

/// Whether a token is the rest of a doc comment, which is an attribute.
fn of_docs(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "doc")
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == mark)
}

/// Whether a word belongs to the language.
fn keyword(word: &str) -> bool {
    syn::parse_str::<syn::Ident>(word).is_err()
}

fn line(number: usize, words: &[(String, bool)]) -> Option<Line> {
    let hash = |open: bool| {
        let mut hasher = DefaultHasher::new();
        words.iter().for_each(|(word, is_open)| if open && *is_open { "" } else { word }.hash(&mut hasher));
        hasher.finish()
    };
    let says_something = words.iter().any(|(word, _)| word.starts_with(|first: char| first.is_alphanumeric()));
    says_something.then(|| Line { number, tokens: words.len(), text: hash(false), shape: hash(true) })
}
