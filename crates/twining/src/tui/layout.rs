//! How many rows each part of a screen has. The model asks for as many as the view shows.

use ratatui::layout::Size;

/// From this width on, what needs a person and who is at work stand side by side.
const TWO_COLUMNS: u16 = 140;
/// From this width on, the stream and its detail do.
const SIDE_BY_SIDE: u16 = 100;
/// Below this, borders take more than they give.
const BORDERED: Size = Size { width: 30, height: 8 };
/// Fewest rows that a third section is worth.
const THREE_SECTIONS: usize = 13;
/// Fewest rows that a second one is worth.
const TWO_SECTIONS: usize = 8;
/// Most lines a notice takes.
const NOTICE_LINES: usize = 4;

/// The rows of the first screen, borders not counted. Zero: the part is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NowLayout {
    pub(crate) inbox: usize,
    pub(crate) agents: usize,
    pub(crate) stream: usize,
    /// Rows of the selected item's preview, below the inbox.
    pub(crate) preview: usize,
    /// Whether agents and stream stand beside the inbox.
    pub(crate) two_columns: bool,
    pub(crate) bordered: bool,
}

impl NowLayout {
    /// For a screen with so many items and agents.
    pub(crate) fn of(size: Size, notice: usize, items: usize, agents: usize) -> Self {
        let body = body_rows(size, notice);
        if size.width < BORDERED.width || size.height < BORDERED.height {
            return Self { inbox: body.max(1), ..Self::default() };
        }
        if size.width >= TWO_COLUMNS && body >= THREE_SECTIONS {
            let rows = body - 3;
            let inbox = items.clamp(1, rows - rows / 3);
            let agents = agents.clamp(1, rows / 2);
            return Self {
                inbox,
                preview: rows - inbox,
                agents,
                stream: rows - agents,
                two_columns: true,
                bordered: true,
            };
        }
        let mut layout = Self { bordered: true, ..Self::default() };
        if body < TWO_SECTIONS {
            layout.inbox = body.saturating_sub(2).max(1);
        } else if body < THREE_SECTIONS {
            let rows = body - 3;
            layout.agents = agents.clamp(1, rows / 3);
            layout.inbox = rows - layout.agents;
        } else {
            let rows = body - 4;
            layout.agents = agents.clamp(1, rows / 4);
            layout.inbox = items.clamp(1, rows / 2);
            layout.stream = rows - layout.agents - layout.inbox;
        }
        layout
    }
}

/// The rows of the screen of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamLayout {
    pub(crate) list: usize,
    pub(crate) detail: usize,
    pub(crate) side_by_side: bool,
    pub(crate) bordered: bool,
}

impl StreamLayout {
    pub(crate) fn of(size: Size, notice: usize) -> Self {
        let body = body_rows(size, notice);
        let bordered = size.width >= BORDERED.width && size.height >= BORDERED.height;
        if !bordered || body < TWO_SECTIONS {
            let list = body.saturating_sub(if bordered { 2 } else { 0 }).max(1);
            return Self { list, detail: 0, side_by_side: false, bordered };
        }
        if size.width >= SIDE_BY_SIDE {
            let rows = body - 2;
            return Self { list: rows, detail: rows, side_by_side: true, bordered };
        }
        let rows = body - 3;
        Self { list: rows - rows / 2, detail: rows / 2, side_by_side: false, bordered }
    }
}

/// The rows between the header and the hints.
pub(crate) fn body_rows(size: Size, notice: usize) -> usize {
    let frame = if size.height >= 3 { 2 } else { usize::from(size.height > 1) };
    usize::from(size.height).saturating_sub(frame + notice_rows(size, notice))
}

/// How many of a notice's lines are shown.
pub(crate) fn notice_rows(size: Size, notice: usize) -> usize {
    notice.min(NOTICE_LINES).min(usize::from(size.height) / 3)
}

#[cfg(test)]
mod tests {
    use crate::tui::layout::*;

    #[test]
    fn the_parts_fill_the_screen_and_never_more() {
        for width in 1..250 {
            for height in 1..80_u16 {
                let size = Size { width, height };
                for (items, agents) in [(0, 0), (3, 3), (500, 50)] {
                    let now = NowLayout::of(size, 0, items, agents);
                    let body = body_rows(size, 0);
                    let parts = [now.inbox, now.agents, now.stream];
                    let shown = parts.iter().filter(|rows| **rows > 0).count();
                    let rows = match (now.two_columns, now.bordered) {
                        (true, _) => {
                            assert_eq!(now.inbox + now.preview, now.agents + now.stream);
                            now.inbox + now.preview + 3
                        }
                        (false, true) => parts.iter().sum::<usize>() + shown + 1,
                        (false, false) => now.inbox,
                    };
                    assert!(now.inbox > 0 && rows <= body.max(1), "{size} {now:?}");
                    let stream = StreamLayout::of(size, 0);
                    assert!(stream.list > 0 && stream.list <= body.max(1), "{size} {stream:?}");
                }
            }
        }
    }

    #[test]
    fn eighty_by_twenty_four_shows_all_three() {
        let now = NowLayout::of(Size { width: 80, height: 24 }, 0, 4, 3);
        assert_eq!((now.inbox, now.agents, now.stream), (4, 3, 11));
    }
}
