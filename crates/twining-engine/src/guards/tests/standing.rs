//! Where commands stand: a line that went into a protected folder and came back
//! is not in it any more, and one that only seems to have come back is.

use super::*;

#[test]
fn a_line_that_came_back_writes_where_it_came_from() {
    let lines = [
        "cd .twining; git status; cd ..; echo x > y.txt",
        "cd .twining && cat blackboard.jsonl && cd .. && echo x > y.txt",
        "cd .twining && ls -la && cd ..\necho x > y.txt",
        "(cd .twining; ls; cat blackboard.jsonl); echo x > y.txt",
        "(cd .twining && ls) && echo x > y.txt",
        "cd .twining; ls; cd -; echo x > y.txt",
        "cd .twining && ls && cd - && touch notes.md",
        "pushd .twining; ls; popd; echo x > y.txt",
        "cd .twining && ls; cd /p && echo x > y.txt",
        "cd .twining && ls; cd ../src && echo x > b.rs",
        "N=$(cd .twining && ls | wc -l); echo $N > count.txt",
        "cat .twining/blackboard.jsonl | (cd src && cat > copy.txt)",
        "cd .twining && git log --oneline . | head -3 > /elsewhere/log",
        "git -C .twining status > out.txt",
    ];
    let guards = loaded("", "");
    for line in lines {
        let (tool, input) = bash(line);
        let judgement = judge_with(&guards, tool, &input, &NoEvidence);
        assert!(judgement.verdict < Level::Ask, "{line}: {}", judgement.reason());
    }
}

#[test]
fn a_line_that_stays_or_may_have_stayed_is_stopped() {
    for line in [
        "cd .twining && echo x > blackboard.jsonl",
        "cd nowhere; cd .twining; echo x > blackboard.jsonl",
        "cd .twining; cd nowhere; echo x > blackboard.jsonl",
        "cd .twining && false && cd ..; echo x > blackboard.jsonl",
        "cd .twining && false; echo x > blackboard.jsonl",
        "cd .twining || cd src; echo x > blackboard.jsonl",
        "false || cd .twining; echo x > blackboard.jsonl",
        "cd src; cd ../.twining; echo x > blackboard.jsonl",
        "cd .twining/local/..; echo x > blackboard.jsonl",
        "pushd .twining; pushd ../src; popd; echo x > blackboard.jsonl",
        "cd src; cd -; cd .twining; echo x > blackboard.jsonl",
        "cd .twining; cd src; cd -; echo x > blackboard.jsonl",
        "{ cd .twining; ls; }; echo x > blackboard.jsonl",
        "(ls; cd .twining; echo x > blackboard.jsonl)",
        "f() { cd .twining; }; f; echo x > blackboard.jsonl",
        "eval 'cd .twining'; echo x > blackboard.jsonl",
        "for d in .twining; do cd $d; done; echo x > blackboard.jsonl",
        "if true; then cd .twining; fi; echo x > blackboard.jsonl",
        "true | cd .twining; echo x > blackboard.jsonl",
        "rm -rf src; cd .twining; cd ../src; echo x > blackboard.jsonl",
        "builtin cd .twining; echo x > blackboard.jsonl",
        "cd \"$(echo .twining)\"; echo x > blackboard.jsonl",
        "bash -c 'cd .twining; echo x > blackboard.jsonl'",
        "cd .twining && bash -c 'echo x > blackboard.jsonl'",
        "cd .twining && cat > blackboard.jsonl <<'EOF'\nx\nEOF",
        "D=.twining && cd $D && echo > blackboard.jsonl",
    ] {
        let (tool, input) = bash(line);
        assert!(verdict(tool, &input) >= Level::Ask, "{line}");
    }
    // Nothing but a failing `cat` keeps it there: told, and compared at the end.
    let (tool, input) = bash("cd .twining && cat nothing && cd ..; echo x > blackboard.jsonl");
    assert_eq!(verdict(tool, &input), Level::Warn);
}
