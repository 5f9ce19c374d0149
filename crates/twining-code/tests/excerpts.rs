//! Words and lines beside which a statement is held.

use twining_code::{Excerpt, line_hashes};
use twining_testcases::each;

const SOURCE: &str = "def salted(text, cost=12):\n    \"\"\"Uses scrypt.\"\"\"\n    # not argon\n    rounds = 2 ** cost\n\n    return bcrypt.hash(text, 'pepper', rounds)\n";

#[test]
fn witnesses_stand_in_the_code_and_tell_something() {
    let excerpt = Excerpt::read("a.py", SOURCE.as_bytes(), &(1..=6));
    let rows: [(&str, &[&str]); 7] = [
        ("Hash passwords with bcrypt, cost 12", &["bcrypt", "cost", "12"]),
        ("`rounds` and again rounds; pepper from a string", &["rounds", "pepper"]),
        ("scrypt is in the docstring, argon in a comment", &[]),
        ("salted is its own name", &[]),
        ("the return of text", &["text"]),
        ("2 is one digit", &[]),
        ("Bcrypt is another word", &[]),
    ];
    each(rows, |(statement, wanted)| {
        assert_eq!(excerpt.witnesses(statement, "Hash.salted"), *wanted, "{statement}");
    });
}

#[test]
fn lines_are_hashed_by_their_tokens() {
    let spaced = SOURCE.replace(" = ", "  =  ").replace("    rounds", "        rounds");
    let one = line_hashes("a.py", SOURCE.as_bytes(), &(1..=6));
    assert_eq!(one.len(), 3);
    assert_eq!(one, line_hashes("a.py", spaced.as_bytes(), &(1..=6)));
    assert_eq!(one[1..2], line_hashes("a.py", SOURCE.as_bytes(), &(3..=5)));
}
