//! Facts that are kept from one case to the next: cases that read the same elements share one walk over them.

use super::table::{Table, table};
use super::walk::{Facts, Walk};
use crate::case::Case;
use crate::data::Generator;
use crate::keys::Keys;
use crate::work::Work;
use rayon::prelude::*;

/// The number of walks whose facts are kept.
const KEPT: usize = 32;

/// The facts of some outputs' elements, kept for other reductions of the same elements: a walk takes longer than a
/// GPU's reduction.
#[derive(Default)]
pub struct Known {
    walks: Vec<(Walk, Vec<usize>, Vec<Facts>)>,
    /// The table of the last keyed case, and everything that it depends on.
    table: Option<(TableKey, Table)>,
}

/// The generator, shape, keys and work of a table.
type TableKey = (Generator, Vec<usize>, Option<Keys>, Work);

impl Known {
    /// The facts of the elements of the outputs `at`.
    pub fn facts(&mut self, walk: &Walk, at: &[usize]) -> &[Facts] {
        let known = self.walks.iter().position(|(known, outputs, _)| known == walk && outputs == at);
        let i = known.unwrap_or_else(|| {
            let facts = at.par_iter().map(|&output| walk.facts(output)).collect();
            // Cases that read the same elements stand together in a suite.
            if self.walks.len() == KEPT {
                self.walks.remove(0);
            }
            self.walks.push((walk.clone(), at.to_vec(), facts));
            self.walks.len() - 1
        });
        &self.walks[i].2
    }

    /// The table of a keyed case.
    pub fn table(&mut self, case: &Case) -> &Table {
        let key = (case.generator(), case.shape.clone(), case.keys, case.work);
        let kept = self.table.take().filter(|(known, _)| *known == key);
        &self.table.insert(kept.unwrap_or_else(|| (key, table(case)))).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    /// A suite has the update of some points before their iterations.
    #[test]
    fn what_is_known_of_an_update_is_not_taken_for_an_iteration() {
        let mut known = Known::default();
        let cases = suite::load("smoke").unwrap().cases;
        let iteration = cases.iter().find(|case| case.work == Work::Iterate).unwrap();
        let update = Case { work: Work::Update, ..iteration.clone() };
        assert!(matches!(known.table(&update), Table::Sums(_)));
        assert!(matches!(known.table(iteration), Table::Labels(_)));
        assert!(matches!(known.table(&update), Table::Sums(_)));
    }
}
