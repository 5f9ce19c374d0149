//! `twining doctor` on the servers hosts are configured to start: proven by starting them, never by
//! starting someone else's command.

use std::fs;
use twining_testcases::each;

use crate::common::repository::Repository;
use serde_json::Value;

fn wired(agents: &str) -> Repository {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.told(&["init", "--agent", agents]);
    assert_eq!(shop.run(&["doctor"]).code, 0, "all is well to begin with");
    shop
}

fn servers(shop: &Repository, flags: &[&str]) -> (i32, Vec<(String, String)>) {
    let words: Vec<&str> = ["doctor", "--json"].into_iter().chain(flags.iter().copied()).collect();
    let ran = shop.run(&words);
    let told: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let checks =
        told["checks"].as_array().expect("a list").iter().filter(|check| check["name"] == "server");
    (ran.code, checks.map(|check| (text(check, "finding"), text(check, "message"))).collect())
}

#[test]
fn an_entry_that_does_not_start_the_server_is_a_failure_and_is_mended() {
    each(
        [
            ("claude", ".mcp.json", "\"mcp\"", "\"mcpx\""),
            ("codex", ".codex/config.toml", "\"mcp\"", "\"mcpx\""),
            ("gemini", ".gemini/settings.json", "\"args\": [\"mcp\"", "\"args\": [\"--version\""),
            ("cursor", ".cursor/mcp.json", "\"lite\"", "\"none-such\""),
            ("opencode", "opencode.json", "\"mcp\", \"--tools\"", "\"serve\", \"--tools\""),
        ],
        |(agent, file, right, wrong)| {
            let shop = wired(agent);
            let broken = shop.read(file).replace(right, wrong);
            assert_ne!(broken, shop.read(file), "{agent}");
            shop.write(file, &broken);
            let (code, told) = servers(&shop, &[]);
            assert!(
                code == 3
                    && told
                        .iter()
                        .any(|(finding, words)| finding == "fail" && words.starts_with(agent)),
                "{agent}: {told:?}"
            );
            let (code, told) = servers(&shop, &["--fix"]);
            assert!(
                code == 0
                    && told
                        .iter()
                        .any(|(finding, words)| finding == "ok"
                            && words.contains("the server starts")),
                "{agent}: {told:?}"
            );
        },
    );
}

#[test]
fn an_entry_that_was_put_there_and_is_gone_is_a_failure() {
    each(
        [("claude", ".mcp.json"), ("cursor", ".cursor/mcp.json"), ("codex", ".codex/config.toml")],
        |(agent, file)| {
            let shop = wired(agent);
            shop.write(
                file,
                if agent == "codex" {
                    "model = \"x\"\n"
                } else {
                    "{\"mcpServers\": {\"other\": {\"command\": \"o\"}}}\n"
                },
            );
            let (code, told) = servers(&shop, &[]);
            assert!(
                code == 3
                    && told
                        .iter()
                        .any(|(finding, words)| finding == "fail"
                            && words.contains("is missing from")),
                "{agent}: {told:?}"
            );
            assert_eq!(servers(&shop, &["--fix"]).0, 0, "{agent}");
            assert!(
                shop.read(file).contains("other") || agent == "codex",
                "{agent}: what others have stays"
            );
        },
    );
    // All of it may be gone.
    let shop = wired("claude");
    fs::remove_file(shop.file(".mcp.json")).expect("removes");
    fs::remove_dir_all(shop.file(".claude")).expect("removes");
    assert_eq!(servers(&shop, &[]).0, 3);
    shop.told(&["uninstall"]);
    assert_eq!(servers(&shop, &[]).0, 0, "who left is not missed");
}

#[test]
fn only_this_program_is_started_and_only_as_a_server() {
    let shop = wired("claude");
    let trap = shop.path("trapped");
    shop.program("lure", &format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
    shop.write_program("tools/twining", &format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
    let planted = shop.file("tools/twining").display().to_string();
    let entry = |command: &str, args: &str| {
        format!(
            "{{\"mcpServers\": {{\"twining\": {{\"command\": \"{command}\", \"args\": [{args}]}}}}}}\n"
        )
    };
    each(
        [
            ("lure", "\"mcp\""),
            (planted.as_str(), "\"mcp\""),
            ("./tools/twining", "\"mcp\""),
            ("nobody-has-this", "\"mcp\""),
            ("/nowhere/bin/twining", "\"mcp\""),
            ("twining", "\"uninstall\", \"--purge\", \"--yes\""),
            ("sh", "\"-c\", \"twining mcp\""),
        ],
        |(command, args)| {
            shop.write(".mcp.json", &entry(command, args));
            let (code, told) = servers(&shop, &[]);
            let said = told
                .iter()
                .find(|(finding, _)| finding == "fail")
                .unwrap_or_else(|| panic!("{command}: {told:?}"));
            assert!(code == 3 && said.1.contains("does not start Twining"), "{command}: {said:?}");
            assert!(!trap.exists() && shop.file(".twining").is_dir(), "{command} was started");
        },
    );
    // By its whole path it is this program all the same.
    shop.write(".mcp.json", &entry(env!("CARGO_BIN_EXE_twining"), "\"mcp\""));
    let (_, told) = servers(&shop, &[]);
    assert!(
        told.iter().any(|(finding, words)| finding == "ok" && words.starts_with("claude")),
        "{told:?}"
    );
    shop.write(".mcp.json", &entry("npx", "\"-y\", \"@somebody/twining\", \"mcp\""));
    let (code, told) = servers(&shop, &[]);
    assert!(code == 0 && told[0].0 == "not_checked", "{told:?}");
}

#[test]
fn of_keys_that_stand_twice_the_one_that_hosts_read_is_changed() {
    let ours = "\"twining\": {\"command\": \"twining\", \"args\": [\"mcp\"]}";
    let other = "\"other\": {\"command\": \"o\"}";
    each(
        [
            format!("{{\n  \"mcpServers\": {{{ours}}},\n  \"mcpServers\": {{{other}}}\n}}\n"),
            format!("{{\n  \"mcpServers\": {{{ours}, {other}, {ours}}}\n}}\n"),
        ],
        |twice| {
            let shop = wired("claude");
            shop.write(".mcp.json", &twice);
            shop.told(&["init", "--agent", "claude"]);
            // As hosts do, this reader takes the last.
            assert_eq!(shop.json(".mcp.json")["mcpServers"]["twining"]["command"], "twining");
            shop.told(&["uninstall"]);
            let left = shop.json(".mcp.json")["mcpServers"].clone();
            assert!(left["twining"].is_null() && left["other"]["command"] == "o", "{left}");
        },
    );
}

#[test]
fn a_file_of_one_host_that_is_broken_says_nothing_of_the_others() {
    let shop = wired("claude,cursor");
    shop.write(".mcp.json", "{\n  \"mcpServers\": {,}\n}\n");
    let ran = shop.run(&["doctor"]);
    assert!(ran.code == 3 && ran.stdout.contains("cannot change `.mcp.json`: line 2"), "{ran:?}");
    assert!(ran.stdout.contains("cursor is set up correctly"), "{ran:?}");
}

#[test]
fn a_hook_of_git_that_starts_nothing_is_a_failure() {
    let shop = wired("none");
    each(["post-commit", "pre-commit"], |name| {
        let hook = format!(".git/hooks/{name}");
        let program = shop.path("bin/twining").display().to_string();
        shop.write(&hook, &shop.read(&hook).replace(&program, "/nowhere/bin/twining"));
        let ran = shop.run(&["doctor"]);
        assert!(
            ran.code == 3
                && ran.stdout.contains(&format!(
                    "{name} starts `/nowhere/bin/twining`, which does not exist"
                )),
            "{ran:?}"
        );
        assert_eq!(shop.run(&["doctor", "--fix"]).code, 0, "{name}");
    });
}

#[test]
fn comments_that_a_host_does_not_take_are_told_and_those_it_takes_are_not() {
    let shop = Repository::new();
    shop.twining_on_path();
    shop.write(".claude/settings.json", "{\n  // ours\n  \"model\": \"x\"\n}\n");
    shop.write(".gemini/settings.json", "{\n  \"theme\": \"dark\" // at night\n}\n");
    let told = shop.told(&["init", "--agent", "claude,gemini"]);
    assert!(
        told["notes"]
            .to_string()
            .contains("claude accepts only plain JSON and ignores `.claude/settings.json`"),
        "{told}"
    );
    assert!(!told["notes"].to_string().contains("gemini"), "{told}");
    let ran = shop.run(&["doctor"]);
    assert!(
        ran.code == 3
            && ran.stdout.contains("`.claude/settings.json` cannot be read, so claude ignores it"),
        "{ran:?}"
    );
    let tested = shop.run(&["guard", "test"]);
    assert!(
        tested.stdout.contains("claude does not fire") && tested.stdout.contains("gemini fires"),
        "{tested:?}"
    );
    shop.write(
        ".claude/settings.json",
        &shop.read(".claude/settings.json").replace("  // ours\n", ""),
    );
    assert_eq!(shop.run(&["doctor"]).code, 0);
    assert!(shop.run(&["guard", "test"]).stdout.contains("claude fires"));
}
