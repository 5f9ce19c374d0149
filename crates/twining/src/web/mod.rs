//! Web entry point: `twining ui` serves one page and the verbs to this machine's browser.
//!
//! The page is a client of the verbs, not a second API: `POST /api/<verb>` takes and gives exactly
//! the tool's JSON. Only the loopback address is bound, and everything that holds data wants a key,
//! which is bought with the code of a link. The files stay the truth: nothing is kept here.

mod access;
mod address;
mod api;
mod assets;
// Kept as `scripts/ui` makes it, byte for byte.
#[rustfmt::skip]
mod assets_table;
mod command;
mod events;
mod instance;
mod keys;
mod server;

pub(crate) use command::{flags, run};
