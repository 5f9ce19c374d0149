//! The rules, one file each.

pub(super) mod authors;
pub(super) mod clauses;
pub(super) mod features;
pub(super) mod policy;
pub(super) mod records;
pub(super) mod secrets;
