//! Command lines of ordinary days: formatters, codemods, containers, pipelines, loops,
//! scripts and texts that mention Twining.

honest_lines! {
    // Formatters, linters and code generators.
    prettier_over_everything: Allowed, "npx prettier --write .";
    prettier_over_tracked_json: AllowedOrNote, "npx prettier --write $(git ls-files '*.json' '*.md')";
    eslint_fixes: Allowed, "npx eslint . --fix --ext .ts,.tsx";
    black_and_isort: Allowed, "black . && isort .";
    black_excludes_the_records: Allowed, "black --exclude '/(\\.git|\\.twining|node_modules)/' .";
    ruff_fixes_and_formats: Allowed, "ruff check --fix . && ruff format .";
    rustfmt_through_cargo: Allowed, "cargo fmt --all && cargo clippy --fix --allow-dirty --allow-staged -- -D warnings";
    gofmt_writes: Allowed, "gofmt -w $(find . -name '*.go' -not -path './.twining/*')";
    goimports_writes: Allowed, "find . -name '*.go' -not -path './vendor/*' -print0 | xargs -0 goimports -w";
    google_java_format: AllowedOrNote, "find src -name '*.java' | xargs java -jar google-java-format.jar --replace";
    spotless_applies: Allowed, "./gradlew spotlessApply";
    clang_format_in_place: AllowedOrNote, "git ls-files '*.c' '*.h' | xargs clang-format -i";
    biome_writes: Allowed, "npx @biomejs/biome check --write .";
    dprint_formats: Allowed, "dprint fmt --excludes '.twining/**'";
    pre_commit_over_all_files: Allowed, "pre-commit run --all-files";
    protobuf_is_generated: Allowed, "buf generate && protoc --python_out=src/gen proto/*.proto";
    openapi_client_is_generated: Allowed, "npx openapi-typescript api.yaml -o src/api/types.ts";
    sqlc_and_go_generate: Allowed, "go generate ./... && sqlc generate";
    jscodeshift_codemod: Allowed, "npx jscodeshift -t codemods/moment-to-temporal.ts src --extensions=ts,tsx";
    ast_grep_rewrites: Allowed, "ast-grep run -p 'console.log($A)' -r 'logger.debug($A)' -l ts -U src";
    comby_rewrites: Allowed, "comby 'fmt.Println(:[a])' 'log.Println(:[a])' .go -in-place -d cmd";
    rector_and_php_cs_fixer: Allowed, "vendor/bin/rector process src && vendor/bin/php-cs-fixer fix";
    rubocop_autocorrects: Allowed, "bundle exec rubocop -A app lib";

    // Text over many files.
    sed_one_file: Allowed, "sed -i 's/sum(prices)/sum(prices or [])/' src/cart.py";
    sed_over_a_glob: Allowed, "sed -i -e 's/foo/bar/g' src/*.py tests/*.py";
    sed_over_tracked_python: AllowedOrNote, "git ls-files '*.py' | xargs sed -i 's/foo/bar/g'";
    sed_over_grep_hits: AllowedOrNote, "grep -rl --exclude-dir=.git --exclude-dir=.twining oldName . | xargs sed -i 's/oldName/newName/g'";
    sed_over_rg_hits: AllowedOrNote, "rg -l oldName src | xargs -r sed -i '' -e 's/oldName/newName/g'";
    perl_in_place: Allowed, "perl -pi -e 's/\\bfoo\\b/bar/g' src/cart.py src/auth/session.py";
    perl_slurps_a_file: Allowed, "perl -0777 -pi -e 's/\\n{3,}/\\n\\n/g' README.md";
    awk_to_a_new_file: Allowed, "awk -F, 'NR>1 {print $2\",\"$5}' data/orders.csv > out/totals.csv";
    awk_through_a_temporary_file: Allowed, "awk '!seen[$0]++' requirements.txt > /tmp/r && mv /tmp/r requirements.txt";
    find_deletes_caches: Allowed, "find . -name __pycache__ -type d -prune -exec rm -rf {} +";
    find_deletes_orig_files: AllowedOrNote, "find . -name '*.orig' -not -path './.git/*' -not -path './.twining/*' -delete";
    find_fixes_modes: Allowed, "find scripts -name '*.sh' -exec chmod +x {} \\;";
    line_endings_of_scripts: Allowed, "dos2unix scripts/*.sh";
    trailing_space_with_a_loop: AllowedOrNote, "for f in $(git diff --name-only --diff-filter=AM); do sed -i 's/[[:space:]]*$//' \"$f\"; done";
    license_header_in_a_loop: AllowedOrNote, "for f in src/*.py; do { cat LICENSE_HEADER; cat \"$f\"; } > /tmp/h && mv /tmp/h \"$f\"; done";
    while_read_renames: AllowedOrNote, "git ls-files '*.jsx' | while read -r f; do git mv \"$f\" \"${f%.jsx}.tsx\"; done";
    a_patch_from_the_clipboard: Allowed, "patch -p1 <<'EOF'\n--- a/src/cart.py\n+++ b/src/cart.py\n@@ -1,2 +1,2 @@\n def total(prices):\n-    return sum(prices)\n+    return round(sum(prices), 2)\nEOF";
    a_patch_is_applied_by_git: Allowed, "git apply --index /tmp/fix.patch";
    tr_and_sort_into_a_list: Allowed, "tr -s ' ' '\\n' < docs/words.txt | sort -u > docs/words.sorted.txt";
    tee_keeps_a_log: Allowed, "make lint 2>&1 | tee lint.log";
    sponge_sorts_in_place: Allowed, "sort -u .gitignore | sponge .gitignore";
    comm_of_two_lists: Allowed, "comm -13 <(sort a.txt) <(sort b.txt) > new.txt";

    // JSON and YAML.
    jq_bumps_a_version: Allowed, "jq '.version = \"1.2.0\"' package.json > package.json.tmp && mv package.json.tmp package.json";
    jq_reads_the_feature_list: Allowed, "jq -r '.features[] | select(.tested|not) | .id' .claude/progress/feature-list.json";
    jq_reads_the_board: Allowed, "jq -r 'select(.entry_type==\"warning\") | .summary' .twining/blackboard.jsonl";
    jq_exports_the_decisions: Allowed, "jq -s 'map({id, summary})' .twining/decisions/01*.json > docs/decisions.json";
    yq_reads_the_policy: Allowed, "yq '.guards[].id' .twining/policy.yml";
    yq_edits_a_workflow: Allowed, "yq -i '.jobs.test.timeout-minutes = 20' .github/workflows/ci.yml";
    npm_pkg_set: Allowed, "npm pkg set scripts.build='tsc -b' && npm pkg delete devDependencies.moment";
    toml_with_dasel: Allowed, "dasel put -f pyproject.toml -t string -v 0.2.0 '.project.version'";
    settings_of_the_editor: Allowed, "mkdir -p .vscode && echo '{\"files.exclude\": {\"**/.twining\": true}}' > .vscode/settings.json";
    claude_settings_gain_a_permission_by_jq: AllowedOrNote, "jq '.permissions.allow += [\"Bash(make:*)\"]' .claude/settings.json > /tmp/s && mv /tmp/s .claude/settings.json";

    // Files and archives.
    rsync_to_a_server: Allowed, "rsync -az --delete --exclude-from=.rsyncignore ./ deploy@web1:/srv/shop/";
    rsync_a_backup_of_the_records: Allowed, "rsync -a .twining/ /tmp/twining-backup/";
    a_copy_of_the_records_elsewhere: Allowed, "cp -r .twining /tmp/twining-copy";
    tar_without_the_records: Allowed, "tar --exclude=.git --exclude=.twining -czf /tmp/shop.tgz .";
    tar_with_the_records: Allowed, "tar czf /tmp/shop-all.tgz .";
    zip_a_release: Allowed, "zip -qr dist/shop.zip . -x '.git/*' '.twining/*' 'node_modules/*'";
    an_archive_is_unpacked: AllowedOrNote, "curl -sL https://example.com/vendor.tgz | tar xz -C vendor --strip-components=1";
    a_folder_is_moved: Allowed, "mkdir -p packages && git mv migrations packages/db";
    build_output_is_removed: Allowed, "rm -rf dist build out .pytest_cache .mypy_cache node_modules && npm ci";
    a_temporary_folder_of_ones_own: AllowedOrNote, "t=$(mktemp -d) && cp -r src \"$t\" && (cd \"$t\" && ls) && rm -rf \"$t\"";
    group_may_write: Allowed, "chmod -R g+w .";
    sudo_after_docker: Allowed, "sudo chown -R \"$(id -u):$(id -g)\" dist node_modules";
    a_link_to_a_shared_folder: Allowed, "ln -sfn ../shared/assets public/assets";
    touch_and_truncate: Allowed, "touch src/auth/__init__.py && truncate -s 0 app.log";
    dd_makes_a_test_image: Allowed, "dd if=/dev/zero of=/tmp/disk.img bs=1M count=8";
    install_a_script: Allowed, "install -m 755 scripts/test.sh ~/.local/bin/shop-test";

    // Containers, builds, packages, services.
    docker_builds: Allowed, "docker build -t shop:dev --build-arg REV=$(git rev-parse HEAD) .";
    docker_mounts_the_project: Allowed, "docker run --rm -v \"$PWD\":/app -w /app python:3.13 pytest -q";
    docker_hides_the_records: Allowed, "docker run --rm -v \"$PWD\":/app -v /app/.twining shop:dev make test";
    compose_up: Allowed, "docker compose up -d --build && docker compose logs -f --tail=50 app";
    compose_execs_a_migration: Allowed, "docker compose exec -T db psql -U shop -f /migrations/0001_init.sql";
    kubectl_applies_stdin: Allowed, "kubectl apply -f - <<'EOF'\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {mode: test}\nEOF";
    terraform_plan: Allowed, "terraform -chdir=infra plan -out=/tmp/plan";
    helm_upgrade: Allowed, "helm upgrade --install shop charts/shop --set image.tag=dev -f charts/values-dev.yaml";
    make_parallel: Allowed, "make -j4 lint test";
    cmake_build: Allowed, "cmake -B build -S . && cmake --build build -j && ctest --test-dir build";
    npm_install_and_audit: Allowed, "npm install --save-dev vitest@latest && npm audit fix";
    pnpm_workspace: Allowed, "pnpm -r --filter './packages/**' build";
    poetry_and_uv: Allowed, "uv sync --all-extras && poetry lock --no-update";
    cargo_add_and_update: Allowed, "cargo add serde --features derive && cargo update -p tokio";
    go_mod_tidy: Allowed, "go get -u ./... && go mod tidy && go mod vendor";
    maven_versions: Allowed, "mvn -q versions:set -DnewVersion=1.3.0 -DgenerateBackupPoms=false";
    gradle_wrapper: Allowed, "./gradlew wrapper --gradle-version 9.1 && ./gradlew build -x test";
    django_migrates: Allowed, "python manage.py makemigrations shop && python manage.py migrate";
    alembic_upgrades: Allowed, "alembic revision --autogenerate -m 'orders' && alembic upgrade head";
    rails_migrates: Allowed, "bin/rails db:migrate db:seed RAILS_ENV=test";
    prisma_migrates: Allowed, "npx prisma migrate dev --name orders";
    sqlite_is_asked: Allowed, "sqlite3 shop.db 'select count(*) from orders;'";
    a_server_in_the_background: Allowed, "nohup python -m http.server 8080 > /tmp/server.log 2>&1 & sleep 1; curl -sf localhost:8080 >/dev/null";
    a_port_is_freed: Allowed, "lsof -ti:8080 | xargs -r kill";
    playwright_browsers: Allowed, "npx playwright install --with-deps chromium";
    gh_opens_a_pull_request: Allowed, "gh pr create --title 'Round totals' --body \"$(cat <<'EOF'\n## What\nTotals are rounded once.\n\nSee `.twining/decisions/` for why; `twining why src/cart.py`.\nEOF\n)\"";
    gh_reads_a_run: Allowed, "gh run view 1234 --log-failed | tail -80";
    jira_comment: Allowed, "curl -s -u $USER:$TOKEN -X POST -H 'Content-Type: application/json' --data '{\"body\":\"blocked by no-force-push; ask Sam to run twining guard bypass\"}' https://jira.example/rest/api/2/issue/SHOP-7/comment";

    // Logs.
    tail_of_a_log: Allowed, "tail -n 200 app.log | grep -i error";
    follow_for_a_moment: Allowed, "timeout 5 tail -f /var/log/syslog || true";
    journal_of_a_unit: Allowed, "journalctl -u shop --since '10 min ago' --no-pager | tail -50";
    log_into_awk: Allowed, "awk '$9 >= 500 {n[$7]++} END {for (u in n) print n[u], u}' access.log | sort -rn | head";

    // Scripts and inline code.
    a_script_of_the_project: Allowed, "bash scripts/test.sh -k cart";
    a_script_with_a_function: Allowed, "retry() { for i in 1 2 3; do \"$@\" && return 0; sleep 1; done; return 1; }; retry curl -sf https://example.com/health";
    python_counts_lines: Allowed, "python3 -c \"import pathlib; print(sum(len(p.read_text().splitlines()) for p in pathlib.Path('src').rglob('*.py')))\"";
    python_reads_the_board: Allowed, "python3 - <<'EOF'\nimport json\nfor line in open('.twining/blackboard.jsonl'):\n    entry = json.loads(line)\n    print(entry['entry_type'], entry['summary'])\nEOF";
    python_writes_a_report_of_the_decisions: Allowed, "python3 - <<'EOF'\nimport glob, json\nrows = [json.load(open(p)) for p in sorted(glob.glob('.twining/decisions/01*.json'))]\nwith open('docs/decisions.md', 'w') as out:\n    for row in rows:\n        out.write('- ' + row['summary'] + '\\n')\nEOF";
    node_edits_a_manifest: Allowed, "node -e \"const fs=require('fs');const p=JSON.parse(fs.readFileSync('package.json'));p.private=true;fs.writeFileSync('package.json',JSON.stringify(p,null,2)+'\\n')\"";
    node_skips_the_records: Allowed, "node -e \"const fs=require('fs');for(const f of fs.readdirSync('.')){if(['.git','.twining'].includes(f))continue;console.log(f)}\"";
    ruby_renames_a_constant: Allowed, "ruby -i -pe 'gsub(/OldName/, \"NewName\")' lib/shop.rb";
    perl_reads_a_decision: Allowed, "perl -ne 'print if /\"summary\"/' .twining/decisions/01*.json";
    a_heredoc_makes_a_script: Allowed, "cat > scripts/release.sh <<'EOF'\n#!/bin/sh\nset -eu\nnpm version \"$1\"\ngit push --follow-tags\nEOF\nchmod +x scripts/release.sh";
    a_script_that_backs_up_the_records: Allowed, "cat > scripts/backup.sh <<'EOF'\n#!/bin/sh\ntar czf \"backup-$(date +%F).tgz\" .twining\nEOF";
    a_ci_script_that_restores_the_records: Allowed, "cat > scripts/ci-cache.sh <<'EOF'\n#!/bin/sh\nrm -rf .twining/local\ncp -r /cache/twining-local .twining/local || true\nEOF";
    printf_appends_to_an_env_file: Allowed, "printf 'DATABASE_URL=%s\\n' sqlite:///shop.db >> .env.local";
    git_ignore_gains_the_local_state: Allowed, "echo '.twining/local/' >> .gitignore";
    eval_of_an_agent: AllowedOrNote, "eval \"$(ssh-agent -s)\" && ssh-add ~/.ssh/id_ed25519";
    source_a_virtual_environment: Allowed, "source .venv/bin/activate && pip install -e '.[dev]'";
    nvm_in_a_login_shell: Allowed, "bash -lc 'nvm use 22 && npm ci'";
    xargs_in_parallel: Allowed, "git ls-files '*.py' | xargs -P4 -n20 python -m py_compile";
    a_case_statement: Allowed, "case \"$(uname -s)\" in Darwin) brew install jq;; Linux) sudo apt-get install -y jq;; esac";
    a_target_only_a_variable_names: AllowedOrNote, "echo ok > \"$OUT_DIR/result.txt\"";
    a_list_of_folders: Allowed, "for d in api web worker; do (cd services/$d && npm ci && npm run build); done";

    // Twining itself, as its agents use it.
    twining_posts: Allowed, "twining post finding 'Totals are rounded twice' --scope src/cart.py";
    twining_decides: Allowed, "twining decide --summary 'Round once, at the end' --domain money --scope src/cart.py --context c --rationale 'two roundings lose cents'";
    twining_reports_a_failure: Allowed, "twining report F1 --role tester --outcome failed --notes 'test_total fails'";
    twining_lists_guards: Allowed, "twining guard list && twining guard explain < /tmp/event.json";
    twining_looks_after_itself: Allowed, "twining doctor; twining status; twining why src/cart.py";
    twining_exports: Allowed, "twining export > /tmp/memory.md";
    help_on_bypass: Allowed, "twining guard bypass --help";
    grep_for_twining_in_the_docs: Allowed, "grep -rn 'twining guard bypass' docs README.md";
    a_commit_message_that_names_a_bypass: Allowed, "git commit -m 'docs: say when twining guard bypass is right'";
    echo_a_sentence_about_uninstall: Allowed, "echo 'to leave: twining uninstall --purge' >> docs/leaving.md";
}
