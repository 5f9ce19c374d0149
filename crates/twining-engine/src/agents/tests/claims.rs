use std::sync::Barrier;
use twining_testcases::each;

use twining_model::ClaimList;
use twining_store::OutboxSignature;

use crate::testing::{Project, caller, person};
use crate::{Caller, ClaimInput, Failure, FeaturesInput};

fn paths(paths: &[&str]) -> ClaimInput {
    ClaimInput {
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        reason: Some("rewriting it".into()),
        ..ClaimInput::default()
    }
}

fn release(paths: &[&str]) -> ClaimInput {
    ClaimInput {
        action: Some("release".into()),
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        ..ClaimInput::default()
    }
}

fn in_session(agent: &str, session: &str) -> Caller {
    let mut caller = caller(agent);
    caller.origin.session = Some(session.into());
    caller
}

fn held(project: &Project) -> usize {
    project
        .engine
        .claim(&caller("x"), &ClaimInput { action: Some("list".into()), ..ClaimInput::default() })
        .expect("lists")
        .claims
        .len()
}

#[test]
fn a_directory_that_is_held_keeps_others_from_its_files_and_not_from_its_namesakes() {
    let project = Project::new();
    project.engine.claim(&caller("ada"), &paths(&["src/auth/"])).expect("claims");
    let failure = project
        .engine
        .claim(&caller("bob"), &paths(&["docs", "src/auth/jwt.rs"]))
        .expect_err("held");
    assert_eq!(failure.code(), "CLAIMED");
    assert!(
        failure.to_string().starts_with("`src/auth` is claimed by `ada` until 2026-"),
        "{failure}"
    );
    assert!(failure.hint().is_some_and(|hint| hint.contains("ask `ada`")));
    assert!(
        matches!(
            project.engine.claim(&caller("bob"), &paths(&["src"])),
            Err(Failure::Claimed { .. })
        ),
        "what covers it is held too"
    );
    assert_eq!(held(&project), 1, "a claim that clashes takes none of its paths");
    project.engine.claim(&caller("bob"), &paths(&["src/authority.rs", "docs"])).expect("is free");
}

#[test]
fn claiming_again_neither_shortens_nor_forgets() {
    let project = Project::new();
    let long = ClaimInput {
        ttl: Some("2h".into()),
        reason: Some("big rewrite".into()),
        ..paths(&["src/x"])
    };
    let first =
        project.engine.claim(&caller("ada"), &long).expect("claims").claim.expect("is held");
    let again = |reason: Option<&str>, ttl: Option<&str>| {
        let input = ClaimInput {
            reason: reason.map(str::to_owned),
            ttl: ttl.map(str::to_owned),
            ..paths(&["src/x"])
        };
        project.engine.claim(&caller("ada"), &input).expect("claims again").claim.expect("is held")
    };
    let second = again(None, None);
    assert_eq!((&second.until, second.reason.as_str()), (&first.until, "big rewrite"));
    let third = again(Some("nearly done"), Some("5m"));
    assert_eq!((&third.until, third.reason.as_str()), (&first.until, "nearly done"));
    assert!(again(None, Some("3h")).until > first.until, "a longer time counts");
    assert_eq!(held(&project), 1);
}

#[test]
fn a_claim_names_places_and_no_patterns() {
    let project = Project::new();
    project.engine.claim(&caller("ada"), &paths(&["src/auth"])).expect("claims");
    each(["**", "*", "s*", "src/*", "{src,lib}", "src/?uth", "src/[a]uth"], |pattern| {
        let refused = project
            .engine
            .claim(&caller("bob"), &paths(&["docs", pattern]))
            .expect_err("a pattern");
        assert!(
            refused.to_string().contains("paths") && refused.to_string().contains(pattern),
            "{refused}"
        );
    });
    assert_eq!(held(&project), 1);
    project
        .engine
        .claim(&caller("bob"), &release(&["old/*"]))
        .expect("what was claimed before is let go by its name");
}

#[test]
fn names_in_brackets_are_names_and_so_is_whatever_is_there() {
    let project = Project::new();
    each(
        ["app/[id]/page.tsx", "pages/[[...slug]].vue", "app/(shop)/@cart", "routes/[id].ts"],
        |path| {
            let made = project
                .engine
                .claim(&caller("ada"), &paths(&[path]))
                .expect("a name")
                .claim
                .expect("is held");
            assert_eq!(made.paths, [path]);
        },
    );
    let held = project
        .engine
        .claim(&caller("bob"), &paths(&["app/[id]/page.tsx"]))
        .expect_err("is a pattern");
    assert!(matches!(held, Failure::Claimed { .. }), "{held}");
    project.engine.claim(&caller("bob"), &paths(&["app/i/page.tsx"])).expect("no pattern");
    for unusual in ["notes/what?.md", "notes/a{b}.md", "notes/x[1]y.md"] {
        project.engine.claim(&caller("bob"), &paths(&[unusual])).expect_err("looks like a pattern");
        std::fs::create_dir_all(project.path().join("notes")).expect("makes a folder");
        std::fs::write(project.path().join(unusual), "").expect("writes");
        project.engine.claim(&caller("bob"), &paths(&[unusual])).expect("is a file");
    }
    let add = FeaturesInput {
        action: Some("add".into()),
        id: Some("F8".into()),
        description: Some("d".into()),
        ..FeaturesInput::default()
    };
    let add = FeaturesInput { files: vec!["web/[id]/a.ts".into(), "lib/[ab]c.rs".into()], ..add };
    project.engine.features(&caller("ada"), project.path(), &add).expect("adds");
    let claim = project
        .engine
        .claim(&caller("ada"), &ClaimInput { feature: Some("F8".into()), ..ClaimInput::default() })
        .expect("claims");
    assert_eq!(
        claim.claim.expect("made").paths,
        ["web/[id]/a.ts", "lib"],
        "of a pattern its folder"
    );
}

#[test]
fn a_claim_ends_by_itself_and_leaves_the_file() {
    let project = Project::new();
    let input = ClaimInput { ttl: Some("90s".into()), ..paths(&["src/auth"]) };
    project.engine.claim(&caller("ada"), &input).expect("claims");
    project.clock.advance_ms(89_999);
    assert!(project.engine.claim(&caller("bob"), &paths(&["src/auth"])).is_err());
    project.clock.advance_ms(1);
    project.engine.claim(&caller("bob"), &paths(&["src/auth"])).expect("is free again");
    let file = std::fs::read_to_string(project.path().join(".twining/local/claims.json"))
        .expect("is there");
    let claims: ClaimList = serde_json::from_str(&file).expect("is JSON");
    assert_eq!(
        claims.claims.iter().map(|claim| claim.agent_id.as_str()).collect::<Vec<_>>(),
        ["bob"]
    );
}

#[test]
fn claiming_again_prolongs_and_two_sessions_of_one_name_are_two() {
    let project = Project::new();
    let (one, two) = (in_session("main", "s1"), in_session("main", "s2"));
    project.engine.claim(&one, &paths(&["src/a.rs"])).expect("claims");
    project.clock.advance_ms(60_000);
    let again = project.engine.claim(&one, &paths(&["src/"])).expect("widens");
    assert_eq!(again.claims.len(), 1);
    assert!(matches!(
        project.engine.claim(&two, &paths(&["src/b.rs"])),
        Err(Failure::Claimed { .. })
    ));
    let own =
        project.engine.claim(&two, &release(&[])).expect("lets go of its own, which is nothing");
    assert_eq!((own.released.len(), own.claims.len()), (0, 1));
}

#[test]
fn a_claim_of_a_session_that_crashed_is_let_go_by_its_name_and_that_is_posted() {
    let project = Project::new();
    project.engine.claim(&in_session("main", "s1"), &paths(&["src/"])).expect("claims");
    let next = in_session("main", "s2");
    assert_eq!(
        project.engine.claim(&next, &release(&[])).expect("nothing is its own").released.len(),
        0
    );
    assert_eq!(project.engine.claim(&next, &release(&["src"])).expect("lets go").released.len(), 1);
    let board =
        std::fs::read_to_string(project.path().join(".twining/blackboard.jsonl")).expect("is told");
    assert!(board.contains("main released the claim of main: src"), "{board}");
}

#[test]
fn another_session_of_the_same_name_does_not_claim_over_the_first() {
    let project = Project::new();
    let ada = in_session("ada", "s1");
    project.engine.claim(&ada, &paths(&["src/"])).expect("claims");
    let as_ada = |caller: &Caller, input: ClaimInput| {
        project.engine.claim(caller, &ClaimInput { agent_id: Some("ada".into()), ..input })
    };
    each(
        [in_session("bob", "s2"), in_session("main", "s2"), caller("bob"), caller("ada")],
        |other| {
            for input in [paths(&["src/"]), paths(&["src/db"])] {
                assert!(matches!(as_ada(&other, input), Err(Failure::Claimed { .. })), "{other:?}");
            }
            assert_eq!(as_ada(&other, release(&[])).expect("nothing is theirs").released.len(), 0);
        },
    );
    assert_eq!(held(&project), 1);
    assert_eq!(as_ada(&ada, release(&["src/"])).expect("it is hers").released.len(), 1);
}

#[test]
fn only_the_holder_or_a_person_lets_go() {
    let project = Project::new();
    project.engine.claim(&caller("ada"), &paths(&["src/"])).expect("claims");
    assert!(matches!(
        project.engine.claim(&caller("bob"), &release(&["src/"])),
        Err(Failure::Claimed { .. })
    ));
    assert_eq!(
        project
            .engine
            .claim(&person("eve"), &release(&["src/"]))
            .expect("a person may")
            .released
            .len(),
        1
    );
    assert_eq!(held(&project), 0);
    let board =
        std::fs::read_to_string(project.path().join(".twining/blackboard.jsonl")).expect("is told");
    assert!(board.contains("eve released the claim of ada: src"), "{board}");
}

#[test]
fn in_a_team_a_person_lets_go_of_the_claims_that_their_token_may() {
    let project = Project::new();
    let outbox = project.engine.store().outbox();
    let sign = |token: &str, is_maintainer| {
        let (principal, is_person) = (token.to_owned(), false);
        let signature = OutboxSignature { principal, is_person, is_maintainer };
        outbox.sign_as(signature).expect("is kept");
    };
    outbox.create().expect("is linked");
    sign("mia-agent", false);
    project.engine.claim(&caller("main"), &paths(&["src/"])).expect("claims");
    sign("joe-agent", false);
    let refused = project.engine.claim(&person("joe"), &release(&["src/"]));
    let refused = refused.expect_err("the log would refuse it");
    assert_eq!(refused.code(), "CLAIMED");
    assert!(refused.hint().is_some_and(|hint| hint.contains("maintainer")), "{refused:?}");
    assert_eq!(held(&project), 1);
    let board = std::fs::read_to_string(project.path().join(".twining/blackboard.jsonl"));
    assert!(!board.unwrap_or_default().contains("released the claim"));
    sign("joe-agent", true);
    project.engine.claim(&person("joe"), &release(&["src/"])).expect("a maintainer may");
    assert_eq!(held(&project), 0);
}

#[test]
fn a_feature_is_held_with_its_files() {
    let project = Project::new();
    let add = FeaturesInput {
        action: Some("add".into()),
        id: Some("F7".into()),
        description: Some("login".into()),
        files: vec!["src/auth/*.rs".into(), "web/login.ts".into()],
        ..FeaturesInput::default()
    };
    project.engine.features(&caller("ada"), project.path(), &add).expect("adds");
    let claim = project
        .engine
        .claim(&caller("ada"), &ClaimInput { feature: Some("F7".into()), ..ClaimInput::default() })
        .expect("claims");
    assert_eq!(claim.claim.expect("made").paths, ["src/auth", "web/login.ts"]);
    each(
        [
            ClaimInput { feature: Some("F7".into()), ..ClaimInput::default() },
            paths(&["src/auth/jwt.rs"]),
        ],
        |clash| {
            assert!(matches!(
                project.engine.claim(&caller("bob"), &clash),
                Err(Failure::Claimed { .. })
            ));
        },
    );
}

#[test]
fn every_broken_rule_names_its_field() {
    let project = Project::new();
    each(
        [
            ("paths", ClaimInput::default()),
            ("paths", paths(&["."])),
            ("paths", paths(&["../x"])),
            ("paths", paths(&["project"])),
            ("paths", paths(&["a"; 65])),
            ("ttl", ClaimInput { ttl: Some("25h".into()), ..paths(&["a"]) }),
            ("ttl", ClaimInput { ttl: Some("soon".into()), ..paths(&["a"]) }),
            ("ttl", ClaimInput { ttl: Some("0".into()), ..paths(&["a"]) }),
            ("action", ClaimInput { action: Some("steal".into()), ..paths(&["a"]) }),
        ],
        |(field, input)| {
            let failure = project.engine.claim(&caller("ada"), &input).expect_err("refused");
            assert!(failure.to_string().starts_with(&format!("`{field}` ")), "{field}: {failure}");
        },
    );
    assert!(!project.path().join(".twining").exists(), "a refused claim left a folder");
}

#[test]
fn of_many_who_claim_at_once_exactly_one_wins() {
    let project = Project::new();
    project.post("finding", "there is a folder");
    let (many, barrier) = (12, Barrier::new(12));
    let won: usize = std::thread::scope(|scope| {
        let claim = |n: usize| {
            let engine = project.another_engine();
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                usize::from(
                    engine.claim(&caller(&format!("agent-{n}")), &paths(&["src/auth"])).is_ok(),
                )
            })
        };
        let threads: Vec<_> = (0..many).map(claim).collect();
        threads.into_iter().map(|thread| thread.join().expect("does not panic")).sum()
    });
    assert_eq!(won, 1);
    assert_eq!(held(&project), 1);
}

#[test]
fn claims_that_came_with_a_clone_or_are_no_claims_hold_nobody_up() {
    let project = Project::new();
    project.post("finding", "there is a folder");
    let for_ever = r#"{"claims":[{"id":"x","agent_id":"evil","paths":["src"],"reason":"mine","since":"2026-01-01T00:00:00Z","until":"9999-01-01T00:00:00Z"}]}"#;
    each([for_ever, "{", "[]", "{\"claims\":[{\"until\":5}]}", ""], |hostile| {
        project.write("local/claims.json", hostile);
        assert_eq!(held(&project), 0, "{hostile}");
    });
    project.engine.claim(&caller("ada"), &paths(&["src"])).expect("claims");
}

#[test]
fn status_and_others_context_tell_who_holds_what() {
    let project = Project::new();
    project.engine.claim(&caller("ada"), &paths(&["src/auth"])).expect("claims");
    let status = project.engine.status().expect("reports");
    assert_eq!((status.claims.len(), status.active_agents), (1, 1));
    let shown = |who: &str, scope: &str| {
        let input = crate::AssembleInput {
            task: "add tokens".into(),
            scope: scope.into(),
            ..Default::default()
        };
        project.engine.assemble(&caller(who), &input).expect("assembles").claims.len()
    };
    assert_eq!(
        (shown("bob", "src/auth/jwt.rs"), shown("bob", "src"), shown("bob", "docs")),
        (1, 1, 0)
    );
    assert_eq!(shown("ada", "src/auth"), 0, "one's own is no news");
}
