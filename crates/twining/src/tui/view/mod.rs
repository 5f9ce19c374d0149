//! What the state looks like: lines of styled text, put into a buffer.

pub(crate) mod frame;
pub(super) mod item;
pub(super) mod lines;
mod now;
pub(super) mod stream;
