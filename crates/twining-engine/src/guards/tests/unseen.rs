//! Ways around the reader of command lines that a second look from outside found,
//! and honest lines that look like them.

use super::*;

fn level(call: &(&str, Value)) -> Level {
    verdict(call.0, &call.1)
}

#[test]
fn a_path_is_known_however_the_line_puts_it_together() {
    for line in [
        "a=(.twining blackboard.jsonl); echo x > ${a[0]}/${a[1]}",
        "a=(x .twining/blackboard.jsonl); echo x > \"${a[1]}\"",
        "declare -a a=(.twining/blackboard.jsonl); echo x > ${a[@]}",
        "declare -A m=([f]=.twining/blackboard.jsonl); echo x > ${m[f]}",
        "a[3]=.twining/blackboard.jsonl; echo x > ${a[3]}",
        "printf -v F '%s' .twining/blackboard.jsonl; echo x > $F",
        "printf -v F '%s/%s' .twining blackboard.jsonl; echo x > \"$F\"",
        "declare -n r=F; F=.twining/blackboard.jsonl; echo x > $r",
        "r=F; F=.twining/blackboard.jsonl; echo x > ${!r}",
        "echo x > $'.twining\\u002fblackboard.jsonl'",
        "echo x > $'.twining\\U0000002fblackboard.jsonl'",
        "echo ZWNobyB4ID4gLnR3aW5pbmcvYmxhY2tib2FyZC5qc29ubAo= | base64 -d | sh",
        "base64 -d <<< ZWNobyB4ID4gLnR3aW5pbmcvYmxhY2tib2FyZC5qc29ubAo= | bash",
    ] {
        assert_eq!(level(&bash(line)), Level::Block, "{line}");
    }
    for line in [
        "a=(src lib); ls ${a[0]} > /elsewhere/out",
        "printf -v N '%03d' 7; echo x > out-$N.txt",
        "declare -n r=F; F=out.txt; echo x > $r",
        "echo $'a\\u002fb' > notes.txt",
        "echo aGVsbG8gd29ybGQ= | base64 -d > hello.txt",
        "cat .twining/blackboard.jsonl | base64 > /elsewhere/x",
    ] {
        assert!(level(&bash(line)) < Level::Ask, "{line}");
    }
}

#[test]
fn programs_that_write_where_nobody_looked_are_known() {
    for line in [
        "uniq /elsewhere/x .twining/blackboard.jsonl",
        "sort x | uniq - .twining/blackboard.jsonl",
        "git merge-file .twining/decisions/a.json b c",
        "git apply --directory=.twining /elsewhere/p.diff",
        "git am --directory .twining < /elsewhere/p.mbox",
        "python3 -m zipfile -e /elsewhere/a.zip .twining",
        "python -m tarfile -e /elsewhere/a.tar .twining/",
        "twining export json --out .twining/blackboard.jsonl",
        "twining export madr --out=.twining/decisions",
        "find .twining -name '*.json' -exec sed -i s/a/b/ {} +",
        "find .twining -type f | xargs sed -i s/a/b/",
        "chmod -R 000 .twining",
        "chmod a-w .twining/blackboard.jsonl",
        "chmod -w .twining/blackboard.jsonl",
        "chmod u= .twining",
        "chown -R nobody .twining",
        "chattr +i .twining/blackboard.jsonl",
        "git clean -fdx",
        "git clean -ffdX",
        "at now <<< 'echo x > .twining/blackboard.jsonl'",
        "systemd-run --user sh -c 'echo x > .twining/blackboard.jsonl'",
        "mount --bind /elsewhere .twining",
    ] {
        assert_eq!(level(&bash(line)), Level::Block, "{line}");
    }
    for line in [
        "uniq -c .twining/blackboard.jsonl",
        "git merge-file -p .twining/decisions/a.json b c",
        "git merge-file src/a.rs b c",
        "git apply --directory=src /elsewhere/p.diff",
        "python3 -m zipfile -l /elsewhere/a.zip",
        "python3 -m pytest tests",
        "twining export html --out memory.html",
        "chmod +x scripts/run",
        "git clean -fd",
        "git clean -ndx",
        "git clean -fdx target",
        "git clean -fdx -e .twining",
        "npx prettier --write src",
        "chmod -R 755 .",
        "chmod -R u+rw .twining",
        "chmod 644 .twining/blackboard.jsonl",
        "chmod -R 000 build",
        "find . -name '*.rs' -exec sed -i s/a/b/ {} +",
    ] {
        assert!(level(&bash(line)) < Level::Ask, "{line}");
    }
}

#[test]
fn an_agent_does_not_speak_for_its_host_or_for_git() {
    for line in [
        "echo '{\"tool_name\":\"Bash\"}' | twining hook PostToolUse",
        "twining hook --agent gemini AfterTool < fake.json",
        "twining --project . hook PostToolUse < fake.json",
        "./target/debug/twining hook Stop",
        "t=twining; $t hook PostToolUse < fake.json",
        "$(which twining) hook PostToolUse < fake.json",
        "bash -c 'twining hook PostToolUse < fake.json'",
        "npx twining hook PostToolUse < fake.json",
        "script -qc 'twining hook PostToolUse' /elsewhere/log < fake.json",
        "python3 -c \"import subprocess; subprocess.run(['twining', 'hook', 'PostToolUse'], input=b'{}')\"",
        "cat fake.json | xargs -0 -I{} twining hook PostToolUse",
        "twining merge-driver lines a .twining/blackboard.jsonl b x",
    ] {
        assert_eq!(level(&bash(line)), Level::Block, "{line}");
    }
    for line in [
        "twining hook --help",
        "twining merge-driver --help",
        "twining guard explain < event.json",
        "twining guard test",
        "grep -rn 'twining hook' docs",
        "git commit -m 'twining hook: say why'",
        "echo 'twining hook PostToolUse' >> notes.md",
        "sed -n '/twining hook/p' README.md",
        "twining post finding 'the hook is slow'",
    ] {
        assert!(level(&bash(line)) < Level::Ask, "{line}");
    }
}

#[test]
fn asking_how_is_anybody_s() {
    for line in [
        "twining trust --help",
        "twining guard bypass --help",
        "twining guard promote -h",
        "twining guard accept --help",
        "twining uninstall --dry-run",
    ] {
        assert_eq!(level(&bash(line)), Level::Off, "{line}");
    }
    for line in ["twining guard accept", "twining trust x", "script -qc 'twining guard accept' /elsewhere/log", "twining trust --dry-run x"]
    {
        assert_eq!(level(&bash(line)), Level::Block, "{line}");
    }
}

#[test]
fn code_that_another_server_runs_is_read_as_code() {
    for (tool, input) in [
        ("mcp__sh__run", json!({"code": "open('.twining/blackboard.jsonl','w').write('x')"})),
        ("mcp__ide__executeCode", json!({"code": "import pathlib\npathlib.Path('.twining/decisions/a.json').unlink()"})),
        ("mcp__repl__eval", json!({"content": format!("require('fs').writeFileSync('{LIST}', 'it\\'s')")})),
    ] {
        assert!(verdict(tool, &input) >= Level::Ask, "{tool} {input}");
    }
    assert_eq!(verdict("PowerShell", &json!({"command": "Set-Content .twining/blackboard.jsonl x"})), Level::Block);
    for (tool, input) in [
        ("mcp__ide__executeCode", json!({"code": "print(open('.twining/blackboard.jsonl').read())"})),
        ("mcp__ide__executeCode", json!({"code": "open('out.txt','w').write('x')"})),
        ("mcp__gh__create_issue", json!({"title": "x", "body": "see .twining/features.json, open('w')"})),
        ("mcp__twining__twining_post", json!({"summary": "x", "content": "open('.twining/x','w')"})),
    ] {
        assert!(verdict(tool, &input) < Level::Ask, "{tool} {input}");
    }
}

#[test]
fn a_list_or_a_feature_that_is_gone_is_told_and_one_that_came_is_not() {
    let guards = loaded("", "");
    let accepted = Accepted::now(&|path: &str| (path == LIST).then(|| BEFORE.to_owned()));
    let told =
        |after: Option<String>| accepted.slipped(&guards, &|path: &str| if path == LIST { after.clone() } else { None }, &NoEvidence);
    let gone = told(None);
    assert!(gone.len() == 1 && gone[0].contains("is gone, and with it F1, F2") && gone[0].contains("git restore"), "{gone:?}");
    let without = told(Some(r#"{"features":[{"id":"F1","tested":true}]}"#.to_owned()));
    assert!(without.len() == 1 && without[0].contains("F2 is no longer in it"), "{without:?}");
    let with = BEFORE.replace("  ]", "  , {\"id\": \"F3\", \"tested\": false}]");
    assert_eq!(told(Some(with)), Vec::<String>::new());
}

#[test]
fn a_line_handed_over_as_a_setting_is_a_line() {
    for line in [
        "env -S 'cp x .twining/blackboard.jsonl'",
        "env -S'cp x .twining/blackboard.jsonl'",
        "env --split-string='cp x .twining/blackboard.jsonl'",
        "env -i -S 'cp x' .twining/blackboard.jsonl",
        "env -vS 'A=1 sh -c \"echo x > .twining/blackboard.jsonl\"'",
        "A=1 env B=2 -S 'tee .twining/blackboard.jsonl' < x",
        "git -c alias.x='!cp a .twining/blackboard.jsonl' x",
        "git -c 'alias.x=!cp a' x .twining/blackboard.jsonl",
        "git -c alias.X='!f() { echo x > .twining/blackboard.jsonl; }; f' x",
        "git -c alias.x='checkout HEAD~1 -- .twining/blackboard.jsonl' x",
        "git config alias.x '!cp a .twining/blackboard.jsonl' && git x",
        "git config --global core.pager 'tee .twining/blackboard.jsonl'",
        "git -c core.pager='tee .twining/blackboard.jsonl' log",
        "git -c core.editor='cp x .twining/blackboard.jsonl;' commit",
        "GIT_EDITOR='cp x .twining/blackboard.jsonl;:' git commit --amend",
        "export EDITOR='tee .twining/blackboard.jsonl'; git commit",
        "env GIT_PAGER='tee .twining/blackboard.jsonl' git log",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!cp a .twining/blackboard.jsonl' git x",
    ] {
        assert_eq!(level(&bash(line)), Level::Block, "{line}");
    }
    for line in [
        "env -S 'cp x y'",
        "env -i A=1 cargo test",
        "git -c alias.x='!cp a b' x",
        "git -c core.pager=cat log -- .twining/blackboard.jsonl",
        "git -c user.name='A B' -c core.editor=true commit -m x",
        "git config alias.co checkout",
        "git config alias.lg 'log --oneline -- .twining'",
        "git config merge.twining-lines.driver 'twining merge-driver lines %O %A %B'",
        "GIT_SEQUENCE_EDITOR=\"sed -i 's/pick/squash/'\" git rebase -i HEAD~2",
        "EDITOR=vim git commit",
        "PAGER=less git diff .twining/",
        "git log --format='%h=%s' -- .twining",
    ] {
        assert!(level(&bash(line)) < Level::Ask, "{line}");
    }
}
