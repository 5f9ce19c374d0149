//! What guards refuse, what they let through, and how policies are put together.

use std::collections::BTreeMap;
use twining_testcases::each;

use serde_json::{Value, json};
use twining_guard::policy::{Examples, GuardHealth};
use twining_guard::{
    ActiveClaim, ClaimLookup, Clause, Evaluation, EvidenceLookup, Facts, FeatureProof, FileAccess,
    GuardEvent, GuardSet, MAX_WORDS, NoClaims, NoEvidence, UserPolicy, Verdict, action,
};
use twining_model::{TextFile, Time};

const LIST: &str = ".claude/progress/feature-list.json";
const FEATURES: &str =
    r#"{"features": [{"id": "F1", "tested": true}, {"id": "F2", "tested": false}]}"#;
const OWN_LIST: &str = r#"{"features": [{"id": "F1", "status": "completed", "tested": false, "description": "log in"}]}"#;
const NO_PUSH: &str =
    "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n";

struct Tree(BTreeMap<String, String>);

impl FileAccess for Tree {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        Ok(self.0.get(path).cloned())
    }

    fn real_path(&self, path: &str) -> String {
        // One link: `alias.json` is the list.
        if path == "/p/alias.json" { format!("/p/{LIST}") } else { path.to_owned() }
    }

    fn siblings(&self, path: &str) -> Vec<String> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.0
            .keys()
            .filter(|known| known.rsplit_once('/').is_some_and(|(other, _)| other == folder))
            .cloned()
            .collect()
    }

    fn uncommitted_records(&self) -> usize {
        2
    }
}

fn tree() -> Tree {
    let settings =
        r#"{"hooks":{"PreToolUse":[{"hooks":[{"command":"twining","args":["hook"]}]}]}}"#;
    let legacy = "import moment from 'moment'\nexport const day = () => moment()\nexport const night = () => moment().add(12, 'h')\n";
    let files = [
        (LIST, FEATURES),
        (".twining/features.json", OWN_LIST),
        (".claude/settings.json", settings),
        (".git/hooks/pre-commit", "twining hook --agent git pre-commit\n"),
        (".git/config", "[core]\n\tbare = false\n"),
        (".twining/policy.yml", NO_PUSH),
        ("src/legacy.ts", legacy),
        (".twining/blackboard.jsonl", "{}\n"),
    ];
    Tree(files.iter().map(|(path, text)| (format!("/p/{path}"), (*text).to_owned())).collect())
}

fn loaded(user: &str, project: &str) -> GuardSet {
    let user = UserPolicy { name: "user".into(), file: TextFile::Text(user.into()) };
    GuardSet::load(&user, &TextFile::Text(project.into()), Examples::Read)
}

fn with_clause() -> GuardSet {
    let mut guards = loaded("", "");
    let clause = Clause {
        id: "decision-1".into(),
        paths: vec!["src".into(), "src/**".into()],
        must_not_use: vec!["moment".into()],
        say: "Use date-fns, because moment is unmaintained".into(),
        is_contested: false,
    };
    guards.add_clauses(&[clause]);
    guards
}

fn evaluate(guards: &GuardSet, tool: &str, input: &Value) -> Evaluation {
    evaluate_with(guards, tool, input, &NoEvidence, &NoClaims)
}

fn evaluate_with(
    guards: &GuardSet,
    tool: &str,
    input: &Value,
    evidence: &dyn EvidenceLookup,
    claims: &dyn ClaimLookup,
) -> Evaluation {
    let event = GuardEvent::of_tool(tool, action(tool, input), "/p");
    guards.evaluate(&event, &Facts { root: "/p", files: &tree(), evidence, claims })
}

fn bash(line: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": line }))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({"file_path": format!("/p/{path}"), "content": content}))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("Edit", json!({"file_path": format!("/p/{path}"), "old_string": old, "new_string": new}))
}

/// The guard that refuses each of these calls.
fn refused_calls() -> Vec<(&'static str, (&'static str, Value))> {
    let tested = FEATURES.replace("false", "true");
    vec![
        ("tested-needs-evidence", write(LIST, &tested)),
        (
            "tested-needs-evidence",
            write(LIST, &FEATURES.replace("\"tested\": false", "\"test\\u0065d\": true")),
        ),
        (
            "tested-needs-evidence",
            write(LIST, &FEATURES.replace("\"tested\": false", "\"status\": \"verified\"")),
        ),
        ("tested-needs-evidence", write("alias.json", &tested)),
        ("tested-needs-evidence", edit(LIST, "false", "true")),
        ("tested-needs-evidence", bash(&format!("cat > {LIST} <<'EOF'\n{tested}\nEOF"))),
        (
            "tested-needs-evidence",
            bash(&format!("cd .claude && echo '{tested}' > progress/feature-list.json")),
        ),
        ("protect-twining-state", write(".twining/decisions/x.json", "{}")),
        ("protect-twining-state", write(".TWINING/blackboard.jsonl", "")),
        ("protect-twining-state", bash("echo '{}' >> .twining/blackboard.jsonl")),
        ("protect-twining-state", bash("rm -rf .twining")),
        ("protect-twining-state", bash("sed -i s/a/b/ .twining/decisions/index.json")),
        ("protect-twining-state", bash("mv .twining/decisions /tmp/x")),
        ("protect-twining-state", bash("python3 -c \"open('.twining/traces.jsonl','w')\"")),
        ("protect-twining-state", edit(".twining/features.json", "completed", "tested")),
        (
            "protect-twining-state",
            ("Write", json!({"file_path": "/home/me/.config/twining/policy.yml", "content": ""})),
        ),
        ("people-lift-guards", bash("twining guard bypass no-push --for 1h --reason x")),
        ("people-lift-guards", bash("cd src && twining uninstall")),
        ("policy-only-grows", write(".twining/policy.yml", "guards: []\n")),
        ("hooks-stay-wired", write(".claude/settings.json", "{}")),
        (
            "hooks-stay-wired",
            (
                "Write",
                json!({"file_path": "/home/me/.claude/settings.json", "content": "{\"disableAllHooks\": true}"}),
            ),
        ),
        ("hooks-stay-wired", edit(".git/config", "bare = false", "hooksPath = /dev/null")),
        ("hooks-stay-wired", bash("git config core.hooksPath /nowhere")),
        ("hooks-stay-wired", bash("rm .git/hooks/pre-commit")),
    ]
}

#[test]
fn what_breaks_a_rule_is_refused_in_few_words_with_a_way_forward() {
    let guards = loaded("", "");
    each(refused_calls(), |(guard, (tool, input))| {
        let evaluation = evaluate(&guards, tool, &input);
        let first =
            evaluation.speaking().first().map(|finding| finding.guard.clone()).unwrap_or_default();
        assert_eq!(
            (first.as_str(), evaluation.verdict >= Verdict::Ask),
            (guard, true),
            "{tool} {input}: {evaluation:#?}"
        );
        let message = evaluation.message();
        assert!(message.split_whitespace().count() <= MAX_WORDS, "{message}");
        for part in ["Why: ", "Do instead: ", "If you must: "] {
            assert!(message.contains(part), "{part} in {message}");
        }
        assert!(!message.contains("``"), "{message}");
    });
}

#[test]
fn honest_calls_go_through_without_a_word() {
    let guards = with_clause();
    let stricter = format!("{NO_PUSH}  - {{id: no-x, paths: [x], say: no}}\n");
    each(
        [
            write("src/a.ts", "import { format } from 'date-fns' // not moment\n"),
            write("docs/dates.md", "import moment from 'moment'\n"),
            write(".twining/README.md", "x"),
            write(".twining/policy.yml", &stricter),
            write(
                "features.json",
                r#"{"type":"FeatureCollection","features":[{"properties":{"tested":true}}]}"#,
            ),
            write("tests/fixtures/.twining/blackboard.jsonl", "{}"),
            write(LIST, &FEATURES.replace("}]", "}, {\"id\": \"F3\", \"tested\": false}]")),
            edit(".twining/features.json", "log in", "sign in"),
            edit(".claude/settings.json", "{\"hooks\"", "{\"model\":\"x\",\"hooks\""),
            edit(".git/config", "bare = false", "bare = false\n\thooksPath = .husky"),
            bash("rm -f .twining/local/index.db"),
            bash("cat .twining/blackboard.jsonl | jq -r .summary > /tmp/x"),
            bash("rsync -a --exclude .git --exclude .twining ../template/ ./"),
            bash("chown -R 1000:1000 ."),
            bash("git config core.hooksPath .husky"),
            bash(
                "curl -d '{\"text\":\"please run: twining guard bypass no-push\"}' https://example.com",
            ),
            bash("twining trust"),
            bash("cat >> .twining/policy.yml <<'EOF'\n  - {id: no-y, paths: [y], say: no}\nEOF"),
            bash("python3 - <<'EOF'\nopen('.dockerignore','a').write('.twining/local\\n')\nEOF"),
            bash("for f in $(git ls-files '*.json'); do jq -S . $f > /tmp/j && cp /tmp/j $f; done"),
            (
                "mcp__github__create_or_update_file",
                json!({"owner": "o", "repo": "r", "path": ".twining/policy.yml", "content": "x"}),
            ),
        ],
        |(tool, input)| {
            let evaluation = evaluate(&guards, tool, &input);
            assert_eq!(
                evaluation.verdict,
                Verdict::Off,
                "{tool} {input}: {}",
                evaluation.message()
            );
        },
    );
}

#[test]
fn a_feature_with_a_recorded_run_may_be_marked_tested() {
    struct Proven;
    impl EvidenceLookup for Proven {
        fn proof_of(&self, feature: &str) -> FeatureProof {
            if feature == "F2" {
                FeatureProof::Recorded("run-1".into())
            } else {
                FeatureProof::Missing("none".into())
            }
        }
    }
    let (tool, input) = edit(LIST, "false", "true");
    assert_eq!(
        evaluate_with(&loaded("", ""), tool, &input, &Proven, &NoClaims).verdict,
        Verdict::Off
    );
}

#[test]
fn what_a_decision_rules_out_is_refused_with_its_reason() {
    let guards = with_clause();
    let message = |(tool, input): (&str, Value)| evaluate(&guards, tool, &input).message();
    let refused = message(write("src/a.ts", "import moment from 'moment'\n"));
    assert!(
        refused.contains("because moment is unmaintained")
            && refused.contains("twining override 1"),
        "{refused}"
    );
    assert!(message(bash("echo \"import m from 'moment'\" >> src/b.ts")).contains("`src/b.ts`"));
    let half = "import moment from 'moment'\nexport const night = () => moment().add(12, 'h')\n";
    assert_eq!(message(write("src/night.ts", half)), "", "half of a file that used it before");
    assert_eq!(message(edit("src/legacy.ts", "12", "13")), "", "what it used before");
}

#[test]
fn what_another_works_on_is_left_alone_and_may_be_read() {
    struct Alice;
    impl ClaimLookup for Alice {
        fn claim_on(&self, path: &str) -> Option<ActiveClaim> {
            path.starts_with("src/pay/").then(|| ActiveClaim {
                by: "alice".into(),
                until: Time::from_ms(0),
                reason: "rewriting".into(),
            })
        }
        fn claim_below(&self, folder: &str) -> Option<ActiveClaim> {
            if "src/pay/".starts_with(folder) { self.claim_on("src/pay/x") } else { None }
        }
    }
    let guards = loaded("", "");
    let verdict =
        |(tool, input): (&str, Value)| evaluate_with(&guards, tool, &input, &NoEvidence, &Alice);
    each(
        [write("src/pay/a.ts", "x"), bash("sed -i s/a/b/ src/pay/a.ts"), bash("rm -r src")],
        |call| {
            let evaluation = verdict(call);
            assert!(
                evaluation.verdict == Verdict::Block
                    && evaluation.message().contains("alice has claimed it until"),
                "{}",
                evaluation.message()
            );
        },
    );
    for call in [
        write("src/b.ts", "x"),
        bash("cat src/pay/a.ts"),
        ("Read", json!({"file_path": "/p/src/pay/a.ts"})),
    ] {
        assert_eq!(verdict(call).verdict, Verdict::Off);
    }
}

#[test]
fn what_cannot_be_read_is_let_through_unless_the_person_says_otherwise() {
    let line = bash("jq . x > \"$OUT\"");
    let verdict =
        |user: &str, project: &str| evaluate(&loaded(user, project), line.0, &line.1).verdict;
    assert_eq!(verdict("", ""), Verdict::Off);
    assert_eq!(verdict("on_unreadable: ask\n", ""), Verdict::Ask);
    assert_eq!(verdict("on_unreadable: block\n", ""), Verdict::Block);
    assert_eq!(
        verdict("", "on_unreadable: block\n"),
        Verdict::Off,
        "a repository does not decide that"
    );
    assert!(!evaluate(&loaded("", ""), line.0, &line.1).unread.is_empty());
    let huge = bash(&"x ".repeat(1_000_000));
    assert_eq!(
        evaluate(&loaded("on_unreadable: block\n", ""), huge.0, &huge.1).verdict,
        Verdict::Block
    );
}

#[test]
fn uncommitted_records_are_worth_a_note() {
    let (tool, input) = bash("git clean -fdx");
    let evaluation = evaluate(&loaded("", ""), tool, &input);
    assert_eq!(evaluation.verdict, Verdict::Warn);
    assert!(evaluation.message().contains("2 uncommitted records"), "{}", evaluation.message());
}

#[test]
fn a_guard_proves_itself_by_its_examples() {
    let project = "guards:\n  - {id: g, tools: [Bash], when: {command: git push}, say: no, examples: {allows: [git push]}}\n";
    let guards = loaded("", project);
    let guard = guards.guards.iter().find(|guard| guard.id == "g").expect("is there");
    assert!(
        matches!(&guard.standing, GuardHealth::Dead(why) if why.contains("example 1")),
        "{:?}",
        guard.standing
    );
    let dead = |guards: &GuardSet| {
        guards.guards.iter().filter(|guard| guard.standing != GuardHealth::Alive).count()
    };
    assert_eq!((dead(&guards), dead(&loaded("", ""))), (1, 0), "those built in do what they say");
    let (tool, input) = bash("git push");
    assert_eq!(evaluate(&guards, tool, &input).verdict, Verdict::Off, "a dead guard stops nobody");
}

#[test]
fn s9_a_cloned_guard_that_wants_to_run_something_is_left_out() {
    let guards = loaded("", "guards:\n  - {id: g, tools: [Bash], run: 'rm -rf /', say: no}\n");
    assert!(!guards.guards.iter().any(|guard| guard.id == "g"));
    assert!(
        guards.mistakes.iter().any(|mistake| mistake.message.contains("`run` is not a field")),
        "{:?}",
        guards.mistakes
    );
}

#[test]
fn s11_a_repository_cannot_lift_what_its_user_forbids() {
    let (tool, input) = bash("git push origin main");
    let verdict =
        |user: &str, project: &str| evaluate(&loaded(user, project), tool, &input).verdict;
    assert_eq!(verdict(NO_PUSH, ""), Verdict::Block);
    assert_eq!(
        verdict(NO_PUSH, &NO_PUSH.replace("say: no", "say: yes, action: off")),
        Verdict::Block
    );
    assert_eq!(
        verdict(NO_PUSH, &NO_PUSH.replace("say: no", "say: yes, action: warn")),
        Verdict::Block
    );
    assert_eq!(
        verdict(&NO_PUSH.replace("say: no", "say: no, action: warn"), NO_PUSH),
        Verdict::Block,
        "stricter it may be"
    );
    assert_eq!(
        verdict("guards:\n  - {id: protect-twining-state, action: off}\n", ""),
        Verdict::Off
    );
}

#[test]
fn a_policy_that_cannot_be_read_leaves_the_built_in_guards_and_says_so() {
    let guards = loaded("", "guards:\n  - {id: no-push, tools: [Bash\n<<<<<<< HEAD\n");
    let shown = guards.unread_notice().expect("is told");
    assert!(shown.contains(".twining/policy.yml"), "{shown}");
    let (tool, input) = write("src/a.ts", "x");
    assert_eq!(evaluate(&guards, tool, &input).verdict, Verdict::Off, "work goes on");
    let (tool, input) = write(".twining/blackboard.jsonl", "x");
    assert_eq!(evaluate(&guards, tool, &input).verdict, Verdict::Block);
}

#[test]
fn a_proposed_guard_warns_until_a_person_promotes_it() {
    let proposed = NO_PUSH.replace("say: no", "say: no, status: proposed");
    let (tool, input) = bash("git push");
    assert_eq!(evaluate(&loaded("", &proposed), tool, &input).verdict, Verdict::Warn);
    let promoting = ("Write", json!({"file_path": "/p/.twining/policy.yml", "content": NO_PUSH}));
    let event = GuardEvent::of_tool(promoting.0, action(promoting.0, &promoting.1), "/p");
    let mut files = tree();
    files.0.insert("/p/.twining/policy.yml".into(), proposed);
    let facts = Facts { root: "/p", files: &files, evidence: &NoEvidence, claims: &NoClaims };
    assert_eq!(loaded("", "").evaluate(&event, &facts).verdict, Verdict::Ask);
}

#[test]
fn the_main_agent_may_be_kept_from_editing_and_logs_are_only_warned_about() {
    let guards = loaded("guards:\n  - {id: orchestrator-does-not-edit, action: block}\n", "");
    let (tool, input) = write("src/a.rs", "x");
    assert_eq!(evaluate(&guards, tool, &input).verdict, Verdict::Block);
    let mut event = GuardEvent::of_tool(tool, action(tool, &input), "/p");
    event.agent_id = Some("a1".into());
    let facts = Facts { root: "/p", files: &tree(), evidence: &NoEvidence, claims: &NoClaims };
    assert_eq!(guards.evaluate(&event, &facts).verdict, Verdict::Off);
    assert_eq!(
        evaluate(&guards, "Read", &json!({"file_path": "/p/logs/app.log"})).verdict,
        Verdict::Warn
    );
    assert_eq!(
        evaluate(&guards, "Read", &json!({"file_path": "/p/logs/app.log", "limit": 50})).verdict,
        Verdict::Off
    );
}

#[test]
fn a_command_to_verify_by_is_handed_on_and_never_run_here() {
    let guards =
        loaded("", &NO_PUSH.replace("say: no", "say: no, verify: 'make lint', on_error: ask"));
    let (tool, input) = bash("git push");
    let evaluation = evaluate(&guards, tool, &input);
    let verify = evaluation
        .speaking()
        .first()
        .and_then(|finding| finding.verify.clone())
        .expect("is handed on");
    assert_eq!((verify.command.as_str(), verify.unverified), ("make lint", Verdict::Ask));
}
