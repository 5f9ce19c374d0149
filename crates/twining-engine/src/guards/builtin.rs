//! The guards that are compiled in.

use crate::governance::policy::Source;
use crate::guards::event::Moment;
use crate::guards::path::Paths;
use crate::guards::rule::{Guard, Kind, Level, Standing, When, Who};

/// Agents that are sent to change files.
pub(crate) const CODERS: [&str; 6] = ["coding-agent", "coder", "coding", "implementer", "implementation-agent", "player"];

/// Files of `.twining/` that people and reviews keep; the rest is written by
/// Twining alone.
const PEOPLES: [&str; 3] = ["**/.twining/policy.yml", "**/.twining/config.yml", "**/.twining/knowledge.dot"];

/// What Twining keeps: the project's records, and outside it the user's own
/// settings and what they allowed, wherever the system has them.
const OURS: [&str; 11] = [
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

/// Every built-in guard.
pub(crate) fn guards() -> Vec<Guard> {
    let mut guards = vec![
        guard(
            "protect-twining-state",
            Kind::Declared,
            &OURS,
            Level::Block,
            "the files in .twining/ are Twining's own records; edited by hand they no longer say who decided what",
            "use the twining tools (twining_post, twining_decide, twining_override, …); a person may edit policy.yml, config.yml and knowledge.dot",
        ),
        guard(
            "people-lift-guards",
            Kind::Person,
            &[],
            Level::Block,
            "lifting, promoting and trusting guards is a person's to do, at their own terminal",
            "tell the person what stopped you, and let them decide",
        ),
        guard(
            "tested-needs-evidence",
            Kind::Tested,
            &["**/feature-list.json", "**/feature_list.json", "**/features.json"],
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
            &["**/.claude/settings.json", "**/.claude/settings.local.json", "**/.codex/hooks.json", "**/.codex/config.toml"],
            Level::Block,
            "this would stop the host from asking Twining before tools run",
            "leave the hooks as they are; a person removes them",
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
            "protect-twining-state" => guard.except = paths(&PEOPLES),
            "read-logs-with-tools" => guard.on_error = Level::Off,
            "return-needs-changes" => guard.moments = vec![Moment::SubagentStop],
            "orchestrator-does-not-edit" => guard.when = When { by: vec![Who::Main], ..When::default() },
            _ => {}
        }
    }
    guards
}

fn guard(id: &str, kind: Kind, globs: &[&str], action: Level, say: &str, next_step: &str) -> Guard {
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

fn paths(globs: &[&str]) -> Paths {
    Paths::compile(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).expect("the compiled-in globs are globs")
}
