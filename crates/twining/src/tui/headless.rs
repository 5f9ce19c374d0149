//! `twining top` without a terminal: one frame as text, and the same for benches.

use std::path::PathBuf;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use twining_model::World;

use crate::project;
use crate::render::command_error::CommandError;
use crate::system_world::SystemWorld;
use crate::tui::key_decoder::KeyDecoder;
use crate::tui::state::{TopEvent, TopState};
use crate::tui::theme::Theme;
use crate::tui::top_session::TopSession;
use crate::tui::view::frame;

/// The screen of a project, in memory.
pub struct HeadlessTop {
    session: TopSession,
    buffer: Buffer,
}

impl HeadlessTop {
    /// Opens a project and loads what a screen of this size shows.
    pub fn open(project: PathBuf, width: u16, height: u16) -> Result<Self, String> {
        Self::at(Some(project), Size { width, height })
            .map_err(|error| error.to_json()["message"].as_str().unwrap_or_default().to_owned())
    }

    pub(crate) fn at(given: Option<PathBuf>, size: Size) -> Result<Self, CommandError> {
        let mut session = TopSession::new(first_state(given.clone(), size, Theme::Plain)?);
        session.open(given, false, |_| ())?;
        let buffer = Buffer::empty(Rect { x: 0, y: 0, width: size.width, height: size.height });
        Ok(Self { session, buffer })
    }

    /// Takes the bytes of keys, as a terminal sends them.
    pub fn press(&mut self, keys: &[u8]) {
        for key in KeyDecoder::default().push(keys) {
            self.session.update(TopEvent::Key(key));
            self.session.run_pending();
        }
    }

    /// Draws a frame.
    pub fn draw(&mut self) {
        self.buffer.reset();
        self.session.state.now = SystemWorld.now();
        frame::draw(&self.session.state, &mut self.buffer);
    }

    /// The frame as text, a line for each row.
    #[must_use]
    pub fn text(&self) -> String {
        let width = usize::from(self.buffer.area.width).max(1);
        let rows = self.buffer.content().chunks(width).map(|row| {
            let mut skip = 0;
            let mut text = String::new();
            for cell in row {
                // The second half of a wide character is no character of its own.
                if skip == 0 {
                    text.push_str(cell.symbol());
                    skip = unicode_width::UnicodeWidthStr::width(cell.symbol()).max(1);
                }
                skip -= 1;
            }
            format!("{}\n", text.trim_end())
        });
        rows.collect()
    }
}

/// The state before anything is loaded: only the name of the folder is known.
pub(crate) fn first_state(
    given: Option<PathBuf>,
    size: Size,
    theme: Theme,
) -> Result<TopState, CommandError> {
    let located = project::find(given)?;
    let name = located.place.project.file_name();
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(TopState::new(name, size, theme, TimeZone::system(), SystemWorld.now()))
}
