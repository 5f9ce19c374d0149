//! The stream with the detail of what is selected.

use ratatui::text::Line;
use twining_model::Time;

use crate::tui::age;
use crate::tui::state::TopState;
use crate::tui::stream_row::{StreamRow, StreamSource};
use crate::tui::theme::Tone;
use crate::tui::view::lines::{Border, LineBuilder, border, joined, plain_line, sided, wrap};

/// The body of the screen.
pub(super) fn lines(state: &TopState, width: usize) -> Vec<Line<'static>> {
    let layout = state.stream_layout();
    let theme = state.theme;
    if !layout.bordered {
        return list_rows(state, layout.list, width);
    }
    let boxed = |mut rows: Vec<Line<'static>>, count: usize, width: usize| -> Vec<Line<'static>> {
        rows.resize(count, Line::default());
        rows.into_iter().map(|row| sided(theme, row, width)).collect()
    };
    let title = match state.stream.total() {
        0 => "Stream".to_owned(),
        total => format!("Stream, {} of {total}", state.stream.position() + 1),
    };
    if layout.side_by_side {
        let left = left_width(width);
        let right = width - left;
        let mut first = vec![border(theme, Border::Top, &title, left)];
        first.extend(boxed(list_rows(state, layout.list, left - 2), layout.list, left));
        first.push(border(theme, Border::Bottom, "", left));
        let mut second = vec![border(theme, Border::Top, "Detail", right)];
        second.extend(boxed(visible_detail(state, layout.detail, right - 2), layout.detail, right));
        second.push(border(theme, Border::Bottom, "", right));
        return first.into_iter().zip(second).map(|(left, right)| joined(left, right)).collect();
    }
    let inner = width.saturating_sub(2);
    let mut lines = vec![border(theme, Border::Top, &title, width)];
    lines.extend(boxed(list_rows(state, layout.list, inner), layout.list, width));
    if layout.detail > 0 {
        lines.push(border(theme, Border::Middle, "Detail", width));
        lines.extend(boxed(visible_detail(state, layout.detail, inner), layout.detail, width));
    }
    lines.push(border(theme, Border::Bottom, "", width));
    lines
}

/// One row.
pub(super) fn row(
    state: &TopState,
    row: Option<&StreamRow>,
    is_selected: bool,
    width: usize,
) -> Line<'static> {
    let line = LineBuilder::row(state.theme, is_selected);
    let Some(row) = row else { return line.cell("…", 2, Tone::Dim).filled(width) };
    let scope = match width {
        120.. => 30,
        60.. => 20,
        _ => 0,
    };
    let by = if width >= 44 { 8 } else { 0 };
    let taken = 17 + [scope, by].iter().map(|part| part + usize::from(*part > 0)).sum::<usize>();
    let at = Time::read(&row.at).map(|at| age::clock(state.now, at, &state.zone));
    let mut line = line.cell(&at.unwrap_or_default(), 7, Tone::Dim);
    line = line.cell(&row.kind, 9, kind_tone(&row.kind));
    if by > 0 {
        line = line.cell(&row.by, by, Tone::Normal).text(" ", Tone::Normal);
    }
    line = line.cell(&row.summary, width.saturating_sub(taken), Tone::Normal);
    if scope > 0 {
        line = line.text(" ", Tone::Normal).cell(&row.scope, scope, Tone::Place);
    }
    line.filled(width)
}

/// What a stream says that has nothing.
pub(super) fn empty(state: &TopState, width: usize) -> Line<'static> {
    let text = match (&state.source, state.inbox.is_loaded() || state.stream.is_loaded()) {
        (_, false) => " loading…",
        (StreamSource::Entries(None), true) => {
            " nothing was posted yet: twining post finding \"…\" --scope src/"
        }
        (_, true) => " nothing",
    };
    plain_line(state.theme, text, width, Tone::Dim)
}

fn list_rows(state: &TopState, rows: usize, width: usize) -> Vec<Line<'static>> {
    if state.stream.total() == 0 {
        return vec![empty(state, width)];
    }
    let visible = state.stream.visible(rows);
    visible.map(|(selected, found)| row(state, found, selected, width)).collect()
}

/// How far the detail can be scrolled.
pub(in crate::tui) fn scroll_limit(state: &TopState) -> usize {
    let layout = state.stream_layout();
    let width = usize::from(state.size.width);
    let width = if layout.side_by_side { width - left_width(width) } else { width };
    detail(state, width.saturating_sub(2)).len().saturating_sub(layout.detail)
}

/// The width of the list, where the detail is beside it.
fn left_width(width: usize) -> usize {
    width * 11 / 20
}

fn visible_detail(state: &TopState, rows: usize, width: usize) -> Vec<Line<'static>> {
    let mut lines = detail(state, width);
    let scroll = state.detail_scroll.min(lines.len().saturating_sub(rows));
    lines.drain(..scroll);
    lines.truncate(rows);
    lines
}

fn detail(state: &TopState, width: usize) -> Vec<Line<'static>> {
    let Some(row) = state.stream.selected() else { return Vec::new() };
    let mut lines = Vec::new();
    let mut push = |text: &str, tone: Tone| {
        for line in wrap(text, width.saturating_sub(2)) {
            lines.push(plain_line(state.theme, &format!(" {line}"), width, tone));
        }
    };
    push(&row.summary, Tone::Strong);
    push(&format!("{}  {}  {}", row.kind, row.by, row.origin), Tone::Normal);
    push(&format!("{}  {}", row.scope, row.at), Tone::Dim);
    if !row.tags.is_empty() {
        push(&format!("tags: {}", row.tags.join(", ")), Tone::Dim);
    }
    if !row.detail.is_empty() {
        push(&row.detail, Tone::Normal);
    }
    if !row.relates_to.is_empty() {
        push(&format!("relates to {}", row.relates_to.join(", ")), Tone::Dim);
    }
    push(&row.id, Tone::Dim);
    lines
}

fn kind_tone(kind: &str) -> Tone {
    match kind {
        "warning" | "blocked" => Tone::Bad,
        "need" | "question" => Tone::Warn,
        "decision" | "answer" => Tone::Good,
        _ => Tone::Normal,
    }
}
