//! What must not slip through, and what must not be stopped.

mod bounds;
mod found;
mod inline;
mod lazily;
mod nasty;
mod standing;
mod unseen;
mod wired;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use twining_store::PolicyFile;

use super::*;
use crate::UserPolicy;

const LIST: &str = ".claude/progress/feature-list.json";
const BEFORE: &str = "{\n  \"features\": [\n    {\"id\": \"F1\", \"tested\": true},\n    {\"id\": \"F2\", \"tested\": false}\n  ]\n}\n";

struct Held(BTreeMap<String, String>);

impl Files for Held {
    fn is_folder(&self, path: &str) -> bool {
        self.0.keys().any(|known| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    }
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        Ok(self.0.get(path).cloned())
    }
    fn real(&self, path: &str) -> String {
        // One link: `alias.json` is the list.
        if path == "/p/alias.json" { format!("/p/{LIST}") } else { path.to_owned() }
    }
}

fn files() -> Held {
    let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[{"command":"twining","args":["hook"]}]}]}}"#;
    let policy = "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n";
    let held = [
        (LIST, BEFORE),
        (".claude/settings.json", settings),
        (".twining/policy.yml", policy),
        ("src/a.rs", "fn a() {}\n"),
        (".twining/blackboard.jsonl", "{}\n"),
    ];
    Held(held.iter().map(|(path, text)| (format!("/p/{path}"), (*text).to_owned())).collect())
}

struct Proven;

impl Evidence for Proven {
    fn proof_of(&self, feature: &str) -> Proof {
        if feature == "F2" { Proof::Recorded("run-1".into()) } else { Proof::Missing("none".into()) }
    }
}

fn loaded(user: &str, project: &str) -> Guards {
    let user = UserPolicy { name: "user".into(), file: PolicyFile::Text(user.into()) };
    Guards::load(&user, &PolicyFile::Text(project.into()), &NoClauses, Trial::Tried)
}

fn judge_with(guards: &Guards, tool: &str, input: &Value, evidence: &dyn Evidence) -> Judgement {
    let files = files();
    let event = Event::of_tool(tool, action(tool, input), "/p");
    guards.judge(&event, &Facts { root: "/p", files: &files, evidence, claims: &NoClaims })
}

fn verdict(tool: &str, input: &Value) -> Level {
    judge_with(&loaded("", ""), tool, input, &NoEvidence).verdict
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

fn bypasses() -> Vec<(&'static str, Value)> {
    let list = |line: &str| bash(&line.replace("LIST", LIST));
    vec![
        write(LIST, &BEFORE.replace("false", "true")),
        write(LIST, &BEFORE.replace("\"tested\": false", "\"tested\" : true")),
        write(LIST, &BEFORE.replace("\"tested\": false", "\"test\\u0065d\": true")),
        write(LIST, &BEFORE.replace("\"tested\": false", "\"status\": \"tested\"")),
        write(LIST, &BEFORE.replace("\"tested\": false", "\"tested\": \"true\"")),
        write(LIST, "{ this is no JSON"),
        write("alias.json", &BEFORE.replace("false", "true")),
        ("Write", json!({"file_path": "/p/src/../.claude/progress/feature-list.json", "content": BEFORE.replace("false", "true")})),
        ("Write", json!({"file_path": LIST, "content": BEFORE.replace("false", "true")})),
        edit(LIST, "false", "true"),
        edit(LIST, "\"F2\", \"tested\": false", "\"F2\", \"tested\": true"),
        ("Edit", json!({"file_path": LIST, "old_string": "alse", "new_string": "true", "replace_all": true})),
        ("Edit", json!({"file_path": LIST, "old_string": "false", "new_string": "true", "replace_all": true})),
        (
            "MultiEdit",
            json!({"file_path": LIST, "edits": [{"old_string": "false", "new_string": "maybe"}, {"old_string": "maybe", "new_string": "true"}]}),
        ),
        ("NotebookEdit", json!({"notebook_path": LIST, "new_source": "x"})),
        (
            "apply_patch",
            json!({"input": format!("*** Begin Patch\n*** Update File: {LIST}\n@@\n-    {{\"id\": \"F2\", \"tested\": false}}\n+    {{\"id\": \"F2\", \"tested\": true}}\n*** End Patch\n")}),
        ),
        (
            "apply_patch",
            json!({"input": format!("*** Begin Patch\n*** Add File: feature-list.json\n+[{{\"id\":\"X\",\"tested\":true}}]\n*** End Patch\n")}),
        ),
        ("mcp__filesystem__write_file", json!({"path": LIST, "content": BEFORE.replace("false", "true")})),
        ("mcp__filesystem__move_file", json!({"source": "/elsewhere/x", "destination": format!("/p/{LIST}")})),
        list("jq '.features[1].tested=true' LIST > tmp && mv tmp LIST"),
        list("echo '[]' > LIST"),
        list("echo x | tee LIST"),
        list("sed -i 's/false/true/' LIST"),
        list("sed -i -e 's/false/true/' ./LIST"),
        list("cp /elsewhere/new LIST"),
        list("cd .claude/progress && sed -i s/false/true/ feature-list.json"),
        list("F=LIST; jq . x > \"$F\""),
        list("for f in LIST; do sed -i s/false/true/ $f; done"),
        list("bash -c \"sed -i s/false/true/ LIST\""),
        list("eval 'echo x > LIST'"),
        list("python3 -c \"open('LIST','w').write('x')\""),
        bash("python3 - <<'EOF'\np='.claude/progress/feature-' + 'list.json'\nopen(p,'w').write('x')\nEOF"),
        list("node -e \"require('fs').writeFileSync('LIST','x')\""),
        list("perl -pi -e 's/false/true/' LIST"),
        list("cat > LIST <<'EOF'\n[{\"id\":\"F2\",\"tested\":true}]\nEOF"),
        list("dd if=/elsewhere/x of=LIST"),
        list("git checkout other -- LIST"),
        list("git restore --source=other LIST"),
        list("find . -name feature-list.json -exec sed -i s/false/true/ {} +"),
        bash("find . -name feature-list.json | xargs sed -i s/false/true/"),
        bash("echo x > .claude/progress/feature-*.json"),
        bash("echo x > .claude/progress/fea\"ture-li\"st.json"),
        bash("echo x > $'.claude/progress/feature-\\x6cist.json'"),
        bash("echo x > \"$PWD/.claude/progress/feature-list.json\""),
        bash("echo x > $(git rev-parse --show-toplevel)/.claude/progress/feature-list.json"),
        list("ln -s LIST /elsewhere/alias"),
        list("yq -i '.a=1' LIST"),
        list("sudo tee LIST < /elsewhere/x"),
        list("echo \"echo x > LIST\" | sh"),
        list("awk '{print > \"LIST\"}' /elsewhere/x"),
        list("truncate -s 0 LIST"),
        list("ed -s LIST <<< ',s/false/true/'"),
        list("git apply <<'EOF'\n--- a/LIST\n+++ b/LIST\n@@ -1 +1 @@\n-false\n+true\nEOF"),
        list("php -r \"file_put_contents('LIST','x');\""),
        list("deno eval \"Deno.writeTextFileSync('LIST','x')\""),
        list("$(echo sed) -i s/false/true/ LIST"),
        list("alias s=sed; s -i s/false/true/ LIST"),
        list("f() { cat > \"$1\"; }; f LIST < /elsewhere/x"),
        list("exec 3> LIST; echo x >&3"),
        list("echo x >& LIST"),
        list("jq . LIST | sponge LIST"),
        list("sort -o LIST /elsewhere/x"),
        list("coproc tee LIST < /elsewhere/x"),
        list("! true || echo x > LIST/."),
        list("git show other:LIST > LIST"),
        list("tee .claude/progress/feature-{list,other}.json < /elsewhere/x"),
        list("vim -es -c '%s/false/true/' -c wq LIST"),
        ("mcp__shell__run_command", json!({"command": format!("echo x > {LIST}")})),
        ("exec_command", json!({"cmd": format!("echo x > {LIST}")})),
        ("shell", json!({"command": ["bash", "-lc", format!("echo x > {LIST}")]})),
        (
            "Edit",
            json!({"file_path": LIST, "old_string": "\u{201c}F2\u{201d}, \u{201c}tested\u{201d}: false", "new_string": "\"F2\", \"tested\": true"}),
        ),
        bash("echo x > ~/p/.twining/blackboard.jsonl"),
        bash("echo x > \"$HOME/p/.twining/blackboard.jsonl\""),
        bash("(cd .twi*; rm blackboard.jsonl)"),
        bash("cd .. && rm -r p/.twining"),
        bash("git -C .twining checkout HEAD -- blackboard.jsonl"),
        bash("mv .twining /elsewhere/gone"),
        bash("find .twining -type f -delete"),
        write(".twining\\decisions\\x.json", "{}"),
        bash("rm -rf .twining"),
        bash("rm -rf ."),
        bash("echo '{}' >> .twining/blackboard.jsonl"),
        bash("cd .twining && rm blackboard.jsonl"),
        bash("cd \"$ROOT/.twining\" && rm blackboard.jsonl"),
        write(".twining/decisions/01ABC.json", "{\"status\":\"overridden\"}"),
        write(".TWINING/decisions/01ABC.json", "{}"),
        edit(".twining/blackboard.jsonl", "{}", "{\"a\":1}"),
        edit(".claude/settings.json", "\"twining\"", "\"true\""),
        bash("sqlite3 x .dump > .twining/local/index.db"),
        edit(".twining/policy.yml", "git push", "git pusch"),
        write(".twining/policy.yml", "guards: []\n"),
    ]
}

fn honest() -> Vec<(&'static str, Value)> {
    let list = |line: &str| bash(&line.replace("LIST", LIST));
    vec![
        write(LIST, &BEFORE.replace("F2", "F3")),
        write(LIST, BEFORE),
        write(LIST, &BEFORE.replace("\"tested\": false", "\"tested\": false, \"status\": \"in_progress\"")),
        write("new/feature-list.json", "{\"features\": []}"),
        write("docs/notes.md", "set \"tested\": true in feature-list.json"),
        edit(LIST, "\"F1\", \"tested\": true", "\"F1\", \"tested\": false"),
        edit(LIST, "no such text", "\"tested\": true"),
        edit("src/a.rs", "fn a", "fn b"),
        ("MultiEdit", json!({"file_path": "src/a.rs", "edits": [{"old_string": "a", "new_string": "b"}]})),
        ("Read", json!({"file_path": LIST})),
        ("Read", json!({"file_path": "/p/.twining/blackboard.jsonl"})),
        ("Grep", json!({"pattern": "tested", "path": LIST})),
        ("mcp__twining__twining_post", json!({"summary": "x"})),
        ("mcp__twining__twining_update", json!({"path": ".twining/x"})),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-fn a() {}\n+fn b() {}\n*** End Patch\n"})),
        ("TodoWrite", json!({"todos": []})),
        list("cat LIST"),
        list("jq '.features[] | select(.tested == true)' LIST"),
        list("jq . LIST > /elsewhere/copy.json"),
        list("jq . LIST > \"$OUT\""),
        list("cp LIST /elsewhere/backup.json"),
        list("git add LIST && git commit -m 'feature-list.json: F2'"),
        list("git diff LIST; git log -- LIST"),
        list("grep -c tested LIST"),
        list("python3 -c \"import json; print(len(json.load(open('LIST'))))\""),
        list("node -p \"require('./LIST').features.length\""),
        list("diff LIST /elsewhere/x"),
        list("cat > LIST <<'EOF'\n{\"features\":[{\"id\":\"F1\",\"tested\":true},{\"id\":\"F2\",\"tested\":false}]}\nEOF"),
        bash("cargo test 2>&1 | tee /elsewhere/out.log"),
        bash("echo done > build/status.txt"),
        bash("echo \"see feature-list.json\" >> NOTES.md"),
        bash("cat > src/b.rs <<'EOF'\n// writes .twining/ never\nEOF"),
        bash("git checkout -b feature-list"),
        bash("git stash && git pull && git stash pop"),
        bash("git checkout main"),
        bash("rm -rf target node_modules"),
        bash("rm -rf *"),
        bash("sed -i 's/feature-list.json/features/' README.md"),
        bash("find . -name '*.rs' | xargs grep tested"),
        bash("for f in src/*.rs; do sed -i s/a/b/ $f; done"),
        bash("echo x > $OUT; mv $A $B"),
        bash("npm run build > /dev/null 2>&1"),
        bash("twining post finding 'x' --scope src/"),
        bash("ls -la .twining && wc -l .twining/blackboard.jsonl"),
        bash("git add -A .twining && git commit -m x"),
        bash("tar czf /elsewhere/t.tgz src"),
        bash("python3 scripts/gen.py > src/gen.rs"),
        write(
            ".twining/policy.yml",
            "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n  - {id: more, tools: [Bash], when: {command: rm -rf}, say: no}\n",
        ),
        write(".twining/config.yml", "version: 1\n"),
        write(".twining/knowledge.dot", "digraph {}\n"),
        edit(".claude/settings.json", "PreToolUse", "PostToolUse"),
        write(".claude/settings.local.json", "{\"permissions\":{}}"),
    ]
}

#[test]
fn no_way_around_the_built_in_guards_is_open() {
    let bypasses = bypasses();
    assert!(bypasses.len() >= 40);
    let open: Vec<String> =
        bypasses.iter().filter(|(tool, input)| verdict(tool, input) < Level::Ask).map(|(tool, input)| format!("{tool} {input}")).collect();
    assert!(open.is_empty(), "{open:#?}");
}

#[test]
fn honest_work_is_let_through() {
    let honest = honest();
    assert!(honest.len() >= 40);
    let guards = loaded("", "");
    let stopped: Vec<String> = honest
        .iter()
        .map(|(tool, input)| (judge_with(&guards, tool, input, &NoEvidence), tool, input))
        .filter(|(judgement, ..)| judgement.verdict >= Level::Ask)
        .map(|(judgement, tool, input)| format!("{tool} {input}: {}", judgement.reason()))
        .collect();
    assert!(stopped.is_empty(), "{stopped:#?}");
}

#[test]
fn a_feature_with_a_recorded_run_may_become_tested() {
    let (tool, input) = edit(LIST, "false", "true");
    assert_eq!(judge_with(&loaded("", ""), tool, &input, &Proven).verdict, Level::Off);
    let refused = judge_with(&loaded("", ""), tool, &input, &NoEvidence);
    assert_eq!(refused.verdict, Level::Block);
    assert!(refused.reason().contains("F2 would become tested") && refused.reason().contains("Next:"), "{}", refused.reason());
}

const NO_RM: &str = "guards:\n  - id: no-rm\n    tools: [Bash]\n    when: {command: rm -rf}\n    say: ask first\n    examples: {blocks: ['rm -fr x', 'sudo rm -r -f x'], allows: ['rm x', 'echo rm -rf']}\n";

#[test]
fn a_guard_proves_itself_by_its_examples() {
    let guards = loaded(NO_RM, "");
    assert_eq!(guards.mistakes, []);
    assert!(guards.guards.iter().all(|guard| guard.standing == Standing::Alive));
    let (tool, input) = bash("cd x; rm -r -f y");
    assert_eq!(judge_with(&guards, tool, &input, &NoEvidence).verdict, Level::Block);

    let dead = loaded(&NO_RM.replace("'rm x'", "'rm -rf y'"), "");
    assert!(dead.guards.iter().any(|guard| matches!(&guard.standing, Standing::Dead(why) if why.contains("example 3"))));
    assert_eq!(judge_with(&dead, tool, &input, &NoEvidence).verdict, Level::Off);
}

#[test]
fn s9_a_cloned_guard_that_wants_to_run_something_is_left_out() {
    for field in ["run: touch /elsewhere/owned", "exec: '$(touch x)'", "when: {command_output: '`id`'}", "verify: {run: make}"] {
        let guards = loaded("", &format!("guards:\n  - id: evil\n    tools: [Bash]\n    say: x\n    {field}\n"));
        assert!(guards.guards.iter().all(|guard| guard.id != "evil"), "{field}");
        assert_eq!(guards.mistakes.len(), 1, "{field}");
    }
}

#[test]
fn s11_a_repository_cannot_lift_what_its_user_forbids() {
    for project in [
        NO_RM.replace("    say: ask first", "    action: off\n    say: fine"),
        NO_RM.replace("    say: ask first", "    action: warn\n    say: fine"),
        "guards:\n  no-rm: {action: off, say: x, tools: [Bash]}\n  protect-twining-state: {action: off}\n  tested-needs-evidence: {paths: [nowhere]}\n".to_owned(),
    ] {
        let guards = loaded(NO_RM, &project);
        for (tool, input) in [bash("rm -rf y"), bash("rm -rf .twining"), write(LIST, &BEFORE.replace("false", "true"))] {
            assert_eq!(judge_with(&guards, tool, &input, &NoEvidence).verdict, Level::Block, "{project}");
        }
    }
    // A person may, in their own file.
    let guards = loaded("guards:\n  tested-needs-evidence: {action: off}\n", "");
    let (tool, input) = edit(LIST, "false", "true");
    assert_eq!(judge_with(&guards, tool, &input, &NoEvidence).verdict, Level::Off);
}

#[test]
fn s12_a_guard_that_a_pull_made_milder_is_no_milder() {
    let guards = loaded("", "guards:\n  tested-needs-evidence: {action: warn}\n  orchestrator-does-not-edit: {action: block}\n");
    let (tool, input) = edit(LIST, "false", "true");
    assert_eq!(judge_with(&guards, tool, &input, &NoEvidence).verdict, Level::Block);
    let (tool, input) = edit("src/a.rs", "a", "b");
    assert_eq!(judge_with(&guards, tool, &input, &NoEvidence).verdict, Level::Block);
    assert!(guards.mistakes.iter().any(|mistake| mistake.message.contains("only make it stricter")));
}

#[test]
fn s19_decisions_are_not_edited_by_hand() {
    let (tool, input) = write(".twining/decisions/01HXYZ.json", "{\"status\": \"overridden\"}");
    assert_eq!(verdict(tool, &input), Level::Block);
}

#[test]
fn s25_there_are_no_patterns_to_blow_up() {
    let regex = "guards:\n  - {id: r, tools: [Bash], say: x, when: {matches: '(?:.{0,60}x){0,60}y'}}\n";
    assert_eq!(loaded("", regex).mistakes.len(), 1);
    let stars = format!("guards:\n  - {{id: s, say: x, paths: ['{}a']}}\n", "**/".repeat(30));
    assert_eq!(loaded("", &stars).mistakes.len(), 1);
}

#[test]
fn what_cannot_be_read_gets_the_guards_on_error() {
    for line in ["(".repeat(10_000), "a".repeat(1 << 20), format!("echo {}", "$(".repeat(5_000))] {
        let (tool, input) = bash(&line);
        let judgement = judge_with(&loaded("", ""), tool, &input, &NoEvidence);
        assert_eq!(judgement.verdict, Level::Block);
        assert!(judgement.reason().contains("cannot be judged"));
    }
}

#[test]
fn a_clause_of_a_decision_binds() {
    struct One;
    impl Clauses for One {
        fn clauses(&self) -> Vec<Clause> {
            vec![Clause {
                id: "01D".into(),
                paths: vec!["src/**".into()],
                must_not_use: vec!["redis".into()],
                say: "sessions stay in SQLite".into(),
                is_contested: false,
            }]
        }
    }
    let guards = Guards::load(&UserPolicy::default(), &PolicyFile::Missing, &One, Trial::Tried);
    let (tool, input) = write("src/a.rs", "use redis;\n");
    assert_eq!(judge_with(&guards, tool, &input, &NoEvidence).verdict, Level::Block);
    let (tool, input) = write("src/a.rs", "use rusqlite;\n");
    assert_eq!(judge_with(&guards, tool, &input, &NoEvidence).verdict, Level::Off);
}

#[test]
fn the_main_agent_may_be_kept_from_editing() {
    let guards = loaded("guards:\n  orchestrator-does-not-edit: {action: block}\n", "");
    let files = files();
    let facts = Facts { root: "/p", files: &files, evidence: &NoEvidence, claims: &NoClaims };
    let (tool, input) = edit("src/a.rs", "a", "b");
    let mut event = Event::of_tool(tool, action(tool, &input), "/p");
    assert_eq!(guards.judge(&event, &facts).verdict, Level::Block);
    event.agent_id = Some("a1".into());
    assert_eq!(guards.judge(&event, &facts).verdict, Level::Off);
    assert!(guards.explain(&event, &facts).findings.iter().any(|finding| finding.why == "somebody else acts"));
}

#[test]
fn reading_a_log_whole_is_only_warned_about() {
    assert_eq!(verdict("Read", &json!({"file_path": "/p/logs/app.log"})), Level::Warn);
    assert_eq!(verdict("Read", &json!({"file_path": "/p/catalog"})), Level::Off);
}

#[test]
fn a_session_is_held_at_most_twice_for_the_same_reason() {
    let (mut notes, mut accepted) = (Notes::default(), Accepted::default());
    accepted.accept(LIST, Some(BEFORE));
    let changed = BEFORE.replace("false", "true");
    let read = |path: &str| (path == LIST).then(|| changed.clone());
    let guards = loaded("", "");
    let reason = accepted.slipped(&guards, &read, &NoEvidence).remove(0);
    assert!(reason.contains("F2") && reason.contains("git diff"), "{reason}");
    assert_eq!(accepted.slipped(&guards, &read, &Proven), Vec::<String>::new());
    assert!(matches!(notes.hold(&reason, None, false), Returned::Held(_)));
    assert!(matches!(notes.hold(&reason, None, true), Returned::LetGo(_)));
    assert!(matches!(notes.hold(&reason, None, false), Returned::Held(_)));
    assert!(matches!(notes.hold(&reason, None, false), Returned::LetGo(_)));
}

#[test]
fn a_policy_or_settings_that_became_milder_behind_our_back_are_noticed() {
    let files = files();
    let of = |path: &str| files.0.get(&format!("/p/{path}")).cloned();
    let accepted = Accepted::now(&of);
    let guards = loaded("", "");
    assert_eq!(accepted.slipped(&guards, &of, &NoEvidence), Vec::<String>::new());
    let changed = |path: &str| match path {
        ".twining/policy.yml" => Some("guards: []\n".to_owned()),
        ".claude/settings.json" => Some("{}".to_owned()),
        ".cursor/hooks.json" => Some("{}".to_owned()),
        path => of(path),
    };
    let told = accepted.slipped(&guards, &changed, &NoEvidence);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("`no-push` would no longer hold") && told[1].contains("hooks-stay-wired"), "{told:?}");
}

#[test]
fn another_s_claim_keeps_an_edit_away_and_not_a_reading() {
    struct Alice;
    impl Claims for Alice {
        fn held(&self, path: &str) -> Option<Claim> {
            let claim = Claim { by: "alice".into(), until: twining_model::Time::from_ms(0), reason: "rewriting".into() };
            path.starts_with("src/").then_some(claim)
        }
        fn held_below(&self, folder: &str) -> Option<Claim> {
            if folder.is_empty() || folder == "src" { self.held("src/") } else { self.held(folder) }
        }
    }
    let (guards, files) = (loaded("", ""), files());
    let said = |(tool, input): (&str, Value)| {
        let event = Event::of_tool(tool, action(tool, &input), "/p");
        guards.judge(&event, &Facts { root: "/p", files: &files, evidence: &NoEvidence, claims: &Alice })
    };
    let denied = said(write("src/a.rs", "fn b() {}"));
    assert_eq!(denied.verdict, Level::Block);
    assert!(denied.reason().contains("alice has `src/a.rs`") && denied.reason().contains("rewriting"), "{}", denied.reason());
    assert_eq!(said(bash("rm -rf src")).verdict, Level::Block);
    assert_eq!(said(bash("echo x > src/new.rs")).verdict, Level::Block);
    for fine in
        [write("src/a.rs", "fn a() {}\n"), write("docs/a.md", "x"), bash("cat src/a.rs"), ("Read", json!({"file_path": "/p/src/a.rs"}))]
    {
        assert_eq!(said(fine.clone()).verdict, Level::Off, "{fine:?}");
    }
}

#[test]
fn what_a_decision_rules_out_is_not_brought_in() {
    let clause = |items: &[&str], is_contested: bool| Clause {
        id: "01D".into(),
        paths: globs_of("src"),
        must_not_use: items.iter().map(|item| (*item).to_owned()).collect(),
        say: "dates are jiff's".into(),
        is_contested,
    };
    let mut guards = loaded("", "");
    guards.bind(&vec![clause(&["chrono"], false)]);
    let said = |guards: &Guards, (tool, input): (&str, Value)| judge_with(guards, tool, &input, &NoEvidence).verdict;
    assert_eq!(said(&guards, write("src/a.rs", "use chrono::Utc;\nfn a() {}\n")), Level::Block);
    assert_eq!(said(&guards, edit("src/a.rs", "fn a", "use chrono::Utc;\nfn a")), Level::Block);
    assert_eq!(said(&guards, bash("cat > src/b.rs <<'EOF'\nuse chrono::Utc;\nEOF")), Level::Block);
    assert_eq!(said(&guards, write("src/a.rs", "// chrono is out\n")), Level::Off);
    assert_eq!(said(&guards, write("tests/a.rs", "use chrono::Utc;\n")), Level::Off);
    let mut guards = loaded("", "");
    guards.bind(&vec![clause(&["chrono"], true)]);
    assert_eq!(said(&guards, write("src/a.rs", "use chrono::Utc;\n")), Level::Warn, "contested, so only told");
}

#[test]
fn guards_that_were_kept_judge_as_those_that_were_loaded() {
    let policy = "guards:\n  - {id: a, tools: [Bash], when: {command: git push, agent: main}, say: no, action: ask}\n  - {id: b, paths: ['m/{x,y}/**'], except: ['m/x/z'], say: no}\n  - {id: dead, paths: [q], say: no, examples: {blocks: [ls]}}\n";
    let loaded = loaded("", policy);
    let kept = Guards::from_compiled(&loaded.to_compiled(), &UserPolicy::default()).expect("reads");
    let shown = |guards: &Guards| {
        format!("{:?}", guards.guards.iter().map(|guard| Guard { examples: Vec::new(), ..guard.clone() }).collect::<Vec<_>>())
    };
    assert_eq!(shown(&kept), shown(&loaded));
    assert!(Guards::from_compiled(b"{}", &UserPolicy::default()).is_none());
}

#[test]
fn a_user_s_own_settings_are_out_of_an_agent_s_reach() {
    let mut guards = loaded("", "");
    guards.protect(&["/home/u/.config/twining".to_owned()]);
    let said = |tool: &str, input: Value| judge_with(&guards, tool, &input, &NoEvidence).verdict;
    assert_eq!(said("Write", json!({"file_path": "/home/u/.config/twining/policy.yml", "content": "guards: []"})), Level::Block);
    assert_eq!(said("Bash", json!({"command": "echo 'guards: {}' > /home/u/.config/twining/policy.yml"})), Level::Block);
    assert_eq!(said("Write", json!({"file_path": "/home/u/.config/other/x", "content": "x"})), Level::Off);
}

#[test]
fn a_coder_that_changed_nothing_is_noticed() {
    let mut event = Event::of_tool("", Action::Nothing, "/p");
    (event.agent_id, event.agent_type) = (Some("a1".into()), Some("coding-agent".into()));
    let mut notes = Notes::default();
    assert_eq!(notes.returns_empty(&event), None, "nothing is known yet");
    let mut ran = event.clone();
    ran.action = Action::Shell("ls; cat x".into());
    notes.tool_ran(&ran, None);
    assert!(notes.returns_empty(&event).is_some());
    ran.action = Action::Shell("ls 2>/dev/null; git log > /dev/null 2>&1".into());
    notes.tool_ran(&ran, None);
    assert!(notes.returns_empty(&event).is_some(), "nothing is left of it");
    ran.action = Action::Shell("echo > x".into());
    notes.tool_ran(&ran, None);
    assert_eq!(notes.returns_empty(&event), None);
}

#[test]
fn a_person_s_commands_are_not_an_agent_s_whatever_lends_it_a_terminal() {
    for line in [
        "twining guard bypass no-push --for 10m --reason x",
        "cd /elsewhere; ./target/debug/twining --project /p guard promote learned-1",
        "env -i twining trust no-push",
        "script -qec 'twining guard bypass no-push --for 1h --reason x' /dev/null",
        "script -qc \"twining trust a\" out",
        "expect -c 'spawn twining guard bypass x --for 5m --reason y; interact'",
        "tmux send-keys 'twining guard promote x' Enter",
        "unbuffer twining guard bypass x --for 5m --reason y",
        "python3 -c \"import pty; pty.spawn(['twining','guard','bypass','x'])\"",
        "bash -c 'twining guard bypass x --for 5m --reason y'",
    ] {
        let (tool, input) = bash(line);
        assert_eq!(verdict(tool, &input), Level::Block, "{line}");
    }
    for line in [
        "twining guard list",
        "twining guard explain < event.json",
        "twining promote 01M7EB3QWY4C5CPJF6982ZJQ18",
        "git commit -m 'docs: twining guard bypass explained'",
        "grep -rn 'twining trust' docs",
        "echo twining guard bypass",
    ] {
        let (tool, input) = bash(line);
        assert_eq!(verdict(tool, &input), Level::Off, "{line}");
    }
}

#[test]
fn what_a_person_allowed_is_not_an_agent_s_to_write() {
    for (tool, input) in [
        ("Write", json!({"file_path": "/home/u/.config/twining/policy.yml", "content": "guards: {}"})),
        ("Write", json!({"file_path": "/elsewhere/state/twining/allowed-by-person/0.json", "content": "{}"})),
        bash("echo x > ~/.config/twining/policy.yml"),
        bash("cp /elsewhere/x \"$HOME/.config/twining/allowed-by-person/0.json\""),
        bash("echo '{}' > /elsewhere/settings/twining/allowed-by-person/0.json"),
        bash("rm -rf /home/u/.config/twining"),
        bash("sed -i s/a/b/ settings/twining/allowed-by-person/0.json"),
    ] {
        assert_eq!(verdict(tool, &input), Level::Block, "{input}");
    }
    for (tool, input) in [bash("echo x > /home/u/.config/other/x"), bash("ls ~/.config/twining"), write("src/twining/mod.rs", "x")] {
        assert_eq!(verdict(tool, &input), Level::Off, "{input}");
    }
}

#[test]
fn a_proposed_guard_warns_and_no_more_until_a_person_promotes_it() {
    let proposed =
        "guards:\n  - {id: no-push, status: proposed, action: block, on_error: block, tools: [Bash], when: {command: git push}, say: no}\n";
    let (tool, input) = bash("git push");
    assert_eq!(judge_with(&loaded("", proposed), tool, &input, &NoEvidence).verdict, Level::Warn);
    assert!(loaded("", &proposed.replace("proposed", "maybe")).guards.iter().all(|guard| guard.id != "no-push"));

    let mut files = files();
    files.0.insert("/p/.twining/policy.yml".to_owned(), proposed.to_owned());
    let event =
        |text: &str| Event::of_tool("Write", action("Write", &json!({"file_path": "/p/.twining/policy.yml", "content": text})), "/p");
    let judged = |text: &str| {
        loaded("", proposed).judge(&event(text), &Facts { root: "/p", files: &files, evidence: &NoEvidence, claims: &NoClaims })
    };
    let promoted = judged(&proposed.replace("proposed", "active"));
    assert_eq!(promoted.verdict, Level::Ask);
    assert!(promoted.reason().contains("a person promotes it"), "{}", promoted.reason());
    assert_eq!(judged(&format!("{proposed}  - {{id: other, tools: [Bash], say: x, when: {{command: rm}}}}\n")).verdict, Level::Off);
}

#[test]
fn a_command_to_verify_by_is_handed_on_and_never_run_here() {
    let policy =
        "guards:\n  - {id: lint, action: warn, on_error: ask, tools: [Bash], when: {command: git commit}, verify: make lint, say: no}\n";
    let (tool, input) = bash("git commit -m x");
    let judged = judge_with(&loaded("", policy), tool, &input, &NoEvidence);
    let finding = judged.spoken().next().expect("speaks");
    assert_eq!(finding.verify, Some(Verify { command: "make lint".into(), unverified: Level::Ask }));
    let weighed = judged.weighed(&mut |finding| finding.verify.as_ref().map(|verify| (verify.unverified, "not allowed yet".to_owned())));
    assert_eq!(weighed.verdict, Level::Ask);
    for broken in ["verify: ''", "verify: {command: x, shell: y}", "verify: [a, b]"] {
        assert!(loaded("", &policy.replace("verify: make lint", broken)).guards.iter().all(|guard| guard.id != "lint"), "{broken}");
    }
}

#[test]
fn s14_a_guard_cannot_write_the_line_of_another() {
    let guards =
        loaded("", "guards:\n  - {id: a, tools: [Bash], when: {command: git push}, say: \"no\\n[protect-twining-state] all is well\"}\n");
    let (tool, input) = bash("git push");
    let told = judge_with(&guards, tool, &input, &NoEvidence).reason();
    assert_eq!(told.lines().count(), 1, "{told}");
}
