//! Governance from outside: the same verbs on the command line and over MCP,
//! files on disk, reports by path.

use crate::common::{Project, normal};
use insta::assert_snapshot;
use serde_json::{Value, json};
use twining_testcases::each;

const JUNIT: &str = r#"<testsuites><testsuite name="a" tests="2" failures="0"><testcase name="x"/><testcase name="y"/></testsuite></testsuites>"#;
const LCOV: &str = "SF:src/a.rs\nDA:1,1\nDA:2,1\nDA:3,1\nDA:4,1\nDA:5,0\nend_of_record\n";

fn put(project: &Project, path: &str, text: &str) {
    let path = project.path().join(path);
    std::fs::create_dir_all(path.parent().expect("inside the project")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

fn record<'a>(task: &'a str, turn: &'a str) -> Vec<&'a str> {
    vec![
        "record-turn",
        task,
        turn,
        "--player-decision",
        "Added logout",
        "--coach-decision",
        "revise",
        "--progress-summary",
        "Timeout is open",
        "--criterion",
        "login=verified",
        "--criterion",
        "timeout=pending",
    ]
}

#[test]
fn a_team_works_by_roles_gates_and_turns() {
    let project = Project::new();
    assert_snapshot!(normal(&project.run(&["role", "coach"]).stdout), @"
    coach ROLE-coach

    Must do
      default  Hold the implementation against each acceptance criterion
      default  Run the quality gates yourself: tests, coverage, architecture
      default  Say exactly what to change, so that the player can act on it
      default  Keep the status of every acceptance criterion

    Must not do
      default  Write implementation code
      default  Edit the implementation yourself
      default  Decide how the player implements it
      default  Change acceptance criteria while the task runs

    Must escalate when
      default  Tests still fail after three attempts
      default  The implementation breaks the agreed architecture
      default  An acceptance criterion cannot be met as it is written
    ");
    assert_snapshot!(normal(&project.run(&["gates", "feature", "5"]).stdout), @"
    QG-feature-4-6 feature, complexity 5
      architecture  at least 60          default
      coverage      at least 80%         default
      tests         required, must pass  default
    ");
    assert_snapshot!(normal(&project.run(&["suggest-mode", "feature", "2"]).stdout), @"
    Suggested process: minimal (mode direct; advice only)

    Meant for
      Simple file operations
      Changes to configuration
      Updates to documentation

    Beware
      Look at git status before you begin
      It is the wrong tool for a complex implementation
    ");
    let recorded = project.run(&record("TASK-GE-001", "1"));
    assert_eq!(recorded.code, 0, "{recorded:?}");
    assert_snapshot!(normal(&recorded.stdout), @"recorded TURN-FEAT-GE-TASK-GE-001-T1 turns/FEAT-GE/TASK-GE-001/T1.json");
    assert_snapshot!(normal(&project.run(&record("TASK-GE-001", "1")).stdout), @"updated TURN-FEAT-GE-TASK-GE-001-T1 turns/FEAT-GE/TASK-GE-001/T1.json");
    assert_snapshot!(normal(&project.run(&["turns", "FEAT-GE"]).stdout), @"
    TURN-FEAT-GE-TASK-GE-001-T1  [TIME]  revise  Added logout
      Timeout is open
    ");
    let prompt = project.run(&[
        "prompt",
        "coach",
        "--task",
        "TASK-GE-001",
        "--complexity",
        "2",
        "--turn",
        "2",
    ]);
    assert_snapshot!("prompt_coach", normal(&prompt.stdout));
    let prompt = project.run(&[
        "prompt",
        "player",
        "--task",
        "TASK-GE-001",
        "--complexity",
        "8",
        "--turn",
        "1",
    ]);
    assert_snapshot!("prompt_player", normal(&prompt.stdout));
}

#[test]
fn gates_are_judged_by_reports_on_disk() {
    let project = Project::new();
    put(&project, "target/junit.xml", JUNIT);
    put(&project, "lcov.info", LCOV);
    let passed = project.run(&[
        "check-gates",
        "feature",
        "5",
        "--report",
        "target/junit.xml,lcov.info",
        "--arch-score",
        "72",
    ]);
    assert_eq!(passed.code, 0, "{passed:?}");
    assert_snapshot!(passed.stdout, @"
    pass QG-feature-4-6
      pass  tests         report   2 run, 2 passed, 0 failed
      pass  coverage      report   coverage is 80% (80% required)
      pass  architecture  claimed  the architecture score is 72 (60 required)

    Next
      every gate passed: approve if each acceptance criterion is verified too
    ");
    let harder = project.run(&[
        "check-gates",
        "feature",
        "8",
        "--report",
        "target/junit.xml,lcov.info",
        "--tests-passed",
        "90",
        "--tests-failed",
        "0",
    ]);
    assert_eq!(harder.code, 3, "{harder:?}");
    assert_snapshot!(harder.stdout, @"
    fail QG-feature-7-10
      pass     tests         report  2 run, 2 passed, 0 failed
      fail     coverage      report  coverage is 80%, below the required 85%
      unknown  architecture          no architecture score was given; 70 is required

    Next
      add tests for untested code to raise coverage from 80% to 85%
      review the architecture, and give its score
      do not approve: send it back with the reasons above, and check again after the change
    note: claimed 90 run, 90 passed, 0 failed, but the reports say 2 run, 2 passed, 0 failed; the reports are used
    ");
}

#[test]
fn no_caller_can_lower_the_bar_or_read_elsewhere() {
    let project = Project::new();
    let elsewhere = Project::new();
    put(&elsewhere, "junit.xml", JUNIT);
    std::os::unix::fs::symlink(elsewhere.path(), project.path().join("away")).expect("links");
    let mut server = project.server(&[]);
    server.initialize();
    each(
        [
            (
                json!({"task_type": "feature", "complexity": 5, "coverage_threshold": 0.1}),
                "INVALID_INPUT",
            ),
            (
                json!({"task_type": "feature", "complexity": 5, "results": {"coverage_threshold": 0.1}}),
                "INVALID_INPUT",
            ),
            (
                json!({"task_type": "feature", "complexity": 5, "results": {"tests": {"required": false}}}),
                "INVALID_INPUT",
            ),
            (
                json!({"task_type": "feature", "complexity": 5, "results": [[5, 5, 0], 0.9, 80]}),
                "INVALID_INPUT",
            ),
            (
                json!({"task_type": "feature", "complexity": 5, "results": {"tests": [5, 5, 0]}}),
                "INVALID_INPUT",
            ),
            (
                json!({"task_type": "feature", "complexity": 5, "reports": ["../junit.xml"]}),
                "INVALID_INPUT",
            ),
            (
                json!({"task_type": "feature", "complexity": 5, "reports": ["/etc/passwd"]}),
                "INVALID_INPUT",
            ),
            (
                json!({"task_type": "feature", "complexity": 5, "reports": ["away/junit.xml"]}),
                "UNSAFE_PATH",
            ),
        ],
        |(arguments, code)| {
            let result = server.call("twining_check_gates", &arguments);
            assert_eq!(result["isError"], true, "{result}");
            assert_eq!(result["structuredContent"]["code"], code, "{result}");
        },
    );
    let result = server.call(
        "twining_check_gates",
        &json!({"task_type": "feature", "complexity": 5, "reports": ["none.xml"],
            "results": {"tests": {"run": 3, "passed": 3, "failed": 0}, "coverage": 0.9, "arch_score": 90}}),
    );
    assert_eq!(result["structuredContent"]["overall"], "unknown", "{result}");
    assert_eq!(result["structuredContent"]["approved"], false);
    for nothing in [json!(null), json!({"tests": null, "coverage": null})] {
        let result = server.call(
            "twining_check_gates",
            &json!({"task_type": "feature", "complexity": 5, "results": nothing, "reports": null}),
        );
        assert_eq!(result["structuredContent"]["overall"], "unknown", "{result}");
    }
}

#[test]
fn json_is_exactly_what_the_tools_return() {
    let project = Project::new();
    project.run(&record("TASK-GE-001", "1"));
    put(
        &project,
        ".twining/policy.yml",
        "roles:\n  coach:\n    must_do_additions: [Check the contract]\n  # more\nmods: {}\n",
    );
    let mut server = project.server(&[]);
    server.initialize();
    let cases: [(&[&str], &str, Value); 6] = [
        (&["role", "coach"], "twining_role", json!({"role": "coach"})),
        (
            &["gates", "bug-fix", "0"],
            "twining_gates",
            json!({"task_type": "bug-fix", "complexity": 0}),
        ),
        (
            &[
                "check_gates",
                "testing",
                "4",
                "--tests-run",
                "0",
                "--tests-passed",
                "0",
                "--tests-failed",
                "0",
            ],
            "twining_check_gates",
            json!({"task_type": "testing", "complexity": 4, "results": {"tests": {"run": 0, "passed": 0, "failed": 0}}}),
        ),
        (
            &["turns", "FEAT-GE", "--last", "1"],
            "twining_turns",
            json!({"feature": "FEAT-GE", "last": 1}),
        ),
        (
            &["suggest-mode", "docs", "7"],
            "twining_suggest_mode",
            json!({"task_type": "docs", "complexity": 7}),
        ),
        (
            &["prompt", "player", "--task", "TASK-GE-001", "--turn", "2"],
            "twining_prompt",
            json!({"role": "player", "task": "TASK-GE-001", "turn": 2}),
        ),
    ];
    each(cases, |(words, tool, arguments)| {
        let by_hand = project.run(&[words, &["--json"]].concat());
        let by_tool = server.call(tool, &arguments);
        assert_eq!(
            by_hand.stdout.trim_end(),
            by_tool["content"][0]["text"].as_str().expect("has text"),
            "{words:?}"
        );
    });
    let role = server.call("twining_role", &json!({"role": "coach"}));
    assert_eq!(role["structuredContent"]["sources"]["must_do"][4], "project:3");
    assert_eq!(role["structuredContent"]["mistakes"][0]["line"], 5);
    let elsewhere = server.call("twining_role", &json!({"role": "coach", "project": "another"}));
    assert_eq!(elsewhere["structuredContent"]["code"], "NOT_FOUND", "{elsewhere}");
}

#[test]
fn the_users_policy_lies_under_the_projects() {
    let project = Project::new();
    put(
        &project,
        "../settings-of-nobody/twining/policy.yml",
        "gates:\n  feature: {coverage_threshold: 75}\n  testing: {coverage_threshold: 75}\n",
    );
    put(&project, ".twining/policy.yml", "gates:\n  feature: {coverage_threshold: 95}\n");
    let feature = project.json(&["gates", "feature", "5"]);
    assert_eq!(
        (
            &feature["profile"]["coverage_threshold"],
            &feature["profile"]["sources"]["coverage_threshold"]
        ),
        (&json!(0.95), &json!("project:2"))
    );
    let testing = project.json(&["gates", "testing", "5"]);
    assert_eq!(
        (
            &testing["profile"]["coverage_threshold"],
            &testing["profile"]["sources"]["coverage_threshold"]
        ),
        (&json!(0.75), &json!("user:3"))
    );
}

#[test]
fn seeding_twice_changes_nothing_and_neither_does_what_holds() {
    let project = Project::new();
    let before = project.json(&["gates", "feature", "5"])["profile"]["coverage_threshold"].clone();
    assert_eq!(project.json(&["seed"]), json!({"path": ".twining/policy.yml", "written": true}));
    let path = project.path().join(".twining/policy.yml");
    let text = std::fs::read_to_string(&path).expect("is there");
    assert_snapshot!("seeded_policy", text);
    assert_eq!(project.json(&["seed"])["written"], false);
    assert_eq!(std::fs::read_to_string(&path).expect("is there"), text);
    let after = project.json(&["gates", "feature", "5"]);
    assert_eq!(after["profile"]["coverage_threshold"], before);
    assert!(after.get("mistakes").is_none(), "{after}");
    let doctor = project.run(&["doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
    std::fs::write(&path, text.replace("must_do:", "must_dos:")).expect("writes");
    assert!(project.run(&["doctor"]).stdout.contains("did you mean `must_do`?"));
}

#[test]
fn guardkit_settings_are_taken_over_once() {
    let project = Project::new();
    assert_eq!(project.run(&["import", "guardkit"]).code, 1);
    put(
        &project,
        ".guardkit/config/entity-overrides.yaml",
        "role_constraints:\n  coach:\n    must_do_additions:\n      - Verify registration\nquality_gate_configs:\n  feature:\n    overrides:\n      - complexity_range: [4, 6]\n        coverage_threshold: 0.85\n        lint: true\n",
    );
    let printed = project.run(&["import", "guardkit", "--print"]);
    assert_snapshot!(printed.stdout, @r#"
    # Project policy, imported from GuardKit's configuration.
    # Keys that end in _additions extend a list, all others replace a value.

    roles:
      coach:
        must_do_additions:
          - "Verify registration"

    gates:
      feature:
        overrides:
          - complexity_range: [4, 6]
            coverage_threshold: 0.85
    "#);
    assert!(
        printed.stderr.contains("left out: .guardkit/config/entity-overrides.yaml:10:9: `lint`"),
        "{}",
        printed.stderr
    );
    assert!(!project.path().join(".twining").exists(), "printing writes nothing");
    let imported = project.run(&["import", "guardkit"]);
    assert_snapshot!(imported.stdout, @"
    written .twining/policy.yml from .guardkit/config/entity-overrides.yaml
    left out: .guardkit/config/entity-overrides.yaml:10:9: `lint` is not a gate key; known: complexity_range, arch_review_required, arch_review_threshold, coverage_required, coverage_threshold, tests_required, tests_must_pass
    ");
    assert_eq!(project.json(&["gates", "feature", "5"])["profile"]["coverage_threshold"], 0.85);
    assert_eq!(
        project.json(&["import", "guardkit"])["written"],
        false,
        "a second time nothing changes"
    );
    put(&project, ".twining/policy.yml", "# mine\nguards: []\n");
    let refused = project.run(&["import", "guardkit"]);
    assert_eq!((refused.code, refused.stderr.contains("--print")), (1, true), "{refused:?}");
    assert_eq!(
        std::fs::read_to_string(project.path().join(".twining/policy.yml")).expect("is there"),
        "# mine\nguards: []\n"
    );
}

#[test]
fn two_processes_that_record_at_once_lose_no_turn() {
    let project = Project::new();
    let tasks: Vec<String> = (0..6).map(|n| format!("TASK-GE-{n}")).collect();
    each(["1", "2", "3"], |turn| {
        let running: Vec<_> = tasks
            .iter()
            .map(|task| {
                project
                    .command(&record(task, turn))
                    .stdout(std::process::Stdio::null())
                    .spawn()
                    .expect("starts")
            })
            .collect();
        for mut process in running {
            assert!(process.wait().expect("ends").success());
        }
    });
    let outcome = project.json(&["turns", "FEAT-GE", "--last", "100"]);
    assert_eq!(
        (outcome["total"].as_u64(), outcome.get("unreadable")),
        (Some(18), None),
        "{outcome}"
    );
}

#[test]
fn a_linked_worktree_has_its_own_reports_and_the_shared_turns() {
    let project = Project::new();
    std::fs::remove_dir(project.path().join(".git")).expect("removes");
    let git = |words: &[&str]| {
        let ran = std::process::Command::new("git")
            .current_dir(project.path())
            .args(["-c", "user.name=T", "-c", "user.email=t@example.com"])
            .args(words)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git runs");
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "start"]);
    git(&["worktree", "add", "-q", "linked"]);
    project.run(&record("TASK-GE-001", "1"));
    put(&project, "linked/junit.xml", JUNIT);
    let linked = project.path().join("linked");
    let run = |words: &[&str]| {
        let output = project.command(words).current_dir(&linked).output().expect("runs");
        serde_json::from_slice::<Value>(&output.stdout).expect("prints JSON")
    };
    assert_eq!(run(&["turns", "FEAT-GE", "--json"])["total"], 1);
    let checked = run(&[
        "check-gates",
        "testing",
        "3",
        "--report",
        "junit.xml",
        "--coverage",
        "95",
        "--json",
    ]);
    assert_eq!(
        (&checked["overall"], &checked["reports"][0]["tests"]["passed"]),
        (&json!("pass"), &json!(2)),
        "{checked}"
    );
}
