//! The verbs as MCP tools: which are offered, how they are described, and what
//! a call's result looks like.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::commands::VERBS;
use crate::json;
use crate::problem::Problem;
use crate::verbs::{Effect, Group, VerbEntry};

/// What a host that shows every schema to the model is offered.
const LITE: [&str; 8] = ["assemble", "query", "post", "decide", "why", "next", "status", "verify"];

/// Which tools are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    Full,
    /// The few that carry most of the use.
    Lite,
    /// Those of some groups.
    Groups(Vec<Group>),
}

impl Selection {
    /// Reads `lite`, `full` or `group,group`.
    pub fn parse(words: &str) -> Result<Self, String> {
        match words.trim() {
            "full" => Ok(Self::Full),
            "lite" => Ok(Self::Lite),
            words => words.split(',').map(group).collect::<Result<_, _>>().map(Self::Groups),
        }
    }

    /// Whether a verb is offered.
    pub fn offers(&self, verb: &VerbEntry) -> bool {
        match self {
            Self::Full => true,
            Self::Lite => LITE.contains(&verb.name),
            Self::Groups(groups) => groups.contains(&verb.group),
        }
    }

    /// The verb behind a tool's name.
    pub fn find(&self, tool: &str) -> Option<&'static VerbEntry> {
        let name = tool.strip_prefix("twining_")?;
        VERBS.iter().find(|verb| verb.name == name && self.offers(verb))
    }

    /// The tools, sorted by name: a list that changes its order breaks a
    /// model's cache.
    pub fn tools(&self) -> Vec<Tool> {
        let mut tools: Vec<Tool> = VERBS.iter().filter(|verb| self.offers(verb)).map(published).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools
    }
}

fn group(word: &str) -> Result<Group, String> {
    Group::ALL.into_iter().find(|group| group.as_str() == word.trim()).ok_or_else(|| {
        let known = Group::ALL.map(Group::as_str).join(", ");
        format!("`{}` is no group; write lite, full, or some of {known}", word.trim())
    })
}

/// Every tool as it is described below, a line each. A client waits for this list
/// before anything else, and to make some fifty schemas anew takes half of that time.
const PUBLISHED: &str = include_str!("tools.jsonl");

fn published(verb: &VerbEntry) -> Tool {
    let start = format!("{{\"name\":\"{}\",", verb.tool_name());
    let line = PUBLISHED.lines().find(|line| line.starts_with(&start));
    line.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_else(|| described(verb))
}

fn described(verb: &VerbEntry) -> Tool {
    let tool = Tool::new(verb.tool_name(), verb.about, Arc::new((verb.input_schema)()))
        .with_title(verb.title)
        .with_raw_output_schema(Arc::new(output_schema(verb)))
        .with_annotations(hints(verb.effect));
    if verb.always_loaded {
        let mut meta = JsonObject::new();
        meta.insert("anthropic/alwaysLoad".to_owned(), json!(true));
        return tool.with_meta(MetaObject(meta));
    }
    tool
}

/// The shape of the answer. No field of it is required at the top: a failure is
/// a structured result too, and clients hold that against the same schema.
fn output_schema(verb: &VerbEntry) -> JsonObject {
    let mut schema = (verb.output_schema)();
    schema.remove("required");
    schema
}

fn hints(effect: Effect) -> ToolAnnotations {
    let hints = ToolAnnotations::new().open_world(false).read_only(effect == Effect::Reads);
    match effect {
        Effect::Reads => hints,
        effect => hints.destructive(effect >= Effect::Changes).idempotent(effect == Effect::AddsOnce),
    }
}

/// The result of a call that was carried out.
pub fn succeeded(answer: Value) -> CallToolResult {
    let answer = json::visible(answer);
    let mut result = CallToolResult::success(vec![ContentBlock::text(json::compact(&answer))]);
    result.structured_content = Some(answer);
    result
}

/// The result of a call that was not.
pub fn failed(problem: &Problem) -> CallToolResult {
    let error = json::visible(problem.to_json());
    let mut result = CallToolResult::error(vec![ContentBlock::text(json::compact(&error))]);
    result.structured_content = Some(error);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `UPDATE_TOOLS=1` writes the file anew.
    #[test]
    fn what_is_published_is_what_the_verbs_say() {
        let line = |verb: &VerbEntry| serde_json::to_string(&described(verb)).expect("is JSON");
        let mut lines: Vec<String> = VERBS.iter().map(line).collect();
        lines.sort();
        let text = lines.join("\n") + "\n";
        if std::env::var_os("UPDATE_TOOLS").is_some() {
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mcp/tools.jsonl");
            std::fs::write(file, &text).expect("writes");
        }
        assert!(text == PUBLISHED, "the verbs changed: run this test once with UPDATE_TOOLS=1");
        for verb in &VERBS {
            assert_eq!(serde_json::to_value(published(verb)).ok(), serde_json::to_value(described(verb)).ok(), "{}", verb.name);
        }
    }

    /// Tokens a model is shown for a tool: its name, description and input schema.
    fn tokens(tool: &Tool) -> usize {
        let shown = json!({"name": tool.name, "description": tool.description, "inputSchema": *tool.input_schema});
        shown.to_string().chars().count().div_ceil(4)
    }

    fn total(selection: &Selection) -> usize {
        selection.tools().iter().map(tokens).sum()
    }

    #[test]
    fn the_list_stays_within_what_a_model_should_spend_on_it() {
        let each: Vec<String> = Selection::Full.tools().iter().map(|tool| format!("{} {}", tool.name, tokens(tool))).collect();
        let full = total(&Selection::Full);
        assert!(full < 8_000, "{full}: {each:#?}");
        assert!(full <= 150 * each.len(), "{full} is more than 150 a tool: {each:#?}");
        assert!(total(&Selection::Lite) < 1_500, "{}: {each:#?}", total(&Selection::Lite));
    }

    #[test]
    fn schemas_are_portable() {
        for tool in Selection::Full.tools() {
            let input = Value::Object((*tool.input_schema).clone()).to_string();
            let output = Value::Object(tool.output_schema.map(|schema| (*schema).clone()).unwrap_or_default()).to_string();
            for (schema, which) in [(&input, "input"), (&output, "output")] {
                for unwanted in ["$schema", "\"title\":\"", "\"format\":\"uint", "\"null\"", "$defs", "$ref"] {
                    assert!(!schema.contains(unwanted), "{unwanted} in the {which} schema of {}: {schema}", tool.name);
                }
            }
            assert!(input.starts_with(r#"{"type":"object""#), "{input}");
            assert!(output.starts_with(r#"{"type":"object""#), "{output}");
        }
    }

    #[test]
    fn no_tool_that_writes_claims_to_only_read() {
        let writes = [
            "post",
            "dismiss",
            "decide",
            "reconsider",
            "override",
            "promote",
            "link_commit",
            "add_entity",
            "add_relation",
            "prune_graph",
            "archive",
            "verify",
            "knowledge_update",
            "record_turn",
            "features",
            "report",
            "store_trace",
            "create_guard",
            "register",
            "delegate",
            "handoff",
            "acknowledge",
            "claim",
        ];
        for verb in &VERBS {
            assert_eq!(verb.effect == Effect::Reads, !writes.contains(&verb.name), "{}", verb.name);
        }
    }

    #[test]
    fn groups_are_chosen_by_name() {
        let selection = Selection::parse("graph, lifecycle").expect("two groups");
        assert_eq!(selection.tools().len(), 10);
        assert!(selection.find("twining_post").is_none());
        assert!(Selection::parse("graphs").expect_err("no such group").contains("blackboard"));
        assert_eq!(Selection::Lite.tools().len(), LITE.len());
    }
}
