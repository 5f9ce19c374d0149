//! `init --protect`: what is handed to hosts and to code owners, and taken back.

use crate::common::repository::{Repository, changed};
use serde_json::json;
use twining_testcases::each;

/// Settings that somebody wrote before.
const THEIRS: &str = "{\n  \"permissions\": {\n    \"deny\": [\"Read(./.env)\"]\n  }\n}\n";

#[test]
fn claude_code_is_told_to_keep_agents_out_of_what_is_local() {
    let shop = Repository::new();
    shop.write(".claude/settings.json", THEIRS);
    shop.told(&["init", "--agent", "claude", "--protect"]);
    let settings = shop.json(".claude/settings.json");
    assert_eq!(
        settings["permissions"]["deny"],
        json!(["Read(./.env)", "Edit(/.twining/local/**)", "Edit(/.git/hooks/**)"])
    );
    assert_eq!(
        settings["sandbox"],
        json!({"filesystem": {"denyWrite": ["./.twining/local", "./.git/hooks"]}})
    );
}

#[test]
fn strict_and_mild_take_each_others_place() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", "claude,codex", "--protect"]);
    let mild = shop.read(".claude/settings.json");
    shop.told(&["init", "--agent", "claude,codex", "--protect=strict"]);
    assert_eq!(
        shop.json(".claude/settings.json")["permissions"]["deny"],
        json!(["Edit(/.git/hooks/**)", "Edit(/.twining/**)"])
    );
    assert!(
        shop.read(".codex/config.toml")
            .contains("\":workspace_roots\" = { \".twining\" = \"read\" }")
    );
    shop.told(&["init", "--agent", "claude,codex", "--protect"]);
    let words = |text: &str| text.matches("twining/local").count();
    assert_eq!(words(&shop.read(".claude/settings.json")), words(&mild));
    assert!(!shop.read(".claude/settings.json").contains("(/.twining/**)"));
}

#[test]
fn protection_is_shown_first_written_once_and_taken_back_to_the_byte() {
    let shop = Repository::new();
    shop.write(".claude/settings.json", THEIRS);
    shop.write(".codex/config.toml", "model = \"o9\" # fast\n");
    shop.write("CODEOWNERS", "* @everybody\n");
    let before = shop.tree();
    let words = ["init", "--agent", "claude,codex", "--protect=strict", "--owner", "@org/leads"];
    let shown = shop.run(&[&words[..], &["--dry-run"]].concat()).stdout;
    each(["+", "denyWrite", "default_permissions", "/.twining/policy.yml @org/leads"], |line| {
        assert!(shown.contains(line), "{line} in {shown}");
    });
    assert_eq!(changed(&before, &shop.tree()), Vec::<String>::new(), "shown, not written");
    shop.told(&words);
    assert_eq!(shop.told(&words)["files"], json!([]), "twice is once");
    shop.told(&["uninstall", "--purge", "--yes"]);
    assert_eq!(changed(&before, &shop.tree()), Vec::<String>::new());
}

#[test]
fn a_clone_without_a_receipt_loses_what_is_ours_and_nothing_else() {
    let shop = Repository::new();
    shop.write(".claude/settings.json", THEIRS);
    shop.write(".codex/config.toml", "model = \"o9\" # fast\n");
    shop.told(&["init", "--agent", "claude,codex", "--protect"]);
    std::fs::remove_dir_all(shop.file(".twining/local")).expect("removes");
    shop.told(&["uninstall", "--yes"]);
    assert_eq!(
        shop.json(".claude/settings.json"),
        json!({"permissions": {"deny": ["Read(./.env)"]}})
    );
    assert_eq!(shop.read(".codex/config.toml"), "model = \"o9\" # fast\n");
    assert!(!shop.file(".github/CODEOWNERS").exists());
}

#[test]
fn a_sandbox_of_codex_that_somebody_set_up_stays_and_is_told() {
    let shop = Repository::new();
    shop.write(".codex/config.toml", "sandbox_mode = \"read-only\"\n");
    let told = shop.told(&["init", "--agent", "codex", "--protect"]);
    assert!(!shop.read(".codex/config.toml").contains("default_permissions"));
    assert!(told["notes"].to_string().contains("workspace_roots"), "{told}");
}

#[test]
fn code_owners_are_named_where_the_team_keeps_them() {
    let shop = Repository::new();
    shop.write("docs/CODEOWNERS", "* @everybody\n");
    shop.told(&["init", "--agent", "none", "--codeowners", "--owner", "@org/leads"]);
    let owners = shop.read("docs/CODEOWNERS");
    assert!(owners.starts_with("* @everybody\n"), "{owners}");
    assert!(
        owners.contains("\n/.twining/policy.yml @org/leads\n/.twining/decisions/ @org/leads\n"),
        "{owners}"
    );
    shop.told(&["init", "--agent", "none", "--codeowners"]);
    assert_eq!(shop.read("docs/CODEOWNERS"), owners, "what was filled in stays");
}

#[test]
fn without_an_owner_the_lines_say_what_to_fill_in() {
    let shop = Repository::new();
    shop.told(&["init", "--agent", "none", "--codeowners"]);
    let owners = shop.read(".github/CODEOWNERS");
    assert!(
        owners.lines().all(|line| line.starts_with('#')) && owners.contains("@your-team"),
        "{owners}"
    );
    assert_eq!(shop.run(&["init", "--agent", "none", "--owner", "nobody"]).code, 2);
}
