//! What the model does with texts: tokens, long texts, many texts, stopping.
#![cfg(feature = "weights")]

use std::ops::ControlFlow;
use std::sync::LazyLock;
use twining_testcases::each;

use proptest::prelude::*;
use twining_embed::{Model, Vector, WINDOW};

static MODEL: LazyLock<Model> =
    LazyLock::new(|| Model::built_in().expect("the packed model is whole"));

fn words(count: usize) -> String {
    ["cache", "journal", "session", "lock"]
        .into_iter()
        .cycle()
        .take(count)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn case_accents_and_control_characters_make_no_difference() {
    each(
        [
            ("Café", "cafe"),
            ("CAFE\u{301}", "cafe"),
            ("ca\u{200b}fe", "cafe"),
            ("cafe\u{7}", "cafe"),
            ("a\u{a0}b\u{3000}c\u{2028}d", "a b c d"),
            ("Å ngström", "a ngstrom"),
            ("\u{feff}word", "word"),
            ("漢字x", "漢 字 x"),
            ("a,b", "a , b"),
            ("«x»", "« x »"),
        ],
        |(one, other)| {
            assert_eq!(MODEL.tokens(one), MODEL.tokens(other), "{one:?} and {other:?}");
        },
    );
}

#[test]
fn a_word_is_cut_into_its_longest_known_pieces() {
    // un ##affa ##ble
    assert_eq!(MODEL.tokens("unaffable"), [101, 14_477, 20_961, 3_468, 102]);
    assert_eq!(MODEL.tokens(""), [101, 102]);
    assert_eq!(MODEL.tokens(&"x".repeat(101)), [101, 100, 102], "one unknown word");
    assert_ne!(MODEL.tokens(&"x".repeat(100)), [101, 100, 102]);
}

#[test]
fn a_text_cannot_speak_in_the_models_own_signs() {
    let tokens = MODEL.tokens("[CLS] [SEP] [MASK] [PAD] [UNK]");
    assert!(tokens[1..tokens.len() - 1].iter().all(|token| *token > 103), "{tokens:?}");
}

#[test]
fn alike_texts_are_closer_than_others() {
    let [query, alike, other] =
        ["where do we keep sessions?", "use redis for the session cache", "bread needs yeast"]
            .map(|text| MODEL.embed(text));
    assert!(query.dot(&alike) > query.dot(&other) + 0.2);
}

#[test]
fn what_is_behind_the_first_window_does_not_count() {
    let text = words(WINDOW - 2);
    assert_eq!(MODEL.tokens(&text).len(), WINDOW);
    let long = format!("{text} {}", "bread needs yeast ".repeat(40));
    assert_eq!(MODEL.embed(&long), MODEL.embed(&text));
}

#[test]
fn company_and_threads_change_no_vector() {
    let texts: Vec<String> =
        (0..23).map(|number| words(number * 14)).chain([String::new()]).collect();
    let alone: Vec<Vector> = texts.iter().map(|text| MODEL.embed(text)).collect();
    each([0, 1, 2, 3], |threads| {
        let mut found = vec![None; texts.len()];
        MODEL.embed_each(&texts, threads, |number, vector| {
            found[number] = Some(vector);
            ControlFlow::Continue(())
        });
        assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), alone, "{threads} threads");
    });
}

#[test]
fn embedding_stops_when_told_to() {
    let texts = vec![words(100); 200];
    each([1, 2], |threads| {
        let mut seen = 0;
        MODEL.embed_each(&texts, threads, |_, _| {
            seen += 1;
            if seen < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert_eq!(seen, 3);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_has_tokens_of_the_vocabulary(text in any::<String>(), tail in "\\PC{0,40}") {
        let tokens = MODEL.tokens(&format!("{text}{tail}"));
        prop_assert_eq!((tokens.first(), tokens.last()), (Some(&101), Some(&102)));
        prop_assert!(tokens.iter().all(|token| *token < 30_522));
        // A character gives at most four parts, such as a syllable taken apart.
        prop_assert!(tokens.len() <= 2 + 4 * (text.chars().count() + tail.chars().count()));
    }

    #[test]
    fn words_apart_are_cut_as_they_are_alone(left in "[a-zA-Z0-9é漢.,]{1,20}", right in "\\PC{1,20}") {
        let (a, b) = (MODEL.tokens(&left), MODEL.tokens(&right));
        prop_assert_eq!(MODEL.tokens(&format!("{left} {right}")), [&a[..a.len() - 1], &b[1..]].concat());
    }
}
