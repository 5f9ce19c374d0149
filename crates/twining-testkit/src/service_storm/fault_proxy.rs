//! A TCP proxy that misbehaves: it cuts connections before a request or after its answer, delays,
//! and falls silent.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::progress::StormRandom;

/// Answers of a thousand that are swallowed, with their connection.
const SWALLOWED: u64 = 10;
/// Requests of a thousand that are cut before they arrive.
const CUT: u64 = 2;
/// Requests and answers of a thousand that are delayed, and for how long at most.
const DELAYED: u64 = 10;
const DELAY: Duration = Duration::from_millis(40);

/// Where a connection may lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProxyTarget {
    Tcp(u16),
    Unix(PathBuf),
}

/// The proxy. It serves until the process ends.
pub(super) struct FaultProxy {
    pub(super) port: u16,
    state: Arc<ProxyState>,
}

/// What a proxy did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProxyCounts {
    pub(super) answers: usize,
    pub(super) swallowed: usize,
    pub(super) cut: usize,
}

struct ProxyState {
    /// Tried in turn, until one takes the connection.
    targets: Mutex<Vec<ProxyTarget>>,
    turn: AtomicUsize,
    is_faulty: AtomicBool,
    silent_until: Mutex<Option<Instant>>,
    random: Mutex<StormRandom>,
    /// Both ends of the open connections.
    open: Mutex<HashMap<usize, (ProxyStream, ProxyStream)>>,
    answers: AtomicUsize,
    swallowed: AtomicUsize,
    cut: AtomicUsize,
}

enum ProxyStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Answer,
}

impl FaultProxy {
    /// Starts one that does nothing but pass on.
    pub(super) fn start(seed: u64, targets: Vec<ProxyTarget>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(ProxyState {
            targets: Mutex::new(targets),
            turn: AtomicUsize::new(0),
            is_faulty: AtomicBool::new(false),
            silent_until: Mutex::default(),
            random: Mutex::new(StormRandom::new(seed)),
            open: Mutex::default(),
            answers: AtomicUsize::new(0),
            swallowed: AtomicUsize::new(0),
            cut: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&state);
        thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                let state = Arc::clone(&serving);
                // A connection that cannot be passed on is closed, as if nobody listened.
                thread::spawn(move || drop(state.connect(number, client)));
            }
        });
        Ok(Self { port, state })
    }

    /// Leads new connections elsewhere.
    pub(super) fn lead_to(&self, targets: Vec<ProxyTarget>) {
        *locked(&self.state.targets) = targets;
    }

    /// Misbehaves, or not any more.
    pub(super) fn set_faulty(&self, is_faulty: bool) {
        self.state.is_faulty.store(is_faulty, Ordering::SeqCst);
    }

    /// Passes nothing on for so long, and says so to nobody: a cut cable.
    pub(super) fn fall_silent(&self, lasting: Duration) {
        *locked(&self.state.silent_until) = Some(Instant::now() + lasting);
    }

    pub(super) fn counts(&self) -> ProxyCounts {
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        ProxyCounts {
            answers: count(&self.state.answers),
            swallowed: count(&self.state.swallowed),
            cut: count(&self.state.cut),
        }
    }
}

impl ProxyState {
    fn connect(self: Arc<Self>, number: usize, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        self.wait_while_silent();
        let server = self.reach()?;
        let client = ProxyStream::Tcp(client);
        let ends = (client.another()?, server.another()?);
        locked(&self.open).insert(number, ends);
        let (requests, answers) = ((client.another()?, server.another()?), (server, client));
        let (state, is_asked) = (Arc::clone(&self), Arc::new(AtomicBool::new(false)));
        let asking = Arc::clone(&is_asked);
        let upward = thread::spawn(move || {
            state.pass_on(Direction::Request, requests.0, requests.1, &asking);
        });
        self.pass_on(Direction::Answer, answers.0, answers.1, &is_asked);
        self.close(number);
        let _ = upward.join();
        Ok(())
    }

    /// A connection to the next target that takes it.
    fn reach(&self) -> io::Result<ProxyStream> {
        let targets = locked(&self.targets).clone();
        let first = self.turn.fetch_add(1, Ordering::SeqCst);
        let mut failed = io::Error::from(io::ErrorKind::NotConnected);
        for number in 0..targets.len() {
            let reached = match &targets[(first + number) % targets.len()] {
                ProxyTarget::Tcp(port) => {
                    TcpStream::connect(("127.0.0.1", *port)).and_then(|stream| {
                        stream.set_nodelay(true)?;
                        Ok(ProxyStream::Tcp(stream))
                    })
                }
                ProxyTarget::Unix(path) => UnixStream::connect(path).map(ProxyStream::Unix),
            };
            match reached {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Passes on what comes, until one side closes or a fault does. What comes first after a
    /// request begins an answer; a long one is lost no more often than a short one.
    fn pass_on(
        &self,
        direction: Direction,
        mut from: ProxyStream,
        mut to: ProxyStream,
        is_asked: &AtomicBool,
    ) {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut chunk) {
            self.wait_while_silent();
            let begins = match direction {
                Direction::Request => !is_asked.swap(true, Ordering::SeqCst),
                Direction::Answer => is_asked.swap(false, Ordering::SeqCst),
            };
            if direction == Direction::Answer && begins {
                self.answers.fetch_add(1, Ordering::SeqCst);
            }
            if begins && self.is_faulty.load(Ordering::SeqCst) && self.loses(direction) {
                break;
            }
            if to.write_all(&chunk[..length]).is_err() {
                break;
            }
        }
        from.close();
        to.close();
    }

    /// Whether this chunk and its connection end here. May wait first.
    fn loses(&self, direction: Direction) -> bool {
        let (lot, delay) = {
            let mut random = locked(&self.random);
            (random.below(1000), DELAY.mul_f64(random.share()))
        };
        let (lost, counter) = match direction {
            Direction::Answer => (SWALLOWED, &self.swallowed),
            Direction::Request => (CUT, &self.cut),
        };
        if lot < lost {
            counter.fetch_add(1, Ordering::SeqCst);
            return true;
        }
        if lot < lost + DELAYED {
            thread::sleep(delay);
        }
        false
    }

    fn wait_while_silent(&self) {
        loop {
            let until = *locked(&self.silent_until);
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            match left.filter(|left| !left.is_zero()) {
                Some(left) => thread::sleep(left.min(Duration::from_millis(50))),
                None => return,
            }
        }
    }

    fn close(&self, number: usize) {
        if let Some((client, server)) = locked(&self.open).remove(&number) {
            client.close();
            server.close();
        }
    }
}

impl ProxyStream {
    fn another(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    fn close(&self) {
        // It may be closed already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for ProxyStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for ProxyStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
