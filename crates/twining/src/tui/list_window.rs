//! A long list of which only the visible rows are held.

/// What has an id that stays the same.
pub(crate) trait Identified {
    /// The id.
    fn id(&self) -> &str;
}

/// A part of a list: from where, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageRange {
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// The visible part of a list, and what is selected in it.
#[derive(Clone, Debug)]
pub(crate) struct ListWindow<T> {
    rows: Vec<T>,
    /// Where in the list the rows begin.
    first: usize,
    total: usize,
    selected: usize,
    /// The first row on the screen.
    top: usize,
    /// Whether the first row stays selected when others come before it.
    follows_top: bool,
    is_loaded: bool,
}

impl<T: Identified> ListWindow<T> {
    /// A list where the same row stays selected, whatever comes before it.
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            first: 0,
            total: 0,
            selected: 0,
            top: 0,
            follows_top: false,
            is_loaded: false,
        }
    }

    /// The same, except that the first row stays selected when new ones come.
    pub(crate) fn following_top() -> Self {
        Self { follows_top: true, ..Self::new() }
    }

    /// How many rows the whole list has.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Whether anything was loaded yet.
    pub(crate) fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    /// The row that is selected, if it is held.
    pub(crate) fn selected(&self) -> Option<&T> {
        self.row(self.selected)
    }

    /// Which row is selected, from zero.
    pub(crate) fn position(&self) -> usize {
        self.selected
    }

    /// The rows on a screen of this height, with whether each is selected; none where one is not
    /// loaded yet.
    pub(crate) fn visible(&self, height: usize) -> impl Iterator<Item = (bool, Option<&T>)> {
        let end = self.total.min(self.top + height);
        (self.top..end).map(|index| (index == self.selected, self.row(index)))
    }

    /// What a screen of this height shows.
    pub(crate) fn page(&self, height: usize) -> PageRange {
        PageRange { offset: self.top, limit: height.max(1) }
    }

    /// What it shows and is not held.
    pub(crate) fn missing(&self, height: usize) -> Option<PageRange> {
        let end = self.total.min(self.top + height.max(1));
        let is_held = self.is_loaded && self.first <= self.top && end <= self.held_end();
        (!is_held).then(|| self.page(height))
    }

    /// Moves the selection by so many rows.
    pub(crate) fn move_by(&mut self, rows: isize, height: usize) {
        self.select(self.selected.saturating_add_signed(rows), height);
    }

    /// Selects a row, or the last one.
    pub(crate) fn select(&mut self, index: usize, height: usize) {
        self.selected = index.min(self.total.saturating_sub(1));
        self.show_selected(height);
    }

    /// Takes rows from `offset` on, of `total`. The selected row stays selected, and where it is
    /// on the screen.
    pub(crate) fn loaded(&mut self, offset: usize, rows: Vec<T>, total: usize, height: usize) {
        let is_following = self.follows_top && self.selected == 0;
        let selected = self.selected().map(|row| row.id().to_owned()).filter(|_| !is_following);
        let grown = total.saturating_sub(self.total);
        let was_loaded = std::mem::replace(&mut self.is_loaded, true);
        (self.rows, self.first, self.total) = (rows, offset, total);
        if let Some(id) = selected.filter(|_| was_loaded) {
            match self.rows.iter().position(|row| row.id() == id) {
                Some(index) => {
                    let index = self.first + index;
                    self.top = (self.top + index).saturating_sub(self.selected);
                    self.selected = index;
                }
                // Pushed off the page by what came before it: the caller asks for what is missing.
                None if self.follows_top && grown > 0 => {
                    self.top += grown;
                    self.selected += grown;
                }
                None => {}
            }
        }
        self.selected = self.selected.min(total.saturating_sub(1));
        self.show_selected(height);
    }

    fn show_selected(&mut self, height: usize) {
        let height = height.max(1);
        let last_top = self.total.saturating_sub(height);
        let lowest = (self.selected + 1).saturating_sub(height);
        self.top = self.top.min(last_top).clamp(lowest, self.selected);
    }

    fn row(&self, index: usize) -> Option<&T> {
        index.checked_sub(self.first).and_then(|index| self.rows.get(index))
    }

    fn held_end(&self) -> usize {
        self.first + self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::tui::list_window::*;

    const HEIGHT: usize = 4;

    #[derive(Clone, Debug, PartialEq)]
    struct Numbered(String);

    impl Identified for Numbered {
        fn id(&self) -> &str {
            &self.0
        }
    }

    /// A list whose newest number is `newest`, newest first, with what is visible loaded.
    fn load(list: &mut ListWindow<Numbered>, newest: usize) {
        list.loaded(list.top, numbers(newest, list.page(HEIGHT)), newest + 1, HEIGHT);
        while let Some(page) = list.missing(HEIGHT) {
            list.loaded(page.offset, numbers(newest, page), newest + 1, HEIGHT);
        }
    }

    fn numbers(newest: usize, page: PageRange) -> Vec<Numbered> {
        let rows = (0..=newest).rev().skip(page.offset).take(page.limit);
        rows.map(|number| Numbered(number.to_string())).collect()
    }

    fn shown(list: &ListWindow<Numbered>) -> String {
        let rows = list.visible(HEIGHT).map(|(is_selected, row)| {
            let text = row.map_or("?", |row| row.id()).to_owned();
            if is_selected { format!("[{text}]") } else { text }
        });
        rows.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_is_visible_is_asked_for_at_any_depth() {
        let mut list = ListWindow::new();
        assert_eq!(list.missing(HEIGHT), Some(PageRange { offset: 0, limit: 4 }));
        load(&mut list, 99_999);
        assert_eq!(shown(&list), "[99999] 99998 99997 99996");
        list.select(usize::MAX, HEIGHT);
        assert_eq!(list.missing(HEIGHT), Some(PageRange { offset: 99_996, limit: 4 }));
        assert_eq!(shown(&list), "? ? ? [?]");
        load(&mut list, 99_999);
        assert_eq!(shown(&list), "3 2 1 [0]");
        list.move_by(-4, HEIGHT);
        load(&mut list, 99_999);
        assert_eq!(shown(&list), "[4] 3 2 1");
    }

    #[test]
    fn the_selected_row_stays_where_it_is_when_others_come_before_it() {
        let mut list = ListWindow::following_top();
        load(&mut list, 10);
        list.move_by(2, HEIGHT);
        assert_eq!(shown(&list), "10 9 [8] 7");
        load(&mut list, 11);
        assert_eq!(shown(&list), "10 9 [8] 7");
        load(&mut list, 5_011);
        assert_eq!(shown(&list), "10 9 [8] 7");
    }

    #[test]
    fn at_the_top_of_a_stream_new_rows_slide_in() {
        let mut list = ListWindow::following_top();
        load(&mut list, 10);
        load(&mut list, 12);
        assert_eq!(shown(&list), "[12] 11 10 9");
    }

    #[test]
    fn at_the_top_of_an_inbox_the_same_row_stays_selected() {
        let mut list = ListWindow::new();
        load(&mut list, 10);
        load(&mut list, 11);
        assert_eq!(shown(&list), "[10] 9 8 7");
    }

    #[test]
    fn a_list_that_shrinks_keeps_a_selection() {
        let mut list = ListWindow::new();
        load(&mut list, 10);
        list.select(usize::MAX, HEIGHT);
        load(&mut list, 10);
        load(&mut list, 1);
        assert_eq!(shown(&list), "1 [0]");
        list.loaded(0, Vec::new(), 0, HEIGHT);
        assert_eq!(shown(&list), "");
        list.move_by(1, HEIGHT);
        assert!(list.selected().is_none());
    }
}
