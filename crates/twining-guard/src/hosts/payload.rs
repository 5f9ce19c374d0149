//! What a host sends, and the neutral event it becomes. An adapter says which of
//! its host's fields is what; the rest is the same for all.

use serde_json::Value;

use crate::event::{EventKind, GuardEvent, ToolAction, action, working_dir};
use crate::paths::normal;

/// An event as a host wrote it, with what is not a guard's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// What guards judge.
    pub event: GuardEvent,
    /// The agent's working directory, whichever it sends a command to.
    pub cwd: String,
    /// The host's session.
    pub session: String,
    /// Whether the agent goes on only because a hook held it.
    pub stop_hook_active: bool,
    /// What the person wrote.
    pub prompt: String,
    /// What the agent wrote last, where the host says.
    pub last_message: String,
    /// What set it off: `startup`, `resume`, `clear`, `compact`, `manual`, `auto`.
    pub source: String,
    /// What the tool answered, where the host says.
    pub result: Option<ToolResult>,
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// How it ended; none where nobody says.
    pub exit_code: Option<i64>,
    /// What it printed.
    pub output: String,
    /// Whether it has not ended: it was broken off, or goes on in the background.
    pub is_unfinished: bool,
}

/// What a host may send with an event.
#[derive(Clone, Debug, Default)]
pub struct HostPayload {
    /// The host's name of the tool; empty where none is meant.
    pub tool: String,
    /// The tool's input.
    pub input: Value,
    /// The tool's answer.
    pub answer: Option<Value>,
    /// How the tool ended if the answer does not say.
    pub exit_code: Option<i64>,
    /// The agent's working directory.
    pub cwd: String,
    /// The session.
    pub session: String,
    /// The subagent's id.
    pub agent_id: Option<String>,
    /// The kind of agent.
    pub agent_type: Option<String>,
    /// What the person wrote.
    pub prompt: String,
    /// What the agent wrote last.
    pub last_message: String,
    /// What set it off.
    pub source: String,
    /// Whether a hook held the agent before.
    pub stop_hook_active: bool,
}

impl HostPayload {
    /// The host-independent event. `here` is used if the host sends no folder.
    #[must_use]
    pub fn into_event(self, kind: EventKind, here: &str) -> HookEvent {
        let action = if self.tool.is_empty() {
            ToolAction::Nothing
        } else {
            action(&self.tool, &self.input)
        };
        let result = self.answer.as_ref().map(|answer| result_of(answer, self.exit_code));
        let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
        let agent_dir = or(self.cwd, here);
        // A command may run elsewhere than in its agent's directory.
        let sent = if matches!(action, ToolAction::Shell(_) | ToolAction::Patch(_)) {
            working_dir(&self.input)
        } else {
            None
        };
        let cwd = sent.map_or_else(|| agent_dir.clone(), |folder| normal(&agent_dir, folder));
        let event = GuardEvent {
            kind,
            tool: self.tool,
            action,
            cwd,
            agent_id: self.agent_id,
            agent_type: self.agent_type,
        };
        HookEvent {
            event,
            cwd: agent_dir,
            session: or(self.session, "unknown"),
            stop_hook_active: self.stop_hook_active,
            prompt: self.prompt,
            last_message: self.last_message,
            source: self.source,
            result,
        }
    }
}

/// What a host sent, under any of the names that hosts have for it.
#[must_use]
pub(super) fn common(kind: EventKind, json: &Value) -> HostPayload {
    let has_failed = kind == EventKind::ToolFailed;
    let is = |keys: &str| {
        keys.split(' ').any(|key| json.get(key).and_then(Value::as_bool) == Some(true))
    };
    let answer = if has_failed { json.get("error") } else { json.get("tool_response") };
    HostPayload {
        tool: text(json, "tool_name toolName"),
        input: unpacked(
            json,
            if json.get("toolArgs").is_some() { "toolArgs" } else { "tool_input" },
        ),
        answer: answer.filter(|_| !is("is_interrupt")).cloned(),
        exit_code: has_failed.then_some(1),
        cwd: text(json, "cwd"),
        session: text(json, "conversation_id session_id sessionId"),
        agent_id: some_text(json, "subagent_id agent_id agentId"),
        agent_type: some_text(json, "subagent_type agent_type agent_name agentName agentType"),
        prompt: text(json, "prompt initialPrompt"),
        last_message: text(json, "prompt_response text lastMessage last_assistant_message"),
        source: text(json, "source trigger reason"),
        stop_hook_active: is("stop_hook_active stopHookActive"),
    }
}

/// The text of one of these members, the first that has one.
pub(super) fn text(json: &Value, keys: &str) -> String {
    some_text(json, keys).unwrap_or_default()
}

fn some_text(json: &Value, keys: &str) -> Option<String> {
    let first = |key: &str| json.get(key)?.as_str().filter(|text| !text.is_empty());
    keys.split(' ').find_map(first).map(str::to_owned)
}

/// A member that some versions send as JSON in a string.
fn unpacked(json: &Value, key: &str) -> Value {
    match json.get(key) {
        Some(Value::String(packed)) => {
            serde_json::from_str(packed).unwrap_or_else(|_| Value::String(packed.clone()))
        }
        value => value.cloned().unwrap_or(Value::Null),
    }
}

/// Bytes of an answer that are looked at.
const MOST_ANSWER: usize = 4 * 1024 * 1024;

/// A tool's answer in any of the forms in use: text, parts of text, or an object
/// that names what was printed and how it ended.
fn result_of(answer: &Value, otherwise: Option<i64>) -> ToolResult {
    let mut outcome = ToolResult::default();
    collect(answer, &mut outcome, 0);
    outcome.exit_code = outcome.exit_code.or_else(|| exit_code_in(&outcome.output)).or(otherwise);
    if outcome.is_unfinished {
        outcome.exit_code = None;
    }
    outcome
}

fn collect(answer: &Value, outcome: &mut ToolResult, depth: usize) {
    if depth > 4 || outcome.output.len() > MOST_ANSWER {
        return;
    }
    match answer {
        Value::String(text) => {
            // Some hosts hand on an object as text.
            match serde_json::from_str::<Value>(text) {
                Ok(inner @ Value::Object(_)) if depth < 2 && has_printed(&inner) => {
                    collect(&inner, outcome, depth + 1);
                }
                _ => {
                    outcome.output.push_str(text);
                    outcome.output.push('\n');
                }
            }
        }
        Value::Array(parts) => {
            parts.iter().take(1_000).for_each(|part| collect(part, outcome, depth + 1));
        }
        Value::Object(fields) => {
            let ended = ["exit_code", "exitCode", "returncode", "returnCode"]
                .iter()
                .find_map(|key| fields.get(*key)?.as_i64());
            let signal = fields.get("signal").is_some_and(|signal| !signal.is_null());
            outcome.exit_code = outcome.exit_code.or(ended).or(signal.then_some(-1));
            let yes =
                |key: &str| fields.get(key).is_some_and(|value| value.as_bool() == Some(true));
            let goes_on =
                ["backgroundTaskId", "background_task_id", "backgroundPIDs"].iter().any(|key| {
                    match fields.get(*key) {
                        None | Some(Value::Null) => false,
                        Some(Value::Array(list)) => !list.is_empty(),
                        Some(_) => true,
                    }
                });
            outcome.is_unfinished |=
                yes("interrupted") || yes("is_interrupt") || yes("timed_out") || goes_on;
            for key in PRINTED.split(' ') {
                match fields.get(key) {
                    None | Some(Value::Null) => {}
                    Some(Value::String(text)) if key == "llmContent" => {
                        collect(&unlabelled(text).into(), outcome, depth + 1);
                    }
                    Some(value) => collect(value, outcome, depth + 1),
                }
            }
        }
        _ => {}
    }
}

/// What was printed begins a line of its own, and not behind the name of what it is.
fn unlabelled(text: &str) -> String {
    let text = text.replacen("\nOutput: ", "\nOutput:\n", 1);
    text.strip_prefix("Output: ").map_or(text.clone(), str::to_owned)
}

/// Members that hold what was printed; those that wrap others come last.
const PRINTED: &str = "stdout output stderr text content llmContent textResultForLlm error result metadata tool_output task";

fn has_printed(value: &Value) -> bool {
    PRINTED.split(' ').chain(["exit_code", "exitCode"]).any(|key| value.get(key).is_some())
}

/// How a command ended, where its first or last lines say: `Exit code: 1`,
/// `Process exited with code 0`.
fn exit_code_in(output: &str) -> Option<i64> {
    output.lines().take(8).chain(output.lines().rev().take(8)).find_map(|line| {
        let line = line.trim().to_lowercase();
        let rest = ["exit code:", "exit code", "process exited with code"]
            .iter()
            .find_map(|words| line.strip_prefix(words))?;
        rest.trim().split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
    })
}

/// The JSON with U+FFFD for each lone surrogate; none where there is none.
pub(super) fn replaced(json: &str) -> Option<String> {
    let (mut replaced, mut has_lone, mut rest) = (String::with_capacity(json.len()), false, json);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        replaced.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(_), _) => 6,
            // Two signs, so that an escaped backslash begins nothing.
            (None, _) => escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at),
        };
        let is_lone = length == 6 && matches!(unit(escape), Some(0xd800..0xe000));
        has_lone |= is_lone;
        replaced.push_str(if is_lone { "\\ufffd" } else { &escape[..length] });
        rest = &escape[length..];
    }
    replaced.push_str(rest);
    has_lone.then_some(replaced)
}

/// The code unit of an escape such as `\\u00e9`.
fn unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use crate::hosts::payload::*;
    use twining_testcases::each;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        each(
            [
                (r#"{"a":"x\ud800y"}"#, Some(r#"{"a":"x\ufffdy"}"#)),
                (r#"["\udc00\ud83d\ude00\uD83D"]"#, Some(r#"["\ufffd\ud83d\ude00\ufffd"]"#)),
                (r#"["\ud800\ud83d\ude00"]"#, Some(r#"["\ufffd\ud83d\ude00"]"#)),
                (r#"["\\ud800","\u00e9é","\n"]"#, None),
                (r#"["\ud83d\ude00"]"#, None),
                ("\\", None),
                ("\\u12", None),
                ("\\ué000", None),
            ],
            |(json, expected)| {
                assert_eq!(replaced(json).as_deref(), expected, "{json}");
            },
        );
    }
}
