//! TLS of a node itself: a request over it is answered, and nothing else is.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use twining_testkit::TestCertificates;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::common::team::Team;
use crate::common::{Project, Ran};

fn agent(root: &str) -> Agent {
    let root = Certificate::from_pem(root.as_bytes()).expect("a certificate");
    let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(vec![root]))).build();
    Agent::config_builder().http_status_as_error(false).tls_config(tls).build().into()
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("writes");
    path.display().to_string()
}

#[test]
fn a_request_over_tls_is_answered_and_a_plain_one_is_not() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "reader");
    let certificates = TestCertificates::for_names(&["localhost"]);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let certificate = file(dir.path(), "node.pem", &certificates.certificate);
    let key = file(dir.path(), "node.key", &certificates.key);
    let node = team.node_with("n1", &["--tls-cert", &certificate, "--tls-key", &key]);
    let url = format!("https://localhost:{}/acme/shop/v1/claims", node.port);
    let ask = |root: &str, token: &str| {
        agent(root).get(&url).header("authorization", format!("Bearer {token}")).call()
    };
    let mut answer = ask(&certificates.root, &token).expect("answers");
    assert_eq!(answer.status(), 200);
    assert!(answer.body_mut().read_to_string().expect("a body").contains("version"));
    assert_eq!(ask(&certificates.root, "twn_x").expect("answers").status(), 401);
    let stranger = TestCertificates::for_names(&["localhost"]);
    assert!(ask(&stranger.root, &token).is_err(), "the root is another");
    let plain = node.get("/acme/shop/v1/claims", &token);
    assert_eq!((plain.status, plain.body.as_str()), (0, ""), "it is no HTTP");
    assert_eq!(ask(&certificates.root, &token).expect("answers").status(), 200, "it goes on");
}

#[test]
fn a_certificate_without_its_key_is_refused_at_start() {
    let Some(team) = Team::new() else { return };
    let (one, other) =
        (TestCertificates::for_names(&["localhost"]), TestCertificates::for_names(&["localhost"]));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let certificate = file(dir.path(), "node.pem", &one.certificate);
    let data = team.path("n1").display().to_string();
    let start = |key: &str| {
        let words = ["--tls-cert", &certificate, "--tls-key", key, "--data", &data];
        team.command(&[&["--listen", "127.0.0.1:0"], &words[..]].concat()).output().expect("runs")
    };
    for key in [file(dir.path(), "other.key", &other.key), "/nowhere/node.key".to_owned()] {
        let refused = start(&key);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("cannot use the"), "{said}");
    }
}

#[test]
fn a_node_for_other_machines_says_at_start_that_it_knows_no_name_of_theirs() {
    let Some(team) = Team::new() else { return };
    let certificates = TestCertificates::for_names(&["localhost"]);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let certificate = file(dir.path(), "node.pem", &certificates.certificate);
    let key = file(dir.path(), "node.key", &certificates.key);
    let words = ["--tls-cert", &certificate, "--tls-key", &key, "--listen", "0.0.0.0:0"];
    let nameless = team.node_with("n1", &words);
    assert!(nameless.log().contains("--hosts"), "{}", nameless.log());
    let named = team.node_with("n2", &[&words[..], &["--hosts", "memory.example.com"]].concat());
    assert!(!named.log().contains("--hosts"), "{}", named.log());
}

#[test]
fn a_clone_links_by_the_certificate_of_a_company_that_the_machine_or_the_user_names() {
    let Some(team) = Team::new() else { return };
    let token = team.token("shop", "writer");
    let certificates = TestCertificates::for_names(&["localhost"]);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let certificate = file(dir.path(), "node.pem", &certificates.certificate);
    let key = file(dir.path(), "node.key", &certificates.key);
    let root = file(dir.path(), "company.pem", &certificates.root);
    let token = file(dir.path(), "token", &token);
    let node = team.node_with("n1", &["--tls-cert", &certificate, "--tls-key", &key]);
    let address = format!("https://localhost:{}/acme/shop", node.port);
    let clone = Project::new();
    let run = |words: &[&str], roots: Option<&str>| {
        let mut command = clone.command(&[words, &["--json"]].concat());
        command.env_remove("SSL_CERT_FILE").envs(roots.map(|roots| ("SSL_CERT_FILE", roots)));
        Ran::of(command.output().expect("starts"))
    };
    let link = ["link", &address, "--yes", "--token-file", &token];
    let stranger = run(&link, None);
    assert_eq!(stranger.code, 1, "{stranger:?}");
    assert!(stranger.stdout.contains("SSL_CERT_FILE"), "the way is named: {stranger:?}");
    let missing = run(&link, Some("/nowhere.pem"));
    assert!(missing.stdout.contains("SSL_CERT_FILE=/nowhere.pem cannot be used"), "{missing:?}");
    let linked = run(&link, Some(&root));
    assert_eq!(linked.code, 0, "{linked:?}");
    assert_eq!(run(&["sync"], Some(&root)).code, 0);
}
