//! Answers for people: lines, aligned tables and indented text.
//!
//! Whatever is put on a page is made visible first, so stored text cannot move
//! a cursor or recolour a terminal; the only escapes are the page's own, and
//! they are dropped unless a terminal reads them.

use anstyle::{AnsiColor, Style};
use twining_model::{DecisionStatus, Time, text};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns narrower than this are not worth wrapping into.
const NARROWEST: usize = 24;

/// A few words in one style.
#[derive(Clone, Debug)]
pub(crate) struct StyledText {
    text: String,
    style: Style,
}

/// Words as they are.
pub(crate) fn plain(words: impl AsRef<str>) -> StyledText {
    styled(words, Style::new())
}

/// What matters most in a line.
pub(crate) fn strong(words: impl AsRef<str>) -> StyledText {
    styled(words, Style::new().bold())
}

/// What may be overlooked: ids, times, counts.
pub(crate) fn dim(words: impl AsRef<str>) -> StyledText {
    styled(words, Style::new().dimmed())
}

/// What is well.
pub(crate) fn good(words: impl AsRef<str>) -> StyledText {
    styled(words, AnsiColor::Green.on_default())
}

/// What wants attention.
pub(crate) fn warn(words: impl AsRef<str>) -> StyledText {
    styled(words, AnsiColor::Yellow.on_default())
}

/// What is wrong.
pub(crate) fn bad(words: impl AsRef<str>) -> StyledText {
    styled(words, AnsiColor::Red.on_default())
}

/// A place in the project.
pub(crate) fn place(words: impl AsRef<str>) -> StyledText {
    styled(words, AnsiColor::Cyan.on_default())
}

/// Returns a decision's status.
pub(crate) fn standing(status: DecisionStatus) -> StyledText {
    match status {
        DecisionStatus::Active => good(status.as_str()),
        DecisionStatus::Provisional => warn(status.as_str()),
        DecisionStatus::Superseded => dim(status.as_str()),
        DecisionStatus::Overridden => bad(status.as_str()),
    }
}

/// What an entry is.
pub(crate) fn kind(entry_type: &str) -> StyledText {
    match entry_type {
        "warning" => bad(entry_type),
        "need" | "question" => warn(entry_type),
        "decision" | "answer" => good(entry_type),
        _ => plain(entry_type),
    }
}

/// A stored time, to the minute.
pub(crate) fn when(timestamp: &str) -> StyledText {
    match Time::read(timestamp) {
        Some(time) => dim(minute(time)),
        None => dim(text::excerpt(timestamp, 17)),
    }
}

/// A time to the minute: `2026-11-15 09:30Z`.
pub(crate) fn minute(time: Time) -> String {
    format!("{}Z", time.to_string().chars().take(16).collect::<String>().replace('T', " "))
}

/// A number with its noun: `1 decision`, `2 decisions`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

fn styled(words: impl AsRef<str>, style: Style) -> StyledText {
    StyledText { text: text::visible(words.as_ref()).replace(['\n', '\t'], " "), style }
}

impl StyledText {
    fn width(&self) -> usize {
        self.text.width()
    }

    fn write(&self, out: &mut String, text: &str) {
        if self.style == Style::new() || text.is_empty() {
            out.push_str(text);
        } else {
            out.push_str(&format!("{}{text}{}", self.style.render(), self.style.render_reset()));
        }
    }
}

/// What a command has to say, before it is printed.
#[derive(Debug, Default)]
pub(crate) struct TextPage {
    text: String,
    width: Option<usize>,
}

impl TextPage {
    /// A page for a terminal this wide, or for a file.
    pub(crate) fn new(width: Option<usize>) -> Self {
        Self { text: String::new(), width }
    }

    /// The page, with the escapes of its styles.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// An empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Words on one line, a space between them.
    pub(crate) fn line(&mut self, cells: impl IntoIterator<Item = StyledText>) {
        for (i, cell) in cells.into_iter().enumerate() {
            if i > 0 {
                self.text.push(' ');
            }
            cell.write(&mut self.text, &cell.text);
        }
        self.text.push('\n');
    }

    /// A heading over what follows.
    pub(crate) fn heading(&mut self, words: impl AsRef<str>) {
        if !self.text.is_empty() {
            self.blank();
        }
        self.line([strong(words)]);
    }

    /// Stored text of any length, indented, line by line.
    pub(crate) fn block(&mut self, indent: usize, stored: &str) {
        let shown = text::visible(stored).replace('\t', "  ");
        for line in shown.lines() {
            for part in wrapped(line, self.width.map(|width| width.saturating_sub(indent))) {
                let row = format!("{:indent$}{part}", "");
                self.text.push_str(row.trim_end());
                self.text.push('\n');
            }
        }
    }

    /// A document as it is, made visible and never wrapped.
    pub(crate) fn verbatim(&mut self, document: &str) {
        self.text.push_str(&text::visible(document));
        if !document.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Rows with their columns aligned; the last column wraps on a terminal.
    pub(crate) fn table(&mut self, indent: usize, rows: impl IntoIterator<Item = Vec<StyledText>>) {
        let rows: Vec<_> = rows.into_iter().collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                rows.iter()
                    .filter_map(|row| row.get(column))
                    .map(StyledText::width)
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for row in &rows {
            self.row(indent, row, &widths);
        }
    }

    fn row(&mut self, indent: usize, row: &[StyledText], widths: &[usize]) {
        let Some((last, firsts)) = row.split_last() else { return };
        let mut start = indent;
        self.text.push_str(&" ".repeat(indent));
        for (cell, width) in firsts.iter().zip(widths) {
            cell.write(&mut self.text, &cell.text);
            self.text.push_str(&" ".repeat(width - cell.width() + 2));
            start += width + 2;
        }
        let room =
            self.width.map(|width| width.saturating_sub(start)).filter(|room| *room >= NARROWEST);
        for (i, part) in wrapped(&last.text, room).into_iter().enumerate() {
            if i > 0 {
                self.text.push_str(&" ".repeat(start));
            }
            last.write(&mut self.text, part);
            self.text.push('\n');
        }
    }
}

/// Wraps a line at spaces into parts that fit `room`; a longer word gets its own line, whole.
fn wrapped(line: &str, room: Option<usize>) -> Vec<&str> {
    let Some(room) = room.filter(|room| *room > 0) else { return vec![line] };
    let mut parts = Vec::new();
    let (mut start, mut space, mut width) = (0, None, 0);
    for (at, c) in line.char_indices() {
        width += c.width().unwrap_or(0);
        if c == ' ' {
            space = Some(at);
        }
        if let Some(cut) = space.filter(|cut| width > room && *cut > start) {
            parts.push(line[start..cut].trim_end());
            start = cut + 1;
            width = line.get(start..at + c.len_utf8()).map_or(0, UnicodeWidthStr::width);
            space = None;
        }
    }
    parts.push(&line[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use crate::render::text_page::*;

    fn bare(page: &TextPage) -> String {
        anstream::adapter::strip_str(page.as_str()).to_string()
    }

    #[test]
    fn columns_line_up_by_what_the_eye_sees() {
        let mut page = TextPage::default();
        page.table(
            2,
            [
                vec![dim("id"), strong("日本"), plain("one")],
                vec![dim("a-long-id"), strong("b"), plain("two")],
            ],
        );
        assert_eq!(bare(&page), "  id         日本  one\n  a-long-id  b     two\n");
    }

    #[test]
    fn a_stored_escape_never_becomes_one() {
        let mut page = TextPage::default();
        page.line([plain("a\u{1b}[31mb\nc")]);
        page.block(2, "x\u{1b}]0;title\u{7}\ny");
        assert_eq!(page.as_str(), "aU+001B[31mb c\n  xU+001B]0;titleU+0007\n  y\n");
    }

    #[test]
    fn long_text_wraps_at_spaces_on_a_terminal_only() {
        let words = "one two three four five six seven";
        assert_eq!(wrapped(words, Some(13)), ["one two three", "four five six", "seven"]);
        assert_eq!(wrapped("unbreakable-word and", Some(5)), ["unbreakable-word", "and"]);
        assert_eq!(wrapped(words, None), [words]);
    }

    #[test]
    fn times_are_shown_to_the_minute_and_strange_ones_as_they_are() {
        assert_eq!(when("2026-11-15T09:30:59.123Z").text, "2026-11-15 09:30Z");
        assert_eq!(when("yesterday").text, "yesterday");
        assert_eq!(
            (count(1, "entry"), count(2, "entry"), count(0, "need")),
            ("1 entry".into(), "2 entries".into(), "0 needs".into())
        );
    }
}
