use twining_model::{Confidence, DecisionStatus, Id, Scope, Time};
use twining_testcases::each;

use super::{IndexFixture, NOW, ulid, view};
use crate::index::database::Index;
use crate::index::{DecisionFilter, DecisionState, ScopeCounts, ScopedDecision, Via, terms};

fn id(n: usize) -> Id {
    Id::read(&ulid(n)).expect("a ULID")
}

fn via(index: &Index, scope: &str) -> Vec<(usize, Via)> {
    let found: Vec<ScopedDecision> =
        view(index).decisions().in_scope(&Scope::read(scope)).expect("a list");
    found
        .into_iter()
        .map(|affecting| (affecting.id.as_str()[16..].parse().expect("a number"), affecting.via))
        .collect()
}

#[test]
fn a_decision_is_read_when_it_comes_changes_and_goes() {
    let fixture = IndexFixture::new();
    fixture.decision(&ulid(1), ",\"summary\":\"use redis\"");
    let mut index = fixture.index();
    assert_eq!(
        view(&index).decisions().get(&id(1)).expect("reads").expect("is there").summary,
        "use redis"
    );
    fixture.decision(&ulid(1), ",\"summary\":\"use sqlite after all\",\"status\":\"provisional\"");
    fixture.decision(&ulid(2), ",\"summary\":\"second\"");
    fixture.catch_up(&mut index);
    let counts = view(&index).counts().expect("counts");
    assert_eq!((counts.active, counts.provisional), (1, 1));
    std::fs::remove_file(fixture.path(&format!("decisions/{}.json", ulid(1)))).expect("removes");
    fixture.catch_up(&mut index);
    assert!(!view(&index).decisions().exists(&id(1)).expect("looks"));
    fixture.assert_right(&index);
}

#[test]
fn what_changed_is_remembered_until_it_is_caught_up_with() {
    let fixture = IndexFixture::new();
    let mut index = fixture.index();
    fixture.decision(&ulid(1), "");
    assert!(!index.is_current(&fixture.files).expect("looks"), "this drains the watch");
    assert!(!index.is_current(&fixture.files).expect("looks"), "and this must still know");
    fixture.catch_up(&mut index);
    assert!(view(&index).decisions().exists(&id(1)).expect("looks"));
}

#[test]
fn a_file_that_is_no_decision_is_named_and_not_served() {
    let fixture = IndexFixture::new();
    fixture.write(&format!("decisions/{}.json", ulid(1)), "{broken");
    fixture.write(&format!("decisions/{}.json", ulid(2)), format!("{{\"id\":\"{}\"}}", ulid(9)));
    fixture.write("decisions/notes.json", "{}");
    fixture.write("elsewhere", format!("{{\"id\":\"{}\"}}", ulid(3)));
    std::os::unix::fs::symlink(
        fixture.path("elsewhere"),
        fixture.path(&format!("decisions/{}.json", ulid(3))),
    )
    .expect("links");
    fixture.decision(&ulid(4), "");
    let mut index = fixture.index();
    let files: Vec<String> =
        view(&index).unreadable().expect("a list").into_iter().map(|found| found.file).collect();
    assert_eq!(files.len(), 4, "{files:?}");
    let counts = view(&index).counts().expect("counts");
    assert_eq!((counts.active, counts.unreadable), (1, 4));
    fixture.decision(&ulid(1), "");
    std::fs::remove_file(fixture.path("decisions/notes.json")).expect("removes");
    fixture.catch_up(&mut index);
    assert_eq!(view(&index).counts().expect("counts").unreadable, 2);
    fixture.assert_right(&index);
}

#[test]
fn decisions_bear_on_a_scope_by_the_nearest_way() {
    let fixture = IndexFixture::new();
    fixture.decision(&ulid(1), ",\"scope\":\"src/auth/\"");
    fixture.decision(&ulid(2), ",\"scope\":\"docs/\",\"affected_files\":[\"src/auth/jwt.rs\"]");
    fixture.decision(&ulid(3), ",\"scope\":\"docs/\",\"affected_symbols\":[\"src/auth\"]");
    fixture.decision(&ulid(4), ",\"scope\":\"src/auth/jwt.rs\"");
    fixture.decision(&ulid(5), ",\"scope\":\"src\"");
    fixture.decision(&ulid(6), ",\"scope\":\"project\"");
    fixture.decision(&ulid(7), ",\"scope\":\"src/authority.rs\"");
    fixture.decision(&ulid(8), ",\"scope\":\"docs/\",\"affected_files\":[\"src\"]");
    let index = fixture.index();
    assert_eq!(
        via(&index, "src/auth"),
        [
            (1, Via::Exact),
            (2, Via::File),
            (3, Via::Symbol),
            (4, Via::Inside),
            (5, Via::Around),
            (6, Via::Project),
            (8, Via::File)
        ]
    );
    assert_eq!(via(&index, "project").len(), 8);
    assert_eq!(
        via(&index, "src/authority.rs"),
        [(5, Via::Around), (6, Via::Project), (7, Via::Exact), (8, Via::File)]
    );
}

#[test]
fn the_nearest_are_the_first_of_all_that_bear_on_a_scope_however_few_are_asked_for() {
    let fixture = IndexFixture::new();
    let scopes =
        ["src/auth/", "src/auth/jwt.rs", "src", "project", "docs/", "src/auth/jwt/keys.rs"];
    let files = ["", "src/auth/jwt.rs", "src", "src/auth/", "docs/guide.md"];
    let (confidences, statuses) = (
        ["low", "medium", "high"],
        ["active", "active", "provisional", "superseded", "overridden"],
    );
    // More than are looked at one by one.
    for n in 1..=700 {
        let file = match files[n % files.len()] {
            "" => String::new(),
            file => format!(",\"affected_files\":[\"{file}\",\"other.rs\"]"),
        };
        let symbol = if n % 7 == 0 { ",\"affected_symbols\":[\"src/auth\"]" } else { "" };
        // Some are dated ahead, which is no way to the top.
        let year = if n % 11 == 0 { 9990 } else { 2026 };
        let at = format!("{year}-01-{:02}T00:00:00.000Z", n % 9 + 1);
        fixture.decision(
            &ulid(n),
            &format!(
                ",\"scope\":\"{}\",\"confidence\":\"{}\",\"status\":\"{}\",\"timestamp\":\"{at}\"{file}{symbol}",
                scopes[n / 2 % scopes.len()],
                confidences[n / 3 % 3],
                statuses[n / 5 % statuses.len()],
            ),
        );
    }
    let index = fixture.index();
    let view = view(&index);
    for scope in ["src/auth", "src/auth/jwt.rs", "src", "project", "docs/", "elsewhere.rs"] {
        let scope = Scope::read(scope);
        let mut all = view.decisions().in_scope(&scope).expect("a list");
        let told = view.decisions().count_in_scope(&scope).expect("counts");
        assert_eq!(told, ScopeCounts::of(all.iter().map(|row| row.status)), "{scope}");
        assert_eq!(told.total(), all.len() as u64, "{scope}");
        all.sort_by(ScopedDecision::order);
        let first = all.first().expect("at least those of the whole project");
        assert!(first.at > Time::from_ms(0), "{scope}: {first:?}");
        let retired = all.split_off(all.partition_point(|row| row.status.binds()));
        each([1, 3, 10, 60, 1000], |limit| {
            let first = &all[..all.len().min(limit)];
            assert_eq!(
                view.decisions().nearest(&scope, DecisionState::InForce, limit).expect("a list"),
                first,
                "{scope}, {limit}"
            );
            let given_up = &retired[..retired.len().min(limit)];
            assert_eq!(
                view.decisions().nearest(&scope, DecisionState::Retired, limit).expect("a list"),
                given_up,
                "{scope}, {limit}"
            );
            let besides: Vec<&str> =
                first.iter().map(|row| row.id.as_str()).chain(["unknown"]).collect();
            for most in [5, 5000] {
                let counted =
                    view.decisions().count_in_force(&scope, &besides, most).expect("counts");
                assert_eq!(counted, (all.len() - first.len()).min(most) as u64, "{scope}, {limit}");
            }
        });
    }
}

#[test]
fn rivals_are_active_of_the_same_domain_and_overlap() {
    let fixture = IndexFixture::new();
    for (n, fields) in [
        ",\"domain\":\"Storage \",\"scope\":\"src/cache/\"",
        ",\"domain\":\"storage\",\"scope\":\"src/cache/redis.rs\"",
        ",\"domain\":\"storage\",\"scope\":\"project\"",
        ",\"domain\":\"storage\",\"scope\":\"src/cached/\"",
        ",\"domain\":\"storage\",\"scope\":\"src/cache/\",\"status\":\"superseded\"",
        ",\"domain\":\"api\",\"scope\":\"src/cache/\"",
    ]
    .iter()
    .enumerate()
    {
        fixture.decision(&ulid(n), fields);
    }
    let index = fixture.index();
    let rivals =
        view(&index).decisions().rivals("STORAGE", &Scope::read("src/cache")).expect("a list");
    let found: Vec<&str> = rivals.iter().map(|rival| rival.id.as_str()).collect();
    assert_eq!(found, [ulid(0), ulid(1), ulid(2)]);
}

#[test]
fn links_between_decisions_and_to_commits_are_found_from_the_other_end() {
    let fixture = IndexFixture::new();
    fixture.decision(&ulid(1), "");
    fixture.decision(
        &ulid(2),
        &format!(",\"depends_on\":[\"{0}\",\"{0}\"],\"commit_hashes\":[\"ABCDEF012345\"]", ulid(1)),
    );
    fixture
        .decision(&ulid(3), &format!(",\"supersedes\":\"{}\",\"commits\":[{{\"hash\":\"abcd\",\"linked_at\":\"2026-11-15\"}}]", ulid(1)));
    let index = fixture.index();
    let view = view(&index);
    let decisions = view.decisions();
    assert_eq!(decisions.dependents(&id(1)).expect("a list"), [id(2)]);
    assert_eq!(decisions.successors(&id(1)).expect("a list"), [id(3)]);
    assert_eq!(
        decisions.by_commit("abcde").expect("a list"),
        [("abcd".to_owned(), id(3)), ("ABCDEF012345".to_owned(), id(2))]
    );
    assert_eq!(decisions.by_commit("abcd").expect("a list").len(), 2);
    assert!(decisions.by_commit("abcdff").expect("a list").len() == 1);
    assert!(decisions.by_commit("").expect("a list").is_empty());
}

#[test]
fn pages_filter_and_count() {
    let fixture = IndexFixture::new();
    for n in 0..10 {
        let status = if n % 3 == 0 { "provisional" } else { "active" };
        fixture.decision(&ulid(n), &format!(",\"timestamp\":\"2026-11-{:02}\",\"domain\":\"api\",\"scope\":\"src/m{}/\",\"status\":\"{status}\",\"confidence\":\"high\"", n + 1, n % 2));
    }
    fixture.decision(&ulid(20), ",\"timestamp\":\"9999-01-01\",\"status\":\"overridden\"");
    fixture.decision(&ulid(21), ",\"timestamp\":\"2026-11-01\",\"status\":\"overridden\",\"override_authority\":\"confirmed\"");
    let index = fixture.index();
    let view = view(&index);
    let decisions = view.decisions();
    let all = decisions.page(&DecisionFilter::default(), 3).expect("a page");
    assert_eq!(
        (all.items[0].id.clone(), all.total),
        (id(9), 12),
        "a decision of the year 9999 is not the newest"
    );
    let last = decisions.page(&DecisionFilter::default(), 50).expect("a page");
    assert_eq!(last.items.last().map(|decision| decision.id.clone()), Some(id(20)));
    let filter = DecisionFilter {
        domain: Some(" API".to_owned()),
        statuses: vec![DecisionStatus::Provisional],
        confidence: Some(Confidence::High),
        scope: Some(Scope::read("src/m0/x.rs")),
        ..DecisionFilter::default()
    };
    let page = decisions.page(&filter, 1).expect("a page");
    assert_eq!((page.items[0].id.clone(), page.total), (id(6), 2));
    assert_eq!(
        decisions.stale_provisional(Time::read("2026-11-05").expect("a time")).expect("counts"),
        2
    );
    assert_eq!(view.counts().expect("counts").unconfirmed_overrides, 1);
    assert!(Time::from_ms(NOW) == view.now());
}

#[test]
fn a_search_finds_words_in_any_form_and_ranks_the_better_first() {
    let fixture = IndexFixture::new();
    fixture.decision(&ulid(1), ",\"summary\":\"cache sessions in redis\",\"rationale\":\"fast\"");
    fixture.decision(
        &ulid(2),
        ",\"summary\":\"log to files\",\"context\":\"we once cached a session\"",
    );
    fixture.decision(&ulid(3), ",\"summary\":\"unrelated\",\"alternatives\":[{\"option\":\"memcached\",\"reason_rejected\":\"no types\"}]");
    let index = fixture.index();
    let view = view(&index);
    let search = |query: &str| {
        let hits = view
            .decisions()
            .by_words(&terms(query), &DecisionFilter::default(), 10)
            .expect("searches");
        hits.into_iter()
            .map(|(row, _)| view.decisions().at_row(row).expect("is there").id)
            .collect::<Vec<_>>()
    };
    assert_eq!(search("caching session redis"), [id(1), id(2)]);
    assert_eq!(search("MEMCACHED"), [id(3)]);
    assert_eq!(search("nothing of it"), [] as [Id; 0]);
}

fn contests(index: &Index) -> Vec<(Id, Vec<Id>)> {
    let found = view(index).decisions().active_contests().expect("a list");
    found.into_iter().map(|contest| (contest.id, contest.rivals)).collect()
}

fn made(day: u8, scope: &str, summary: &str, more: &str) -> String {
    format!(
        ",\"timestamp\":\"2026-11-{day:02}T00:00:00Z\",\"domain\":\"api\",\"scope\":\"{scope}\",\"summary\":\"{summary}\"{more}"
    )
}

#[test]
fn active_decisions_of_two_branches_contest_each_other_until_that_is_agreed() {
    let fixture = IndexFixture::new();
    fixture.decision(&ulid(1), &made(1, "src/", "use redis", ""));
    fixture.decision(&ulid(2), &made(2, "src/auth/", "use sqlite", ""));
    fixture.decision(&ulid(3), &made(3, "src/auth/", "use  sqlite", ""));
    fixture.decision(&ulid(4), &made(4, "src/other/", "use files", ",\"status\":\"superseded\""));
    fixture.decision(&ulid(5), &made(5, "docs/", "use markdown", ""));
    let mut index = fixture.index();
    let digest = view(&index).decisions().digest().expect("a digest");
    assert_eq!(
        contests(&index),
        [(id(2), vec![id(1)]), (id(3), vec![id(1)])],
        "the narrower one names the wider; the same words agree"
    );
    let agreed = format!(",\"compatible_with\":[\"{}\",\"{}\"]", ulid(2), ulid(3));
    fixture.decision(&ulid(1), &made(1, "src/", "use redis", &agreed));
    fixture.catch_up(&mut index);
    assert_eq!(contests(&index), []);
    for (of, rival) in [(1, 2), (2, 1), (3, 1)] {
        let view = view(&index);
        let decisions = view.decisions();
        let of = decisions.get(&id(of)).expect("reads").expect("there");
        let found = decisions.contesters(&of, &[DecisionStatus::Active], 9).expect("a list");
        assert_eq!(found, [], "{rival} was agreed to");
    }
    assert_ne!(view(&index).decisions().digest().expect("a digest"), digest);
    fixture.assert_right(&index);
}

#[test]
fn what_waits_to_be_settled_is_listed_longest_waiting_first() {
    let fixture = IndexFixture::new();
    let clash = ",\"status\":\"provisional\",\"merge_clashes\":[{\"field\":\"rationale\",\"kept\":\"a\",\"other\":\"b\"}]";
    fixture.decision(&ulid(1), &made(3, "src/", "younger", ",\"status\":\"provisional\""));
    fixture.decision(&ulid(2), &made(2, "src/", "older", clash));
    fixture.decision(&ulid(3), &made(2, "src/", "gone", ",\"status\":\"overridden\""));
    let confirmed = ",\"status\":\"overridden\",\"override_authority\":\"confirmed\"";
    fixture.decision(&ulid(4), &made(2, "src/", "settled", confirmed));
    let index = fixture.index();
    let (view, known) = (view(&index), |found: Vec<crate::UnsettledDecision>| {
        found.into_iter().map(|one| (one.id, one.is_clashed)).collect::<Vec<_>>()
    });
    let provisional = view.decisions().provisional().expect("a list");
    assert_eq!(known(provisional), [(id(2), true), (id(1), false)]);
    let unconfirmed = view.decisions().unconfirmed_overrides().expect("a list");
    assert_eq!(known(unconfirmed), [(id(3), false)]);
}

#[test]
fn a_page_of_decisions_goes_on_where_the_last_one_ended() {
    let fixture = IndexFixture::new();
    for n in 1..=5 {
        let by = if n % 2 == 0 { "Ada" } else { "bob" };
        let day = u8::try_from(n).expect("small");
        let more = format!(",\"agent_id\":\"{by}\",\"rationale\":\"reason {n}\"");
        fixture.decision(&ulid(n), &made(day, "src/", "cache sessions", &more));
    }
    let index = fixture.index();
    let view = view(&index);
    let page = |filter: DecisionFilter, offset| {
        let page = view.decisions().page_from(&filter, offset, 2).expect("a page");
        (page.items.into_iter().map(|decision| decision.id).collect::<Vec<_>>(), page.total)
    };
    let all = DecisionFilter::default;
    assert_eq!(page(all(), 0), (vec![id(5), id(4)], 5));
    assert_eq!(page(all(), 4), (vec![id(1)], 5));
    assert_eq!(page(all(), 9), (vec![], 5));
    let by_ada = DecisionFilter { author: Some("ada".to_owned()), ..all() };
    assert_eq!(page(by_ada, 1), (vec![id(2)], 2));
    let words = DecisionFilter { words: terms("caching 3"), ..all() };
    assert_eq!(page(words, 0), (vec![id(3)], 1));
    let listed = DecisionFilter { ids: Some(vec![id(1), id(4)]), ..all() };
    assert_eq!(page(listed, 0), (vec![id(4), id(1)], 2));
}
