//! What the screens look like, at three sizes and in three themes.

use insta::assert_snapshot;
use ratatui::layout::Size;
use twining_model::text;
use twining_testcases::each;

use super::samples::{SampleMemory, SampleTop, item};
use crate::tui::state::{ActOutcome, TopEvent};
use crate::tui::theme::Theme;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];
const THEMES: [(&str, Theme); 3] =
    [("light", Theme::Light), ("dark", Theme::Dark), ("none", Theme::Plain)];
const HOSTILE: &str = "a\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{202e}\u{7f}\u{e0041}\u{200b}\0\r\nend";

#[test]
fn the_first_screen_at_three_sizes() {
    for (width, height) in SIZES {
        let top = SampleTop::new(width, height, Theme::Plain);
        assert_snapshot!(format!("now_{width}x{height}"), top.text());
    }
}

#[test]
fn a_contested_decision_with_its_form_at_three_sizes() {
    for (width, height) in SIZES {
        let mut top = SampleTop::new(width, height, Theme::Plain);
        top.types("\r1we must be able to log people out\r");
        assert_snapshot!(format!("settle_{width}x{height}"), top.text());
    }
}

#[test]
fn the_stream_with_its_detail_at_three_sizes() {
    for (width, height) in SIZES {
        let mut top = SampleTop::new(width, height, Theme::Plain);
        top.types("2j");
        assert_snapshot!(format!("stream_{width}x{height}"), top.text());
    }
}

#[test]
fn each_theme_has_its_own_colours_and_the_same_words() {
    for (width, height) in SIZES {
        let plain = SampleTop::new(width, height, Theme::Plain).text();
        for (_, theme) in THEMES {
            assert_eq!(SampleTop::new(width, height, theme).text(), plain);
        }
    }
    for (name, theme) in THEMES {
        let (_, styles) = SampleTop::new(80, 24, theme).rendered();
        assert_snapshot!(format!("colours_{name}"), styles);
    }
}

#[test]
fn a_small_terminal_shows_less_and_the_keys_fit_the_usual_one() {
    for (width, height) in [(60, 16), (40, 10), (20, 5)] {
        let top = SampleTop::new(width, height, Theme::Plain);
        assert_snapshot!(format!("now_{width}x{height}"), top.text());
    }
    let mut top = SampleTop::new(80, 24, Theme::Plain);
    top.types("?");
    assert_snapshot!("keys_80x24", top.text());
}

#[test]
fn the_first_frame_needs_nothing_loaded() {
    let top = SampleTop::unloaded(SampleMemory::shop(), 80, 24, Theme::Plain);
    assert!(top.text().contains("shop") && top.text().contains("loading…"), "{}", top.text());
    assert_eq!(top.memory.asked, []);
}

#[test]
fn nothing_in_a_record_acts_on_the_terminal() {
    let mut memory = SampleMemory::shop();
    let record = memory.items.remove(0);
    let mut hostile = super::samples::item("x", record.kind, HOSTILE);
    hostile.why_you = HOSTILE.to_owned();
    hostile.scope = Some(HOSTILE.to_owned());
    hostile.by = Some(HOSTILE.to_owned());
    hostile.subjects = record.subjects.clone();
    for subject in &mut hostile.subjects {
        subject.id = HOSTILE.to_owned();
        subject.summary = HOSTILE.to_owned();
        subject.by = Some(HOSTILE.to_owned());
        subject.detail = Some(HOSTILE.to_owned());
        subject.status = Some(HOSTILE.to_owned());
        subject.rests_on_it = Some(HOSTILE.to_owned());
    }
    hostile.answers = record.answers.clone();
    for answer in &mut hostile.answers {
        answer.label = HOSTILE.to_owned();
        answer.then = HOSTILE.to_owned();
        answer.command = HOSTILE.to_owned();
        answer.input.insert("guard".to_owned(), HOSTILE.into());
    }
    memory.items = vec![hostile];
    for agent in &mut memory.agents.agents {
        agent.agent_id = HOSTILE.to_owned();
        agent.role = Some(HOSTILE.to_owned());
        agent.description = Some(HOSTILE.to_owned());
        agent.suspicious = Some(HOSTILE.to_owned());
    }
    for claim in &mut memory.agents.claims {
        claim.agent_id = HOSTILE.to_owned();
        claim.paths = vec![HOSTILE.to_owned()];
        claim.feature = Some(HOSTILE.to_owned());
    }
    for row in &mut memory.rows {
        row.id = HOSTILE.to_owned();
        row.kind = HOSTILE.to_owned();
        row.by = HOSTILE.to_owned();
        row.summary = HOSTILE.to_owned();
        row.scope = HOSTILE.to_owned();
        row.detail = HOSTILE.to_owned();
        row.tags = vec![HOSTILE.to_owned()];
        row.relates_to = vec![HOSTILE.to_owned()];
        row.origin = HOSTILE.to_owned();
    }
    let mut top = SampleTop::with(memory, 120, 40, Theme::Dark);
    top.state.project.name = HOSTILE.to_owned();
    top.state.project.branch = Some(HOSTILE.to_owned());
    for keys in ["", "\t", "r", "\x1b", "\t\r", "1", "\x1b", "\x1b", "2", "Y", "/x\x1b[A\r"] {
        top.types(keys);
        assert_safe(&top);
    }
    top.happens(TopEvent::Acted(ActOutcome::Done(vec![HOSTILE.to_owned()])));
    assert_safe(&top);
    top.happens(TopEvent::Failed(HOSTILE.to_owned()));
    assert_safe(&top);
}

fn assert_safe(top: &SampleTop) {
    let shown = top.text();
    let acts = |c: char| c != '\n' && text::is_unsafe_to_show(c);
    assert!(!shown.contains(acts), "{shown:?}");
}

#[test]
fn no_size_and_no_key_is_refused() {
    let keys = [
        "j", "k", "\r", "\x1b", "s", "1", "2", "3", "a", "e", "r", "x", "\t", "/", "?", " ", "t",
        "f", "Y", "g", "n", "\x1b[F", "\x1b[H", "\x1b[6~", "\x1b[5~", "J", "\x7f", "日",
    ];
    let sizes =
        [(1, 1), (2, 2), (3, 40), (200, 1), (30, 8), (79, 23), (80, 24), (110, 15), (300, 90)];
    each(sizes, |(width, height)| {
        let mut top = SampleTop::new(80, 24, Theme::Dark);
        let mut state: usize = usize::from(width) * 31 + usize::from(height);
        for step in 0..60 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            top.types(keys[(state >> 33) % keys.len()]);
            if step % 7 == 0 {
                top.happens(TopEvent::Changed);
                top.happens(TopEvent::Resized(Size { width, height }));
            }
            drop(top.text());
        }
    });
}

#[test]
fn a_long_inbox_says_where_one_is() {
    let mut memory = SampleMemory::shop();
    let more =
        (0..500).map(|n| item(&format!("q{n}"), memory.items[2].kind, &format!("Question {n}")));
    memory.items.extend(more.collect::<Vec<_>>());
    let mut top = SampleTop::with(memory, 80, 24, Theme::Plain);
    top.types("\x1b[F");
    assert!(top.text().contains("Needs you, 504 of 504"), "{}", top.text());
    assert!(top.text().contains("▸question   Question 499"), "{}", top.text());
}
