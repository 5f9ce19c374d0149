//! What is looked at when a turn ends and when a commit is made. Stateless: the
//! project as it is, compared with what git has; each check is a function of one shape.

mod clauses;
mod comparison;
mod drifted_records;
mod features;
mod policy;
mod record_integrity;
mod reported_notices;
mod tests_changed;

pub(super) use comparison::{
    COMMIT_CHECKS, CheckNotice, NoticeLevel, Stage, TURN_CHECKS, TreeComparison,
};
pub(super) use drifted_records::{RULE as RECORD_DOUBTFUL, before_commit};
pub(super) use reported_notices::not_reported;
