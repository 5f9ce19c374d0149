//! A Markdown document as the statements that speak of the present.
//!
//! A section about the past, a struck-out line, a comment and a negated sentence claim nothing:
//! whoever writes that `src/old.rs` was removed is right as long as it stays removed.

use std::ops::Range;

use super::documents::DocumentKind;

/// What kind of text a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocStatementKind {
    /// Sentences, points of a list, rows of a table.
    Prose,
    /// A line of a shell, in a block of code.
    Command,
    /// Lines of a drawn folder tree, in a block of code.
    FolderTree,
}

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocStatement {
    /// What kind of text it is.
    pub kind: DocStatementKind,
    /// The line it begins in, from one.
    pub line: usize,
    /// Its text, lines and all.
    pub text: String,
}

/// Bytes of a statement; what is longer was written by no person, and would take long to read.
const STATEMENT_BYTES: usize = 8 * 1024;

/// Headings of sections that do not speak of the present.
const PAST_SECTIONS: [&str; 27] = [
    "superseded",
    "histor",
    "changelog",
    "change log",
    "removed",
    "deprecat",
    "archive",
    "legacy",
    "obsolete",
    "previous",
    "formerly",
    "migrat",
    "release note",
    "recent change",
    "completed",
    "roadmap",
    "planned",
    "future",
    "proposed",
    "rejected",
    "alternative",
    "considered option",
    "todo",
    "to do",
    "next steps",
    "what changed",
    "don't",
];

/// Words in a sentence that take back what it names. A word ends where the text ends or anything
/// but a letter follows, unless it is the beginning of one (`-`).
const NEGATIONS: [&str; 52] = [
    "do not",
    "don't",
    "don\u{2019}t",
    "does not",
    "doesn't",
    "doesn\u{2019}t",
    "did not",
    "didn't",
    "is not",
    "isn't",
    "isn\u{2019}t",
    "are not",
    "aren't",
    "was not",
    "not exist",
    "must not",
    "should not",
    "shouldn't",
    "cannot",
    "can't",
    "can\u{2019}t",
    "won't",
    "never",
    "avoid-",
    "no longer",
    "not yet",
    "no such",
    "there is no",
    "there's no",
    "there are no",
    "remov-",
    "delet-",
    "deprecat-",
    "obsolete",
    "superseded",
    "replac-",
    "renam-",
    "moved",
    "migrat-",
    "used to",
    "formerly",
    "previously",
    "legacy",
    "instead of",
    "rather than",
    "dropped",
    "historical-",
    "old",
    "gone",
    "stale",
    "wrong",
    "bad",
];

/// Words that say a thing is made up or is yet to come.
const HYPOTHETICALS: [&str; 22] = [
    "e.g",
    "for example",
    "for instance",
    "example-",
    "such as",
    "would",
    "could",
    "if you",
    "will",
    "create-",
    "creating",
    "new file",
    "add a-",
    "generate-",
    "generating",
    "output-",
    "write-",
    "writing",
    "planned",
    "todo",
    "placeholder",
    "optional-",
];

/// Headings of a decision record that tell how it came about.
const BACKGROUND_SECTIONS: [&str; 5] =
    ["context", "option", "pros and cons", "background", "problem"];

/// The statements of a document, in order.
pub(super) fn statements(text: &str, kind: DocumentKind) -> Vec<DocStatement> {
    let mut reader = StatementReader {
        is_record: kind == DocumentKind::DecisionRecord,
        ..StatementReader::default()
    };
    let mut lines = (1..).zip(text.trim_start_matches('\u{FEFF}').lines()).peekable();
    if lines.peek().is_some_and(|(_, line)| line.trim_end() == "---")
        && text.lines().skip(1).any(|line| line.trim_end() == "---")
    {
        // Front matter: the settings of a rule, with globs and the like.
        lines.next();
        lines.by_ref().find(|(_, line)| line.trim_end() == "---");
    }
    for (number, line) in lines {
        reader.read_line(number, line);
    }
    reader.end_block();
    reader.found
}

/// Whether a heading stands over something that is not the present.
fn is_past(heading: &str) -> bool {
    PAST_SECTIONS.iter().any(|word| heading.contains(word))
}

/// Whether the sentence around a place in a text takes back what it names.
pub(super) fn is_negated(text: &str, place: &Range<usize>) -> bool {
    has_any(sentence_around(text, place), &NEGATIONS)
}

/// Whether the sentence around a place speaks of something made up or yet to come.
pub(super) fn is_hypothetical(text: &str, place: &Range<usize>) -> bool {
    has_any(sentence_around(text, place), &HYPOTHETICALS)
}

fn has_any(sentence: &str, words: &[&str]) -> bool {
    let plain = without_code(&sentence.to_lowercase());
    words.iter().any(|word| has_word(&plain, word))
}

/// The sentence without what stands in backticks: a name says nothing about itself.
fn without_code(sentence: &str) -> String {
    sentence.split('`').step_by(2).collect::<Vec<_>>().join("`").replace(['*', '\n'], " ")
}

fn has_word(text: &str, word: &str) -> bool {
    let (word, is_beginning) = word.strip_suffix('-').map_or((word, false), |word| (word, true));
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !is_letter(before.chars().next_back()) && (is_beginning || !is_letter(after.chars().next()))
    })
}

/// The sentence that a place is in. A full stop ends one where a space follows it.
fn sentence_around<'t>(text: &'t str, place: &Range<usize>) -> &'t str {
    const ABBREVIATIONS: [&str; 5] = ["e.g", "i.e", "etc", "vs", "cf"];
    let ends = |at: usize, mark: char| {
        let rest = &text[at + mark.len_utf8()..];
        let is_abbreviation =
            mark == '.' && ABBREVIATIONS.iter().any(|short| text[..at].ends_with(short));
        matches!(mark, '.' | '!' | '?' | ';')
            && rest.starts_with(char::is_whitespace)
            && !is_abbreviation
    };
    let marks = || text.char_indices().filter(|(at, mark)| ends(*at, *mark));
    let start = marks().take_while(|(at, _)| *at < place.start).last().map_or(0, |(at, _)| at + 1);
    let end = marks().find(|(at, _)| *at >= place.end).map_or(text.len(), |(at, _)| at);
    &text[start.min(end)..end]
}

/// Whether a decision record says that it no longer holds, or never did.
pub(super) fn is_superseded(text: &str) -> bool {
    const ENDED: [&str; 6] =
        ["superseded", "deprecated", "rejected", "obsolete", "withdrawn", "replaced"];
    let mut lines = text.lines().map(|line| line.trim().trim_matches(['*', '#', '-', ' ', '|']));
    let Some(line) = lines.find(|line| line.to_lowercase().starts_with("status")) else {
        return false;
    };
    let next = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let status = format!("{line} {}", if line.len() > 12 { "" } else { next }).to_lowercase();
    ENDED.iter().any(|word| status.contains(word))
}

#[derive(Default)]
struct StatementReader {
    is_record: bool,
    found: Vec<DocStatement>,
    block: Option<DocStatement>,
    fence: Option<Fence>,
    /// The headings we are under, each with whether it is about the past.
    headings: Vec<(usize, bool)>,
    is_in_comment: bool,
}

struct Fence {
    mark: String,
    is_shell: bool,
    is_plain: bool,
}

impl StatementReader {
    fn read_line(&mut self, number: usize, line: &str) {
        let bare = line.trim_start();
        let ticks: String = bare.chars().take_while(|c| matches!(c, '`' | '~')).collect();
        if let Some(fence) = &self.fence {
            let is_end =
                ticks.starts_with(fence.mark.as_str()) && bare[ticks.len()..].trim().is_empty();
            if is_end {
                self.end_block();
                self.fence = None;
            } else {
                self.read_code(number, line);
            }
            return;
        }
        if ticks.len() >= 3 && !self.is_in_comment {
            self.end_block();
            let language = bare[ticks.len()..].trim().to_lowercase();
            let language = language.split([' ', ',', '{', ':']).next().unwrap_or_default();
            self.fence = Some(Fence {
                mark: ticks,
                is_shell: matches!(
                    language,
                    "sh" | "bash"
                        | "shell"
                        | "zsh"
                        | "console"
                        | "shellsession"
                        | "fish"
                        | "terminal"
                ),
                is_plain: matches!(language, "" | "text" | "txt" | "plaintext" | "tree" | "plain"),
            });
            return;
        }
        self.read_prose(number, line);
    }

    fn read_prose(&mut self, number: usize, line: &str) {
        let bare = line.trim();
        let (was_in_comment, opened) = (self.is_in_comment, line.contains("<!--"));
        self.is_in_comment = match line.rfind("-->") {
            Some(end) => line[end..].contains("<!--"),
            None => was_in_comment || opened,
        };
        let level = line.chars().take_while(|c| *c == '#').count();
        if !was_in_comment && (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']) {
            self.end_block();
            self.headings.retain(|(above, _)| *above < level);
            let heading = line[level..].to_lowercase();
            let is_background =
                self.is_record && BACKGROUND_SECTIONS.iter().any(|word| heading.contains(word));
            self.headings.push((level, is_background || is_past(&heading)));
            self.add(DocStatementKind::Prose, number, line);
            self.end_block();
        } else if was_in_comment || opened || bare.is_empty() {
            self.end_block();
        } else if bare.starts_with(['-', '*', '+', '|', '>']) || is_numbered(bare) {
            self.end_block();
            self.add(DocStatementKind::Prose, number, line);
        } else {
            self.add(DocStatementKind::Prose, number, line);
        }
    }

    fn read_code(&mut self, number: usize, line: &str) {
        let Some(fence) = &self.fence else { return };
        let is_tree = line.contains(['├', '└', '│']);
        let is_root = line.trim_end().ends_with('/') && !line.trim().contains(' ');
        if fence.is_plain && (is_tree || is_root) {
            self.add(DocStatementKind::FolderTree, number, line);
        } else if fence.is_shell || (fence.is_plain && line.trim_start().starts_with("$ ")) {
            self.end_block();
            self.add(DocStatementKind::Command, number, line);
            self.end_block();
        } else {
            self.end_block();
        }
    }

    fn add(&mut self, kind: DocStatementKind, number: usize, line: &str) {
        if line.len() > STATEMENT_BYTES {
            return;
        }
        if self.block.as_ref().is_some_and(|block| block.text.len() > STATEMENT_BYTES) {
            self.end_block();
        }
        match &mut self.block {
            Some(block) => {
                block.text.push('\n');
                block.text.push_str(line);
            }
            None => {
                self.block = Some(DocStatement { kind, line: number, text: line.to_owned() });
            }
        }
    }

    fn end_block(&mut self) {
        let is_past = self.headings.iter().any(|(_, is_past)| *is_past);
        self.found.extend(self.block.take().filter(|_| !is_past));
    }
}

fn is_numbered(line: &str) -> bool {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    digits > 0 && line[digits..].starts_with(['.', ')'])
}
