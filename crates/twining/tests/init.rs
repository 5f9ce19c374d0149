//! `twining init` and `twining uninstall` on real repositories.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;
use twining_testcases::each;

use crate::common::repository::{Repository, changed};
use crate::common::terminal::Terminal;
use serde_json::{Value, json};

const ALL: &str = "claude,codex,gemini,cursor,opencode";

fn files(told: &Value) -> Vec<String> {
    told["files"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|file| file["file"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn a_second_init_finds_nothing_to_do() {
    let shop = Repository::new();
    let first = shop.told(&["init", "--agent", ALL]);
    each(
        [
            ".twining/config.yml",
            ".twining/knowledge.dot",
            ".mcp.json",
            ".claude/settings.json",
            ".git/config",
            ".git/hooks/post-commit",
        ],
        |file| {
            assert!(files(&first).contains(&file.to_owned()), "{first}");
        },
    );
    let before = shop.tree();
    assert_eq!(files(&shop.told(&["init", "--agent", ALL])), [""; 0]);
    assert_eq!(changed(&before, &shop.tree()), [""; 0]);
}

#[test]
fn a_dry_run_shows_the_diff_and_writes_nothing() {
    let shop = Repository::new();
    shop.write(".claude/settings.json", "{\n  // ours\n  \"model\": \"opus\"\n}\n");
    let before = shop.tree();
    let ran = shop.run(&["init", "--agent", ALL, "--dry-run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(changed(&before, &shop.tree()), [""; 0]);
    each(
        [
            "+++ b/.claude/settings.json",
            "   // ours",
            "+++ b/.twining/config.yml",
            "+++ b/.git/config",
            "create  CLAUDE.md",
        ],
        |line| {
            assert!(ran.stdout.lines().any(|printed| printed == line), "{line} in {}", ran.stdout);
        },
    );
    assert!(
        shop.told(&["init", "--agent", "claude", "--dry-run"])["diff"]
            .as_str()
            .expect("a diff")
            .contains("+++ b/.mcp.json")
    );
}

#[test]
fn hooks_that_were_there_still_run() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.write_program(".git/hooks/pre-commit", "#!/bin/sh\necho theirs >> calls\nexit 0\n");
    let python = "#!/usr/bin/env python3\nopen('calls', 'a').write('python\\n')\n";
    shop.write_program(".git/hooks/post-commit", python);
    let told = shop.told(&["init", "--agent", "none"]);
    assert!(told["notes"].to_string().contains("post-commit` is not a shell script"), "{told}");
    shop.program(
        "twining",
        "#!/bin/sh\necho \"$@\" >> \"$(git rev-parse --show-toplevel)/calls\"\n",
    );
    shop.write("a.txt", "a");
    shop.commit("one");
    assert_eq!(shop.read("calls"), "hook --agent git pre-commit\ntheirs\npython\n");
    shop.told(&["uninstall"]);
    assert_eq!(shop.read(".git/hooks/post-commit"), python);
}

#[test]
fn a_refusal_stops_the_commit_and_a_missing_program_does_not() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.told(&["init", "--agent", "none"]);
    fs::remove_file(shop.path("bin/twining")).expect("removes");
    shop.write("a.txt", "a");
    shop.commit("nobody to ask");
    shop.program("twining", "#!/bin/sh\ncase \"$*\" in *pre-commit*) echo no >&2; exit 1;; esac\n");
    shop.write("a.txt", "b");
    shop.git(&["add", "-A"]);
    assert_eq!(shop.git_ran(&["commit", "-q", "-m", "two"]).code, 1);
}

/// Two branches that only our driver merges, and the commits on the way.
fn merged(shop: &Repository) -> String {
    let learn = |node: &str| {
        let operation = format!(
            r#"{{"op":"add_node","id":"{node}","type":"component","level":"architecture","status":"current","description":"Something"}}"#
        );
        shop.told(&["knowledge", "update", "--op", &operation]);
        shop.commit(node);
    };
    shop.commit("start");
    shop.git(&["branch", "left"]);
    learn("right-node");
    shop.git(&["checkout", "-q", "left"]);
    learn("left-node");
    shop.git(&["merge", "-q", "--no-edit", "main"]);
    shop.read(".twining/knowledge.dot")
}

#[test]
fn s46_a_program_of_our_name_in_front_of_ours_is_not_started() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", "none"]);
    let trap = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", shop.path("trapped").display());
    shop.program("twining", &trap);
    for planted in ["twining", ".twining/twining", ".git/twining/twining", ".git/hooks/twining"] {
        shop.write_program(planted, &trap);
    }
    let graph = merged(&shop);
    assert!(
        graph.contains("left-node") && graph.contains("right-node") && !graph.contains("<<<<"),
        "{graph}"
    );
    assert!(!shop.path("trapped").exists(), "neither a commit nor a merge started it");
}

#[test]
fn a_program_in_a_folder_of_any_name_merges_and_is_asked() {
    let shop = Repository::new();
    let folder = shop.path("it's \"my\" 50% #1; $HOME `bin` ü");
    fs::create_dir(&folder).expect("makes a folder");
    symlink(env!("CARGO_BIN_EXE_twining"), folder.join("twining")).expect("links");
    let init = |words: &[&str]| {
        let mut command = shop.command_in(&shop.path("shop"), words);
        command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
        crate::common::Ran::of(command.output().expect("starts"))
    };
    assert_eq!(init(&["init", "--agent", "none"]).code, 0);
    let told: Value =
        serde_json::from_str(&init(&["doctor", "--json"]).stdout).expect("prints JSON");
    assert!(told.to_string().contains("5 trial merges succeeded"), "{told:#}");
    let graph = merged(&shop);
    assert!(
        graph.contains("left-node") && graph.contains("right-node") && !graph.contains("<<<<"),
        "{graph}"
    );
    let mark = format!("#!/bin/sh\ntouch '{}'\n", shop.path("asked").display());
    fs::remove_file(folder.join("twining")).expect("removes");
    fs::write(folder.join("twining"), mark).expect("writes");
    fs::set_permissions(folder.join("twining"), fs::Permissions::from_mode(0o755)).expect("sets");
    shop.write("a.txt", "a");
    shop.commit("asked");
    assert!(shop.path("asked").exists(), "{}", shop.read(".git/hooks/post-commit"));
}

#[test]
fn hooks_that_git_tracks_call_us_by_name() {
    let shop = Repository::new();
    shop.git(&["config", "core.hooksPath", ".githooks"]);
    shop.told(&["init", "--agent", "none"]);
    let hook = shop.read(".githooks/post-commit");
    assert!(
        hook.contains("\n  twining hook --agent git post-commit")
            && !hook.contains(env!("CARGO_BIN_EXE_twining")),
        "{hook}"
    );
}

#[test]
fn a_program_that_moved_is_told_anew_by_init() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.told(&["init", "--agent", "none"]);
    fs::remove_file(shop.path("bin/twining")).expect("removes");
    let told = shop.told(&["init", "--agent", "none"]);
    assert_eq!(files(&told), [".git/config", ".git/hooks/post-commit", ".git/hooks/pre-commit"]);
    assert!(shop.read(".git/hooks/pre-commit").contains(env!("CARGO_BIN_EXE_twining")));
    shop.told(&["uninstall", "--purge", "--yes"]);
    assert!(
        !shop.read(".git/config").contains("twining")
            && !shop.file(".git/hooks/pre-commit").exists()
    );
}

#[test]
fn a_hook_that_somebody_put_to_sleep_is_not_woken() {
    let shop = Repository::new();
    shop.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let told = shop.told(&["init", "--agent", "none"]);
    assert_eq!(shop.read(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    assert!(told["notes"].to_string().contains("not executable"), "{told}");
}

#[test]
fn a_hook_that_is_no_text_is_kept_and_told() {
    let shop = Repository::new();
    fs::write(shop.file(".git/hooks/pre-commit"), b"\x7fELF\xff\xfe").expect("writes");
    fs::set_permissions(shop.file(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755))
        .expect("sets");
    let before = shop.tree();
    let told = shop.told(&["init", "--agent", "none"]);
    assert!(told["notes"].to_string().contains("is not a shell script"), "{told}");
    shop.told(&["uninstall", "--purge", "--yes"]);
    assert_eq!(changed(&before, &shop.tree()), [""; 0]);
}

#[test]
fn hooks_go_where_git_looks_for_them() {
    let shop = Repository::new();
    shop.git(&["config", "core.hooksPath", "tools/hooks"]);
    shop.told(&["init", "--agent", "none"]);
    assert!(
        shop.file("tools/hooks/pre-commit").exists()
            && !shop.file(".git/hooks/pre-commit").exists()
    );

    let husky = Repository::new();
    husky.git(&["config", "core.hooksPath", ".husky/_"]);
    husky.told(&["init", "--agent", "none"]);
    assert!(husky.file(".husky/pre-commit").exists() && !husky.file(".husky/_").exists());

    // Husky hands its files to a shell, executable or not.
    let asleep = Repository::new();
    asleep.git(&["config", "core.hooksPath", ".husky/_"]);
    asleep.write(".husky/pre-commit", "npm test\n");
    asleep.told(&["init", "--agent", "none"]);
    let script = asleep.read(".husky/pre-commit");
    assert!(
        script.contains("hook --agent git pre-commit") && script.ends_with("npm test\n"),
        "{script}"
    );
    asleep.told(&["uninstall", "--purge", "--yes"]);
    assert_eq!(asleep.read(".husky/pre-commit"), "npm test\n");

    let shared = Repository::new();
    let everywhere = shared.path("home/hooks");
    shared.git(&["config", "core.hooksPath", &everywhere.display().to_string()]);
    let told = shared.told(&["init", "--agent", "none"]);
    assert!(!everywhere.exists() && told["notes"].to_string().contains("core.hooksPath"), "{told}");
}

#[test]
fn drivers_are_known_to_git() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.told(&["init", "--agent", "none"]);
    let program = shop.path("bin/twining").display().to_string();
    assert_eq!(
        shop.git(&["config", "merge.twining-knowledge.driver"]),
        format!("{program} merge-driver knowledge %O %A %B %P\n")
    );
    let asked = shop.git(&[
        "check-attr",
        "merge",
        ".twining/knowledge.dot",
        ".twining/blackboard.jsonl",
        ".twining/decisions/index.json",
        ".twining/decisions/01X.json",
    ]);
    let drivers: Vec<&str> = asked.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(
        drivers,
        ["twining-knowledge", "twining-lines", "twining-array", "twining-decision"]
    );
}

#[test]
fn a_project_below_the_top_names_its_files_from_there() {
    let shop = Repository::new();
    fs::create_dir_all(shop.file("my app/.twining")).expect("makes a folder");
    assert_eq!(shop.run_in(&shop.file("my app"), &["init", "--agent", "claude"]).code, 0);
    assert!(shop.file("my app/.mcp.json").exists());
    assert!(
        shop.git(&["check-attr", "merge", "my app/.twining/knowledge.dot"])
            .ends_with("twining-knowledge\n")
    );
}

#[test]
fn a_folder_in_a_project_is_told_whose_memory_it_shares() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", "none"]);
    fs::create_dir_all(shop.file("web/src")).expect("makes a folder");
    let ran = shop.run_in(&shop.file("web"), &["init", "--agent", "none"]);
    assert!(
        ran.code == 0
            && ran.stdout.contains("`web` is inside the project")
            && ran.stdout.contains("--project ."),
        "{ran:?}"
    );
    assert!(!shop.file("web/.twining").exists());
    let own = shop.run_in(&shop.file("web"), &["init", "--agent", "none", "--project", "."]);
    assert!(own.code == 0 && own.stdout.contains("which has its own memory"), "{own:?}");
    assert!(shop.file("web/.twining").exists());
}

#[test]
fn projects_side_by_side_in_one_repository_leave_each_other_in_place() {
    let shop = Repository::new();
    let (a, b) = (shop.file("svc/a"), shop.file("my svc/b"));
    let merged = |file: &str| shop.git(&["check-attr", "merge", file]);
    each([&a, &b], |dir| {
        fs::create_dir_all(dir.join("src")).expect("makes a folder");
        assert_eq!(shop.run_in(dir, &["init", "--agent", "none", "--project", "."]).code, 0);
    });
    let both = |state: &str| {
        assert!(merged("svc/a/.twining/blackboard.jsonl").ends_with("twining-lines\n"), "{state}");
        assert!(
            merged("my svc/b/.twining/blackboard.jsonl").ends_with("twining-lines\n"),
            "{state}"
        );
        each([&a, &b], |dir| {
            let ran = shop.run_in(dir, &["doctor"]);
            assert!(
                ran.code == 0 && ran.stdout.contains("trial merges succeeded"),
                "{state}: {ran:?}"
            );
        });
    };
    both("after init");
    // Git runs its hook at the top level, and each project sees the commit.
    for dir in [&a, &b] {
        let words = [
            "decide",
            "--summary",
            "one",
            "--domain",
            "d",
            "--scope",
            "src/",
            "--context",
            "c",
            "--rationale",
            "r",
            "--affected-file",
            "src/x.rs",
        ];
        let ran = shop.run_in(dir, &words);
        assert_eq!(ran.code, 0, "{ran:?}");
        fs::write(dir.join("src/x.rs"), "fn x() {}\n").expect("writes");
    }
    shop.commit("both");
    let head = shop.git(&["rev-parse", "HEAD"]);
    for dir in [&a, &b] {
        let ran = shop.run_in(dir, &["commits", head.trim(), "--json"]);
        let told: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
        assert_eq!(told["decisions"].as_array().map(Vec::len), Some(1), "{told}");
    }
    // Uninstalling one project leaves the other intact.
    assert_eq!(shop.run_in(&a, &["uninstall"]).code, 0);
    assert!(
        merged("svc/a/.twining/blackboard.jsonl").ends_with("union\n"),
        "what the repository itself says"
    );
    assert!(merged("my svc/b/.twining/blackboard.jsonl").ends_with("twining-lines\n"));
    assert_eq!(shop.run_in(&b, &["doctor"]).code, 0);
    assert_eq!(shop.run_in(&b, &["uninstall"]).code, 0);
    assert!(
        !shop.read(".git/config").contains("twining")
            && !shop.file(".git/hooks/post-commit").exists()
    );
}

#[test]
fn a_linked_worktree_shares_the_memory_and_has_its_own_settings() {
    let shop = Repository::new();
    shop.write("a.txt", "a");
    shop.commit("start");
    shop.git(&["worktree", "add", "-q", "../fix", "-b", "fix"]);
    let ran = shop.run_in(&shop.path("fix"), &["init", "--agent", "claude"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(shop.path("fix/.mcp.json").exists() && shop.file(".twining/config.yml").exists());
    assert!(!shop.path("fix/.twining").exists() && !shop.file(".mcp.json").exists());
    assert!(shop.read(".git/config").contains("twining-knowledge"));
    assert_eq!(shop.run_in(&shop.path("fix"), &["uninstall"]).code, 0);
    assert!(
        !shop.path("fix/.mcp.json").exists()
            && shop.read(".git/config").contains("twining-knowledge"),
        "git's part is the main one's"
    );
    assert_eq!(shop.run(&["uninstall"]).code, 0);
    assert!(!shop.read(".git/config").contains("twining"));
}

#[test]
fn a_bare_repository_is_refused_and_a_plain_folder_is_fine() {
    let shop = Repository::new();
    shop.git(&["init", "-q", "--bare", "../bare.git"]);
    let ran = shop.run_in(&shop.path("bare.git"), &["init"]);
    assert!(ran.code == 1 && ran.stderr.contains("bare repository"), "{ran:?}");
    assert!(!shop.path("bare.git/.twining").exists());
    let below = shop.run_in(&shop.path("bare.git/refs"), &["init", "--agent", "none"]);
    assert!(
        below.code == 1 && below.stderr.contains("bare.git` is a bare repository"),
        "{below:?}"
    );
    assert!(!shop.path("bare.git/refs/.twining").exists());

    let loose = Repository::without_git();
    let told = loose.told(&["init", "--agent", "claude"]);
    assert!(told["notes"].to_string().contains("not under version control"), "{told}");
    assert!(loose.file(".mcp.json").exists());
    loose.told(&["uninstall", "--purge", "--yes"]);
    assert_eq!(fs::read_dir(loose.path("shop")).expect("lists").count(), 0);
}

/// Makes one file unfit.
type Spoil = fn(&Repository);

#[test]
fn a_file_that_cannot_be_changed_leaves_everything_unwritten() {
    let malformed =
        |shop: &Repository| shop.write(".cursor/mcp.json", "{\n  \"mcpServers\": {,}\n}\n");
    let read_only = |shop: &Repository| {
        shop.write(".claude/settings.json", "{}\n");
        fs::set_permissions(shop.file(".claude/settings.json"), fs::Permissions::from_mode(0o444))
            .expect("sets");
    };
    let elsewhere = |shop: &Repository| {
        fs::write(shop.path("home/settings.json"), "{}").expect("writes");
        fs::create_dir(shop.file(".gemini")).expect("makes a folder");
        symlink(shop.path("home/settings.json"), shop.file(".gemini/settings.json"))
            .expect("links");
    };
    let torn = |shop: &Repository| shop.write("CLAUDE.md", "<!-- twining:begin -->\nhalf\n");
    let busy = |shop: &Repository| shop.write(".git/config.lock", "");
    let not_toml = |shop: &Repository| shop.write(".codex/config.toml", "a = [\n");
    let cases: [(Spoil, &str); 6] = [
        (malformed, "`.cursor/mcp.json`: line 2"),
        (read_only, "`.claude/settings.json`: it is read-only"),
        (elsewhere, "`.gemini/settings.json`: it is a symbolic link to a target outside"),
        (torn, "`CLAUDE.md`: contains only one of the two markers"),
        (busy, "rm "),
        (not_toml, "`.codex/config.toml`"),
    ];
    each(cases, |(spoil, said)| {
        let shop = Repository::new();
        spoil(&shop);
        let before = shop.tree();
        let ran = shop.run(&["init", "--agent", ALL]);
        assert!(ran.code == 1 && ran.stderr.contains(said), "{said}: {ran:?}");
        assert_eq!(changed(&before, &shop.tree()), [""; 0], "{said}: the memory neither");
    });
}

#[test]
fn instructions_are_told_once_where_one_file_leads_to_another() {
    let linked = Repository::new();
    linked.write("AGENTS.md", "# Agents\n");
    symlink("AGENTS.md", linked.file("CLAUDE.md")).expect("links");
    linked.told(&["init", "--agent", "claude,codex"]);
    assert_eq!(linked.read("AGENTS.md").matches("twining:begin").count(), 1);
    assert!(linked.file("CLAUDE.md").is_symlink());

    let imported = Repository::new();
    imported.write("CLAUDE.md", "@AGENTS.md\n");
    imported.told(&["init", "--agent", "claude"]);
    assert_eq!(imported.read("CLAUDE.md"), "@AGENTS.md\n");
    assert!(imported.read("AGENTS.md").contains("twining_assemble"));
}

#[test]
fn somebody_elses_server_of_our_name_is_kept_and_told() {
    let shop = Repository::new();
    shop.write(
        ".mcp.json",
        r#"{"mcpServers":{"twining":{"command":"npx","args":["twining-mcp"]}}}"#,
    );
    let told = shop.told(&["init", "--agent", "claude"]);
    assert_eq!(shop.json(".mcp.json")["mcpServers"]["twining"]["command"], "npx");
    assert!(told["notes"].to_string().contains("starts something else"), "{told}");
    shop.told(&["uninstall"]);
    assert_eq!(shop.json(".mcp.json")["mcpServers"]["twining"]["command"], "npx");
}

#[test]
fn what_could_be_imported_is_told_and_left_alone() {
    let shop = Repository::new();
    shop.write("docs/adr/0001-use-rest.md", "# 1. Use REST\n");
    shop.write(".guardkit/config/quality-gates.yaml", "quality_gates: {}\n");
    shop.write(".beads/issues.jsonl", "{}\n");
    shop.write("memory.jsonl", "{}\n");
    shop.write("CLAUDE.md", "# Rules\n\n- Never push\n- Use pnpm\n");
    let told = shop.told(&["init", "--agent", "claude"]);
    let steps = told["next_steps"].to_string();
    each(
        [
            "docs/adr/ has 1 decision record: `twining import adr docs/adr --dry-run`",
            "`twining import guardkit --print`",
            "`twining import beads .beads/issues.jsonl --dry-run`",
            "`twining import memory-jsonl memory.jsonl --dry-run`",
            "CLAUDE.md has 2 rules: `twining import claude-md CLAUDE.md --dry-run`",
        ],
        |line| {
            assert!(steps.contains(line), "{line} in {steps}");
            let words: Vec<&str> =
                line.split('`').nth(1).expect("a command").split(' ').skip(1).collect();
            assert_eq!(shop.run(&words).code, 0, "{line}");
        },
    );
    assert_eq!(shop.told(&["status"])["active_decisions"], 0, "nothing was taken over");
    assert_eq!(shop.told(&["init", "--agent", "claude"])["next_steps"], json!([]), "told once");
}

#[test]
fn each_host_gets_the_format_it_reads() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", ALL]);
    let claude = shop.json(".claude/settings.json");
    let gate = json!({"type": "command", "command": "twining", "args": ["hook", "--agent", "claude", "PreToolUse"], "timeout": 5});
    assert_eq!(
        claude["hooks"]["PreToolUse"][0]["hooks"][0], gate,
        "whoever has no `twining` can work"
    );
    assert!(
        claude["hooks"]["PreToolUse"][0]["matcher"]
            .as_str()
            .expect("a matcher")
            .contains("mcp__.*")
    );
    each(claude["hooks"].as_object().expect("events"), |(event, groups)| {
        assert!(groups[0]["hooks"][0]["timeout"].is_u64(), "{event}");
    });
    // Every event of Claude Code's that a hook of ours answers; the plugin wires the same.
    for event in [
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "PostCompact",
        "SubagentStart",
        "SubagentStop",
        "TaskCompleted",
        "SessionEnd",
    ] {
        assert_eq!(
            claude["hooks"][event][0]["hooks"][0]["args"],
            json!(["hook", "--agent", "claude", event])
        );
    }
    let plugin =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin/hooks/hooks.json");
    let plugin: Value =
        serde_json::from_str(&fs::read_to_string(plugin).expect("is there")).expect("is JSON");
    let events = |hooks: &Value| {
        hooks["hooks"]
            .as_object()
            .expect("events")
            .keys()
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(events(&plugin), events(&claude));
    assert_eq!(
        shop.json(".mcp.json")["mcpServers"]["twining"],
        json!({"type": "stdio", "command": "twining", "args": ["mcp"]})
    );
    let worker = shop.read(".claude/agents/twining-worker.md");
    assert!(
        worker.contains("mcp__twining__twining_assemble")
            && worker.starts_with("---\nname: twining-worker\n"),
        "{worker}"
    );

    assert!(shop.read(".codex/config.toml").contains(
        "[mcp_servers.twining]\ncommand = \"twining\"\nargs = [\"mcp\", \"--tools\", \"lite\"]"
    ));
    assert_eq!(
        shop.json(".codex/hooks.json")["hooks"]["PreToolUse"][0]["hooks"][0]["command"],
        "twining hook --agent codex PreToolUse"
    );

    let gemini = shop.json(".gemini/settings.json");
    assert_eq!(gemini["mcpServers"]["twining"]["args"], json!(["mcp", "--tools", "lite"]));
    assert_eq!(gemini["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 5000, "milliseconds");

    let cursor = shop.json(".cursor/hooks.json");
    assert!(cursor["hooks"]["postToolUseFailure"].is_array());
    assert_eq!(
        (&cursor["version"], &cursor["hooks"]["preToolUse"][0]["failClosed"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(
        shop.json("opencode.json")["mcp"]["twining"]["command"],
        json!(["twining", "mcp", "--tools", "lite"])
    );
    assert!(shop.read(".opencode/plugin/twining.js").contains("tool.execute.before"));
}

#[test]
fn hosts_are_found_by_their_traces_and_their_programs() {
    let shop = Repository::new();
    let agents = |shop: &Repository| shop.told(&["init", "--dry-run"])["agents"].clone();
    assert_eq!(agents(&shop), json!([]));
    shop.write(".cursor/rules/x.mdc", "");
    shop.program("codex", "#!/bin/sh\n");
    assert_eq!(agents(&shop), json!(["codex", "cursor"]));
    let ran = shop.run(&["init", "--agent", "emacs"]);
    assert!(ran.code == 2 && ran.stderr.contains("`emacs` is not a known host"), "{ran:?}");
}

#[test]
fn where_no_agent_was_found_nothing_is_asked_and_one_line_says_what_to_do() {
    let shop = Repository::new();
    let mut terminal = Terminal::open();
    let end = || {
        Stdio::from(fs::File::options().read(true).write(true).open(&terminal.name).expect("opens"))
    };
    let mut command = shop.command_in(&shop.path("shop"), &["init"]);
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("starts");
    terminal.types("n");
    assert!(child.wait().expect("ends").success());
    let shown = terminal.shows();
    assert!(
        shop.file(".twining/config.yml").exists() && !shown.contains("Write these?"),
        "{shown}"
    );
    assert_eq!(shown.matches("No agent found").count(), 1, "{shown}");
    assert_eq!(shop.told(&["init"])["next_steps"].as_array().map(Vec::len), Some(1), "said again");
}

#[test]
fn a_memory_of_another_program_is_completed_and_nothing_in_it_replaced() {
    let shop = Repository::new();
    shop.write(".twining/config.yml", "version: 1\nproject_name: theirs\n");
    shop.write(".maestro/knowledge.dot", "digraph { a [type=\"rule\"] }\n");
    let told = shop.told(&["init", "--agent", "none"]);
    assert!(files(&told).contains(&".twining/.gitattributes".to_owned()), "{told}");
    assert_eq!(shop.read(".twining/config.yml"), "version: 1\nproject_name: theirs\n");
    assert!(!shop.file(".twining/knowledge.dot").exists(), "theirs is used in place");
    assert!(
        shop.git(&["check-attr", "merge", ".maestro/knowledge.dot"])
            .ends_with("twining-knowledge\n")
    );
}

#[test]
fn completions_and_pages_are_made_from_the_commands() {
    let shop = Repository::new();
    each(["bash", "zsh", "fish", "elvish", "powershell"], |shell| {
        let ran = shop.run(&["completions", shell]);
        assert!(
            ran.code == 0 && ran.stdout.contains("uninstall") && ran.stdout.contains("assemble"),
            "{shell}"
        );
    });
    let page = shop.run(&["man"]).stdout;
    assert!(page.contains(".TH twining 1") && !page.contains('\u{1b}'), "{page}");
    assert_eq!(shop.run(&["man", "--dir", "pages"]).code, 0);
    assert!(shop.read("pages/twining-init.1").contains("stealth"));
}
