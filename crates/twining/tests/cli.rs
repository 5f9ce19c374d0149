//! End-to-end command-line tests.

use crate::common::repository::Repository;
use crate::common::terminal::{at_terminal, typed_at_terminal};
use crate::common::{Project, normal};
use insta::assert_snapshot;
use serde_json::{Value, json};
use twining_model::Entry;
use twining_store::{LONG_WAL_BYTES, Store, StoreError, StoreLocation};
use twining_testcases::each;
use twining_testkit::TestProject;
use twining_testkit::memory::entry;

/// How long questions wait for vectors: not at all, or as long as a slow machine takes.
fn wait_for_vectors(project: &Project, ms: u32) {
    std::fs::write(
        project.path().join(".twining/config.yml"),
        format!("version: 1\nsearch: {{wait_ms: {ms}}}\n"),
    )
    .expect("writes");
}

#[test]
fn a_person_reads_what_agents_wrote() {
    let project = Project::new();
    let posted = project.run(&[
        "post",
        "warning",
        "Clocks differ by 5 minutes",
        "--scope",
        "src/auth/",
        "--tag",
        "auth,ops",
        "--agent",
        "ada",
    ]);
    assert_snapshot!(normal(&posted.stdout), @"posted [ID-1] at [TIME]");
    project.run(&["post", "finding", "Login takes 2 s"]);
    assert_snapshot!(normal(&project.run(&["recent"]).stdout), @"
    [ID-1]  [TIME]  finding  project    main  Login takes 2 s
    [ID-2]  [TIME]  warning  src/auth/  ada   Clocks differ by 5 minutes
    ");
    wait_for_vectors(&project, 0);
    assert_snapshot!(normal(&project.run(&["query", "clocks"]).stdout), @"
    100%  [ID-1]  [TIME]  warning  src/auth/  ada  Clocks differ by 5 minutes
    2 texts not embedded yet, found by keywords only; `twining reindex --vectors` embeds them now
    ");
    wait_for_vectors(&project, 60_000);
    let answer = project.json(&["query", "clocks"]);
    assert_eq!(
        (&answer["mode"], answer.get("not_yet_embedded")),
        (&json!("hybrid"), None),
        "{answer}"
    );
    assert_snapshot!(normal(&project.run(&["read", "--type", "need"]).stdout), @"no entries");
}

#[test]
fn decisions_collide_and_why_shows_both() {
    let project = Project::new();
    project.decide("Use JWT", "src/auth/");
    wait_for_vectors(&project, 0);
    let rival = project.run(&[
        "decide",
        "--summary",
        "Use sessions",
        "--domain",
        "architecture",
        "--scope",
        "src/auth/jwt.ts",
        "--context",
        "logout",
        "--rationale",
        "Tokens cannot be revoked",
        "--alternative",
        r#"{"option":"JWT","reason_rejected":"no logout"}"#,
    ]);
    assert_eq!(rival.code, 0, "{rival:?}");
    assert_snapshot!("decide_conflict", normal(&rival.stdout));
    assert_snapshot!("why_contested", normal(&project.run(&["why", "src/auth/"]).stdout));
    assert_snapshot!(
        "assemble",
        normal(&project.run(&["assemble", "log users out", "src/auth/"]).stdout)
    );
}

#[test]
fn json_is_exactly_what_the_tool_returns() {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    wait_for_vectors(&project, 60_000);
    project.run(&["post", "need", "key rotation", "--scope", "src/auth/"]);
    project.run(&["add-entity", "Login", "class", "--property", "file=src/auth/login.ts"]);
    project.run(&["add-entity", "redis", "dependency"]);
    project.run(&["add-relation", "Login", "depends_on", "redis"]);
    // A server would make them by and by; then both search the same way.
    project.run(&["reindex", "--vectors"]);
    let mut server = project.server(&[]);
    server.initialize();
    let cases: [(&[&str], &str, Value); 9] = [
        (&["read"], "twining_read", json!({})),
        (&["recent", "1"], "twining_recent", json!({"n": 1})),
        (&["query", "rotation"], "twining_query", json!({"query": "rotation"})),
        (&["why", "src/auth/"], "twining_why", json!({"scope": "src/auth/"})),
        (&["trace", &id], "twining_trace", json!({"decision_id": id})),
        (&["search_decisions", "jwt"], "twining_search_decisions", json!({"query": "jwt"})),
        (&["neighbors", "Login"], "twining_neighbors", json!({"entity": "Login"})),
        (&["path", "Login", "redis"], "twining_path", json!({"from": "Login", "to": "redis"})),
        (&["status"], "twining_status", json!({})),
    ];
    each(cases, |(words, tool, arguments)| {
        let by_hand = project.run(&[words, &["--json"]].concat());
        assert_eq!(by_hand.code, 0, "{by_hand:?}");
        let by_tool = server.call(tool, &arguments);
        assert_eq!(
            by_hand.stdout.trim_end(),
            by_tool["content"][0]["text"].as_str().expect("has text"),
            "{words:?}"
        );
    });
}

#[test]
fn nested_input_comes_from_stdin_or_a_file() {
    let project = Project::new();
    let decision = json!({"domain": "api", "scope": "src/", "summary": "REST", "context": "c", "rationale": "r",
        "alternatives": [{"option": "gRPC", "reason_rejected": "browsers"}]});
    let ran = project.run_with(&["decide", "--json", "--json-input", "-"], &decision.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    std::fs::write(project.path().join("why.json"), r#"{"scope":"src/"}"#).expect("writes");
    let why = project.json(&["why", "--json-input", "why.json"]);
    assert_eq!(why["decisions"][0]["alternatives_count"], 1);

    let bad = project.run_with(&["why", "--json", "--json-input", "-"], r#"{"scop":"src/"}"#);
    assert_eq!(bad.code, 2);
    assert!(
        serde_json::from_str::<Value>(&bad.stdout).expect("prints JSON")["message"]
            .as_str()
            .is_some_and(|m| m.contains("`scop`")),
        "{bad:?}"
    );
    assert_eq!(project.run_with(&["why", "--json-input", "-"], "[]").code, 2);
}

#[test]
fn exit_codes_are_as_promised() {
    let project = Project::new();
    let missing = project.run(&["trace", "01M7EB3QWY4C5CPJF6982ZJQ18"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    assert_snapshot!(normal(&missing.stderr), @"
    error: there is no decision `[ID-1]`
      hint: twining why lists the decisions of a scope, twining search-decisions searches them
    ");
    let refused = project.run(&["post", "finding", ""]);
    assert_eq!(refused.code, 2);
    assert_snapshot!(refused.stderr, @"error: SUMMARY must not be empty");
    let decision = project.run(&["post", "decision", "x"]);
    assert_eq!(decision.code, 2);
    assert!(decision.stderr.contains("decide"), "{decision:?}");
    assert_eq!(project.run(&["post", "rumour", "x"]).code, 2, "clap knows the words");
    assert_eq!(project.run(&["unheard-of"]).code, 2);
    assert_eq!(project.run(&["--help"]).code, 0);
    assert_eq!(
        project.run(&["--version"]).stdout,
        format!("twining {}\n", env!("CARGO_PKG_VERSION"))
    );
    let as_json = project.run(&["trace", "01M7EB3QWY4C5CPJF6982ZJQ18", "--json"]);
    assert_eq!(as_json.code, 1);
    assert_eq!(
        serde_json::from_str::<Value>(&as_json.stdout).expect("prints JSON")["code"],
        "NOT_FOUND"
    );
    let nowhere = project.run(&["status", "--project", "no/such/dir"]);
    assert_eq!(nowhere.code, 1);
    assert!(
        nowhere.stderr.contains("no/such/dir") && nowhere.stderr.contains("hint:"),
        "{nowhere:?}"
    );
    let nowhere = project.run(&["status", "--project", "no/such/dir", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&nowhere.stdout).expect("prints JSON")["code"],
        "NOT_FOUND"
    );
}

#[test]
fn a_command_line_that_makes_no_sense_is_told_in_words_and_in_json() {
    let project = Project::new();
    let said = |words: &[&str]| {
        let ran = project.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}: {ran:?}");
        ran.stderr
    };
    assert!(said(&["read", "--limit", "x"]).contains("write a positive whole number"));
    let unknown = said(&["search"]);
    assert!(
        unknown.contains("search-decisions") && !unknown.contains("search_decisions"),
        "{unknown}"
    );

    let told = |words: &[&str]| {
        let ran = project.run(words);
        assert_eq!((ran.code, ran.stderr.as_str()), (2, ""), "{words:?}: {ran:?}");
        serde_json::from_str::<Value>(&ran.stdout).expect("prints JSON")
    };
    each(
        [
            (&["--json", "statu"][..], Some("twining status")),
            (&["--json", "decid"], Some("twining decide")),
            (&["--json", "wy"], Some("twining why")),
            (&["--json", "docter"], Some("twining doctor")),
            (&["--json", "knowledge", "chek"], Some("twining knowledge check")),
            (&["--json", "banana"], None),
        ],
        |(words, near)| {
            let refused = told(words);
            let hint = refused["hint"].as_str().unwrap_or_default();
            let wanted = near.map(|near| format!("did you mean `{near}`?"));
            assert_eq!(hint, wanted.as_deref().unwrap_or("twining --help lists the commands"));
        },
    );
}

#[test]
fn a_summary_and_a_reason_make_a_decision() {
    let project = Project::new();
    let decided =
        project.json(&["decide", "Use stateless JWT", "--why", "no session store to run"]);
    let stored = project.json(&["read", "--id", decided["id"].as_str().unwrap_or_default()]);
    let stored = &stored["decisions"][0];
    assert_eq!(
        (&stored["domain"], &stored["scope"], &stored["context"], &stored["rationale"]),
        (
            &json!("general"),
            &json!("project"),
            &json!("not given"),
            &json!("no session store to run")
        )
    );
    let mut server = project.server(&[]);
    server.initialize();
    let by_tool = server.call(
        "twining_decide",
        &json!({"summary": "Log to stderr", "rationale": "stdout is data", "scope": "src/"}),
    );
    assert_eq!(by_tool["structuredContent"]["status"], "active", "no domain: {by_tool}");
    let mut choose = |summary: &str| {
        let fields =
            json!({"summary": summary, "rationale": "r", "domain": "api", "scope": "src/"});
        server.call("twining_decide", &fields)["structuredContent"]["status"].clone()
    };
    assert_eq!((choose("REST"), choose("GraphQL")), (json!("active"), json!("provisional")));
}

#[test]
fn what_a_decision_rules_out_is_its_clause() {
    let project = Project::new();
    let decided = project.json(&[
        "decide",
        "Use date-fns",
        "--why",
        "moment is unmaintained",
        "--rules-out",
        "moment,src/old/",
    ]);
    let stored = project.json(&["read", "--id", decided["id"].as_str().unwrap_or_default()]);
    assert_eq!(stored["decisions"][0]["constraints"], json!(["must_not_use: moment, src/old/"]));
    each(["two words", "", "moment,"], |wrong| {
        let ran = project.run(&["decide", "x", "--why", "y", "--rules-out", wrong, "--json"]);
        assert_eq!(ran.code, 2, "{wrong}: {ran:?}");
        assert!(ran.stdout.contains("`rules_out`"), "{wrong}: {ran:?}");
    });
}

#[test]
fn one_thing_has_one_flag_and_its_earlier_names_work() {
    let project = Project::new();
    let id = project.decide("Use JWT", "src/auth/");
    let entry = project.json(&["post", "need", "keys", "--scope", "src/auth/"]);
    let entry = entry["id"].as_str().unwrap_or_default();
    let rows: [&[&str]; 15] = [
        &["recent", "--limit", "1"],
        &["recent", "--n", "1"],
        &["recent", "src/auth/"],
        &["recent", "1", "src/auth/"],
        &["recent", "--scope", "src/auth/"],
        &["read", "src/auth/"],
        &["status", "src/auth/"],
        &["status", "--scope", "src/auth/"],
        &["claim", "src/a", "--why", "moving it"],
        &["claim", "src/b", "--reason", "moving it"],
        &["reconsider", &id, "--why", "it is slow"],
        &["reconsider", &id, "--new-context", "it is slow"],
        &["decide", "One", "--why", "a", "--file", "src/a.rs", "--domain", "one"],
        &["decide", "Two", "--rationale", "a", "--affected-file", "src/a.rs", "--domain", "two"],
        &["dismiss", entry, "--why", "done"],
    ];
    each(rows, |words| {
        let ran = project.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
    });
    assert_eq!(project.run(&["recent", "--lim", "1"]).code, 2, "no flag is guessed");
}

#[test]
fn status_and_recent_tell_of_one_part_only() {
    let project = Project::new();
    project.decide("Use JWT", "src/auth/");
    project.run(&["post", "need", "keys", "--scope", "src/auth/"]);
    project.run(&["post", "need", "paint", "--scope", "docs/"]);
    project.run(&["claim", "docs/"]);
    let all = project.json(&["status"]);
    assert_eq!(
        (&all["open_needs"], &all["active_decisions"], &all["scope"]),
        (&json!(2), &json!(1), &Value::Null)
    );
    let docs = project.json(&["status", "--scope", "docs/"]);
    assert_eq!(
        (&docs["open_needs"], &docs["active_decisions"], &docs["scope"]),
        (&json!(1), &json!(0), &json!("docs/"))
    );
    assert_eq!(docs["claims"].as_array().map(Vec::len), Some(1));
    assert_eq!(project.json(&["status", "src/auth/"])["claims"], Value::Null);
    let recent = project.json(&["recent", "docs/"]);
    assert_eq!(recent["entries"].as_array().map(Vec::len), Some(1), "{recent}");
}

#[test]
fn an_unknown_flag_names_the_nearest_or_lists_those_there_are() {
    let project = Project::new();
    let told = |words: &[&str]| -> Value {
        let ran = project.run(words);
        assert_eq!((ran.code, ran.stderr.as_str()), (2, ""), "{words:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).expect("prints JSON")
    };
    each(
        [("--limt", "--limit"), ("--scop", "--scope"), ("--max-reslts", "--limit")],
        |(flag, near)| {
            let told = told(&["read", flag, "1", "--json"]);
            assert_eq!(told["code"], "INVALID_INPUT");
            let hint = told["hint"].as_str().unwrap_or_default();
            assert!(hint.contains(near), "{flag}: {told}");
        },
    );
    let far = told(&["read", "--zzzzzz", "--json"]);
    let hint = far["hint"].as_str().unwrap_or_default();
    assert!(
        ["--type", "--tag", "--scope", "--since"].iter().all(|flag| hint.contains(flag)),
        "{far}"
    );
    assert!(
        told(&["read", "a", "b", "--json"])["message"].as_str().is_some_and(|m| m.contains("`b`"))
    );
    let words = project.run(&["read", "--zzzzzz"]);
    assert!(
        words.stderr.starts_with("error: ") && !words.stderr.contains("as a value"),
        "{words:?}"
    );
}

#[test]
fn what_is_missing_is_named_with_its_flag_and_an_example() {
    let project = Project::new();
    each(
        [
            (&["decide", "Use JWT", "--json"][..], "`rationale`", "--why"),
            (&["decide", "--json"], "`summary`", "--summary"),
            (&["post", "finding", "--json"], "`summary`", "--summary"),
            (&["override", "01M7EB3QWY4C5CPJF6982ZJQ18", "--json"], "`reason`", "--why"),
        ],
        |(words, field, flag)| {
            let ran = project.run(words);
            assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
            let told: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
            let said = |name: &str| told[name].as_str().unwrap_or_default();
            assert!(said("message").contains(field), "{told}");
            assert!(said("hint").contains(flag) && said("hint").contains("twining "), "{told}");
        },
    );
    for (words, typed) in [
        (&["decide", "Use JWT"][..], "--why"),
        (&["decide"], "SUMMARY"),
        (&["post"], "TYPE"),
        (&["delegate", "x"], "--needs"),
    ] {
        let told = project.run(words).stderr;
        assert!(told.starts_with(&format!("error: {typed} ")), "{words:?}: {told}");
    }
}

#[test]
fn a_person_is_asked_for_what_a_decision_lacks_and_nobody_else_is() {
    let project = Project::new();
    let asked = at_terminal(&project, &["decide", "Use JWT"], "no store to run", None);
    assert_eq!(asked.code, 0, "{asked:?}");
    let why = project.json(&["why", "project"]);
    assert_eq!(why["decisions"][0]["rationale"], "no store to run");
    let agent = at_terminal(&project, &["decide", "Use Go"], "", Some("CLAUDECODE"));
    assert_eq!(agent.code, 2, "{agent:?}");
    assert_eq!(project.run_with(&["decide", "Use Go"], "because\n").code, 2);
}

#[test]
fn a_decision_is_written_in_the_editor() {
    let project = Project::new();
    let editor = project.path().join("editor");
    std::fs::write(
        &editor,
        "sed -i -e 's/^Summary:.*/Summary: Use Go/' -e 's/^Why:.*/Why: one binary/' \"$1\"",
    )
    .expect("writes");
    each(
        [(&["decide"][..], "Use Go"), (&["decide", "Use C", "--edit"], "Use Go")],
        |(words, summary)| {
            let mut command = project.command(words);
            command
                .env_remove("CLAUDECODE")
                .env_remove("VISUAL")
                .env("EDITOR", format!("sh {}", editor.display()));
            let ran = typed_at_terminal(command, "");
            assert_eq!(ran.code, 0, "{ran:?}");
            let why = project.json(&["why", "project"]);
            assert_eq!(
                (&why["decisions"][0]["summary"], &why["decisions"][0]["rationale"]),
                (&json!(summary), &json!("one binary"))
            );
        },
    );
}

#[test]
fn why_alone_is_about_the_changed_files() {
    let repository = Repository::new();
    repository.write("src/a.rs", "1");
    repository.write("src/b.rs", "1");
    repository.git(&["add", "."]);
    repository.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]);
    let json = |words: &[&str]| -> Value {
        let ran = repository.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).expect("prints JSON")
    };
    assert_eq!(json(&["why", "--json"])["changed_files"], json!([]));
    for (summary, scope) in [("One", "src/a.rs"), ("Other", "src/b.rs"), ("New", "src/c.rs")] {
        json(&["decide", summary, "--why", "x", "--scope", scope, "--json"]);
    }
    repository.write("src/a.rs", "2");
    repository.write("src/c.rs", "1");
    let why = json(&["why", "--json"]);
    assert_eq!(why["changed_files"], json!(["src/a.rs", "src/c.rs"]));
    let mut found: Vec<&str> = why["decisions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|d| d["summary"].as_str())
        .collect();
    found.sort_unstable();
    assert_eq!((found, &why["total_count"]), (vec!["New", "One"], &json!(2)));
}

#[test]
fn the_program_alone_tells_where_things_stand_and_what_to_do() {
    let project = Project::new();
    let commands = || -> Vec<String> {
        let next = project.json(&[])["next"].clone();
        let steps = next.as_array().into_iter().flatten();
        steps.filter_map(|step| step["command"].as_str()).map(str::to_owned).collect()
    };
    assert_eq!(commands(), ["twining init", "twining tour"]);
    assert!(!project.path().join(".twining").exists(), "asking creates nothing");
    project.run(&["post", "question", "who rotates keys?"]);
    assert_eq!(commands().len(), 3);
    assert_eq!(commands()[0], "twining read --type question");
    assert_eq!(project.run(&[]).code, 0);
}

#[test]
fn help_is_a_command_too() {
    let project = Project::new();
    assert_eq!(project.run(&["help"]).stdout, project.run(&["--help"]).stdout);
    assert_eq!(project.run(&["help", "decide"]).stdout, project.run(&["decide", "--help"]).stdout);
    let json = project.run(&["--json", "help"]);
    assert_eq!(json.code, 0, "{json:?}");
}

#[test]
fn a_broken_memory_is_told_once() {
    let project = Project::new();
    std::fs::write(project.path().join(".twining"), "not a folder").expect("writes");
    let ran = project.run(&["recent"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: "), "{ran:?}");
    assert_eq!(
        ran.stderr.matches("`.twining`").count(),
        1 + ran.stderr.matches("inside `.twining`").count(),
        "{ran:?}"
    );

    let doctor = project.run(&["doctor"]);
    assert_eq!(doctor.code, 3, "{doctor:?}");
    assert!(doctor.stdout.starts_with("fail folder"), "{doctor:?}");
}

#[test]
fn a_place_without_decisions_is_named() {
    let project = Project::new();
    assert_snapshot!(project.run(&["why", "nothing/"]).stdout, @"no decision applies to nothing/ yet");
    assert_eq!(project.json(&["why", "nothing/"])["total_count"], 0);
}

#[test]
fn the_graph_says_what_its_decisions_say() {
    let project = Project::new();
    project.run(&[
        "decide",
        "--summary",
        "Use JWT",
        "--domain",
        "architecture",
        "--scope",
        "src/auth/",
        "--context",
        "c",
        "--rationale",
        "r",
        "--affected-file",
        "src/auth/a.ts,src/auth/b.ts",
    ]);
    assert_eq!(
        project.json(&["export", "--format", "json"])["content"]
            .as_str()
            .map(|text| text.contains("src/auth/b.ts\"")),
        Some(true)
    );
    let near = project.run(&["neighbors", "src/auth/b.ts"]);
    assert!(near.stdout.contains("Use JWT"), "{near:?}");
    let way = project.run(&["path", "src/auth/a.ts", "src/auth/b.ts"]);
    assert!(way.stdout.contains("Use JWT"), "{way:?}");
}

#[test]
fn what_does_not_fit_is_on_the_next_page() {
    let project = Project::new();
    for number in 0..3 {
        project.run(&["post", "finding", &format!("finding {number}")]);
    }
    assert_snapshot!(project.run(&["read", "--limit", "2"]).stdout.lines().last().unwrap_or_default(), @"1 entry not shown (older); --offset 2 shows the next page");
    let mut server = project.server(&[]);
    server.initialize();
    for _ in 0..20 {
        server.call("twining_post", &json!({"entry_type": "finding", "summary": "long", "detail": "x".repeat(60_000), "force": true}));
    }
    let cut = project.run(&["read", "--limit", "500"]).stdout;
    let last = cut.lines().last().unwrap_or_default();
    let next = last.split("--offset ").nth(1).and_then(|rest| rest.split(' ').next());
    let rest = project.json(&["read", "--limit", "500", "--offset", next.expect("an offset")]);
    assert!(rest["entries"].to_string().contains("finding 0"), "{last}");
}

#[test]
fn doctor_is_content_with_a_new_memory_and_not_with_a_torn_one() {
    let project = Project::new();
    assert_eq!(project.run(&["doctor"]).code, 0);
    project.run(&["post", "finding", "hello"]);
    let well = project.run(&["doctor"]);
    assert_eq!(well.code, 0, "{well:?}");
    let board = project.path().join(".twining/blackboard.jsonl");
    let text = std::fs::read_to_string(&board).expect("reads");
    std::fs::write(&board, format!("{{\"broken\n{text}")).expect("writes");
    let ill = project.run(&["doctor", "--json"]);
    assert_eq!(ill.code, 3, "{ill:?}");
    assert!(ill.stdout.contains("blackboard.jsonl"), "{ill:?}");
    let told: Value = serde_json::from_str(&ill.stdout).expect("prints JSON");
    let store = told["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|check| check["name"] == "store")
        .expect("looks at the store");
    assert_eq!(store["finding"], "warn", "{store}");
    let counts = project.json(&["reindex"]);
    assert_eq!(counts["entries"], 1);
}

#[test]
fn doctor_sees_a_memory_of_a_newer_version() {
    let project = Project::new();
    project.run(&["post", "finding", "hello"]);
    std::fs::write(project.path().join(".twining/config.yml"), "version: 99\n").expect("writes");
    let newer = project.run(&["doctor"]);
    assert_eq!(newer.code, 3, "{newer:?}");
    assert!(newer.stdout.contains("fail config   format version 99 is newer"), "{newer:?}");
    assert!(newer.stdout.contains("can be read, not written"), "{newer:?}");
}

#[test]
fn nothing_stored_can_act_on_the_terminal() {
    let project = Project::new();
    let hostile = "a\u{1b}]52;c;aGk=\u{7}b\u{9b}31mc\u{202e}d";
    let input = json!({"entry_type": "finding", "summary": hostile, "detail": hostile, "tags": [hostile], "agent_id": "x\u{1b}[2J"});
    let posted = project.run_with(&["post", "--json-input", "-"], &input.to_string());
    assert_eq!(posted.code, 0, "{posted:?}");
    each(
        [&["recent"][..], &["recent", "--json"], &["query", "a"], &["export"], &["status"]],
        |words| {
            let mut command = project.command(words);
            // Colour as on a terminal, so that only the page's own escapes may remain.
            let out = command.env("CLICOLOR_FORCE", "1").output().expect("runs");
            let shown = String::from_utf8(out.stdout).expect("prints UTF-8");
            let bare = anstream::adapter::strip_str(&shown).to_string();
            for c in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
                assert!(!bare.contains(c), "{c:?} in {words:?}: {shown:?}");
            }
            assert!(!shown.contains("]52;c;aGk=\u{7}"), "{shown:?}");
        },
    );
}

#[test]
fn colour_is_for_terminals_only() {
    let project = Project::new();
    project.run(&["post", "warning", "beware"]);
    assert!(!project.run(&["recent"]).stdout.contains('\u{1b}'));
    let forced = project.command(&["recent"]).env("CLICOLOR_FORCE", "1").output().expect("runs");
    assert!(forced.stdout.contains(&0x1b));
    let refused = project.command(&["recent"]).env("NO_COLOR", "1").output().expect("runs");
    assert!(!refused.stdout.contains(&0x1b));
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let project = Project::new();
    project.run(&["post", "finding", "x"]);
    let mut child = project
        .command(&["recent"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn help_teaches() {
    let project = Project::new();
    assert_snapshot!("help", project.run(&["--help"]).stdout);
    assert_snapshot!("help_decide", project.run(&["decide", "--help"]).stdout);
    each(["post", "why", "search-decisions", "prune-graph", "assemble"], |verb| {
        let help = project.run(&[verb, "--help"]);
        assert!(help.stdout.contains("Example:\n  twining "), "{help:?}");
    });
}

#[test]
fn agents_in_two_worktrees_share_one_memory() {
    let main = TestProject::with_git();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let linked = dir.path().join("fix");
    main.git(["worktree", "add", "-q", &linked.display().to_string()]);
    let twining = |here: &std::path::Path, words: &[&str]| {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_twining"))
            .args(words)
            .current_dir(here)
            .output()
            .expect("runs");
        String::from_utf8(out.stdout).expect("prints UTF-8")
    };
    let scope = linked.join("src/a.rs");
    twining(
        &linked,
        &["post", "finding", "seen from the side", "--scope", &scope.display().to_string()],
    );
    assert!(!linked.join(".twining").exists());
    let recent = normal(&twining(&main.path(), &["recent"]));
    assert_snapshot!(recent, @"[ID-1]  [TIME]  finding  src/a.rs  main  seen from the side  [unbound]");
}

#[test]
fn what_hooks_queued_is_there_before_the_answer() {
    let project = Project::new();
    project.run(&["post", "finding", "first"]);
    let queued =
        r#"{"tool":"twining_post","entry_type":"status","summary":"Subagent completed task"}"#;
    std::fs::write(project.path().join(".twining/pending-posts.jsonl"), format!("{queued}\n"))
        .expect("writes");
    assert_eq!(project.json(&["recent"])["entries"][0]["summary"], "Subagent completed task");
    assert_eq!(project.json(&["read"])["total_count"], 2, "once");
}

#[test]
fn an_absolute_path_inside_the_project_is_stored_relative_to_it() {
    let project = Project::new();
    let inside = project.path().join("src/auth/jwt.ts");
    project.run(&["post", "finding", "x", "--scope", &inside.display().to_string()]);
    assert_eq!(project.json(&["recent"])["entries"][0]["scope"], "src/auth/jwt.ts");
}

#[test]
fn a_commit_archives_what_was_settled_before_the_commit_before() {
    let project = Project::new();
    std::fs::remove_dir(project.path().join(".git")).expect("removes the stand-in");
    let git = |words: &[&str], date: &str| {
        let mut git = std::process::Command::new("git");
        git.current_dir(project.path())
            .args([
                "-c",
                "user.name=T",
                "-c",
                "user.email=t@example.com",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(words);
        git.env("GIT_COMMITTER_DATE", date)
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.output().expect("git runs").status.success(), "{words:?}");
    };
    git(&["init", "-q", "."], "2026-01-01T00:00:00Z");
    project.run(&["post", "finding", "after the first commit"]);
    let board = project.path().join(".twining/blackboard.jsonl");
    let old = r#"{"id":"01K9Z3M4E0A1B2C3D4E5F6G7H1","timestamp":"2020-01-01T00:00:00.000Z","entry_type":"finding","summary":"long ago"}"#;
    let text = std::fs::read_to_string(&board).expect("there");
    std::fs::write(&board, format!("{old}\n{text}")).expect("writes");
    git(&["add", "-A"], "2026-01-01T00:00:00Z");
    git(&["commit", "-q", "-m", "first"], "2021-01-01T00:00:00Z");
    git(&["commit", "-q", "--allow-empty", "-m", "second"], "2026-01-01T00:00:00Z");
    std::fs::write(
        project.path().join(".twining/pending-actions.jsonl"),
        "{\"action\":\"archive\",\"trigger\":\"commit\"}\n",
    )
    .expect("writes");
    let read = project.json(&["read"]);
    let summaries: Vec<&str> = read["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| entry["summary"].as_str())
        .collect();
    assert_eq!(summaries, ["after the first commit", "Archive: 1 entry archived"]);
}

#[test]
fn a_log_that_a_killed_server_left_long_is_emptied_by_the_next_reader_but_no_hook() {
    let project = Project::new();
    project.run(&["post", "finding", "there is a memory"]);
    let place = StoreLocation { project: project.path().to_owned(), ..StoreLocation::default() };
    let store = Store::open(place, twining_testkit::ids()).expect("opens");
    let log = || {
        std::fs::metadata(project.path().join(".twining/local/index.db-wal"))
            .map_or(0, |file| file.len())
    };
    // Like a server that had no time to keep house.
    while log() <= LONG_WAL_BYTES {
        let entry = Entry { detail: "long ".repeat(10_000), ..entry(&store, "one of many") };
        store.post(&[entry]).expect("posts");
        store.view(|_| Ok::<_, StoreError>(())).expect("indexes");
    }
    drop(store);
    let event = json!({"session_id": "s", "cwd": project.path(), "hook_event_name": "SessionStart", "source": "startup"});
    project.run_with(&["hook", "--agent", "claude", "SessionStart"], &event.to_string());
    assert!(log() > LONG_WAL_BYTES, "a host waits for a hook");
    let read = project.json(&["recent"]);
    assert_eq!(log(), 0, "{}", read["total"]);
}
