//! How tools are called at a prompt.

use super::VERBS;
use crate::verbs::VerbEntry;

/// Text meant for agents, with each tool called by its name at a prompt.
pub fn with_command_names(words: &str) -> String {
    let mut verbs: Vec<&VerbEntry> = VERBS.iter().collect();
    // The longest first: no name may be taken for the beginning of another.
    verbs.sort_by_key(|verb| std::cmp::Reverse(verb.name.len()));
    verbs.iter().fold(words.to_owned(), |words, verb| words.replace(&verb.tool_name(), &format!("twining {}", verb.command_name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tool_is_taken_for_the_beginning_of_another() {
        assert_eq!(with_command_names("twining_search_decisions or twining_why"), "twining search-decisions or twining why");
    }
}
