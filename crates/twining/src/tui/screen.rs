//! The terminal: taken over while the screen is shown, and given back whatever happens.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Seek, Stdout, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::{cursor, event, execute, style, terminal};
use ratatui::layout::{Position, Rect, Size};
use twining_model::text;

use crate::tui::state::TopState;
use crate::tui::theme::Theme;
use crate::tui::view::frame;

/// Most of what other code wrote to stderr that is repeated afterwards.
const STDERR_BYTES: u64 = 64 * 1024;

/// Whether the terminal is ours.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// The real stderr, while something else stands in for it.
static STDERR: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// The screen, as long as it is shown.
pub(crate) struct TopScreen {
    backend: CrosstermBackend<BufWriter<Stdout>>,
    /// What the terminal shows now.
    shown: Buffer,
    cursor: Option<Position>,
    /// Where stderr goes meanwhile: a line in the middle of the screen would tear it.
    messages: Option<File>,
}

impl TopScreen {
    /// Takes the terminal over.
    pub(crate) fn take() -> io::Result<Self> {
        restore_on_panic();
        let mut screen = Self {
            backend: CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, io::stdout())),
            shown: Buffer::empty(Rect::default()),
            cursor: None,
            messages: tempfile::tempfile().ok(),
        };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes it over again, after it was given back for a while.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        IS_TAKEN.store(true, Ordering::Release);
        terminal::enable_raw_mode()?;
        execute!(
            self.backend,
            terminal::EnterAlternateScreen,
            event::EnableBracketedPaste,
            cursor::Hide
        )?;
        if let Some(messages) = self.messages.as_ref().filter(|_| io::stderr().is_terminal()) {
            let real = rustix::io::dup(rustix::stdio::stderr())?;
            *STDERR.lock().unwrap_or_else(PoisonError::into_inner) = Some(real);
            rustix::stdio::dup2_stderr(messages)?;
        }
        self.shown = Buffer::empty(Rect::default());
        Ok(())
    }

    /// How large it is; one that does not say is taken for the usual size.
    pub(crate) fn size() -> Size {
        match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { width: size.ws_col, height: size.ws_row }
            }
            _ => Size { width: 80, height: 24 },
        }
    }

    /// Draws what changed since the last frame; nothing is written if nothing did.
    pub(crate) fn draw(&mut self, state: &TopState) -> io::Result<()> {
        style::force_color_output(state.theme != Theme::Plain);
        let Size { width, height } = state.size;
        let area = Rect { x: 0, y: 0, width, height };
        if self.shown.area != area {
            self.shown = Buffer::empty(area);
            self.backend.clear_region(ClearType::All)?;
        }
        let mut next = Buffer::empty(area);
        let cursor = frame::draw(state, &mut next);
        let changes = self.shown.diff(&next);
        if changes.is_empty() && cursor == self.cursor {
            return Ok(());
        }
        self.backend.draw(changes.into_iter())?;
        match cursor {
            Some(place) => {
                self.backend.set_cursor_position(place)?;
                self.backend.show_cursor()?;
            }
            None if self.cursor.is_some() => self.backend.hide_cursor()?,
            None => {}
        }
        Backend::flush(&mut self.backend)?;
        (self.shown, self.cursor) = (next, cursor);
        Ok(())
    }

    /// Gives the terminal back, and repeats what was written to stderr meanwhile.
    pub(crate) fn leave(&mut self) {
        give_back();
        let Some(messages) = &mut self.messages else { return };
        let mut written = Vec::new();
        let read = messages
            .rewind()
            .and_then(|()| (&*messages).take(STDERR_BYTES).read_to_end(&mut written));
        if read.is_ok() && !written.is_empty() {
            let words = text::visible(&String::from_utf8_lossy(&written));
            // Nobody is left to read it if this fails.
            let _ = io::stderr().write_all(words.as_bytes());
            let _ = messages.set_len(0).and_then(|()| messages.rewind());
        }
    }
}

impl Drop for TopScreen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Gives the terminal back as it was. Does nothing the second time.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::AcqRel) {
        return;
    }
    // Each on its own: a terminal that is gone fails them all, and that is no reason to stop.
    let _ = execute!(
        io::stdout(),
        event::DisableBracketedPaste,
        cursor::Show,
        terminal::LeaveAlternateScreen
    );
    let _ = terminal::disable_raw_mode();
    if let Some(real) = STDERR.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = rustix::stdio::dup2_stderr(&real);
    }
}

/// Before a panic is reported: a release build aborts right after the hook.
fn restore_on_panic() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            report(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, tcgetattr};

    use crate::tui::screen::*;

    const PANICS: &str = "tui::screen::tests::panics_in_the_middle_of_the_screen";

    #[test]
    #[ignore = "run at a terminal by the test below"]
    fn panics_in_the_middle_of_the_screen() {
        let _screen = TopScreen::take().expect("is at a terminal");
        rustix::io::write(rustix::stdio::stderr(), b"a stray line\n").expect("writes");
        panic!("in the middle");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_is_reported() {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("opens a terminal");
        grantpt(&near).and_then(|()| unlockpt(&near)).expect("grants");
        let name = ptsname(&near, Vec::new()).expect("has a name").into_string().expect("is text");
        let far = || File::options().read(true).write(true).open(&name).expect("opens");
        let kept = far();
        let cooked = tcgetattr(&kept).expect("is a terminal").local_modes;
        let program = std::env::current_exe().expect("is known");
        let mut child = Command::new(program)
            .args([PANICS, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::from(far()))
            .stdout(Stdio::from(far()))
            .stderr(Stdio::from(far()))
            .spawn()
            .expect("starts");
        assert!(!child.wait().expect("ends").success());
        (&kept).write_all(b"\x01").expect("writes");
        let (mut near, mut seen) = (File::from(near), Vec::new());
        while !seen.contains(&1) {
            let mut piece = [0; 4096];
            let read = near.read(&mut piece).expect("reads");
            seen.extend_from_slice(&piece[..read]);
        }
        let seen = String::from_utf8_lossy(&seen).into_owned();
        let at = |text: &str| seen.find(text).unwrap_or_else(|| panic!("{text:?} in {seen:?}"));
        assert!(at("\x1b[?1049h") < at("\x1b[?1049l"), "{seen:?}");
        assert!(at("\x1b[?1049l") < at("in the middle"), "{seen:?}");
        assert!(at("\x1b[?25l") < at("\x1b[?25h"), "{seen:?}");
        assert!(at("a stray line") > at("\x1b[?1049l"), "{seen:?}");
        let modes = tcgetattr(&kept).expect("is a terminal").local_modes;
        assert_eq!(modes, cooked);
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    }
}
