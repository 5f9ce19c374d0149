//! Tools are named to agents as MCP has them; a person reads the command instead.

use crate::verbs::verb::command_name;

/// Every tool as it is described to a client, a line each, sorted by name.
pub(crate) static PUBLISHED: &str = include_str!("../mcp/tools.jsonl");

/// Text meant for agents, with each tool called by its name at a prompt.
pub(crate) fn with_command_names(words: &str) -> String {
    if !words.contains("twining_") {
        return words.to_owned();
    }
    let mut tools: Vec<&'static str> = PUBLISHED.lines().filter_map(tool_name).collect();
    // The longest first: no name may be taken for the beginning of another.
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.len()));
    tools.iter().fold(words.to_owned(), |words, tool| {
        let name = tool.trim_start_matches("twining_");
        words.replace(tool, &format!("twining {}", command_name(name)))
    })
}

fn tool_name(line: &'static str) -> Option<&'static str> {
    line.strip_prefix("{\"name\":\"")?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tool_is_taken_for_the_beginning_of_another() {
        assert_eq!(
            with_command_names("twining_search_decisions or twining_why"),
            "twining search-decisions or twining why"
        );
        assert_eq!(with_command_names("twining_knowledge_check"), "twining knowledge check");
    }
}
