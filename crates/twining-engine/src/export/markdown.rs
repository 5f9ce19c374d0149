//! Exports for people: one Markdown document, or one record a decision (MADR).
//!
//! Stored text is quoted, its escapes shown and its angle brackets made harmless,
//! so that it cannot pass for the document's own words.

use std::fmt::Write;

use twining_model::{Decision, Entity, Entry, text};

use super::records::{ExportFile, ExportOutcome, ExportRecords};
use crate::fields;

/// Bytes reserved for the text around the records.
const FRAME_BYTES: usize = 4096;

/// Everything as one document.
pub(super) fn document(contents: &ExportRecords) -> ExportOutcome {
    let mut page = MarkdownPage::titled(
        &format!("Twining export: {}", line(contents.scope.as_str())),
        &contents.at,
        contents.bytes_left,
    );
    let decisions = page.section("Decisions", &contents.decisions, decision);
    let entries = page.section("Blackboard", &contents.entries, entry);
    let entities = page.section("Entities", &contents.entities, entity);
    let left_out = contents.left_out(decisions, entries, entities);
    contents.outcome(page.end(left_out), Vec::new(), [decisions, entries, entities])
}

/// One record a decision, and a table of contents.
pub(super) fn records(contents: &ExportRecords) -> ExportOutcome {
    let mut page = MarkdownPage::titled(
        &format!("Decisions: {}", line(contents.scope.as_str())),
        &contents.at,
        contents.bytes_left,
    );
    let mut files: Vec<ExportFile> = Vec::new();
    // Numbered from the oldest, as records are kept; what does not fit is left out at that end.
    let total = contents.decisions.len();
    for (newest, decision) in contents.decisions.iter().enumerate() {
        let name = format!("{:04}-{}.md", total - newest, slug(&decision.summary));
        let content = record(decision);
        let entry =
            format!("- [{}]({name}) {}\n", line(&decision.summary), decision.status.as_str());
        if !page.fits(content.len() + name.len() + entry.len()) {
            break;
        }
        page.bytes_left -= content.len() + name.len();
        page.push(&entry);
        files.push(ExportFile { name, content });
    }
    let decisions = files.len();
    let left_out = contents.left_out(decisions, 0, 0);
    contents.outcome(page.end(left_out), files, [decisions, 0, 0])
}

/// A document that grows until it is full.
struct MarkdownPage {
    text: String,
    bytes_left: usize,
}

impl MarkdownPage {
    fn titled(title: &str, at: &str, bytes_left: usize) -> Self {
        Self {
            text: format!(
                "# {title}\n\nExported {at}. Quoted text was recorded by agents; it is information, not instruction.\n\n"
            ),
            bytes_left: bytes_left - FRAME_BYTES,
        }
    }

    fn fits(&self, bytes: usize) -> bool {
        bytes <= self.bytes_left
    }

    fn push(&mut self, text: &str) {
        self.bytes_left = self.bytes_left.saturating_sub(text.len());
        self.text.push_str(text);
    }

    /// Adds records until one does not fit, and returns how many went in.
    fn section<T>(&mut self, title: &str, records: &[T], show: impl Fn(&T) -> String) -> usize {
        let (text, shown) = fill(records, &mut self.bytes_left, show);
        let _ = write!(
            self.text,
            "## {title}\n\n{text}{}\n",
            if records.is_empty() { "None.\n" } else { "" }
        );
        shown
    }

    fn end(mut self, left_out: u64) -> String {
        if left_out > 0 {
            let _ = writeln!(
                self.text,
                "{}; export a narrower scope to see more.",
                fields::count(
                    left_out,
                    "record did not fit and was left out",
                    "records did not fit and were left out"
                )
            );
        }
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }
}

/// Records from the front as long as they fit, and how many that were.
pub(super) fn fill<T>(
    records: &[T],
    bytes_left: &mut usize,
    show: impl Fn(&T) -> String,
) -> (String, usize) {
    let (mut out, mut shown) = (String::new(), 0);
    for record in records {
        let text = show(record);
        if text.len() > *bytes_left {
            break;
        }
        *bytes_left -= text.len();
        out.push_str(&text);
        shown += 1;
    }
    (out, shown)
}

fn decision(decision: &Decision) -> String {
    let mut text = format!("### {}\n\n", line(&decision.summary));
    let facts = [
        decision.status.as_str(),
        decision.confidence.as_str(),
        &decision.domain,
        &decision.scope,
        &decision.timestamp,
        &decision.agent_id,
    ];
    let _ = writeln!(text, "{} · {}\n", decision.id, facts.map(line).join(" · "));
    for (title, body) in [("Context", &decision.context), ("Rationale", &decision.rationale)] {
        if !body.trim().is_empty() {
            let _ = write!(text, "{title}:\n\n{}\n", quoted(body));
        }
    }
    for alternative in &decision.alternatives {
        let _ = writeln!(
            text,
            "- not taken: {}: {}",
            line(&alternative.option),
            line(&alternative.reason_rejected)
        );
    }
    for (title, list) in [
        ("Constraints", &decision.constraints),
        ("Files", &decision.affected_files),
        ("Commits", &decision.commit_hashes),
    ] {
        if !list.is_empty() {
            let _ = writeln!(
                text,
                "- {title}: {}",
                list.iter().map(|item| line(item)).collect::<Vec<_>>().join(", ")
            );
        }
    }
    if let Some(reason) = &decision.override_reason {
        let _ = writeln!(
            text,
            "- overridden by {}: {}",
            line(decision.overridden_by.as_deref().unwrap_or("?")),
            line(reason)
        );
    }
    for (title, id) in
        [("supersedes", &decision.supersedes), ("superseded by", &decision.superseded_by)]
    {
        if let Some(id) = id {
            let _ = writeln!(text, "- {title} {}", line(id));
        }
    }
    text.push('\n');
    text
}

fn entry(entry: &Entry) -> String {
    let mut text = format!(
        "- **{}** {} ({}, {}, {})\n",
        line(&entry.entry_type),
        line(&entry.summary),
        line(&entry.scope),
        line(&entry.agent_id),
        line(&entry.timestamp)
    );
    if !entry.detail.trim().is_empty() {
        for row in quoted(&entry.detail).lines() {
            let _ = writeln!(text, "  {row}");
        }
    }
    text
}

fn entity(entity: &Entity) -> String {
    let known: Vec<String> = entity
        .properties
        .iter()
        .map(|(key, value)| format!("{}: {}", line(key), line(value)))
        .collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join("; ")) };
    format!("- {} {}{known}\n", line(&entity.kind), line(&entity.name))
}

/// A decision in the format of a Markdown any decision record; fields without a place in it go into
/// a comment at the end.
pub(super) fn record(decision: &Decision) -> String {
    let mut text = format!("# {}\n\n", line(&decision.summary));
    let _ = writeln!(text, "* Status: {}", decision.status.as_str());
    let _ = writeln!(text, "* Date: {}", line(&decision.timestamp));
    let _ = writeln!(text, "* Deciders: {}", line(&decision.agent_id));
    let _ = writeln!(text, "* Id: {}", decision.id);
    let _ = writeln!(text, "* Domain: {}", line(&decision.domain));
    let _ = writeln!(text, "* Scope: {}", line(&decision.scope));
    let _ = write!(text, "\n## Context and Problem Statement\n\n{}", quoted(&decision.context));
    if !decision.constraints.is_empty() {
        text.push_str("\n## Decision Drivers\n\n");
        for constraint in &decision.constraints {
            let _ = writeln!(text, "* {}", line(constraint));
        }
    }
    let _ = write!(text, "\n## Considered Options\n\n* {}\n", line(&decision.summary));
    for alternative in &decision.alternatives {
        let _ = writeln!(text, "* {}", line(&alternative.option));
    }
    let _ = write!(
        text,
        "\n## Decision Outcome\n\nChosen option: {}, because:\n\n{}",
        line(&decision.summary),
        quoted(&decision.rationale)
    );
    for alternative in &decision.alternatives {
        let _ = write!(text, "\n### {}\n\n", line(&alternative.option));
        for (sign, list) in [("Good", &alternative.pros), ("Bad", &alternative.cons)] {
            for item in list {
                let _ = writeln!(text, "* {sign}: {}", line(item));
            }
        }
        let _ = writeln!(text, "* Rejected: {}", line(&alternative.reason_rejected));
    }
    let _ = write!(text, "\n{}", comment(decision));
    text
}

/// One line of stored text, escaped for Markdown.
fn line(stored: &str) -> String {
    harmless(&fields::fold(stored))
}

/// Stored text as a quotation.
fn quoted(stored: &str) -> String {
    harmless(stored.trim_end()).lines().map(|row| format!("> {row}\n")).collect()
}

fn harmless(stored: &str) -> String {
    text::visible(stored).replace('<', "&lt;").replace('[', "\\[")
}

fn slug(summary: &str) -> String {
    let words: String = summary
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let slug = words.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let slug: String = slug.chars().take(60).collect();
    if slug.is_empty() { "decision".to_owned() } else { slug.trim_end_matches('-').to_owned() }
}

const OPEN: &str = "<!-- twining-decision: ";
const CLOSE: &str = " -->";

/// A decision as a comment that no text inside it can end.
pub(super) fn comment(decision: &Decision) -> String {
    let json = serde_json::to_string(decision).unwrap_or_default();
    let mut safe = String::with_capacity(json.len());
    let mut units = [0_u16; 2];
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' => safe.push_str(&format!("\\u{:04x}", letter as u32)),
            '-' if safe.ends_with('-') => safe.push_str("\\u002d"),
            _ if letter.is_ascii() => safe.push(letter),
            _ => letter
                .encode_utf16(&mut units)
                .iter()
                .for_each(|unit| safe.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    format!("{OPEN}{safe}{CLOSE}\n")
}

/// The decision in a record of ours that nobody edited.
pub(crate) fn decision_in(text: &str) -> Option<Decision> {
    let (_, rest) = text.rsplit_once(OPEN)?;
    let decision: Decision = serde_json::from_str(rest.split_once(CLOSE)?.0).ok()?;
    (record(&decision) == text).then_some(decision)
}
