//! The authors of the published kernels and figures, and where they are published.

use std::fmt::Write;

/// A text that rungs are taken from.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The family: `a`, `b` or `c`.
    pub family: &'static str,
    /// Author and title.
    pub title: &'static str,
    /// The address, if known.
    pub url: Option<&'static str>,
    /// The part that the ladder takes from it.
    pub gives: &'static str,
}

/// All sources, family by family.
pub const SOURCES: [Source; 6] = [
    Source {
        family: "a",
        title: "M. Harris, “Optimizing Parallel Reduction in CUDA”, NVIDIA",
        url: Some("https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf"),
        gives: "the kernels a0 to a6",
    },
    Source {
        family: "a",
        title: "BBuf, “how-to-optim-algorithm-in-cuda”, notes on reduce (in Chinese)",
        url: Some("https://github.com/BBuf/how-to-optim-algorithm-in-cuda/tree/master/reduce"),
        gives: "the same kernels measured again on an A100-PCIE-40GB, at 2^25 f32 with blocks of 256: all published \
                times, speed-ups and percentages of a0 to a6, and the question why a4's percentage fell",
    },
    Source {
        family: "a",
        title: "an article that measured a0 to a2 on an RTX 3050 laptop",
        url: None,
        gives: "three times, in the notes of these rungs; no address of it is known here",
    },
    Source {
        family: "b",
        title: "W. W. Hwu, D. Kirk, I. El Hajj, “Programming Massively Parallel Processors”, chapter 10",
        url: Some("https://www.sciencedirect.com/book/9780323912310/programming-massively-parallel-processors"),
        gives: "the kernels b0 to b4",
    },
    Source {
        family: "b",
        title: "M. Saroufim, CUDA MODE (now GPU MODE), lecture 9, “Reductions”",
        url: Some("https://github.com/gpu-mode/lectures/tree/main/lecture_009"),
        gives: "the sizes of b0 to b4, and the published branch efficiencies, from a T4",
    },
    Source {
        family: "c",
        title: "yan31415, “CUDA 性能优化系列: Kmeans 算法调优 (二)” (in Chinese)",
        url: Some("https://blog.csdn.net/yan31415/article/details/115153893"),
        gives: "the kernels c1 to c7 and all their published times, at 2^20 points, 16 clusters and 1 coordinate",
    },
];

/// The sources of a family.
pub fn of(family: &str) -> impl Iterator<Item = &'static Source> + use<'_> {
    SOURCES.iter().filter(move |source| source.family == family)
}

/// The GPU that the published times of a family were measured on, if there are times and it is known.
pub fn measured_on(family: &str) -> Option<&'static str> {
    (family == "a").then_some("A100")
}

/// A list for GitHub.
pub fn markdown_sources() -> String {
    let mut out = String::new();
    for Source { family, title, url, gives } in SOURCES {
        let linked = url.map_or_else(|| title.to_owned(), |url| format!("[{title}]({url})"));
        let _ = writeln!(
            out,
            "- **{}**: {linked}: {}.",
            family.to_uppercase(),
            gives.replace("2^25", "2²⁵").replace("2^20", "2²⁰")
        );
    }
    out
}
