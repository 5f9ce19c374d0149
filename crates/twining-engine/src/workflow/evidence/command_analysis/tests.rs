//! Lines as agents write them.

use std::path::Path;

use crate::workflow::evidence::command_analysis::TestCommand;

fn read(line: &str) -> TestCommand {
    let there = [
        "tests/test_a.py",
        "tests/test_b.py",
        "tests/unit",
        "web",
        "web/a.test.ts",
        "pkg/auth",
        "scripts/test.sh",
        "test",
    ];
    TestCommand::read(line, Path::new("/p"), Some(""), &|path| there.contains(&path))
}

macro_rules! lines {
    ($check:ident: $($name:ident: $line:expr => $expected:expr;)*) => {
        $(#[test]
        fn $name() {
            $check($line, $expected);
        })*
    };
}

fn is_read_only(line: &str, expected: bool) {
    assert_eq!(read(line).is_read_only, expected, "{line}");
}

lines! { is_read_only:
    a_log_that_is_shown_is_no_run: "cat out.log" => true;
    a_log_that_is_searched_is_no_run: "grep passed out.log | tail -1" => true;
    a_sentence_is_no_run: "echo '3 passed in 0.1s'" => true;
    history_is_no_run: "git log -3 --stat" => true;
    a_pull_request_s_checks_are_no_run_here: "gh run view 12 --log" => true;
    a_container_s_log_is_no_run: "cd web && docker logs app" => true;
    a_wait_for_a_file_is_no_run: "sleep 30; tail -5 out.log" => true;
    a_pipe_hides_no_run: "cargo test 2>&1 | tail -40" => false;
    a_redirect_hides_no_run: "pytest > out; tail out" => false;
    a_container_runs: "docker compose run --rm app pytest" => false;
    a_search_may_run: "find . -name '*_test.py' -exec python {} ;" => false;
    a_script_runs: "./scripts/test.sh" => false;
}

fn selects(line: &str, (paths, filters): (&[&str], &[&str])) {
    let selection = read(line).selection;
    assert_eq!(
        (selection.paths.as_slice(), selection.filters.as_slice()),
        (
            &paths.iter().map(|&p| p.to_owned()).collect::<Vec<_>>()[..],
            &filters.iter().map(|&f| f.to_owned()).collect::<Vec<_>>()[..]
        ),
        "{line}"
    );
}

lines! { selects:
    everything_without_a_name: "pytest -q --tb short -n 4" => (&[], &[]);
    everything_by_a_verb_that_is_a_folder_too: "npm test" => (&[], &[]);
    everything_by_a_script: "bash scripts/test.sh" => (&[], &[]);
    everything_by_a_module: "coverage run -m pytest" => (&[], &[]);
    everything_in_go: "go test ./..." => (&[], &[]);
    one_file: "python -m pytest tests/test_a.py -q" => (&["tests/test_a.py"], &[]);
    one_test: "pytest tests/test_a.py::test_x" => (&["tests/test_a.py::test_x"], &[]);
    a_file_behind_cd: "cd web && npx vitest run a.test.ts" => (&["web/a.test.ts"], &[]);
    a_folder: "pytest tests/unit" => (&["tests/unit/"], &[]);
    a_go_package: "go test ./pkg/auth -run TestLogin" => (&["pkg/auth/"], &["TestLogin"]);
    an_expression: "pytest -k login" => (&[], &["login"]);
    a_mark_and_no_module: "python -m pytest -m slow" => (&[], &["slow"]);
    a_cargo_name: "cargo test login::ok -- --nocapture" => (&[], &["login::ok"]);
    a_cargo_package: "cargo nextest run -p auth" => (&[], &["auth"]);
    no_cargo_feature: "cargo test --features fast" => (&[], &[]);
    a_maven_class: "mvn -q test -Dtest=LoginTest" => (&[], &["LoginTest"]);
    everything_of_a_package: "pnpm --filter web test -- --run" => (&[], &[]);
    nothing_known_in_a_container: "docker compose run app pytest tests/test_a.py" => (&[], &[]);
}

fn runs_in(line: &str, elsewhere: Option<&str>) {
    assert_eq!(read(line).elsewhere.as_deref(), elsewhere, "{line}");
}

lines! { runs_in:
    the_project: "pytest" => None;
    a_folder_of_the_project: "cd web && npm test" => None;
    the_project_by_its_full_path: "cd /p/web && npm test" => None;
    a_folder_that_is_not_known: "cd \"$(git rev-parse --show-toplevel)\" && pytest" => None;
    another_repository: "cd ../other && pytest" => Some("/other");
    another_repository_by_an_option: "cargo test --manifest-path /q/Cargo.toml" => Some("/q/Cargo.toml");
    tests_of_another_repository: "pytest /q/tests/test_a.py" => Some("/q/tests/test_a.py");
    a_report_elsewhere_moves_nothing: "pytest --junitxml=/tmp/out.xml --basetemp=/tmp/x" => None;
    a_container_s_folders_are_its_own: "docker exec -w /app app pytest /app/tests/test_a.py" => None;
    a_step_outside_before_the_tests: "cd /tmp && pip install x && cd /p && pytest" => None;
}

fn ends(line: &str, has_exit_code: bool) {
    assert_eq!(read(line).has_exit_code, has_exit_code, "{line}");
}

lines! { ends:
    as_its_tests_do: "pytest -q" => true;
    as_its_tests_do_behind_cd: "cd web && npm test 2>&1" => true;
    with_a_quoted_separator: "pytest -k 'a or b; c'" => true;
    behind_a_pipe: "pytest | tail -3" => false;
    behind_another_command: "pytest; echo $?" => false;
    with_what_follows: "pytest && ./deploy.sh" => false;
    in_the_background: "pytest > out 2>&1 &" => false;
    whatever_happens: "pytest || true" => false;
}

#[test]
fn a_line_that_began_outside_the_project_ran_elsewhere() {
    let line = TestCommand::read("pytest", Path::new("/p"), None, &|_| false);
    assert_eq!(line.elsewhere.as_deref(), Some("another folder"));
    let line = TestCommand::read("cd /p && pytest", Path::new("/p"), None, &|_| false);
    assert_eq!(line.elsewhere, None);
}
