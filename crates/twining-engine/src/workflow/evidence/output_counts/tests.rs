//! Summaries as runners print them, one test each: passed and failed.

use proptest::prelude::*;

use crate::workflow::evidence::output_counts::counts_in;

macro_rules! outputs {
    ($($name:ident: $output:expr => $expected:expr;)*) => {
        $(#[test]
        fn $name() {
            let expected: Option<(u64, u64)> = $expected;
            assert_eq!(counts_in($output).map(|counts| (counts.passed, counts.failed)), expected, "{}", $output);
        })*
    };
}

outputs! {
    cargo_sums_its_binaries: "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored" => Some((7, 1));
    cargo_without_a_match: "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 12 filtered out; finished in 0.00s" => Some((0, 0));
    nextest: "     Summary [   0.021s] 3 tests run: 3 passed (1 slow), 2 skipped" => Some((3, 0));
    nextest_that_stopped_early: "     Summary [   0.021s] 3/10 tests run: 2 passed, 1 failed, 0 skipped" => Some((2, 1));
    pytest: "===== 12 passed, 1 failed, 2 errors in 0.5s =====" => Some((12, 3));
    pytest_in_colour: "\u{1b}[32m===== \u{1b}[1m4 passed\u{1b}[0m, 2 warnings in 61.20s (0:01:01) =====" => Some((4, 0));
    pytest_quiet: "3 passed in 0.02s" => Some((3, 0));
    pytest_with_reruns: "1 failed, 2 passed, 1 skipped, 1 xfailed, 3 rerun in 61.20s (0:01:01)" => Some((2, 1));
    pytest_with_collection_errors: "!!!!! Interrupted: 1 error during collection !!!!!\n===== 1 error in 0.05s =====" => Some((0, 1));
    pytest_without_tests: "===== no tests ran in 0.01s =====" => Some((0, 0));
    pytest_behind_compose: "app-1  | 3 passed in 0.10s" => Some((3, 0));
    unittest: "Ran 3 tests in 0.001s\n\nOK" => Some((3, 0));
    unittest_with_skips: "Ran 3 tests in 0.001s\n\nOK (skipped=1)" => Some((3, 0));
    unittest_that_failed: "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)" => Some((1, 2));
    unittest_without_tests: "Ran 0 tests in 0.000s\n\nNO TESTS RAN" => Some((0, 0));
    django_counts_as_unittest: "Found 4 test(s).\n....\nRan 4 tests in 0.210s\n\nOK\nDestroying test database for alias 'default'..." => Some((4, 0));
    jest: "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 4 passed, 5 total\nSnapshots:   3 passed, 3 total\nTime:        1.2 s" => Some((4, 1));
    jest_behind_turbo: "web:test: Tests:       4 passed, 4 total\napi:test: Tests:       2 passed, 2 total\n Tasks:    2 successful, 2 total" => Some((6, 0));
    vitest: " Test Files  1 passed (1)\n      Tests  7 passed (7)\n   Start at  10:00:00" => Some((7, 0));
    vitest_that_failed: " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 2 passed | 1 skipped (4)" => Some((2, 1));
    vitest_behind_pnpm: "packages/a test:       Tests  7 passed (7)" => Some((7, 0));
    mocha: "  6 passing (20ms)\n  2 pending\n  1 failing" => Some((6, 1));
    node_test: "ℹ tests 6\nℹ suites 1\nℹ pass 5\nℹ fail 1\nℹ cancelled 0\nℹ duration_ms 80.1" => Some((5, 1));
    node_test_as_tap: "TAP version 13\nok 1 - adds\n1..1\n# tests 1\n# pass 1\n# fail 0" => Some((1, 0));
    go_counts_packages: "ok  \texample.com/a\t0.01s\nok  \texample.com/c\t(cached)\nFAIL\texample.com/b\t0.2s\nFAIL" => Some((2, 1));
    go_verbose_counts_tests: "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/sub (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\texample.com/a\t0.01s" => Some((1, 1));
    go_without_tests: "?   \texample.com/a\t[no test files]" => Some((0, 0));
    gotestsum: "DONE 12 tests, 1 failure in 0.512s" => Some((11, 1));
    gotestsum_with_skips: "DONE 12 tests, 1 skipped in 0.512s" => Some((11, 0));
    rspec: "5 examples, 1 failure, 1 pending" => Some((3, 1));
    minitest: "4 runs, 9 assertions, 1 failures, 1 errors, 0 skips" => Some((2, 2));
    rails: "Finished in 0.1s, 30.0 runs/s, 40.0 assertions/s.\n3 runs, 4 assertions, 0 failures, 0 errors, 0 skips" => Some((3, 0));
    phpunit: "OK (5 tests, 9 assertions)" => Some((5, 0));
    phpunit_that_failed: "FAILURES!\nTests: 5, Assertions: 9, Failures: 2." => Some((3, 2));
    pest: "  Tests:    1 failed, 4 passed (9 assertions)\n  Duration: 0.12s" => Some((4, 1));
    maven: "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s - in A\n[INFO] Results:\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1" => Some((2, 2));
    gradle: "7 tests completed, 2 failed, 1 skipped" => Some((4, 2));
    gradle_test_logger: "SUCCESS: Executed 12 tests in 1.2s" => Some((12, 0));
    gradle_test_logger_that_failed: "FAILURE: Executed 12 tests in 1.2s (1 failed)" => Some((11, 1));
    gradle_without_sources: "> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s" => Some((0, 0));
    dotnet: "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 12 ms - App.Tests.dll (net8.0)" => Some((5, 0));
    dotnet_that_failed: "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5, Duration: 12 ms - App.Tests.dll (net8.0)" => Some((4, 1));
    dotnet_terminal_logger: "Test summary: total: 5, failed: 0, succeeded: 5, skipped: 0, duration: 1.2s" => Some((5, 0));
    vstest: "Total tests: 5\n     Passed: 4\n     Failed: 1\n Total time: 1.2 Seconds" => Some((4, 1));
    ctest: "100% tests passed, 0 tests failed out of 5" => Some((5, 0));
    ctest_that_failed: "50% tests passed, 1 tests failed out of 2" => Some((1, 1));
    googletest: "[==========] 12 tests from 3 test suites ran. (10 ms total)\n[  PASSED  ] 11 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B\n\n 1 FAILED TEST" => Some((11, 1));
    catch2: "All tests passed (24 assertions in 12 test cases)" => Some((12, 0));
    catch2_that_failed: "test cases: 12 | 11 passed | 1 failed\nassertions: 24 | 23 passed | 1 failed" => Some((11, 1));
    bats_as_tap: "1..3\nok 1 adds\nok 2 takes # skip no net\nnot ok 3 breaks" => Some((1, 1));
    bats_pretty: " ✓ adds\n\n3 tests, 0 failures, 1 skipped" => Some((2, 0));
    tap_without_tests: "1..0" => Some((0, 0));
    deno: "ok | 5 passed (2 steps) | 0 failed (12ms)" => Some((5, 0));
    deno_that_failed: "FAILED | 4 passed | 1 failed (12ms)" => Some((4, 1));
    bun: " 5 pass\n 0 fail\n 9 expect() calls\nRan 5 tests across 1 files. [12.00ms]" => Some((5, 0));
    playwright: "Running 3 tests using 1 worker\n\n  1 failed\n    [chromium] > a.spec.ts:3:1 > logs in\n  2 passed (1.2m)" => Some((2, 1));
    cypress: "  2 passing (1s)\n  1 failing\n  │ Tests:        3 │\n  │ Passing:      2 │\n  │ Failing:      1 │" => Some((2, 1));
    cypress_table_alone: "    ✖  1 of 2 failed (50%)                      00:02        4        3        1        -        -" => Some((1, 1));
    cypress_passed: "    ✔  All specs passed!                        00:01        3        3        -        -        -" => Some((3, 0));
    xctest_repeats_its_suites: "Test Suite 'A' passed\n\t Executed 2 tests, with 0 failures (0 unexpected) in 0.1 (0.2) seconds\nTest Suite 'All tests' failed\n\t Executed 12 tests, with 1 failure (0 unexpected) in 0.5 (0.6) seconds" => Some((11, 1));
    swift_testing: "✔ Test run with 5 tests passed after 0.01 seconds." => Some((5, 0));
    swift_testing_in_suites: "✔ Test run with 5 tests in 2 suites passed after 0.01 seconds." => Some((5, 0));
    flutter: "00:00 +0: loading test/a_test.dart\r00:01 +3: All tests passed!" => Some((3, 0));
    flutter_that_failed: "00:02 +2 ~1 -1: Some tests failed." => Some((2, 1));
    exunit: "Finished in 0.1 seconds\n3 doctests, 12 tests, 1 failure, 2 excluded" => Some((12, 1));
    zig: "All 3 tests passed." => Some((3, 0));
    zig_that_failed: "2 passed; 0 skipped; 1 failed." => Some((2, 1));
    zig_build: "Build Summary: 3/3 steps succeeded; 5/5 tests passed" => Some((5, 0));
    newman: "│                         │ executed │   failed │\n│                requests │        5 │        0 │\n│              assertions │       12 │        1 │" => Some((11, 1));
    busted: "12 successes / 0 failures / 0 errors / 0 pending : 0.01 seconds" => Some((12, 0));
    testthat: "[ FAIL 0 | WARN 0 | SKIP 1 | PASS 12 ]" => Some((12, 0));
    prove: "All tests successful.\nFiles=3, Tests=12,  0 wallclock secs ( 0.02 usr  0.00 sys +  0.10 cusr)\nResult: PASS" => Some((12, 0));
    ginkgo: "Ran 12 of 12 Specs in 0.100 seconds\nSUCCESS! -- 12 Passed | 0 Failed | 0 Pending | 0 Skipped" => Some((12, 0));
    karma: "Chrome 120.0 (Linux): Executed 3 of 12 SUCCESS (0.1 secs / 0 secs)\nChrome 120.0 (Linux): Executed 12 of 12 (1 FAILED) (0.2 secs / 0.1 secs)" => Some((11, 1));
    jasmine: "12 specs, 0 failures\nFinished in 0.1 seconds" => Some((12, 0));
    ava: "  1 test failed\n  11 tests passed" => Some((11, 1));
    scalatest: "[info] Tests: succeeded 12, failed 0, canceled 0, ignored 0, pending 0" => Some((12, 0));
    cucumber: "12 scenarios (11 passed, 1 failed)\n36 steps (35 passed, 1 failed)" => Some((11, 1));
    behave: "1 feature passed, 0 failed, 0 skipped\n3 scenarios passed, 0 failed, 0 skipped\n9 steps passed, 0 failed, 0 skipped" => Some((3, 0));
    clojure: "Ran 12 tests containing 24 assertions.\n0 failures, 0 errors." => Some((12, 0));
    tasty: "1 out of 12 tests failed (0.01s)" => Some((11, 1));
    elm_test: "TEST RUN PASSED\n\nDuration: 12 ms\nPassed:   12\nFailed:   0" => Some((12, 0));
    bazel: "Executed 3 out of 3 tests: 2 tests pass and 1 fails locally." => Some((2, 1));
    tox: "py312: commands[0]> pytest -q\n3 passed in 0.02s\n  py312: OK (0.50 seconds)\n  congratulations :)" => Some((3, 0));

    prose_is_no_summary: "5 passed, as he said in 3s" => None;
    a_remark_is_no_summary: "3 passed (of those that he likes)" => None;
    a_listing_is_no_summary: "total 48\ndrwxr-xr-x 2 root root 4096 tests" => None;
    a_compiler_is_no_runner: "error: could not compile `x` (lib test) due to 2 previous errors\n1 error" => None;
    a_linter_is_no_runner: "✖ 12 problems (10 errors, 2 warnings)\nFound 3 errors in 2 files (checked 40 source files)" => None;
    a_playbook_is_no_runner: "web : ok=3 changed=1 unreachable=0 failed=0 skipped=0" => None;
    a_push_is_no_runner: "Total 3 (delta 1), reused 0 (delta 0), pack-reused 0" => None;
    tap_needs_a_plan: "ok 1 of them" => None;
    silence_is_no_summary: "" => None;
}

proptest! {
    #[test]
    fn any_output_is_read(output in "(\\PC|[0-9]{1,20}| passed| failed|, |\n|\r|\u{1b}|/|of |executed |ran |│|tests=|files=1, |1\\.\\.){0,60}") {
        let _ = counts_in(&output);
    }
}
