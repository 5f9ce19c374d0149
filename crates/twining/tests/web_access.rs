//! Who may ask `twining ui`: every refusal, by a raw socket. Each attack is a request that would
//! write if it were let through, and leaves the memory as it was.

use std::io::{Read, Write};

use serde_json::{Value, json};
use twining_testcases::each;

use crate::common::browser::{Reply, WebProcess, memory, request};
use crate::common::repository::Repository;

const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    ("cache-control", "no-store"),
];

fn shop() -> Repository {
    let shop = Repository::new();
    shop.told(&["post", "finding", "there before"]);
    shop
}

/// A post that would be written: its target, its headers, its body.
struct Attack {
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Attack {
    fn new(server: &WebProcess, key: &str) -> Self {
        let headers = [
            ("host", format!("127.0.0.1:{}", server.port)),
            ("authorization", key.to_owned()),
            ("twining-user", "Kim".to_owned()),
            ("content-type", "application/json".to_owned()),
        ];
        let body = json!({"entry_type": "finding", "summary": "written by an attack"});
        Self {
            method: "POST",
            path: "/api/post".to_owned(),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: body.to_string(),
        }
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    fn at(mut self, method: &'static str, path: &str) -> Self {
        (self.method, self.path) = (method, path.to_owned());
        self
    }

    fn saying(mut self, body: &str) -> Self {
        self.body = body.to_owned();
        self
    }

    fn sent_to(&self, server: &WebProcess) -> Reply {
        server.send(&request(self.method, &self.path, &self.headers, &self.body))
    }
}

/// What is wrong about a request.
type Change = fn(Attack, u16) -> Attack;

/// Sends attacks to a server that lets its key write: each must end with its status and change
/// nothing, and the same request without the attack must be let through.
fn all_refused(attacks: &[(u16, Change)]) {
    let shop = shop();
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let before = memory(&shop);
    each(attacks.iter().enumerate(), |(number, (status, attack))| {
        let attack = attack(Attack::new(&server, &key), server.port);
        let reply = attack.sent_to(&server);
        let sent = (attack.method, &attack.path, &attack.headers);
        assert_eq!(reply.status, *status, "{number}: {sent:?}: {reply:?}");
        assert_eq!(memory(&shop), before, "{number}: {sent:?}");
    });
    let reply = Attack::new(&server, &key).sent_to(&server);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_ne!(memory(&shop), before);
}

#[test]
fn a_name_that_leads_here_is_not_enough() {
    all_refused(&[
        (421, |attack, port| attack.with("host", &format!("evil.test:{port}"))),
        (421, |attack, _| attack.with("host", "127.0.0.1")),
        (421, |attack, port| attack.with("host", &format!("127.0.0.1:{}", port ^ 1))),
        (421, |attack, port| attack.with("host", &format!("localhost.evil.test:{port}"))),
        (421, |attack, port| attack.with("host", &format!("127.0.0.1:{port}.evil.test"))),
        (421, |attack, port| attack.with("host", &format!("127.0.0.2:{port}"))),
        (421, |attack, port| attack.with("host", &format!("LOCALHOST:{port}"))),
        (421, |attack, _| attack.with("host", "")),
        (421, |attack, _| attack.without("host")),
        (421, |attack, port| attack.and("host", &format!("evil.test:{port}"))),
        (421, |attack, port| attack.at("POST", &format!("http://evil.test:{port}/api/post"))),
    ]);
}

#[test]
fn requests_of_other_pages_are_refused() {
    all_refused(&[
        (403, |attack, _| attack.with("origin", "http://evil.test")),
        (403, |attack, _| attack.with("origin", "null")),
        (403, |attack, _| attack.with("origin", "")),
        (403, |attack, port| attack.with("origin", &format!("https://127.0.0.1:{port}"))),
        (403, |attack, port| attack.with("origin", &format!("http://localhost.evil.test:{port}"))),
        (403, |attack, port| attack.with("origin", &format!("http://127.0.0.1:{}", port ^ 1))),
        (403, |attack, _| attack.with("origin", "http://127.0.0.1")),
        (403, |attack, port| {
            attack
                .with("origin", &format!("http://127.0.0.1:{port}"))
                .and("origin", "http://evil.test")
        }),
        (403, |attack, _| attack.with("sec-fetch-site", "cross-site")),
        (403, |attack, _| attack.with("sec-fetch-site", "same-site")),
        (403, |attack, _| attack.with("sec-fetch-site", "anything")),
        (403, |attack, _| {
            attack
                .with("sec-fetch-site", "cross-site")
                .with("sec-fetch-mode", "navigate")
                .with("sec-fetch-dest", "document")
        }),
    ]);
}

#[test]
fn a_form_cannot_post() {
    all_refused(&[
        (415, |attack, _| attack.with("content-type", "application/x-www-form-urlencoded")),
        (415, |attack, _| attack.with("content-type", "multipart/form-data; boundary=x")),
        (415, |attack, _| attack.with("content-type", "text/plain")),
        (415, |attack, _| attack.with("content-type", "text/plain; application/json")),
        (415, |attack, _| attack.without("content-type")),
        (400, |attack, _| attack.saying("entry_type=finding&summary=x")),
        (400, |attack, _| attack.saying("[]")),
        (400, |attack, _| attack.saying("")),
        (400, |attack, _| attack.saying(&"[".repeat(100_000))),
    ]);
}

#[test]
fn other_methods_are_refused() {
    all_refused(&[
        (405, |attack, _| attack.at("HEAD", "/")),
        (405, |attack, _| attack.at("HEAD", "/api")),
        (405, |attack, _| attack.at("OPTIONS", "/api/post")),
        (405, |attack, _| attack.at("OPTIONS", "*")),
        (405, |attack, _| attack.at("PUT", "/api/post")),
        (405, |attack, _| attack.at("DELETE", "/api/post")),
        (405, |attack, _| attack.at("PATCH", "/api/post")),
        (405, |attack, _| attack.at("TRACE", "/api/post")),
        (405, |attack, _| attack.at("GET", "/api/post")),
        (405, |attack, _| attack.at("GET", "/key")),
        (405, |attack, _| attack.at("POST", "/api")),
        (405, |attack, _| attack.at("POST", "/events")),
    ]);
}

#[test]
fn a_key_that_was_not_given_opens_nothing() {
    all_refused(&[
        (401, |attack, _| attack.without("authorization")),
        (401, |attack, _| attack.with("authorization", "")),
        (401, |attack, _| attack.with("authorization", "Bearer ")),
        (401, |attack, _| attack.with("authorization", &format!("Bearer {:032x}", 0))),
        (401, |attack, _| {
            let key = attack.headers[1].1.replace("Bearer", "Basic");
            attack.with("authorization", &key)
        }),
        (401, |attack, _| {
            let key = attack.headers[1].1.clone();
            attack.with("authorization", &key[..key.len() - 1])
        }),
        (401, |attack, _| {
            let key = attack.headers[1].1.replace("Bearer ", "");
            attack
                .without("authorization")
                .with("cookie", &format!("twining.key={key}"))
                .at("POST", &format!("/api/post?key={key}"))
        }),
        (401, |attack, _| attack.without("authorization").at("GET", "/api")),
        (401, |attack, _| attack.without("authorization").at("GET", "/events")),
    ]);
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let large = |field: &str| {
        json!({"entry_type": "finding", "summary": "x", field: "y".repeat(2 << 20)}).to_string()
    };
    let shop = shop();
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let before = memory(&shop);
    let reply = Attack::new(&server, &key).saying(&large("detail")).sent_to(&server);
    assert_eq!(reply.status, 413, "{reply:?}");
    let text = large("detail");
    let chunked = format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
    let attack = Attack::new(&server, &key).with("transfer-encoding", "chunked");
    let head = request(attack.method, &attack.path, &attack.headers, "");
    let reply = server.send(&[head, chunked.into_bytes()].concat());
    assert_eq!(reply.status, 413, "{reply:?}");
    assert_eq!(memory(&shop), before);
}

#[test]
fn paths_that_mean_something_else_lead_nowhere() {
    all_refused(&[
        (404, |attack, _| attack.at("POST", "/api/../api/post")),
        (404, |attack, _| attack.at("POST", "/api/post/")),
        (404, |attack, _| attack.at("POST", "//api/post")),
        (404, |attack, _| attack.at("POST", "/API/post")),
        (404, |attack, _| attack.at("POST", "/api/twining_post")),
        (404, |attack, _| attack.at("POST", "/api/%2e%2e%2fpost")),
        (404, |attack, _| attack.at("POST", "/api/po%00st")),
        (404, |attack, _| attack.at("POST", "/assets/post")),
        (404, |attack, _| attack.at("GET", "/assets/../index.html")),
        (404, |attack, _| attack.at("GET", "/assets/..%2f..%2fCargo.toml")),
        (404, |attack, _| attack.at("GET", "/assets/%2e%2e/%2e%2e/etc/passwd")),
        (404, |attack, _| attack.at("GET", "/assets/")),
        (404, |attack, _| attack.at("GET", "/.twining/blackboard.jsonl")),
        (404, |attack, _| attack.at("GET", "/d/../../etc/passwd")),
        (404, |attack, _| attack.at("GET", "/favicon.ico")),
    ]);
}

#[test]
fn whoever_acts_gives_a_name() {
    all_refused(&[
        (400, |attack, _| attack.without("twining-user")),
        (400, |attack, _| attack.with("twining-user", "")),
        (400, |attack, _| attack.with("twining-user", "%20%20")),
        (400, |attack, _| attack.with("twining-user", "%ff")),
    ]);
}

#[test]
fn a_reading_key_writes_nothing() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let before = memory(&shop);
    let about = server.get("/api", &[("authorization", &key)]).json();
    assert_eq!(about["may_write"], false);
    let verbs = about["verbs"].as_array().expect("a list");
    let writing: Vec<&Value> = verbs.iter().filter(|verb| verb["effect"] != "reads").collect();
    assert!(writing.len() > 20, "{writing:?}");
    each(writing, |verb| {
        let name = verb["name"].as_str().expect("a name");
        let reply = server.call(&key, name, &json!({"action": "update"}));
        assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("NEEDS_PERSON")), "{name}");
        assert_eq!(memory(&shop), before, "{name}");
    });
    for (verb, input) in [
        ("features", json!({})),
        ("features", json!({"action": "list"})),
        ("claim", json!({"action": "list"})),
    ] {
        assert_eq!(server.call(&key, verb, &input).status, 200, "{verb} {input}");
    }
    assert_eq!(memory(&shop), before);
}

#[test]
fn a_code_works_once_and_a_second_use_is_said_aloud() {
    let shop = shop();
    let mut server = WebProcess::at_terminal(&shop);
    let code = json!({"code": server.code});
    let first = server.post("/key", &[], &code);
    assert_eq!((first.status, &first.json()["may_write"]), (200, &json!(true)), "{first:?}");
    let second = server.post("/key", &[], &code);
    assert_eq!((second.status, &second.json()["code"]), (403, &json!("CODE_USED")));
    assert!(server.said().contains("used a second time"));
    each(["", "0", &"0".repeat(32), &server.code[..31]], |guess| {
        let reply = server.post("/key", &[], &json!({"code": guess}));
        assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("CODE_EXPIRED")), "{guess}");
    });
    let form = [("content-type", "text/plain")];
    let host = ("host", format!("127.0.0.1:{}", server.port));
    let headers: Vec<(&str, &str)> = form.into_iter().chain([(host.0, host.1.as_str())]).collect();
    assert_eq!(server.send(&request("POST", "/key", &headers, &code.to_string())).status, 415);
}

#[test]
fn the_headers_are_on_everything_and_no_other_page_may_read() {
    let shop = shop();
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let auth = [("authorization", key.as_str())];
    let host = format!("127.0.0.1:{}", server.port);
    let page = server.get("/", &[]);
    let asset = page.body.split('"').find(|text| text.starts_with("/assets/")).expect("has one");
    let asset = server.get(asset, &[]);
    assert_eq!((page.status, asset.status), (200, 200));
    assert_eq!(page.headers["cache-control"], "no-cache");
    assert!(asset.headers["cache-control"].contains("immutable"), "{asset:?}");
    let tag = page.headers["etag"].as_str();
    let known = server.get("/", &[("if-none-match", tag)]);
    assert_eq!((known.status, known.body.as_str()), (304, ""));
    let replies = [
        ("page", page),
        ("asset", asset),
        ("known page", known),
        ("no page", server.get("/x", &[])),
        ("verbs", server.get("/api", &auth)),
        ("no key", server.get("/api", &[])),
        ("call", server.call(&key, "recent", &json!({}))),
        ("error", server.call(&key, "recent", &json!({"n": "x"}))),
        ("no verb", server.call(&key, "none", &json!({}))),
        ("no code", server.post("/key", &[], &json!({}))),
        ("other origin", server.get("/", &[("origin", "http://evil.test")])),
        ("other host", server.get("/", &[("host", "evil.test")])),
        ("other method", server.send(&request("PUT", "/", &[("host", &host)], ""))),
        ("wrong method", server.send(&request("GET", "/key", &[("host", &host)], ""))),
    ];
    each(&replies, |(name, reply)| {
        for (header, value) in HEADERS {
            let is_page =
                header == "cache-control" && name.contains("page") | name.contains("asset");
            let found = reply.headers.get(header).map(String::as_str);
            assert!(found == Some(value) || is_page, "{name}: {header}: {reply:?}");
        }
        let shared = reply.headers.keys().find(|header| header.starts_with("access-control"));
        assert_eq!(shared, None, "{name}");
        assert!(!reply.headers.contains_key("set-cookie"), "{name}");
    });
}

#[test]
fn a_link_from_elsewhere_opens_the_page_and_nothing_else() {
    let shop = shop();
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let visit = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    for (path, status) in
        [("/", 200), ("/d/01M7", 200), ("/api", 403), ("/events", 403), ("/x", 403)]
    {
        let headers = [&visit[..], &[("authorization", key.as_str())]].concat();
        assert_eq!(server.get(path, &headers).status, status, "{path}");
    }
    let frame = [visit[0], visit[1], ("sec-fetch-dest", "iframe")];
    assert_eq!(server.get("/", &frame).status, 403);
    let script = [visit[0], ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")];
    assert_eq!(server.get("/", &script).status, 403);
}

#[test]
fn headers_that_never_end_are_not_waited_for() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: 127").expect("writes");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn more_connections_than_one_person_needs_are_closed() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut held: Vec<_> = (0..64).map(|_| server.events(&key, "")).collect();
    for events in &mut held {
        events.next();
    }
    assert_eq!(server.get("/", &[]).status, 0, "there is no room");
    drop(held);
    let is_open = || server.get("/", &[]).status == 200;
    assert!((0..500).any(|_| is_open() || {
        std::thread::sleep(std::time::Duration::from_millis(10));
        false
    }));
}
