//! A coder that returns: what counts as having changed a file, and how often each is held.

mod common;

use std::fs;

use common::Project;
use common::hooked::{answer, commit, git, hook, project, write};
use serde_json::{Value, json};

/// A coder among others.
struct Coder<'p> {
    project: &'p Project,
    id: &'static str,
}

impl<'p> Coder<'p> {
    fn begins(project: &'p Project, id: &'static str) -> Self {
        let coder = Self { project, id };
        answer(&hook(project, "SubagentStart", coder.event()));
        coder
    }

    fn event(&self) -> Value {
        json!({"agent_id": self.id, "agent_type": "coder"})
    }

    fn uses(&self, tool: &str, input: Value, does: impl Fn()) {
        let mut call = self.event();
        (call["tool_name"], call["tool_input"]) = (json!(tool), input);
        let asked = answer(&hook(self.project, "PreToolUse", call.clone()));
        assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], Value::Null, "{asked}");
        does();
        call["tool_response"] = json!({"stdout": ""});
        answer(&hook(self.project, "PostToolUse", call));
    }

    fn runs(&self, command: &str, does: impl Fn()) {
        self.uses("Bash", json!({"command": command}), does);
    }

    fn is_held(&self) -> bool {
        let told = answer(&hook(self.project, "SubagentStop", self.event()));
        let is_held = told["decision"] == "block";
        assert!(!is_held || told["reason"].as_str().is_some_and(|why| why.contains("changed no file")), "{told}");
        is_held
    }
}

fn touch(project: &Project, path: &str) {
    let file = fs::File::options().append(true).open(project.path().join(path)).expect("is there");
    let written = file.metadata().and_then(|found| found.modified()).expect("has a date");
    file.set_modified(written + std::time::Duration::from_secs(2)).expect("touches");
}

#[test]
fn every_lazy_coder_of_a_session_is_held_and_none_for_ever() {
    let project = project();
    for id in ["a1", "a2", "a3", "a4", "a5"] {
        let coder = Coder::begins(&project, id);
        assert!(coder.is_held() && coder.is_held(), "{id}");
        assert!(!coder.is_held() && !coder.is_held(), "{id} goes");
    }
}

#[test]
fn what_leaves_every_file_as_it_was_is_no_change() {
    for has_commits in [true, false] {
        let project = project();
        if !has_commits {
            fs::remove_dir_all(project.path().join(".git")).expect("no history");
        }
        write(&project, ".gitignore", "tmp/\n");
        let ignored = if has_commits { "tmp/x.log" } else { "target/x.log" };
        let coder = Coder::begins(&project, "a1");
        coder.runs("touch src/a.rs", || touch(&project, "src/a.rs"));
        assert!(coder.is_held(), "touched, {has_commits}");

        let coder = Coder::begins(&project, "a2");
        let path = project.path().join(ignored).display().to_string();
        coder.uses("Write", json!({"file_path": path, "content": "x"}), || write(&project, ignored, "x"));
        coder.runs(&format!("echo x > {ignored}"), || write(&project, ignored, "y"));
        assert!(coder.is_held(), "ignored, {has_commits}");

        let coder = Coder::begins(&project, "a3");
        coder.uses("Write", json!({"file_path": "/nowhere/else/a.py", "content": "x"}), || {});
        assert!(coder.is_held(), "outside, {has_commits}");

        let coder = Coder::begins(&project, "a4");
        let edit = json!({"file_path": "src/a.rs", "content": "fn a() {}\n"});
        coder.uses("Write", edit, || write(&project, "src/a.rs", "fn a() {}\n"));
        assert!(coder.is_held(), "the same again, {has_commits}");
    }
}

#[test]
fn files_that_are_gone_taken_back_or_committed_are_changes() {
    let project = project();
    write(&project, "src/b.rs", "fn b() {}\n");
    write(&project, "src/c.rs", "fn c() {}\n");
    commit(&project, "more");

    let coder = Coder::begins(&project, "deletes");
    coder.runs("rm src/b.rs", || fs::remove_file(project.path().join("src/b.rs")).expect("removes"));
    assert!(!coder.is_held());

    let coder = Coder::begins(&project, "takes-back");
    coder.runs("git checkout -- src/b.rs", || assert!(git(&project, &["checkout", "--", "src/b.rs"]).status.success()));
    assert!(!coder.is_held());

    write(&project, "notes.txt", "nobody's yet\n");
    let coder = Coder::begins(&project, "deletes-new");
    coder.runs("rm notes.txt", || fs::remove_file(project.path().join("notes.txt")).expect("removes"));
    assert!(!coder.is_held());

    let coder = Coder::begins(&project, "commits");
    let edit = json!({"file_path": "src/c.rs", "old_string": "c()", "new_string": "d()"});
    coder.uses("Edit", edit, || write(&project, "src/c.rs", "fn d() {}\n"));
    coder.runs("git commit -qam d", || commit(&project, "d"));
    assert!(!coder.is_held());

    write(&project, "notes.txt", "somebody's\n");
    write(&project, "src/c.rs", "fn e() {}\n");
    let (coder, lazy) = (Coder::begins(&project, "commits-only"), Coder::begins(&project, "reads-only"));
    coder.runs("git add -A && git commit -qm e", || commit(&project, "e"));
    assert!(!coder.is_held());
    lazy.uses("Read", json!({"file_path": "src/c.rs"}), || ());
    assert!(lazy.is_held(), "another's commit");

    let coder = Coder::begins(&project, "takes-a-commit-apart");
    coder.runs("git reset --soft HEAD~1", || assert!(git(&project, &["reset", "-q", "--soft", "HEAD~1"]).status.success()));
    assert!(coder.is_held());
    commit(&project, "e");

    let coder = Coder::begins(&project, "commits-nothing");
    coder.runs("git commit -q --allow-empty -m x", || {
        assert!(git(&project, &["commit", "-q", "--allow-empty", "-m", "x"]).status.success());
    });
    assert!(coder.is_held());
}

/// What lies in a repository of its own within the project is the project's all the same.
#[test]
fn a_change_in_a_submodule_or_a_nested_repository_is_one() {
    let project = project();
    let inside = |folder: &str, words: &[&str]| {
        let all = [&["-C", folder], words].concat();
        let made = git(&project, &all);
        assert!(made.status.success(), "{words:?}: {made:?}");
    };
    for folder in ["vendor/lib", "beside"] {
        write(&project, &format!("{folder}/src/a.py"), "a = 1\n");
        inside(folder, &["init", "-q"]);
        inside(folder, &["add", "-A"]);
        inside(folder, &["commit", "-q", "-m", "lib"]);
    }
    // Known to the repository around it by its commit alone; the other is not known at all.
    inside(".", &["add", "vendor/lib"]);
    inside(".", &["commit", "-q", "-m", "with a library"]);
    for (folder, ids) in [("vendor/lib", ["w1", "s1", "c1", "n1", "l1"]), ("beside", ["w2", "s2", "c2", "n2", "l2"])] {
        let [writes, by_script, commits, same, lazy] = ids.map(|id| (id, format!("{folder}/src/{id}.py")));
        let coder = Coder::begins(&project, writes.0);
        coder.uses("Write", json!({"file_path": writes.1, "content": "b"}), || write(&project, &writes.1, "b"));
        assert!(!coder.is_held(), "{folder}");

        let coder = Coder::begins(&project, by_script.0);
        coder.runs("make it", || write(&project, &by_script.1, "b"));
        assert!(!coder.is_held(), "{folder}");

        let coder = Coder::begins(&project, commits.0);
        coder.uses("Write", json!({"file_path": commits.1, "content": "b"}), || write(&project, &commits.1, "b"));
        inside(folder, &["add", "-A"]);
        inside(folder, &["commit", "-q", "-m", "more"]);
        assert!(!coder.is_held(), "{folder}");

        let coder = Coder::begins(&project, same.0);
        let path = format!("{folder}/src/a.py");
        coder.uses("Write", json!({"file_path": path, "content": "a = 1\n"}), || write(&project, &path, "a = 1\n"));
        assert!(coder.is_held(), "{folder}");

        let coder = Coder::begins(&project, lazy.0);
        coder.runs("ls", || ());
        assert!(coder.is_held(), "{folder}");
    }
}

#[test]
fn a_coder_is_not_excused_by_what_another_wrote_beside_it() {
    let project = project();
    let (busy, lazy, elsewhere) = (Coder::begins(&project, "busy"), Coder::begins(&project, "lazy"), Coder::begins(&project, "elsewhere"));
    let edit = json!({"file_path": "src/a.rs", "old_string": "a()", "new_string": "b()"});
    busy.uses("Edit", edit, || write(&project, "src/a.rs", "fn b() {}\n"));
    elsewhere.uses("Write", json!({"file_path": "/nowhere/else/a.py", "content": "x"}), || {});
    assert!(!busy.is_held());
    assert!(lazy.is_held());
    assert!(elsewhere.is_held());
}
