//! Git's own hooks stay, where they are Twining's; one guard's name twice makes
//! nothing milder.

use super::*;

const HOOK: &str = ".git/hooks/pre-commit";
const OURS: &str = "#!/bin/sh\n# >>> twining >>>\ntwining hook --agent git pre-commit || exit $?\n# <<< twining <<<\nmake lint\n";

fn said(hook: Option<&str>, (tool, input): (&str, Value)) -> Judgement {
    let mut files = files();
    files.0.extend(hook.map(|text| (format!("/p/{HOOK}"), text.to_owned())));
    let event = Event::of_tool(tool, action(tool, &input), "/p");
    loaded("", "").judge(&event, &Facts { root: "/p", files: &files, evidence: &NoEvidence, claims: &NoClaims })
}

#[test]
fn git_s_hook_is_not_taken_away_in_passing() {
    let stopped = [
        bash("rm .git/hooks/pre-commit"),
        bash("rm -rf .git/hooks"),
        bash("mv .git/hooks/pre-commit .git/hooks/pre-commit.off"),
        bash("echo '#!/bin/sh' > .git/hooks/pre-commit"),
        bash("git config core.hooksPath /dev/null"),
        bash("cd src && git config --global core.hooksPath nowhere"),
        bash("git -c core.hooksPath=/dev/null commit -qm x"),
        bash("sed -i /twining/d .git/hooks/pre-commit"),
        write(HOOK, "#!/bin/sh\nmake lint\n"),
    ];
    for call in stopped {
        let judged = said(Some(OURS), call.clone());
        assert_eq!(judged.verdict, Level::Block, "{call:?}: {}", judged.reason());
        assert!(judged.reason().contains("[hooks-stay-wired]"), "{call:?}: {}", judged.reason());
        // Where git does not ask Twining, its hooks are anybody's.
        for theirs in [None, Some("#!/bin/sh\nmake lint\n")] {
            assert_eq!(said(theirs, call.clone()).verdict, Level::Off, "{call:?}");
        }
    }
    let warned = said(Some(OURS), bash("git commit --no-verify -m wip"));
    assert_eq!(warned.verdict, Level::Warn, "{}", warned.reason());
    let fine = [
        bash("cat .git/hooks/pre-commit"),
        bash("git config core.hooksPath"),
        bash("git commit -am 'rm .git/hooks/pre-commit'"),
        bash("cp a .git/hooks/pre-push"),
        write(HOOK, &format!("{OURS}make test\n")),
    ];
    for call in fine {
        let judged = said(Some(OURS), call.clone());
        assert_eq!(judged.verdict, Level::Off, "{call:?}: {}", judged.reason());
    }
}

#[test]
fn where_commits_came_from_is_git_s_to_say() {
    for line in ["printf x > .git/FETCH_HEAD", "cp x .git/refs/remotes/origin/main", "echo x | tee -a .git/FETCH_HEAD"] {
        assert_eq!(said(None, bash(line)).verdict, Level::Block, "{line}");
    }
    for line in ["cat .git/FETCH_HEAD", "git fetch origin pull/7/head:pr7 && git checkout pr7", "rm -f .git/index.lock", "gh pr checkout 7"]
    {
        let judged = said(None, bash(line));
        assert_eq!(judged.verdict, Level::Off, "{line}: {}", judged.reason());
    }
}

#[test]
fn a_change_of_a_list_that_cannot_be_seen_is_told_the_way() {
    let judged = said(None, bash(&format!("jq . {LIST} > t && mv t {LIST}")));
    assert_eq!(judged.verdict, Level::Block);
    let reason = judged.reason();
    assert!(reason.contains("the Edit tool") && reason.contains("twining features update"), "{reason}");
}

/// A policy with two guards of one name, as somebody may write it.
type Shape<'s> = &'s dyn Fn(&str, &str) -> String;

#[test]
fn of_two_guards_with_one_name_the_stricter_answers() {
    let one = |action: &str| format!("{{id: no-push, tools: [Bash], when: {{command: git push}}, say: no, action: {action}}}");
    let list = |first: &str, second: &str| format!("guards:\n  - {}\n  - {}\n", one(first), one(second));
    let fields = |action: &str| format!("{{tools: [Bash], when: {{command: git push}}, say: no, action: {action}}}");
    let map = |first: &str, second: &str| format!("guards:\n  no-push: {}\n  no-push: {}\n", fields(first), fields(second));
    let keys = |first: &str, second: &str| format!("guards:\n  - {}\nguards:\n  - {}\n", one(first), one(second));
    let shapes: [Shape<'_>; 3] = [&list, &map, &keys];
    for (at, shape) in shapes.iter().enumerate() {
        for (first, second) in [("block", "warn"), ("warn", "block"), ("block", "'off'"), ("'off'", "block")] {
            let policy = shape(first, second);
            for (user, project) in [("", policy.as_str()), (policy.as_str(), "")] {
                let guards = loaded(user, project);
                let (tool, input) = bash("git push");
                let judged = judge_with(&guards, tool, &input, &NoEvidence);
                assert_eq!(judged.verdict, Level::Block, "{at}, {first}, {second}, in the user's: {}", !user.is_empty());
                let told: Vec<String> = guards.mistakes.iter().map(ToString::to_string).collect();
                assert!(told.iter().any(|told| told.contains("`no-push` stands here twice")), "{policy}: {told:?}");
            }
        }
    }
    // Between the two files, the user's is the user's to say, and the project's makes it no milder.
    for (user, project) in [("block", "warn"), ("warn", "block")] {
        let policy = |action: &str| format!("guards:\n  - {}\n", one(action));
        let (tool, input) = bash("git push");
        assert_eq!(judge_with(&loaded(&policy(user), &policy(project)), tool, &input, &NoEvidence).verdict, Level::Block);
    }
}
