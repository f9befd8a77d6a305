//! The glossary: a list of all words at the top of the page, and each word's meaning where it is used, on hover, press
//! or touch.
//!
//! A word in the text is a button that opens its meaning as a popover, which needs no script: Tab reaches it, Enter or
//! a touch opens it, Escape closes it.

use super::super::markup::{escape, prose};

/// A word, the forms that it takes on the page, and its meaning.
struct Word {
    name: &'static str,
    forms: &'static [&'static str],
    meaning: &'static str,
}

const fn word(name: &'static str, forms: &'static [&'static str], meaning: &'static str) -> Word {
    Word { name, forms, meaning }
}

/// From the program to the hardware, memory, and what is counted.
const WORDS: [Word; 46] = [
    word(
        "reduction",
        &["reductions"],
        "Many values become one, by an operation that joins two of them. Here it is addition.",
    ),
    word("fold", &["folds", "folded"], "To join two values into one, or many by joining two at a time."),
    word(
        "tree",
        &["trees"],
        "Neighbours are added, then the sums of neighbours, and so on: n values take log₂ n rounds.",
    ),
    word("round", &["rounds"], "One level of the tree: half as many values are left after it."),
    word("partial", &["partials"], "The sum of some of the elements. Partials are added up later."),
    word(
        "stride",
        &["strides"],
        "The distance between two elements that are added, or that one thread reads one after the other.",
    ),
    word("kernel", &["kernels"], "A function that a GPU runs, by thousands of threads at once."),
    word(
        "launch",
        &["launches"],
        "The host starts a kernel on the GPU. A launch costs some microseconds, whatever it does.",
    ),
    word("thread", &["threads"], "One run of the kernel, with registers of its own."),
    word("warp", &["warps"], "32 threads of a block that execute the same instruction together."),
    word("lane", &["lanes"], "One of the 32 threads of a warp."),
    word(
        "block",
        &["blocks"],
        "Up to 1024 threads that run on one multiprocessor. They have shared memory in common and can wait for each \
         other.",
    ),
    word("grid", &[], "All blocks of a launch."),
    word(
        "multiprocessor",
        &["multiprocessors"],
        "A part of the GPU that runs blocks; an H200 has 132, an A100 has 108.",
    ),
    word(
        "occupancy",
        &[],
        "How many warps a multiprocessor holds at a time, of the most that it can. While one waits for memory, it runs \
         another.",
    ),
    word("register", &["registers"], "The fastest memory: it belongs to one thread."),
    word("shared memory", &[], "Fast memory of a multiprocessor, which all threads of a block can read and write."),
    word("global memory", &[], "The GPU's large memory, outside the multiprocessors (DRAM). The input is there."),
    word("L2", &[], "The cache between the multiprocessors and global memory."),
    word(
        "barrier",
        &["barriers", "block barrier", "block barriers"],
        "A point that no thread of a block passes before all of them have reached it.",
    ),
    word("warp barrier", &["warp barriers"], "The same for the 32 lanes of one warp. It costs far less."),
    word(
        "divergence",
        &["diverge", "diverges", "diverged"],
        "Lanes of one warp take different sides of a branch. The warp then runs both sides, one after the other.",
    ),
    word(
        "branch efficiency",
        &[],
        "The share of branches at which all active lanes of a warp took the same side. 100 % means no divergence.",
    ),
    word(
        "active lanes",
        &[],
        "Lanes of a warp that take part in an instruction, of 32, on average. The others are idle.",
    ),
    word(
        "lockstep",
        &[],
        "All lanes of a warp always at the same instruction. GPUs before Volta did that; since then it is not \
         promised.",
    ),
    word("Volta", &[], "NVIDIA's GPUs of 2017, the first whose lanes may run ahead of each other."),
    word(
        "request",
        &["requests"],
        "One warp executes one load, store or atomic, for all its active lanes at once. It is counted once, not per \
         lane.",
    ),
    word(
        "sector",
        &["sectors"],
        "32 bytes of global memory, the least that moves. A request for 32 neighbouring floats needs 4 sectors; with \
         16-byte loads it needs 16, for four times as much data.",
    ),
    word("coalesced", &[], "The lanes of a request want neighbouring words, so the request needs few sectors."),
    word(
        "bank",
        &["banks"],
        "Shared memory has 32 banks; word i is in bank i mod 32. Each bank serves one word at a time.",
    ),
    word(
        "bank conflict",
        &["bank conflicts"],
        "Lanes of one request want different words of one bank, and take turns: 2-way means two turns, 4-way four.",
    ),
    word(
        "shared pass",
        &["shared passes", "shared passes per element", "wavefront", "wavefronts"],
        "One turn of a request to shared memory. Without a bank conflict a request takes one pass, with a 4-way \
         conflict four. Counted per element of the input. Profilers say wavefront.",
    ),
    word("shuffle", &["shuffles"], "A lane reads a register of another lane of its warp, with no memory in between."),
    word("butterfly", &[], "Lanes exchange values in pairs, 1, 2, 4, 8 and 16 apart, until every lane has the result."),
    word(
        "atomic",
        &["atomics", "atomically"],
        "An addition to memory that no other thread can come between. Floats added so have no fixed order, and no \
         fixed bits.",
    ),
    word(
        "race",
        &["races"],
        "Two threads use one address, one of them writes, and nothing orders them: the result is luck.",
    ),
    word(
        "unrolled",
        &["unroll"],
        "The compiler writes the rounds of a loop one after the other, without counter and test.",
    ),
    word("coarsening", &["coarsened"], "Fewer threads, each of which does more work."),
    word("in flight", &[], "Asked for, and not there yet. Many loads in flight hide how long each one takes."),
    word("bandwidth", &[], "Bytes read by time, in GB/s. A sum has little else to do than to read."),
    word("peak", &[], "The bandwidth that bus width and memory clock allow on paper."),
    word(
        "plain read",
        &["a read"],
        "A kernel that only reads the same bytes: what a real program can reach of the peak.",
    ),
    word(
        "cold",
        &["warm"],
        "Cold inputs come from global memory; warm ones are still in the L2 cache from the run before.",
    ),
    word(
        "speed-up",
        &["speed-ups"],
        "How many times faster than the rung that the table names; 2 means half the time.",
    ),
    word(
        "emulator",
        &[],
        "A program that runs the kernels thread by thread on the CPU, checks every access and counts. It tells no \
         times.",
    ),
    word(
        "published",
        &[],
        "Printed in the slides, article or lecture that a rung comes from: see “Sources”. Not measured by this run.",
    ),
];

/// The glossary, closed at first.
pub fn glossary() -> String {
    let mut out = format!(
        "<section id=\"words\" aria-labelledby=\"words-title\"><h2 id=\"words-title\">Words</h2>\n<p>A word with a \
         dotted line tells its meaning when you press it or point at it.</p>\n<details><summary>All {} \
         words</summary>\n<dl class=\"words\">\n",
        WORDS.len()
    );
    for word in &WORDS {
        out += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(word.name), prose(word.meaning));
    }
    out + "</dl></details></section>\n"
}

/// The popovers with the meanings of words.
pub fn popovers() -> String {
    let one = |(i, word): (usize, &Word)| {
        format!(
            "<div popover class=\"meaning\" id=\"word-{i}\"><p><b>{}</b> {}</p><button popovertarget=\"word-{i}\" \
             popovertargetaction=\"hide\">Close</button></div>\n",
            escape(word.name),
            prose(word.meaning)
        )
    };
    WORDS.iter().enumerate().map(one).collect()
}

/// Elements whose text stays as it is: code, links, titles, and the glossary itself.
const PLAIN: [&str; 12] = ["a", "button", "code", "pre", "h1", "h2", "h3", "h4", "nav", "dl-words", "summary", "b"];
/// Elements in which each word is marked anew.
const ANEW: [&str; 3] = ["section", "table", "article"];

/// The page's body with each word marked where a section or a table first uses it.
pub fn mark(html: &str) -> String {
    let mut out = String::with_capacity(html.len() * 5 / 4);
    let mut seen = [false; WORDS.len()];
    // Open elements whose text stays as it is.
    let mut plain: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, tagged) = rest.split_at(at);
        out += &if plain.is_empty() { mark_text(text, &mut seen) } else { text.to_owned() };
        let (tag, after) = tagged.split_at(tagged.find('>').map_or(tagged.len(), |end| end + 1));
        let name = name_of(tag);
        if tag.starts_with("</") {
            if plain.last() == Some(&name) || (plain.last() == Some(&"dl-words") && name == "dl") {
                plain.pop();
            }
        } else if PLAIN.contains(&name) {
            plain.push(name);
        } else if ANEW.contains(&name) {
            seen = [false; WORDS.len()];
        }
        out += tag;
        rest = after;
    }
    out + rest
}

/// `section` of `<section id="x">` and of `</section>`; the glossary's list has a name of its own.
fn name_of(tag: &str) -> &str {
    if tag == "<dl class=\"words\">" {
        return "dl-words";
    }
    let name = tag.trim_start_matches(['<', '/']);
    &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())]
}

fn mark_text(text: &str, seen: &mut [bool; WORDS.len()]) -> String {
    let mut out = String::new();
    let (mut rest, mut before) = (text, ' ');
    while let Some(c) = rest.chars().next() {
        let found = if is_part(before) { None } else { longest(rest) };
        let length = match found {
            Some((i, length)) if !seen[i] => {
                seen[i] = true;
                // A line may break after a button, so a full stop behind it is kept beside it.
                let ends = rest[length..].find(|c| !".,;:)”".contains(c)).unwrap_or(rest.len() - length);
                let (word, stop) = rest[..length + ends].split_at(length);
                out += &match stop {
                    "" => button(i, word),
                    stop => format!("<span class=\"kept\">{}{stop}</span>", button(i, word)),
                };
                length + ends
            }
            Some((_, length)) => {
                out += &rest[..length];
                length
            }
            None => {
                out.push(c);
                c.len_utf8()
            }
        };
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    out
}

/// Whether a character belongs to a word, so that none begins after it.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '&'
}

/// The word whose longest form `text` begins with, and the length of that form.
fn longest(text: &str) -> Option<(usize, usize)> {
    let fits = |form: &str| {
        let head = text.get(..form.len())?;
        let ends = !text[form.len()..].starts_with(is_part);
        (ends && head.eq_ignore_ascii_case(form)).then_some(form.len())
    };
    let forms = WORDS.iter().enumerate().flat_map(|(i, w)| w.forms.iter().chain([&w.name]).map(move |form| (i, form)));
    forms.filter_map(|(i, form)| Some((i, fits(form)?))).max_by_key(|&(_, length)| length)
}

fn button(i: usize, text: &str) -> String {
    let meaning = escape(WORDS[i].meaning);
    format!("<button class=\"word\" popovertarget=\"word-{i}\"><abbr title=\"{meaning}\">{text}</abbr></button>")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that are marked.
    fn marked(html: &str) -> Vec<String> {
        let parts = html.split("<abbr title=\"").skip(1);
        parts.filter_map(|p| Some(p.split_once("\">")?.1.split("</abbr>").next()?.to_owned())).collect()
    }

    #[test]
    fn a_word_is_marked_once_in_each_section_and_in_its_longest_form() {
        let html = mark(
            "<section><p>Lanes of a warp wait at a warp barrier, as lanes \
             do.</p></section><section><p>lane</p></section>",
        );
        assert_eq!(marked(&html), ["Lanes", "warp", "warp barrier", "lane"]);
    }

    #[test]
    fn a_full_stop_stays_beside_its_word() {
        let html = mark("<p>A (warp), a lane.</p>");
        assert_eq!(marked(&html), ["warp", "lane"]);
        assert!(html.contains("</button>),</span> a ") && html.ends_with("</button>.</span></p>"), "{html}");
    }

    #[test]
    fn code_links_and_parts_of_words_are_left_alone() {
        let same = "<p><code>lane</code> <a href=\"#x\">warp</a> warped shared_lane &lt;b&gt;</p>\
                    <pre class=\"code\"><i class=\"k\">thread</i> lane</pre>\
                    <dl class=\"words\"><div><dt>lane</dt></div></dl>";
        assert_eq!(mark(same), same);
        assert_eq!(marked(&mark("<dl class=\"idea\"><dd>lane</dd></dl>")), ["lane"]);
    }

    #[test]
    fn every_form_belongs_to_one_word() {
        let mut forms: Vec<&str> = WORDS.iter().flat_map(|w| w.forms.iter().copied().chain([w.name])).collect();
        let all = forms.len();
        forms.sort_unstable();
        forms.dedup();
        assert_eq!(forms.len(), all);
    }
}
