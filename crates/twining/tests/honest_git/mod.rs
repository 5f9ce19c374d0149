//! Days of honest work with real git: no turn is held at its end, and every commit is made.
//!
//! A scenario is a list of steps. An agent's step is announced to the hooks before and after,
//! a person's and a colleague's are not. After the last one the turn ends, the work is
//! committed, and the turn ends once more.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::workspace::{Actor, Workspace};
use serde_json::Value;

/// Shorthand for what people type; agents' lines are read as they are.
const SHORTHAND: &str = r#"
decide() { twining decide --summary "$1" --domain "$2" --scope "${3:-docs/}" --context c --rationale "it is simple" >/dev/null; }
post() { twining post finding "$1" >/dev/null; }
save() { git add -A; git commit -q -m "$1"; }
"#;

/// One thing that happens on a day.
enum Step {
    /// Somebody in another clone, without hooks.
    Colleague(&'static str),
    /// A person in this checkout, in a terminal of their own.
    Person(&'static str),
    /// The agent, through its shell tool.
    Agent(&'static str),
}

/// Rows `name: [Who "script", …];`.
macro_rules! scenarios {
    ($($name:ident: [$($who:ident $script:literal),+ $(,)?];)*) => {
        $(#[test]
        fn $name() {
            crate::honest_git::day(&[$(crate::honest_git::Step::$who($script)),+]);
        })*
    };
}

mod alone;
mod by_hand;
mod coders;
mod other_tools;
mod team;

fn day(steps: &[Step]) {
    let workspace = Workspace::with_team();
    workspace.begin_session();
    for step in steps {
        take(&workspace, step);
    }
    ends_well(&workspace);
}

fn take(workspace: &Workspace, step: &Step) {
    match step {
        Step::Colleague(script) => {
            workspace.shell_of(Actor::Colleague, &format!("{SHORTHAND}{script}"));
        }
        Step::Person(script) => {
            workspace.shell(&format!("{SHORTHAND}{script}"));
        }
        Step::Agent(line) => {
            let verdict = workspace.before_call("Bash", &serde_json::json!({"command": line}));
            assert!(verdict.is_allowed(), "{line}: {verdict:?}");
            let ran = workspace.try_shell(Actor::Here, line);
            assert_eq!(ran.code, 0, "{line}: {ran:?}");
            workspace.after_command(line, &ran);
        }
    }
}

fn ends_well(workspace: &Workspace) {
    is_not_held(&workspace.stop());
    workspace.write("src/day.py", "DAY = 1\n");
    let committed =
        workspace.try_shell(Actor::Here, "git add -A && git commit -q -m 'work of the day'");
    assert_eq!(committed.code, 0, "the commit is made: {committed:?}");
    assert!(!committed.stderr.contains("--no-verify"), "{committed:?}");
    is_not_held(&workspace.stop());
}

fn is_not_held(answer: &Value) {
    assert_ne!(answer["decision"], "block", "the turn ends: {answer}");
}

/// Puts a program on the path.
fn install(workspace: &Workspace, name: &str, script: &str) {
    let file = workspace.path("bin").join(name);
    fs::write(&file, script).expect("writes");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("may be started");
}
