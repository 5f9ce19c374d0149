//! Whatever hosts, repositories and agents send: an answer, never a panic, never a
//! message that is longer than it may be. `PROPTEST_CASES=100000` looks longer.

use proptest::prelude::*;
use serde_json::{Value, json};
use twining_guard::checks::feature_list::newly_tested;
use twining_guard::hosts::{HOSTS, HookReply, parse_json};
use twining_guard::policy::{Examples, policy_weakened};
use twining_guard::{
    Clause, EventKind, Facts, FileAccess, GuardEvent, GuardSet, MAX_WORDS, NoClaims, NoEvidence,
    UserPolicy, action,
};
use twining_model::TextFile;

/// Every file holds the same text.
struct OneText(String);

impl FileAccess for OneText {
    fn read(&self, _: &str) -> Result<Option<String>, String> {
        Ok(Some(self.0.clone()))
    }
}

/// JSON as a host might send it: known keys, odd values.
fn value() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "tool_name",
        "tool_input",
        "command",
        "file_path",
        "path",
        "content",
        "old_string",
        "new_string",
        "edits",
        "input",
        "patch",
        "cwd",
        "session_id",
        "tool_response",
        "stdout",
        "exit_code",
        "toolArgs",
        "toolName",
        "args",
        "action",
        "cell_id",
        "new_source",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// Words that mean something to one part or another, and anything between them.
fn text() -> impl Strategy<Value = String> {
    let words = vec![
        ".twining/blackboard.jsonl",
        "../",
        "/",
        "guards:\n",
        "  - id: x\n",
        "    say: no\n",
        "paths: [",
        "\"tested\": true",
        "{\"features\":[",
        "import moment from 'moment'\n",
        "*** Begin Patch\n",
        "*** Update File: a\n",
        "@@\n",
        "-a\n",
        "+b\n",
        "> ",
        "| tee ",
        "$(",
        "<<EOF\n",
        "rm -rf ",
        "git commit -n",
        "Write",
        "Bash",
        "apply_patch",
        "\u{202e}",
        "\u{0}",
        "ü",
        "]",
        "}",
    ];
    let known = prop::sample::select(words).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![3 => known, 1 => any::<String>()], 0..12)
        .prop_map(|parts| parts.concat())
}

fn guards() -> GuardSet {
    let mut guards = GuardSet::load(&UserPolicy::default(), &TextFile::Missing, Examples::Skip);
    let (id, say) = ("decision-1".to_owned(), "no ".repeat(100));
    guards.add_clauses(&[Clause {
        id,
        paths: vec!["**".into()],
        must_not_use: vec!["moment".into(), "src/old".into()],
        say,
        is_contested: false,
    }]);
    guards
}

proptest! {
    #[test]
    fn every_event_of_every_host_is_read_and_answered(json in value(), content in text()) {
        for host in HOSTS {
            let own = host.events.iter().map(|(name, _)| *name);
            for name in own.chain(EventKind::NAMES.iter().map(|(_, name)| *name)) {
                let event = host.parse(name, &json, "/p").expect("a known event");
                let answer = host.answer(&HookReply::Deny(content.clone()), event.event.kind, name);
                prop_assert!(answer.out.is_none_or(|out| serde_json::to_string(&out).is_ok()));
            }
        }
    }

    #[test]
    fn every_call_is_judged_in_few_words(tool in prop::sample::select(vec!["Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch", "Read", "mcp__x__move_file"]), input in value(), path in text(), held in text()) {
        let mut input = if input.is_object() { input } else { json!({ "command": input }) };
        input["file_path"] = Value::from(path);
        let event = GuardEvent::of_tool(tool, action(tool, &input), "/p");
        let evaluation = guards().evaluate(&event, &Facts { root: "/p", files: &OneText(held), evidence: &NoEvidence, claims: &NoClaims });
        let message = evaluation.message();
        prop_assert!(!message.contains('\n'));
        // A path may hold spaces, which count as words; nothing else makes a message longer.
        let in_paths: usize = evaluation.speaking().iter().map(|finding| finding.effect.split_whitespace().count()).max().unwrap_or_default();
        prop_assert!(message.split_whitespace().count() <= MAX_WORDS + in_paths, "{}", message);
    }

    #[test]
    fn policies_lists_and_json_of_any_text_are_compared(one in text(), other in text()) {
        let _ = policy_weakened(&one, &other);
        let _ = newly_tested(&one, &other);
        let _ = parse_json(&one);
        let guards = GuardSet::load(&UserPolicy { name: "user".into(), file: TextFile::Text(one) }, &TextFile::Text(other), Examples::Read);
        prop_assert!(guards.guards.len() >= 9, "those built in stay");
    }
}
