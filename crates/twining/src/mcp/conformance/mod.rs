//! What the protocol's conformance suite talks to: this server over HTTP, as it
//! is or with the fixtures the suite wants. Built with `--features conformance`
//! only; a release has neither HTTP nor fixtures.

mod answers;
mod fixtures;
mod rounds;
mod serve;

pub(crate) use serve::asked;
