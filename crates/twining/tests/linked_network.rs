//! What a linked clone asks of the network, and what it believes of what comes back.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;
use twining_testkit::files::shared_state;

use crate::common::team_server::{REPOSITORY, TeamServer};
use crate::common::{Project, Ran, hooked};
use crate::linked::by_person;

/// More than a clone reads of one answer.
const TOO_MUCH: usize = 65 * 1024 * 1024;

/// A service that answers whatever it likes, and notes what it was asked.
struct HostileServer {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl HostileServer {
    /// Answers a path by writing to the connection.
    fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let (noted, answer) = (Arc::clone(&heads), Arc::new(answer));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (noted, answer) = (Arc::clone(&noted), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let head = head_of(&stream);
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    noted.lock().expect("is there").push(head);
                    answer(&path, &mut stream);
                });
            }
        });
        Self { port, heads }
    }

    fn link(&self, project: &Project) -> Ran {
        let address = format!("http://127.0.0.1:{}/acme/shop", self.port);
        by_person(project, &["link", &address, "--yes"])
    }
}

fn head_of(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.take_while(|line| !line.is_empty()).map(|line| line + "\n").collect()
}

/// What a client reads no further, is not sent: a failed write ends it.
fn send(stream: &mut TcpStream, headers: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn answer(stream: &mut TcpStream, body: &serde_json::Value) {
    let body = body.to_string();
    send(stream, &format!("content-length: {}\r\n", body.len()), body.as_bytes());
}

/// Links a folder to a service whose answers are too large: it says so, and nothing has changed.
fn is_too_large(server: &HostileServer) {
    let project = Project::new();
    project.decide("use sqlite", "src/");
    let before = shared_state(project.path());
    let ran = server.link(&project);
    assert!(ran.code != 0 && ran.stdout.contains("too large"), "{ran:?}");
    assert_eq!(shared_state(project.path()), before);
    assert_eq!(project.run(&["sync"]).code, 1, "it is not linked");
}

#[test]
fn t21_an_answer_without_end_is_read_no_further() {
    is_too_large(&HostileServer::start(|_, stream| {
        send(stream, "", &[]);
        while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
    }));
}

#[test]
fn t21_an_answer_of_gigabytes_is_read_no_further() {
    is_too_large(&HostileServer::start(|_, stream| {
        send(stream, "content-length: 100000000000\r\n", &vec![b' '; TOO_MUCH]);
    }));
}

#[test]
fn t21_a_packed_answer_is_unpacked_no_further() {
    let packed = format!("head -c {TOO_MUCH} /dev/zero | gzip -9");
    let packed = Command::new("sh").args(["-c", &packed]).output().expect("packs").stdout;
    assert!(packed.len() < 1 << 20, "it is small");
    is_too_large(&HostileServer::start(move |_, stream| {
        let headers = format!("content-encoding: gzip\r\ncontent-length: {}\r\n", packed.len());
        send(stream, &headers, &packed);
    }));
}

#[test]
fn t21_a_snapshot_that_never_ends_is_followed_to_the_head_that_was_named() {
    let server = HostileServer::start(|path, stream| {
        let after = path.split_once("after=").map_or("", |(_, rest)| rest);
        let after: u64 = after.split('&').next().and_then(|it| it.parse().ok()).unwrap_or(0);
        let said = if path.contains("v1/snapshot") {
            json!({"v": 1, "changes": [{}], "through": after + 1, "head": after + 1000})
        } else {
            json!({"lines": [], "head": after.max(3), "repository": REPOSITORY})
        };
        answer(stream, &said);
    });
    let project = Project::new();
    let ran = server.link(&project);
    assert_eq!(ran.code, 0, "{ran:?}");
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(said["received"], 3, "{said}");
}

#[test]
fn t23_a_header_or_a_program_in_a_tracked_file_does_nothing() {
    let server = HostileServer::start(|_, stream| {
        answer(stream, &json!({"lines": [], "head": 0, "repository": REPOSITORY}));
    });
    let project = Project::new();
    assert_eq!(server.link(&project).code, 0);
    let marker = project.path().join("was-run");
    let program = format!("touch {}", marker.display());
    let config = project.path().join(".twining/config.yml");
    let text = std::fs::read_to_string(&config).expect("reads");
    let keys = format!(
        "headers:\n  x-planted: yes\nauthorization: planted\nprogram: {program}\ntoken_command: {program}\ncredential_helper: {program}\nproxy: http://127.0.0.1:1\n"
    );
    std::fs::write(&config, text + &keys).expect("writes");
    let before = server.heads.lock().expect("is there").len();
    project.run(&["sync"]);
    let heads = server.heads.lock().expect("is there").clone();
    assert!(heads.len() > before, "it was asked");
    assert!(heads.iter().all(|head| !head.contains("planted")), "{heads:?}");
    assert!(!marker.exists(), "no program of a tracked file is run");
}

#[test]
fn hooks_of_a_linked_clone_open_no_connection() {
    let server = TeamServer::start();
    let project = hooked::project();
    let linked = by_person(&project, &["link", &server.address(), "--yes"]);
    assert_eq!(linked.code, 0, "{linked:?}");
    // Something waits to be sent.
    server.set_down(true);
    assert_eq!(project.json(&["post", "finding", "made offline"])["synced"], false);
    server.set_down(false);
    let asked = server.asked();
    hooked::start(&project, "s-1");
    let edit = json!({
        "file_path": project.path().join("src/a.rs"),
        "old_string": "fn a() {}", "new_string": "fn b() {}",
    });
    let call = json!({"tool_name": "Edit", "tool_input": edit, "tool_response": {}});
    for event in ["PreToolUse", "PostToolUse"] {
        assert_eq!(hooked::hook(&project, event, call.clone()).code, 0, "{event}");
    }
    hooked::write(&project, "src/a.rs", "fn b() {}\n");
    hooked::hook(&project, "UserPromptSubmit", json!({"prompt": "go on"}));
    hooked::stop(&project);
    hooked::pre_commit(&project);
    assert_eq!(server.asked(), asked);
    // And they do once somebody asks for it.
    project.json(&["sync"]);
    assert!(server.asked() > asked);
}
