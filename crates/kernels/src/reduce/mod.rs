//! Reductions: a *fold* (what is computed) walks a *shape* (which elements).
//!
//! - [`call`]: the launch struct. [`workspace`]: the layout of what blocks share. [`recipe`]: what a fold is told.
//!   [`out`]: where results go.
//! - [`fold`]: one file for each kind of arithmetic.
//! - [`shape`]: one file for each way through memory.
//! - [`any`]: any elements, any reducer: by index, absent or not, converted on the way.
//! - [`transpose`]: a copy of elements in the order in which they are reduced.
//! - [`table`]: the kernels. [`facts`]: what a planner has to know of each fold.

pub mod any;
pub mod call;
pub mod facts;
pub mod fold;
pub mod out;
pub mod recipe;
pub mod shape;
pub mod single;
pub mod table;
pub mod transpose;
pub mod workspace;
