//! People and formatters that edit records, settings and lists.

scenarios! {
    a_formatter_escapes_an_umlaut_in_a_decision: [
        Person "sed -i 's/ü/\\\\u00fc/' .twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json; grep -q u00fc .twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json",
    ];
    a_formatter_indents_decisions_by_four: [
        Person "sed -i 's/^  /    /' .twining/decisions/01*.json",
    ];
    a_formatter_writes_a_decision_on_one_line: [
        Person "tr -d '\\n' < .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json > t; mv t .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json",
    ];
    a_formatter_ends_lines_as_windows_does: [
        Person "sed -i 's/$/\\r/' .twining/decisions/01*.json",
    ];
    a_formatter_spaces_the_board: [
        Person "sed -i 's/\",\"/\", \"/g; s/\":\"/\": \"/g' .twining/blackboard.jsonl",
    ];
    a_formatter_run_by_the_agent_spaces_every_json: [
        Person "printf '#!/bin/sh\\nfor f in $(git ls-files \"*.json\"); do sed -i \"s/^  /    /\" \"$f\"; done\\n' > scripts/format.sh; chmod +x scripts/format.sh; save format",
        Agent "./scripts/format.sh",
    ];
    a_final_newline_is_dropped: [
        Person "printf '%s' \"$(cat .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json)\" > t; mv t .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json",
    ];

    a_typo_in_a_decision_is_mended: [
        Person "sed -i 's/Ther is/There is/' .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json",
    ];
    a_typo_in_a_decision_is_mended_and_committed: [
        Person "sed -i 's/Ther is/There is/' .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json; save 'a typo'",
    ];
    a_junk_line_of_the_board_is_deleted: [
        Person "sed -i '/bitte/d' .twining/blackboard.jsonl; save 'junk'",
    ];
    a_junk_line_is_deleted_and_not_yet_committed: [
        Person "sed -i '/bitte/d' .twining/blackboard.jsonl",
    ];
    a_decision_is_deleted_and_committed: [
        Person "git rm -q .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json; git commit -q -m 'never was'",
    ];
    a_guard_is_dropped: [
        Person "echo 'guards: []' > .twining/policy.yml; save 'no guards'",
    ];
    a_guard_is_dropped_and_not_yet_committed: [
        Person "echo 'guards: []' > .twining/policy.yml",
    ];
    the_policy_is_deleted: [
        Person "git rm -q .twining/policy.yml; git commit -q -m 'no policy'",
    ];
    a_setting_is_changed: [
        Person "printf 'workflow:\\n  max_test_failures: 3\\n' >> .twining/config.yml; save setting",
    ];
    knowledge_is_drawn: [
        Person "printf 'digraph {\\n  cart [type=component level=architecture status=current description=\"The cart\"];\\n}\\n' > .twining/knowledge.dot; save knowledge",
    ];
    a_feature_is_renamed: [
        Person "sed -i 's/\"F1\"/\"CART-1\"/' .claude/progress/feature-list.json; save rename",
    ];
    a_feature_is_dropped: [
        Person "sed -i '/\"F2\"/d; s/\\(\"F1\".*}\\),/\\1/' .claude/progress/feature-list.json; save drop",
    ];
    a_feature_is_described_anew: [
        Person "sed -i 's/Cart total/The total of a cart/' .claude/progress/feature-list.json",
    ];
    the_list_is_moved_into_the_memory: [
        Person "git mv .claude/progress/feature-list.json .twining/features.json; git commit -q -m move",
    ];
    an_entry_is_appended_through_the_queue: [
        Person "echo '{\"entry_type\":\"warning\",\"summary\":\"from a script\"}' >> .twining/pending-posts.jsonl; twining status >/dev/null",
    ];

    untracked_files_are_all_cleaned: [
        Person "git clean -fdxq",
    ];
    the_local_state_is_removed: [
        Person "rm -rf .twining/local",
    ];
    the_index_is_removed: [
        Person "rm -f .twining/local/index.db*",
    ];
    caches_of_the_user_are_removed: [
        Person "rm -rf ~/.cache",
    ];
    hooks_move_to_the_person_s_own_settings: [
        Person "mkdir -p ~/.claude; mv .claude/settings.json ~/.claude/settings.json; save 'hooks at home'",
    ];
    hooks_are_turned_off_for_a_while: [
        Person "mkdir -p ~/.claude; echo '{\"disableAllHooks\": true}' > ~/.claude/settings.json",
    ];
    the_project_is_uninstalled_and_installed_again: [
        Person "twining uninstall >/dev/null; twining init --agent claude >/dev/null; git status --short",
    ];
    notes_beside_the_records: [
        Person "echo '# How we decide' > .twining/README.md; echo notes.md >> .twining/.gitignore; save notes",
    ];
    a_person_checks_an_old_board_out: [
        Person "git checkout -q origin/main -- .twining; git status --short >/dev/null",
    ];
}
