//! Whether a prompt takes back what an agent just did. A guess, and marked as one.

/// How a person begins who does not want it.
const OPENINGS: [&str; 34] = [
    "no,",
    "no.",
    "no!",
    "no -",
    "no:",
    "nope",
    "no don't",
    "no dont",
    "no do not",
    "no that",
    "no you",
    "no not",
    "don't ",
    "dont ",
    "do not ",
    "stop ",
    "stop,",
    "stop.",
    "stop!",
    "undo",
    "revert",
    "roll back",
    "rollback",
    "put it back",
    "put that back",
    "wrong",
    "not like that",
    "not what i",
    "never do",
    "you should not",
    "you shouldn't",
    "why did you",
    "i said",
    "i told you",
];
/// What says so anywhere in the first sentences.
const WITHIN: [&str; 15] = [
    "that's wrong",
    "thats wrong",
    "that is wrong",
    "that's not what",
    "that is not what",
    "not what i asked",
    "not what i wanted",
    "shouldn't have",
    "should not have",
    "revert that",
    "revert this",
    "undo that",
    "undo this",
    "i told you not to",
    "i didn't ask",
];
/// What sounds like it and is not.
const FRIENDLY: [&str; 16] = [
    "no problem",
    "no worries",
    "no need",
    "no rush",
    "no issue",
    "no, that's fine",
    "no, thats fine",
    "no, it's fine",
    "no, that's ok",
    "no, looks good",
    "don't worry",
    "dont worry",
    "do not worry",
    "stop here",
    "no thanks",
    "no changes needed",
];
/// How far into a prompt it is looked for.
const LOOKED_AT: usize = 240;

/// Whether the prompt negates what was done before it.
#[must_use]
pub fn negates(prompt: &str) -> bool {
    let start: String = prompt.trim_start().chars().take(LOOKED_AT).collect();
    let start = start.to_lowercase().replace('\u{2019}', "'");
    let start = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = ["ok ", "okay ", "hmm ", "hmm, ", "hey ", "wait ", "wait, ", "please "]
        .iter()
        .find_map(|lead| start.strip_prefix(lead))
        .unwrap_or(&start);
    if FRIENDLY.iter().any(|friendly| start.starts_with(friendly)) {
        return false;
    }
    start == "no" || OPENINGS.iter().any(|opening| start.starts_with(opening)) || WITHIN.iter().any(|within| start.contains(within))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_who_takes_it_back_is_heard() {
        for prompt in [
            "no, don't touch the migrations",
            "No.",
            "no",
            "Revert that please",
            "that’s wrong, the port is 5433",
            "wait, don't push to main",
            "undo",
            "Stop! not like that",
            "Hm. You shouldn't have deleted the test",
            "I told you not to edit generated files",
        ] {
            assert!(negates(prompt), "{prompt}");
        }
    }

    #[test]
    fn a_person_who_goes_on_is_not() {
        for prompt in [
            "No problem, go on",
            "don't worry about the warnings",
            "now add a test",
            "nothing else, thanks",
            "add a note about undo to the docs",
            "what does revert do?",
            "Notify the team when it is done",
            "stop here for today",
            "",
        ] {
            assert!(!negates(prompt), "{prompt}");
        }
    }
}
