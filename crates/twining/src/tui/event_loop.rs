//! Waits for keys, signals and changes of the memory, in one thread; nothing runs until one comes.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level;
use twining_model::World;
use twining_store::disk::FolderWatch;

use crate::render::command_error::{CommandError, ExitStatus};
use crate::system_world::SystemWorld;
use crate::tui::headless::first_state;
use crate::tui::key_decoder::KeyDecoder;
use crate::tui::screen::TopScreen;
use crate::tui::state::TopEvent;
use crate::tui::theme::Theme;
use crate::tui::top_session::{SessionStep, TopSession};

/// At most ten frames a second.
const FRAME: Duration = Duration::from_millis(100);
/// A memory that takes long to read is read so much less often.
const REST_FACTOR: u32 = 4;
/// How long the rest of a key may take before it was the escape key.
const KEY_REST: Duration = Duration::from_millis(30);
/// The signals after which the program ends as they would have ended it.
const ENDING: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];

/// Shows the screen until somebody leaves it.
pub(crate) fn run(given: Option<PathBuf>, theme: Theme) -> Result<ExitStatus, CommandError> {
    let failed = |error: io::Error| CommandError::of_error("OUTPUT", &error);
    let state = first_state(given.clone(), TopScreen::size(), theme)?;
    let signals = SignalPipe::listen().map_err(failed)?;
    let mut screen = TopScreen::take().map_err(failed)?;
    // Before anything is loaded: who waits for a first read should see that it is under way.
    screen.draw(&state).map_err(failed)?;
    let drawn = Instant::now();
    let mut session = TopSession::new(state);
    let watch = session.open(given, true, |memory| memory.watch())?;
    let mut top = EventLoop { session, screen, signals, watch, keys: KeyDecoder::default() };
    let ended = top.run(drawn);
    drop(top);
    match ended.map_err(failed)? {
        Some(signal) => {
            // So that whoever sent it sees that it worked.
            let _ = low_level::emulate_default_handler(signal);
            Ok(ExitStatus::Failed)
        }
        None => Ok(ExitStatus::Done),
    }
}

/// Signals as flags, and a pipe that wakes who waits.
struct SignalPipe {
    wake: UnixStream,
    ending: Vec<(i32, Arc<AtomicBool>)>,
    stop: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
    resized: Arc<AtomicBool>,
}

impl SignalPipe {
    fn listen() -> io::Result<Self> {
        let (wake, write) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        let flag = |signal: i32| -> io::Result<Arc<AtomicBool>> {
            let flag = Arc::new(AtomicBool::new(false));
            // The flag before the pipe: whoever is woken finds it set.
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
            low_level::pipe::register(signal, write.try_clone()?)?;
            Ok(flag)
        };
        let ending = ENDING.map(|signal| flag(signal).map(|flag| (signal, flag)));
        Ok(Self {
            ending: ending.into_iter().collect::<io::Result<_>>()?,
            stop: flag(SIGTSTP)?,
            resumed: flag(SIGCONT)?,
            resized: flag(SIGWINCH)?,
            wake,
        })
    }

    fn drain(&self) {
        let mut buffer = [0; 64];
        while (&self.wake).read(&mut buffer).is_ok_and(|read| read > 0) {}
    }

    fn ended(&self) -> Option<i32> {
        let set = self.ending.iter().find(|(_, flag)| flag.load(Ordering::Acquire));
        set.map(|(signal, _)| *signal)
    }
}

struct EventLoop {
    session: TopSession,
    screen: TopScreen,
    signals: SignalPipe,
    watch: FolderWatch,
    keys: KeyDecoder,
}

/// What woke us.
#[derive(Default)]
struct Woken {
    has_keys: bool,
    input_ended: bool,
    has_changes: bool,
}

impl EventLoop {
    /// Runs until the person leaves; returns the signal if one ended it.
    fn run(&mut self, drawn: Instant) -> io::Result<Option<i32>> {
        let (mut is_dirty, mut is_stale) = (true, false);
        // When the next frame may be drawn, and the memory read again.
        let (mut next_frame, mut next_read) = (drawn + FRAME, drawn + FRAME);
        let mut compared = Instant::now();
        let mut ages_move = self.next_age();
        loop {
            let now = Instant::now();
            if is_stale && next_read <= now {
                self.session.changed();
                if self.follow_up()? {
                    return Ok(None);
                }
                let took = now.elapsed();
                (is_stale, is_dirty) = (false, true);
                next_read = Instant::now() + FRAME.max(took * REST_FACTOR);
            }
            if is_dirty && next_frame <= Instant::now() {
                self.draw()?;
                (is_dirty, next_frame, ages_move) =
                    (false, Instant::now() + FRAME, self.next_age());
            }
            let until = |at: Instant| at.saturating_duration_since(Instant::now());
            let frame = is_dirty.then(|| until(next_frame));
            let read = is_stale.then(|| until(next_read));
            let rest = self.keys.awaits_more().then_some(KEY_REST);
            let ages = ages_move.map(until);
            let compare =
                self.watch.interval().map(|every| every.saturating_sub(compared.elapsed()));
            let timeout = [frame, read, rest, ages, compare].into_iter().flatten().min();
            let woken = self.wait(timeout)?;
            if let Some(signal) = self.signals.ended() {
                return Ok(Some(signal));
            }
            if woken.input_ended {
                return Ok(None);
            }
            is_dirty |= self.take_signals()?;
            is_stale |= woken.has_changes && self.watch.drain();
            if self.watch.interval().is_some_and(|every| compared.elapsed() >= every) {
                compared = Instant::now();
                is_stale |= self.watch.drain();
            }
            if ages_move.is_some_and(|at| at <= Instant::now()) {
                self.session.update(TopEvent::Clock(SystemWorld.now()));
                self.session.run_pending();
                (is_dirty, ages_move) = (true, self.next_age());
            }
            match self.take_keys(&woken)? {
                Some(true) => return Ok(None),
                Some(false) => is_dirty = true,
                None => {}
            }
        }
    }

    /// Takes what was typed; whether the person leaves, or nothing if nothing was typed.
    fn take_keys(&mut self, woken: &Woken) -> io::Result<Option<bool>> {
        let mut keys = Vec::new();
        if woken.has_keys {
            let mut buffer = [0; 4096];
            let read = match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                // The terminal is gone.
                Ok(0) | Err(Errno::IO) => return Ok(Some(true)),
                Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
                read => read?,
            };
            keys = self.keys.push(&buffer[..read]);
        } else if self.keys.awaits_more() {
            keys.extend(self.keys.flush());
        }
        if keys.is_empty() {
            return Ok(None);
        }
        for key in keys {
            self.session.update(TopEvent::Key(key));
            if self.session.is_slow() {
                self.draw()?;
            }
            if self.follow_up()? {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    /// Does what the model asked for; whether the person leaves.
    fn follow_up(&mut self) -> io::Result<bool> {
        loop {
            match self.session.run_pending() {
                SessionStep::GoOn => return Ok(false),
                SessionStep::Quit => return Ok(true),
                SessionStep::Suspend => self.suspend()?,
            }
        }
    }

    /// Whether something is to be drawn because of a signal.
    fn take_signals(&mut self) -> io::Result<bool> {
        let taken = |flag: &AtomicBool| flag.swap(false, Ordering::AcqRel);
        if taken(&self.signals.stop) {
            self.suspend()?;
            self.session.run_pending();
            return Ok(true);
        }
        let resumed = taken(&self.signals.resumed);
        if resumed {
            // A shell that stopped us has set the terminal for itself.
            self.screen.enter()?;
        }
        let resized = taken(&self.signals.resized);
        if resumed || resized {
            self.session.update(TopEvent::Resized(TopScreen::size()));
            self.session.run_pending();
        }
        Ok(resumed || resized)
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.screen.leave();
        low_level::emulate_default_handler(SIGTSTP)?;
        self.signals.resumed.store(false, Ordering::Release);
        self.screen.enter()?;
        self.session.update(TopEvent::Resized(TopScreen::size()));
        self.session.changed();
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        self.session.state.now = SystemWorld.now();
        self.screen.draw(&self.session.state)
    }

    fn next_age(&self) -> Option<Instant> {
        let ms = u64::try_from(self.session.state.next_change_ms()?).ok()?;
        Some(Instant::now() + Duration::from_millis(ms))
    }

    /// Sleeps until something happens.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Woken> {
        let stdin = rustix::stdio::stdin();
        let mut fds = vec![
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(&self.signals.wake, PollFlags::IN),
        ];
        let watched = self.watch.fd();
        fds.extend(watched.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let timeout = timeout.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = |index: usize| fds.get(index).map_or(PollFlags::empty(), PollFd::revents);
        let input = ready(0);
        let woken = Woken {
            has_keys: input.contains(PollFlags::IN),
            input_ended: !input.contains(PollFlags::IN)
                && input.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
            has_changes: ready(2).contains(PollFlags::IN),
        };
        if ready(1).contains(PollFlags::IN) {
            self.signals.drain();
        }
        Ok(woken)
    }
}
