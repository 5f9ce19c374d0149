//! Storms over the whole team service: PostgreSQL, nodes and linked clones are killed without a
//! word while proxies lose answers; afterwards every acknowledged write is looked for.

mod callers;
mod clones;
mod comparison;
mod fault_proxy;
mod machines;
mod progress;
mod service_run;

pub use comparison::StormFindings;
pub use service_run::{ServiceStorm, ServiceStormResult, rage, upgrade};
