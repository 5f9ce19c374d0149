//! Key by key: what is asked of the memory, and what is done.

use ratatui::layout::Size;
use twining_engine::Settled;
use twining_model::Time;

use super::samples::{JWT, SESSIONS, SampleMemory, SampleTop, item};
use crate::tui::answer_form::VerbCall;
use crate::tui::list_window::PageRange;
use crate::tui::state::{ActOutcome, FeedState, ItemState, Screen, TopEvent, TopRequest};
use crate::tui::stream_row::{StreamQuery, StreamSource};
use crate::tui::theme::Theme;

fn top() -> SampleTop {
    SampleTop::new(80, 24, Theme::Plain)
}

fn acts(top: &SampleTop) -> Vec<VerbCall> {
    let acts = top.memory.asked.iter().filter_map(|request| match request {
        TopRequest::Act(call) => Some(call.clone()),
        _ => None,
    });
    acts.collect()
}

#[test]
fn a_contested_decision_is_settled_in_twelve_keys_and_a_reason() {
    let mut top = top();
    let (open_and_choose, reason, confirm) = ("\r1", "we must log people out\r", "9H39T000\r");
    assert!(open_and_choose.len() + 1 + confirm.len() <= 12);
    top.types(open_and_choose);
    top.types(reason);
    assert_eq!(acts(&top), []);
    top.types(confirm);
    let calls = acts(&top);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].verb, "promote");
    assert_eq!(calls[0].input["decision_ids"][0], SESSIONS);
    assert_eq!(calls[0].input["instead_of"][0], JWT);
    assert_eq!(calls[0].input["reason"], "we must log people out");
    top.memory.items.remove(0);
    top.happens(TopEvent::Acted(ActOutcome::Done(vec!["promoted".to_owned()])));
    assert_eq!(top.state.screen, Screen::Now);
    assert!(top.text().contains("promoted"), "{}", top.text());
    assert!(!top.text().contains("contested"), "{}", top.text());
}

#[test]
fn escape_leaves_everything_as_it_was() {
    let mut top = top();
    top.types("\r1because\x1b");
    assert!(top.text().contains("nothing done"), "{}", top.text());
    top.types("\x1b");
    assert_eq!((top.state.screen, acts(&top)), (Screen::Now, Vec::new()));
    assert!(top.text().contains("▸contested"), "the selection is where it was");
}

#[test]
fn a_question_is_answered_and_dismissed_from_the_inbox() {
    let mut top = top();
    top.types("jja8080\r");
    let calls = acts(&top);
    assert_eq!((calls[0].verb.as_str(), &calls[0].input["summary"]), ("post", &"8080".into()));
    top.happens(TopEvent::Acted(ActOutcome::Done(Vec::new())));
    top.types("enot needed\r");
    let calls = acts(&top);
    assert_eq!(
        (calls[1].verb.as_str(), &calls[1].input["reason"]),
        ("dismiss", &"not needed".into())
    );
}

#[test]
fn a_claim_is_released_beside_its_agent() {
    let mut top = top();
    top.types("\tjjr\r");
    assert_eq!(acts(&top)[0].input["paths"][0], "docs/");
    top.happens(TopEvent::Acted(ActOutcome::Done(Vec::new())));
    top.types("kr");
    assert!(top.text().contains("holds no claim"), "{}", top.text());
}

#[test]
fn a_guard_is_promoted_by_typing_its_name() {
    let mut top = top();
    top.types("jjjs");
    assert!(top.text().contains("Type no-direct-sql to go on"), "{}", top.text());
    top.types("no\r");
    assert_eq!(acts(&top), []);
    top.types("-direct-sql\r");
    assert_eq!(acts(&top)[0].verb, "guard_promote");
}

#[test]
fn an_answer_without_a_verb_shows_its_command() {
    let mut top = top();
    top.types("\r3");
    assert!(top.state.form.is_none());
    assert_eq!(top.state.notice.lines, ["twining  … --reason \"…\""]);
}

#[test]
fn where_nobody_may_act_each_act_says_why_and_names_the_command() {
    let mut top = top();
    top.state.refusal = Some("only a person can do this".to_owned());
    for keys in ["\r1", "\x1bjja", "\x1b\tr", "\t2jja"] {
        top.types(keys);
        assert!(top.state.form.is_none());
        assert!(top.text().contains("only a person can do this"), "{keys:?} {}", top.text());
        assert!(top.text().contains("the command: twining"), "{}", top.text());
    }
}

#[test]
fn a_word_that_the_verb_asks_for_becomes_a_line_of_the_form() {
    let mut top = top();
    top.types("js");
    top.types("try again\r");
    top.happens(TopEvent::Acted(ActOutcome::NeedsName("F9".to_owned())));
    assert!(top.text().contains("Type F9 to go on"), "{}", top.text());
    top.types("F9\r");
    assert_eq!(acts(&top)[1].typed.as_deref(), Some("F9"));
}

#[test]
fn what_was_refused_stays_in_the_form() {
    let mut top = top();
    top.types("jstry again\r");
    top.happens(TopEvent::Acted(ActOutcome::Refused("NO_EVIDENCE".to_owned())));
    assert!(top.text().contains("NO_EVIDENCE") && top.text().contains("try again"));
}

#[test]
fn an_item_that_somebody_else_settled_says_who_and_how() {
    let mut top = top();
    top.types("\r1");
    let mut settled = top.memory.items.remove(0);
    settled.settled = Some(Settled {
        by: "kim".to_owned(),
        at: "2026-11-15T11:11:00Z".to_owned(),
        how: "overridden".to_owned(),
        reason: Some("agreed".to_owned()),
    });
    top.happens(TopEvent::Item(ItemState::Settled(Box::new(settled))));
    assert!(top.text().contains("overridden by kim: agreed"), "{}", top.text());
    top.types("1");
    assert!(top.state.form.is_none(), "it cannot be answered again");
}

#[test]
fn the_same_item_stays_selected_when_a_graver_one_comes() {
    let mut top = top();
    top.types("jj");
    let graver = item("altered:1", twining_engine::WaitingKind::Altered, "a record is gone");
    top.memory.items.insert(0, graver);
    top.happens(TopEvent::Changed);
    assert!(top.text().contains("▸question"), "{}", top.text());
}

#[test]
fn only_what_is_visible_is_asked_for() {
    let mut top = top();
    assert_eq!(
        top.memory.asked[..3],
        [
            TopRequest::Inbox(PageRange { offset: 0, limit: 9 }),
            TopRequest::Agents,
            TopRequest::Latest(16),
        ]
    );
    top.types("2\x1b[F");
    let last = StreamQuery {
        source: StreamSource::Entries(None),
        page: PageRange { offset: 90, limit: 10 },
    };
    assert_eq!(top.memory.asked.last(), Some(&TopRequest::Stream(last)));
    assert!(top.text().contains("▸09:00  finding  cy       Finding number 95"), "{}", top.text());
}

#[test]
fn finding_shows_what_was_found_and_escape_goes_back() {
    let mut top = top();
    top.types("/number 7\r");
    assert!(top.text().contains("found for “number 7”, 11"), "{}", top.text());
    top.types("\x1b");
    assert!(top.text().contains("everything, 100"), "{}", top.text());
    top.types("\x1b");
    assert_eq!(top.state.screen, Screen::Now);
}

#[test]
fn the_filter_goes_through_the_types_to_what_guards_stopped() {
    let mut top = top();
    top.types("2f");
    assert!(top.text().contains("warning only, 1"), "{}", top.text());
    top.types("ffffff");
    assert!(top.text().contains("status only, 0"), "{}", top.text());
    top.types("f");
    assert!(top.text().contains("calls that guards stopped, 1"), "{}", top.text());
    top.types("f");
    assert!(top.text().contains("everything, 100"), "{}", top.text());
}

#[test]
fn a_paused_list_stands_still_until_it_goes_on() {
    let mut top = top();
    top.types(" ");
    assert_eq!(top.state.freshness, FeedState::Paused);
    let asked = top.memory.asked.len();
    top.happens(TopEvent::Changed);
    assert_eq!(top.memory.asked.len(), asked);
    top.types("2");
    assert!(top.text().contains("everything, 100"), "another screen is loaded: {}", top.text());
    top.types("1 ");
    assert!(top.memory.asked.len() > asked);
    assert_eq!(top.state.freshness, FeedState::Live);
}

#[test]
fn letters_of_the_page_lead_to_the_same_places() {
    let mut top = top();
    top.types("gs");
    assert_eq!(top.state.screen, Screen::Stream);
    top.types("gn");
    assert_eq!(top.state.screen, Screen::Now);
    top.types("q");
    assert_eq!(top.memory.asked.last(), Some(&TopRequest::Quit));
    top.types("\x1a");
    assert_eq!(top.memory.asked.last(), Some(&TopRequest::Suspend));
}

#[test]
fn letters_typed_into_a_reason_are_no_commands() {
    let mut top = top();
    top.types("jsquit, 2 / ? please");
    assert!(top.text().contains("Reason: quit, 2 / ? please"), "{}", top.text());
    assert!(!top.memory.asked.contains(&TopRequest::Quit));
}

#[test]
fn ages_move_only_when_one_changes() {
    let mut top = top();
    // Ada was last seen 30 seconds ago, but only ages that are minutes old are about to change.
    assert_eq!(top.state.next_change_ms(), Some(30_000));
    top.types("2");
    assert_eq!(top.state.next_change_ms(), None);
    top.types("1");
    let later = Time::read("2026-11-15T11:22:00Z").expect("is a time");
    top.happens(TopEvent::Clock(later));
    assert!(top.text().contains("35m"), "{}", top.text());
}

#[test]
fn a_larger_terminal_asks_for_what_came_into_view() {
    let mut top = top();
    top.types("2");
    let asked = top.memory.asked.len();
    top.happens(TopEvent::Resized(Size { width: 80, height: 50 }));
    assert_eq!(top.memory.asked.len(), asked + 1);
    assert!(top.text().contains("Finding number 15"), "{}", top.text());
}

#[test]
fn a_failing_memory_is_named_in_the_header_until_it_answers() {
    let mut top = SampleTop::with(SampleMemory::shop(), 80, 24, Theme::Plain);
    top.happens(TopEvent::Failed("the index is locked".to_owned()));
    assert!(top.text().contains("the index is locked"), "{}", top.text());
    top.happens(TopEvent::Changed);
    assert_eq!(top.state.freshness, FeedState::Live);
}
