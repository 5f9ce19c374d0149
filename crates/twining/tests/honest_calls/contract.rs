//! The honest calls that earlier versions refused.

use serde_json::json;

use crate::common::workspace::Workspace;
use crate::honest_calls::verdict;

honest_lines! {
    rsync_excludes_the_records: Allowed, "rsync -a --exclude .git --exclude .twining ../template/ ./";
    python_walks_the_tree_and_skips_the_records: Allowed, "python3 - <<'EOF'\nimport os\nfor root, dirs, files in os.walk('.'):\n    dirs[:] = [d for d in dirs if d not in ('.git', '.twining')]\n    for name in files:\n        if name.endswith('.py'):\n            path = os.path.join(root, name)\n            text = open(path).read()\n            open(path, 'w').write(text.replace('\\t', '    '))\nEOF";
    python_lists_the_records_in_dockerignore: Allowed, "python3 - <<'EOF'\nwith open('.dockerignore', 'a') as f:\n    f.write('.twining/local\\n')\nEOF";
    chown_to_a_numeric_user: Allowed, "chown -R 1000:1000 .";
    chown_to_root: Allowed, "chown -R root:root .";
    chown_back_to_oneself: Allowed, "sudo chown -R $(whoami) .";
    acl_for_the_whole_tree: Allowed, "setfacl -R -m u:dev:rwX .";
    ours_wins_in_a_merge: AllowedOrNote, "git checkout --ours . && git add -A";
    local_state_is_untracked: Allowed, "git rm --cached -r .twining/local";
    the_index_is_deleted: AllowedOrNote, "rm -f .twining/local/index.db";
    husky_is_wired: AllowedOrNote, "git config core.hooksPath .husky";
    trust_is_listed: Allowed, "twining trust";
    yq_adds_a_guard: AllowedOrNote, "yq -i '.guards += [{\"id\":\"no-x\"}]' .twining/policy.yml";
    a_heredoc_adds_a_guard: Allowed, "cat >> .twining/policy.yml <<'EOF'\n  - id: no-x\n    tools: [Bash]\n    when: {command: [rm -rf /]}\n    action: block\n    say: not that\nEOF";
    jq_sorts_every_tracked_json: AllowedOrNote, "for f in $(git ls-files '*.json'); do jq -S . $f > /tmp/j && cp /tmp/j $f; done";
    jq_formats_every_tracked_json: AllowedOrNote, "for f in $(git ls-files '*.json'); do jq . $f > /tmp/j && cp /tmp/j $f; done";
    jq_adds_an_untested_feature: AllowedOrNote, "jq '.features += [{\"id\":\"D\",\"tested\":false}]' .claude/progress/feature-list.json > /tmp/t && mv /tmp/t .claude/progress/feature-list.json";
    python_adds_an_untested_feature: AllowedOrNote, "python3 -c \"import json; p='.claude/progress/feature-list.json'; d=json.load(open(p)); d['features'].append({'id':'D','tested':False}); json.dump(d, open(p,'w'), indent=2)\"";
    slack_asks_the_person: Allowed, "curl -s -X POST -H 'Content-Type: application/json' -d '{\"text\":\"please run: twining guard accept\"}' https://hooks.slack.example/services/T0/B0/x";
    the_desktop_asks_the_person: Allowed, "notify-send 'Twining' \"please run twining guard accept\"";
    tmux_reminds_the_person: Allowed, "tmux send-keys -t notes 'remember: twining guard accept'";
    python_prints_a_sentence_about_trust: Allowed, "python3 -c \"print('twining trust shows the commands')\"";
    node_prints_a_sentence_about_bypass: Allowed, "node -e \"console.log('twining 0.2: guard bypass lasts a day')\"";
}

honest_calls! {
    features_json_is_a_map: Allowed, "Write", {"file_path": "features.json", "content": "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[13.4,52.5]},\"properties\":{\"name\":\"well 7\",\"tested\":true}}]}"};
    features_json_is_feature_flags: Allowed, "Write", {"file_path": "features.json", "content": "{\"flags\":[{\"key\":\"dark-mode\",\"enabled\":true,\"rollout\":50,\"status\":\"tested\"}]}"};
    features_json_is_a_feature_store: Allowed, "Write", {"file_path": "features.json", "content": "{\"entity\":\"customer\",\"features\":[{\"name\":\"age\",\"dtype\":\"int64\",\"tested\":true}]}"};
}

/// A merge that stopped at `policy.yml` and at a source file.
fn conflicted() -> Workspace {
    let workspace = Workspace::new();
    workspace.shell(
        "git checkout -q -b other
         printf '  - {id: a, tools: [Bash], when: {command: [rm -rf /]}, action: block, say: no}\\n' >> .twining/policy.yml
         echo 'RATE = 1' >> src/cart.py; git commit -qam theirs
         git checkout -q main
         printf '  - {id: b, tools: [Bash], when: {command: [mkfs]}, action: block, say: no}\\n' >> .twining/policy.yml
         echo 'RATE = 2' >> src/cart.py; git commit -qam ours
         git merge -q other || true
         grep -q '<<<<<<<' src/cart.py",
    );
    workspace
}

#[test]
fn a_source_file_is_mended_while_the_policy_is_in_conflict() {
    let workspace = conflicted();
    let text = "def total(prices):\n    return sum(prices)\nRATE = 2\n";
    let verdict =
        verdict(&workspace, "Write", &json!({"file_path": "src/cart.py", "content": text}));
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn our_side_of_a_source_file_is_taken_while_the_policy_is_in_conflict() {
    let verdict =
        verdict(&conflicted(), "Bash", &json!({"command": "git checkout --ours src/cart.py"}));
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn a_merge_is_given_up_while_the_policy_is_in_conflict() {
    let verdict = verdict(&conflicted(), "Bash", &json!({"command": "git merge --abort"}));
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn the_policy_itself_is_mended_while_it_is_in_conflict() {
    let workspace = conflicted();
    let mended: String = workspace
        .read(".twining/policy.yml")
        .lines()
        .filter(|line| !line.starts_with(['<', '=', '>']))
        .fold(String::new(), |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        });
    let verdict = verdict(
        &workspace,
        "Write",
        &json!({"file_path": ".twining/policy.yml", "content": mended}),
    );
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn half_of_a_legacy_file_goes_to_a_new_one() {
    let workspace = Workspace::new();
    let half = "import moment from 'moment'\n\nexport function yesterday() {\n  return moment().subtract(1, 'day').format('YYYY-MM-DD')\n}\n";
    let verdict = verdict(
        &workspace,
        "Write",
        &json!({"file_path": "src/legacy/yesterday.ts", "content": half}),
    );
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn work_goes_on_after_a_session_that_crashed_with_a_claim() {
    let workspace = Workspace::new();
    workspace.claim("src/cart.py", "main", "s-crashed");
    let edit = json!({"file_path": "src/cart.py", "old_string": "return sum(prices)", "new_string": "return sum(prices or [])"});
    let verdict = verdict(&workspace, "Edit", &edit);
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn a_claim_of_a_crashed_session_is_released_by_its_own_agent() {
    let workspace = Workspace::new();
    workspace.claim("src/", "main", "s-crashed");
    let ran =
        workspace.twining(&["claim", "src/", "--action", "release", "--agent", "main", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}
