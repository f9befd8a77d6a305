//! The ids that links within the page lead to.

use crate::record::Run;
use warpfold_device::ladder::Form;

/// The id of the section that tells of a run: that of its rung, whose variants share it. None, if it is no rung of a
/// family, or in a form that is wrong.
pub fn section_of(run: &Run) -> Option<&'static str> {
    let entry = run.entry().filter(|entry| !run.family.is_empty() && entry.form != Form::AsPublished)?;
    Some(entry.name)
}
