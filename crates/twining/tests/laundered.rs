//! What was changed here does not become others' work by a way through git; what
//! others did and git brought is told in a line and holds nobody.

mod common;

use std::fs;
use std::process::Command;

use common::Project;
use common::hooked::*;
use serde_json::{Value, json};

/// A project with a feature list of its own, and the remote it had before anybody looked.
fn shared() -> Project {
    let project = project();
    let outside = project.path().parent().expect("a folder").join("team.git");
    sh(&project, &format!("git clone -q --bare . '{0}' && git remote add origin '{0}' && git fetch -q origin", outside.display()));
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    project
}

fn sh(project: &Project, script: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", script]).current_dir(project.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{role}_NAME"), "t").env(format!("GIT_{role}_EMAIL"), "t@example.com");
    }
    let ran = shell.output().expect("a shell runs");
    assert!(ran.status.success(), "{script}: {ran:?}");
}

/// The list with `F1` tested, in a file beside the project.
const FLIP: &str = r#"sed -i '0,/"tested":false/s//"tested":true/' .claude/progress/feature-list.json"#;
/// A change in a clone beside the project.
const CLONE: &str = "git clone -q . ../clone; cd ../clone";

#[test]
fn a_feature_is_not_tested_because_git_says_so() {
    let plumbing = r#"
        cp .claude/progress/feature-list.json ../kept; FLIP; blob=$(git hash-object -w .claude/progress/feature-list.json)
        cp ../kept .claude/progress/feature-list.json
        export GIT_INDEX_FILE=$PWD/../index; git read-tree HEAD
        git update-index --cacheinfo 100644,$blob,.claude/progress/feature-list.json
        made=$(git commit-tree $(git write-tree) -p HEAD -m t); unset GIT_INDEX_FILE"#;
    let deeds = [
        ("a clone that is pulled", format!("({CLONE}; FLIP; git commit -qam evil); git pull -q ../clone main")),
        ("a worktree that is merged", "git worktree add -q ../tree -b tree; (cd ../tree; FLIP; git commit --no-verify -qam evil); git merge -q tree".into()),
        ("a patch", format!("({CLONE}; FLIP; git commit -qam evil; git format-patch -q -1 --stdout > ../x.patch); git am -q ../x.patch")),
        ("a pick", format!("({CLONE}; FLIP; git commit -qam evil); git fetch -q ../clone main; git cherry-pick FETCH_HEAD")),
        ("a fast-forward to a commit from nowhere", format!("{plumbing}; git merge -q --ff-only $made")),
        ("a reset to one", format!("{plumbing}; git reset -q --hard $made")),
        ("a branch set to one", format!("{plumbing}; git update-ref refs/heads/main $made; git checkout -q -f main")),
        ("a rebase onto one", format!("{plumbing}; git rebase -q $made")),
        ("a commit, and a forged list of places", "FLIP; git commit -qam x --no-verify; printf '%s %s t <t@example.com> 1 +0000\\tmerge zz: Fast-forward\\n' $(git rev-parse HEAD~1 HEAD) > .git/logs/HEAD".into()),
        ("no list of places at all", "FLIP; git commit -qam x --no-verify; rm -r .git/logs".into()),
        ("a commit that was pushed", "FLIP; git commit -qam x --no-verify; git push -q origin main".into()),
        ("a commit that stands in for another", "old=$(git rev-parse HEAD); FLIP; git commit -qam x --no-verify; new=$(git rev-parse HEAD); git reset -q --soft HEAD~1; git replace $old $new".into()),
        ("a merge that is not under way", "FLIP; git rev-parse HEAD > .git/MERGE_HEAD".into()),
        ("there and back", "FLIP; git commit -qam x --no-verify; git checkout -q HEAD~1; git checkout -q main".into()),
    ];
    for (name, deed) in deeds {
        let project = shared();
        sh(&project, &deed.replace("FLIP", FLIP));
        assert!(read(&project, LIST).contains("\"tested\":true"), "{name}: it is done");
        let held = reason(&stop(&project));
        assert!(held.contains("F1 would become tested"), "{name}: {held}");
        if !git(&project, &["diff", "HEAD~1", "--quiet"]).status.success() && git(&project, &["diff", "HEAD", "--quiet"]).status.success() {
            assert!(held.contains("It is committed: `git log "), "{name}: {held}");
        }
        assert!(start(&project, "s-2").contains("F1 would become tested"), "{name}: the next brief");
    }
}

#[test]
fn a_record_is_not_others_because_git_says_so() {
    let forge = r"sed -i 's/cache lies/cache is fine/' .twining/blackboard.jsonl";
    let drop = "git rm -q --cached .twining/decisions/0*.json; rm -f .twining/decisions/0*.json";
    for (name, deed) in [("altered", forge), ("removed", drop)] {
        for (way, script) in [
            ("pulled", format!("({CLONE}; {deed}; git commit -qam evil); git pull -q ../clone main")),
            (
                "merged",
                format!("git worktree add -q ../tree -b tree; (cd ../tree; {deed}; git commit --no-verify -qam evil); git merge -q tree"),
            ),
            (
                "pulled into other work",
                format!(
                    "({CLONE}; {deed}; git commit -qam evil); git commit -q --allow-empty --no-verify -m x; git pull -q --no-rebase --no-edit ../clone main"
                ),
            ),
        ] {
            let project = shared();
            sh(&project, &script);
            let held = reason(&stop(&project));
            assert!(held.contains("[protect-twining-state]") && held.contains(name), "{name}, {way}: {held}");
            assert!(held.contains("`git checkout ") && held.contains("Commits since that changed them") && held.contains("(t)"), "{held}");
        }
    }
}

#[test]
fn others_work_is_told_in_a_line_and_holds_nobody() {
    let project = shared();
    // A colleague's clone of the team's repository, with a Twining of its own.
    let colleague = Project::new();
    fs::remove_dir(colleague.path().join(".git")).expect("makes way");
    let team = project.path().parent().expect("a folder").join("team.git");
    sh(&colleague, &format!("git clone -q '{}' .", team.display()));
    colleague.json(&["post", "finding", "seen from elsewhere"]);
    colleague.decide("use postgres", "data/");
    write(&colleague, LIST, &read(&colleague, LIST).replacen("\"tested\":false", "\"tested\":true", 1));
    sh(&colleague, "git add -A; GIT_AUTHOR_NAME=ada git commit -q --no-verify -m theirs; git push -q origin main");

    project.json(&["post", "finding", "seen here"]);
    commit(&project, "ours");
    sh(&project, "git pull -q --no-rebase --no-edit origin main");
    let told = stop(&project);
    assert!(told.get("decision").is_none(), "{told}");
    let line = told["systemMessage"].as_str().expect("a line").to_owned();
    assert!(line.contains("(ada)") && line.contains("blackboard.jsonl: ") && line.contains("decisions/"), "{line}");
    assert!(line.contains("F1 would become tested"), "{line}");
    assert_eq!(stop(&project), Value::Null, "once");
    let traces = project.json(&["query-traces", "--limit", "5"]).to_string();
    assert!(traces.contains("git brought changes"), "{traces}");

    // Switching away and back, committing and pushing on top of it is nobody's deed either.
    sh(&project, "git checkout -q -b before HEAD~1");
    assert!(stop(&project).get("decision").is_none());
    sh(&project, "git checkout -q main");
    assert!(stop(&project).get("decision").is_none());
    project.json(&["post", "finding", "more from here"]);
    commit(&project, "more");
    sh(&project, "git push -q origin main");
    assert_eq!(stop(&project), Value::Null);
    git(&project, &["add", "-A"]);
    assert_eq!(project.run(&["hook", "--agent", "git", "pre-commit"]).code, 0);
}

/// The team's repository with what a colleague did as request 7, as branch `other` and
/// as request 8, and nobody here has fetched yet.
fn requested(project: &Project) -> String {
    let team = project.path().parent().expect("a folder").join("team.git").display().to_string();
    let colleague = Project::new();
    fs::remove_dir(colleague.path().join(".git")).expect("makes way");
    sh(&colleague, &format!("git clone -q '{team}' ."));
    for (n, place) in [(7, "refs/pull/7/head refs/heads/other"), (8, "refs/pull/8/head")] {
        sh(&colleague, "git checkout -q -B main origin/main");
        colleague.json(&["post", "finding", &format!("seen in request {n}")]);
        write(&colleague, LIST, &read(&colleague, LIST).replacen("\"tested\":false", "\"tested\":true", 1));
        sh(&colleague, "git add -A; GIT_AUTHOR_NAME=ada git commit -q --no-verify -m theirs");
        for place in place.split(' ') {
            sh(&colleague, &format!("git push -q origin HEAD:{place}"));
        }
    }
    team
}

/// What an agent's command does, as its host tells it.
fn command(project: &Project, line: &str) {
    let told = json!({"tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": "t1"});
    assert_eq!(answer(&hook(project, "PreToolUse", told.clone())), Value::Null, "{line}");
    sh(project, line);
    let mut told = told;
    told["tool_response"] = json!({"stdout": "", "stderr": ""});
    assert_eq!(answer(&hook(project, "PostToolUse", told)), Value::Null, "{line}");
}

#[test]
fn a_request_fetched_by_its_number_is_others_work() {
    for way in [
        "git fetch -q origin pull/7/head:pr7 && git checkout -q pr7",
        "git fetch -q origin pull/7/head && git checkout -q FETCH_HEAD",
        "git config remote.origin.fetch +refs/heads/main:refs/remotes/origin/main && git fetch -q origin other && git switch -q -c other FETCH_HEAD",
        "git pull -q TEAM other",
        "git pull -q file://TEAM refs/pull/7/head",
        "git pull -q origin pull/7/head",
    ] {
        let project = shared();
        let team = requested(&project);
        sh(&project, &way.replace("TEAM", &team));
        let told = stop(&project);
        assert!(told.get("decision").is_none(), "{way}: {told}");
        let line = told["systemMessage"].as_str().expect("a line").to_owned();
        assert!(line.contains("(ada)") && line.contains("blackboard.jsonl: ") && line.contains("F1 would become tested"), "{way}: {line}");
        assert_eq!(stop(&project), Value::Null, "{way}: once");
        sh(&project, "git checkout -q main");
        assert!(stop(&project).get("decision").is_none(), "{way}: back again");
    }
}

#[test]
fn several_requests_of_one_turn_are_all_remembered() {
    let project = shared();
    requested(&project);
    for n in [7, 8] {
        command(&project, &format!("git fetch -q origin pull/{n}/head:pr{n}"));
    }
    command(&project, "git fetch -q origin");
    for n in [8, 7] {
        sh(&project, &format!("git checkout -q pr{n}"));
        let told = stop(&project);
        assert!(told.get("decision").is_none(), "request {n}: {told}");
    }
}

#[test]
fn what_was_fetched_from_elsewhere_is_nobody_s() {
    let evil = format!("({CLONE}; {FLIP}; git commit -qam evil)");
    for way in [
        "git pull -q ../clone main",
        "git fetch -q ../clone main && git merge -q FETCH_HEAD",
        "git fetch -q ../clone main:x && git merge -q x",
        "git remote add other ../clone && git pull -q other main",
        "git remote set-url origin ../clone && git fetch -q origin main && git merge -q FETCH_HEAD",
        "git config url.../clone.insteadOf ../team && git fetch -q ../team main && git merge -q FETCH_HEAD",
        "mv ../clone ../team && git pull -q ../team main",
        "git fetch -q ../clone main && sed 's/\t\t.*/\t\tnobody knows/' -i .git/FETCH_HEAD && git merge -q FETCH_HEAD",
    ] {
        let project = shared();
        sh(&project, &format!("{evil}; {way}"));
        assert!(read(&project, LIST).contains("\"tested\":true"), "{way}: it is done");
        let held = reason(&stop(&project));
        assert!(held.contains("F1 would become tested"), "{way}: {held}");
    }
}

#[test]
fn a_pull_names_others_commits_and_breaks_no_rule() {
    let project = shared();
    requested(&project);
    for n in 0..3 {
        project.json(&["post", "finding", &format!("from here {n}")]);
        git(&project, &["add", "-A"]);
        sh(&project, "GIT_AUTHOR_NAME=me git commit -q -m ours");
    }
    sh(&project, "git pull -q --no-rebase --no-edit origin other");
    let told = stop(&project);
    let line = told["systemMessage"].as_str().expect("a line").to_owned();
    assert!(told.get("decision").is_none() && line.contains("(ada)") && !line.contains("(me)"), "{line}");
    let broken = project.json(&["query-traces", "--type", "violation"]);
    assert!(!broken.to_string().contains("git brought"), "{broken}");
    assert!(project.json(&["query-traces", "--limit", "5"]).to_string().contains("git brought changes"));
}

#[test]
fn what_others_put_upon_work_of_the_same_turn_is_theirs() {
    for forges in [false, true] {
        let project = shared();
        project.json(&["post", "finding", "from here"]);
        if forges {
            sh(&project, &format!("sed -i 's/cache lies/cache is fine/' .twining/blackboard.jsonl; {FLIP}"));
        }
        sh(&project, "git add -A; GIT_AUTHOR_NAME=me git commit -q --no-verify -m ours; git push -q origin main");
        let colleague = Project::new();
        fs::remove_dir(colleague.path().join(".git")).expect("makes way");
        let team = project.path().parent().expect("a folder").join("team.git");
        sh(&colleague, &format!("git clone -q '{}' .", team.display()));
        colleague.json(&["post", "finding", "upon it"]);
        colleague.decide("use postgres", "data/");
        write(&colleague, LIST, &read(&colleague, LIST).replace("\"id\":\"F2\",\"tested\":false", "\"id\":\"F2\",\"tested\":true"));
        sh(&colleague, "git add -A; GIT_AUTHOR_NAME=ada git commit -q --no-verify -m theirs; git push -q origin main");
        sh(&project, "git pull -q origin main");
        let told = stop(&project);
        if forges {
            let held = reason(&told);
            assert!(held.contains("blackboard.jsonl") && held.contains("1 altered") && held.contains("F1 would become tested"), "{held}");
            continue;
        }
        assert!(told.get("decision").is_none(), "{told}");
        let line = told["systemMessage"].as_str().expect("a line").to_owned();
        assert!(line.contains("(ada)") && !line.contains("(me)") && line.contains("F2 would become tested"), "{line}");
        assert_eq!(stop(&project), Value::Null, "once");
    }
}

/// Work that is pushed, others' upon it, and more from here that is put together with theirs.
fn put_together(how: &str, forged_before: &str, forged_after: &str) -> Value {
    let project = shared();
    write(&project, "src/b.rs", "fn b() {}\n");
    sh(&project, &format!("{forged_before}; git add -A; GIT_AUTHOR_NAME=me git commit -q --no-verify -m ours; git push -q origin main"));
    let colleague = Project::new();
    fs::remove_dir(colleague.path().join(".git")).expect("makes way");
    let team = project.path().parent().expect("a folder").join("team.git");
    sh(&colleague, &format!("git clone -q '{}' .; rm .twining/decisions/0*.json", team.display()));
    colleague.json(&["post", "finding", "upon it"]);
    colleague.decide("use postgres", "data/");
    write(&colleague, LIST, &read(&colleague, LIST).replace("\"id\":\"F2\",\"tested\":false", "\"id\":\"F2\",\"tested\":true"));
    sh(&colleague, "git add -A; GIT_AUTHOR_NAME=ada git commit -q --no-verify -m theirs; git push -q origin main");
    project.decide("use redis", "cache/");
    sh(&project, "git add -A; GIT_AUTHOR_NAME=me git commit -q --no-verify -m more");
    sh(&project, &format!("{how}; {forged_after}"));
    let told = stop(&project);
    if told.get("decision").is_none() {
        assert_eq!(stop(&project), Value::Null, "once");
    }
    told
}

#[test]
fn what_others_put_upon_work_of_the_same_turn_is_theirs_in_a_merge_too() {
    let merge = "git pull -q --no-rebase --no-edit origin main";
    for how in [
        merge,
        "git pull -q --rebase origin main",
        "git fetch -q; git cherry-pick origin/main",
        "git fetch -q; git reset -q --hard origin/main; git cherry-pick ORIG_HEAD",
    ] {
        let told = put_together(how, "true", "true");
        if how.ends_with("origin/main") {
            // A copy made here is nobody's but one's own.
            assert_eq!(told["decision"], "block", "{how}: {told}");
            continue;
        }
        assert!(told.get("decision").is_none(), "{how}: {told}");
        let line = told["systemMessage"].as_str().expect("a line").to_owned();
        assert!(line.contains("(ada)") && !line.contains("(me)") && line.contains("F2 would become tested"), "{how}: {line}");
        assert!(line.contains("blackboard.jsonl: ") && line.contains("it was removed"), "{how}: {line}");
    }
    let forge = r"sed -i 's/cache lies/cache is fine/' .twining/blackboard.jsonl";
    let drop = "sed -i '/cache lies/d' .twining/blackboard.jsonl";
    let amend = "git commit -q -a --amend --no-edit --no-verify";
    for (name, before, after) in [
        ("altered", format!("{forge}; {FLIP}"), "true".to_owned()),
        ("altered", "true".to_owned(), format!("{forge}; {FLIP}; {amend}")),
        ("removed", "true".to_owned(), format!("{drop}; {amend}")),
    ] {
        let held = reason(&put_together(merge, &before, &after));
        assert!(held.contains("[protect-twining-state]") && held.contains(name), "{name}, {before}, {after}: {held}");
        assert!(name == "removed" || held.contains("F1 would become tested"), "{before}, {after}: {held}");
    }
}

#[test]
fn a_branch_from_before_twining_is_left_again() {
    let project = Project::new();
    fs::remove_dir(project.path().join(".git")).expect("makes way");
    write(&project, "src/a.rs", "fn a() {}\n");
    sh(&project, "git init -q -b main; git add -A; git commit -q -m begin; git branch old");
    project.json(&["post", "finding", "the cache lies"]);
    commit(&project, "memory");
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    for commits in [false, true] {
        sh(&project, "git checkout -q old");
        assert!(stop(&project).get("decision").is_none(), "there");
        project.json(&["post", "finding", &format!("on the old branch, committed: {commits}")]);
        assert!(stop(&project).get("decision").is_none(), "posted");
        if commits {
            commit(&project, "on old");
            assert!(stop(&project).get("decision").is_none(), "committed");
            sh(&project, "git checkout -q main");
        } else {
            sh(&project, "git checkout -q -f main");
        }
        let back = stop(&project);
        assert!(back.get("decision").is_none(), "back, committed: {commits}: {back}");
    }
}

#[test]
fn what_was_tested_here_is_still_tested_after_a_switch() {
    let project = shared();
    sh(&project, "git checkout -q -b side");
    write(&project, LIST, &read(&project, LIST).replace("\"completed\"", "\"pending\""));
    sh(&project, "git commit -qam side --no-verify");
    assert_eq!(stop(&project), Value::Null);
    sh(&project, "git checkout -q main");
    assert_eq!(stop(&project), Value::Null);
    sh(&project, "git checkout -q side");
    assert_eq!(stop(&project), Value::Null);
}

/// A project whose feature list, if it gets one, is Twining's own.
fn unlisted() -> Project {
    let project = project();
    sh(&project, &format!("git rm -q {LIST}; git commit -q -m 'no list'"));
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    project
}

#[test]
fn a_merge_that_is_undone_is_told_and_holds_nobody() {
    let list = ".twining/features.json";
    for here in [false, true] {
        let project = unlisted();
        if here {
            project.json(&["features", "add", "X0", "--description", "was here"]);
            commit(&project, "here");
            assert_eq!(stop(&project), Value::Null);
        }
        sh(&project, "git checkout -q -b topic");
        project.json(&["features", "add", "X1", "--description", "from there"]);
        commit(&project, "topic");
        assert!(stop(&project).get("decision").is_none());
        sh(&project, "git checkout -q main");
        assert!(stop(&project).get("decision").is_none());
        sh(&project, "echo 1 > y; git add y; git commit -q -m y; git merge -q --no-edit topic");
        assert!(stop(&project).get("decision").is_none());
        sh(&project, "git revert -m1 --no-edit HEAD");
        assert_eq!(project.path().join(list).exists(), here);
        let told = stop(&project);
        assert!(told.get("decision").is_none(), "{here}: {told}");
        assert!(here || told["systemMessage"].as_str().is_some_and(|line| line.contains("features.json")), "{here}: {told}");
        assert_eq!(stop(&project), Value::Null, "once");
        sh(&project, "git revert --no-edit HEAD");
        assert!(stop(&project).get("decision").is_none(), "{here}: and back");
    }
}

#[test]
fn an_undoing_that_git_did_not_do_holds() {
    for (name, deed) in [
        ("by hand", "git rm -q .twining/features.json; git commit -q --no-verify -m 'Revert \"topic\"'"),
        (
            "more than was undone",
            "git revert --no-edit -n HEAD; git rm -q -f --ignore-unmatch .twining/features.json; git commit -q --no-verify -m x",
        ),
        ("of something else", "git revert --no-edit HEAD; git rm -q .twining/features.json; git commit -q --no-verify -m x"),
    ] {
        let project = unlisted();
        project.json(&["features", "add", "X1", "--description", "from here"]);
        commit(&project, "list");
        write(&project, "y", "1");
        commit(&project, "y");
        assert_eq!(stop(&project), Value::Null);
        sh(&project, deed);
        let told = stop(&project);
        assert!(told["decision"] == "block" && reason(&told).contains("features.json"), "{name}: {told}");
    }
    // What was tested in a commit that nobody looked at is not tested by undoing what took it back.
    let project = shared();
    sh(&project, &format!("{FLIP}; git commit -qam x --no-verify; git revert --no-edit HEAD"));
    assert_eq!(stop(&project), Value::Null);
    sh(&project, "git revert --no-edit HEAD");
    assert!(reason(&stop(&project)).contains("F1 would become tested"));
}

#[test]
fn a_milder_policy_from_the_team_is_told_and_one_from_here_holds() {
    let policy = "guards:\n  - id: no-push\n    tools: [Bash]\n    when: {command: [git push --force]}\n    say: no\n";
    for (remote, decision) in [("origin", Value::Null), ("../clone", Value::from("block"))] {
        let project = project();
        write(&project, ".twining/policy.yml", policy);
        commit(&project, "a rule");
        let team = project.path().parent().expect("a folder").join("team.git");
        sh(&project, &format!("git clone -q --bare . '{0}'; git remote add origin '{0}'; git fetch -q origin", team.display()));
        start(&project, "s-1");
        assert_eq!(stop(&project), Value::Null);
        let milder = "printf 'guards: []\\n' > .twining/policy.yml; git commit -qam milder";
        sh(&project, &format!("git clone -q '{}' ../clone; cd ../clone; {milder}; git push -q origin main:news", team.display()));
        let branch = if remote == "origin" { "news" } else { "main" };
        sh(&project, &format!("git pull -q {remote} {branch}"));
        let told = stop(&project);
        assert_eq!(told["decision"], decision, "{remote}: {told}");
        let words = told["systemMessage"].as_str().or(told["reason"].as_str()).expect("words");
        assert!(words.contains("`no-push` would no longer hold"), "{remote}: {words}");
        if remote == "origin" {
            assert_eq!(stop(&project), Value::Null, "once");
        }
    }
}

#[test]
fn a_branch_from_before_a_guard_is_told_and_holds_nobody() {
    let project = project();
    sh(&project, "git branch old");
    write(&project, ".twining/policy.yml", "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n");
    commit(&project, "a rule");
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    sh(&project, "git switch -q old");
    let told = stop(&project);
    assert_eq!(told["decision"], Value::Null, "{told}");
    assert!(told["systemMessage"].as_str().is_some_and(|words| words.contains("`no-push` would no longer hold")), "{told}");
    assert_eq!(stop(&project), Value::Null, "once");
    sh(&project, "git switch -q main");
    assert_eq!(stop(&project), Value::Null);
    // Taken away with no commit to show for it, it holds.
    write(&project, ".twining/policy.yml", "guards: []\n");
    assert!(reason(&stop(&project)).contains("no-push"));
}
