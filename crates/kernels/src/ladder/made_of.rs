//! The sources that a production kernel is made of, for the rungs whose own file is only a place for it.

/// A file of a production kernel, or the part of the file that this kernel uses.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its file, under `src`.
    pub file: &'static str,
    /// What it contributes.
    pub role: &'static str,
    /// The number of the first line.
    pub line: usize,
    /// The text.
    pub source: &'static str,
}

macro_rules! file {
    ($file:literal) => {
        ($file, include_str!(concat!("../", $file)))
    };
}

type File = (&'static str, &'static str);

const ROWS: File = file!("reduce/shape/rows.rs");
const ORDERED: File = file!("reduce/shape/piece/ordered.rs");
const FREE: File = file!("reduce/shape/piece/free.rs");
const WARP: File = file!("reduce/shape/warp.rs");
const TREE: File = file!("reduce/fold/tree.rs");
const INTEGER: File = file!("reduce/fold/integer.rs");
const COLUMN: File = file!("kmeans/column.rs");
const TILE: File = file!("kmeans/tile.rs");
const STRETCH: File = file!("kmeans/stretch.rs");
const SORT: File = file!("kmeans/sort.rs");
const RUN: File = file!("kmeans/run.rs");
const FINISH: File = file!("kmeans/finish.rs");

const SHAPE: &str = "the shape: which elements a block and a warp take, and how the blocks' partials become one result";
const FOLD: &str = "the fold: what is computed of two neighbours";
const MEANS: &str = "from sums to means, by the last block";

fn part((file, source): File, role: &'static str) -> Part {
    Part { file, role, line: 1, source }
}

/// From the line that starts with `from` up to the line that starts with `until`.
fn excerpt((file, source): File, role: &'static str, from: &str, until: &str) -> Part {
    let starts = |line: &str| source.find(&format!("\n{line}")).map(|at| at + 1);
    let (from, until) = (starts(from).unwrap_or(0), starts(until).unwrap_or(source.len()));
    Part { file, role, line: source[..from].lines().count() + 1, source: source[from..until].trim_end() }
}

/// The parts of a kernel by its entry's name, the outermost first; none, if no rung shows this kernel.
#[must_use]
pub fn made_of(entry: &str) -> Vec<Part> {
    match entry {
        "rows_sum_f32" => vec![
            part(ROWS, SHAPE),
            part(ORDERED, "the piece: how a warp walks its elements in the order of the tree"),
            part(WARP, "how the 32 lanes' values become one: the transposed butterfly"),
            excerpt(TREE, FOLD, "/// Sums and means", "/// Sums of magnitudes"),
        ],
        "rows_sum_b4" => vec![
            part(ROWS, SHAPE),
            part(FREE, "the piece: how a warp walks its elements where their order does not matter"),
            part(WARP, "how the 32 lanes' values become one"),
            part(INTEGER, FOLD),
        ],
        _ if entry.starts_with("kmeans_column_") => vec![
            part(COLUMN, "the update of points of one coordinate: a column of sums for each thread"),
            part(FINISH, MEANS),
        ],
        _ if entry.starts_with("kmeans_tile_") => vec![
            part(TILE, "the update where all sums fit shared memory: points are sorted by label, tile by tile"),
            part(STRETCH, "how a lane adds up points while the label stays the same"),
            part(FINISH, MEANS),
        ],
        _ if entry.starts_with("kmeans_") => vec![
            part(SORT, "the update of more sums than shared memory holds: points are sorted by label in global memory"),
            part(RUN, "how a lane adds up the points of one label"),
            part(FINISH, MEANS),
        ],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_has_the_fold_of_a_sum_and_no_other() {
        let parts = made_of("rows_sum_f32");
        let fold = parts.last().expect("parts");
        assert!(fold.source.starts_with("/// Sums and means") && fold.source.ends_with('}'));
        assert!(fold.source.contains("for Sums<X>") && !fold.source.contains("Norms"));
        assert_eq!(TREE.1.lines().nth(fold.line - 1), fold.source.lines().next());
        assert!(parts.iter().all(|p| p.source.lines().count() > 50));
        assert!(made_of("rows_sum_f64").is_empty());
    }
}
