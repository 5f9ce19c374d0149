//! Every integration test of this crate, in one program: it is linked once.

mod defaults;
mod draw;
mod edit;
mod merge;
mod oracle;
mod parse;
mod properties;
mod support;
