//! Where each command of a line stands: `cd x && …`, `cd ..`, `cd -`, brackets.
//!
//! Followed only where it can be followed for certain; a `cd` in a loop, a
//! condition or a function, or code that is put together, and every folder the line
//! ever enters is thought of for every command. A `cd` may fail, and then what
//! follows a `;` runs where it stood: both places are kept.

use std::collections::HashMap;
use std::rc::Rc;

use tree_sitter::Node;

use crate::guards::shell::Unreadable;
use crate::guards::shell::commands::name_of;
use crate::guards::shell::lists::READERS;
use crate::guards::shell::tree::Walk;
use crate::guards::shell::word::{self, Piece, Variables, Word};

/// Places one command may stand at.
const MOST_SPOTS: usize = 16;

/// What is known of the disk below the folder a line begins in.
pub(crate) type Ground<'g> = &'g dyn Fn(&str) -> bool;

/// A folder that a command may stand in, from the one the line begins in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stand {
    pub(crate) at: Word,
    /// Whether it stands there only if a program failed that hardly ever does.
    pub(crate) is_doubtful: bool,
}

/// A place, and where one goes back to from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Spot {
    at: Word,
    before: Option<Word>,
    pushed: Vec<Word>,
    is_doubtful: bool,
}

/// Where one stands after a command that ended well, and after one that did not.
struct Ends {
    well: Vec<Spot>,
    badly: Vec<Spot>,
}

impl Ends {
    fn of(spots: &[Spot]) -> Self {
        Self { well: spots.to_vec(), badly: spots.to_vec() }
    }

    fn either(self) -> Vec<Spot> {
        merged(self.well, self.badly)
    }
}

/// What a file that is read with `source` may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sourced {
    /// Anything.
    MayMove,
    /// What such files are for: it sets variables.
    StaysHere,
}

/// Where the commands and redirections of a line stand, by node.
pub(super) struct Stands(HashMap<usize, Rc<[Stand]>>);

impl Stands {
    /// Follows a line; none where it cannot be followed.
    pub(super) fn of(
        walk: &Walk<'_>,
        line: &str,
        variables: &Variables,
        begins: &[Stand],
        ground: Option<Ground<'_>>,
        sourced: Sourced,
    ) -> Result<Option<Self>, Unreadable> {
        let Some(programs) = followed(walk, line, variables, sourced)? else { return Ok(None) };
        let removes = |program: &String| matches!(program.as_str(), "rm" | "rmdir" | "mv" | "chmod" | "git" | "unlink");
        // What is taken away on the line was there before it.
        let ground = ground.filter(|_| !programs.values().any(|words| words.first().map(name_of).as_ref().is_some_and(removes)));
        let mut follow = Follow { programs, ground, found: HashMap::new(), begun: HashMap::new(), is_lost: false, variables };
        let begins: Vec<Spot> =
            begins.iter().map(|stand| Spot { at: stand.at.clone(), is_doubtful: stand.is_doubtful, ..Spot::default() }).collect();
        if let Some(root) = walk.nodes.first() {
            follow.statement(*root, line, &begins)?;
        }
        Ok((!follow.is_lost).then_some(Self(follow.found)))
    }

    /// Where a command or a redirection stands.
    pub(super) fn at(&self, node: Node<'_>) -> Option<Rc<[Stand]>> {
        self.0.get(&node.id()).cloned()
    }
}

/// The words of each command, if every `cd` among them can be followed.
fn followed(walk: &Walk<'_>, line: &str, variables: &Variables, sourced: Sourced) -> Result<Option<HashMap<usize, Vec<Word>>>, Unreadable> {
    let mut programs = HashMap::new();
    for (at, node) in walk.nodes.iter().enumerate() {
        match node.kind() {
            "function_definition" => return Ok(None),
            "variable_assignment" => {
                let name = node.child_by_field_name("name").map(|name| word::said(line, name.byte_range()));
                if name.is_some_and(|name| matches!(name, "CDPATH" | "HOME" | "PWD" | "OLDPWD")) {
                    return Ok(None);
                }
            }
            "command" => {
                let mut words = Vec::new();
                let mut cursor = node.walk();
                for child in node.children(&mut cursor) {
                    if !matches!(child.kind(), "variable_assignment" | "file_redirect" | "herestring_redirect" | "heredoc_redirect") {
                        words.push(word::read(child, line, variables, 0)?);
                    }
                }
                while words.first().is_some_and(|word| matches!(word.gist().as_str(), "builtin" | "command")) {
                    words.remove(0);
                }
                let program = words.first().map(name_of).unwrap_or_default();
                let is_hidden = match program.as_str() {
                    "eval" | "trap" | "alias" | "enable" => true,
                    "source" | "." => sourced == Sourced::MayMove,
                    _ => false,
                };
                if is_hidden || (moves(&program) && !walk.leads_straight_to(at)) {
                    return Ok(None);
                }
                programs.insert(node.id(), words);
            }
            _ => {}
        }
    }
    Ok(Some(programs))
}

fn moves(program: &str) -> bool {
    matches!(program, "cd" | "pushd" | "popd" | "chdir")
}

/// Whether what happens inside stays inside.
pub(super) fn is_shell_of_its_own(kind: &str) -> bool {
    matches!(kind, "subshell" | "command_substitution" | "process_substitution")
}

struct Follow<'l> {
    programs: HashMap<usize, Vec<Word>>,
    ground: Option<Ground<'l>>,
    found: HashMap<usize, Rc<[Stand]>>,
    /// Where one stands when a statement begins.
    begun: HashMap<usize, Vec<Spot>>,
    is_lost: bool,
    variables: &'l Variables,
}

impl Follow<'_> {
    fn statement(&mut self, node: Node<'_>, line: &str, spots: &[Spot]) -> Result<Ends, Unreadable> {
        self.variables.steps().take(1 + spots.len())?;
        if spots.len() > MOST_SPOTS {
            self.is_lost = true;
        }
        if self.is_lost {
            return Ok(Ends::of(&[]));
        }
        self.begun.insert(node.id(), spots.to_vec());
        match node.kind() {
            "program" | "compound_statement" => self.in_turn(node, line, spots),
            kind if is_shell_of_its_own(kind) => {
                self.in_turn(node, line, spots)?;
                Ok(Ends::of(spots))
            }
            "list" => self.list(node, line, spots),
            "redirected_statement" => {
                let body = node.child_by_field_name("body");
                let ends = body.map_or_else(|| Ok(Ends::of(spots)), |body| self.statement(body, line, spots))?;
                // To the grammar a redirection may belong to a whole list; to bash, to its last command.
                let from = body.and_then(|body| self.begun.get(&last_of(body).id())).cloned().unwrap_or_else(|| spots.to_vec());
                let mut cursor = node.walk();
                for child in node.children(&mut cursor).filter(|child| Some(child.id()) != body.map(|body| body.id())) {
                    self.rest(child, line, &from)?;
                }
                Ok(ends)
            }
            "pipeline" => {
                let mut cursor = node.walk();
                let mut last = Ends::of(spots);
                for part in node.named_children(&mut cursor) {
                    last = self.statement(part, line, spots)?;
                }
                // In some shells the last part is no shell of its own.
                Ok(Ends::of(&merged(spots.to_vec(), last.either())))
            }
            "negated_command" => {
                let inner = node.named_child(0).map_or_else(|| Ok(Ends::of(spots)), |inner| self.statement(inner, line, spots))?;
                Ok(Ends::of(&inner.either()))
            }
            "command" => {
                self.rest(node, line, spots)?;
                Ok(self.command(node, spots))
            }
            _ => {
                self.rest(node, line, spots)?;
                Ok(Ends::of(spots))
            }
        }
    }

    /// One statement after another.
    fn in_turn(&mut self, node: Node<'_>, line: &str, spots: &[Spot]) -> Result<Ends, Unreadable> {
        let (mut here, mut last) = (spots.to_vec(), Ends::of(spots));
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let is_aside = child.next_sibling().is_some_and(|next| !next.is_named() && word::said(line, next.byte_range()) == "&");
            let ends = self.statement(child, line, &here)?;
            if !is_aside {
                here = merged(ends.well.clone(), ends.badly.clone());
                last = ends;
            }
        }
        Ok(last)
    }

    fn list(&mut self, node: Node<'_>, line: &str, spots: &[Spot]) -> Result<Ends, Unreadable> {
        let mut cursor = node.walk();
        let (mut so_far, mut is_and) = (None, true);
        for part in node.children(&mut cursor) {
            if !part.is_named() {
                is_and = word::said(line, part.byte_range()) == "&&";
                continue;
            }
            so_far = Some(match so_far {
                None => self.statement(part, line, spots)?,
                Some(Ends { well, badly }) if is_and => {
                    let then = self.statement(part, line, &well)?;
                    Ends { well: then.well, badly: merged(badly, then.badly) }
                }
                Some(Ends { well, badly }) => {
                    let then = self.statement(part, line, &badly)?;
                    Ends { well: merged(well, then.well), badly: then.badly }
                }
            });
        }
        Ok(so_far.unwrap_or_else(|| Ends::of(spots)))
    }

    /// Whatever stands below a node, none of which moves what comes after it.
    fn rest(&mut self, node: Node<'_>, line: &str, spots: &[Spot]) -> Result<(), Unreadable> {
        self.variables.steps().take(1)?;
        if matches!(node.kind(), "command" | "declaration_command" | "file_redirect") {
            let stands: Vec<Stand> = spots.iter().map(|spot| Stand { at: spot.at.clone(), is_doubtful: spot.is_doubtful }).collect();
            self.found.insert(node.id(), stands.into());
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if is_shell_of_its_own(child.kind()) {
                self.statement(child, line, spots)?;
            } else if child.child_count() > 0 {
                self.rest(child, line, spots)?;
            }
        }
        Ok(())
    }

    fn command(&self, node: Node<'_>, spots: &[Spot]) -> Ends {
        let words = self.programs.get(&node.id()).map(Vec::as_slice).unwrap_or_default();
        let program = words.first().map(name_of).unwrap_or_default();
        if !moves(&program) {
            return self.stays(&program, spots);
        }
        let options = |word: &&Word| !matches!(word.gist().as_str(), "-L" | "-P" | "-e" | "-@" | "--" | "-n" | "-q" | "-s");
        let to = words.iter().skip(1).find(options);
        let mut ends = Ends { well: Vec::new(), badly: Vec::new() };
        for spot in spots {
            let (there, fails) = self.moved(&program, to, spot);
            ends.well.extend(there);
            ends.badly.extend(fails.then(|| spot.clone()));
        }
        ends
    }

    /// Where a move leads, and whether it may fail.
    fn moved(&self, program: &str, to: Option<&Word>, spot: &Spot) -> (Option<Spot>, bool) {
        let known = to.and_then(Word::known);
        let mut there = Spot { before: Some(spot.at.clone()), ..spot.clone() };
        match (program, known.as_deref()) {
            ("popd", _) => match there.pushed.pop() {
                Some(back) => (Some(Spot { at: back, ..there }), false),
                None => (None, true),
            },
            (_, Some("-")) => match spot.before.clone() {
                Some(back) => (Some(Spot { at: back, ..there }), false),
                // Where one stood before the line.
                None => (Some(Spot { at: Word(vec![Piece::Hole(Vec::new())]), ..there }), true),
            },
            // Two that were pushed change places.
            ("pushd", None) if to.is_none() => match there.pushed.pop() {
                Some(back) => {
                    there.pushed.push(spot.at.clone());
                    (Some(Spot { at: back, ..there }), false)
                }
                None => (None, true),
            },
            (_, None) if to.is_none() => (Some(Spot { at: Word::text("~"), ..there }), false),
            (program, _) => {
                if program == "pushd" {
                    there.pushed.push(spot.at.clone());
                }
                let at = joined(&spot.at, to.cloned().unwrap_or_default());
                let is_up =
                    known.as_deref().is_some_and(|path| path.split('/').all(|part| matches!(part, "" | "." | "..")) && !path.is_empty());
                let is_there = || at.known().is_some_and(|path| self.ground.is_some_and(|ground| ground(&path)));
                let fails = !is_up && !is_there();
                (Some(Spot { at, ..there }), fails)
            }
        }
    }

    /// A program that does not move. One that only looks hardly ever fails; one
    /// that always ends well never does.
    fn stays(&self, program: &str, spots: &[Spot]) -> Ends {
        let badly = match program {
            "echo" | "printf" | "true" | ":" | "pwd" | "set" | "export" => Vec::new(),
            "test" | "[" | "[[" | "false" => spots.to_vec(),
            program if READERS.contains(&program) || program == "git" => {
                spots.iter().map(|spot| Spot { is_doubtful: true, ..spot.clone() }).collect()
            }
            _ => spots.to_vec(),
        };
        Ends { well: spots.to_vec(), badly }
    }
}

/// The last command of a list.
fn last_of(mut node: Node<'_>) -> Node<'_> {
    while matches!(node.kind(), "list" | "pipeline")
        && let Some(last) = node.named_child(node.named_child_count().saturating_sub(1))
    {
        node = last;
    }
    node
}

/// A path from a folder.
pub(super) fn joined(folder: &Word, path: Word) -> Word {
    let begins = path.0.first().map(|piece| if let Piece::Text(text) = piece { text.as_str() } else { "" }).unwrap_or_default();
    if begins.starts_with(['/', '~']) {
        return path;
    }
    let mut whole = folder.clone();
    if !whole.0.is_empty() {
        whole.0.push(Piece::Text("/".to_owned()));
    }
    whole.0.extend(path.0);
    match whole.known() {
        Some(known) => Some(straight(&known)).filter(|path| !path.is_empty()).map_or_else(Word::default, |path| Word::text(&path)),
        None => whole,
    }
}

/// A path without detours; `..` that lead out of where it begins stay.
fn straight(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if !matches!(*last, ".." | "~") => drop(parts.pop()),
            (part, _) => parts.push(part),
        }
    }
    let lead = if path.starts_with('/') { "/" } else { "" };
    format!("{lead}{}", parts.join("/"))
}

/// Both, each once; what is certain of one is not in doubt.
fn merged(mut one: Vec<Spot>, other: Vec<Spot>) -> Vec<Spot> {
    for spot in other {
        let same = |known: &&mut Spot| known.at == spot.at && known.before == spot.before && known.pushed == spot.pushed;
        match one.iter_mut().find(same) {
            Some(known) => known.is_doubtful &= spot.is_doubtful,
            None => one.push(spot),
        }
    }
    one
}
