//! Access tokens by OAuth: T14 of the list of attacks, and what a good one may do.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

use crate::common::team::{HttpReply, ServiceNode, Team};
use crate::common::token_issuer::{TokenIssuer, message, now};

const PUBLIC: &str = "https://memory.example.com";
const MCP: &str = "/acme/shop/mcp";

/// A team that trusts an issuer, and a node that is reached at [`PUBLIC`].
struct OAuthTeam {
    team: Team,
    issuer: TokenIssuer,
    node: ServiceNode,
}

impl OAuthTeam {
    fn start(role: &str, repo: &str) -> Option<Self> {
        let team = Team::new()?;
        let issuer = TokenIssuer::start();
        trust(&team, "corp", &issuer, role, repo);
        let node = team.node_with("n1", &["--public-url", PUBLIC]);
        Some(Self { team, issuer, node })
    }

    /// The token's answer at the endpoint it is for.
    fn ask(&self, token: &str) -> HttpReply {
        self.node.mcp(MCP, token, "tools/list", json!({}))
    }

    fn claims(&self, scope: &str) -> Value {
        self.issuer.claims(&endpoint(MCP), scope)
    }
}

fn trust(team: &Team, name: &str, issuer: &TokenIssuer, role: &str, repo: &str) {
    let jwks = issuer.jwks();
    let words = ["issuer", "add", "--tenant", "acme", "--name", name, "--url", &issuer.url];
    team.admin(&[&words[..], &["--jwks", &jwks, "--repo", repo, "--role", role]].concat());
}

fn endpoint(path: &str) -> String {
    format!("{PUBLIC}{path}")
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

#[test]
fn a_token_of_a_trusted_issuer_does_what_its_scope_and_the_issuer_allow() {
    let Some(oauth) = OAuthTeam::start("writer", "shop") else { return };
    let post = |token: &str, summary: &str| {
        oauth.node.call(token, "post", json!({"entry_type": "finding", "summary": summary}))
    };
    let token = |scope: &str| oauth.issuer.token(&oauth.claims(scope));
    let posted = post(&token("openid twining:write"), "by a login");
    assert!(posted["id"].is_string(), "{posted}");
    let reader = token("twining:read");
    let recent = oauth.node.call(&reader, "recent", json!({}));
    assert_eq!(recent["entries"][0]["origin"]["principal"], "corp:ada@example.com", "{recent}");
    let refused = post(&reader, "x");
    assert_eq!(refused["code"], "FORBIDDEN");
    assert!(refused["hint"].as_str().expect("text").contains("`twining:write`"), "{refused}");
    // The issuer may give a writer's rights, whatever it writes into a token.
    let refused = oauth.node.call(
        &token("twining:maintain"),
        "override",
        json!({"decision_id": "01M7EB3QY8BCK1T7V2TH9HG8T6", "reason": "r"}),
    );
    assert_eq!(refused["code"], "FORBIDDEN", "{refused}");
    let mut scp = with(oauth.claims(""), "scp", json!(["twining:read"]));
    scp.as_object_mut().expect("an object").remove("scope");
    assert_eq!(oauth.ask(&oauth.issuer.token(&scp)).status, 200);
    let none = oauth.ask(&token("openid"));
    assert_eq!((none.status, none.json()["error"].clone()), (403, json!("insufficient_scope")));
    assert!(none.header("www-authenticate").is_some_and(|is| is.contains("insufficient_scope")));
    assert_eq!(oauth.issuer.asked(), 1, "the keys are remembered");
    let log = oauth.node.log();
    assert!(!log.contains("ada@example.com") && !log.contains(&reader), "{log}");
}

#[test]
fn a_client_without_a_token_is_told_who_issues_them() {
    let Some(oauth) = OAuthTeam::start("writer", "shop") else { return };
    let at = |path: &str| format!("/.well-known/oauth-protected-resource{path}");
    let none = oauth.ask("");
    let told = format!("Bearer resource_metadata=\"{PUBLIC}{}\"", at(MCP));
    assert_eq!((none.status, none.header("www-authenticate")), (401, Some(told.as_str())));
    let metadata = oauth.node.get(&at(MCP), "");
    assert_eq!(metadata.status, 200, "{metadata:?}");
    let metadata = metadata.json();
    assert_eq!(metadata["resource"], endpoint(MCP));
    assert_eq!(metadata["authorization_servers"], json!([oauth.issuer.url]));
    // It says nothing of what repositories there are, or of tenants without an issuer.
    assert_eq!(oauth.node.get(&at("/acme/nothing/mcp"), "").status, 200);
    oauth.team.admin(&["tenant", "add", "rival"]);
    let [rival, nobody] =
        ["/rival/shop/mcp", "/nobody/shop/mcp"].map(|path| oauth.node.get(&at(path), ""));
    assert_eq!((rival.status, &rival.body), (404, &nobody.body));
    for other in ["/acme/shop/v1/since", "/acme"] {
        assert_eq!(oauth.node.get(&at(other), "").status, 404, "{other}");
    }
    let without = oauth.team.node("n2");
    assert_eq!(without.get(&at(MCP), "").status, 404);
    let good = oauth.issuer.token(&oauth.claims("twining:read"));
    let refused = without.mcp(MCP, &good, "tools/list", json!({}));
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
}

#[test]
fn t14_a_token_that_is_not_signed_as_it_must_be_is_refused() {
    let Some(oauth) = OAuthTeam::start("writer", "shop") else { return };
    let claims = oauth.claims("twining:read");
    let good = oauth.issuer.token(&claims);
    assert_eq!(oauth.ask(&good).status, 200);
    let header = |alg: &str| json!({"alg": alg, "kid": "key-1"});
    let unsigned = |alg: &str| format!("{}.", message(&header(alg), &claims));
    let by_secret = |alg: &str, kid: &str, secret: &[u8]| {
        let message = message(&json!({"alg": alg, "kid": kid}), &claims);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let public = oauth.issuer.public_key();
    let (signed, _) = good.rsplit_once('.').expect("has parts");
    let stranger = TokenIssuer::start();
    let mut altered = claims.clone();
    altered["scope"] = json!("twining:maintain");
    let altered = message(&json!({"alg": "ES256", "kid": "key-1", "typ": "at+jwt"}), &altered);
    let signature = good.rsplit_once('.').expect("has parts").1;
    let tokens = [
        ("alg none", unsigned("none")),
        ("alg None", unsigned("None")),
        ("no signature", unsigned("ES256")),
        ("HS256 with the public key", by_secret("HS256", "key-1", &public)),
        ("HS256 with the point", by_secret("HS256", "key-1", &public[1..])),
        ("ES256 with a tag", by_secret("ES256", "key-1", &public)),
        ("a shared key of the set", by_secret("HS256", "shared", &[0])),
        ("another algorithm's name", oauth.issuer.token_with(&header("RS256"), &claims)),
        ("another's key", stranger.token(&claims)),
        (
            "kid with a path",
            oauth
                .issuer
                .token_with(&json!({"alg": "ES256", "kid": "../../../../dev/null"}), &claims),
        ),
        (
            "kid with SQL",
            oauth.issuer.token_with(&json!({"alg": "ES256", "kid": "' or true --"}), &claims),
        ),
        ("no kid", oauth.issuer.token_with(&json!({"alg": "ES256"}), &claims)),
        (
            "jku",
            oauth
                .issuer
                .token_with(&json!({"alg": "ES256", "kid": "x", "jku": stranger.jwks()}), &claims),
        ),
        (
            "crit",
            oauth
                .issuer
                .token_with(&json!({"alg": "ES256", "kid": "key-1", "crit": ["exp"]}), &claims),
        ),
        ("altered claims", format!("{altered}.{signature}")),
        ("a cut signature", good[..good.len() - 4].to_owned()),
        ("two parts", signed.to_owned()),
        ("four parts", format!("{good}.{signature}")),
        ("dots", "..".to_owned()),
    ];
    for (what, token) in tokens {
        let reply = oauth.ask(&token);
        assert_eq!(reply.status, 401, "{what}: {reply:?}");
    }
    // Within what headers may be, and beyond: there the connection ends, maybe before its answer.
    let large = with(claims, "padding", json!("x".repeat(100_000)));
    assert_eq!(oauth.ask(&oauth.issuer.token(&large)).status, 401);
    let huge = format!("{good}{}", "x".repeat(10 * 1024 * 1024));
    let reply = oauth.ask(&huge);
    assert!(matches!(reply.status, 0 | 401 | 431), "{}", reply.status);
    assert_eq!(stranger.asked(), 0, "nothing is fetched from where a token says");
    assert_eq!(oauth.issuer.asked(), 1, "unknown keys cause no storm of requests");
    assert_eq!(oauth.ask(&good).status, 200, "it goes on");
}

#[test]
fn t14_a_token_of_another_issuer_for_another_endpoint_or_another_time_is_refused() {
    let Some(oauth) = OAuthTeam::start("maintainer", "*") else { return };
    oauth.team.admin(&["tenant", "add", "rival"]);
    oauth.team.admin(&["repo", "add", "rival", "shop"]);
    oauth.team.admin(&["repo", "add", "acme", "other"]);
    let claims = oauth.claims("twining:read");
    let claim = |name: &str, value: Value| oauth.issuer.token(&with(claims.clone(), name, value));
    let without = |name: &str| {
        let mut claims = claims.clone();
        claims.as_object_mut().expect("an object").remove(name);
        oauth.issuer.token(&claims)
    };
    let ours = endpoint(MCP);
    let stranger = TokenIssuer::start();
    let url = oauth.issuer.url.clone();
    let tokens = [
        ("another issuer", stranger.token(&stranger.claims(&ours, "twining:read"))),
        ("an issuer with a slash", claim("iss", json!(format!("{url}/")))),
        ("a list of issuers", claim("iss", json!([url, stranger.url]))),
        ("no issuer", without("iss")),
        ("no audience", without("aud")),
        ("no subject", without("sub")),
        ("an empty subject", claim("sub", json!(" "))),
        ("a subject with a line break", claim("sub", json!("a\nb"))),
        ("no end", without("exp")),
        ("an end in words", claim("exp", json!("tomorrow"))),
        ("another endpoint", claim("aud", json!(endpoint("/acme/other/mcp")))),
        ("the service itself", claim("aud", json!(PUBLIC))),
        ("the endpoint and a slash", claim("aud", json!(format!("{ours}/")))),
        ("another service too", claim("aud", json!([ours, "https://other.example"]))),
        ("no audience in a list", claim("aud", json!([]))),
        ("expired by a second", claim("exp", json!(now() - 1))),
        ("not good yet", claim("nbf", json!(now() + 60))),
    ];
    for (what, token) in tokens {
        let reply = oauth.ask(&token);
        assert_eq!(reply.status, 401, "{what}: {reply:?}");
    }
    assert_eq!(stranger.asked(), 0, "nothing is fetched for an unknown issuer");
    let good = claim("aud", json!([ours]));
    assert_eq!(oauth.ask(&good).status, 200);
    // Elsewhere with it: other endpoints, other tenants, the routes of clones.
    for path in ["/acme/other/mcp", "/rival/shop/mcp", "/acme/nothing/mcp"] {
        let reply = oauth.node.mcp(path, &good, "tools/list", json!({}));
        assert_eq!(reply.status, 401, "{path}: {reply:?}");
    }
    assert_eq!(oauth.node.get("/acme/shop/v1/since?after=0", &good).status, 401);
    // What acme trusts is nothing to the rival, also for a token that is for it.
    let theirs = claim("aud", json!(endpoint("/rival/shop/mcp")));
    let reply = oauth.node.mcp("/rival/shop/mcp", &theirs, "tools/list", json!({}));
    assert_eq!(reply.status, 401, "{reply:?}");
    let before = oauth.issuer.asked();
    assert_eq!(before, 1, "the keys are remembered");
}

#[test]
fn keys_are_taken_from_their_own_address_and_only_so_many_bytes() {
    let Some(oauth) = OAuthTeam::start("writer", "shop") else { return };
    let elsewhere = TokenIssuer::start();
    let moved = TokenIssuer::start_as(|_| {
        let to = elsewhere.jwks();
        format!(
            "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    });
    let endless = TokenIssuer::start_as(|keys| {
        let padding = " ".repeat(300 * 1024);
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{padding}{keys}")
    });
    let failing =
        TokenIssuer::start_as(|keys| format!("HTTP/1.1 500 Oh\r\nconnection: close\r\n\r\n{keys}"));
    for (name, issuer) in [("moved", &moved), ("endless", &endless), ("failing", &failing)] {
        trust(&oauth.team, name, issuer, "writer", "shop");
        let node = oauth.team.node_with(name, &["--public-url", PUBLIC]);
        let token = issuer.token(&issuer.claims(&endpoint(MCP), "twining:read"));
        for _ in 0..2 {
            assert_eq!(node.mcp(MCP, &token, "tools/list", json!({})).status, 401, "{name}");
        }
        assert_eq!(issuer.asked(), 1, "{name} is not asked again at once");
    }
    assert_eq!(elsewhere.asked(), 0);
}

#[test]
fn an_issuer_is_trusted_for_its_repository_only_and_until_it_is_removed() {
    let Some(oauth) = OAuthTeam::start("writer", "shop") else { return };
    oauth.team.admin(&["repo", "add", "acme", "other"]);
    let for_other = oauth.issuer.claims(&endpoint("/acme/other/mcp"), "twining:write");
    let token = oauth.issuer.token(&for_other);
    let other = oauth.node.mcp("/acme/other/mcp", &token, "tools/list", json!({}));
    let nothing = oauth.issuer.claims(&endpoint("/acme/nothing/mcp"), "twining:write");
    let nothing = oauth.issuer.token(&nothing);
    let nothing = oauth.node.mcp("/acme/nothing/mcp", &nothing, "tools/list", json!({}));
    assert_eq!((other.status, &other.body), (404, &nothing.body), "the same as for nothing");
    let listed = oauth.team.admin(&["issuer", "list", "--tenant", "acme"]);
    assert_eq!(listed["issuers"][0]["url"], oauth.issuer.url, "{listed}");
    oauth.team.admin(&["issuer", "remove", "--tenant", "acme", "corp"]);
    let fresh = oauth.team.node_with("n2", &["--public-url", PUBLIC]);
    let good = oauth.issuer.token(&oauth.claims("twining:read"));
    assert_eq!(fresh.mcp(MCP, &good, "tools/list", json!({})).status, 401);
    assert_eq!(oauth.issuer.asked(), 1);
}

#[test]
fn an_issuer_is_reached_by_https_or_on_this_machine() {
    let Some(team) = Team::new() else { return };
    for (url, jwks) in [
        ("http://id.example.com", "https://id.example.com/keys"),
        ("https://id.example.com", "http://id.example.com/keys"),
        ("https://id.example.com", "file:///etc/passwd"),
    ] {
        let words = ["issuer", "add", "--tenant", "acme", "--name", "corp", "--repo", "*"];
        let more = ["--role", "reader", "--url", url, "--jwks", jwks];
        let refused = team.command(&[&words[..], &more].concat()).output().expect("runs");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
    let path = ["--public-url", "http://memory.example.com", "--data", "x"];
    assert_eq!(team.command(&path).output().expect("runs").status.code(), Some(2));
}
