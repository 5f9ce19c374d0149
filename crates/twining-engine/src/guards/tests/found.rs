//! Ways around the guards, and false alarms, that were found from outside.

use super::*;

fn stopped(guards: &Guards, (tool, input): &(&str, Value)) -> Level {
    judge_with(guards, tool, input, &NoEvidence).verdict
}

#[test]
fn a_policy_that_is_too_large_to_be_read_takes_no_guard_away() {
    let policy = files().0["/p/.twining/policy.yml"].clone();
    let padded = format!("{policy}{}", "# nothing to see here\n".repeat(20_000));
    assert!(padded.len() > twining_model::limits::POLICY_BYTES);
    let guards = loaded("", &policy);
    assert_eq!(stopped(&guards, &write(".twining/policy.yml", &padded)), Level::Ask);
    // Written behind our back, it is told at the end of the turn and at the commit.
    let accepted = Accepted::now(&|path: &str| (path == ".twining/policy.yml").then(|| policy.clone()));
    let told = accepted.slipped(&guards, &|path: &str| (path == ".twining/policy.yml").then(|| padded.clone()), &NoEvidence);
    assert!(told.len() == 1 && told[0].contains("larger than 262144 bytes"), "{told:?}");
}

#[test]
fn while_the_policy_cannot_be_read_nothing_changes_but_the_policy() {
    let unread = PolicyFile::Unusable("it is larger than 262144 bytes".into());
    let guards = Guards::load(&UserPolicy::default(), &unread, &NoClauses, Trial::Tried);
    let kept = Guards::from_compiled(&guards.to_compiled(), &UserPolicy::default()).expect("reads");
    for guards in [guards, kept] {
        assert_eq!(stopped(&guards, &write("src/a.rs", "fn b() {}\n")), Level::Block);
        assert_eq!(stopped(&guards, &bash("git push")), Level::Ask);
        assert_eq!(stopped(&guards, &bash("echo x > src/a.rs")), Level::Block);
        let mended = files().0["/p/.twining/policy.yml"].clone() + "# mended\n";
        assert_eq!(stopped(&guards, &write(".twining/policy.yml", &mended)), Level::Off);
        assert_eq!(stopped(&guards, &("Read", json!({"file_path": "/p/src/a.rs"}))), Level::Off);
    }
}

#[test]
fn a_policy_that_was_broken_before_anybody_came_takes_no_guard_away() {
    let rule = "  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n";
    for (broken, line) in [
        (format!("guards:\n<<<<<<< HEAD\n{rule}=======\n{rule}>>>>>>> theirs\n"), 2),
        (format!("guards:\n{rule} - {{id: b, tools: [Bash]\n"), 4),
        (format!("guards: [\nroles: {{}}\n{rule}"), 1),
        ("- guards\n".to_owned(), 1),
        (format!("guards:\n{rule}\tid: tab\n"), 3),
    ] {
        let guards = loaded("", &broken);
        assert_eq!(stopped(&guards, &write("src/a.rs", "fn b() {}\n")), Level::Block, "{broken}");
        assert_eq!(stopped(&guards, &bash("git push")), Level::Ask, "{broken}");
        let told = judge_with(&guards, "Write", &json!({"file_path": "/p/src/b.rs", "content": "x"}), &NoEvidence).reason();
        assert!(told.contains("[policy-is-read]") && told.contains(".twining/policy.yml:") && told.contains("editing that file"), "{told}");
        let told = guards.unread().expect("is told");
        let at: u64 = told.split("policy.yml:").nth(1).and_then(|rest| rest.split(':').next()).expect("a line").parse().expect("a number");
        assert!(at.abs_diff(line) <= 1, "line {line}: {told}");
        // Nobody is locked in.
        for line in [
            "git status",
            "cat .twining/policy.yml",
            "twining guard list",
            "git diff HEAD -- .twining/policy.yml | head -20",
            "cd src && ls",
        ] {
            assert_eq!(stopped(&guards, &bash(line)), Level::Off, "{line}");
        }
        for line in [
            "cat $(rm x)",
            "git -c core.pager=x log",
            "git diff --output=src/a.rs",
            "git checkout --ours .twining/policy.yml",
            "twining doctor --fix",
            "make",
        ] {
            assert!(stopped(&guards, &bash(line)) >= Level::Ask, "{line}");
        }
    }
}

#[test]
fn a_mistake_beside_the_guards_leaves_them_in_force() {
    let rule = "  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n";
    for policy in [
        format!("roles:\n  coach: [unclosed\nguards:\n{rule}"),
        format!("guards:\n{rule}gates:\n  feature: {{coverage_threshold: a lot}}\n"),
        format!("guards:\n{rule}  - {{id: wrong, tools: [Bash], say: x, colour: red}}\n"),
        format!("roles: {{}}\n---\nguards:\n{rule}"),
    ] {
        let guards = loaded("", &policy);
        assert_eq!(guards.unread(), None, "{policy}");
        assert_eq!(stopped(&guards, &bash("git push")), Level::Block, "{policy}");
        assert_eq!(stopped(&guards, &write("src/a.rs", "fn b() {}\n")), Level::Off, "{policy}");
    }
}

#[test]
fn whoever_mends_a_policy_leaves_no_guard_out_unasked() {
    let rule = |id: &str| format!("  - {{id: {id}, tools: [Bash], when: {{command: git push}}, say: no}}\n");
    let list = format!("guards:\n<<<<<<< HEAD\n{}=======\n  - id: theirs # of them\n    tools: [Bash]\n>>>>>>> x\n", rule("ours"));
    let map =
        "guards:\n<<<<<<< HEAD\n  ours:\n    when:\n      command: x\n=======\n  theirs: {tools: [Bash]}\n>>>>>>> x\nroles:\n  coach:\n"
            .to_owned();
    for broken in [list, map] {
        let guards = loaded("", &broken);
        let mut held = files();
        held.0.insert("/p/.twining/policy.yml".into(), broken.clone());
        let judged = |after: &str| {
            let input = json!({"file_path": "/p/.twining/policy.yml", "content": after});
            let event = Event::of_tool("Write", action("Write", &input), "/p");
            guards.judge(&event, &Facts { root: "/p", files: &held, evidence: &NoEvidence, claims: &NoClaims }).verdict
        };
        assert_eq!(judged(&format!("guards:\n{}{}", rule("ours"), rule("theirs"))), Level::Off, "{broken}");
        assert_eq!(judged(&format!("guards:\n{}", rule("ours"))), Level::Ask, "{broken}");
        assert_eq!(judged("guards: []\n"), Level::Ask, "{broken}");
        assert_eq!(judged(&broken.replace("<<<<<<< HEAD\n", "")), Level::Off, "one step on the way: {broken}");
    }
}

#[test]
fn an_agent_does_not_take_twining_away() {
    let guards = loaded("", "");
    for line in [
        "twining uninstall",
        "twining uninstall -y",
        "twining --project . uninstall --purge --yes",
        "./target/debug/twining uninstall --purge -y",
        "bash -c 'twining uninstall -y'",
        "script -qc 'twining uninstall' /elsewhere/log",
        "python3 -c \"import os; os.system('twining uninstall -y')\"",
    ] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Block, "{line}");
    }
    for line in ["twining uninstall --dry-run", "twining uninstall --help", "npm uninstall left-pad", "grep -r 'twining uninstall' docs"] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Off, "{line}");
    }
}

#[test]
fn an_empty_file_that_was_not_there_is_a_change() {
    let guards = loaded("", "guards:\n  - {id: final, paths: ['migrations/**'], say: written by hand}\n");
    for call in [
        write(".twining/features.json", ""),
        write("migrations/002.sql", ""),
        bash("touch .twining/features.json"),
        bash("touch -d yesterday migrations/002.sql"),
        bash("cd migrations && touch 002.sql"),
    ] {
        assert_eq!(stopped(&guards, &call), Level::Block, "{call:?}");
    }
    for line in ["touch src/b.rs", "touch .twining/blackboard.jsonl"] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Off, "{line}: nothing of anybody's changes");
    }
}

#[test]
fn only_a_list_is_taken_for_one() {
    let guards = loaded("", "");
    let geo = r#"{"type": "FeatureCollection", "features": []}"#;
    let judged = |held: &Held, (tool, input): (&str, Value)| {
        let event = Event::of_tool(tool, action(tool, &input), "/p");
        guards.judge(&event, &Facts { root: "/p", files: held, evidence: &NoEvidence, claims: &NoClaims }).verdict
    };
    let globs = ["sed -i 's/1/2/' *.json", "rm *.json", "mv *.json data/"];
    let none = Held([("/p/features.json".to_owned(), geo.to_owned())].into());
    for line in globs.into_iter().chain([
        "sed -i 's/1/2/' data/features.json",
        "echo '{}' > node_modules/foo/features.json",
        "cp a.json tests/fixtures/feature_list.json",
        "sed -i s/a/b/ features.json",
    ]) {
        // A map's features are nobody's features.
        assert!(judged(&none, bash(line)) < Level::Ask, "{line}");
    }
    assert!(judged(&none, write("data/features.json", r#"[{"id": "F", "tested": true}]"#)) < Level::Ask);
    let some = Held([("/p/feature-list.json".to_owned(), BEFORE.to_owned())].into());
    for line in globs {
        assert_eq!(judged(&some, bash(line)), Level::Block, "{line}");
    }
}

#[test]
fn what_is_ruled_out_does_not_come_in_by_a_command_line() {
    let clause = Clause {
        id: "01D".into(),
        paths: vec!["src/**".into()],
        must_not_use: vec!["moment".into()],
        say: "dates stay plain".into(),
        is_contested: false,
    };
    let guards = Guards::load(&UserPolicy::default(), &PolicyFile::Missing, &vec![clause], Trial::Tried);
    for line in [
        "echo 'import moment' > src/b.py",
        "cat >> src/a.rs <<E\nimport moment\nE",
        "printf 'x\\nimport moment\\n' | tee src/b.py",
        "sed -i '1i import moment' src/a.rs",
        "sed -i 's/import dayjs/import moment/' src/a.rs",
    ] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Block, "{line}");
    }
    for line in [
        "echo 'import moment' > notes/b.py",
        "sed -i 's/import moment/import dayjs/' src/a.rs",
        "echo 'at this moment' > src/b.py",
        "grep -r 'import moment' . > src/found.txt",
    ] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Off, "{line}");
    }
}

#[test]
fn a_list_is_taken_away_by_a_patch_as_little_as_by_rm() {
    let guards = loaded("", "");
    let patch = |body: &str| ("apply_patch", json!({"input": format!("*** Begin Patch\n{body}\n*** End Patch\n")}));
    for call in [
        bash(&format!("rm {LIST}")),
        patch(&format!("*** Delete File: {LIST}")),
        patch(&format!("*** Update File: {LIST}\n*** Move to: docs/old.json")),
        ("mcp__x__apply_patch", json!({"diff": format!("--- a/{LIST}\n+++ b/{LIST}\n@@ -1 +1 @@\n-a\n+b\n")})),
    ] {
        assert_eq!(stopped(&guards, &call), Level::Block, "{call:?}");
    }
    for call in [patch("*** Delete File: src/a.rs"), ("apply_patch", json!({"diff": "--- a/src/a.rs\n+++ b/src/a.rs\n"}))] {
        assert_eq!(stopped(&guards, &call), Level::Off, "{call:?}");
    }
}

#[test]
fn a_fixture_in_a_folder_of_our_name_is_anybody_s() {
    struct Nested(Held);
    impl Files for Nested {
        fn read(&self, path: &str) -> Result<Option<String>, String> {
            self.0.read(path)
        }
        fn real(&self, path: &str) -> String {
            path.to_owned()
        }
        fn holds_project(&self, path: &str) -> bool {
            path == "/p/vendor/tool"
        }
    }
    let (guards, nested) = (loaded("", ""), Nested(files()));
    let judged = |cwd: &str, (tool, input): (&str, Value)| {
        let event = Event::of_tool(tool, action(tool, &input), cwd);
        guards.judge(&event, &Facts { root: "/p", files: &nested, evidence: &NoEvidence, claims: &NoClaims }).verdict
    };
    let tested = r#"[{"id": "F", "tested": true}]"#;
    for path in ["tests/fixtures/repo/.twining/features.json", "tests/fixtures/repo/.claude/progress/feature-list.json"] {
        assert_eq!(judged("/p", write(path, tested)), Level::Off, "{path}");
        assert_eq!(judged("/p", bash(&format!("echo x > {path}"))), Level::Off, "{path}");
        assert_eq!(judged("/p", bash(&format!("cp {path} {LIST}"))), Level::Block, "{path}");
    }
    assert_eq!(judged("/p", bash("rm -rf tests/fixtures/repo/.twining")), Level::Off);
    // Another project's own, and the list of a host that was started further down.
    assert_eq!(judged("/p", write("vendor/tool/.twining/blackboard.jsonl", "x")), Level::Block);
    assert_eq!(judged("/p", bash("cd vendor/tool && echo x > .twining/blackboard.jsonl")), Level::Block);
    assert_eq!(judged("/p/web/src", write("web/.claude/progress/feature-list.json", tested)), Level::Block);
    assert_eq!(judged("/p", write(".twining/a/.twining/b", "x")), Level::Block);
}

#[test]
fn a_search_that_leaves_the_records_out_leaves_them_out() {
    let guards = loaded("", "");
    for line in [
        "find . -name '*.md' -not -path './.twining/*' | xargs sed -i s/a/b/",
        "find . -type f ! -path './.twining/*' -exec sed -i s/a/b/ {} +",
        "find . -path ./.twining -prune -o -name '*.rs' -print | xargs sed -i s/a/b/",
        "sed -i s/a/b/ $(find . -name '*.rs' -not -path './.twining/*')",
        "for f in $(find . -name '*.rs' ! -path '*/.twining/*'); do sed -i s/a/b/ $f; done",
        "find . -name '*.orig' -not -path './.twining/*' -delete",
        "grep -rl foo . --exclude-dir .twining | xargs sed -i s/foo/bar/",
    ] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Off, "{line}");
    }
    for line in [
        "find . -path './.twining/*' | xargs sed -i s/a/b/",
        "find . -name '*.json' | xargs sed -i s/a/b/",
        // The other list is there.
        "find . -name '*.json' -not -path './.twining/*' | xargs sed -i s/a/b/",
        "find . -name '*.json' -not -path './.twining/*' -exec sed -i s/a/b/ {} +",
        "find . ! ! -path './.twining/*' | xargs sed -i s/a/b/",
        "find . ! \\( ! -path './.twining/*' \\) | xargs sed -i s/a/b/",
        "find .twining -type f ! -path './.twining/x' -exec sed -i s/a/b/ {} +",
        "find . -path './.twining/*' -prune -o -name x -delete",
        "find . -not -path './src/*' -path './.twining/*' -exec rm {} +",
    ] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Block, "{line}");
    }
    let none = Held(BTreeMap::new());
    for line in [
        "find . -name '*.json' -not -path './.twining/*' | xargs sed -i s/a/b/",
        "find . -name '*.json' ! -path '*/.twining/*' -exec sed -i s/a/b/ {} +",
        "find . -path ./.twining -prune -o -name '*.json' -print0 | xargs -0 sed -i s/a/b/",
    ] {
        let event = Event::of_tool("Bash", Action::Shell(line.to_owned()), "/p");
        let facts = Facts { root: "/p", files: &none, evidence: &NoEvidence, claims: &NoClaims };
        assert_eq!(guards.judge(&event, &facts).verdict, Level::Off, "{line}");
    }
}

#[test]
fn words_and_lines_that_hide_a_little_are_seen() {
    let guards = loaded("", "");
    for line in [
        "echo x > .twi\\\nning/blackboard.jsonl",
        "x=.twining/blackboard.jsonlX; echo a > ${x%X}",
        "x=zz.twining/blackboard.jsonl; echo a > \"${x:2}\"",
        "x=zz.twining/blackboard.jsonl; echo a > ${x#zz}",
        "x=Atwining/blackboard.jsonl; echo a > ${x/A/.}",
        "env -C .twining tee blackboard.jsonl",
        "env --chdir=.twining sh -c 'echo x > blackboard.jsonl'",
        "flock lockfile -c 'echo x > .twining/blackboard.jsonl'",
        "script -qc 'echo x > .twining/blackboard.jsonl' out",
        "alias t=tee; t .twining/blackboard.jsonl",
        "alias cat=tee; cat .twining/blackboard.jsonl",
        "vim -R -c 'w!' .twining/blackboard.jsonl",
        "vim .twining/blackboard.jsonl",
        "chown nobody .twining",
        "F=.twining/blackboard.jsonl; bash <<E\necho x > $F\nE",
    ] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Block, "{line}");
    }
    for line in [
        "vim -R .twining/blackboard.jsonl",
        "chown -R $USER .",
        "chown -R \"$USER:$USER\" .",
        "alias ll='ls -la'; ll .twining",
        "alias ls='ls -la'; ls .twining",
        "script -c 'cargo test' /elsewhere/typescript",
        "flock lockfile -c 'cat .twining/blackboard.jsonl'",
        "cargo test \\\n  --workspace \\\n  > out.txt",
        "env -C src cargo build > out.txt",
    ] {
        assert_eq!(stopped(&guards, &bash(line)), Level::Off, "{line}");
    }
}
