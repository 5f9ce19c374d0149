//! The verbs as MCP tools: which are offered, how they are described, and what
//! a call's result looks like.

use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, JsonRpcMessage, MetaObject, ServerJsonRpcMessage,
    ServerResult, Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use crate::commands::VERBS;
use crate::render::command_error::CommandError;
use crate::render::json_output;
use crate::verbs::tool_names::PUBLISHED;
use crate::verbs::verb::{Audience, Effect, Needs, VerbEntry, VerbGroup};

/// What a host that shows every schema to the model is offered.
const LITE: [&str; 8] = ["assemble", "query", "post", "decide", "why", "next", "status", "verify"];

/// Which tools are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolSelection {
    /// All of them.
    #[default]
    Full,
    /// The few that carry most of the use.
    Lite,
    /// Those of some groups.
    Groups(Vec<VerbGroup>),
    /// Those that need only the memory: what a team service offers.
    #[cfg_attr(not(feature = "service"), expect(dead_code, reason = "only the service offers it"))]
    Remote,
}

impl ToolSelection {
    /// Reads `lite`, `full` or `group,group`.
    pub(crate) fn parse(words: &str) -> Result<Self, String> {
        match words.trim() {
            "full" => Ok(Self::Full),
            "lite" => Ok(Self::Lite),
            words => words.split(',').map(group).collect::<Result<_, _>>().map(Self::Groups),
        }
    }

    /// Whether a verb is offered.
    pub(crate) fn offers(&self, verb: &VerbEntry) -> bool {
        let is_selected = match self {
            Self::Full => true,
            Self::Lite => LITE.contains(&verb.name),
            Self::Groups(groups) => groups.contains(&verb.group),
            Self::Remote => verb.needs == Needs::Memory,
        };
        is_selected && verb.audience == Audience::Everyone
    }

    /// The verb behind a tool's name.
    pub(crate) fn find(&self, tool: &str) -> Option<&'static VerbEntry> {
        let name = tool.strip_prefix("twining_")?;
        VERBS.iter().find(|verb| verb.name == name && self.offers(verb))
    }

    /// The tools by their names alone, sorted: a list that changes its order
    /// breaks a model's cache. [`Unfolded`] puts the rest in.
    pub(crate) fn named(&self) -> Vec<Tool> {
        let mut names: Vec<String> =
            VERBS.iter().filter(|verb| self.offers(verb)).map(VerbEntry::tool_name).collect();
        names.sort();
        names.into_iter().map(|name| Tool::new(name, "", Arc::new(JsonObject::new()))).collect()
    }

    /// The same with all that is to be known of them.
    pub(crate) fn described(&self) -> Vec<Tool> {
        let mut tools: Vec<Tool> =
            VERBS.iter().filter(|verb| self.offers(verb)).map(described).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools
    }
}

fn group(word: &str) -> Result<VerbGroup, String> {
    VerbGroup::ALL.into_iter().find(|group| group.as_str() == word.trim()).ok_or_else(|| {
        let known = VerbGroup::ALL.map(VerbGroup::as_str).join(", ");
        format!("`{}` is not a tool group; use lite, full, or one or more of {known}", word.trim())
    })
}

const NO_TOOLS: &[u8] = br#""tools":[]"#;

/// The names in a list of tools that has nothing else, taken out of it, to be
/// put back as what is published under them once the rest is written. A client waits
/// for this list before anything else: to make fifty schemas, or only to read and
/// write them again, would take half of that time.
#[derive(Debug, Default)]
pub(super) struct PublishedTools(Vec<Tool>);

impl PublishedTools {
    /// Takes them out, if there are such.
    pub(super) fn take_from(message: &mut ServerJsonRpcMessage) -> Self {
        let JsonRpcMessage::Response(response) = message else { return Self::default() };
        let ServerResult::ListToolsResult(list) = &mut response.result else {
            return Self::default();
        };
        let by_name = list.tools.iter().all(|tool| tool.input_schema.is_empty());
        if by_name { Self(std::mem::take(&mut list.tools)) } else { Self::default() }
    }

    /// Puts them into the line that was written without them.
    pub(super) fn put_into(&self, line: Vec<u8>) -> Vec<u8> {
        if self.0.is_empty() {
            return line;
        }
        let Some(place) = line.windows(NO_TOOLS.len()).position(|bytes| bytes == NO_TOOLS) else {
            return line;
        };
        let (before, after) = line.split_at(place + NO_TOOLS.len() - 1);
        let mut whole = Vec::with_capacity(line.len() + PUBLISHED.len());
        whole.extend_from_slice(before);
        // Both are sorted, so that one walk finds them all.
        let mut lines = PUBLISHED.lines();
        for (number, tool) in self.0.iter().enumerate() {
            if number > 0 {
                whole.push(b',');
            }
            let start = format!("{{\"name\":\"{}\",", tool.name);
            match lines.find(|line| line.starts_with(&start)) {
                Some(line) => whole.extend_from_slice(line.as_bytes()),
                None => whole.extend(described_by_name(&tool.name)),
            }
        }
        whole.extend_from_slice(after);
        whole
    }
}

fn described_by_name(name: &str) -> Vec<u8> {
    let verb = VERBS.iter().find(|verb| verb.tool_name() == name);
    verb.and_then(|verb| serde_json::to_vec(&described(verb)).ok()).unwrap_or_default()
}

fn described(verb: &VerbEntry) -> Tool {
    let tool = Tool::new(verb.tool_name(), verb.about, Arc::new((verb.input_schema)()))
        .with_title(verb.title())
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
        effect => {
            hints.destructive(effect >= Effect::Changes).idempotent(effect == Effect::AddsOnce)
        }
    }
}

/// The result of a call that was carried out.
pub(crate) fn succeeded(answer: Value) -> CallToolResult {
    let answer = json_output::visible(answer);
    let mut result =
        CallToolResult::success(vec![ContentBlock::text(json_output::compact(&answer))]);
    result.structured_content = Some(answer);
    result
}

/// The result of a call that was not.
pub(crate) fn failed(problem: &CommandError) -> CallToolResult {
    let error = json_output::visible(problem.to_json());
    let mut result = CallToolResult::error(vec![ContentBlock::text(json_output::compact(&error))]);
    result.structured_content = Some(error);
    result
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ListToolsResult, NumberOrString};
    use twining_testcases::each;

    use crate::mcp::tool_list::*;

    /// `UPDATE_TOOLS=1` rewrites the file.
    #[test]
    fn what_is_published_is_what_the_verbs_say() {
        let line = |verb: &VerbEntry| serde_json::to_string(&described(verb)).expect("is JSON");
        let listed = VERBS.iter().filter(|verb| ToolSelection::Full.offers(verb));
        let mut lines: Vec<String> = listed.map(line).collect();
        lines.sort();
        let text = lines.join("\n") + "\n";
        if std::env::var_os("UPDATE_TOOLS").is_some() {
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mcp/tools.jsonl");
            std::fs::write(file, &text).expect("writes");
        }
        assert!(text == PUBLISHED, "the verbs changed: run this test once with UPDATE_TOOLS=1");
    }

    /// The tools as a client reads them.
    fn listed(selection: &ToolSelection) -> Vec<Tool> {
        let list = ListToolsResult::with_all_items(selection.named());
        let mut message = ServerJsonRpcMessage::response(
            ServerResult::ListToolsResult(list),
            NumberOrString::String(r#""tools":[]"#.into()),
        );
        let unfolded = PublishedTools::take_from(&mut message);
        let line = unfolded.put_into(serde_json::to_vec(&message).expect("is JSON"));
        let read: Value = serde_json::from_slice(&line).expect("is JSON again");
        serde_json::from_value(read["result"]["tools"].clone()).expect("a list of tools")
    }

    #[test]
    fn a_client_reads_every_tool_as_it_is_described() {
        each(
            [
                ToolSelection::Full,
                ToolSelection::Lite,
                ToolSelection::Groups(vec![VerbGroup::Graph, VerbGroup::Blackboard]),
            ],
            |selection| {
                assert_eq!(
                    serde_json::to_value(listed(&selection)).ok(),
                    serde_json::to_value(selection.described()).ok()
                );
            },
        );
    }

    #[test]
    fn other_messages_are_left_as_they_are() {
        let list = ListToolsResult::with_all_items(vec![described(&VERBS[0])]);
        let mut message = ServerJsonRpcMessage::response(
            ServerResult::ListToolsResult(list),
            NumberOrString::Number(1),
        );
        let line = serde_json::to_vec(&message).expect("is JSON");
        let unfolded = PublishedTools::take_from(&mut message);
        assert_eq!(unfolded.put_into(serde_json::to_vec(&message).expect("is JSON")), line);
    }

    /// Tokens a model is shown for a tool: its name, description and input schema.
    fn tokens(tool: &Tool) -> usize {
        let shown = json!({"name": tool.name, "description": tool.description, "inputSchema": *tool.input_schema});
        shown.to_string().chars().count().div_ceil(4)
    }

    fn total(selection: &ToolSelection) -> usize {
        listed(selection).iter().map(tokens).sum()
    }

    #[test]
    fn the_list_stays_within_what_a_model_should_spend_on_it() {
        let each: Vec<String> = listed(&ToolSelection::Full)
            .iter()
            .map(|tool| format!("{} {}", tool.name, tokens(tool)))
            .collect();
        let full = total(&ToolSelection::Full);
        assert!(full < 8_500, "{full}: {each:#?}");
        assert!(full <= 150 * each.len(), "{full} is more than 150 a tool: {each:#?}");
        assert!(total(&ToolSelection::Lite) < 1_500, "{}: {each:#?}", total(&ToolSelection::Lite));
    }

    #[test]
    fn schemas_are_portable() {
        each(listed(&ToolSelection::Full), |tool| {
            let input = Value::Object((*tool.input_schema).clone()).to_string();
            let output = Value::Object(
                tool.output_schema.map(|schema| (*schema).clone()).unwrap_or_default(),
            )
            .to_string();
            for (schema, which) in [(&input, "input"), (&output, "output")] {
                for unwanted in
                    ["$schema", "\"title\":\"", "\"format\":\"uint", "\"null\"", "$defs", "$ref"]
                {
                    assert!(
                        !schema.contains(unwanted),
                        "{unwanted} in the {which} schema of {}: {schema}",
                        tool.name
                    );
                }
            }
            assert!(input.starts_with(r#"{"type":"object""#), "{input}");
            assert!(output.starts_with(r#"{"type":"object""#), "{output}");
        });
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
            "confirm",
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
        let is_listed = |verb: &&VerbEntry| ToolSelection::Full.offers(verb);
        each(VERBS.iter().filter(is_listed), |verb| {
            assert_eq!(verb.effect == Effect::Reads, !writes.contains(&verb.name), "{}", verb.name);
        });
    }

    #[test]
    fn what_is_for_people_is_no_tool() {
        each(VERBS.iter().filter(|verb| verb.audience == Audience::People), |verb| {
            assert!(ToolSelection::Full.find(&verb.tool_name()).is_none(), "{}", verb.name);
            assert!(!PUBLISHED.contains(&format!("\"{}\"", verb.tool_name())), "{}", verb.name);
        });
    }

    #[test]
    fn groups_are_chosen_by_name() {
        let selection = ToolSelection::parse("graph, lifecycle").expect("two groups");
        assert_eq!(listed(&selection).len(), 10);
        assert!(selection.find("twining_post").is_none());
        assert!(ToolSelection::parse("graphs").expect_err("no such group").contains("blackboard"));
        assert_eq!(listed(&ToolSelection::Lite).len(), LITE.len());
    }
}
