//! What a change of code means for what was said about it.

use twining_code::{
    Doubt, Excerpt, Freshness, Judgement, Sighting, judge, line_hashes, read_source,
};
use twining_testcases::each;

const BEFORE: &str = "\
def salted(text):
    salt = random(16)
    first = bcrypt.hash(salt + text)
    if not first:
        raise Empty(text)
    for step in range(rounds):
        first = mix(first, step, salt)
        report(step, of=rounds)
    if first.length > limit:
        first = first.cut(limit)
    return join(salt, first, version=3)
";

/// What `judge` says of the function after it was seen with witnesses and the lines 2 to 4.
fn judged(after: &str, words: &[&str], has_lines: bool) -> Judgement {
    let before = read_source("a.py", BEFORE.as_bytes());
    let lines =
        if has_lines { line_hashes("a.py", BEFORE.as_bytes(), &(2..=4)) } else { Vec::new() };
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    let seen = Sighting::of(&before.definitions[0], words, lines);
    let after_file = read_source("a.py", after.as_bytes());
    let now = &after_file.definitions[0];
    judge(&seen, now, || Excerpt::read("a.py", after.as_bytes(), &(now.first_line..=now.last_line)))
}

fn state(after: &str, words: &[&str], has_lines: bool) -> &'static str {
    match judged(after, words, has_lines).freshness {
        Freshness::Fresh => "fresh",
        Freshness::Touched => "touched",
        Freshness::Drifted => "drifted",
        Freshness::Doubtful { .. } => "doubtful",
    }
}

#[test]
fn changes_are_graded() {
    let small = BEFORE.replace("version=3", "version=4");
    let medium = small.replace("raise Empty(text)", "return 1").replace("step, of=rounds", "");
    let rewritten = "def salted(text):\n    one = scrypt(text, rounds=4)\n    while one.busy():\n        one.wait(10)\n    two = pepper(one, of=text)\n    return two.all()\n";
    let rows: [(&str, &[&str], bool, &str); 8] = [
        (BEFORE, &["bcrypt"], true, "fresh"),
        (&BEFORE.replace("    salt =", "    # why\n    salt =  "), &["bcrypt"], true, "fresh"),
        (&small, &["bcrypt"], true, "touched"),
        (&medium, &["bcrypt"], true, "drifted"),
        (&small.replace("bcrypt", "scrypt"), &["bcrypt"], false, "doubtful"),
        (&BEFORE.replace("random(16)", "random(32)"), &[], true, "touched"),
        (
            &small.replace("random(16)", "random(32)").replace("not first", "first"),
            &[],
            true,
            "doubtful",
        ),
        (rewritten, &[], false, "doubtful"),
    ];
    each(rows, |(after, words, has_lines, wanted)| {
        let found = judged(after, words, has_lines);
        assert_eq!(state(after, words, has_lines), wanted, "{found:?}");
    });
}

#[test]
fn a_doubt_says_why() {
    let after = BEFORE.replace("bcrypt", "scrypt");
    let found = judged(&after, &["bcrypt", "salt"], true);
    let reason = Doubt { words_gone: vec!["bcrypt".to_owned()], ..Doubt::default() };
    assert_eq!(found.freshness, Freshness::Doubtful { reason });
    assert!(!found.is_signature_changed);
    assert!(judged(&after.replace("(text):", "(text, cost):"), &[], false).is_signature_changed);
}

#[test]
fn a_few_tokens_are_equal_or_not() {
    let read = |source: &str| read_source("a.rs", source.as_bytes()).definitions[0].clone();
    let (one, other) = (read("const A: u8 = 1;"), read("const A: u8 = 2;"));
    let found = judge(&Sighting::of(&one, Vec::new(), Vec::new()), &other, Excerpt::default);
    assert_eq!((found.freshness, found.likeness), (Freshness::Drifted, None));
}
