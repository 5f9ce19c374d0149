//! Render.

pub(crate) mod command_error;
pub(crate) mod json_output;
pub(crate) mod text_page;
