//! `twining top` at a terminal: what it shows, what it does, and how it leaves.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;

use crate::common::Project;
use crate::common::terminal::{Terminal, command_in_shell};
use twining_testcases::each;

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
/// After this, what is waited for will not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program at a terminal.
struct Top {
    child: Child,
    terminal: Terminal,
    output: Arc<Mutex<Vec<u8>>>,
}

/// What a terminal shows after these bytes.
struct Shown {
    cells: Vec<Vec<char>>,
    is_alternate: bool,
    has_cursor: bool,
}

impl Top {
    fn start(project: &Project, words: &[&str], host: Option<&str>) -> Self {
        let terminal = Terminal::open();
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(terminal.near_end(), size).expect("has a size");
        let words: Vec<&str> = ["top"].into_iter().chain(words.iter().copied()).collect();
        let mut command = command_in_shell(project, &words, host);
        command.env("TERM", "xterm-256color").env_remove("TWINING_THEME").env_remove("COLORFGBG");
        command.stdin(terminal.end()).stdout(terminal.end()).stderr(terminal.end());
        let child = command.spawn().expect("starts");
        let output = Arc::new(Mutex::new(Vec::new()));
        let (mut near, seen) = (terminal.near_end(), Arc::clone(&output));
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = near.read(&mut piece) {
                seen.lock().expect("is whole").extend_from_slice(&piece[..read]);
            }
        });
        Self { child, terminal, output }
    }

    fn press(&self, keys: &str) {
        self.terminal.near_end().write_all(keys.as_bytes()).expect("types");
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("fits");
        kill_process(Pid::from_raw(id).expect("is a process"), signal).expect("is sent");
    }

    fn raw(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().expect("is whole")).into_owned()
    }

    fn shown(&self) -> Shown {
        Shown::after(&self.raw())
    }

    /// Waits until the screen shows a text.
    fn sees(&self, text: &str) {
        self.waits(text, || self.shown().text().contains(text));
    }

    fn waits(&self, what: &str, is_so: impl Fn() -> bool) {
        let started = Instant::now();
        while !is_so() {
            assert!(started.elapsed() < PATIENCE, "no {what:?} in\n{}", self.shown().text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end, and makes sure that the terminal is as it was.
    fn ends(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("ends");
        self.waits("the screen given back", || !self.shown().is_alternate);
        self.assert_restored();
        (status, self.raw())
    }

    fn assert_restored(&self) {
        let shown = self.shown();
        assert!(!shown.is_alternate && shown.has_cursor, "{:?}", self.raw());
        let far = fs::File::open(&self.terminal.name).expect("opens");
        let modes = tcgetattr(far).expect("is a terminal").local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "{modes:?}");
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        drop(self.child.kill());
    }
}

impl Shown {
    fn after(raw: &str) -> Self {
        let blank = || vec![vec![' '; usize::from(COLUMNS)]; usize::from(ROWS)];
        let mut shown = Self { cells: blank(), is_alternate: false, has_cursor: true };
        let (mut x, mut y) = (0, 0);
        let mut rest: VecDeque<char> = raw.chars().collect();
        while let Some(c) = rest.pop_front() {
            match c {
                '\u{1b}' if rest.front() == Some(&'[') => {
                    rest.pop_front();
                    let mut parameters = String::new();
                    let letter = loop {
                        match rest.pop_front() {
                            Some(c @ ('0'..='9' | ';' | '?')) => parameters.push(c),
                            Some(letter) => break letter,
                            None => return shown,
                        }
                    };
                    let numbers: Vec<usize> =
                        parameters.split(';').filter_map(|number| number.parse().ok()).collect();
                    match (letter, parameters.as_str()) {
                        ('H', _) => {
                            y = numbers.first().map_or(0, |row| row - 1);
                            x = numbers.get(1).map_or(0, |column| column - 1);
                        }
                        ('J', _) => shown.cells = blank(),
                        ('h' | 'l', "?1049") => shown.is_alternate = letter == 'h',
                        ('h' | 'l', "?25") => shown.has_cursor = letter == 'h',
                        _ => {}
                    }
                }
                '\r' => x = 0,
                '\n' => y += 1,
                c => {
                    if let Some(cell) = shown.cells.get_mut(y).and_then(|row| row.get_mut(x)) {
                        *cell = c;
                    }
                    x += 1;
                }
            }
        }
        shown
    }

    fn text(&self) -> String {
        self.cells.iter().map(|row| row.iter().collect::<String>() + "\n").collect()
    }
}

fn project() -> Project {
    let project = Project::new();
    project.json(&["post", "warning", "bcrypt blocks the loop", "--scope", "src/auth/"]);
    project.json(&["post", "question", "Which port?", "--scope", "src/net/", "--agent", "bob"]);
    project
}

fn newest(project: &Project) -> Value {
    project.json(&["recent", "1"])["entries"][0].clone()
}

#[test]
fn it_shows_what_there_is_follows_what_changes_and_quits() {
    let project = project();
    let top = Top::start(&project, &[], None);
    top.sees("bcrypt blocks the loop");
    project.json(&["post", "finding", "seen from another process", "--agent", "cy"]);
    top.sees("seen from another process");
    top.press("2");
    top.sees("everything, 3");
    top.press("q");
    let (status, raw) = top.ends();
    assert_eq!(status.code(), Some(0));
    assert!(raw.find("loading…") < raw.find("bcrypt"), "the first frame comes first");
}

#[test]
fn a_question_is_answered_by_the_person_at_the_keys() {
    let project = project();
    let top = Top::start(&project, &[], None);
    top.sees("Which port?");
    top.press("2");
    top.sees("Stream, 1 of 2");
    top.press("a8080\r");
    top.sees("posted");
    top.sees("everything, 3");
    top.press("q");
    assert_eq!(top.ends().0.code(), Some(0));
    let answer = newest(&project);
    assert_eq!((&answer["entry_type"], &answer["summary"]), (&"answer".into(), &"8080".into()));
    assert_eq!(answer["origin"]["trust"], "human");
}

#[test]
fn a_contested_decision_is_settled_at_the_keys() {
    let project = Project::new();
    let older = project.decide("Use stateless JWT", "src/auth/");
    let newer = project.decide("Use server sessions", "src/auth/");
    let waiting = project.json(&["waiting"]);
    let answers = waiting["items"][0]["answers"].as_array().expect("has answers").clone();
    let promote = answers.iter().position(|answer| answer["verb"] == "promote").expect("is there");
    let top = Top::start(&project, &[], None);
    top.sees("contested");
    top.press("\r");
    top.sees("Use server sessions");
    top.press(&(promote + 1).to_string());
    top.sees("Reason:");
    top.press("we must be able to log people out\r");
    let loser = answers[promote]["input"]["instead_of"][0].as_str().expect("is named");
    top.sees(&format!("Type {} to go on", &loser[18..]));
    top.press("wrong\r");
    top.sees("does not match");
    top.press(&format!("\x15{}\r", &loser[18..]));
    top.sees("overridden");
    top.sees("nothing needs you");
    top.press("q");
    assert_eq!(top.ends().0.code(), Some(0));
    let status = |id: &str| {
        let read = project.json(&["read", "--id", id]);
        read["decisions"][0]["status"].as_str().expect("has a status").to_owned()
    };
    let (winner, loser) = if loser == older { (&newer, &older) } else { (&older, &newer) };
    assert_eq!((status(winner), status(loser)), ("active".to_owned(), "overridden".to_owned()));
}

#[test]
fn in_an_agents_shell_it_shows_everything_and_does_nothing() {
    let project = project();
    let top = Top::start(&project, &[], Some("CLAUDECODE"));
    top.sees("Which port?");
    top.press("2");
    top.sees("Stream, 1 of 2");
    top.press("a");
    top.sees("only a person can do this");
    top.sees("(CLAUDECODE is");
    top.press("\x03");
    top.ends();
    assert_eq!(newest(&project)["entry_type"], "question");
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_as_it_was() {
    each([Signal::TERM, Signal::HUP, Signal::INT], |signal| {
        let project = project();
        let top = Top::start(&project, &[], None);
        top.sees("bcrypt blocks the loop");
        top.signal(signal);
        assert_eq!(top.ends().0.signal(), Some(signal.as_raw()));
    });
}

#[test]
fn it_stops_for_the_shell_and_comes_back() {
    let project = project();
    let top = Top::start(&project, &[], None);
    each(["\x1a", ""], |key| {
        top.sees("bcrypt blocks the loop");
        match key {
            "" => top.signal(Signal::TSTP),
            key => top.press(key),
        }
        let stat = format!("/proc/{}/stat", top.child.id());
        top.waits("a stopped process", || {
            let stat = fs::read_to_string(&stat).expect("is there");
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        });
        top.waits("the screen given back", || !top.shown().is_alternate);
        top.assert_restored();
        top.signal(Signal::CONT);
        top.waits("the screen taken again", || top.shown().is_alternate);
        top.sees("bcrypt blocks the loop");
    });
    top.press("q");
    assert_eq!(top.ends().0.code(), Some(0));
}

#[test]
fn a_stored_escape_never_reaches_the_terminal() {
    let project = Project::new();
    let hostile = r#"{"entry_type":"warning","summary":"x\u001b]52;c;aGk=\u0007\u202ey","detail":"\u001b[2J\u009b31m","scope":"src/"}"#;
    let posted = project.run_with(&["post", "--json-input", "-"], hostile);
    assert_eq!(posted.code, 0, "{posted:?}");
    let top = Top::start(&project, &[], None);
    top.sees("xU+001B]52;c;aGk=U+0007U+202Ey");
    top.press("2");
    top.sees("U+001B[2JU+009B31m");
    top.press("q");
    let (_, raw) = top.ends();
    assert!(!raw.contains("\u{1b}]") && !raw.contains(['\u{7}', '\u{202e}', '\u{9b}']), "{raw:?}");
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let project = project();
    let raw = |theme: &str| {
        let top = Top::start(&project, &["--theme", theme], None);
        top.sees("bcrypt blocks the loop");
        top.press("q");
        top.ends().1
    };
    assert!(raw("light").contains("\u{1b}[38;5;"));
    assert!(raw("dark").contains("\u{1b}[38;5;"));
    assert!(!raw("none").contains("\u{1b}[38;5;"));
}

#[test]
fn without_a_terminal_it_prints_one_frame() {
    let project = project();
    for words in [&["top"][..], &["top", "--once"]] {
        let ran = project.run(words);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert_eq!(ran.stdout.lines().count(), 24);
        assert!(ran.stdout.contains("bcrypt blocks the loop"), "{}", ran.stdout);
        assert!(!ran.stdout.contains('\u{1b}'));
    }
    let top = Top::start(&project, &["--once"], None);
    top.sees("bcrypt blocks the loop");
    assert!(!top.ends().1.contains("\u{1b}[?1049h"));
}

#[test]
fn as_json_it_is_what_waits_and_who_is_at_work() {
    let project = project();
    let shown = project.json(&["top"]);
    assert!(shown["waiting"]["items"].is_array(), "{shown}");
    assert_eq!(shown["agents"]["agents"][0]["agent_id"], "bob");
}

#[test]
fn looking_makes_no_memory() {
    let project = Project::new();
    let ran = project.run(&["top"]);
    assert!(ran.stdout.contains("no memory here yet"), "{}", ran.stdout);
    assert!(!project.path().join(".twining").exists());
}
