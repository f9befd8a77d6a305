//! Which way through memory: a pure function of the problem.

use super::policy::FEW_COLUMNS;
use crate::problem::Problem;

/// The order in which the CPU walks the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// Each output's elements one after the other; short rows many at a time.
    Rows,
    /// The fastest axis in memory is kept: several rows of a matrix at a time, column by column.
    Columns {
        /// That axis, in [`Problem::kept`].
        lane: usize,
    },
    /// The same with so few columns that they are taken apart, then reduced like rows.
    Interleaved {
        /// That axis, in [`Problem::kept`].
        lane: usize,
    },
    /// The fastest axis in memory is an outer reduced one (a transposed array): tiles are transposed on the way.
    Transposed {
        /// That axis, in [`Problem::reduced`].
        lane: usize,
    },
}

impl Route {
    /// Chooses.
    pub fn of(problem: &Problem) -> Self {
        let unit = problem.size as isize;
        let rows = problem.reduced.len();
        if rows == 0 || problem.inner().x.abs() == unit {
            return Route::Rows;
        }
        if let Some(lane) = problem.kept.iter().position(|d| d.x == unit) {
            return if problem.kept[lane].len < FEW_COLUMNS {
                Route::Interleaved { lane }
            } else {
                Route::Columns { lane }
            };
        }
        match problem.reduced[..rows - 1].iter().position(|d| d.x == unit) {
            Some(lane) if problem.reduced[lane].len >= FEW_COLUMNS => Route::Transposed { lane },
            _ => Route::Rows,
        }
    }

    /// For `explain`.
    pub fn describe(self) -> &'static str {
        match self {
            Route::Rows => "rows: each output's elements in turn, blocks of 4096 in L1",
            Route::Columns { .. } => "columns: 8 rows of a strip at a time, then a binary counter of strips",
            Route::Interleaved { .. } => {
                "interleaved: the few columns are taken apart into tiles, then reduced as rows"
            }
            Route::Transposed { .. } => "transposed: tiles are transposed on the way in, one span per lane",
        }
    }
}
