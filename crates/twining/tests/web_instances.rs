//! Starting and ending `twining ui`: the second one finds the first, and nothing is left behind.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::process::Signal;
use serde_json::json;
use twining_testcases::each;

use crate::common::Ran;
use crate::common::browser::{WebProcess, decide, port_and_code, server_files, ui_command};
use crate::common::repository::Repository;
use crate::common::terminal::Terminal;

fn shop() -> Repository {
    let shop = Repository::new();
    shop.told(&["post", "finding", "there before"]);
    shop
}

/// A second `twining ui`, which ends by itself: its port and code.
fn ask(shop: &Repository, words: &[&str], terminal: Option<&Terminal>) -> (u16, String) {
    let mut command = ui_command(shop, words);
    if let Some(terminal) = terminal {
        terminal.seat(&mut command);
    }
    let ran = Ran::of(command.output().expect("starts"));
    assert_eq!(ran.code, 0, "{ran:?}");
    port_and_code(&ran.stdout)
}

fn may_write(server: &WebProcess, code: &str) -> bool {
    let reply = server.post("/key", &[], &json!({"code": code}));
    reply.json()["may_write"] == json!(true)
}

#[test]
fn what_a_link_may_do_is_decided_where_it_was_asked_for() {
    let shop = shop();
    let terminal = Terminal::open();
    let reading = WebProcess::without_terminal(&shop);
    let (port, code) = ask(&shop, &[], Some(&terminal));
    assert_eq!(port, reading.port);
    assert!(may_write(&reading, &code) && !may_write(&reading, &reading.code));
    drop(reading);

    let acting = WebProcess::at_terminal(&shop);
    let (port, code) = ask(&shop, &["why", "src/auth/"], None);
    assert_eq!(port, acting.port);
    assert!(!may_write(&acting, &code) && may_write(&acting, &acting.code));
}

#[test]
fn an_agents_shell_with_a_terminal_only_reads() {
    let shop = shop();
    let terminal = Terminal::open();
    let server = WebProcess::at_terminal(&shop);
    let mut command = ui_command(&shop, &["--json"]);
    terminal.seat(command.env("CLAUDECODE", "1"));
    let ran = Ran::of(command.output().expect("starts"));
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
    assert_eq!(said["may_write"], false, "{said}");
    let (_, code) = port_and_code(said["link"].as_str().expect("a link"));
    assert!(!may_write(&server, &code));
}

#[test]
fn a_signal_ends_it_and_nothing_is_left() {
    each([Signal::TERM, Signal::INT, Signal::HUP], |signal| {
        let shop = shop();
        let mut server = WebProcess::without_terminal(&shop);
        let local = shop.file(".twining/local");
        assert_eq!(server_files(&local).len(), 2, "{:?}", server_files(&local));
        let key = server.key();
        let mut events = server.events(&key, "");
        events.next();
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{signal:?}");
        assert_eq!(server_files(&local), [""; 0], "{signal:?}");
        assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err());
    });
}

#[test]
fn its_files_are_its_users_alone_and_hold_no_secret() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let local = shop.file(".twining/local");
    for name in ["ui.json", "ui.sock"] {
        let mode = fs::symlink_metadata(local.join(name)).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let text = shop.read(".twining/local/ui.json");
    assert!(!text.contains(&server.code), "{text}");
    assert_eq!(shop.json(".twining/local/ui.json")["port"], server.port);
    assert_eq!(shop.git(&["status", "--porcelain"]).matches("local").count(), 0);
}

#[test]
fn where_there_is_no_memory_none_is_made() {
    let shop = Repository::new();
    let before = shop.tree();
    let mut server = WebProcess::at_terminal(&shop);
    let key = server.key();
    server.events(&key, "").next();
    for verb in ["status", "recent", "agents", "features", "guards"] {
        let reply = server.call(&key, verb, &json!({}));
        assert_eq!(reply.status, 200, "{verb}: {reply:?}");
    }
    assert_eq!(shop.tree(), before);
    assert_eq!(server_files(&shop.path("runtime")).len(), 1, "found by the next one");
    assert_eq!(ask(&shop, &[], None).0, server.port);
    server.signal(Signal::TERM);
    server.wait();
    assert_eq!(server_files(&shop.path("runtime")), [""; 0]);
    assert_eq!(shop.tree(), before);
}

#[test]
fn a_deep_folder_has_a_socket_too() {
    let shop = Repository::new();
    let deep = shop.path("shop").join("a-long-name-of-a-folder/".repeat(8));
    fs::create_dir_all(&deep).expect("makes folders");
    let run = |words: &[&str]| {
        let mut command = shop.command_in(&deep, words);
        command.arg("--project").arg(&deep).env("XDG_RUNTIME_DIR", shop.path(""));
        command
    };
    assert!(run(&["post", "finding", "a"]).output().expect("starts").status.success());
    let mut first = run(&["ui", "--print"]);
    let mut server = first.stdout(std::process::Stdio::piped()).spawn().expect("starts");
    let mut link = String::new();
    let out = server.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut link).expect("prints");
    let second = Ran::of(run(&["ui", "--print"]).output().expect("starts"));
    assert_eq!(port_and_code(&second.stdout).0, port_and_code(&link).0);
    server.kill().and_then(|()| server.wait()).expect("ends");
}

#[test]
fn after_a_server_was_killed_the_next_one_starts() {
    let shop = shop();
    let mut killed = WebProcess::without_terminal(&shop);
    killed.signal(Signal::KILL);
    killed.wait();
    assert_eq!(server_files(&shop.file(".twining/local")).len(), 2, "left behind");
    let server = WebProcess::without_terminal(&shop);
    assert_eq!(ask(&shop, &[], None).0, server.port);
}

#[test]
fn files_that_came_with_a_clone_lead_nowhere() {
    let shop = shop();
    let victim = shop.path("home/.profile");
    fs::write(&victim, "mine\n").expect("writes");
    each(
        [
            |shop: &Repository| {
                shop.write(".twining/local/ui.json", r#"{"pid":1,"start_tick":null,"port":80}"#);
            },
            |shop: &Repository| {
                let to = shop.path("home/.profile");
                symlink(to, shop.file(".twining/local/ui.json")).expect("links");
            },
            |shop: &Repository| {
                let to = shop.path("home/.profile");
                symlink(to, shop.file(".twining/local/ui.sock")).expect("links");
            },
        ],
        |plant| {
            let _ = fs::remove_file(shop.file(".twining/local/ui.json"));
            plant(&shop);
            let mut server = WebProcess::without_terminal(&shop);
            assert_eq!(server.get("/", &[]).status, 200);
            server.signal(Signal::TERM);
            server.wait();
            assert_eq!(fs::read_to_string(&victim).expect("is there"), "mine\n");
        },
    );
}

#[test]
fn a_link_leads_where_it_was_asked_to() {
    let shop = shop();
    let id = decide(&shop);
    let _server = WebProcess::without_terminal(&shop);
    let link = |words: &[&str]| Ran::of(ui_command(&shop, words).output().expect("starts"));
    let path = |words: &[&str]| {
        let printed = link(words).stdout;
        let (_, rest) = printed.split_once("127.0.0.1:").expect("a link");
        rest[rest.find('/').expect("a path")..rest.find('#').expect("a code")].to_owned()
    };
    assert_eq!(path(&[&id[18..]]), format!("/d/{id}"));
    assert_eq!(
        path(&["preview", "rotate keys", "src/auth/"]),
        "/preview?task=rotate%20keys&scope=src/auth/"
    );
    let nowhere = link(&["nowhere"]);
    assert_eq!((nowhere.code, nowhere.stdout.as_str()), (2, ""));
    assert_eq!(link(&["--port", "80"]).code, 2, "browsers leave that one out of Host");
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let shop = shop();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let port = taken.local_addr().expect("has one").port().to_string();
    let ran = Ran::of(ui_command(&shop, &["--port", &port]).output().expect("starts"));
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert_eq!(server_files(&shop.file(".twining/local")), [""; 0]);
}

#[test]
fn the_browser_opens_only_where_there_is_a_screen_to_see_it() {
    let shop = shop();
    let opened = shop.path("opened");
    // In one step: the test must not see half of it.
    let script = format!(
        "#!/bin/sh\nprintf %s \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n",
        opened.display()
    );
    shop.program("xdg-open", &script);
    let _server = WebProcess::without_terminal(&shop);
    let ask = |words: &[&str], set: &[(&str, &str)]| {
        let words = [&["ui"], words].concat();
        let mut command = shop.command_in(&shop.path("shop"), &words);
        let ran = Ran::of(command.envs(set.iter().copied()).output().expect("starts"));
        ran.stdout.trim().to_owned()
    };
    ask(&["health"], &[]);
    ask(&["health"], &[("DISPLAY", ":0"), ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")]);
    ask(&["health", "--print"], &[("DISPLAY", ":0")]);
    let link = ask(&["map"], &[("DISPLAY", ":0")]);
    while !opened.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(fs::read_to_string(&opened).expect("is there"), link);
}
