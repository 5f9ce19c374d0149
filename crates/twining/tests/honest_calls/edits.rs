//! Files written, edited and read by name, and tools of other servers.

honest_calls! {
    // Code.
    a_new_module: Allowed, "Write", {"file_path": "src/discount.py", "content": "def discount(price, percent):\n    return price * (100 - percent) / 100\n"};
    a_function_is_edited: Allowed, "Edit", {"file_path": "src/cart.py", "old_string": "return sum(prices)", "new_string": "return round(sum(prices), 2)"};
    every_hit_is_replaced: Allowed, "Edit", {"file_path": "src/auth/session.py", "old_string": "SESSIONS", "new_string": "OPEN", "replace_all": true};
    several_edits_of_one_file: Allowed, "MultiEdit", {"file_path": "src/cart.py", "edits": [{"old_string": "def total(prices):", "new_string": "def total(prices, tax=0):"}, {"old_string": "return sum(prices)", "new_string": "return sum(prices) * (1 + tax)"}]};
    an_edit_of_a_legacy_file_that_keeps_moment: Allowed, "Edit", {"file_path": "src/legacy/dates.ts", "old_string": "YYYY-MM-DD", "new_string": "DD.MM.YYYY", "replace_all": true};
    moment_is_taken_out: Allowed, "Edit", {"file_path": "src/legacy/dates.ts", "old_string": "import moment from 'moment'\n", "new_string": "import { Temporal } from 'temporal-polyfill'\n"};
    a_word_that_is_spelled_like_a_library: Allowed, "Write", {"file_path": "src/wait.ts", "content": "// Give the page a moment to settle.\nexport const moment = 'one moment, please'\n"};
    a_library_whose_name_begins_alike: Allowed, "Write", {"file_path": "src/physics.ts", "content": "import { inertia } from './momentum'\nexport const m = inertia\n"};
    moment_outside_the_scope_of_the_decision: Allowed, "Write", {"file_path": "scripts/dates.js", "content": "const moment = require('moment')\nconsole.log(moment().format())\n"};
    a_test_mocks_moment: Allowed, "Write", {"file_path": "tests/dates.test.ts", "content": "vi.mock('moment', () => ({ default: () => ({ format: () => 'x' }) }))\n"};
    an_import_in_a_string: Allowed, "Write", {"file_path": "src/codemod.py", "content": "OLD = \"import moment from 'moment'\"\nNEW = \"import { Temporal } from 'temporal-polyfill'\"\n"};
    a_notebook_cell: Allowed, "NotebookEdit", {"notebook_path": "analysis.ipynb", "cell_id": "a", "new_source": "import pandas as pd\n", "edit_mode": "insert"};
    a_test_is_added: Allowed, "Edit", {"file_path": "tests/test_cart.py", "old_string": "def test_empty():", "new_string": "def test_one():\n    assert total([5]) == 5\n\n\ndef test_empty():"};
    a_golden_file_is_written: Allowed, "Write", {"file_path": "tests/golden/invoice.txt", "content": "Invoice 17\nTotal 10.50 EUR\n"};
    a_migration: Allowed, "Write", {"file_path": "migrations/0002_items.sql", "content": "create table items (id integer primary key, order_id integer);\n"};
    a_go_file: Allowed, "Write", {"file_path": "cmd/shop/main.go", "content": "package main\n\nfunc main() {}\n"};
    a_java_class: Allowed, "Write", {"file_path": "app/src/main/java/shop/Cart.java", "content": "package shop;\n\npublic final class Cart {}\n"};
    a_file_outside_the_project: Allowed, "Write", {"file_path": "/tmp/scratch.py", "content": "print('hello')\n"};
    a_file_of_a_sibling_repository: Allowed, "Write", {"file_path": "../other/README.md", "content": "# Other\n"};
    a_very_long_line: Allowed, "Write", {"file_path": "src/data.py", "content": "X = '0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789'\n"};

    // Settings of other programs.
    ci_caches_the_local_state: Allowed, "Write", {"file_path": ".github/workflows/ci.yml", "content": "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/cache@v4\n        with: {path: .twining/local, key: twining}\n      - run: make test\n"};
    ci_runs_verify: Allowed, "Write", {"file_path": ".github/workflows/verify.yml", "content": "on: pull_request\njobs:\n  verify:\n    runs-on: ubuntu-latest\n    steps:\n      - run: twining verify --ci --base origin/main\n"};
    gitlab_ci: Allowed, "Write", {"file_path": ".gitlab-ci.yml", "content": "test:\n  script: [pytest -q --junitxml=report.xml]\n"};
    a_makefile_target_that_removes_the_index: Allowed, "Edit", {"file_path": "Makefile", "old_string": "lint:\n", "new_string": "reindex:\n\trm -f .twining/local/index.db\n\nlint:\n"};
    dockerignore_lists_the_records: Allowed, "Edit", {"file_path": ".dockerignore", "old_string": ".git\n", "new_string": ".git\n.twining\n"};
    prettierignore_lists_the_records: Allowed, "Write", {"file_path": ".prettierignore", "content": "dist\n.twining\n"};
    gitattributes_of_the_root: Allowed, "Write", {"file_path": ".gitattributes", "content": "*.sh text eol=lf\n.twining/** linguist-generated\n"};
    editorconfig: Allowed, "Write", {"file_path": ".editorconfig", "content": "root = true\n\n[*]\nindent_style = space\n"};
    vscode_hides_the_records: Allowed, "Write", {"file_path": ".vscode/settings.json", "content": "{\"files.exclude\": {\"**/.twining/local\": true}, \"files.watcherExclude\": {\"**/.twining/**\": true}}\n"};
    a_devcontainer: Allowed, "Write", {"file_path": ".devcontainer/devcontainer.json", "content": "{\"image\": \"mcr.microsoft.com/devcontainers/python:3\", \"postCreateCommand\": \"cargo install twining && twining init\"}\n"};
    package_json_gains_a_script: Allowed, "Edit", {"file_path": "package.json", "old_string": "\"lint\": \"eslint .\"", "new_string": "\"lint\": \"eslint .\", \"build\": \"tsc -b\""};
    a_lock_file: Allowed, "Write", {"file_path": "package-lock.json", "content": "{\"name\":\"shop\",\"lockfileVersion\":3,\"packages\":{\"node_modules/moment\":{\"version\":\"2.30.1\"}}}\n"};
    a_husky_hook: Allowed, "Write", {"file_path": ".husky/pre-commit", "content": "npx lint-staged\ntwining hook --agent git pre-commit\n"};
    a_lefthook_file: Allowed, "Write", {"file_path": "lefthook.yml", "content": "pre-commit:\n  commands:\n    lint: {run: npx eslint {staged_files}}\n    twining: {run: twining hook --agent git pre-commit}\n"};
    a_pre_commit_file: Allowed, "Write", {"file_path": ".pre-commit-config.yaml", "content": "exclude: ^\\.twining/\nrepos:\n  - repo: https://github.com/astral-sh/ruff-pre-commit\n    rev: v0.9.0\n    hooks: [{id: ruff}]\n"};
    codeowners: Allowed, "Write", {"file_path": ".github/CODEOWNERS", "content": ".twining/policy.yml @team/leads\n.twining/decisions/ @team/leads\n"};
    renovate: Allowed, "Write", {"file_path": "renovate.json", "content": "{\"extends\": [\"config:recommended\"], \"ignorePaths\": [\".twining/**\"]}\n"};

    // Settings of hosts, for other reasons.
    the_person_s_model: Allowed, "Write", {"file_path": "@HOME@/.claude/settings.json", "content": "{\"model\": \"opus\", \"theme\": \"dark\"}\n"};
    the_person_s_memory: Allowed, "Write", {"file_path": "@HOME@/.claude/CLAUDE.md", "content": "Answer briefly.\n"};
    local_permissions: Allowed, "Write", {"file_path": ".claude/settings.local.json", "content": "{\"permissions\": {\"allow\": [\"Bash(make test:*)\", \"mcp__twining\"]}}\n"};
    a_slash_command: Allowed, "Write", {"file_path": ".claude/commands/release.md", "content": "Run the tests, then `twining status`, then tag.\n"};
    a_subagent: Allowed, "Write", {"file_path": ".claude/agents/reviewer.md", "content": "---\nname: reviewer\ndescription: reviews\n---\nRead the diff.\n"};
    a_skill_about_twining: Allowed, "Write", {"file_path": ".claude/skills/orient/SKILL.md", "content": "---\nname: orient\n---\nCall twining_assemble first. Never edit `.twining/blackboard.jsonl`.\n"};
    another_mcp_server: Allowed, "Edit", {"file_path": ".mcp.json", "old_string": "\"mcpServers\": {", "new_string": "\"mcpServers\": {\n    \"github\": {\"command\": \"github-mcp\"},"};
    codex_settings: Allowed, "Write", {"file_path": ".codex/config.toml", "content": "model = \"gpt-5\"\n"};
    git_config_of_the_person: Allowed, "Write", {"file_path": "@HOME@/.gitconfig", "content": "[user]\n\tname = Sam\n[pull]\n\trebase = true\n"};
    git_exclude: Allowed, "Write", {"file_path": ".git/info/exclude", "content": "scratch/\n"};
    a_prepare_commit_msg_hook: Allowed, "Write", {"file_path": ".git/hooks/prepare-commit-msg", "content": "#!/bin/sh\necho \"[$(git branch --show-current)]\" >> \"$1\"\n"};

    // Texts about Twining.
    docs_show_how_to_lift_a_guard: Allowed, "Write", {"file_path": "docs/twining.md", "content": "# Twining here\n\nBlocked? A person runs `twining guard bypass NAME --for 10m --reason …`.\nRecords are in `.twining/decisions/`; do not `rm -rf .twining`.\n"};
    a_readme_section: Allowed, "Edit", {"file_path": "README.md", "old_string": "A small shop.\n", "new_string": "A small shop.\n\n## Memory\n\n`twining why src/cart.py` tells why; `twining uninstall` leaves.\n"};
    an_adr_that_names_moment: Allowed, "Write", {"file_path": "docs/adr/0004-dates.md", "content": "# Dates\n\nWe must not use moment:\n\n```ts\nimport moment from 'moment'\n```\n"};
    a_changelog: Allowed, "Write", {"file_path": "CHANGELOG.md", "content": "# 1.2.0\n\n- moment is gone (decision 01K9Z7XW)\n"};
    a_test_of_the_records: Allowed, "Write", {"file_path": "tests/test_records.py", "content": "import json\n\n\ndef test_board_is_json():\n    for line in open('.twining/blackboard.jsonl'):\n        json.loads(line)\n"};
    a_script_that_lists_the_records: Allowed, "Write", {"file_path": "scripts/board.py", "content": "import json\n\nfor line in open('.twining/blackboard.jsonl'):\n    print(json.loads(line)['summary'])\n"};

    // Policy, settings and knowledge, which people and agents edit.
    a_guard_is_added: Allowed, "Edit", {"file_path": ".twining/policy.yml", "old_string": "guards:\n", "new_string": "guards:\n  - id: migrations-are-final\n    paths: [\"migrations/**\"]\n    action: warn\n    say: migrations are written once\n"};
    a_guard_becomes_stricter: Allowed, "Edit", {"file_path": ".twining/policy.yml", "old_string": "[git push --force, git push -f]", "new_string": "[git push --force, git push -f, git push --mirror]"};
    a_comment_in_the_policy: Allowed, "Edit", {"file_path": ".twining/policy.yml", "old_string": "guards:\n", "new_string": "# Asked for by the team on 12 November.\nguards:\n"};
    a_setting_is_changed: Allowed, "Write", {"file_path": ".twining/config.yml", "content": "version: 1\nworkflow:\n  max_test_failures: 3\n"};

    // Lists.
    a_feature_is_added_untested: Allowed, "Edit", {"file_path": ".claude/progress/feature-list.json", "old_string": "  ]\n}", "new_string": "  ,{\"id\": \"F3\", \"description\": \"Discounts\", \"status\": \"pending\", \"tested\": false}\n  ]\n}"};
    a_feature_is_described_better: Allowed, "Edit", {"file_path": ".claude/progress/feature-list.json", "old_string": "Log in", "new_string": "Log in with a passkey"};
    another_tool_s_list: Allowed, "Write", {"file_path": "tools/roadmap/features.json", "content": "{\"features\": [{\"id\": \"R1\", \"tested\": true, \"status\": \"tested\"}]}\n"};
    a_fixture_called_feature_list: Allowed, "Write", {"file_path": "tests/fixtures/feature-list.json", "content": "{\"features\": [{\"id\": \"X\", \"tested\": true}]}\n"};
    a_todo_list: Allowed, "TodoWrite", {"todos": [{"content": "mark F1 tested", "status": "completed", "activeForm": "Marking F1"}]};

    // Reading and searching.
    a_record_is_read: Allowed, "Read", {"file_path": ".twining/blackboard.jsonl"};
    the_policy_is_read: Allowed, "Read", {"file_path": ".twining/policy.yml"};
    a_part_of_a_log_is_read: Allowed, "Read", {"file_path": "logs/app.log", "offset": 900, "limit": 100};
    a_whole_log_is_read: AllowedOrNote, "Read", {"file_path": "logs/app.log"};
    a_search_over_the_records: Allowed, "Grep", {"pattern": "moment", "path": ".twining/decisions"};
    files_are_listed: Allowed, "Glob", {"pattern": ".twining/**/*.json"};
    a_page_is_fetched: Allowed, "WebFetch", {"url": "https://example.com/twining", "prompt": "what does guard bypass do"};
    a_subagent_is_sent: Allowed, "Task", {"description": "review", "prompt": "Read .twining/decisions and the diff; do not write.", "subagent_type": "reviewer"};
    a_question_to_the_person: Allowed, "AskUserQuestion", {"questions": [{"question": "May I run twining guard bypass no-force-push?", "header": "Bypass", "options": [{"label": "You do it", "description": "in your terminal"}], "multiSelect": false}]};

    // Tools of other servers.
    github_writes_a_file_elsewhere: Allowed, "mcp__github__create_or_update_file", {"owner": "team", "repo": "other", "path": "README.md", "content": "# x", "message": "docs", "branch": "main"};
    linear_creates_an_issue: Allowed, "mcp__linear__create_issue", {"title": "no-force-push blocks the hotfix", "description": "ask Sam to run twining guard bypass"};
    notion_updates_a_page: Allowed, "mcp__notion__update_page", {"page_id": "1", "properties": {"status": "tested"}};
    slack_posts: Allowed, "mcp__slack__post_message", {"channel": "#shop", "text": "twining guard accept, please"};
    postgres_writes: Allowed, "mcp__postgres__write_query", {"sql": "update features set tested = true where id = 'F1'"};
    memory_creates_entities: Allowed, "mcp__memory__create_entities", {"entities": [{"name": "cart", "entityType": "module", "observations": ["tested"]}]};
    filesystem_writes_a_source_file: Allowed, "mcp__filesystem__write_file", {"path": "src/discount.py", "content": "RATE = 1\n"};
    a_browser_types: Allowed, "mcp__playwright__browser_type", {"element": "search", "ref": "e1", "text": "rm -rf .twining"};
    figma_reads: Allowed, "mcp__figma__get_file", {"file_key": "abc"};
    twining_posts_over_mcp: Allowed, "mcp__twining__twining_post", {"entry_type": "finding", "summary": "Totals are rounded twice", "scope": "src/cart.py"};
    twining_reports_over_mcp: Allowed, "mcp__twining__twining_report", {"feature": "F1", "role": "tester", "outcome": "failed"};
}
