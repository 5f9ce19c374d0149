//! Test runs as agents really start them: each one that the host's hook saw makes a bare
//! report of it `seen` evidence.

use crate::common::workspace::Workspace;
use serde_json::{Value, json};
use twining_testcases::each;

const PYTEST: &str = "============================= test session starts ==============================\nplatform linux -- Python 3.13.1, pytest-8.3.4, pluggy-1.5.0\nrootdir: /app\nconfigfile: pyproject.toml\ncollected 2 items\n\ntests/test_cart.py ..                                                    [100%]\n\n============================== 2 passed in 0.03s ===============================\n";
const PYTEST_QUIET: &str = "..                                                                       [100%]\n2 passed in 0.02s\n";
const CARGO_TAIL: &str = "test cart::tests::empty ... ok\ntest cart::tests::total ... ok\n\ntest result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n   Doc-tests shop\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";
const JEST: &str = "PASS tests/cart.test.js\n  cart\n    ✓ adds prices (2 ms)\n    ✓ is zero when empty\n\nTest Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\nSnapshots:   0 total\nTime:        0.412 s\nRan all test suites.\n";
const VITEST: &str = " RUN  v3.0.4 /app\n\n ✓ tests/format.test.ts (1 test) 2ms\n ✓ tests/cart.test.ts (2 tests) 3ms\n\n Test Files  2 passed (2)\n      Tests  3 passed (3)\n   Start at  10:12:31\n   Duration  312ms\n";

/// Hands a finished run to the hook and reports the feature; nothing is really run.
fn is_seen(line: &str, output: &str) {
    let workspace = Workspace::new();
    workspace.begin_session();
    workspace.test_run(line, 0, output);
    becomes_tested(&workspace, line);
}

fn becomes_tested(workspace: &Workspace, line: &str) {
    let reported = workspace.report_passed("F1", &[]);
    assert_eq!(reported.code, 0, "{line}: {reported:?}");
    let feature = workspace.feature("F1");
    assert_eq!(
        (&feature["tested"], &feature["verified_by"]["source"]),
        (&json!(true), &json!("seen")),
        "{line}: {feature}"
    );
}

/// Rows `name: line, output;`.
macro_rules! runs {
    ($($name:ident: $line:literal, $output:expr;)*) => {
        $(#[test]
        fn $name() {
            is_seen($line, $output);
        })*
    };
}

// Lines that earlier versions did not take.
runs! {
    cargo_test_behind_tail: "cargo test 2>&1 | tail -40", CARGO_TAIL;
    npm_test_behind_tee: "npm test | tee test.log", &format!("\n> shop@1.0.0 test\n> jest\n\n{JEST}");
    pytest_into_a_file_and_its_tail: "pytest > out.txt; tail -5 out.txt", "tests/test_cart.py ..                                                    [100%]\n\n============================== 2 passed in 0.03s ===============================\n";
    pytest_behind_grep: "pytest | grep -E 'passed|failed'", "============================== 2 passed in 0.03s ===============================\n";
    pytest_and_its_exit_code: "pytest -q; echo $?", &format!("{PYTEST_QUIET}0\n");
    docker_compose_run: "docker compose run --rm app pytest", &format!(" Container shop-db-1  Running\n{PYTEST}");
    docker_exec: "docker exec -t shop-app-1 pytest -q", PYTEST_QUIET;
    a_script_of_the_project: "./scripts/test.sh", PYTEST_QUIET;
    a_script_through_bash: "bash scripts/test.sh", PYTEST_QUIET;
    nx_test: "npx nx test cart", &format!("\n> nx run cart:test\n\n> jest\n\n{JEST}\n——————————————————————————————————————————\n\n NX   Successfully ran target test for project cart (2s)\n");
    turbo_run_test: "turbo run test", "• Packages in scope: cart, web\n• Running test in 2 packages\ncart:test: cache miss, executing 3a2f\ncart:test: \ncart:test: Test Suites: 1 passed, 1 total\ncart:test: Tests:       2 passed, 2 total\ncart:test: Time:        0.412 s\nweb:test: Tests:       4 passed, 4 total\n\n Tasks:    2 successful, 2 total\nCached:    0 cached, 2 total\n  Time:    3.1s\n";
    npx_turbo_test: "npx turbo test --filter=cart", "• Packages in scope: cart\ncart:test: \ncart:test:  Test Files  1 passed (1)\ncart:test:       Tests  3 passed (3)\n\n Tasks:    1 successful, 1 total\n";
    coverage_around_pytest: "coverage run -m pytest && coverage report", &format!("{PYTEST}Name          Stmts   Miss  Cover\n---------------------------------\nsrc/cart.py       2      0   100%\n---------------------------------\nTOTAL             2      0   100%\n");
    xcodebuild_test: "xcodebuild test -scheme Shop -destination 'platform=iOS Simulator,name=iPhone 16'", "Test Suite 'All tests' started at 2026-11-16 10:00:00.000.\nTest Suite 'CartTests' started at 2026-11-16 10:00:00.001.\nTest Case '-[ShopTests.CartTests testTotal]' started.\nTest Case '-[ShopTests.CartTests testTotal]' passed (0.001 seconds).\nTest Suite 'CartTests' passed at 2026-11-16 10:00:00.100.\n\t Executed 3 tests, with 0 failures (0 unexpected) in 0.004 (0.006) seconds\nTest Suite 'All tests' passed at 2026-11-16 10:00:00.101.\n\t Executed 3 tests, with 0 failures (0 unexpected) in 0.004 (0.008) seconds\n\n** TEST SUCCEEDED **\n";
    tests_on_another_machine: "ssh ci 'cd shop && pytest -q'", PYTEST_QUIET;
    hatch_run_test: "hatch run test", PYTEST;
    rails_test: "bin/rails test", "Running 5 tests in a single process (parallelization threshold is 50)\nRun options: --seed 4711\n\n# Running:\n\n.....\n\nFinished in 0.214s, 23.36 runs/s, 37.38 assertions/s.\n5 runs, 8 assertions, 0 failures, 0 errors, 0 skips\n";
    zig_build_test: "zig build test --summary all", "Build Summary: 3/3 steps succeeded; 4/4 tests passed\ntest success\n└─ run test 4 passed 2ms MaxRSS:3M\n   └─ zig test Debug native success 1s MaxRSS:210M\n";
    newman_run: "npx newman run api.postman_collection.json", "newman\n\nShop API\n\n→ Get cart\n  GET http://localhost:8080/cart [200 OK, 312B, 21ms]\n  ✓  status is 200\n  ✓  total is a number\n\n┌─────────────────────────┬──────────┬──────────┐\n│                         │ executed │   failed │\n├─────────────────────────┼──────────┼──────────┤\n│              iterations │        1 │        0 │\n├─────────────────────────┼──────────┼──────────┤\n│                requests │        1 │        0 │\n├─────────────────────────┼──────────┼──────────┤\n│            test-scripts │        1 │        0 │\n├─────────────────────────┼──────────┼──────────┤\n│              assertions │        2 │        0 │\n├─────────────────────────┴──────────┴──────────┤\n│ total run duration: 61ms                      │\n└───────────────────────────────────────────────┘\n";
}

// More of their kind.
runs! {
    pytest_alone: "pytest", PYTEST;
    pytest_of_the_feature_s_own_file: "uv run pytest tests/test_cart.py -q", PYTEST_QUIET;
    unittest_discovers: "python -m unittest discover -s tests 2>&1", "..\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n";
    nextest_with_a_profile: "cargo nextest run --profile ci 2>&1 | tail -5", "    Starting 12 tests across 2 binaries\n        PASS [   0.004s] shop cart::tests::total\n------------\n     Summary [   0.021s] 12 tests run: 12 passed, 0 skipped\n";
    vitest_once: "npx vitest run --reporter=default", VITEST;
    pnpm_in_a_package: "pnpm --filter web test -- --run", &format!("> web@1.0.0 test /app/packages/web\n> vitest \"--run\"\n\n{VITEST}");
    mocha_spec: "npx mocha 'test/**/*.js'", "\n\n  cart\n    ✔ adds prices\n    ✔ is zero when empty\n\n\n  2 passing (5ms)\n\n";
    node_test: "node --test", "▶ cart\n  ✔ adds prices (0.4ms)\n  ✔ is zero when empty (0.1ms)\n▶ cart (1.2ms)\nℹ tests 2\nℹ suites 1\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 54.1\n";
    go_test_all: "go test ./...", "ok  \texample.com/shop/cart\t0.004s\nok  \texample.com/shop/auth\t0.011s\n?   \texample.com/shop/cmd\t[no test files]\n";
    gotestsum_short: "gotestsum --format short", "✓  cart (4ms)\n✓  auth (11ms)\n\nDONE 9 tests in 0.812s\n";
    rspec: "bundle exec rspec --format progress", "........\n\nFinished in 0.01213 seconds (files took 0.09 seconds to load)\n8 examples, 0 failures\n\n";
    phpunit: "docker compose exec -T php vendor/bin/phpunit", "PHPUnit 11.5.2 by Sebastian Bergmann and contributors.\n\nRuntime:       PHP 8.4.2\n\n...                                                                 3 / 3 (100%)\n\nTime: 00:00.012, Memory: 10.00 MB\n\nOK (3 tests, 5 assertions)\n";
    maven_behind_grep: "mvn -B test | grep -E 'Tests run|BUILD'", "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.051 s -- in shop.CartTest\n[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n";
    gradle_with_a_logger: "./gradlew test --console=plain", "> Task :compileJava UP-TO-DATE\n> Task :test\n\nCartTest > total() PASSED\n\nCartTest > empty() PASSED\n\nSUCCESS: Executed 2 tests in 1.1s\n\nBUILD SUCCESSFUL in 3s\n4 actionable tasks: 1 executed, 3 up-to-date\n";
    dotnet_test: "dotnet test --nologo -v q", "Passed!  - Failed:     0, Passed:     7, Skipped:     0, Total:     7, Duration: 31 ms - Shop.Tests.dll (net9.0)\n";
    ctest_in_the_build_folder: "cmake --build build && ctest --test-dir build", "[2/2] Linking CXX executable shop_test\nTest project /app/build\n    Start 1: cart\n1/2 Test #1: cart .............................   Passed    0.00 sec\n    Start 2: auth\n2/2 Test #2: auth .............................   Passed    0.01 sec\n\n100% tests passed, 0 tests failed out of 2\n\nTotal Test time (real) =   0.02 sec\n";
    bats: "bats test/", "1..3\nok 1 adds prices\nok 2 is zero when empty\nok 3 refuses text\n";
    deno_test: "deno test -A", "running 2 tests from ./cart_test.ts\nadds prices ... ok (1ms)\nis zero when empty ... ok (0ms)\n\nok | 2 passed | 0 failed (8ms)\n";
    bun_test: "bun test", "bun test v1.2.0\n\ncart.test.ts:\n✓ adds prices [0.41ms]\n✓ is zero when empty\n\n 2 pass\n 0 fail\n 2 expect() calls\nRan 2 tests across 1 files. [11.00ms]\n";
    playwright_through_make: "make e2e", "npx playwright test\n\nRunning 4 tests using 2 workers\n\n  4 passed (3.2s)\n\nTo open last HTML report run:\n\n  npx playwright show-report\n\n";
    mix_test: "mix test", "Running ExUnit with seed: 4711, max_cases: 4\n\n.....\nFinished in 0.04 seconds (0.00s async, 0.04s sync)\n1 doctest, 4 tests, 0 failures\n";
}

#[test]
fn tests_and_linter_run_in_parallel_calls() {
    let workspace = Workspace::new();
    workspace.begin_session();
    let call = |id: &str, line: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": line}});
    each([("toolu_a", "pytest -q"), ("toolu_b", "ruff check .")], |(id, line)| {
        assert_eq!(workspace.hook("PreToolUse", call(id, line)), Value::Null);
    });
    for (id, line, output) in [
        ("toolu_b", "ruff check .", "All checks passed!\n"),
        ("toolu_a", "pytest -q", PYTEST_QUIET),
    ] {
        let mut ended = call(id, line);
        ended["tool_response"] = json!({"stdout": output, "stderr": "", "interrupted": false});
        workspace.hook("PostToolUse", ended);
    }
    becomes_tested(&workspace, "pytest -q beside ruff");
}

#[test]
fn tests_run_in_the_background_and_their_output_is_read_later() {
    let workspace = Workspace::new();
    workspace.begin_session();
    let start = json!({"tool_name": "Bash", "tool_use_id": "toolu_a", "tool_input": {"command": "pytest", "run_in_background": true}});
    workspace.hook("PreToolUse", start.clone());
    let mut started = start;
    started["tool_response"] =
        json!({"stdout": "", "stderr": "", "interrupted": false, "backgroundTaskId": "bash_1"});
    workspace.hook("PostToolUse", started);
    let response = json!({"shellId": "bash_1", "command": "pytest", "status": "completed", "exitCode": 0, "stdout": PYTEST, "stderr": ""});
    let read = json!({"tool_name": "BashOutput", "tool_use_id": "toolu_b", "tool_input": {"bash_id": "bash_1"}, "tool_response": response});
    workspace.hook("PostToolUse", read);
    becomes_tested(&workspace, "pytest in the background");
}
