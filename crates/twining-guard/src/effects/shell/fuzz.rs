//! Lines that nobody writes: they are read or refused, and never more.

use proptest::prelude::*;
use twining_testcases::each;

use super::interpreter::*;
use super::tests::LINES;

/// Pieces that a shell line is made of.
const TOKENS: &[&str] = &[
    " ",
    "\n",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "(",
    ")",
    "((",
    "))",
    "{ ",
    " }",
    "[[ ",
    " ]]",
    "$(",
    "${",
    "}",
    "`",
    "'",
    "\"",
    "\\",
    "$'",
    "$\"",
    "<",
    ">",
    ">>",
    "<<",
    "<<-",
    "<<<",
    ">&",
    "&>",
    "<(",
    ">(",
    "2>",
    "EOF",
    "\nEOF\n",
    "'EOF'",
    "if ",
    "then ",
    "elif ",
    "else ",
    "fi",
    "for ",
    "in ",
    "do ",
    "done",
    "while ",
    "case ",
    "esac",
    ";;",
    "function ",
    "f()",
    "! ",
    "time ",
    "x=",
    "x+=",
    "x=(",
    "$x",
    "${x}",
    "$@",
    "$PWD",
    "~/",
    "*",
    "?",
    "[",
    "{a,b}",
    "{1..3}",
    "{",
    ",",
    "a.txt",
    ".twining/x",
    "é",
    "\u{1f980}",
    "\u{0}",
    "#",
    "-i",
    "-rf",
    "--",
    "-",
    "cd ",
    "rm ",
    "cp ",
    "mv ",
    "sed ",
    "s/a/b/",
    "echo ",
    "printf ",
    "%s",
    "%",
    "tee ",
    "git ",
    "checkout ",
    "stash ",
    "find ",
    "-exec ",
    "xargs ",
    "sudo ",
    "env ",
    "bash -c ",
    "eval ",
    "python3 -c ",
    "open('x','w')",
    "patch ",
    "tar ",
    "x",
    "curl -o ",
];

/// Whatever is read keeps the promises of its types.
fn assert_sound(line: &str) {
    let Ok(effects) = read(line) else { return };
    assert!(
        effects.commands.len() <= MAX_COMMANDS
            && effects.writes.len() <= MAX_WRITES
            && effects.unread.len() <= MAX_UNREAD
    );
    for write in &effects.writes {
        assert!(!write.path.is_empty() && !write.by.is_empty(), "{write:?} of {line:?}");
    }
    for command in &effects.commands {
        assert!(!command.words.is_empty(), "{line:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(line in any::<String>()) {
        assert_sound(&line);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_sound(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_tokens_are_read_or_refused(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..40)) {
        assert_sound(&tokens.concat());
    }

    #[test]
    fn a_damaged_line_is_read_or_refused(
        (line, _) in prop::sample::select(LINES),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..4usize, prop::sample::select(TOKENS)), 1..4),
    ) {
        let mut chars: Vec<char> = line.chars().collect();
        for (at, removed, token) in damage {
            let at = at.index(chars.len() + 1);
            let end = (at + removed).min(chars.len());
            chars.splice(at..end, token.chars());
        }
        assert_sound(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn a_line_in_brackets_changes_nothing_for_the_next((first, _) in prop::sample::select(LINES), (second, _) in prop::sample::select(LINES)) {
        let both = read(&format!("(\n{first}\n)\n{second}")).expect("reads");
        let second = read(second).expect("reads");
        prop_assert!(second.writes.iter().all(|write| both.writes.contains(write)));
        prop_assert!(second.unread.iter().all(|what| both.unread.contains(what)));
        prop_assert_eq!(&both.commands[both.commands.len() - second.commands.len()..], &second.commands[..]);
    }
}

#[test]
fn endless_lines_end() {
    const LENGTH: usize = 8 * 1024;
    let units = TOKENS.iter().copied().chain([
        "a=$a$a;",
        "a=$a$a$a ",
        "sudo ",
        "bash -c '",
        "<<A ",
        "<<A\n",
        "'\"",
        "a|",
        "$((",
        "${${",
        "{a,",
        "{,}",
        "cat <<E > x\n",
        "-exec a ",
        "for a in 1 2 3 4 5 6 7 8; do ",
        "if a; then ",
        "tee a ",
        "a b ",
        "../",
        "a/",
        "'>'",
        "open('",
        "open('a','w');",
        "s/a/b/;",
        "%s",
        "x=1;",
        "cd a;",
        "rm a$a ",
        "{ ",
        "\\\n",
        "-",
        "--a ",
        "a\\",
        "[[ a ",
        "case a in a) ",
        "f() ",
        "${a",
        "((a) ",
        "$(a",
        "`a` ",
        "echo a > b;",
        "a || b && ",
    ]);
    each(units, |unit| {
        for prefix in ["", "echo \"", "python3 -c '", "find . "] {
            for suffix in ["", "\"", "'"] {
                assert_sound(&format!("{prefix}{}{suffix}", unit.repeat(LENGTH / unit.len())));
            }
        }
    });
}

#[test]
fn a_longer_line_is_refused() {
    assert_eq!(read(&"a".repeat(MAX_BYTES + 1)), Err(ShellError::TooLong));
    assert_eq!(read(&"(".repeat(100)), Err(ShellError::TooManySteps));
    assert_eq!(read(&"a;".repeat(MAX_COMMANDS + 1)), Err(ShellError::TooManySteps));
    assert_eq!(read("echo 'a"), Err(ShellError::NotBash));
}
