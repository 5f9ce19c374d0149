//! Edits that touch one statement and leave every other byte alone.

mod apply;
mod attribute_lists;
mod document_edits;
mod file_style;
mod plan;
mod statement_index;

pub(crate) use apply::{Splices, carry_out};
pub use document_edits::{EdgeSelector, EditError};
pub(crate) use file_style::{FileStyle, line_end_of};
pub(crate) use plan::{EditPlan, NewStatement};
pub(crate) use statement_index::{StatementIndex, StatementShape};
