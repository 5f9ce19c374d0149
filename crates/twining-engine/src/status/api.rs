//! The verb `status`: takes stock of every module's files.

use crate::engine::Engine;
use crate::failure::Failure;
use crate::status::{self, StatusReport, StatusWarning, UnreadableFile};
use crate::words;

impl Engine {
    /// Takes stock.
    pub fn status(&self) -> Result<StatusReport, Failure> {
        let config = self.store().config()?;
        let rejected = self.store().queues().rejected_lines()?;
        let model = self.model_state()?;
        let mut report = self.store().view(|view| status::status(view, self.store().project_name(), &config, rejected, &model))?;
        report.warnings.extend(self.knowledge_warning());
        let mut unread = self.store().documents().turns().map(|stored| status::unread::turns(&stored)).unwrap_or_default();
        unread.extend(self.store().documents().policy().ok().as_ref().and_then(status::unread::policy));
        unread.extend(self.store().documents().features().ok().as_ref().and_then(status::unread::features));
        match self.store().documents().agents() {
            Ok(stored) => {
                report.add_agents(&stored, &config, self.store().ids().now());
                unread.extend(status::unread::handoffs(&stored));
            }
            Err(error) => unread.push(UnreadableFile { file: "agents/registry.json".to_owned(), line: None, why: error.to_string() }),
        }
        report.add_unreadable(unread);
        Ok(report)
    }

    /// What is the matter with the knowledge graph.
    fn knowledge_warning(&self) -> Option<StatusWarning> {
        let (message, hint) = match self.knowledge_errors() {
            Ok(0) => return None,
            Ok(errors) => {
                let errors = words::count(errors as u64, "error", "errors");
                (
                    format!("the knowledge graph has {errors}; what is right in it is served"),
                    "twining_knowledge_check lists them".to_owned(),
                )
            }
            Err(error) => (format!("the knowledge graph cannot be read: {error}"), error.hint().unwrap_or_default()),
        };
        Some(StatusWarning { code: "knowledge_errors".to_owned(), message, hint })
    }
}
