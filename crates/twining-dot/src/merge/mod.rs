//! Three-way merge by meaning: nodes, edges and attributes, not lines.
//!
//! A change made by only one side is taken. Where both changed the same attribute, a [`Policy`]
//! decides. Something removed on one side is removed unless the other side changed it: then it is
//! kept and reported. Values from defaults count as if written out: a default is a notation, and
//! the sides may have different ones. The result is ours with splices, so it keeps our layout;
//! comments are merged likewise.

mod comments;
mod edges;
mod policy;
mod reconcile_defaults;
mod side;
mod subgraphs;
mod three_way;

pub use policy::{AlwaysClash, DotClash, DotClashKind, DotMergePolicy, Resolution, Subject};
pub use three_way::{MergeError, MergedDot, merge};
