//! From the grammar's tree to commands: assignments first, then every command
//! and redirection wherever it stands.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::guards::shell::word::{self, Piece, Variables, Word};
use crate::guards::shell::{Certainty, Effects, MOST_BYTES, ShellWrite, Target, Unreadable, commands};

/// Lines in lines (`bash -c 'bash -c ..'`) that are followed.
const MOST_NESTED: usize = 6;
/// Times the parser asks whether to go on; it does every hundred steps or so.
const MOST_ASKED: usize = 400;
/// Nodes of one line that are looked at.
const MOST_NODES: usize = 200_000;

/// Reads a line into what it does. `nested` counts the lines around it.
pub(super) fn read(line: &str, effects: &mut Effects, nested: usize) -> Result<(), Unreadable> {
    if nested > MOST_NESTED {
        return Err(Unreadable::TooDeep);
    }
    let tree = parsed(line)?;
    let nodes = in_order(tree.root_node())?;
    let mut variables = Variables::default();
    for node in &nodes {
        assign(*node, line, &mut variables)?;
        if node.kind() == "function_definition" {
            effects.defines.extend(node.child_by_field_name("name").map(|name| line[name.byte_range()].to_owned()));
        }
    }
    for node in &nodes {
        match node.kind() {
            "command" | "declaration_command" => command(*node, line, &variables, effects, nested)?,
            "file_redirect" => redirect(*node, line, &variables, effects)?,
            _ => {}
        }
    }
    Ok(())
}

/// The grammar's tree of a line, within bounds.
pub(super) fn parsed(line: &str) -> Result<Tree, Unreadable> {
    if line.len() > MOST_BYTES {
        return Err(Unreadable::TooLong);
    }
    if is_too_deep(line) {
        return Err(Unreadable::TooDeep);
    }
    let mut parser = Parser::new();
    // Only a grammar built for another version of the library is refused.
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Unreadable::TooManySteps)?;
    let mut asked = 0;
    let mut go_on = |_: &ParseState| {
        asked += 1;
        asked > MOST_ASKED
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let bytes = line.as_bytes();
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options)).ok_or(Unreadable::TooManySteps)
}

/// Brackets open at once that no honest line has, and on which a parser that
/// recovers from mistakes spends its time.
fn is_too_deep(line: &str) -> bool {
    const MOST_OPEN: usize = 200;
    let mut open = 0usize;
    for byte in line.bytes() {
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

/// Every node, in the order of the text.
pub(super) fn in_order(root: Node<'_>) -> Result<Vec<Node<'_>>, Unreadable> {
    let mut nodes = Vec::new();
    let mut cursor = root.walk();
    let walked: ControlFlow<()> = loop {
        if nodes.len() >= MOST_NODES {
            break ControlFlow::Break(());
        }
        nodes.push(cursor.node());
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        let mut ended = true;
        while cursor.goto_parent() {
            if cursor.goto_next_sibling() {
                ended = false;
                break;
            }
        }
        if ended {
            break ControlFlow::Continue(());
        }
    };
    if walked.is_break() { Err(Unreadable::TooManySteps) } else { Ok(nodes) }
}

pub(super) fn assign(node: Node<'_>, line: &str, variables: &mut Variables) -> Result<(), Unreadable> {
    match node.kind() {
        "variable_assignment" => {
            let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value")) else { return Ok(()) };
            let value = word::read(value, line, variables, 0)?;
            variables.set(&line[name.byte_range()], value);
        }
        "for_statement" => {
            let Some(name) = node.child_by_field_name("variable") else { return Ok(()) };
            let mut cursor = node.walk();
            for value in node.children_by_field_name("value", &mut cursor) {
                let value = word::read(value, line, variables, 0)?;
                variables.set(&line[name.byte_range()], value);
            }
        }
        _ => {}
    }
    Ok(())
}

fn command(node: Node<'_>, line: &str, variables: &Variables, effects: &mut Effects, nested: usize) -> Result<(), Unreadable> {
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
    let around = node.parent().filter(|parent| parent.kind() == "redirected_statement");
    if let Some(around) = around {
        fed = fed.or_else(|| heredoc(around, line));
    }
    let piped = piped_in(node, line);
    let known = commands::Surroundings { fed: fed.as_deref(), piped: &piped };
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

fn whole_content(node: Node<'_>, line: &str, variables: &Variables, content: &str, effects: &mut Effects) -> Result<(), Unreadable> {
    let replaces = line[node.byte_range()].trim_start().starts_with('>') && !line[node.byte_range()].contains(">>");
    if let (true, Some(target)) = (replaces, node.child_by_field_name("destination")) {
        let target = Target::Path(word::read(target, line, variables, 0)?);
        effects.writes.push(ShellWrite {
            target,
            certainty: Certainty::Certain,
            by: "cat >".to_owned(),
            content: Some(content.to_owned()),
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

/// The text of a statement's here-document.
fn heredoc(statement: Node<'_>, line: &str) -> Option<String> {
    let mut cursor = statement.walk();
    let redirect = statement.children(&mut cursor).find(|child| child.kind() == "heredoc_redirect")?;
    let mut cursor = redirect.walk();
    let body = redirect.children(&mut cursor).find(|child| child.kind() == "heredoc_body")?;
    Some(line[body.byte_range()].to_owned())
}

/// Literal words of what is piped into a command: `xargs` makes arguments of them.
fn piped_in(node: Node<'_>, line: &str) -> Vec<String> {
    let whole = match node.parent() {
        Some(parent) if parent.kind() == "redirected_statement" => parent,
        _ => node,
    };
    let Some(pipeline) = whole.parent().filter(|parent| parent.kind() == "pipeline") else { return Vec::new() };
    let mut cursor = pipeline.walk();
    pipeline.named_children(&mut cursor).take_while(|part| part.id() != whole.id()).flat_map(|part| word::literals(part, line)).collect()
}

fn redirect(node: Node<'_>, line: &str, variables: &Variables, effects: &mut Effects) -> Result<(), Unreadable> {
    let mut cursor = node.walk();
    let sign =
        node.children(&mut cursor).map(|child| line[child.byte_range()].to_owned()).find(|sign| sign.contains('>') && sign.len() <= 3);
    let (Some(sign), Some(target)) = (sign, node.child_by_field_name("destination")) else { return Ok(()) };
    let target = word::read(target, line, variables, 0)?;
    // `2>&1` writes to no file.
    let to_descriptor = sign.ends_with('&') && target.known().is_some_and(|text| text == "-" || text.bytes().all(|b| b.is_ascii_digit()));
    let is_judged = effects.writes.iter().any(|write| write.content.is_some() && write.target == Target::Path(target.clone()));
    if !to_descriptor && !is_judged {
        effects.writes.push(ShellWrite { target: Target::Path(target), certainty: Certainty::Certain, by: sign, content: None });
    }
    Ok(())
}

/// A word that holds nothing but what other words made.
pub(super) fn made_of(sources: &[String]) -> Word {
    Word(vec![Piece::Hole(sources.to_vec())])
}
