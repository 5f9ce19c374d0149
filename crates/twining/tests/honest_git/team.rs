//! Work of others that arrives through git.

scenarios! {
    a_colleague_s_pull_request_is_rebased: [
        Colleague "git checkout -q -b pr; decide 'Use ULIDs' ids; post 'ids sort'; save pr; git push -q origin pr; git checkout -q main; post 'main moves'; save main; git push -q origin main",
        Agent "git pull -q origin main && git fetch -q && git checkout -q pr && git rebase -q main",
    ];
    a_pull_request_is_squashed: [
        Colleague "git checkout -q -b pr; decide 'Use ULIDs' ids; save one; post 'ids sort'; save two; git push -q origin pr",
        Agent "git fetch -q && git merge -q --squash origin/pr && git commit -q -m 'PR 7'",
    ];
    a_commit_is_cherry_picked: [
        Colleague "git checkout -q -b pr; decide 'Use ULIDs' ids; save pr; git push -q origin pr",
        Agent "git fetch -q && git cherry-pick origin/pr",
    ];
    a_fork_is_reviewed: [
        Colleague "git clone -q --bare ../origin.git ../fork.git; git checkout -q -b feature; decide 'Use ULIDs' ids; post 'from the fork'; save pr; git push -q ../fork.git feature",
        Agent "git remote add fork ../fork.git && git fetch -q fork && git checkout -q -b review fork/feature",
    ];
    a_fork_is_pulled_by_its_address: [
        Colleague "git clone -q --bare ../origin.git ../fork.git; git checkout -q -b feature; decide 'Use ULIDs' ids; save pr; git push -q ../fork.git feature",
        Agent "git pull -q ../fork.git feature",
    ];
    an_upstream_is_added_and_pulled: [
        Colleague "git clone -q --bare ../origin.git ../upstream.git; post 'upstream knows more'; decide 'Use ULIDs' ids; save up; git push -q ../upstream.git main",
        Agent "git remote add upstream ../upstream.git && git pull -q upstream main",
    ];
    the_remote_moved: [
        Colleague "git clone -q --bare ../origin.git ../new.git; post 'after the move'; save moved; git push -q ../new.git main",
        Agent "git remote set-url origin ../new.git && git pull -q",
    ];
    another_clone_is_pulled: [
        Colleague "post 'on the other machine'; decide 'Use ULIDs' ids; save other",
        Agent "git pull -q ../colleague main",
    ];
    a_bundle_is_pulled: [
        Colleague "post 'by mail'; decide 'Use ULIDs' ids; save mail; git bundle create -q ../x.bundle main",
        Agent "git pull -q ../x.bundle main",
    ];
    separate_worktrees_are_merged: [
        Person "echo 'worktrees: separate' >> .twining/config.yml; save setting; git worktree add -q ../wt -b wt; cd ../wt; decide 'Use ULIDs' ids; post 'in the worktree'; save wt",
        Agent "git merge -q wt",
    ];
    shared_worktrees_are_merged: [
        Person "git worktree add -q ../wt -b wt; cd ../wt; post 'in the worktree'; echo 'X = 1' > src/x.py; save wt; cd ../shop; save board",
        Agent "git merge -q --no-edit wt && git worktree remove --force ../wt",
    ];

    a_fast_forward: [
        Colleague "post 'news'; decide 'Use ULIDs' ids; echo 'X = 1' > src/x.py; save news; git push -q",
        Agent "git pull -q --ff-only",
    ];
    both_sides_posted: [
        Colleague "post 'theirs'; save theirs; git push -q",
        Person "post 'ours'; save ours",
        Agent "git pull -q --no-edit --no-rebase",
    ];
    own_work_is_rebased_onto_theirs: [
        Colleague "post 'theirs'; decide 'Use ULIDs' ids; save theirs; git push -q",
        Person "post 'ours'; decide 'Short lines' style; save ours",
        Agent "git pull -q --rebase",
    ];
    own_branch_is_rebased_and_pushed_with_lease: [
        Person "git checkout -q -b feature; post 'ours'; save ours; git push -q -u origin feature",
        Colleague "post 'theirs'; save theirs; git push -q",
        Agent "git fetch -q && git rebase -q origin/main && git push -q --force-with-lease",
    ];
    a_conflict_in_a_source_file_is_resolved: [
        Colleague "echo 'RATE = 1' >> src/cart.py; post 'rate 1'; save theirs; git push -q",
        Person "echo 'RATE = 2' >> src/cart.py; post 'rate 2'; save ours",
        Agent "git pull -q --no-rebase || true; git checkout --ours src/cart.py && git add -A && git commit -q -m merged",
    ];
    their_merge_commit_comes_along: [
        Colleague "git checkout -q -b side; post 'side'; save side; git checkout -q main; post 'main'; save main; git merge -q --no-ff --no-edit side; git push -q",
        Agent "git pull -q --ff-only",
    ];
    an_octopus: [
        Colleague "for b in a b; do git checkout -q -b $b main; echo \"X = 1\" > src/$b.py; save $b; git push -q origin $b; done",
        Agent "git fetch -q && git merge -q --no-edit origin/a origin/b",
    ];
    a_patch_series_comes_by_mail: [
        Colleague "decide 'Use ULIDs' ids; save mailed; git format-patch -q -1 -o ../patches",
        Person "git am -q ../patches/0001-mailed.patch",
    ];
    a_colleague_s_commit_is_reverted: [
        Colleague "echo 'X = 1' > src/x.py; save code; git push -q",
        Agent "git pull -q && git revert --no-edit HEAD",
    ];
    a_colleague_s_decision_is_reverted_by_a_person: [
        Colleague "decide 'Use UUIDs' ids; save mistaken; git push -q",
        Person "git pull -q; git revert --no-edit HEAD",
    ];
    a_colleague_supersedes_a_decision: [
        Colleague "twining decide --summary 'Carts live in Postgres' --domain storage --scope src/cart.py --context c --rationale 'two writers' --supersedes 01K9Z81A5PHJ0E7YKB3S9GQ2RN >/dev/null; save newer; git push -q",
        Agent "git pull -q",
    ];
    a_colleague_archives_the_board: [
        Colleague "for i in 1 2 3; do post \"note $i\"; done; save notes; twining archive --before 2027-01-01 >/dev/null; save archived; git push -q",
        Agent "git pull -q",
    ];
    a_colleague_without_twining_works: [
        Colleague "echo 'X = 1' > src/x.py; git add src/x.py; git commit -q -m code; git push -q",
        Agent "git pull -q && git log --oneline -3",
    ];
    a_colleague_adds_a_guard: [
        Colleague "printf '  - {id: no-mkfs, tools: [Bash], when: {command: [mkfs]}, action: block, say: no}\\n' >> .twining/policy.yml; save guard; git push -q",
        Agent "git pull -q",
    ];
    a_colleague_drops_a_guard: [
        Colleague "echo 'guards: []' > .twining/policy.yml; save 'no guards'; git push -q",
        Agent "git pull -q",
    ];
    a_colleague_moves_the_feature_list_on: [
        Colleague "sed -i 's/\"pending\"/\"in_progress\"/' .claude/progress/feature-list.json; save list; git push -q",
        Agent "git pull -q",
    ];
    a_colleague_uses_moment_where_it_was: [
        Colleague "sed -i 's/YYYY/YY/' src/legacy/dates.ts; save legacy; git push -q",
        Agent "git pull -q",
    ];
    a_colleague_s_force_push_is_followed: [
        Colleague "git checkout -q -b pr; post 'first try'; save one; git push -q origin pr",
        Agent "git fetch -q && git checkout -q pr",
        Colleague "git reset -q --hard main; decide 'Second try' ids; save two; git push -q -f origin pr",
        Agent "git fetch -q && git reset -q --hard origin/pr",
    ];
    a_pull_request_is_checked_out_by_its_number: [
        Colleague "decide 'Use ULIDs' ids; save pr; git push -q origin HEAD:refs/pull/7/head",
        Agent "git fetch -q origin pull/7/head:pr-7 && git checkout -q pr-7",
    ];
    a_merged_branch_is_deleted: [
        Colleague "git checkout -q -b pr; decide 'Use ULIDs' ids; save pr; git checkout -q main; git merge -q --no-ff --no-edit pr; git push -q",
        Agent "git pull -q --prune && git branch --merged",
    ];
    a_shallow_clone_is_deepened_elsewhere: [
        Colleague "git clone -q --depth 1 file://$PWD ../shallow; cd ../shallow; post 'shallow'; save shallow; git push -q origin HEAD:shallow",
        Agent "git fetch -q ../colleague shallow && git merge -q --no-edit FETCH_HEAD",
    ];
    the_default_branch_is_renamed: [
        Colleague "git branch -q -m main trunk; post 'on trunk'; save trunk; git push -q -u origin trunk",
        Agent "git fetch -q && git branch -q -m main trunk && git branch -q -u origin/trunk && git pull -q",
    ];
}
