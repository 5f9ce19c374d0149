//! Notices that a log has new lines.

use twining_model::Id;

use super::connection::Database;

/// Waits for new lines of one repository.
#[derive(Debug)]
pub struct HeadWatch {}

impl HeadWatch {
    /// Returns when the log may have lines that it had not at the last call.
    pub async fn moved(&mut self) {
        unimplemented!()
    }
}

impl Database {
    /// Waits for new lines of a repository, whichever node writes them.
    #[must_use]
    pub fn watch_head(&self, tenant: &Id, repo: &Id) -> HeadWatch {
        unimplemented!("{tenant} {repo}")
    }
}
