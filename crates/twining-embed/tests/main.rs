//! Every integration test of this crate, in one program: it is linked once.

mod agreement;
mod hostile;
mod search;
mod texts;
