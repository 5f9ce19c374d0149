//! `twining doctor`: what it proves, and what it mends.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use twining_testcases::each;

use crate::common::repository::{Repository, changed};
use serde_json::Value;

/// A project whose `claude` is wired up, with the program on the path.
fn wired(agents: &str) -> Repository {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.told(&["init", "--agent", agents]);
    shop
}

fn examined(shop: &Repository, flags: &[&str]) -> Value {
    let words: Vec<&str> = ["doctor", "--json"].into_iter().chain(flags.iter().copied()).collect();
    serde_json::from_str(&shop.run(&words).stdout).expect("prints JSON")
}

/// What a check says: its finding and its words.
fn said(told: &Value, name: &str, about: &str) -> (String, String) {
    let check = told["checks"].as_array().expect("a list").iter().find(|check| {
        check["name"] == name
            && check["message"].as_str().is_some_and(|message| message.contains(about))
    });
    let check = check.unwrap_or_else(|| panic!("no check `{name}` about `{about}` in {told:#}"));
    (
        check["finding"].as_str().unwrap_or_default().to_owned(),
        check["message"].as_str().unwrap_or_default().to_owned(),
    )
}

#[test]
fn a_wired_project_is_proven_to_work() {
    let shop = wired("claude,codex");
    shop.run(&["post", "finding", "hello"]);
    let told = examined(&shop, &[]);
    assert_eq!(said(&told, "path", "").0, "ok");
    each(["claude", "codex"], |host| {
        assert_eq!(said(&told, "agents", host).0, "ok");
        assert_eq!(said(&told, "hook", host).0, "ok", "a forbidden call was stopped");
        let (finding, words) = said(&told, "server", host);
        assert!(
            finding == "ok" && words.contains("the server starts in") && words.contains("tools"),
            "{words}"
        );
    });
    assert_eq!(said(&told, "index", "matches the files").0, "ok");
    assert_eq!(said(&told, "secrets", "").0, "ok");
    assert_eq!(said(&told, "trust", "codex is not on PATH").0, "not_checked");
}

#[test]
fn a_trial_merge_tells_whether_the_driver_works() {
    let shop = wired("none");
    let (finding, words) = said(&examined(&shop, &[]), "git", "trial merge");
    assert!(
        finding == "ok" && words.contains(&shop.path("bin/twining").display().to_string()),
        "{words}"
    );
    // Another program of our name cannot merge.
    shop.program("twining", "#!/bin/sh\nexit 1\n");
    let told = examined(&shop, &[]);
    let (finding, words) = said(&told, "git", "trial merge");
    assert!(finding == "fail" && words.contains("knowledge") && words.contains("lines"), "{words}");
    assert_eq!(said(&told, "path", "which reports").0, "warn");
    assert_eq!(said(&told, "git", "which reports").0, "warn");
}

#[test]
fn the_program_that_git_starts_is_looked_at_and_set_right() {
    let shop = wired("none");
    fs::remove_file(shop.path("bin/twining")).expect("removes");
    let ran = shop.run(&["doctor"]);
    assert!(ran.code == 3 && ran.stdout.contains("which does not exist"), "{ran:?}");
    let told = examined(&shop, &["--fix"]);
    assert!(told["fixed"].to_string().contains(".git/config"), "{told}");
    assert_eq!(said(&told, "git", env!("CARGO_BIN_EXE_twining")).0, "ok");

    // As it was written before: by name, so that anybody's program is started.
    let by_name = shop.read(".git/config").replace(env!("CARGO_BIN_EXE_twining"), "twining");
    shop.write(".git/config", &by_name);
    assert_eq!(said(&examined(&shop, &[]), "git", "` by name, so").0, "warn");

    // One that came with the project is never tried.
    let trap = shop.path("trapped");
    shop.write_program("tools/twining", &format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
    shop.write(
        ".git/config",
        &by_name.replace(
            "driver = twining",
            &format!("driver = {}", shop.file("tools/twining").display()),
        ),
    );
    assert_eq!(said(&examined(&shop, &[]), "git", "is inside the project").0, "fail");
    assert!(!trap.exists());
    assert_eq!(said(&examined(&shop, &["--fix"]), "git", "trial merges succeeded").0, "ok");
}

#[test]
fn a_hook_that_does_not_stop_anything_is_found_out() {
    let shop = wired("claude");
    let settings = shop
        .read(".claude/settings.json")
        .replace("\"hook\", \"--agent\", \"claude\", \"PreToolUse\"", "\"hook\", \"Nonsense\"");
    shop.write(".claude/settings.json", &settings);
    let ran = shop.run(&["doctor"]);
    assert!(
        ran.code == 3
            && ran
                .stdout
                .contains("`protect-twining-state` did not fire for its own example (Write)"),
        "{ran:?}"
    );
    let told = examined(&shop, &["--fix"]);
    assert!(told["fixed"].to_string().contains(".claude/settings.json"), "{told}");
    assert_eq!(said(&told, "hook", "claude").0, "ok");
    assert_eq!(
        examined(&shop, &["--fix"])["fixed"],
        serde_json::json!([]),
        "nothing is mended twice"
    );
}

#[test]
fn a_hook_that_the_host_overlooks_is_no_hook() {
    let shop = wired("claude");
    // Without the list of groups around it Claude Code never calls it.
    let flat = r#"{"hooks":{"PreToolUse":[{"type":"command","command":"twining hook --agent claude PreToolUse"}]}}"#;
    shop.write(".claude/settings.json", flat);
    let told = examined(&shop, &[]);
    assert_eq!(said(&told, "hook", "not in a format that").0, "fail");
    assert_eq!(said(&told, "hook", "nothing calls twining").0, "fail");
    let tested = shop.run(&["guard", "test"]);
    assert!(tested.code == 3 && tested.stdout.contains("not in a format that"), "{tested:?}");
    let told = examined(&shop, &["--fix"]);
    assert_eq!(said(&told, "hook", "claude").0, "ok", "{told:#}");
    assert_eq!(shop.run(&["doctor"]).code, 0);
}

/// What somebody does to an installation.
type Harm<'a> = &'a dyn Fn(&Repository);

#[test]
fn what_git_no_longer_does_is_an_error_and_is_mended() {
    let all = ["decision", "lines", "array", "features", "knowledge"];
    let broken: [(&str, Harm); 9] = [
        ("post-commit no longer calls twining", &|shop| {
            fs::remove_file(shop.file(".git/hooks/post-commit")).expect("removes");
        }),
        ("post-commit is not executable", &|shop| {
            fs::set_permissions(
                shop.file(".git/hooks/post-commit"),
                fs::Permissions::from_mode(0o644),
            )
            .expect("sets");
        }),
        ("merge driver of twining-lines", &|shop| {
            drop(shop.git(&["config", "--remove-section", "merge.twining-lines"]));
        }),
        ("merge driver of twining-knowledge", &|shop| {
            drop(shop.git(&["config", "--remove-section", "merge.twining-knowledge"]));
        }),
        ("merge driver of twining-decision", &|shop| {
            all.iter().for_each(|kind| {
                drop(shop.git(&["config", "--remove-section", &format!("merge.twining-{kind}")]));
            });
        }),
        ("merge driver of twining-array", &|shop| {
            drop(shop.git(&["config", "merge.twining-array.driver", "true"]));
        }),
        ("info/attributes", &|shop| {
            fs::remove_file(shop.file(".git/info/attributes")).expect("removes");
        }),
        ("no longer calls twining", &|shop| {
            shop.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
        }),
        ("not executable", &|shop| {
            fs::set_permissions(
                shop.file(".git/hooks/pre-commit"),
                fs::Permissions::from_mode(0o644),
            )
            .expect("sets");
        }),
    ];
    each(broken, |(says, harm)| {
        let shop = wired("none");
        harm(&shop);
        let ran = shop.run(&["doctor"]);
        assert!(ran.code == 3 && ran.stdout.contains(says), "{says}: {ran:?}");
        let told = examined(&shop, &["--fix"]);
        assert_eq!(said(&told, "git", "trial merges succeeded").0, "ok", "{says}: {told:#}");
        assert_eq!(shop.run(&["doctor"]).code, 0, "{says}");
        shop.told(&["uninstall", "--purge", "--yes"]);
        assert!(!shop.read(".git/config").contains("twining"), "{says}: nothing is left");
    });
    // A copy of the folder has no receipt, and was wired all the same.
    let shop = wired("none");
    fs::remove_file(shop.file(".twining/local/receipt")).expect("removes");
    fs::remove_file(shop.file(".git/hooks/post-commit")).expect("removes");
    assert_eq!(said(&examined(&shop, &[]), "git", "post-commit no longer calls twining").0, "fail");
    // A missing setup is only a warning.
    let bare = Repository::new();
    bare.run(&["post", "finding", "hello"]);
    let told = examined(&bare, &[]);
    assert_eq!(said(&told, "git", "is not set up for Twining").0, "warn");
}

#[test]
fn a_memory_that_is_gone_is_not_one_that_was_never_there() {
    let shop = Repository::new();
    shop.twining_on_path();
    assert_eq!(said(&examined(&shop, &[]), "folder", "no memory yet").0, "ok");
    shop.told(&["init", "--agent", "none"]);
    fs::remove_dir_all(shop.file(".twining")).expect("removes");
    assert_eq!(said(&examined(&shop, &[]), "folder", "its memory is missing").0, "fail");
}

#[test]
fn a_graph_that_was_cut_off_is_no_empty_graph() {
    let shop = wired("none");
    for name in ["one", "two", "three"] {
        shop.told(&["add-entity", name, "module"]);
    }
    shop.told(&["reindex"]);
    assert_eq!(shop.json(".twining/graph/entities.json").as_array().map(Vec::len), Some(3));
    shop.commit("a graph");
    let whole = shop.read(".twining/graph/entities.json");
    for cut in [
        "[",
        "[\n",
        whole.trim_end().trim_end_matches(']'),
        &whole[..whole.find("\n,").expect("two lines")],
    ] {
        shop.write(".twining/graph/entities.json", cut);
        let ran = shop.run(&["doctor"]);
        assert!(ran.code == 3 && ran.stdout.contains("the array is cut off"), "{cut:?}: {ran:?}");
        assert!(
            ran.stdout.contains("git restore .twining/graph/entities.json"),
            "{cut:?}: {ran:?}"
        );
        // Nothing is written over it, and nothing that is written meanwhile is lost.
        shop.told(&["post", "finding", "meanwhile"]);
        assert_eq!(shop.read(".twining/graph/entities.json"), cut);
    }
    shop.git(&["restore", ".twining/graph/entities.json"]);
    assert_eq!(shop.run(&["doctor"]).code, 0);
    assert_eq!(shop.told(&["status"])["graph_entities"], 3);
}

#[test]
fn a_host_without_hooks_is_told() {
    let shop = wired("claude,opencode");
    fs::remove_file(shop.file(".claude/settings.json")).expect("removes");
    let told = examined(&shop, &[]);
    assert_eq!(said(&told, "hook", "nothing calls twining").0, "fail");
    assert_eq!(said(&told, "hook", "opencode").0, "not_checked");
    assert_eq!(said(&told, "server", "opencode").0, "ok");
}

#[test]
fn an_agent_that_came_after_init_is_noticed() {
    let shop = wired("none");
    assert_eq!(said(&examined(&shop, &[]), "agents", "none was found").0, "warn");
    shop.program("codex", "#!/bin/sh\n");
    assert_eq!(
        said(&examined(&shop, &[]), "agents", "codex is installed but not set up here").0,
        "warn"
    );
    shop.told(&["init"]);
    let told = examined(&shop, &[]);
    assert!(!told["checks"].to_string().contains("not set up here"), "{told:#}");
    assert_eq!(said(&told, "agents", "codex").0, "ok");
}

#[test]
fn a_plugin_that_is_gone_or_another_is_told_and_put_back() {
    let shop = wired("opencode");
    let plugin = ".opencode/plugin/twining.js";
    let before = shop.read(plugin);
    each(["gone", "another"], |harm| {
        match harm {
            "gone" => fs::remove_file(shop.file(plugin)).expect("removes"),
            _ => shop.write(plugin, "export const Other = async () => ({});\n"),
        }
        assert_eq!(said(&examined(&shop, &[]), "hook", "twining.js").0, "fail", "{harm}");
        let told = examined(&shop, &["--fix"]);
        assert!(told["fixed"].to_string().contains("twining.js"), "{harm}: {told}");
        assert_eq!(
            (said(&told, "hook", "opencode").0.as_str(), shop.read(plugin)),
            ("not_checked", before.clone()),
            "{harm}"
        );
    });
}

#[test]
fn a_hook_that_is_not_called_for_writes_stops_none() {
    let shop = wired("claude");
    let mut settings: Value =
        serde_json::from_str(&shop.read(".claude/settings.json")).expect("is JSON");
    settings["hooks"]["PreToolUse"][0]["matcher"] = "Bash".into();
    shop.write(".claude/settings.json", &settings.to_string());
    let (finding, words) = said(&examined(&shop, &[]), "hook", "claude");
    assert!(finding == "fail" && words.contains("no hook is called before `Write`"), "{words}");
    assert_eq!(said(&examined(&shop, &["--fix"]), "hook", "claude").0, "ok");
}

#[test]
fn one_driver_whose_program_is_gone_is_a_failure() {
    let shop = wired("none");
    shop.git(&[
        "config",
        "merge.twining-lines.driver",
        "/nonexistent/twining merge-driver lines %O %A %B %P",
    ]);
    assert_eq!(said(&examined(&shop, &[]), "git", "twining-lines").0, "fail");
    assert_eq!(said(&examined(&shop, &["--fix"]), "git", "trial merge").0, "ok");
}

#[test]
fn what_only_looks_ours_is_never_started() {
    let shop = wired("claude");
    let trap = shop.file("trapped");
    let settings = format!(
        r#"{{"hooks":{{"PreToolUse":[{{"hooks":[{{"type":"command","command":"{0}/twining hook x"}}]}}]}}}}"#,
        shop.path("shop/tools").display()
    );
    shop.write(".claude/settings.json", &settings);
    shop.write_program("tools/twining", &format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
    let told = examined(&shop, &[]);
    assert_eq!(said(&told, "hook", "is inside the project").0, "fail");
    assert!(!trap.exists());
}

#[test]
fn hooks_that_are_switched_off_and_servers_that_start_twice_are_told() {
    let shop = wired("claude");
    let settings =
        shop.read(".claude/settings.json").replacen('{', "{\n  \"disableAllHooks\": true,", 1);
    shop.write(".claude/settings.json", &settings);
    fs::write(
        shop.path("home/.claude.json"),
        r#"{"mcpServers":{"memory":{"command":"npx","args":["-y","twining-mcp"]}}}"#,
    )
    .expect("writes");
    let told = examined(&shop, &[]);
    assert_eq!(said(&told, "hook", "disableAllHooks").0, "fail");
    assert_eq!(said(&told, "server", "TypeScript").0, "warn");
    assert!(said(&told, "server", "2 times").1.contains("`memory`"));
}

#[test]
fn hooks_that_are_switched_off_for_every_project_are_told() {
    let shop = wired("claude");
    fs::create_dir(shop.path("home/.claude")).expect("makes a folder");
    fs::write(shop.path("home/.claude/settings.json"), r#"{"disableAllHooks": true}"#)
        .expect("writes");
    let (finding, words) = said(&examined(&shop, &[]), "hook", "disableAllHooks");
    assert!(finding == "fail" && words.contains("home/.claude/settings.json"), "{words}");
}

#[test]
fn codex_is_asked_whether_it_trusts_the_hooks() {
    let shop = wired("codex");
    let answers = |trust: &str| {
        let hook = format!(
            r#"{{"command":"twining hook --agent codex PreToolUse","trustStatus":"{trust}"}}"#
        );
        format!(
            "#!/bin/sh\nread a; echo '{{\"id\":1,\"result\":{{}}}}'; read b; read c; echo '{{\"id\":2,\"result\":{{\"data\":[{{\"hooks\":[{hook}]}}]}}}}'; sleep 60\n"
        )
    };
    shop.program("codex", &answers("untrusted"));
    assert_eq!(said(&examined(&shop, &[]), "trust", "does not trust 1 of 1").0, "fail");
    shop.program("codex", &answers("trusted"));
    assert_eq!(said(&examined(&shop, &[]), "trust", "trusts all 1").0, "ok");
}

#[test]
fn a_memory_of_another_program_is_completed() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.write(".twining/config.yml", "version: 1\n");
    let told = examined(&shop, &[]);
    assert_eq!(said(&told, "folder", ".gitattributes").0, "warn");
    assert_eq!(said(&told, "git", "is not set up for Twining").0, "warn");
    let told = examined(&shop, &["--fix"]);
    assert!(shop.file(".twining/.gitattributes").exists(), "{told}");
    assert!(shop.read(".git/config").contains("twining-knowledge"), "{told}");
}

#[test]
fn hooks_that_only_a_person_can_put_in_place_are_not_called_so() {
    let shop = Repository::new();
    shop.twining_on_path();
    fs::create_dir(shop.path("home/hooks")).expect("makes a folder");
    shop.git(&["config", "core.hooksPath", shop.path("home/hooks").to_str().expect("is UTF-8")]);
    shop.told(&["init", "--agent", "none"]);
    let told = examined(&shop, &[]);
    assert_eq!(
        said(&told, "git", "add `twining hook --agent git post-commit`").0,
        "warn",
        "{told:#}"
    );
    assert_eq!(said(&told, "git", "drivers are installed").0, "ok");
    for name in ["pre-commit", "post-commit"] {
        fs::write(
            shop.path(&format!("home/hooks/{name}")),
            format!("#!/bin/sh\ntwining hook --agent git {name}\n"),
        )
        .expect("writes");
    }
    assert_eq!(
        said(&examined(&shop, &[]), "git", "drivers and hooks are installed").0,
        "ok",
        "who did so is not told again"
    );
}

#[test]
fn lines_that_somebody_took_out_of_what_git_is_told_are_found_and_added() {
    let shop = wired("none");
    let attributes = shop.read(".twining/.gitattributes");
    shop.write(
        ".twining/.gitattributes",
        &format!("# ours\n{}", attributes.replace("graph/*.json merge=union -text\n", "")),
    );
    shop.write(".twining/.gitignore", "# kept\narchive/\n  pending-*.jsonl\nmine/");
    let told = examined(&shop, &[]);
    assert_eq!(
        said(&told, "folder", ".gitattributes lacks `graph/*.json merge=union -text`").0,
        "warn"
    );
    assert_eq!(said(&told, "folder", ".gitignore lacks `local/`").0, "warn");
    let told = examined(&shop, &["--fix"]);
    assert!(!told.to_string().contains(" lacks "), "{told:#}");
    assert!(shop.read(".twining/.gitattributes").starts_with("# ours\nblackboard.jsonl"));
    assert!(shop.read(".twining/.gitattributes").ends_with("\ngraph/*.json merge=union -text\n"));
    assert!(
        shop.read(".twining/.gitignore")
            .starts_with("# kept\narchive/\n  pending-*.jsonl\nmine/\nlocal/\n")
    );
    assert_eq!(examined(&shop, &["--fix"])["fixed"], serde_json::json!([]));
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let shop = Repository::new();
    shop.write(".twining/config.yml", "version: 1\n");
    shop.write(".twining/traces.jsonl", "\n{ torn\n");
    fs::create_dir_all(shop.file(".twining/turns/FEAT-1/TASK-1")).expect("makes folders");
    shop.write(".twining/turns/FEAT-1/TASK-1/T1.json", "{ torn");
    let told = examined(&shop, &[]);
    assert_eq!(said(&told, "files", "turns/FEAT-1/TASK-1/T1.json cannot be read").0, "fail");
    assert_eq!(
        said(&told, "files", "traces.jsonl: 1 line cannot be read, the first is line 2").0,
        "fail"
    );
}

#[test]
fn mending_keeps_a_stealthy_installation_out_of_sight() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.write(".codex/config.toml", "model = \"x\"\n");
    shop.commit("start");
    shop.told(&["init", "--stealth", "--agent", "claude,codex,gemini"]);
    let told = examined(&shop, &["--fix"]);
    assert_eq!(told["fixed"], serde_json::json!([]), "{told:#}");
    assert_eq!(said(&told, "server", "claude").0, "ok");
    fs::remove_file(shop.file("CLAUDE.local.md")).expect("removes");
    assert!(examined(&shop, &["--fix"])["fixed"].to_string().contains("CLAUDE.local.md"));
    assert_eq!(shop.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_memory_that_cannot_be_written_is_no_healthy_one() {
    let shop = wired("none");
    shop.run(&["post", "finding", "hello"]);
    let folder = shop.file(".twining");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("sets");
    let ran = shop.run_held_by_modes(&["doctor"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("sets");
    assert!(ran.code == 3 && ran.stdout.contains("is not writable"), "{ran:?}");
}

#[test]
fn looking_changes_nothing() {
    let shop = wired("claude,gemini");
    shop.run(&["post", "finding", "hello"]);
    examined(&shop, &[]);
    let before = shop.tree();
    examined(&shop, &[]);
    let written: Vec<String> = changed(&before, &shop.tree())
        .into_iter()
        .filter(|file| !file.contains("/local/"))
        .collect();
    assert_eq!(written, [""; 0]);
}

#[test]
fn a_secret_that_came_with_the_files_is_told_by_its_place_and_never_by_itself() {
    let shop = wired("none");
    shop.run(&["post", "finding", "the deploy key is in the vault"]);
    // Put together here, so that nobody takes this file for a leak.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let board = shop.path("shop/.twining/blackboard.jsonl");
    let text = fs::read_to_string(&board).expect("reads");
    fs::write(&board, text.replace("the vault", &secret)).expect("writes");
    let told = examined(&shop, &[]);
    let (finding, words) = said(&told, "secrets", "blackboard.jsonl");
    assert_eq!(finding, "fail");
    assert!(words.contains("GitHub") && !told.to_string().contains(&secret), "{words}");
}

#[test]
fn a_pipe_where_a_file_belongs_hangs_nobody() {
    each(
        [
            "blackboard.jsonl",
            "config.yml",
            "traces.jsonl",
            "anchors.jsonl",
            "decisions/index.json",
            ".gitignore",
        ],
        |name| {
            let shop = wired("claude");
            shop.run(&["post", "finding", "hello"]);
            let file = shop.file(&format!(".twining/{name}"));
            drop(fs::remove_file(&file));
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(&file)
                    .status()
                    .is_ok_and(|made| made.success())
            );
            let told = examined(&shop, &[]);
            assert!(
                told["checks"].as_array().is_some_and(|checks| !checks.is_empty()),
                "{name}: {told}"
            );
        },
    );
}

#[test]
fn a_folder_in_the_place_of_the_lock_is_named() {
    let shop = wired("claude");
    shop.run(&["post", "finding", "hello"]);
    shop.write(
        ".twining/policy.yml",
        "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n",
    );
    fs::remove_file(shop.file(".twining/local/lock")).expect("goes");
    fs::create_dir(shop.file(".twining/local/lock")).expect("makes a folder");
    let refused = shop.run(&["post", "finding", "more"]);
    assert!(
        refused.code != 0
            && refused.stderr.contains("is a directory")
            && refused.stderr.contains("move the current one away"),
        "{refused:?}"
    );
    // Rules go on to hold, and no file is blamed for it that is well.
    let push = serde_json::json!({"session_id": "s", "cwd": shop.path("shop"), "tool_name": "Bash", "tool_input": {"command": "git push"}});
    let denied = shop.run_with(&["hook", "PreToolUse"], &push.to_string());
    assert!(
        denied.stdout.contains("[no-push]") && !denied.stdout.contains("policy-is-read"),
        "{denied:?}"
    );
    let (finding, words) = said(&examined(&shop, &[]), "store", "local/lock");
    assert!(finding == "fail", "{words}");
    fs::remove_dir(shop.file(".twining/local/lock")).expect("goes");
    assert_eq!(shop.run(&["post", "finding", "more"]).code, 0);
}

#[test]
fn a_program_that_is_not_on_path_is_no_fault_of_the_entries() {
    let shop = wired("claude");
    fs::remove_file(shop.path("bin/twining")).expect("goes");
    let told = examined(&shop, &[]);
    let checks = told["checks"].as_array().expect("a list");
    let lost: Vec<&Value> = checks
        .iter()
        .filter(|check| check["message"].as_str().is_some_and(|said| said.contains("not on PATH")))
        .collect();
    assert!(lost.iter().any(|check| check["name"] == "hook"), "{told:#}");
    each(lost.iter().filter(|check| check["finding"] != "not_checked"), |check| {
        let hint = check["hint"].as_str().unwrap_or_default();
        assert!(
            hint.contains("PATH")
                && hint.contains("restart the host")
                && !hint.contains("twining init"),
            "{check:#}"
        );
    });
}
