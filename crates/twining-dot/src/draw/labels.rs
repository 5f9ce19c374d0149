//! What a label says when it is shown: escapes resolved, lines broken.

use crate::graph::{Edge, Node};
use crate::id::DotId;

use super::options::DrawOptions;

/// As many lines as fit a box, as long as they may be.
const LINES: usize = 4;
const LINE: usize = 28;

/// What is written into a node.
pub(super) fn node_lines(node: &Node, options: &DrawOptions) -> Vec<String> {
    let label = options
        .label
        .name()
        .and_then(|name| node.attributes.get(name))
        .map(|attribute| &attribute.value);
    let shown =
        label.map(|label| resolved_label(label, &node.id)).filter(|text| !text.trim().is_empty());
    wrapped(&shown.unwrap_or_else(|| node.id.as_str().to_owned()))
}

/// What is written on an edge.
pub(super) fn edge_label(edge: &Edge, options: &DrawOptions) -> Option<String> {
    let label = options.edge_label.name().and_then(|name| edge.attributes.get(name))?;
    let text = resolved_label(&label.value, &edge.from).replace('\n', " ");
    let text = text.trim();
    (!text.is_empty()).then(|| shortened(text, LINE))
}

/// `\n`, `\l` and `\r` break the line, `\N` is the node; of HTML the text alone.
fn resolved_label(label: &DotId, node: &DotId) -> String {
    let mut out = String::new();
    if label.is_html() {
        let mut tags = 0_usize;
        for letter in label.as_str().chars() {
            match letter {
                '<' => tags += 1,
                '>' => {
                    tags = tags.saturating_sub(1);
                    out.push(' ');
                }
                _ if tags == 0 => out.push(letter),
                _ => {}
            }
        }
        let plain = out
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&nbsp;", " ")
            .replace("&amp;", "&");
        return plain.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let mut letters = label.as_str().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n' | 'l' | 'r') => out.push('\n'),
                Some('N') => out.push_str(node.as_str()),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            _ => out.push(letter),
        }
    }
    out
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let word = shortened(word, LINE);
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > LINE {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
    }
    if lines.len() > LINES {
        lines.truncate(LINES);
        if let Some(last) = lines.last_mut() {
            *last = format!("{}…", last.chars().take(LINE - 1).collect::<String>());
        }
    }
    lines
}

/// A text with each letter that means something else where it is drawn replaced.
pub(super) fn escaped(text: &str, replaced: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match replaced(letter) {
            Some(text) => out.push_str(text),
            None => out.push(letter),
        }
    }
    out
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        format!("{}…", text.chars().take(most - 1).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_html_are_shown_as_text() {
        let node = DotId::new("a");
        assert_eq!(resolved_label(&DotId::new(r"x\ny \N \\ \q"), &node), "x\ny a \\ q");
        let html = DotId::html("<b>bold &amp; more</b>").expect("balanced");
        assert_eq!(resolved_label(&html, &node), "bold & more");
    }

    #[test]
    fn long_labels_are_broken_and_cut() {
        let lines = wrapped(&"word ".repeat(60));
        assert_eq!(lines.len(), LINES);
        assert!(lines.iter().all(|line| line.chars().count() <= LINE));
        assert!(lines[LINES - 1].ends_with('…'));
    }
}
