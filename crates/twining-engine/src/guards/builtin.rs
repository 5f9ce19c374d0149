//! The guards that are compiled in.

use serde_json::{Value, json};

use crate::governance::policy::Source;
use crate::guards::event::{Event, Moment};
use crate::guards::path::Paths;
use crate::guards::rule::{Example, Guard, Kind, Level, Standing, When, Who};
use crate::guards::tool;

/// The guard of Twining's own records.
pub(crate) const STATE: &str = "protect-twining-state";

/// Agents that are sent to change files.
pub(crate) const CODERS: [&str; 7] = ["coding-agent", "coder", "coding", "implementer", "implementation-agent", "player", "twining-worker"];

/// Our own feature list.
pub(crate) const OWN_LIST: &str = ".twining/features.json";

/// Files of `.twining/` that people and reviews keep; the rest is written by
/// Twining alone.
const PEOPLES: [&str; 3] = ["**/.twining/policy.yml", "**/.twining/config.yml", "**/.twining/knowledge.dot"];

/// What Twining keeps, and what git keeps of where commits came from: the project's records, and outside it the user's own
/// settings and what they allowed, wherever the system has them.
const OURS: [&str; 15] = [
    ".git/FETCH_HEAD",
    ".git/refs/remotes/**",
    ".git/twining",
    ".git/twining/**",
    ".twining",
    ".twining/**",
    "**/.twining/**",
    "**/twining/allowed-by-person/**",
    "/**/twining/allowed-by-person/**",
    "**/.config/twining/**",
    "/**/.config/twining/**",
    "**/Library/Application Support/twining/**",
    "/**/Library/Application Support/twining/**",
    "**/AppData/Roaming/twining/**",
    "/**/AppData/Roaming/twining/**",
];

/// The guards that nothing lifts: they keep what lifts the others.
pub const KEEPERS: [&str; 2] = ["protect-twining-state", "people-lift-guards"];

/// Where feature lists are: ours, that of another tool, and at the root. Elsewhere
/// a file of such a name is anybody's.
const LISTS: [&str; 6] = [
    "**/.twining/features.json",
    "**/.claude/progress/feature-list.json",
    "**/.claude/progress/feature_list.json",
    "feature-list.json",
    "feature_list.json",
    "features.json",
];

/// Where hosts are told to call us.
pub(crate) const WIRING: [&str; 7] = [
    "**/.claude/settings.json",
    "**/.claude/settings.local.json",
    "**/.codex/hooks.json",
    "**/.codex/config.toml",
    "**/.gemini/settings.json",
    "**/.cursor/hooks.json",
    "**/.github/hooks/*.json",
];

/// Where git is told to call us.
const GIT_HOOKS: [&str; 6] = [
    ".git/hooks/pre-commit",
    "**/.git/hooks/pre-commit",
    "/**/.git/hooks/pre-commit",
    ".husky/pre-commit",
    "**/.husky/pre-commit",
    "/**/.husky/pre-commit",
];

/// Every built-in guard.
pub(crate) fn guards() -> Vec<Guard> {
    let mut guards = vec![
        guard(
            STATE,
            Kind::Declared,
            &OURS,
            Level::Block,
            "the files in .twining/ are Twining's own records; edited by hand they no longer say who decided what",
            "use the twining tools (twining_post, twining_decide, twining_features, …); a person may edit policy.yml, config.yml and knowledge.dot",
        ),
        guard(
            "people-lift-guards",
            Kind::Person,
            &[],
            Level::Block,
            "lifting, promoting and trusting guards, and uninstalling them, is a person's to do, at their own terminal",
            "tell the person what stopped you, and let them decide",
        ),
        guard(
            "tested-needs-evidence",
            Kind::Tested,
            &LISTS,
            Level::Block,
            "a feature is tested when a recorded run says so, not when the list does",
            "run the feature's tests and report them with twining_report, then mark it tested; leave `tested` as it is until then",
        ),
        guard(
            "policy-only-grows",
            Kind::Policy,
            &[".twining/policy.yml"],
            Level::Ask,
            "this takes a guard out of the project's policy, or makes it milder",
            "leave the guards as they are, or ask the person to change policy.yml",
        ),
        guard(
            "hooks-stay-wired",
            Kind::Wiring,
            &[&WIRING[..], &GIT_HOOKS[..]].concat(),
            Level::Block,
            "this would stop the host from asking Twining before tools run, or git before a commit",
            "leave the hooks as they are; a person removes them",
        ),
        guard(
            "no-edit-under-anothers-claim",
            Kind::Claimed,
            &[],
            Level::Block,
            "somebody else works on this",
            "work on something else, or ask whoever holds it with twining_post question; the claim ends by itself",
        ),
        guard(
            "read-logs-with-tools",
            Kind::Reads,
            &["**/*.log", "**/logs/**/*.txt"],
            Level::Warn,
            "a whole log costs more than it tells",
            "search it: grep for the error, or read its last lines with tail",
        ),
        guard(
            "return-needs-changes",
            Kind::Returns,
            &[],
            Level::Block,
            "a coding agent returns and has changed no file",
            "implement the task, or say plainly that nothing was to be done and why",
        ),
        guard(
            "orchestrator-does-not-edit",
            Kind::Declared,
            &["src/**", "lib/**", "app/**", "crates/**"],
            Level::Off,
            "the main agent delegates; it does not implement",
            "start a coding agent for this change",
        ),
    ];
    for guard in &mut guards {
        match guard.id.as_str() {
            STATE => guard.except = paths(&PEOPLES),
            // A line that cannot be read is no reason to think that somebody is disturbed.
            "read-logs-with-tools" | "no-edit-under-anothers-claim" => guard.on_error = Level::Off,
            "return-needs-changes" => guard.moments = vec![Moment::SubagentStop],
            "orchestrator-does-not-edit" => guard.when = When { by: vec![Who::Main], ..When::default() },
            _ => {}
        }
    }
    for guard in &mut guards {
        guard.examples = examples(&guard.id);
    }
    guards
}

/// Calls that show what a guard stops and what it lets through, so that its wiring
/// can be tried like anybody's.
fn examples(id: &str) -> Vec<Example> {
    let shell = |line: &str| ("Bash", json!({ "command": line }), None);
    let write =
        |path: &str, before: Option<&str>, after: &str| ("Write", json!({"file_path": path, "content": after}), before.map(str::to_owned));
    let read = |path: &str| ("Read", json!({ "file_path": path }), None);
    let (blocks, allows) = match id {
        STATE => (
            vec![write(".twining/blackboard.jsonl", None, "{}"), shell("echo x >> .twining/decisions/index.json")],
            vec![shell("cat .twining/blackboard.jsonl"), write("notes.md", None, "x")],
        ),
        "tested-needs-evidence" => (
            vec![write("feature-list.json", Some(r#"[{"id":"F","tested":false}]"#), r#"[{"id":"F","tested":true}]"#)],
            vec![write("feature-list.json", Some(r#"[{"id":"F","tested":true}]"#), r#"[{"id":"F","tested":true},{"id":"G"}]"#)],
        ),
        "hooks-stay-wired" => (
            vec![write(".claude/settings.json", Some(r#"{"hooks":{"Stop":"twining"}}"#), "{}")],
            vec![write(".claude/settings.json", Some("{}"), r#"{"model":"x"}"#)],
        ),
        "read-logs-with-tools" => (vec![read("logs/app.log")], vec![read("src/main.rs")]),
        _ => (Vec::new(), Vec::new()),
    };
    let of = |is_stopped: bool| {
        move |(tool, input, file): (&str, Value, Option<String>)| {
            let event = Event::of_tool(tool, tool::action(tool, &input), "/project");
            Example { event, input, file, is_stopped }
        }
    };
    blocks.into_iter().map(of(true)).chain(allows.into_iter().map(of(false))).collect()
}

pub(super) fn guard(id: &str, kind: Kind, globs: &[&str], action: Level, say: &str, next_step: &str) -> Guard {
    Guard {
        id: id.to_owned(),
        source: Source::DEFAULT,
        action,
        say: say.to_owned(),
        next_step: next_step.to_owned(),
        on_error: action,
        standing: Standing::Alive,
        proposed: false,
        origin: None,
        verify: None,
        kind,
        moments: vec![Moment::PreToolUse],
        tools: Vec::new(),
        paths: paths(globs),
        except: paths(&[]),
        when: When::default(),
        examples: Vec::new(),
    }
}

pub(super) fn paths(globs: &[&str]) -> Paths {
    Paths::compile(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).expect("the compiled-in globs are globs")
}
