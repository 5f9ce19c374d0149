//! Lines of styled text. Everything shown is made here, and made visible first: stored text can
//! neither move the cursor nor recolour the screen.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use twining_model::text;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::tui::theme::{Theme, Tone};

/// Text on one line, with nothing in it that acts.
pub(super) fn shown(stored: &str) -> String {
    text::visible(stored).replace(['\n', '\t'], " ")
}

/// The same, cut to a width.
pub(super) fn fit(stored: &str, width: usize) -> String {
    let text = shown(stored);
    if text.width() <= width {
        return text;
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// The end of a text, where it does not fit: what is being typed.
pub(super) fn fit_end(stored: &str, width: usize) -> String {
    let text = shown(stored);
    let mut start = text.len();
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        start = at;
    }
    text[start..].to_owned()
}

/// Text of any length in lines of a width; long words are cut.
pub(in crate::tui) fn wrap(stored: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let visible = text::visible(stored).replace('\t', "  ");
    let mut lines = Vec::new();
    for paragraph in visible.lines() {
        let (mut line, mut used) = (String::new(), 0);
        for word in paragraph.split(' ') {
            if !line.is_empty() && used + 1 + word.width() > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            if !line.is_empty() {
                line.push(' ');
                used += 1;
            }
            for c in word.chars() {
                let wide = c.width().unwrap_or(0);
                if used + wide > width {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                }
                line.push(c);
                used += wide;
            }
        }
        lines.push(line);
    }
    lines
}

/// A line, piece by piece.
pub(super) struct LineBuilder {
    theme: Theme,
    spans: Vec<Span<'static>>,
    used: usize,
    /// One style for the whole line, in place of each piece's own.
    whole: Option<Style>,
}

impl LineBuilder {
    pub(super) fn new(theme: Theme) -> Self {
        Self { theme, spans: Vec::new(), used: 0, whole: None }
    }

    /// The same for a row that may be selected.
    pub(super) fn row(theme: Theme, is_selected: bool) -> Self {
        let whole = is_selected.then(Theme::selected);
        Self { whole, ..Self::new(theme) }.cell(if is_selected { "▸" } else { "" }, 1, Tone::Normal)
    }

    /// Adds text as long as it is.
    pub(super) fn text(mut self, stored: &str, tone: Tone) -> Self {
        let text = shown(stored);
        self.used += text.width();
        let style = self.whole.unwrap_or_else(|| self.theme.style(tone));
        self.spans.push(Span::styled(text, style));
        self
    }

    /// Adds text cut or filled to a width.
    pub(super) fn cell(self, stored: &str, width: usize, tone: Tone) -> Self {
        let text = fit(stored, width);
        let fill = width.saturating_sub(text.width());
        self.text(&text, tone).text(&" ".repeat(fill), Tone::Normal)
    }

    /// Adds text that ends at a width.
    pub(super) fn right(self, stored: &str, width: usize, tone: Tone) -> Self {
        let text = fit(stored, width);
        let fill = width.saturating_sub(text.width());
        self.text(&" ".repeat(fill), Tone::Normal).text(&text, tone)
    }

    /// Columns that are used.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// The line, filled to a width.
    pub(super) fn filled(self, width: usize) -> Line<'static> {
        let fill = width.saturating_sub(self.used);
        Line::from(self.text(&" ".repeat(fill), Tone::Normal).spans)
    }
}

/// One tone for a whole line.
pub(super) fn plain_line(theme: Theme, stored: &str, width: usize, tone: Tone) -> Line<'static> {
    LineBuilder::new(theme).text(&fit(stored, width), tone).filled(width)
}

/// Which border of a box a line is.
#[derive(Clone, Copy)]
pub(super) enum Border {
    Top,
    Middle,
    Bottom,
}

/// A border with a title in it.
pub(super) fn border(theme: Theme, which: Border, title: &str, width: usize) -> Line<'static> {
    let (left, right) = match which {
        Border::Top => ("┌", "┐"),
        Border::Middle => ("├", "┤"),
        Border::Bottom => ("└", "┘"),
    };
    let title = if title.is_empty() { String::new() } else { format!(" {title} ") };
    let title = fit(&title, width.saturating_sub(2));
    let line = LineBuilder::new(theme).text(left, Tone::Dim).text(&title, Tone::Strong);
    let fill = width.saturating_sub(line.used() + 1);
    line.text(&"─".repeat(fill), Tone::Dim).text(right, Tone::Dim).filled(width)
}

/// A line between the sides of a box; `width` counts them.
pub(super) fn sided(theme: Theme, line: Line<'static>, width: usize) -> Line<'static> {
    let used = line.width();
    let side = || Span::styled("│", theme.style(Tone::Dim));
    let mut spans = vec![side()];
    spans.extend(line.spans);
    spans.push(Span::raw(" ".repeat(width.saturating_sub(used + 2))));
    spans.push(side());
    Line::from(spans)
}

/// Two lines side by side.
pub(super) fn joined(left: Line<'static>, right: Line<'static>) -> Line<'static> {
    Line::from([left.spans, right.spans].concat())
}

#[cfg(test)]
mod tests {
    use crate::tui::view::lines::*;

    #[test]
    fn text_is_cut_by_what_the_eye_sees() {
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("abcd", 0), "");
        assert_eq!(fit_end("abcd", 2), "cd");
        assert_eq!(fit_end("日本", 3), "本");
    }

    #[test]
    fn text_wraps_at_spaces_and_cuts_what_is_too_long() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 9), ["a", "", "b"]);
    }

    #[test]
    fn stored_escapes_are_spelled_out() {
        let line = LineBuilder::new(Theme::Plain).text("a\u{1b}[31m\n", Tone::Bad).filled(0);
        assert_eq!(line.to_string(), "aU+001B[31m ");
        assert_eq!(wrap("x\u{202e}y", 20), ["xU+202Ey"]);
    }
}
