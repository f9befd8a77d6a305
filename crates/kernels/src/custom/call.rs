//! The launch structs of a reducer's kernels, for [`export_reducer!`](crate::export_reducer).

use crate::reduce::any::{AXES, Strides};
use crate::reduce::call::Call;
use crate::reduce::shape::columns::Columns;
use crate::reduce::shape::panel::Pitch;
use crate::reduce::shape::piece::{Dense, Runs};
use crate::reduce::shape::rows::Rows;
use crate::reduce::shape::staged::Staged;
use crate::reduce::table::KEPT;

/// Rows.
pub type OfRows = Call<Rows<KEPT, Dense>>;
/// Rows in several runs.
pub type OfRuns = Call<Rows<KEPT, Runs>>;
/// Outputs of few elements.
pub type OfStaged = Call<Staged<KEPT>>;
/// Columns.
pub type OfColumns = Call<Columns<KEPT, Pitch>>;
/// Any elements, in rows.
pub type OfAnyRows = Call<Rows<AXES, Strides<AXES>>>;
/// Any elements, in columns.
pub type OfAnyColumns = Call<Columns<AXES, Strides<AXES>>>;
