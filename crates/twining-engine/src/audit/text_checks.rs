//! What is wrong with a text itself: secrets, size, repetition, hidden characters.

use std::collections::HashMap;

use super::documents::{DocumentKind, is_read_on_demand, size_limit};
use super::report::{AuditClass, AuditFinding};
use crate::secrets::secrets_in;

/// Characters of a paragraph whose repetition is worth a word.
const PARAGRAPH: usize = 100;

/// A document that was read.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// Its path, from the project's folder.
    pub path: String,
    /// What it is.
    pub kind: DocumentKind,
    /// What it says.
    pub text: String,
}

/// Everything that is wrong with the texts.
pub(super) fn check_texts(documents: &[Document]) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    for document in documents {
        secrets(document, &mut found);
        size(document, &mut found);
        hidden_characters(document, &mut found);
        emptiness(document, &mut found);
    }
    duplicates(documents, &mut found);
    found
}

fn secrets(document: &Document, found: &mut Vec<AuditFinding>) {
    let line_of = |at: usize| 1 + document.text[..at].matches('\n').count();
    let mut secrets: Vec<(usize, &str)> = secrets_in(&document.text)
        .into_iter()
        .map(|secret| (line_of(secret.range.start), secret.kind))
        .collect();
    secrets.dedup();
    for (line, kind) in secrets {
        let message = format!("contains a secret: {kind}");
        let fix = "revoke it, then remove it from the file and from history";
        found.push(AuditFinding::new(AuditClass::Secret, message, fix).at(&document.path, line));
    }
}

fn size(document: &Document, found: &mut Vec<AuditFinding>) {
    let Some(limit) = size_limit(&document.path) else { return };
    let size = limit.size_of(&document.text);
    if size > limit.most {
        let message = format!(
            "has {size} {}; {} {} beyond {}",
            limit.noun(),
            limit.host,
            limit.beyond,
            limit.most
        );
        let fix = "move parts into files that are read when needed, or drop them";
        found.push(AuditFinding::new(AuditClass::Oversized, message, fix).at(&document.path, None));
    }
}

/// Characters that a person does not see and a model reads: orders can hide in them.
fn hidden_characters(document: &Document, found: &mut Vec<AuditFinding>) {
    let is_hidden = |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2061}'..='\u{2064}');
    for (line, text) in (1..).zip(document.text.lines()) {
        // Flags of regions are spelled with tags behind a black flag.
        let has_tags = text.contains(|c| matches!(c, '\u{E0001}'..='\u{E007F}'))
            && !text.contains('\u{1F3F4}');
        let is_marker = ["<<<<<<< ", ">>>>>>> "].iter().any(|marker| text.starts_with(marker));
        let (message, fix) = if has_tags || text.contains(is_hidden) {
            ("contains invisible characters, in which orders to an agent can hide", "remove them")
        } else if is_marker {
            ("contains a conflict marker of git", "resolve the conflict")
        } else if text.to_lowercase().contains("lorem ipsum") {
            ("contains filler text", "remove it")
        } else {
            continue;
        };
        found.push(AuditFinding::new(AuditClass::Junk, message, fix).at(&document.path, line));
    }
}

fn emptiness(document: &Document, found: &mut Vec<AuditFinding>) {
    let says_something = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    if document.kind == DocumentKind::Instructions && !document.text.lines().any(says_something) {
        let finding = AuditFinding::new(AuditClass::Junk, "says nothing", "fill it or delete it");
        found.push(finding.at(&document.path, None));
    }
}

/// Paragraphs that stand twice: one finding for each file and the file it repeats.
fn duplicates(documents: &[Document], found: &mut Vec<AuditFinding>) {
    let mut first: HashMap<String, (&str, usize)> = HashMap::new();
    let is_read_always =
        |one: &&Document| one.kind == DocumentKind::Instructions && !is_read_on_demand(&one.path);
    for document in documents.iter().filter(is_read_always) {
        // The other file, where it says the same first, our line, and how many paragraphs.
        let mut repeated: Vec<(&str, usize, usize, usize)> = Vec::new();
        let mut counted = 0;
        for (line, paragraph) in paragraphs(&document.text) {
            counted += 1;
            match first.get(&paragraph) {
                Some((other, there)) => {
                    match repeated.iter_mut().find(|(known, ..)| known == other) {
                        Some(known) => known.3 += 1,
                        None => repeated.push((*other, *there, line, 1)),
                    }
                }
                None => drop(first.insert(paragraph, (&document.path, line))),
            }
        }
        for (other, there, line, number) in repeated {
            let (message, fix) = if other == document.path {
                (format!("repeats line {there}"), "keep one of them")
            } else if number == counted && number > 1 {
                let message = format!("says only what `{other}` says");
                (message, "keep one file and import or link it from the other")
            } else {
                let noun = if number == 1 { "paragraph" } else { "paragraphs" };
                let message =
                    format!("{number} {noun} of it also in `{other}`, from line {there} on");
                (message, "keep them in one place")
            };
            let finding = AuditFinding::new(AuditClass::Duplicate, message, fix);
            found.push(finding.at(&document.path, line));
        }
    }
}

/// Long paragraphs with the lines they begin in, whatever their layout.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match found.last_mut().filter(|_| is_open) {
            // What stands right under a heading is a paragraph of its own.
            _ if words.is_empty() || words.starts_with('#') => is_open = false,
            Some((_, paragraph)) => {
                paragraph.push(' ');
                paragraph.push_str(&words);
            }
            None => {
                is_open = true;
                found.push((number, words));
            }
        }
    }
    found.retain(|(_, paragraph)| paragraph.chars().count() >= PARAGRAPH);
    found
}
