//! The screen with made-up records.

mod keys;
mod samples;
mod screens;
