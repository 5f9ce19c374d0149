//! Tool calls as Claude Code announces them: what honest agents do all day goes through,
//! what breaks a rule is refused in words that help.
//!
//! One row is one test, so that one failure hides no other. Rows only ask the hook before
//! a call, which changes nothing, and so share a workspace.

use std::sync::OnceLock;

use crate::common::workspace::{Verdict, Workspace};
use serde_json::Value;

/// What an honest call may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Nothing at all.
    Allowed,
    /// It runs; a note beside it is fine, since the line cannot be read to the end.
    AllowedOrNote,
}

/// Rows `name: Expected, tool, {input};`, each an honest call.
macro_rules! honest_calls {
    ($($name:ident: $expected:ident, $tool:literal, $input:tt;)*) => {
        $(#[test]
        fn $name() {
            crate::honest_calls::goes_through(crate::honest_calls::Expected::$expected, $tool, &serde_json::json!($input));
        })*
    };
}

/// Rows `name: Expected, line;`, each an honest command line.
macro_rules! honest_lines {
    ($($name:ident: $expected:ident, $line:expr;)*) => {
        $(#[test]
        fn $name() {
            crate::honest_calls::goes_through(crate::honest_calls::Expected::$expected, "Bash", &serde_json::json!({"command": $line}));
        })*
    };
}

/// Rows `name: named file, tool, {input};`, each refused for what it does to that file; `a|b`
/// where either name is plain.
macro_rules! refused_calls {
    ($($name:ident: $file:literal, $tool:literal, $input:tt;)*) => {
        $(#[test]
        fn $name() {
            crate::honest_calls::is_refused($file, $tool, &serde_json::json!($input));
        })*
    };
}

mod contract;
mod edits;
mod git;
mod refused;
mod shell;

fn workspace() -> &'static Workspace {
    static WORKSPACE: OnceLock<Workspace> = OnceLock::new();
    WORKSPACE.get_or_init(Workspace::claimed_once)
}

/// The hook's answer; relative paths of file tools are made absolute, as the host does, and
/// `@HOME@` is the home folder.
fn verdict(workspace: &Workspace, tool: &str, input: &Value) -> Verdict {
    let home = workspace.path("home").display().to_string();
    let mut input: Value =
        serde_json::from_str(&input.to_string().replace("@HOME@", &home)).expect("is JSON");
    for name in ["file_path", "notebook_path"] {
        if let Some(path) = input[name].as_str() {
            input[name] = workspace.file(path).display().to_string().into();
        }
    }
    workspace.before_call(tool, &input)
}

fn goes_through(expected: Expected, tool: &str, input: &Value) {
    let verdict = verdict(workspace(), tool, input);
    assert!(verdict.is_allowed(), "{tool} {input}: {verdict:?}");
    assert!(
        expected == Expected::AllowedOrNote || verdict.note.is_empty(),
        "{tool} {input}: {verdict:?}"
    );
}

fn is_refused(file: &str, tool: &str, input: &Value) {
    let verdict = verdict(workspace(), tool, input);
    assert_ne!(verdict.permission, "allow", "{tool} {input} is refused: {verdict:?}");
    speaks_plainly(&verdict.reason, file);
}

/// A refusal has four parts at most, sixty words, and a file.
fn speaks_plainly(reason: &str, file: &str) {
    let (what, rest) =
        reason.split_once("Why:").unwrap_or_else(|| panic!("no `Why:` in {reason:?}"));
    assert!(what.trim_start().starts_with("Blocked:"), "begins with `Blocked:`: {reason:?}");
    assert!(
        file.split('|').any(|name| what.contains(name)),
        "names `{file}` in what is blocked: {reason:?}"
    );
    let (why, instead) =
        rest.split_once("Do instead:").unwrap_or_else(|| panic!("no `Do instead:` in {reason:?}"));
    assert!(!why.trim().is_empty() && !instead.trim().is_empty(), "{reason:?}");
    let words = reason.split_whitespace().count();
    assert!(words <= 60, "{words} words: {reason:?}");
    assert!(!reason.contains("``") && !reason.contains("--no-verify"), "{reason:?}");
}
