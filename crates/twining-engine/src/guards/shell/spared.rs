//! What a search leaves out: `find -not -path './.twining/*'` names a folder so as
//! not to touch it.

/// Stands among the words of a search that leaves the memory out.
pub(crate) const SPARED: &str = "\u{0}spared";

/// Whether what is left out is the memory.
pub(super) fn is_memory(word: &str) -> bool {
    let word = word.trim_end_matches(['*', '/']);
    word.rsplit(['/', '*']).next() == Some(".twining")
}

/// Which words of a search say what is left out, by their places.
pub(super) fn words(all: &[String]) -> Vec<usize> {
    let Some(program) = all.first().map(|word| word.rsplit('/').next().unwrap_or(word)) else { return Vec::new() };
    match program {
        "find" => by_find(all),
        "fd" | "grep" | "egrep" | "rg" | "ag" | "tree" => {
            let excludes = |word: &str| matches!(word, "-E" | "--exclude" | "--exclude-dir" | "-I" | "--ignore");
            let is_option = |at: &usize| match program {
                // Here these letters mean something else.
                "grep" | "egrep" | "rg" => excludes(&all[*at]) && all[*at].starts_with("--"),
                "fd" => excludes(&all[*at]) && all[*at] != "-I",
                _ => excludes(&all[*at]) && all[*at] != "-E",
            };
            (1..all.len()).filter(is_option).map(|at| at + 1).collect()
        }
        _ => Vec::new(),
    }
}

fn by_find(all: &[String]) -> Vec<usize> {
    let is = |at: Option<usize>, words: &[&str]| at.and_then(|at| all.get(at)).is_some_and(|word| words.contains(&word.as_str()));
    let not = ["-not", "!"];
    let or = ["-o", "-or"];
    // Brackets may turn what is left out into what is meant, and so may a second part.
    if all.iter().any(|word| matches!(word.as_str(), "(" | ")" | ",")) {
        return Vec::new();
    }
    let deletes = all.iter().any(|word| matches!(word.as_str(), "-delete" | "-depth" | "-d"));
    let tests = (1..all.len()).filter(|at| is(Some(*at), &["-path", "-ipath", "-wholename", "-name", "-iname", "-regex"]));
    let left_out = tests.filter(|at| {
        let before = at.checked_sub(1);
        let is_negated = is(before, &not);
        let is_twice = is_negated && is(at.checked_sub(2), &not);
        // What is found from its depths up is not left out by pruning.
        let is_pruned = !is_negated && !deletes && is(Some(at + 2), &["-prune"]) && is(Some(at + 3), &or);
        (is_negated && !is_twice) || is_pruned
    });
    left_out.map(|at| at + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_left_out_is_left_out() {
        let spared = |line: &str| {
            let all: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words(&all).into_iter().filter_map(|at| all.get(at).cloned()).collect::<Vec<_>>()
        };
        assert_eq!(spared("find . -name *.json -not -path ./.twining/*"), ["./.twining/*"]);
        assert_eq!(spared("find . ! -path a ! -name b -type f"), ["a", "b"]);
        assert_eq!(spared("find . -path ./.twining -prune -o -name x -print"), ["./.twining"]);
        assert_eq!(spared("fd -E .twining x"), [".twining"]);
        assert_eq!(spared("grep -rl --exclude-dir .twining x"), [".twining"]);
        for line in [
            "find . -path a",
            "find . ! ! -path a",
            "find . ! ( ! -path a )",
            "find . -path a -prune",
            "find . -path a -prune -o -name x -delete",
            "find . ! -path a , -path a",
            "grep -E a b",
            "cat -E a",
        ] {
            assert_eq!(spared(line), Vec::<String>::new(), "{line}");
        }
    }
}
