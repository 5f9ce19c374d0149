//! `twining import`: what other tools wrote down, as records of ours.

mod guardkit;
mod records;

pub use records::{flags, run};
