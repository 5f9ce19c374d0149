use twining_model::{EntryType, Scope, Time};
use twining_testcases::each;

use super::{IndexFixture, ids, line, ulid, view};
use crate::index::database::Index;
use crate::index::embeddings::vector_key;
use crate::index::{EntryFilter, terms};

fn at(id: &str, kind: &str, time: &str, more: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"timestamp\":\"{time}\",\"entry_type\":\"{kind}\",\"summary\":\"s\"{more}}}"
    )
}

fn page(index: &Index, filter: &EntryFilter, limit: usize) -> (Vec<String>, u64) {
    let page = view(index).entries().newest(filter, limit).expect("a page");
    (page.items.into_iter().map(|entry| entry.id).collect(), page.total)
}

fn page_after(index: &Index, filter: &EntryFilter, offset: usize, limit: usize) -> Vec<String> {
    let page = view(index).entries().newest_after(filter, offset, limit).expect("a page");
    page.items.into_iter().map(|entry| entry.id).collect()
}

fn scoped(scope: &str) -> EntryFilter {
    EntryFilter { scope: Some(Scope::read(scope)), ..EntryFilter::default() }
}

fn time(text: &str) -> Option<Time> {
    Some(Time::read(text).expect("a time"))
}

#[test]
fn newest_goes_by_time_then_by_place_and_leaves_the_future_for_last() {
    let fixture = IndexFixture::new();
    fixture.board(&[
        at("old", "finding", "2026-01-01", ""),
        at("future", "finding", "2999-01-01", ""),
        at("same-1", "finding", "2026-02-01", ""),
        at("same-2", "finding", "2026-02-01", ""),
        at("undated", "finding", "when?", ""),
        at("7ZZZZZZZZZ0000000000000000", "finding", "", ""),
    ]);
    let index = fixture.index();
    let (found, total) = page(&index, &EntryFilter::default(), 9);
    assert_eq!(found[..4], ["same-2", "same-1", "old", "undated"]);
    assert_eq!(total, 6);
    assert_eq!(page(&index, &EntryFilter::default(), 2).0, ["same-2", "same-1"]);
    for offset in 0..7 {
        let rest = &found[offset.min(6)..(offset + 3).min(6)];
        assert_eq!(page_after(&index, &EntryFilter::default(), offset, 3), rest, "{offset}");
    }
    let view = view(&index);
    let counts = view.counts().expect("counts");
    assert_eq!((counts.future_dated, counts.last_activity), (2, time("2026-02-01")));
}

#[test]
fn every_filter_narrows_and_counts_what_it_leaves() {
    let fixture = IndexFixture::new();
    let mut lines = Vec::new();
    for n in 0..40 {
        let kind = ["need", "finding", "warning", "question"][n % 4];
        let more = format!(
            ",\"scope\":\"src/m{}/f{}.rs\",\"tags\":[\"t{}\",\"all\"],\"agent_id\":\"{}\"",
            n % 2,
            n % 5,
            n % 3,
            ["Ada", "bob", "ADA"][n % 7 % 3]
        );
        lines.push(at(&ulid(n), kind, &format!("2026-01-{:02}", n / 2 + 1), &more));
    }
    lines.push(at(
        "closer",
        "answer",
        "2026-03-01",
        &format!(",\"relates_to\":[\"{}\"],\"scope\":\"project\"", ulid(0)),
    ));
    fixture.board(&lines);
    let index = fixture.index();
    let all = view(&index).entries().newest(&EntryFilter::default(), 500).expect("a page").items;
    let since = time("2026-01-05");
    let before = time("2026-01-15");
    let (none, kinds, tags) = (
        Vec::new,
        || vec!["need".to_owned(), "finding".to_owned()],
        || vec!["t1".to_owned(), "t2".to_owned()],
    );
    for types in [none(), kinds()] {
        each([none(), tags(), vec!["all".to_owned()]], |tags| {
            for scope in [None, Some("src/m1"), Some("src/m1/f3.rs"), Some("project")] {
                for (since, before) in
                    [(None, None), (since, None), (None, before), (since, before)]
                {
                    for (only_open, agent) in
                        [(false, None), (true, None), (false, Some("ada")), (true, Some("ada"))]
                    {
                        let filter = EntryFilter {
                            types: types.clone(),
                            tags: tags.clone(),
                            scope: scope.map(Scope::read),
                            since,
                            before,
                            only_open,
                            agent: agent.map(str::to_owned),
                        };
                        let passes = |entry: &&twining_model::Entry| {
                            let at = Time::read(&entry.timestamp).expect("dated");
                            (types.is_empty() || types.contains(&entry.entry_type))
                                && (tags.is_empty()
                                    || tags.iter().any(|tag| entry.tags.contains(tag)))
                                && scope.is_none_or(|scope| {
                                    Scope::read(scope).covers(
                                        &Scope::read(&entry.scope),
                                        twining_model::CaseFolding::Exact,
                                    )
                                })
                                && since.is_none_or(|since| at >= since)
                                && before.is_none_or(|before| at < before)
                                && agent
                                    .is_none_or(|agent| entry.agent_id.eq_ignore_ascii_case(agent))
                                && (!only_open
                                    || view(&index).entries().is_open(&entry.id).expect("looks"))
                        };
                        let expected: Vec<&str> =
                            all.iter().filter(passes).map(|entry| entry.id.as_str()).collect();
                        let (found, total) = page(&index, &filter, 500);
                        assert_eq!(found, expected, "{filter:?}");
                        assert_eq!(total, expected.len() as u64, "{filter:?}");
                        assert_eq!(
                            page(&index, &filter, 3).0,
                            expected[..expected.len().min(3)],
                            "{filter:?}"
                        );
                        for offset in [2, 7, expected.len()] {
                            let rest: Vec<&str> =
                                expected.iter().skip(offset).take(3).copied().collect();
                            let found = page_after(&index, &filter, offset, 3);
                            assert_eq!(found, rest, "{offset} {filter:?}");
                        }
                        let hits = view(&index)
                            .entries()
                            .by_words(&terms("s"), &filter, 500)
                            .expect("searches");
                        assert_eq!(hits.len(), expected.len(), "{filter:?}");
                    }
                }
            }
        });
    }
}

#[test]
fn what_overlaps_a_scope_includes_what_covers_it() {
    let fixture = IndexFixture::new();
    fixture.board(&[
        line("project", "finding", "p", ",\"scope\":\"project\""),
        line("above", "finding", "a", ",\"scope\":\"src\""),
        line("exact", "finding", "e", ",\"scope\":\"src/auth/\""),
        line("below", "finding", "b", ",\"scope\":\"src/auth/jwt.rs\""),
        line("beside", "finding", "n", ",\"scope\":\"src/authority.rs\""),
    ]);
    let index = fixture.index();
    let view = view(&index);
    let about = view
        .entries()
        .about_scope(&Scope::read("src/auth"), &EntryFilter::default(), 9)
        .expect("a page");
    assert_eq!((ids(&about.items), about.total), (vec!["below", "exact", "above", "project"], 4));
    let everything =
        view.entries().about_scope(&Scope::project(), &EntryFilter::default(), 2).expect("a page");
    assert_eq!((everything.items.len(), everything.total), (2, 5));
    drop(view);
    assert_eq!(
        page(&index, &scoped("src/auth"), 9),
        (vec!["below".to_owned(), "exact".to_owned()], 2)
    );
}

#[test]
fn no_query_is_syntax() {
    let fixture = IndexFixture::new();
    fixture.board(&[line(
        "a",
        "finding",
        "rate limiter near the gate",
        ",\"detail\":\"it's a column : filter\",\"tags\":[\"redis\"]",
    )]);
    let index = fixture.index();
    let view = view(&index);
    let search = |query: &str| {
        view.entries().by_words(&terms(query), &EntryFilter::default(), 9).expect("searches").len()
    };
    for query in [
        "\"",
        "NEAR(",
        "rate*",
        "summary : rate",
        "a AND",
        "'; DROP TABLE entry; --",
        "rate\0limiter",
        "(((",
        "^rate",
        "-rate",
        "limiters",
    ] {
        search(query);
    }
    assert_eq!(search(""), 0);
    assert_eq!(search(" . \" "), 0);
    assert_eq!(search("limiters"), 1, "another form of the word");
    assert_eq!(search("REDIS"), 1, "a tag");
    assert_eq!(search("zebra"), 0);
}

#[test]
fn a_search_ranks_rare_words_and_summaries_first() {
    let fixture = IndexFixture::new();
    let mut lines: Vec<String> =
        (0..1500).map(|n| line(&ulid(n), "finding", "common words here", "")).collect();
    lines.insert(3, line("rare", "finding", "common zebra", ""));
    lines.insert(
        4,
        line(
            "detail",
            "finding",
            "something else",
            ",\"detail\":\"a zebra in a long text about many other animals of the plain\"",
        ),
    );
    fixture.board(&lines);
    let index = fixture.index();
    let view = view(&index);
    let hits = view
        .entries()
        .by_words(&terms("common zebra"), &EntryFilter::default(), 3)
        .expect("searches");
    let found: Vec<String> =
        hits.iter().map(|(row, _)| view.entries().at_row(*row).expect("is there").id).collect();
    assert_eq!(found[..2], ["rare", "detail"]);
    assert!(hits[0].1 > hits[1].1 && hits[1].1 > hits[2].1);
}

#[test]
fn a_search_finds_the_parts_of_an_identifier() {
    let fixture = IndexFixture::new();
    fixture.board(&[
        line("camel", "finding", "getUserProfile is slow", ""),
        line("snake", "finding", "user_profile is slow", ""),
        line("other", "finding", "the profiler of usernames", ""),
    ]);
    let index = fixture.index();
    let view = view(&index);
    each(["user profile", "user_profile", "UserProfile"], |query| {
        let hits =
            view.entries().by_words(&terms(query), &EntryFilter::default(), 2).expect("searches");
        let mut found: Vec<String> =
            hits.iter().map(|(row, _)| view.entries().at_row(*row).expect("is there").id).collect();
        found.sort();
        assert_eq!(found, ["camel", "snake"], "{query}");
    });
}

#[test]
fn a_record_is_found_by_the_names_of_its_vectors_while_it_is_live() {
    let fixture = IndexFixture::new();
    fixture.board(&[
        line("short", "finding", "same words", ""),
        line("long", "warning", "same words", ",\"detail\":\"and more\""),
        line("gone", "finding", "old words", ""),
        line("gone", "finding", "new words", ""),
    ]);
    let index = fixture.index();
    let view = view(&index);
    let named = |text: &str, filter: &EntryFilter| {
        let rows = view.entries().by_vector_keys(&[vector_key(text)], filter).expect("looks");
        rows.into_iter()
            .map(|row| view.entries().at_row(row).expect("is there").id)
            .collect::<Vec<_>>()
    };
    let any = EntryFilter::default();
    assert_eq!(named("same words", &any), ["short", "long"]);
    assert_eq!(named("same words and more", &any), ["long"]);
    assert_eq!(named("old words", &any), [] as [&str; 0]);
    assert_eq!(
        named("same words", &EntryFilter { types: vec!["warning".into()], ..any }),
        ["long"]
    );
    let senses = view.entries().vector_keys_after(None, 10).expect("a list");
    assert_eq!(senses.len(), 4);
    assert_eq!(
        view.entries().header(senses[1].0).expect("reads").expect("a card").vector_keys.summary_key,
        Some(vector_key("same words"))
    );
}

#[test]
fn what_may_be_archived_is_settled_and_leaves_nothing_open_again() {
    let fixture = IndexFixture::new();
    fixture.board(&[
        at("finding", "finding", "2026-01-01", ""),
        at("decision", "decision", "2026-01-01", ""),
        at("open", "question", "2026-01-01", ""),
        at("answered", "question", "2026-01-01", ""),
        at("answer", "answer", "2026-01-02", ",\"relates_to\":[\"answered\"]"),
        at("later", "need", "2026-03-01", ""),
        at("early-answer", "status", "2026-01-03", ",\"relates_to\":[\"later\"]"),
        at("summary", "finding", "2026-01-01", ",\"tags\":[\"archive\"]"),
        at("young", "finding", "2026-02-02", ""),
    ]);
    let index = fixture.index();
    let view = view(&index);
    let before = Time::read("2026-02-01").expect("a time");
    each([true, false], |keep_decisions| {
        let archivable = view.entries().archivable(before, keep_decisions).expect("a list");
        assert_eq!(ids(&archivable), ["finding", "answered", "answer"]);
    });
}

#[test]
fn open_entries_are_paged_by_age_and_the_youngest_are_left_out() {
    let fixture = IndexFixture::new();
    let at = |n: usize, kind: &str, minute: usize, scope: &str| {
        let id = ulid(n);
        format!(
            "{{\"id\":\"{id}\",\"timestamp\":\"2026-11-15T00:{minute:02}:00.000Z\",\"entry_type\":\"{kind}\",\"summary\":\"{n}\",\"scope\":\"{scope}\"}}"
        )
    };
    fixture.board(&[
        at(1, "need", 2, "src/a.rs"),
        at(2, "need", 1, "docs/"),
        at(3, "question", 1, "src/"),
        at(4, "need", 9, "src/"),
    ]);
    let index = fixture.index();
    let (view, before) = (view(&index), Time::read("2026-11-15T00:05:00Z").expect("a time"));
    let open = |scope: &str, page| {
        let scope = Scope::read(scope);
        let found = view.entries().open_before(EntryType::Need, &scope, before, page);
        let count = view.entries().count_open_before(EntryType::Need, &scope, before);
        let ids: Vec<String> = found.expect("reads").into_iter().map(|entry| entry.id).collect();
        (ids, count.expect("counts"))
    };
    assert_eq!(open("project", (0, 9)), (vec![ulid(2), ulid(1)], 2));
    assert_eq!(open("project", (1, 9)), (vec![ulid(1)], 2));
    assert_eq!(open("src/", (0, 9)), (vec![ulid(1)], 1));
}
