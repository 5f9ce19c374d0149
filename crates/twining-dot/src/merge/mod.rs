//! A three-way merge by meaning: nodes, edges and attributes, not lines.
//!
//! Whatever one side alone changed is taken. Where both changed the same attribute a
//! [`Policy`] decides. Something removed on one side goes, unless the other side
//! changed it: then it stands and is told. What defaults give counts as if it were
//! written: a default is a way of writing, and the sides may have different ones. The
//! result is ours with splices, so its layout is ours; comments are merged as the rest is.

mod comments;
mod edges;
mod policy;
mod reconcile_defaults;
mod side;
mod subgraphs;
mod three_way;

pub use policy::{AlwaysClash, DotClash, DotClashKind, DotMergePolicy, Resolution, Subject};
pub use three_way::{MergeError, MergedDot, merge};
