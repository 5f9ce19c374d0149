//! Every integration test of this crate, in one program: it is linked once.

mod guards;
mod hostile;
