//! Whether a prompt takes back what an agent just did. A guess, and marked as one.

/// How a person begins who does not want it.
const OPENINGS: &str = "no,|no.|no!|no -|no:|nope|no don't|no dont|no do not|no that|no you|no not|don't |dont |do not |stop |stop,|\
    stop.|stop!|put it back|put that back|wrong|incorrect|not like that|not what i|never do|you should not|\
    you shouldn't|why did you|i said|i told you";
/// What says so anywhere in the first sentences.
const WITHIN: &str = "that's wrong|thats wrong|that is wrong|this is wrong|that's incorrect|thats incorrect|that is incorrect|\
    this is incorrect|that's not right|that is not right|that isn't right|this is not right|this isn't right|\
    roll it back|roll that back|roll this back|that's not what|that is not what|not what i asked|not what i wanted|\
    shouldn't have|should not have|revert that|revert this|undo that|undo this|i told you not to|i didn't ask";
/// Words that revert something, with their possible objects; alone they refer to what was just
/// done.
const BACK: [&str; 4] = ["undo", "revert", "roll back", "rollback"];
const OF: &str =
    "that|this|it|the|your|all|everything|these|those|them|what|last|my|both|to|please";
/// What sounds like it and is not.
const FRIENDLY: &str = "no problem|no worries|no need|no rush|no issue|don't worry|dont worry|do not worry|don't forget|dont forget|\
    do not forget|stop here|no changes needed";
/// What may follow a no that is meant for a question: nothing was done wrong.
const FINE: &str = "that's all|thats all|that is all|that's it|that's fine|thats fine|that's ok|that's good|it's fine|it's ok|\
    looks good|all good|nothing else|thanks|thank you|we're done";
/// How far into a prompt it is looked for.
const LOOKED_AT: usize = 240;

/// Whether the prompt negates what was done before it.
#[must_use]
pub fn is_correction(prompt: &str) -> bool {
    let start: String = prompt.trim_start().chars().take(LOOKED_AT).collect();
    let start = start.to_lowercase().replace('\u{2019}', "'");
    let start = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = ["ok ", "okay ", "hmm ", "hmm, ", "hey ", "wait ", "wait, ", "please "]
        .iter()
        .find_map(|lead| start.strip_prefix(lead))
        .unwrap_or(&start);
    if FRIENDLY.split('|').any(|friendly| start.starts_with(friendly)) {
        return false;
    }
    let answered = ["nope", "no"]
        .iter()
        .find_map(|no| start.strip_prefix(no))
        .filter(|rest| rest.starts_with([',', '.', ' ', '!']));
    let answered =
        answered.map(|rest| rest.trim_start_matches([',', '.', ' ', '!'])).unwrap_or_default();
    if FINE.split('|').any(|fine| answered.starts_with(fine)) {
        return false;
    }
    start == "no"
        || takes_back(start)
        || OPENINGS.split('|').any(|opening| start.starts_with(opening))
        || WITHIN.split('|').any(|within| start.contains(within))
}

/// `undo`, `revert the last one`; not `undo/redo comes next`.
fn takes_back(start: &str) -> bool {
    let Some(rest) = BACK.iter().find_map(|back| start.strip_prefix(back)) else { return false };
    let word =
        rest.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ',', '!', ';']);
    rest.is_empty()
        || rest.starts_with(['.', ',', '!', ';', ':'])
        || (rest.starts_with(' ') && OF.split('|').any(|of| of == word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn a_person_who_takes_it_back_is_heard() {
        each(
            [
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
                "roll it back",
                "Roll back the migration",
                "this is incorrect",
                "revert to the old port",
                "Nope, put it in the other file",
            ],
            |prompt| {
                assert!(is_correction(prompt), "{prompt}");
            },
        );
    }

    #[test]
    fn a_person_who_goes_on_is_not() {
        each(
            [
                "No problem, go on",
                "don't worry about the warnings",
                "now add a test",
                "nothing else, thanks",
                "add a note about undo to the docs",
                "what does revert do?",
                "Notify the team when it is done",
                "stop here for today",
                "don't forget to add tests",
                "undo/redo feature next please",
                "undo support comes next",
                "Nope, that's all. Thanks!",
                "no, looks good",
                "no thanks",
                "",
            ],
            |prompt| {
                assert!(!is_correction(prompt), "{prompt}");
            },
        );
    }
}
