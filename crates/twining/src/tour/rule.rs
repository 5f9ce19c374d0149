//! A rule that holds: the hook is asked as a host asks it, before a tool runs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{TourError, say, scene};
use crate::page::{bad, dim, good, plain, strong};

const LIST: &str = "feature-list.json";
const FEATURES: &str = "{\n  \"features\": [\n    { \"id\": \"login\", \"tested\": false }\n  ]\n}\n";

/// Ben calls his work tested, and nothing was.
pub fn holds(program: &Path, project: &Path) -> Result<(), TourError> {
    fs::write(project.join(LIST), FEATURES).map_err(TourError::Place)?;
    let edit = json!({"file_path": project.join(LIST), "old_string": "\"tested\": false", "new_string": "\"tested\": true"});
    let answer = asked(program, project, "Edit", &edit)?;
    let decision = &answer["hookSpecificOutput"];
    let reason = decision["permissionDecisionReason"].as_str().unwrap_or_default().to_owned();
    say(|page| {
        scene(page, "5  A rule holds");
        page.line([strong("ben"), good("Edit"), plain(format!("{LIST}: \"tested\": true"))]);
        page.table(6, &[vec![bad(decision["permissionDecision"].as_str().unwrap_or("allowed")), plain(&reason)]]);
    })?;
    let other = json!({"file_path": project.join("src/auth/session.ts"), "old_string": "user: string", "new_string": "user: User"});
    let answer = asked(program, project, "Edit", &other)?;
    say(|page| {
        page.line([strong("ben"), good("Edit"), plain("src/auth/session.ts: user: User")]);
        page.table(6, &[vec![dim(if answer.is_null() { "goes ahead: no rule speaks of it" } else { "was stopped" })]]);
    })
}

/// Runs the hook; nothing said is nothing against it.
fn asked(program: &Path, project: &Path, tool: &str, input: &Value) -> Result<Value, TourError> {
    let event = json!({"session_id": "tour", "cwd": project, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
    let mut hook = Command::new(program)
        .args(["hook", "PreToolUse", "--project"])
        .arg(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(TourError::Run)?;
    if let Some(mut stdin) = hook.stdin.take() {
        stdin.write_all(event.to_string().as_bytes()).map_err(TourError::Run)?;
    }
    let out = hook.wait_with_output().map_err(TourError::Run)?;
    Ok(serde_json::from_slice(&out.stdout).unwrap_or(Value::Null))
}
