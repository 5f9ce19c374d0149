//! Markdown by its headings: enough to find the parts of a record.

/// A part of a document under its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkdownSection {
    /// Number of `#`; 0 for text before the first heading.
    pub level: usize,
    /// The heading's words.
    pub title: String,
    /// The line of the heading, from one.
    pub line: u64,
    /// The text under it, up to the next heading.
    pub body: String,
}

impl MarkdownSection {
    /// Whether the heading begins with one of these words, whatever the case.
    pub(super) fn is(&self, words: &[&str]) -> bool {
        let title = self.title.to_lowercase();
        words.iter().any(|word| title.starts_with(word))
    }
}

/// A document: its front matter, and its parts in order.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownDocument {
    /// `key: value` between the first two lines of dashes.
    pub front: Vec<(String, String)>,
    /// The parts.
    pub sections: Vec<MarkdownSection>,
}

/// Takes a document apart. What looks like a heading inside a block of code is none.
pub(super) fn parse(text: &str) -> MarkdownDocument {
    let text = text.trim_start_matches('\u{FEFF}');
    let mut document = MarkdownDocument::default();
    let mut lines = (1_u64..).zip(text.lines()).peekable();
    if lines.peek().is_some_and(|(_, line)| line.trim_end() == "---")
        && text.lines().skip(1).any(|line| line.trim_end() == "---")
    {
        lines.next();
        for (_, line) in lines.by_ref() {
            if line.trim_end() == "---" {
                break;
            }
            if let Some((key, value)) = line.split_once(':') {
                document.front.push((
                    key.trim().to_lowercase(),
                    value.trim().trim_matches(['"', '\'']).to_owned(),
                ));
            }
        }
    }
    let mut section =
        MarkdownSection { level: 0, title: String::new(), line: 1, body: String::new() };
    let mut fence: Option<String> = None;
    for (number, line) in lines {
        let bare = line.trim_start();
        let ticks: String = bare.chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &fence {
            Some(open) if ticks.starts_with(open.as_str()) => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            _ => {}
        }
        let level = line.chars().take_while(|c| *c == '#').count();
        if fence.is_none() && (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']) {
            let title = line[level..].trim().trim_end_matches('#').trim().to_owned();
            document.sections.push(std::mem::replace(
                &mut section,
                MarkdownSection { level, title, line: number, body: String::new() },
            ));
        } else {
            section.body.push_str(line);
            section.body.push('\n');
        }
    }
    document.sections.push(section);
    document
}

/// The points of a list, each with what is indented under it; and what is no list.
pub(super) fn points(body: &str) -> (Vec<String>, String) {
    let (mut points, mut rest): (Vec<String>, String) = (Vec::new(), String::new());
    let mut in_point = false;
    for line in body.lines() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let point = bare
            .strip_prefix("* ")
            .or_else(|| bare.strip_prefix("- "))
            .or_else(|| bare.strip_prefix("+ "))
            .or_else(|| numbered(bare));
        match (point, points.last_mut()) {
            (Some(point), _) if indent < 2 => {
                points.push(point.trim().to_owned());
                in_point = true;
            }
            (_, Some(last))
                if in_point
                    && (indent >= 2
                        || (!bare.is_empty()
                            && point.is_none()
                            && !last.is_empty()
                            && indent > 0)) =>
            {
                last.push('\n');
                last.push_str(bare);
            }
            _ => {
                in_point = false;
                rest.push_str(line);
                rest.push('\n');
            }
        }
    }
    (points, rest.trim().to_owned())
}

/// The paragraphs of a text; a block of code belongs to the one before it.
pub(super) fn paragraphs(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut in_code, mut after_blank) = (false, true);
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if line.trim().is_empty() && !in_code {
            after_blank = true;
            continue;
        }
        match found.last_mut() {
            Some(last) if !after_blank || is_fence || in_code => {
                last.push('\n');
                last.push_str(line);
            }
            _ => found.push(line.to_owned()),
        }
        in_code ^= is_fence;
        after_blank = false;
    }
    found
}

/// A numbered point without its number.
fn numbered(line: &str) -> Option<&str> {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    (digits > 0)
        .then(|| line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") ")))
        .flatten()
}

/// Text without the emphasis around it.
pub(super) fn plain(text: &str) -> String {
    text.trim().trim_matches(['*', '_', '"', '`']).trim().to_owned()
}

/// A quotation without its marks, if all of it is one.
pub(super) fn unquoted(body: &str) -> String {
    let lines: Vec<&str> = body.trim().lines().collect();
    if lines.is_empty() || !lines.iter().all(|line| line.starts_with('>')) {
        return body.trim().to_owned();
    }
    lines
        .iter()
        .map(|line| line.strip_prefix("> ").or_else(|| line.strip_prefix('>')).unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}
