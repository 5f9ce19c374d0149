//! Shared test support: a world whose clock moves only on request, disks that fail on demand,
//! throwaway repositories, and the tidy rules.

pub mod certificates;
pub mod crash_storm;
pub mod faults;
pub mod files;
pub mod memory;
pub mod memory_log;
pub mod postgres;
pub mod project;
pub mod records;
pub mod service_storm;
pub mod tidy;
pub mod world;
pub mod write_cases;

pub use certificates::TestCertificates;
pub use faults::{FaultOutcome, Faults};
pub use memory_log::{LogConnection, MemoryLog};
pub use postgres::{Flushing, PostgresServer, TestDatabase};
pub use project::{TestProject, git_in};
pub use world::{FixedWorld, ids};
