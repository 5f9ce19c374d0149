//! A team service in the test's own process: the routes of linked clones over a log in memory.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_engine::{Engine, RemoteAuthor};
use twining_store::{Log, LogBase, LogError, LogLine, NewLine, Store, StoreError};
use twining_testkit::{MemoryLog, TestProject, ids};

/// What the service knows a clone by.
pub(crate) const TOKEN: &str = "twn_test_0123456789";

/// The repository that its address leads to at first.
pub(crate) const REPOSITORY: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// The service.
pub(crate) struct TeamServer {
    pub log: Arc<MemoryLog>,
    port: u16,
    state: Arc<ServerState>,
}

struct ServerState {
    log: Arc<MemoryLog>,
    engine: Mutex<(Engine, TestProject)>,
    claims: Mutex<(u64, String)>,
    repository: Mutex<String>,
    may_settle: AtomicBool,
    is_revoked: AtomicBool,
    is_down: AtomicBool,
    lost_answers: AtomicUsize,
    asked: AtomicUsize,
}

impl TeamServer {
    pub(crate) fn start() -> Self {
        let log = Arc::new(MemoryLog::default());
        let (project, store) = ServerState::opened(&log);
        let state = Arc::new(ServerState {
            log: Arc::clone(&log),
            engine: Mutex::new((Engine::new(store), project)),
            claims: Mutex::default(),
            repository: Mutex::new(REPOSITORY.to_owned()),
            may_settle: AtomicBool::new(true),
            is_revoked: AtomicBool::new(false),
            is_down: AtomicBool::new(false),
            lost_answers: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let serving = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&serving);
                std::thread::spawn(move || drop(state.serve(&stream)));
            }
        });
        Self { log, port, state }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/acme/shop", self.port)
    }

    /// Closes every connection without a word, or serves again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.state.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Lets its address lead to another repository.
    pub(crate) fn become_repository(&self, id: &str) {
        *self.state.repository.lock().expect("is there") = id.to_owned();
    }

    /// Whether its callers may override, promote and archive.
    pub(crate) fn let_settle(&self, may_settle: bool) {
        self.state.may_settle.store(may_settle, Ordering::SeqCst);
    }

    /// Whether it accepts its callers' token no more.
    pub(crate) fn revoke_token(&self, is_revoked: bool) {
        self.state.is_revoked.store(is_revoked, Ordering::SeqCst);
    }

    /// Carries out the next `count` appends without answering.
    pub(crate) fn lose_answers(&self, count: usize) {
        self.state.lost_answers.store(count, Ordering::SeqCst);
    }

    /// Has the log lose its last lines, as a database that is restored from a backup.
    pub(crate) fn lose_lines(&self, count: usize) {
        self.log.lose_lines(count);
        // A node makes its folder anew.
        let (project, store) = ServerState::opened(&self.log);
        *self.state.engine.lock().expect("is there") = (Engine::new(store), project);
    }

    /// How often it was connected to.
    pub(crate) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }
}

impl ServerState {
    fn opened(log: &Arc<MemoryLog>) -> (TestProject, Store) {
        let project = TestProject::in_memory();
        let store = Store::open(project.place(), ids()).expect("opens");
        store.use_log(Arc::clone(log) as _);
        (project, store)
    }

    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_down.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let (mut length, mut is_known, mut is_meant) = (0, false, true);
        let repository = self.repository.lock().expect("is there").clone();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or(0),
                "twining-repository" => is_meant = value.trim() == repository,
                "authorization" => is_known = value.trim() == format!("Bearer {TOKEN}"),
                _ => {}
            }
        }
        is_known &= !self.is_revoked.load(Ordering::SeqCst);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (status, answer) = if is_known && method == "POST" && !is_meant {
            let message = format!("this address leads to repository `{repository}`");
            (409, json!({"error": "other_repository", "message": message}))
        } else if is_known {
            self.answer(method, path, &body)
        } else {
            (401, json!({"error": "unauthorized", "message": "a valid token is needed"}))
        };
        let lose = |left: usize| left.checked_sub(1);
        let is_lost = path.contains("/v1/append")
            && self.lost_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok();
        if is_lost || self.is_down.load(Ordering::SeqCst) {
            return Ok(());
        }
        let text = answer.to_string();
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        )
    }

    fn answer(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let Some(route) = path.strip_prefix("/acme/shop/") else {
            return (404, json!({"error": "not_found"}));
        };
        match (method, route.split('?').next().unwrap_or("")) {
            (_, "v1/since" | "v1/append") if self.is_of_other_log(route) => {
                (409, json!({"error": "other_log", "message": "its line is another"}))
            }
            ("GET", "v1/since") => (200, self.since(route)),
            ("POST", "v1/append") => match self.append(body) {
                Ok(seqs) => (200, json!({"seqs": seqs})),
                Err(StoreError::Log(LogError::Behind)) => (409, json!({"error": "behind"})),
                Err(error) => (409, json!({"error": "refused", "message": error.to_string()})),
            },
            ("GET", "v1/claims") => {
                let (version, body) = self.claims.lock().expect("is there").clone();
                (200, json!({"version": version, "body": body}))
            }
            ("POST", "v1/claims") => {
                let mut claims = self.claims.lock().expect("is there");
                if body["version"] != claims.0 {
                    return (409, json!({"error": "behind"}));
                }
                *claims = (claims.0 + 1, body["body"].as_str().unwrap_or("").to_owned());
                (200, json!({"version": claims.0}))
            }
            _ => (404, json!({"error": "not_found"})),
        }
    }

    /// Whether the caller has followed a line that this log has not.
    fn is_of_other_log(&self, route: &str) -> bool {
        let Some((_, key)) = route.split_once("key=") else { return false };
        self.log.all().iter().all(|line| line.key.as_str() != key)
    }

    fn since(&self, route: &str) -> Value {
        let number = |name: &str| {
            let pairs = route.split_once('?').map_or("", |(_, query)| query).split('&');
            let value = pairs.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).next();
            value.and_then(|value| value.parse::<u64>().ok()).unwrap_or(0)
        };
        let until = Instant::now() + Duration::from_secs(number("wait"));
        loop {
            let limit = usize::try_from(number("limit")).unwrap_or(1);
            let lines: Vec<LogLine> =
                self.log.since(number("after"), limit).expect("a log in memory answers");
            if !lines.is_empty() || Instant::now() >= until {
                let repository = self.repository.lock().expect("is there").clone();
                let head = self.log.all().len();
                return json!({"lines": lines, "head": head, "repository": repository});
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn append(&self, body: &Value) -> Result<Vec<u64>, StoreError> {
        let may_settle = self.may_settle.load(Ordering::SeqCst);
        let author = RemoteAuthor { is_person: false, may_settle };
        let lines: Vec<NewLine> = serde_json::from_value(body["lines"].clone())?;
        let guard = self.engine.lock().expect("no call panics with it");
        let engine = &guard.0;
        match &body["base"] {
            Value::String(base) if base == "admit" => engine.admit(&lines, &author),
            Value::String(_) => engine.append_remote(LogBase::Any, &lines, &author),
            base => {
                let at = base["at"].as_u64().expect("a number");
                engine.append_remote(LogBase::At(at), &lines, &author)
            }
        }
    }
}
