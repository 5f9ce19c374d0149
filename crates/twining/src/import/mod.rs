//! `twining import`: what other tools wrote down, as records of ours.

mod guardkit;
mod records;

pub(crate) use records::{flags, run};
