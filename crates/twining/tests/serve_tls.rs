//! TLS of a node itself: a request over it is answered, and nothing else is.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use twining_testkit::TestCertificates;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::common::team::Team;

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
