//! From the grammar's tree to commands: assignments first, then every command
//! and redirection wherever it stands.

use std::borrow::Cow;
use std::collections::HashMap;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::guards::shell::stand::{self, Sourced, Stands};
use crate::guards::shell::steps::Steps;
use crate::guards::shell::word::{self, Piece, Variables, Word};
use crate::guards::shell::{Certainty, Effects, Ground, MOST_BYTES, ShellWrite, Stood, Target, Unreadable, commands, handed};

/// Lines in lines (`bash -c 'bash -c ..'`) that are followed.
const MOST_NESTED: usize = 6;
/// What the parser has done each time it asks whether to go on.
const STEPS_ASKED: usize = 1_000;
/// What it takes to begin with a line at all.
const STEPS_BEGUN: usize = 500;

/// Reads a line into what it does. `given` are the words it is started with, `$0`
/// first; `nested` counts the lines around it.
pub(super) fn read(line: &str, effects: &mut Effects, given: &[Word], nested: usize) -> Result<(), Unreadable> {
    read_on(line, effects, given, nested, None)
}

/// The same on ground of which something is known.
pub(super) fn read_on(
    line: &str,
    effects: &mut Effects,
    given: &[Word],
    nested: usize,
    ground: Option<Ground<'_>>,
) -> Result<(), Unreadable> {
    if nested > MOST_NESTED {
        return Err(Unreadable::TooDeep);
    }
    let line: &str = &unbroken(line);
    let steps = effects.steps.clone();
    let tree = parsed(line, &steps)?;
    let walk = Walk::of(tree.root_node(), &steps)?;
    let mut variables = Variables::new(steps.clone());
    variables.give(0, given);
    let mut pipes = Pipes::default();
    for (at, node) in walk.nodes.iter().enumerate() {
        pipes.heed(at, &walk, line, &steps)?;
        assign(*node, line, &mut variables)?;
        match node.kind() {
            "function_definition" => {
                effects.defines.extend(node.child_by_field_name("name").map(|name| word::said(line, name.byte_range()).to_owned()));
            }
            "command" => take_in(*node, &walk, line, &mut variables)?,
            // Two that are not ASCII are one to the grammar, so it may see the wrong end.
            "heredoc_start" if !word::said(line, node.byte_range()).is_ascii() => return Err(Unreadable::Odd),
            _ => {}
        }
    }
    let around = effects.here.clone();
    let stands = match &around {
        Stood::At(begins) => Stands::of(&walk, line, &variables, begins, ground, Sourced::MayMove)?,
        _ => None,
    };
    for (at, node) in walk.nodes.iter().enumerate() {
        let from = effects.writes.len();
        effects.here = stands.as_ref().and_then(|stands| stands.at(*node)).map_or(Stood::Anywhere, Stood::At);
        match node.kind() {
            "command" | "declaration_command" => command(at, &walk, line, &variables, pipes.fed(at, &walk), effects, nested)?,
            "file_redirect" => redirect(*node, line, &variables, effects)?,
            "variable_assignment" => run_later(*node, line, &variables, effects, nested)?,
            _ => {}
        }
        for write in effects.writes.iter_mut().skip(from).filter(|write| write.stood == Stood::Untold) {
            write.stood = effects.here.clone();
        }
    }
    effects.here = around;
    Ok(())
}

/// A line without ends of lines in the middle of a word, which bash does not see.
fn unbroken(line: &str) -> Cow<'_, str> {
    if !line.contains("\\\n") {
        return Cow::Borrowed(line);
    }
    let mut whole = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\\\n") {
        whole.push_str(before);
        let is_inside = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && c != '\\');
        if !(is_inside(whole.chars().next_back()) && is_inside(after.chars().next())) {
            whole.push_str("\\\n");
        }
        rest = after;
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

/// The grammar's tree of a line, within bounds.
pub(super) fn parsed(line: &str, steps: &Steps) -> Result<Tree, Unreadable> {
    if line.len() > MOST_BYTES {
        return Err(Unreadable::TooLong);
    }
    if is_too_deep(line) {
        return Err(Unreadable::TooDeep);
    }
    steps.take(STEPS_BEGUN)?;
    let mut parser = Parser::new();
    // Only a grammar built for another version of the library is refused.
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Unreadable::TooManySteps)?;
    let mut stops = |_: &ParseState| steps.take(STEPS_ASKED).is_err();
    let options = ParseOptions::new().progress_callback(&mut stops);
    let plain = plain(line)?;
    let bytes: &[u8] = &plain;
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options)).ok_or(Unreadable::TooManySteps)
}

/// Stands in the grammar's copy of a line for every byte of other than ASCII text.
const OTHER: u8 = 1;

/// The line as the grammar gets it, byte for byte as long. To bash, text that is not
/// ASCII is part of a word like any letter; the grammar's own code looks such
/// characters up in a table that does not hold them, and is killed for it.
fn plain(line: &str) -> Result<Cow<'_, [u8]>, Unreadable> {
    if line.as_bytes().contains(&OTHER) {
        return Err(Unreadable::Odd);
    }
    if line.is_ascii() {
        return Ok(Cow::Borrowed(line.as_bytes()));
    }
    Ok(Cow::Owned(line.bytes().map(|byte| if byte.is_ascii() { byte } else { OTHER }).collect()))
}

/// Signs in a row and brackets open at once that no honest line has, and on which a parser that
/// recovers from mistakes spends its time.
fn is_too_deep(line: &str) -> bool {
    const MOST_OPEN: usize = 200;
    const MOST_ALIKE: usize = 64;
    let mut open = 0usize;
    let (mut last, mut alike) = (0, 0);
    for byte in line.bytes() {
        alike = if byte == last { alike + 1 } else { 0 };
        last = byte;
        if alike > MOST_ALIKE && matches!(byte, b'<' | b'>' | b'|' | b'&' | b';' | b'(' | b')' | b'{' | b'}') {
            return true;
        }
        match byte {
            b'(' | b'{' | b'[' => open += 1,
            b')' | b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MOST_OPEN {
            return true;
        }
    }
    false
}

/// Every node, in the order of the text, and in which it stands. The tree itself
/// looks for a parent from the root down, which takes as long as the line is.
pub(super) struct Walk<'t> {
    pub(super) nodes: Vec<Node<'t>>,
    outer: Vec<Option<usize>>,
}

impl<'t> Walk<'t> {
    pub(super) fn of(root: Node<'t>, steps: &Steps) -> Result<Self, Unreadable> {
        let mut walk = Self { nodes: Vec::new(), outer: Vec::new() };
        let mut around: Vec<usize> = Vec::new();
        let mut cursor = root.walk();
        loop {
            steps.take(1)?;
            walk.outer.push(around.last().copied());
            walk.nodes.push(cursor.node());
            if cursor.goto_first_child() {
                around.push(walk.nodes.len() - 1);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Ok(walk);
                }
                around.pop();
            }
        }
    }

    /// Whether nothing lies between a command and the line, or the brackets it is
    /// in, that might run it twice or not at all for another reason than `&&`.
    pub(super) fn leads_straight_to(&self, at: usize) -> bool {
        let mut outer = self.outer[at];
        while let Some(at) = outer {
            let kind = self.nodes[at].kind();
            if kind == "program" || stand::is_shell_of_its_own(kind) {
                return true;
            }
            if !matches!(kind, "list" | "compound_statement" | "redirected_statement" | "pipeline" | "negated_command") {
                return false;
            }
            outer = self.outer[at];
        }
        true
    }

    /// The node around another, if it is of this kind.
    fn around(&self, at: usize, kind: &str) -> Option<usize> {
        self.outer[at].filter(|outer| self.nodes[*outer].kind() == kind)
    }
}

/// What is piped from one command into the next: literal words, of which `xargs`
/// makes arguments and a shell makes lines.
#[derive(Default)]
struct Pipes {
    /// By pipeline.
    said: HashMap<usize, Vec<String>>,
    /// By part of a pipeline: which, and how much was said before it.
    before: HashMap<usize, (usize, usize)>,
}

impl Pipes {
    fn heed(&mut self, at: usize, walk: &Walk<'_>, line: &str, steps: &Steps) -> Result<(), Unreadable> {
        if let Some(pipeline) = walk.around(at, "pipeline").filter(|_| walk.nodes[at].is_named()) {
            let said = self.said.entry(pipeline).or_default();
            self.before.insert(at, (pipeline, said.len()));
            if said.len() <= word::MOST_LITERALS {
                said.extend(word::literals(walk.nodes[at], line, steps)?);
                *said = word::told(std::mem::take(said));
            }
        }
        Ok(())
    }

    /// What is piped into a node, or into what it stands in.
    fn fed(&self, at: usize, walk: &Walk<'_>) -> &[String] {
        let mut part = Some(at);
        while let Some(at) = part {
            if let Some((pipeline, many)) = self.before.get(&at) {
                return self.said.get(pipeline).and_then(|said| said.get(..*many)).unwrap_or_default();
            }
            // A command in brackets or a loop reads what they are given.
            let reads_on = |outer: &usize| {
                matches!(
                    walk.nodes[*outer].kind(),
                    "redirected_statement" | "subshell" | "compound_statement" | "while_statement" | "do_group" | "if_statement" | "list"
                )
            };
            part = walk.outer[at].filter(reads_on);
        }
        &[]
    }
}

pub(super) fn assign(node: Node<'_>, line: &str, variables: &mut Variables) -> Result<(), Unreadable> {
    match node.kind() {
        "variable_assignment" => {
            let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value")) else { return Ok(()) };
            let name = word::said(line, name.byte_range());
            if value.kind() == "array" {
                let mut parts = Vec::new();
                let mut cursor = value.walk();
                for part in value.named_children(&mut cursor) {
                    // `[key]=value`: the key is a name, and no pattern.
                    let keyed = word::said(line, part.byte_range()).strip_prefix('[').and_then(|said| said.split_once("]="));
                    match keyed {
                        Some((key, value)) => parts.push((Some(key.to_owned()), Word::text(value.trim_matches(['"', '\''])))),
                        None => parts.push((None, word::read(part, line, variables, 0)?)),
                    }
                }
                variables.set_list(name, parts);
                return Ok(());
            }
            let is_reference = node.parent().filter(|outer| outer.kind() == "declaration_command").is_some_and(|outer| {
                let mut cursor = outer.walk();
                let is = |child: Node<'_>| word::said(line, child.byte_range()).strip_prefix('-').is_some_and(|flags| flags.contains('n'));
                outer.children(&mut cursor).any(|child| child.kind() == "word" && is(child))
            });
            let value = word::read(value, line, variables, 0)?;
            if let Some(to) = value.known().filter(|_| is_reference) {
                variables.refer(name, &to);
                return Ok(());
            }
            if let Some((list, _)) = name.split_once('[') {
                variables.set(list, value.clone());
            }
            variables.set(name, value);
        }
        "for_statement" => {
            let Some(name) = node.child_by_field_name("variable") else { return Ok(()) };
            let mut cursor = node.walk();
            for value in node.children_by_field_name("value", &mut cursor) {
                let value = word::read(value, line, variables, 0)?;
                variables.set(word::said(line, name.byte_range()), value);
            }
        }
        _ => {}
    }
    Ok(())
}

/// `EDITOR='…' git commit`: a value that some program runs is a line.
fn run_later(node: Node<'_>, line: &str, variables: &Variables, effects: &mut Effects, nested: usize) -> Result<(), Unreadable> {
    let name = node.child_by_field_name("name").map(|name| word::said(line, name.byte_range()));
    match node.child_by_field_name("value").filter(|_| name.is_some_and(handed::is_run)) {
        Some(value) => handed::in_variable(&word::read(value, line, variables, 0)?, effects, nested),
        None => Ok(()),
    }
}

/// `read f` sets `f` to something that was said elsewhere on the line, if anywhere.
fn take_in(node: Node<'_>, walk: &Walk<'_>, line: &str, variables: &mut Variables) -> Result<(), Unreadable> {
    let name = node.child_by_field_name("name").map(|name| word::said(line, name.byte_range()));
    if name == Some("set") {
        let mut cursor = node.walk();
        let mut given = Vec::new();
        for child in node.children_by_field_name("argument", &mut cursor) {
            given.push(word::read(child, line, variables, 0)?);
        }
        if let Some(at) = given.iter().position(|word| word.gist() == "--") {
            variables.give(1, given.get(at + 1..).unwrap_or_default());
        }
        return Ok(());
    }
    if name == Some("printf") {
        return print_into(node, line, variables);
    }
    if !name.is_some_and(|name| matches!(name, "read" | "mapfile" | "readarray")) {
        return Ok(());
    }
    let Some(whole) = walk.nodes.first() else { return Ok(()) };
    let sources = word::literals(*whole, line, variables.steps())?;
    let mut cursor = node.walk();
    for child in node.children_by_field_name("argument", &mut cursor) {
        let name = word::said(line, child.byte_range());
        if !name.starts_with('-') {
            variables.set(name, made_of(&sources));
        }
    }
    Ok(())
}

/// `printf -v name format words…` sets a variable.
fn print_into(node: Node<'_>, line: &str, variables: &mut Variables) -> Result<(), Unreadable> {
    let mut given = Vec::new();
    let mut cursor = node.walk();
    for child in node.children_by_field_name("argument", &mut cursor) {
        given.push(word::read(child, line, variables, 0)?);
    }
    let [flag, name, format, words @ ..] = given.as_slice() else { return Ok(()) };
    if flag.gist() != "-v" {
        return Ok(());
    }
    let mut words: Vec<String> =
        words.iter().take(word::MOST_LITERALS).flat_map(|word| word.known().into_iter().chain(word.sources().map(str::to_owned))).collect();
    let mut whole = format.gist();
    for word in &words {
        whole = whole.replacen("%s", word, 1).replacen("%b", word, 1);
    }
    words.push(whole);
    variables.set(&name.gist(), made_of(&word::told(words)));
    Ok(())
}

fn command(
    at: usize,
    walk: &Walk<'_>,
    line: &str,
    variables: &Variables,
    piped: &[String],
    effects: &mut Effects,
    nested: usize,
) -> Result<(), Unreadable> {
    let node = walk.nodes[at];
    let mut words = Vec::new();
    let mut fed: Option<String> = None;
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        match child.kind() {
            "variable_assignment" | "file_redirect" => {}
            "herestring_redirect" => {
                fed = child.named_child(0).map(|node| word::read(node, line, variables, 0)).transpose()?.map(|word| word.gist());
            }
            _ => words.push(word::read(child, line, variables, 0)?),
        }
    }
    let around = walk.around(at, "redirected_statement").map(|outer| walk.nodes[outer]);
    if let Some(around) = around {
        fed = match fed {
            Some(fed) => Some(fed),
            None => heredoc(around, line, variables)?,
        };
        words.extend(after_redirects(around, line, variables)?);
    }
    let from = if words.iter().any(|word| matches!(commands::name_of(word).as_str(), "patch" | "git")) {
        read_from(at, walk, line, variables)?
    } else {
        None
    };
    let known = commands::Surroundings { fed: fed.as_deref(), piped, from: from.as_ref() };
    if let (Some(content), Some(around)) = (&fed, around)
        && words.iter().map(Word::gist).eq(["cat".to_owned()])
    {
        // `cat > file <<EOF`: the line holds the whole new content.
        let plain = !around_has_expansions(around);
        let mut cursor = around.walk();
        for child in around.children(&mut cursor).filter(|child| plain && child.kind() == "file_redirect") {
            whole_content(child, line, variables, content, effects)?;
        }
    }
    commands::run(words, &known, effects, nested)
}

/// Words that stand behind a redirection: `tee < in out` is `tee out < in`.
fn after_redirects(statement: Node<'_>, line: &str, variables: &Variables) -> Result<Vec<Word>, Unreadable> {
    let mut words = Vec::new();
    let mut cursor = statement.walk();
    for redirect in statement.children(&mut cursor) {
        let (field, skipped) = match redirect.kind() {
            "file_redirect" => ("destination", 1),
            "heredoc_redirect" => ("argument", 0),
            _ => continue,
        };
        let mut inner = redirect.walk();
        for word in redirect.children_by_field_name(field, &mut inner).skip(skipped) {
            words.push(word::read(word, line, variables, 0)?);
        }
    }
    Ok(words)
}

/// Statements around a command that its input may hang on.
const MOST_AROUND: usize = 4;

/// The file that a command's input comes from: `patch -p1 < file`, and in a list the
/// grammar hangs it on the whole: `cd x && patch < file`.
fn read_from(at: usize, walk: &Walk<'_>, line: &str, variables: &Variables) -> Result<Option<Word>, Unreadable> {
    let is_input = |child: &Node<'_>| {
        let said = word::said(line, child.byte_range()).trim_start();
        child.kind() == "file_redirect" && said.starts_with('<') && !said.starts_with("<&")
    };
    let around = |at: &usize| walk.outer[*at].filter(|outer| matches!(walk.nodes[*outer].kind(), "redirected_statement" | "list"));
    for at in std::iter::successors(Some(at), around).take(MOST_AROUND) {
        let mut cursor = walk.nodes[at].walk();
        let file = walk.nodes[at].children(&mut cursor).filter(is_input).find_map(|child| child.child_by_field_name("destination"));
        if let Some(file) = file {
            return word::read(file, line, variables, 0).map(Some);
        }
    }
    Ok(None)
}

fn whole_content(node: Node<'_>, line: &str, variables: &Variables, content: &str, effects: &mut Effects) -> Result<(), Unreadable> {
    let replaces = word::said(line, node.byte_range()).trim_start().starts_with('>') && !word::said(line, node.byte_range()).contains(">>");
    if let (true, Some(target)) = (replaces, node.child_by_field_name("destination")) {
        let target = word::read(target, line, variables, 0)?;
        effects.known.insert((target.clone(), effects.here.clone()));
        effects.writes.push(ShellWrite {
            target: Target::Path(target),
            certainty: Certainty::Certain,
            by: "cat >".to_owned(),
            content: Some(content.to_owned()),
            stood: Stood::Untold,
        });
    }
    Ok(())
}

fn around_has_expansions(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|child| child.kind() == "heredoc_redirect").any(|redirect| {
        let mut cursor = redirect.walk();
        redirect.children(&mut cursor).filter(|child| child.kind() == "heredoc_body").any(|body| {
            body.named_child_count() > 0 && {
                let mut cursor = body.walk();
                body.named_children(&mut cursor).any(|part| part.kind() != "heredoc_content")
            }
        })
    })
}

/// The text of a statement's here-document, with the values of variables that are
/// known in their place.
fn heredoc(statement: Node<'_>, line: &str, variables: &Variables) -> Result<Option<String>, Unreadable> {
    let mut cursor = statement.walk();
    let Some(redirect) = statement.children(&mut cursor).find(|child| child.kind() == "heredoc_redirect") else { return Ok(None) };
    let mut cursor = redirect.walk();
    let Some(body) = redirect.children(&mut cursor).find(|child| child.kind() == "heredoc_body") else { return Ok(None) };
    let (mut text, mut at) = (String::new(), body.start_byte());
    let mut cursor = body.walk();
    for child in body.named_children(&mut cursor).filter(|child| matches!(child.kind(), "simple_expansion" | "expansion")) {
        if let Some(known) = word::read(child, line, variables, 0)?.known() {
            text.push_str(word::said(line, at..child.start_byte()));
            text.push_str(&known);
            at = child.end_byte();
        }
    }
    text.push_str(word::said(line, at..body.end_byte()));
    Ok(Some(text))
}

fn redirect(node: Node<'_>, line: &str, variables: &Variables, effects: &mut Effects) -> Result<(), Unreadable> {
    let mut cursor = node.walk();
    let sign = node
        .children(&mut cursor)
        .map(|child| word::said(line, child.byte_range()).to_owned())
        .find(|sign| sign.contains('>') && sign.len() <= 3);
    let (Some(sign), Some(target)) = (sign, node.child_by_field_name("destination")) else { return Ok(()) };
    let target = word::read(target, line, variables, 0)?;
    // `2>&1` writes to no file.
    let to_descriptor = sign.ends_with('&') && target.known().is_some_and(|text| text == "-" || text.bytes().all(|b| b.is_ascii_digit()));
    if !to_descriptor && !effects.known.contains(&(target.clone(), effects.here.clone())) {
        let (target, stood) = (Target::Path(target), Stood::Untold);
        effects.writes.push(ShellWrite { target, certainty: Certainty::Certain, by: sign, content: None, stood });
    }
    Ok(())
}

/// A word that holds nothing but what other words made.
pub(super) fn made_of(sources: &[String]) -> Word {
    Word(vec![Piece::Hole(sources.to_vec())])
}
