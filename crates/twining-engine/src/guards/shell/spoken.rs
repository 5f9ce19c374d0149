//! The commands of a script, each as its words, for whoever asks what they come to.

use crate::guards::shell::runners;
use crate::guards::shell::stand::{Sourced, Stand, Stands};
use crate::guards::shell::steps::Steps;
use crate::guards::shell::tree;
use crate::guards::shell::word::{self, Variables, Word};

/// Commands of one script that are looked at.
const MOST_COMMANDS: usize = 500;

/// What a script says.
#[derive(Debug, Default)]
pub(crate) struct Spoken {
    /// Its commands, without what only starts them.
    pub(crate) commands: Vec<SpokenCommand>,
    /// Functions it defines.
    pub(crate) functions: Vec<String>,
    /// Here-documents.
    pub(crate) documents: Vec<String>,
    /// Folders that its lines have Python look in first.
    pub(crate) python_path: Vec<String>,
}

/// A command of a script.
#[derive(Debug)]
pub(crate) struct SpokenCommand {
    pub(crate) words: Vec<String>,
    /// Whether its program is known.
    pub(crate) is_known: bool,
    /// The runner that Python, or Node, looks for where the command stands.
    pub(crate) sought: Option<Sought>,
    /// The line it hands to a shell.
    pub(crate) handed: Option<String>,
    /// The folders it may stand in, as far as they are known.
    pub(crate) folders: Vec<String>,
}

/// A runner that is not a program of its own, and is looked for in the project first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// A module: `python -m pytest`.
    Module(String),
    /// A program of a package: `npx jest`.
    Package(String),
}

fn sought(words: &[&str]) -> Option<Sought> {
    let at = words.iter().position(|word| *word == "-m");
    let is_python = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        name == "coverage" || name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == "python" || name.starts_with("pypy")
    };
    if let Some(at) = at.filter(|at| words[..*at].iter().any(is_python)) {
        return words.get(at + 1).map(|module| Sought::Module((*module).to_owned()));
    }
    match words {
        ["npx" | "bunx", rest @ ..] | ["npm" | "pnpm" | "yarn", "exec", rest @ ..] => {
            rest.iter().find(|word| !word.starts_with('-')).map(|program| Sought::Package((*program).to_owned()))
        }
        _ => None,
    }
}

/// Reads a script; none where it cannot be read.
pub(crate) fn spoken(lines: &str) -> Option<Spoken> {
    let steps = Steps::default();
    let tree = tree::parsed(lines, &steps).ok()?;
    let walk = tree::Walk::of(tree.root_node(), &steps).ok()?;
    let mut variables = Variables::new(steps);
    let mut spoken = Spoken::default();
    for node in &walk.nodes {
        tree::assign(*node, lines, &mut variables).ok()?;
        match node.kind() {
            "function_definition" => {
                spoken.functions.extend(node.child_by_field_name("name").map(|name| word::said(lines, name.byte_range()).to_owned()));
            }
            "variable_assignment"
                if node.child_by_field_name("name").is_some_and(|name| word::said(lines, name.byte_range()) == "PYTHONPATH") =>
            {
                let value = node.child_by_field_name("value").map(|value| word::said(lines, value.byte_range())).unwrap_or_default();
                spoken.python_path.extend(value.trim_matches(['"', '\'']).split(':').map(str::to_owned));
            }
            "heredoc_body" => spoken.documents.push(word::said(lines, node.byte_range()).to_owned()),
            // Half of a script tells nothing.
            "ERROR" => return None,
            _ => {}
        }
    }
    let stands = Stands::of(&walk, lines, &variables, &[Stand::default()], None, Sourced::StaysHere).ok()?;
    for node in walk.nodes.iter().filter(|node| node.kind() == "command") {
        if spoken.commands.len() >= MOST_COMMANDS {
            return None;
        }
        let mut cursor = node.walk();
        let words: Option<Vec<Word>> = node
            .children(&mut cursor)
            .filter(|child| !matches!(child.kind(), "variable_assignment" | "file_redirect" | "herestring_redirect" | "heredoc_redirect"))
            .map(|child| word::read(child, lines, &variables, 0).ok())
            .collect();
        let all = words?;
        let gists: Vec<String> = all.iter().map(Word::gist).collect();
        let gists: Vec<&str> = gists.iter().map(String::as_str).collect();
        let set = gists.iter().filter_map(|word| word.strip_prefix("PYTHONPATH="));
        spoken.python_path.extend(set.flat_map(|path| path.split(':')).map(str::to_owned));
        let words = runners::unwrapped(&gists);
        let first = all.get(all.len().saturating_sub(words.len()));
        let standing = stands.as_ref().and_then(|stands| stands.at(*node));
        spoken.commands.push(SpokenCommand {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            is_known: first.is_none_or(|word| word.known().is_some()),
            sought: sought(&gists),
            handed: runners::handed(&all),
            folders: standing.iter().flat_map(|stands| stands.iter()).filter_map(|stand| stand.at.known()).collect(),
        });
    }
    Some(spoken)
}
