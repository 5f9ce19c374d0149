//! Git of every kind, in a repository whose records are committed.

use serde_json::json;

use crate::common::workspace::Workspace;

/// Rows `name: line;`, where nobody else claims a file and nothing is uncommitted.
macro_rules! clean_tree_lines {
    ($($name:ident: $line:literal;)*) => {
        $(#[test]
        fn $name() {
            let verdict = Workspace::new().before_call("Bash", &json!({"command": $line}));
            assert!(verdict.is_allowed(), "{verdict:?}");
        })*
    };
}

clean_tree_lines! {
    everything_committed_is_restored: "git restore .";
    everything_committed_is_checked_out: "git checkout .";
    untracked_files_are_cleaned: "git clean -fd";
    a_hard_reset_to_upstream: "git reset --hard origin/main";
    stash_and_pop: "git stash push -m wip && git pull --rebase && git stash pop";
    stash_with_untracked: "git stash -u";
}

honest_lines! {
    status_and_diff: Allowed, "git status --short && git diff --stat && git diff --cached";
    everything_is_committed: Allowed, "git add -A && git commit -m 'cart: round once'";
    the_records_are_committed_alone: Allowed, "git add .twining && git commit -m 'twining: decisions of today'";
    a_commit_with_a_heredoc: Allowed, "git commit -F - <<'EOF'\ncart: round once\n\nTwining-Decision: 01K9Z81A5PHJ\nEOF";
    the_last_commit_is_amended: Allowed, "git commit --amend --no-edit";
    a_fixup_and_autosquash: Allowed, "git commit --fixup HEAD~2 && GIT_SEQUENCE_EDITOR=true git rebase -i --autosquash HEAD~4";
    pull_with_rebase: Allowed, "git pull --rebase --autostash origin main";
    fetch_and_prune: Allowed, "git fetch --all --prune --tags";
    rebase_onto_upstream: Allowed, "git fetch origin && git rebase origin/main";
    rebase_prefers_theirs: Allowed, "git rebase -X theirs origin/main";
    a_rebase_goes_on: Allowed, "git add -A && GIT_EDITOR=true git rebase --continue";
    a_rebase_is_given_up: Allowed, "git rebase --abort";
    a_merge_with_a_message: Allowed, "git merge --no-ff feature/cart -m 'Merge feature/cart'";
    a_merge_is_squashed: Allowed, "git merge --squash feature/cart && git commit -m 'cart (#7)'";
    cherry_pick_a_range: Allowed, "git cherry-pick -x v1.0..v1.0.2";
    a_revert: Allowed, "git revert --no-edit HEAD";
    push_and_set_upstream: Allowed, "git push -u origin HEAD";
    push_with_lease: Allowed, "git push --force-with-lease origin feature/cart";
    push_tags: Allowed, "git tag -a v1.2.0 -m v1.2.0 && git push --follow-tags";
    a_branch_from_the_remote: Allowed, "git switch -c fix/total origin/main";
    back_to_the_last_branch: Allowed, "git checkout -";
    a_branch_is_deleted: Allowed, "git branch -D old/experiment && git push origin --delete old/experiment";
    one_file_is_restored: Allowed, "git checkout -- src/cart.py && git restore --staged tests/test_cart.py";
    one_file_of_another_branch: Allowed, "git checkout origin/main -- package-lock.json";
    a_source_folder_is_restored: Allowed, "git restore --source=HEAD~1 --staged --worktree src/auth";
    untracked_files_are_listed: Allowed, "git clean -nfdx";
    a_soft_reset: Allowed, "git reset --soft HEAD~1";
    a_mixed_reset_of_one_file: Allowed, "git reset HEAD -- src/cart.py";
    stash_one_folder: Allowed, "git stash push -m wip -- src/auth";
    a_worktree_is_added: Allowed, "git worktree add ../shop-fix -b fix/x origin/main && cd ../shop-fix && npm ci";
    a_worktree_is_removed: Allowed, "git worktree remove --force ../shop-fix && git worktree prune";
    bisect_runs: Allowed, "git bisect start HEAD v1.0 && git bisect run sh -c 'make -s test' ; git bisect reset";
    a_submodule_is_updated: Allowed, "git submodule update --init --recursive --remote";
    sparse_checkout: Allowed, "git sparse-checkout set src tests docs .twining";
    blame_and_log_of_a_record: Allowed, "git log --oneline -- .twining/policy.yml && git blame .twining/blackboard.jsonl";
    an_old_version_of_a_record_is_shown: Allowed, "git show HEAD~3:.twining/blackboard.jsonl | tail -5";
    an_old_version_goes_to_tmp: Allowed, "git show origin/main:.twining/policy.yml > /tmp/policy.old.yml";
    ignored_files_are_asked: Allowed, "git check-ignore -v .twining/local/index.db node_modules";
    identity_is_set: Allowed, "git config user.email sam@example.com && git config user.name Sam";
    rerere_and_autocrlf: Allowed, "git config rerere.enabled true && git config core.autocrlf input";
    an_alias_of_ones_own: Allowed, "git config alias.lg 'log --oneline --graph'";
    the_hooks_path_is_read: Allowed, "git config --get core.hooksPath || ls .git/hooks";
    husky_reinstalls: AllowedOrNote, "npx husky init && npm run prepare";
    lefthook_installs: AllowedOrNote, "npx lefthook install";
    pre_commit_installs: AllowedOrNote, "pre-commit install --install-hooks";
    a_remote_of_a_fork: Allowed, "git remote add fork git@example.com:sam/shop.git && git fetch fork";
    a_remote_moves: Allowed, "git remote set-url origin https://example.com/team/shop.git";
    a_mail_patch_series: Allowed, "git format-patch -o /tmp/patches origin/main..HEAD";
    notes_and_describe: Allowed, "git notes add -m 'reviewed' HEAD; git describe --tags --always";
    maintenance: Allowed, "git gc --auto && git maintenance run";
    a_filter_counts_authors: Allowed, "git shortlog -sne --no-merges | head -20";
    lfs_tracks_images: Allowed, "git lfs track '*.psd' && git add .gitattributes";
    a_bundle_for_a_colleague: Allowed, "git bundle create /tmp/shop.bundle main --since=10.days";
    skip_ci_in_an_empty_commit: Allowed, "git commit --allow-empty -m 'trigger ci'";
}
