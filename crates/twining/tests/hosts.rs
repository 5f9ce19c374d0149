//! Who acts: a host, an agent inside one, or a person outside. Told by the processes
//! themselves, so only where the system tells who started whom.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use common::hooked::{LIST, answer, git, only_decision, project, read, write};
use common::terminal::{Terminal, at_terminal};
use common::{PROGRAM, Project, Ran};
use serde_json::{Value, json};

const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored";
/// Where the copy of these tests that plays a host is told to do so.
const PLAYED: &str = "TWINING_TESTS_PLAY_A_HOST_IN";

/// A host: a process that stays, tells hooks what happens, and runs what its agent wants.
struct Host<'p> {
    project: &'p Project,
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl<'p> Host<'p> {
    fn start(project: &'p Project) -> Self {
        Self::called(project, "claude")
    }

    /// A program of this name.
    fn called(project: &'p Project, name: &str) -> Self {
        let program = project.path().join("..").join(name);
        if !program.exists() {
            fs::copy("/bin/sh", &program).expect("copies a shell");
        }
        let mut shell = project.command_of(&program.to_string_lossy(), &[]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
        let (orders, answers) = (shell.stdin.take(), BufReader::new(shell.stdout.take().expect("a pipe")));
        Self { project, shell, orders, answers }
    }

    /// Runs a line of the shell, with this on its stdin.
    fn run(&mut self, line: &str, input: &str) -> Ran {
        let file = |name: &str| self.project.path().join("..").join(name);
        fs::write(file("in"), input).expect("writes");
        let orders = format!("{{ {line}\n}} < ../in > ../out 2> ../err; echo $?\n");
        self.orders.as_mut().expect("is open").write_all(orders.as_bytes()).expect("the shell reads");
        let mut code = String::new();
        self.answers.read_line(&mut code).expect("the shell answers");
        let said = |name: &str| fs::read_to_string(file(name)).expect("is there");
        Ran { code: code.trim().parse().expect("a number"), stdout: said("out"), stderr: said("err") }
    }

    fn tell(&mut self, session: &str, event: &str, told: Value) -> Value {
        let told = of_session(self.project, session, told);
        answer(&self.run(&format!("'{PROGRAM}' hook {event}"), &told.to_string()))
    }

    fn begins(&mut self, session: &str, source: &str) {
        self.tell(session, "SessionStart", json!({ "source": source }));
    }

    /// A run of the tests, as a host tells of it; what the agent is given to read.
    fn tests(&mut self, session: &str) -> String {
        let [before, after] = run_of_tests(json!({}));
        assert_eq!(self.tell(session, "PreToolUse", before), Value::Null);
        context(&self.tell(session, "PostToolUse", after))
    }

    /// Why the feature may not be called tested; nothing if it may.
    fn denied(&mut self, session: &str) -> String {
        let edit =
            json!({"file_path": LIST, "old_string": "\"completed\",\"tested\":false", "new_string": "\"completed\",\"tested\":true"});
        let answered = self.tell(session, "PreToolUse", json!({"tool_name": "Edit", "tool_input": edit}));
        answered["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.shell.wait();
    }
}

fn of_session(project: &Project, session: &str, mut told: Value) -> Value {
    told["session_id"] = json!(session);
    told["cwd"] = json!(project.path());
    told
}

fn run_of_tests(more: Value) -> [Value; 2] {
    let mut before = more;
    (before["tool_name"], before["tool_input"]) = (json!("Bash"), json!({"command": "cargo test"}));
    let mut after = before.clone();
    after["tool_response"] = json!({"stdout": PASSED, "stderr": "", "interrupted": false});
    [before, after]
}

fn context(answer: &Value) -> String {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// Another hand changes a record, which a person may accept.
fn tamper(project: &Project) {
    let decision = only_decision(project);
    let text = read(project, &decision);
    write(project, &decision, &text.replace("use sqlite", "use redis"));
}

fn accepted(project: &Project) -> usize {
    let found = project.json(&["query-traces", "--type", "approval"]);
    found["traces"].as_array().expect("a list").len()
}

/// A line by which a script gives a command at a terminal of its own, with nothing in
/// its environment that tells of a host.
fn at_its_own_terminal(terminal: &Terminal, words: &str) -> String {
    format!(
        "env -i PATH=\"$PATH\" XDG_CONFIG_HOME=\"$XDG_CONFIG_HOME\" XDG_CACHE_HOME=\"$XDG_CACHE_HOME\" setsid -w '{PROGRAM}' {words} < {0} 2> {0}",
        terminal.name
    )
}

#[test]
fn a_script_of_an_agent_that_opens_a_terminal_is_no_person() {
    let project = project();
    write(&project, ".twining/policy.yml", "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: people push}\n");
    let mut host = Host::start(&project);
    host.begins("s-1", "startup");
    tamper(&project);
    for (words, typed) in [("guard accept", "accept"), ("guard bypass no-push --for 5m --reason x", "no-push")] {
        for pile in ["", "sh -c 'sh forge.sh; exit $?'"] {
            let mut terminal = Terminal::open();
            terminal.types(typed);
            let line = at_its_own_terminal(&terminal, words);
            write(&project, "forge.sh", &format!("{line}\nexit $?\n"));
            let ran = host.run(if pile.is_empty() { &line } else { pile }, "");
            let seen = terminal.shows();
            assert_eq!(ran.code, 1, "{words}: {ran:?} {seen}");
            assert!(seen.contains("which runs session s-1") && seen.contains("open before the session began"), "{words}: {seen}");
        }
    }
    assert_eq!(accepted(&project), 0);
    // Somebody outside of it is asked, and answers.
    let lifted = at_terminal(&project, &["guard", "bypass", "no-push", "--for", "5m", "--reason", "x"], "no-push", None);
    assert_eq!(lifted.code, 0, "{lifted:?}");
    let taken = at_terminal(&project, &["guard", "accept"], "accept", None);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(accepted(&project), 2);
}

#[test]
fn a_program_that_tries_hooks_may_be_one_that_a_person_works_in() {
    let guarded = || {
        let project = project();
        write(&project, ".twining/policy.yml", "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: people push}\n");
        project
    };
    let words = ["guard", "bypass", "no-push", "--for", "5m", "--reason", "x"];
    // We try a hook, and lift a guard.
    let project = guarded();
    answer(&common::hooked::hook(&project, "SessionStart", json!({"source": "startup"})));
    assert_eq!(at_terminal(&project, &words, "no-push", None).code, 0);
    // So does a shell, whatever it runs; and another program, as long as it says what it runs.
    for (name, wanted) in [("sh", 0), ("my-host", 1)] {
        let project = guarded();
        let mut host = Host::called(&project, name);
        host.begins("s-1", "startup");
        for (script, wanted) in [(false, 0), (true, wanted)] {
            let mut terminal = Terminal::open();
            terminal.types("no-push");
            let line = at_its_own_terminal(&terminal, &words.join(" "));
            write(&project, "forge.sh", &line);
            let ran = host.run(if script { "sh forge.sh" } else { &line }, "");
            assert_eq!(ran.code, wanted, "{name}, a script: {script}: {}", terminal.shows());
        }
    }
}

#[test]
fn what_an_agent_s_script_says_at_its_terminal_is_an_agent_s_word() {
    let project = project();
    let mut host = Host::start(&project);
    host.begins("s-1", "startup");
    let terminal = Terminal::open();
    let posted = host.run(&at_its_own_terminal(&terminal, "post finding 'a person says so'"), "");
    assert_eq!(posted.code, 0, "{posted:?}");
    assert_eq!(at_terminal(&project, &["post", "finding", "and so does this one"], "", None).code, 0);
    let board = read(&project, ".twining/blackboard.jsonl");
    let trust = |said: &str| {
        let line = board.lines().find(|line| line.contains(said)).expect("was posted");
        serde_json::from_str::<Value>(line).expect("is JSON")["origin"]["trust"].clone()
    };
    assert_eq!((trust("a person says so"), trust("and so does this one")), (json!("agent"), json!("human")));
}

#[test]
fn an_agent_s_script_does_not_take_twining_away() {
    let project = project();
    git(&project, &["config", "user.name", "t"]);
    let home = project.path().join("../home");
    fs::create_dir_all(&home).expect("makes a folder");
    let init = project.command(&["init", "--agent", "claude", "--yes"]).env("HOME", &home).output().expect("starts");
    assert!(init.status.success(), "{init:?}");
    let mut host = Host::start(&project);
    host.begins("s-1", "startup");
    let settings = read(&project, ".claude/settings.json");
    let ran = host.run(
        &format!("env -i PATH=\"$PATH\" HOME='{}' XDG_CACHE_HOME=\"$XDG_CACHE_HOME\" '{PROGRAM}' uninstall --yes", home.display()),
        "",
    );
    assert!(ran.code == 1 && ran.stderr.contains("which runs session s-1"), "{ran:?}");
    assert_eq!(read(&project, ".claude/settings.json"), settings);
    let taken = project.command(&["uninstall", "--yes"]).env("HOME", &home).output().expect("starts");
    assert!(taken.status.success(), "{taken:?}");
}

#[test]
fn a_script_that_leaves_its_session_behind_is_no_person_while_it_lasts() {
    let project = project();
    let mut host = Host::start(&project);
    host.begins("s-1", "startup");
    tamper(&project);
    let mut terminal = Terminal::open();
    terminal.types("accept");
    let beside = |name: &str| project.path().join("..").join(name);
    let line = at_its_own_terminal(&terminal, "guard accept");
    write(
        &project,
        "adrift.sh",
        &format!(
            "echo $$ > ../adrift\nwhile [ ! -e ../go ]; do sleep 0.02; done\n{line}\necho $? > ../ended.new\nmv ../ended.new ../ended\n"
        ),
    );
    assert_eq!(host.run("setsid sh adrift.sh > /dev/null 2>&1 &", "").code, 0);
    let until = |name: &str| {
        while !beside(name).exists() || fs::read_to_string(beside(name)).is_ok_and(|text| text.is_empty()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        fs::read_to_string(beside(name)).expect("is there").trim().to_owned()
    };
    let adrift = until("adrift");
    let stat = fs::read_to_string(format!("/proc/{adrift}/stat")).expect("is running");
    let parent = stat.rsplit_once(") ").expect("a name").1.split(' ').nth(1).expect("a parent").to_owned();
    let taken_in_by = fs::read_to_string(format!("/proc/{parent}/comm")).expect("is running");
    fs::write(beside("go"), "").expect("writes");
    let (code, seen) = (until("ended"), terminal.shows());
    if parent == "1" || ["systemd", "init", "tini"].contains(&taken_in_by.trim()) {
        assert!(code == "1" && seen.contains("nothing shows who started it"), "{code}: {seen}");
        assert_eq!(accepted(&project), 0);
    }
    assert_eq!(at_terminal(&project, &["guard", "accept"], "accept", None).code, 0, "a person outside");
}

#[test]
fn whoever_takes_the_notes_away_is_an_agent_s_all_the_same() {
    let project = project();
    let mut host = Host::start(&project);
    host.begins("s-1", "startup");
    tamper(&project);
    let mut terminal = Terminal::open();
    terminal.types("accept");
    let line = format!("rm -r .twining/local/hooks; {}", at_its_own_terminal(&terminal, "guard accept"));
    assert_eq!(host.run(&line, "").code, 1);
    assert!(terminal.shows().contains("which runs session s-1"));
    // The host is known again by what it says next, and its agent's scripts are not.
    assert_eq!(forged(&project, &mut host, "s-2", json!({})).1, "evidence: none");
    assert_eq!(host.tests("s-1"), "");
    assert_eq!(host.denied("s-1"), "");
}

/// Plays both halves of a run from a script of the agent's: what the script reads, and
/// whether the feature may be called tested.
fn forged(project: &Project, host: &mut Host<'_>, session: &str, more: Value) -> (String, &'static str) {
    let start = of_session(project, session, json!({"source": "startup"}));
    let [before, after] = run_of_tests(more).map(|told| of_session(project, session, told));
    for (name, told) in [("start", start), ("before", before), ("after", after)] {
        write(project, &format!("{name}.json"), &told.to_string());
    }
    let script = format!(
        "set -e\n'{PROGRAM}' hook SessionStart < start.json > /dev/null\n'{PROGRAM}' hook PreToolUse < before.json\n'{PROGRAM}' hook PostToolUse < after.json\n"
    );
    write(project, "forge.sh", &script);
    let ran = host.run("sh forge.sh", "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = serde_json::from_str(&ran.stdout).unwrap_or_default();
    (context(&told), if host.denied("s-1").contains("no run of") { "evidence: none" } else { "evidence: some" })
}

#[test]
fn a_run_that_an_agent_s_script_makes_up_is_no_evidence() {
    let project = project();
    let mut host = Host::start(&project);
    host.begins("s-1", "startup");
    for (session, more) in
        [("s-2", json!({})), ("s-1", json!({"agent_id": "a-9", "agent_type": "tester"})), ("s-1", json!({"tool_use_id": "t-9"}))]
    {
        let (read, evidence) = forged(&project, &mut host, session, more.clone());
        assert!(read.contains("by no host it knows") && read.contains("inside session s-1"), "{session} {more}: {read}");
        assert_eq!(evidence, "evidence: none", "{session} {more}");
    }
    let traced = project.json(&["query-traces", "--guard", "protect-twining-state"]);
    assert!(traced.to_string().contains("told of a run of tests by no host"), "{traced}");
    // What the host itself tells counts, whoever of its agents ran it.
    assert_eq!(host.tests("s-1"), "");
    assert_eq!(host.denied("s-1"), "");
}

#[test]
fn an_agent_in_a_sandbox_is_no_person_and_no_host() {
    let project = project();
    let sandbox = "unshare --user --map-root-user --pid --fork --mount-proc";
    let mut host = Host::start(&project);
    host.begins("s-1", "startup");
    tamper(&project);
    if host.run(&format!("{sandbox} true"), "").code != 0 {
        // This system gives nobody a sandbox.
        return;
    }
    let mut terminal = Terminal::open();
    terminal.types("accept");
    let ran = host.run(&format!("{sandbox} sh -c '{PROGRAM} guard accept; exit $?' < {0} 2> {0}", terminal.name), "");
    let seen = terminal.shows();
    assert!(ran.code == 1 && seen.contains("this is a sandbox, and session s-1 was begun outside"), "{ran:?} {seen}");
    let [before, after] = run_of_tests(json!({})).map(|told| of_session(&project, "s-2", told));
    for (name, told) in [("before", before), ("after", after)] {
        write(&project, &format!("{name}.json"), &told.to_string());
    }
    for exec in ["", "exec"] {
        let forge = format!("{PROGRAM} hook PreToolUse < before.json; {exec} {PROGRAM} hook PostToolUse < after.json; exit");
        let told = answer(&host.run(&format!("{sandbox} sh -c '{forge}'"), ""));
        assert!(context(&told).contains("a sandbox, and session s-1 was begun outside"), "{exec}: {told}");
        assert!(host.denied("s-1").contains("no run of"), "{exec}");
    }
    // The host outside of it goes on as before.
    assert_eq!(host.tests("s-1"), "");
    assert_eq!(host.denied("s-1"), "");
}

#[test]
fn a_session_that_goes_on_in_another_process_is_believed() {
    let project = project();
    let mut first = Host::start(&project);
    first.begins("s-1", "startup");
    drop(first);
    let mut second = Host::start(&project);
    second.begins("s-1", "resume");
    assert_eq!(second.tests("s-1"), "");
    assert_eq!(second.denied("s-1"), "");
    // A third, in another window, while the second is still there; it never said that it began.
    write(&project, "src/a.rs", "fn b() {}\n");
    let mut third = Host::start(&project);
    assert_ne!(third.denied("s-3"), "");
    assert_eq!(third.tests("s-3"), "");
    assert_eq!(third.denied("s-3"), "");
}

/// Not a test by itself: run as a program by the one below, it is a host inside a host.
#[test]
fn plays_a_host_where_it_is_told_to() {
    let Some(place) = std::env::var_os(PLAYED) else { return };
    let [before, after] = run_of_tests(json!({"session_id": "s-inner", "cwd": place.to_string_lossy()}));
    for (event, told) in [("PreToolUse", before), ("PostToolUse", after)] {
        let mut hook = std::process::Command::new(PROGRAM);
        let mut hook = hook.args(["hook", event]).current_dir(&place).stdin(Stdio::piped()).spawn().expect("starts");
        hook.stdin.take().expect("a pipe").write_all(told.to_string().as_bytes()).expect("reads");
        assert!(hook.wait().expect("ends").success());
    }
}

#[test]
fn a_host_that_an_agent_starts_counts_if_a_person_starts_the_same_program() {
    let project = project();
    let inner = || {
        let this = std::env::current_exe().expect("has a path");
        let mut inner = project.command_of(&this.to_string_lossy(), &["--exact", "plays_a_host_where_it_is_told_to", "--nocapture"]);
        inner.env(PLAYED, project.path());
        inner
    };
    // We are the host, and the program it starts is the same.
    answer(&common::hooked::hook(&project, "SessionStart", json!({"source": "startup"})));
    let denied = || {
        let edit =
            json!({"file_path": LIST, "old_string": "\"completed\",\"tested\":false", "new_string": "\"completed\",\"tested\":true"});
        let answered = answer(&common::hooked::hook(&project, "PreToolUse", json!({"tool_name": "Edit", "tool_input": edit})));
        answered["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default().to_owned()
    };
    // With somebody else's code in it, it is nobody's word.
    let ran = Ran::of(inner().env("BUN_OPTIONS", "--preload ./forge.js").output().expect("starts"));
    assert!(ran.code == 0 && ran.stdout.contains("by no host it knows"), "{ran:?}");
    assert!(denied().contains("no run of"));
    let ran = Ran::of(inner().output().expect("starts"));
    assert!(ran.code == 0 && !ran.stdout.contains("by no host"), "{ran:?}");
    assert_eq!(denied(), "");
}

#[test]
fn a_host_that_speaks_by_a_socket_is_not_played_by_a_pipe() {
    let project = project();
    // We are the host; what our agent runs takes the place of the very process we started.
    let by_socket = |event: &str, told: Value| {
        let (ours, theirs) = UnixStream::pair().expect("a socket");
        let child = project.command(&["hook", event]).stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).spawn().expect("starts");
        (&ours).write_all(of_session(&project, "s-1", told).to_string().as_bytes()).expect("reads");
        drop(ours);
        let ran = Ran::of(child.wait_with_output().expect("ends"));
        answer(&ran)
    };
    let by_pipe = |event: &str, told: Value| answer(&common::hooked::hook(&project, event, told));
    by_socket("SessionStart", json!({"source": "startup"}));
    let [before, after] = run_of_tests(json!({}));
    by_pipe("PreToolUse", before.clone());
    assert!(context(&by_pipe("PostToolUse", after.clone())).contains("in another way"));
    by_socket("PreToolUse", before);
    assert_eq!(context(&by_socket("PostToolUse", after)), "");
}
