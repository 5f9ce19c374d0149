//! The guards that are compiled in.

use serde_json::{Value, json};

use crate::event;
use crate::event::{EventKind, GuardEvent};
use crate::paths::PathGlobs;
use crate::policy::rule::{Actor, CheckKind, Conditions, Example, Guard};
use crate::verdict::Verdict;

/// The guard of Twining's own records.
pub(crate) const RECORDS: &str = "protect-twining-state";
/// The guard of coders that return with nothing done.
pub const RETURNS: &str = "return-needs-changes";
/// The guard of features that are called tested.
pub const TESTED: &str = "tested-needs-evidence";
/// The guard of the policy.
pub const POLICY: &str = "policy-only-grows";
/// The guard of hooks.
pub const WIRING: &str = "hooks-stay-wired";

/// The guard of commands that only a person gives. It is never lifted: it keeps what lifts the others.
pub const PERSON_COMMANDS: &str = "people-lift-guards";

/// Our own feature list.
pub const OWN_LIST: &str = ".twining/features.json";

/// Files of `.twining/` that Twining alone writes.
const RECORD_FILES: &str = ".twining .twining/blackboard.jsonl .twining/traces.jsonl .twining/features.json .twining/decisions/** \
    .twining/graph/** .twining/agents/** .twining/handoffs/** .twining/turns/** .twining/archive/** .twining/local/**";
/// The person's own settings, in any folder; `?` stands for a blank.
const OWN_SETTINGS: &str =
    ".config/twining/** Library/Application?Support/twining/** AppData/Roaming/twining/**";

/// Where feature lists are: ours, and those of other loops that go by this name.
pub const FEATURE_LISTS: [&str; 5] = [
    ".twining/features.json",
    ".claude/progress/feature-list.json",
    ".claude/progress/feature_list.json",
    "feature-list.json",
    "feature_list.json",
];

/// Where hosts and git are told to call us, in any folder, with blanks between.
pub const WIRING_FILES: &str = ".claude/settings.json .claude/settings.local.json .codex/hooks.json .codex/config.toml .gemini/settings.json \
    .cursor/hooks.json .github/hooks/*.json .git/config .git/hooks/pre-commit .husky/pre-commit";

/// Every built-in guard.
pub(crate) fn guards() -> Vec<Guard> {
    let mut guards = vec![
        guard(RECORDS, CheckKind::Records, Verdict::Block, RECORD_FILES, OWN_SETTINGS).with_messages(
            "these are Twining's own records; after a manual edit they no longer show who decided what",
            "use the Twining tools: twining_post, twining_decide, twining_features, twining_report",
        ),
        guard(PERSON_COMMANDS, CheckKind::PersonCommands, Verdict::Block, "", "").with_messages(
            "only a person may lift, promote or trust guards, or uninstall Twining",
            "tell the person what stopped you and which command they could run",
        ),
        guard(TESTED, CheckKind::FeatureList, Verdict::Block, &FEATURE_LISTS.join(" "), "").with_messages(
            "a feature counts as tested only when a recorded run of its tests passed",
            "run its tests, then `twining report FEATURE --role tester --outcome passed`",
        ),
        guard(POLICY, CheckKind::PolicyWeakened, Verdict::Ask, ".twining/policy.yml", "").with_messages(
            "agents may add guards to the project's policy; only a person may remove them",
            "leave that guard unchanged, or ask the person to change policy.yml",
        ),
        guard(WIRING, CheckKind::Wiring, Verdict::Block, "", WIRING_FILES).with_messages(
            "the host would no longer call Twining before tools run, or git before a commit",
            "make your change without touching the lines that call twining",
        ),
        guard("no-edit-under-anothers-claim", CheckKind::Claims, Verdict::Block, "", "").with_messages(
            "another agent has claimed this file",
            "work on something else, or post a question with twining_post; the claim expires by itself",
        ),
        guard("read-logs-with-tools", CheckKind::Reads, Verdict::Warn, "**/*.log **/logs/**/*.txt", "").with_messages(
            "a whole log costs more tokens than it is worth",
            "search it: grep for the error, or read its last lines with tail",
        ),
        guard(RETURNS, CheckKind::Returns, Verdict::Block, "", "").with_messages(
            "a coding agent is expected to change something",
            "implement the task, or end with a sentence that says nothing needed to be done, and why",
        ),
        guard("orchestrator-does-not-edit", CheckKind::Declared, Verdict::Off, "src/** lib/** app/** crates/**", "")
            .with_messages("the main agent delegates; it does not implement", "start a coding agent for this change"),
    ];
    for guard in &mut guards {
        match guard.id.as_str() {
            PERSON_COMMANDS => {
                guard.otherwise = "a person runs it in their own terminal".to_owned()
            }
            RETURNS => guard.events = vec![EventKind::SubagentStop],
            "orchestrator-does-not-edit" => {
                guard.when = Conditions { actors: vec![Actor::Main], ..Conditions::default() }
            }
            _ => {}
        }
        guard.examples = examples(&guard.id);
    }
    guards
}

/// Calls that show what a guard stops and what it lets through, so that its wiring
/// can be tried like anybody's.
fn examples(id: &str) -> Vec<Example> {
    let shell = |line: &str| ("Bash", json!({ "command": line }), None);
    let write = |path: &str, before: Option<&str>, after: &str| {
        ("Write", json!({"file_path": path, "content": after}), before.map(str::to_owned))
    };
    let read = |path: &str| ("Read", json!({ "file_path": path }), None);
    let (blocks, allows) = match id {
        RECORDS => (
            vec![
                write(".twining/blackboard.jsonl", None, "{}"),
                shell("echo x >> .twining/decisions/index.json"),
            ],
            vec![
                shell("cat .twining/blackboard.jsonl"),
                write("notes.md", None, "x"),
                write(".twining/README.md", None, "x"),
            ],
        ),
        PERSON_COMMANDS => (
            vec![shell("twining guard bypass no-force-push --for 1h")],
            vec![
                shell("twining guard list"),
                shell("echo 'twining guard bypass' >> docs/notes.md"),
            ],
        ),
        TESTED => (
            vec![write(
                "feature-list.json",
                Some(r#"[{"id":"F","tested":false}]"#),
                r#"[{"id":"F","tested":true}]"#,
            )],
            vec![write(
                "feature-list.json",
                Some(r#"[{"id":"F","tested":true}]"#),
                r#"[{"id":"F","tested":true},{"id":"G"}]"#,
            )],
        ),
        POLICY => (
            vec![write(
                ".twining/policy.yml",
                Some("guards:\n  - id: no-x\n    say: no\n    paths: [x]\n"),
                "guards: []\n",
            )],
            vec![write(
                ".twining/policy.yml",
                Some("guards: []\n"),
                "guards:\n  - id: no-x\n    say: no\n    paths: [x]\n",
            )],
        ),
        WIRING => (
            vec![write(".claude/settings.json", Some(r#"{"hooks":{"Stop":"twining"}}"#), "{}")],
            vec![write(".claude/settings.json", Some("{}"), r#"{"model":"x"}"#)],
        ),
        "read-logs-with-tools" => (vec![read("logs/app.log")], vec![read("src/main.rs")]),
        "orchestrator-does-not-edit" => {
            (vec![write("src/main.rs", None, "x")], vec![write("docs/notes.md", None, "x")])
        }
        _ => (Vec::new(), Vec::new()),
    };
    let of = |is_stopped: bool| {
        move |(tool, input, file): (&str, Value, Option<String>)| {
            let event = GuardEvent::of_tool(tool, event::action(tool, &input), "/project");
            Example { event, input, file, is_stopped }
        }
    };
    blocks.into_iter().map(of(true)).chain(allows.into_iter().map(of(false))).collect()
}

/// A guard of paths in the project, and of others in any folder.
fn guard(id: &str, kind: CheckKind, action: Verdict, paths: &str, anywhere: &str) -> Guard {
    let anywhere =
        anywhere.split_whitespace().flat_map(|glob| [format!("**/{glob}"), format!("/**/{glob}")]);
    let mut globs = PathGlobs::default();
    globs.extend(paths.split_whitespace().map(str::to_owned).chain(anywhere));
    Guard::new(id, kind, action, globs)
}

impl Guard {
    fn with_messages(self, say: &str, next_step: &str) -> Self {
        Self { say: say.to_owned(), next_step: next_step.to_owned(), ..self }
    }
}
