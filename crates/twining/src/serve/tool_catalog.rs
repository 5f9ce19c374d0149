//! The verbs as tools over HTTP: those that need only the memory, and the role each takes.

use std::sync::OnceLock;

use rmcp::model::{CallToolResult, Implementation, ServerCapabilities, ServerConfig, Tool};
use serde_json::{Map, Value};
use twining_service::{AccessRole, ServiceError, ToolAccess, ToolCatalog};

use crate::mcp::{ToolSelection, declined, failed, instructions, succeeded};
use crate::render::command_error::CommandError;
use crate::verbs::verb::{Effect, VerbEntry};

/// Verbs that settle what others wrote, or take it away.
const FOR_MAINTAINERS: [&str; 5] = ["override", "promote", "reconsider", "archive", "prune_graph"];
/// Verbs that show claims and who is at work, or change claims.
const WITH_CLAIMS: [&str; 4] = ["claim", "agents", "discover", "waiting"];

/// What is offered over HTTP.
pub(super) struct RemoteTools;

impl ToolCatalog for RemoteTools {
    fn server_config(&self) -> ServerConfig {
        // Every request asks for it.
        static CONFIG: OnceLock<ServerConfig> = OnceLock::new();
        let config = || {
            ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
                .with_server_info(Implementation::new("twining", env!("CARGO_PKG_VERSION")))
                .with_instructions(instructions(&ToolSelection::Remote))
        };
        CONFIG.get_or_init(config).clone()
    }

    fn tools(&self) -> Vec<Tool> {
        ToolSelection::Remote.described()
    }

    fn access(&self, tool: &str, arguments: &Map<String, Value>) -> Option<ToolAccess> {
        let verb = ToolSelection::Remote.find(tool)?;
        let reads = (verb.effect_of)(arguments) == Effect::Reads;
        Some(ToolAccess {
            verb: verb.name,
            role: needed_role(verb, reads),
            reads,
            uses_claims: WITH_CLAIMS.contains(&verb.name),
            asks: verb.question.is_some(),
        })
    }

    fn answered(&self, answer: Value) -> CallToolResult {
        succeeded(answer)
    }

    fn forbidden(&self, has: AccessRole, needs: AccessRole) -> CallToolResult {
        let message = format!(
            "your role in this repository is `{}`, and this needs `{}`",
            has.as_str(),
            needs.as_str()
        );
        let (role, scope) = (needs.as_str(), needs.scope());
        failed(&CommandError::unavailable("FORBIDDEN", message).with_hint(format!(
            "an administrator issues a token: `twining serve token add --role {role}`; if you logged in by OAuth, log in again with the scope `{scope}`, and an administrator lets the issuer give that role"
        )))
    }

    fn declined(&self) -> CallToolResult {
        failed(&declined())
    }

    fn unavailable(&self, error: &ServiceError) -> CallToolResult {
        if error.is_temporary() {
            let message =
                "the team's log cannot be reached now; whether this was written is not known";
            return failed(
                &CommandError::unavailable("LOG_ERROR", message).with_hint("try again in a moment"),
            );
        }
        // What the database or the disk said is for the operator.
        failed(&CommandError::unavailable("INTERNAL_ERROR", "the service failed"))
    }
}

fn needed_role(verb: &VerbEntry, reads: bool) -> AccessRole {
    if reads {
        AccessRole::Reader
    } else if FOR_MAINTAINERS.contains(&verb.name) {
        AccessRole::Maintainer
    } else {
        AccessRole::Writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::VERBS;

    #[test]
    fn a_reader_writes_nothing_and_a_writer_settles_nothing() {
        let role = |tool: &str| RemoteTools.access(tool, &Map::new()).map(|access| access.role);
        assert_eq!(role("twining_why"), Some(AccessRole::Reader));
        assert_eq!(role("twining_post"), Some(AccessRole::Writer));
        assert_eq!(role("twining_override"), Some(AccessRole::Maintainer));
        assert_eq!(role("twining_verify"), None, "it needs a working tree");
        assert_eq!(role("twining_graph"), None, "it is for people");
    }

    #[test]
    fn every_verb_with_a_rule_of_its_own_is_there() {
        for name in FOR_MAINTAINERS.iter().chain(&WITH_CLAIMS) {
            assert!(VERBS.iter().any(|verb| verb.name == *name), "{name}");
        }
    }
}
