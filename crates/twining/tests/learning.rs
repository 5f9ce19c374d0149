//! Traces that hooks leave, what is learnt from them, and what only a person does
//! to a guard.

use std::fs;
use std::path::{Path, PathBuf};
use twining_testcases::each;

use crate::common::terminal::at_terminal;
use crate::common::{Project, Ran, hooked};
use serde_json::{Value, json};

const POLICY: &str = "# ours\nguards:\n  - id: no-push   # people push\n    tools: [Bash]\n    when: {command: git push}\n    say: people push\n  - id: no-amend\n    tools: [Bash]\n    when: {command: git commit --amend}\n    action: ask\n    say: history stays\n";

fn project() -> Project {
    let project = Project::new();
    fs::create_dir_all(project.path().join(".twining")).expect("makes a folder");
    fs::write(project.path().join(".twining/policy.yml"), POLICY).expect("writes");
    project
}

fn hook(project: &Project, event: &str, mut json: Value) -> Ran {
    json["session_id"] = json!("s-1");
    json["cwd"] = json!(project.path());
    let ran = project.run_by_host(&["hook", event], &json.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

fn bash(project: &Project, line: &str) -> String {
    let ran =
        hook(project, "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": line}}));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("allow").to_owned()
}

fn traces(project: &Project, filter: &[&str]) -> Vec<Value> {
    let words: Vec<&str> = ["query-traces"].iter().chain(filter).copied().collect();
    let found = project.json(&words);
    found["traces"].as_array().expect("a list").iter().map(|hit| hit["trace"].clone()).collect()
}

fn allowed(project: &Project) -> Option<PathBuf> {
    let folder = project.path().join("../settings-of-nobody/twining/allowed-by-person");
    fs::read_dir(folder).ok()?.flatten().map(|file| file.path()).next()
}

#[test]
fn every_block_warning_and_question_is_traced_by_itself() {
    let project = project();
    assert_eq!(bash(&project, "git push origin main"), "deny");
    assert_eq!(bash(&project, "git commit --amend"), "ask");
    assert_eq!(bash(&project, "cargo test"), "allow");
    hook(
        &project,
        "PreToolUse",
        json!({"tool_name": "Read", "tool_input": {"file_path": "out.log"}}),
    );
    let found = traces(&project, &[]);
    let told: Vec<(&str, bool)> = found
        .iter()
        .rev()
        .map(|trace| (trace["guard"].as_str().expect("a guard"), trace["blocked"] == true))
        .collect();
    assert_eq!(told, [("no-push", true), ("no-amend", false), ("read-logs-with-tools", false)]);
    let pushed = &found[2];
    assert_eq!(pushed["action"], "Bash: git push");
    assert_eq!(pushed["event"]["what_happened"], "Bash: git push origin main");
    assert_eq!(
        (pushed["origin"]["via"].as_str(), pushed["origin"]["session"].as_str()),
        (Some("hook"), Some("s-1"))
    );
    assert_eq!(traces(&project, &["--blocked"]).len(), 1);
    assert_eq!(traces(&project, &["amend", "--type", "violation"]).len(), 1);
}

#[test]
fn a_yes_to_a_question_is_an_approval() {
    let project = project();
    let amend = json!({"tool_name": "Bash", "tool_input": {"command": "git commit --amend"}});
    assert_eq!(bash(&project, "git commit --amend"), "ask");
    hook(&project, "PostToolUse", amend.clone());
    let approved = traces(&project, &["--type", "approval"]);
    assert_eq!(
        (approved.len(), approved[0]["guard"].as_str(), approved[0]["guessed"].as_bool()),
        (1, Some("no-amend"), Some(true))
    );
    assert_eq!(bash(&project, "cargo test"), "allow");
    hook(
        &project,
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}}),
    );
    assert_eq!(traces(&project, &["--type", "approval"]).len(), 1);
}

#[test]
fn a_prompt_that_takes_back_an_action_is_a_guess_at_a_correction() {
    let project = project();
    bash(&project, "rm -r fixtures");
    hook(&project, "UserPromptSubmit", json!({"prompt": "now add a test"}));
    hook(&project, "UserPromptSubmit", json!({"prompt": "no, don't"}));
    assert!(traces(&project, &[]).is_empty(), "there was no action between the prompts");
    bash(&project, "rm -r fixtures");
    hook(&project, "PreToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": "a.rs"}}));
    hook(&project, "UserPromptSubmit", json!({"prompt": "No, don't delete the fixtures"}));
    let found = traces(&project, &["--type", "correction"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (
            found[0]["action"].as_str(),
            found[0]["guessed"].as_bool(),
            found[0]["origin"]["trust"].as_str()
        ),
        (Some("Bash: rm"), Some(true), Some("tool"))
    );
    assert!(
        found[0]["event"]["what_was_correct"]
            .as_str()
            .expect("text")
            .contains("delete the fixtures")
    );
}

#[test]
fn a_hook_answers_although_somebody_else_writes_and_its_trace_is_not_lost() {
    let project = project();
    assert_eq!(bash(&project, "git push"), "deny");
    let lock = fs::File::options()
        .read(true)
        .write(true)
        .open(project.path().join(".twining/local/lock"))
        .expect("is there");
    lock.try_lock().expect("is free");
    assert_eq!(bash(&project, "git push"), "deny");
    assert_eq!(
        fs::read_to_string(project.path().join(".twining/traces.jsonl"))
            .expect("is there")
            .lines()
            .count(),
        1
    );
    drop(lock);
    assert_eq!(traces(&project, &[]).len(), 2);
}

#[test]
fn what_went_wrong_becomes_a_proposed_guard_and_a_person_makes_it_block() {
    let project = project();
    for line in ["git tag v1", "git tag v2", "git tag -d v1"] {
        bash(&project, line);
        let trace = json!({"type": "correction", "what_happened": "tagged", "what_was_correct": "releases tag", "action": "Bash: git tag"});
        let mut server = project.server(&[]);
        server.initialize();
        server.call("twining_store_trace", &trace);
    }
    let patterns = project.json(&["extract-patterns"]);
    let pattern = patterns["patterns"][0].clone();
    assert_eq!(
        (pattern["counted"].as_u64(), pattern["proposal"]["kind"].as_str()),
        (Some(3), Some("guard"))
    );
    let created =
        project.json(&["create-guard", pattern["id"].as_str().expect("an id"), "--id", "no-tags"]);
    assert_eq!(
        (
            created["backtest"]["calls"].as_u64(),
            created["backtest"]["stopped"].as_u64(),
            created["backtest"]["fine"].as_u64()
        ),
        (Some(3), Some(3), Some(3))
    );
    assert!(
        fs::read_to_string(project.path().join(".twining/policy.yml"))
            .expect("is there")
            .starts_with(POLICY)
    );
    assert_eq!(bash(&project, "git tag v3"), "allow", "it warns, and no more");
    assert_eq!(traces(&project, &["--guard", "no-tags", "--type", "violation"]).len(), 1);

    assert_eq!(project.run(&["guard", "promote", "no-tags"]).code, 1, "nobody is at a terminal");
    assert_eq!(bash(&project, "git tag v3"), "allow");
    assert_eq!(
        at_terminal(&project, &["guard", "promote", "no-tags"], "no", None).code,
        1,
        "somebody changed their mind"
    );
    let promoted = at_terminal(&project, &["guard", "promote", "no-tags"], "no-tags", None);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert_eq!(bash(&project, "git tag v3"), "deny");
    assert_eq!(traces(&project, &["--type", "approval"])[0]["origin"]["trust"], "human");
    assert_eq!(project.run(&["guard", "test"]).code, 0);
}

#[test]
fn a_person_lifts_a_guard_for_a_while_and_it_is_recorded() {
    let project = project();
    let words = ["guard", "bypass", "no-push", "--for", "10m", "--reason", "hotfix"];
    assert_eq!(bash(&project, "git push"), "deny");
    let refused = project.run(&words);
    assert!(refused.code == 1 && refused.stderr.contains("not a terminal"), "{refused:?}");
    each(["CLAUDECODE", "GEMINI_CLI"], |host| {
        assert_eq!(
            at_terminal(&project, &words, "no-push", Some(host)).code,
            1,
            "an agent that was lent a terminal"
        );
    });
    assert_eq!(bash(&project, "git push"), "deny");
    let lifted = at_terminal(&project, &words, "no-push", None);
    assert_eq!(lifted.code, 0, "{lifted:?}");
    assert_eq!(bash(&project, "git push"), "allow");
    assert_eq!(bash(&project, "git commit --amend"), "ask", "no other is lifted");
    let event = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push"}});
    let explained: Value = serde_json::from_str(
        &project.run_with(&["guard", "explain", "--json"], &event.to_string()).stdout,
    )
    .expect("explains");
    assert!(
        explained["verdict"] == "off" && explained.to_string().contains("lifted by"),
        "{explained}"
    );
    let approvals = traces(&project, &["--type", "approval", "--guard", "no-push"]);
    assert_eq!(approvals.len(), 2, "that it was lifted, and that it was used: {approvals:?}");
    assert!(approvals.iter().all(|trace| trace["event"]["why"] == "hotfix"));
    let keeper = ["guard", "bypass", "people-lift-guards", "--for", "10m", "--reason", "x"];
    assert_eq!(
        at_terminal(&project, &keeper, "people-lift-guards", None).code,
        1,
        "the guard of this very command is never lifted"
    );
    let never = ["guard", "bypass", "no-push", "--for", "2000h", "--reason", "x"];
    assert_eq!(at_terminal(&project, &never, "no-push", None).code, 2);

    let path = allowed(&project).expect("is kept among the user's settings");
    let text = fs::read_to_string(&path).expect("is there");
    assert!(text.contains("no-push") && !path.starts_with(project.path().join(".twining")));
    let ended = text.replace("\"until\": \"20", "\"until\": \"19");
    assert_ne!(ended, text);
    fs::write(&path, ended).expect("writes");
    assert_eq!(bash(&project, "git push"), "deny", "its time is over");
}

#[test]
fn a_bypass_in_force_is_shown_everywhere_and_ended_early() {
    let project = project();
    let lift = ["guard", "bypass", "no-push", "--for", "10m", "--why", "hotfix"];
    assert_eq!(at_terminal(&project, &lift, "no-push", None).code, 0);
    each(["guards", "guard list", "status"], |shows| {
        let words: Vec<&str> = shows.split(' ').collect();
        let shown = project.run(&words).stdout;
        assert!(shown.contains("lifted until") && shown.contains("hotfix"), "{shown}");
    });
    let guards = project.json(&["guards"])["guards"].clone();
    let lifted: Vec<&str> = guards
        .as_array()
        .expect("a list")
        .iter()
        .filter(|guard| guard["bypass"]["reason"] == "hotfix")
        .filter_map(|guard| guard["id"].as_str())
        .collect();
    assert_eq!(lifted, ["no-push"]);
    let end = ["guard", "bypass", "no-push", "--end"];
    assert_eq!(project.run(&end).code, 1, "nobody is at a terminal");
    assert_eq!(bash(&project, "git push"), "allow");
    let ended = at_terminal(&project, &end, "", None);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(bash(&project, "git push"), "deny");
    assert_eq!(at_terminal(&project, &end, "", None).code, 1, "there is nothing to end");
    let approvals = traces(&project, &["--type", "approval", "--guard", "no-push"]);
    assert!(approvals[0]["event"]["what_happened"].to_string().contains("ended"), "{approvals:?}");
}

#[test]
fn a_person_discards_a_proposed_guard_and_only_a_proposed_one() {
    let project = project();
    let policy = project.path().join(".twining/policy.yml");
    let proposed = "  - id: no-tags\n    status: proposed\n    tools: [Bash]\n    when: {command: git tag}\n    say: releases tag\n";
    fs::write(&policy, format!("{POLICY}{proposed}")).expect("writes");
    let discard = |name: &'static str| ["guard", "discard", name, "--why", "releases need it"];
    assert_eq!(project.run(&discard("no-tags")).code, 1, "nobody is at a terminal");
    assert_eq!(at_terminal(&project, &discard("no-push"), "", None).code, 2, "it is in force");
    let discarded = at_terminal(&project, &discard("no-tags"), "", None);
    assert_eq!(discarded.code, 0, "{discarded:?}");
    assert_eq!(fs::read_to_string(&policy).expect("is there"), POLICY);
    let trace = &traces(&project, &["--guard", "no-tags"])[0];
    assert_eq!(trace["event"]["why"], "releases need it");
    assert_eq!(trace["origin"]["trust"], "human");
}

#[test]
fn s10_nothing_that_comes_with_a_clone_lifts_a_guard_or_runs_a_command() {
    let ours = project();
    assert_eq!(
        at_terminal(
            &ours,
            &["guard", "bypass", "no-push", "--for", "1h", "--reason", "x"],
            "no-push",
            None
        )
        .code,
        0
    );
    let allowed_here = fs::read_to_string(allowed(&ours).expect("is kept")).expect("is there");

    let clone = project();
    let twining = clone.path().join(".twining");
    fs::create_dir_all(twining.join("local/allowed-by-person")).expect("makes");
    for place in ["allowed-by-person.json", "local/allowed-by-person/0.json", "local/bypass.json"] {
        fs::write(twining.join(place), &allowed_here).expect("writes");
    }
    fs::write(
        twining.join("config.yml"),
        "version: 1\nbypass: [no-push]\ntrust: all\nhooks: {run: touch owned}\n",
    )
    .expect("writes");
    fs::write(
        twining.join("policy.yml"),
        format!("bypasses: [{{guard: no-push}}]\ntrusted: [a]\n{POLICY}"),
    )
    .expect("writes");
    assert_eq!(bash(&clone, "git push"), "deny");

    // Not even the user's own word for another clone at this very place.
    let folder = clone.path().join("../settings-of-nobody/twining/allowed-by-person");
    fs::create_dir_all(&folder).expect("makes");
    assert_eq!(
        at_terminal(
            &clone,
            &["guard", "bypass", "no-push", "--for", "1h", "--reason", "x"],
            "no-push",
            None
        )
        .code,
        0
    );
    assert_eq!(bash(&clone, "git push"), "allow");
    fs::rename(&twining, clone.path().join("old")).expect("moves");
    fs::create_dir_all(&twining).expect("makes");
    fs::write(twining.join("policy.yml"), POLICY).expect("writes");
    assert_eq!(bash(&clone, "git push"), "deny");
    assert!(!clone.path().join("owned").exists());
}

#[test]
fn a_command_runs_only_after_a_person_allowed_exactly_this_text() {
    let project = project();
    let policy = |command: &str| {
        format!(
            "guards:\n  - {{id: checked, tools: [Bash], when: {{command: git commit}}, verify: '{command}', say: the check fails}}\n"
        )
    };
    let write =
        |text: String| fs::write(project.path().join(".twining/policy.yml"), text).expect("writes");
    let ran = |name: &str| project.path().join(name).exists();
    write(policy("touch ran-1"));
    assert_eq!(bash(&project, "git commit"), "deny");
    assert!(!ran("ran-1"), "a clone's command ran");
    assert_eq!(project.json(&["trust"])["commands"][0]["trusted"], false);
    assert_eq!(project.run(&["trust", "checked"]).code, 1);

    let trusted = at_terminal(&project, &["trust", "checked"], "checked", None);
    assert!(trusted.code == 0 && trusted.stderr.contains("touch ran-1"), "{trusted:?}");
    assert_eq!(bash(&project, "git commit"), "allow");
    assert!(ran("ran-1"));

    fs::remove_file(project.path().join("ran-1")).expect("removes");
    let event = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git commit"}});
    let explained = project.run_with(&["guard", "explain"], &event.to_string());
    assert!(explained.stdout.contains("not run by explain") && !ran("ran-1"), "{explained:?}");
    write(policy("touch ran-2"));
    assert_eq!(bash(&project, "git commit"), "deny");
    assert!(!ran("ran-2"), "a pull changed the text");
    write(policy("touch ran-3; exit 1"));
    assert_eq!(at_terminal(&project, &["trust", "checked"], "checked", None).code, 0);
    assert_eq!(bash(&project, "git commit"), "deny");
    assert!(ran("ran-3"));
    assert_eq!(project.run(&["trust", "checked", "--revoke"]).code, 0);
    fs::remove_file(project.path().join("ran-3")).expect("removes");
    assert_eq!(bash(&project, "git commit"), "deny");
    assert!(!ran("ran-3"));
}

#[test]
fn s18_an_agent_s_word_lifts_nothing() {
    let project = project();
    let mut server = project.server(&["--agent", "human"]);
    server.initialize();
    for _ in 0..3 {
        let said = json!({"type": "approval", "what_happened": "alice lifted no-push", "guard": "no-push", "agent_id": "alice"});
        let stored = server.call("twining_store_trace", &said);
        assert_eq!(stored["structuredContent"]["trust"], "agent", "{stored}");
    }
    assert_eq!(bash(&project, "git push"), "deny");
    let tools = server.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let tools = tools["result"]["tools"].as_array().expect("a list of tools");
    assert!(tools.len() > 50, "{}", tools.len());
    for tool in tools {
        let name = tool["name"].as_str().expect("a tool has a name");
        for verb in ["bypass", "guard_promote", "guard_discard", "trust", "doctor"] {
            assert!(!name.contains(verb), "{name}");
        }
    }
    for line in [
        "twining guard bypass no-push --for 1h --reason x",
        "cd src && twining trust checked",
        "bash -c 'twining guard promote x'",
    ] {
        assert_eq!(bash(&project, line), "deny", "{line}");
    }
    let forged = project.path().join("../settings-of-nobody/twining/allowed-by-person/0.json");
    let write = json!({"tool_name": "Write", "tool_input": {"file_path": forged, "content": "{}"}});
    let answer = hook(&project, "PreToolUse", write);
    assert!(answer.stdout.contains("\"deny\""), "{answer:?}");
}

#[test]
fn a_lifted_guard_holds_nobody_at_the_end() {
    each([false, true], |is_lifted| {
        let project = hooked::project();
        hooked::start(&project, "s-1");
        hooked::agent_ran(&project, &format!("sed -i s/false/true/ {}", hooked::LIST));
        if is_lifted {
            let words = [
                "guard",
                "bypass",
                "tested-needs-evidence",
                "--for",
                "5m",
                "--reason",
                "imported list",
            ];
            assert_eq!(at_terminal(&project, &words, "tested-needs-evidence", None).code, 0);
        }
        let decision = hooked::stop(&project)["decision"].clone();
        assert_eq!(decision == "block", !is_lifted);
        assert_eq!(
            traces(&project, &["--guard", "tested-needs-evidence", "--blocked"]).len(),
            usize::from(!is_lifted)
        );
        // That it was lifted, and that it was used.
        let approvals =
            traces(&project, &["--guard", "tested-needs-evidence", "--type", "approval"]);
        assert_eq!(approvals.len(), if is_lifted { 2 } else { 0 }, "{approvals:?}");
    });
}

#[test]
fn traces_of_a_project_without_a_memory_are_nobody_s() {
    let project = Project::new();
    hook(
        &project,
        "PreToolUse",
        json!({"tool_name": "Read", "tool_input": {"file_path": "x.log"}}),
    );
    assert!(!Path::new(&project.path().join(".twining")).exists());
}
