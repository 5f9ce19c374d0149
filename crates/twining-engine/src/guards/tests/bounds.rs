//! However a call is made up, it is answered after a bounded number of steps, and
//! what is not read is `on_error`'s.

use proptest::prelude::*;

use super::*;

/// Pieces that hostile lines are made of.
const PIECES: [&str; 40] = [
    "a",
    " ",
    ";",
    "|",
    "&&",
    "(",
    ")",
    "$(",
    "`",
    "'",
    "\"",
    "<<A ",
    "<<'E'\n",
    "\nE\n",
    ">x ",
    ">>",
    ">|",
    "<>",
    "{a,b}",
    "${",
    "}",
    "$((",
    "))",
    "case ",
    "if ",
    "then ",
    "for i in ",
    "; do ",
    "while read f",
    "done",
    "\\",
    "\n",
    "bash -c ",
    "xargs ",
    "=",
    "$a",
    "[[ ",
    "\u{0}",
    "é",
    "*",
];

fn judged(line: &str) -> Judgement {
    let (tool, input) = bash(line);
    judge_with(&loaded("", ""), tool, &input, &NoEvidence)
}

#[test]
fn a_line_that_takes_too_long_to_read_is_on_errors() {
    let nested = (0..12).fold("echo > x".to_owned(), |line, _| format!("bash -c {}", json!(line)));
    for line in [
        "a".repeat(1 << 20),
        "(".repeat(10_000),
        "$(".repeat(1 << 19),
        "'\"".repeat(1 << 19),
        "a|".repeat(50_000),
        ">a ".repeat(100_000),
        (0..14_000).map(|at| format!(">a{at} ")).collect(),
        "a;".repeat(100_000),
        "<".repeat(100_000),
        ")".repeat(100_000),
        "if a; then ".repeat(10_000),
        "for i in a; do ".repeat(8_000),
        (0..6_000).map(|at| format!("cd a{at};>b{at};")).collect(),
        format!("echo {}{}", "'a b' ".repeat(200), "|sh".repeat(30_000)),
        format!("v0=xxxxxxxx;{}echo > $v60", (0..60).map(|at| format!("v{}=$v{at}$v{at}$v{at}$v{at};", at + 1)).collect::<String>()),
        "bash -c 'echo > x';".repeat(6_000),
    ] {
        let judgement = judged(&line);
        assert_eq!(judgement.verdict, Level::Block, "{}…", &line[..24]);
        assert!(judgement.reason().contains("on_error"), "{}…: {}", &line[..24], judgement.reason());
    }
    // What is nested is cut off long before it is too deep to read.
    drop(judged(&nested[..nested.len().min(100_000)]));
}

#[test]
fn a_line_is_on_errors_once_nobody_waits_any_longer() {
    struct Hurried;
    impl Files for Hurried {
        fn read(&self, _: &str) -> Result<Option<String>, String> {
            Ok(None)
        }
        fn real(&self, path: &str) -> String {
            path.to_owned()
        }
        fn patience(&self) -> Patience {
            || false
        }
    }
    let judged = |line: &str| {
        let event = Event::of_tool("Bash", Action::Shell(line.to_owned()), "/p");
        loaded("", "").judge(&event, &Facts { root: "/p", files: &Hurried, evidence: &NoEvidence, claims: &NoClaims })
    };
    for line in ["case ".repeat(20_000), "<<A ".repeat(25_000), "a) ".repeat(30_000), "|&".repeat(50_000)] {
        assert!(judged(&line).reason().contains("on_error"), "{}…", &line[..8]);
    }
    assert_eq!(judged("git status && cargo test | tail -5").verdict, Level::Off, "a short line is read before anybody is asked");
}

#[test]
fn text_that_is_not_ascii_hides_nothing() {
    for line in [
        "''{\u{e0199}; echo > .twining/blackboard.jsonl",
        "echo 'grüße' \u{1f600} > .twining/blackboard.jsonl",
        "cat <<'\u{e9}'\n\u{e8}\n'\n\u{e9}\nrm -rf .twining",
        "cat <<'\u{1}\u{1}'\n\u{e8}\n'\n\u{1}\u{1}\nrm -rf .twining",
        "echo a\u{a0}> .twining/blackboard.jsonl",
        "echo > .twining/\u{e9}",
    ] {
        assert_eq!(judged(line).verdict, Level::Block, "{line}");
    }
    for line in
        ["echo 'grüße' > notes-\u{e9}.md", "cat > docs/ü.md <<'EOF'\nöäü “quoted” — and so on\nEOF", "git commit -m 'fix: naïve café ☕'"]
    {
        assert_eq!(judged(line).verdict, Level::Off, "{line}: {}", judged(line).reason());
    }
}

#[test]
fn long_lines_that_say_little_are_read() {
    let text = "let x = 1 << 3 | 4; // `not` $(run) ${here} (at) {all}\n".repeat(1_500);
    for line in [
        format!("cat > src/big.rs <<'EOF'\n{text}EOF\n"),
        format!("git commit -m \"$(cat <<'EOF'\nfix: {}\nEOF\n)\"", "words of a message ".repeat(500)),
        format!("prettier --write {}", (0..1_000).map(|at| format!("src/file{at}.ts ")).collect::<String>()),
        format!("python3 - <<'EOF'\n{}EOF\n", "print('x')\n".repeat(5_000)),
        (0..100).map(|at| format!("mkdir -p out/{at} && echo {at} > out/{at}/x\n")).collect(),
        format!("grep -E '{}' src/*.rs | sort | uniq -c | sort -rn | head -20", "abc|".repeat(500)),
        format!("echo {}", "a ".repeat(2_000)),
    ] {
        let judgement = judged(&line);
        assert_eq!(judgement.verdict.max(Level::Warn), Level::Warn, "{}…: {}", &line[..24], judgement.reason());
    }
}

#[test]
fn a_call_of_many_edits_or_files_is_answered() {
    let many = |count: usize| vec![json!({"old_string": "F1", "new_string": "F1"}); count];
    let mut held = files();
    held.0.insert(format!("/p/{LIST}"), BEFORE.repeat(2_000));
    let verdict = |tool: &str, input: &Value| {
        let event = Event::of_tool(tool, action(tool, input), "/p");
        loaded("", "").judge(&event, &Facts { root: "/p", files: &held, evidence: &NoEvidence, claims: &NoClaims }).verdict
    };
    assert_eq!(verdict("MultiEdit", &json!({"file_path": LIST, "edits": many(20_000)})), Level::Block, "what it becomes is not known");
    let sections = format!("*** Update File: {LIST}\n@@\n-a\n+b\n").repeat(5_000);
    assert_eq!(verdict("apply_patch", &json!({ "input": format!("*** Begin Patch\n{sections}") })), Level::Block);
    let parts = "@@\n+x\n".repeat(50_000);
    assert_eq!(verdict("apply_patch", &json!({ "input": format!("*** Begin Patch\n*** Update File: {LIST}\n{parts}") })), Level::Block);
}

#[test]
fn an_edit_that_would_make_more_than_any_file_holds_is_not_carried_out() {
    let mut held = files();
    held.0.insert(format!("/p/{LIST}"), "a".repeat(1 << 20));
    held.0.insert("/p/README.md".to_owned(), "h".to_owned());
    let judged = |tool: &str, input: &Value| {
        let event = Event::of_tool(tool, action(tool, input), "/p");
        loaded("", "").judge(&event, &Facts { root: "/p", files: &held, evidence: &NoEvidence, claims: &NoClaims })
    };
    let edit = |path: &str, old: &str, new: String| json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": true});
    let judgement = judged("Edit", &edit(LIST, "a", "b".repeat(10_000)));
    assert_eq!(judgement.verdict, Level::Block, "{}", judgement.reason());
    let doubled = |path: &str| json!({"file_path": path, "edits": vec![edit("", "h", "hh".to_owned()); 60]});
    assert_eq!(judged("MultiEdit", &doubled("README.md")).verdict, Level::Off, "what nobody watches may become anything");
    assert_eq!(judged("MultiEdit", &json!({"file_path": LIST, "edits": vec![edit("", "a", "aa".to_owned()); 60]})).verdict, Level::Block);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_of_hostile_pieces_breaks_anything(parts in prop::collection::vec((0..PIECES.len(), 1..60_usize), 1..60)) {
        let line: String = parts.iter().map(|(at, times)| PIECES[*at].repeat(*times)).collect();
        let _ = judged(&line);
    }

    #[test]
    fn no_text_breaks_anything(line in "\\PC{0,400}") {
        let _ = judged(&line);
    }

    #[test]
    fn no_patch_or_list_breaks_anything(text in "([*@+ -]|\n|[{\\[\":,tru}\\]]|Update File: |Move to: |a){0,200}") {
        let patch = format!("*** Begin Patch\n*** Update File: {LIST}\n{text}");
        let _ = verdict("apply_patch", &json!({ "input": patch }));
        let (tool, input) = write(LIST, &text);
        let _ = verdict(tool, &input);
    }
}
