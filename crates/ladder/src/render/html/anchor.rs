//! The targets of links within the page.

use crate::record::Run;
use warpfold_kernels::ladder::Form;

/// The id of a run's section, which the variants of a rung share. `None` for yardsticks, and for published forms that
/// are wrong.
pub fn section_of(run: &Run) -> Option<&'static str> {
    let entry = run.entry().filter(|entry| !run.family.is_empty() && entry.form != Form::AsPublished)?;
    Some(entry.name)
}
