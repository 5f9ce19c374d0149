use twining_model::{EntryType, limits};

use super::{IndexFixture, dump, ids, line, ulid, view};
use crate::index::{EntryFilter, terms};

fn newest(index: &crate::index::database::Index) -> Vec<String> {
    let page = view(index).entries().newest(&EntryFilter::default(), 500).expect("a page");
    assert_eq!(page.total, page.items.len() as u64);
    page.items.into_iter().map(|entry| entry.id).collect()
}

#[test]
fn appended_lines_are_found_and_earlier_ones_not_read_again() {
    let fixture = IndexFixture::new();
    fixture.append(line("a", "finding", "one", "") + "\n");
    let mut index = fixture.index();
    assert_eq!(newest(&index), ["a"]);
    fixture
        .append(line("b", "finding", "two", "") + "\n" + &line("c", "finding", "three", "") + "\n");
    assert!(!index.is_current(&fixture.files).expect("looks"));
    let caught = index.catch_up(&fixture.files).expect("catches up");
    assert_eq!(caught, 2);
    assert_eq!(newest(&index), ["c", "b", "a"]);
    fixture.assert_right(&index);
}

#[test]
fn a_half_written_last_line_is_no_entry_until_it_is_whole() {
    let fixture = IndexFixture::new();
    let text = line("b", "finding", "two", "");
    fixture.append(line("a", "finding", "one", "") + "\n" + &text[..30]);
    let mut index = fixture.index();
    assert_eq!(newest(&index), ["a"]);
    let unreadable = view(&index).unreadable().expect("a list");
    assert_eq!((unreadable[0].file.as_str(), unreadable[0].line), ("blackboard.jsonl", Some(2)));
    fixture.append(&text[30..]);
    fixture.catch_up(&mut index);
    assert_eq!(newest(&index), ["b", "a"], "whole, though its newline is missing");
    assert_eq!(view(&index).counts().expect("counts").unreadable, 0);
    fixture.append("garbage\n");
    fixture.catch_up(&mut index);
    assert_eq!(newest(&index), ["a"], "it went on after all, and is no entry any more");
    fixture.assert_right(&index);
}

#[test]
fn damage_costs_its_own_line_and_is_named_with_its_number() {
    let fixture = IndexFixture::new();
    let good = line("a", "finding", "one", "");
    let lines: Vec<Vec<u8>> = vec![
        good.clone().into_bytes(),
        Vec::new(),
        b"{not json".to_vec(),
        b"[1]".to_vec(),
        b"{\"summary\":\"no id\"}".to_vec(),
        b"{\"id\":7}".to_vec(),
        b"{\"id\":\"x\",\"id\":\"y\"}".to_vec(),
        b"{\"id\":\"\"}".to_vec(),
        b"\xff\xfe".to_vec(),
        b"{\"id\":\"deep\",\"x\":".iter().copied().chain(vec![b'['; 100_000]).collect(),
        b"{\"id\":\"n\",\"x\":1e999}".to_vec(),
        b"{\"id\":\"s\",\"summary\":\"\\ud800\"}".to_vec(),
        line("b", "finding", "two", "").into_bytes(),
    ];
    fixture.write("blackboard.jsonl", lines.join(&b'\n'));
    let index = fixture.index();
    assert_eq!(newest(&index), ["b", "a"]);
    let numbers: Vec<u64> =
        view(&index).unreadable().expect("a list").iter().filter_map(|found| found.line).collect();
    assert_eq!(numbers, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(view(&index).counts().expect("counts").unreadable, 10);
    fixture.assert_right(&index);
}

#[test]
fn both_sides_of_a_conflict_are_kept_and_its_markers_reported() {
    let fixture = IndexFixture::new();
    fixture.board(&[
        "<<<<<<< HEAD".to_owned(),
        line("ours", "finding", "one", ""),
        "||||||| base".to_owned(),
        "=======".to_owned(),
        line("theirs", "finding", "two", ""),
        ">>>>>>> branch".to_owned(),
    ]);
    let index = fixture.index();
    assert_eq!(newest(&index), ["theirs", "ours"]);
    assert_eq!(view(&index).counts().expect("counts").unreadable, 4);
}

#[test]
fn a_line_over_the_limit_is_passed_over_in_bounded_memory() {
    let fixture = IndexFixture::new();
    let long = line("long", "finding", &"x".repeat(5 * limits::RECORD_BYTES), "");
    fixture.board(&[line("a", "finding", "one", ""), long, line("b", "finding", "two", "")]);
    let mut index = fixture.index();
    assert_eq!(newest(&index), ["b", "a"]);
    assert_eq!(view(&index).unreadable().expect("a list")[0].line, Some(2));
    fixture.append(line("c", "finding", "three", "") + "\n");
    fixture.catch_up(&mut index);
    assert_eq!(newest(&index), ["c", "b", "a"]);
    fixture.assert_right(&index);
}

#[test]
fn of_two_lines_with_one_id_the_last_counts_once() {
    let fixture = IndexFixture::new();
    fixture.board(&[
        line("a", "need", "first words", ",\"tags\":[\"old\"]"),
        line("b", "finding", "between", ""),
        line("a", "finding", "second thoughts", ",\"tags\":[\"new\"]"),
    ]);
    let mut index = fixture.index();
    assert_eq!(newest(&index), ["a", "b"]);
    {
        let view = view(&index);
        assert_eq!(
            view.entries().get("a").expect("reads").expect("is there").summary,
            "second thoughts"
        );
        assert_eq!(view.entries().duplicate_ids().expect("counts"), 1);
        assert_eq!(
            view.entries()
                .by_words(&terms("words"), &EntryFilter::default(), 9)
                .expect("searches")
                .len(),
            0
        );
        assert_eq!(view.counts().expect("counts").open_needs, 0);
    }
    fixture.board(&[
        line("a", "need", "first words", ",\"tags\":[\"old\"]"),
        line("b", "finding", "between", ""),
    ]);
    fixture.catch_up(&mut index);
    let view = view(&index);
    assert_eq!(view.entries().get("a").expect("reads").expect("is there").summary, "first words");
    assert_eq!(view.counts().expect("counts").open_needs, 1);
    drop(view);
    fixture.assert_right(&index);
}

#[test]
fn a_need_is_open_until_an_answer_names_it_and_again_when_that_is_gone() {
    let fixture = IndexFixture::new();
    let need = line("n", "need", "a limiter", "");
    let offer = line("o", "offer", "I could", ",\"relates_to\":[\"n\"]");
    let answer = line("a", "answer", "done", ",\"relates_to\":[\"n\"]");
    fixture.board(&[need.clone(), offer.clone()]);
    let mut index = fixture.index();
    assert!(view(&index).entries().is_open("n").expect("looks"));
    fixture.append(answer.clone() + "\n");
    fixture.catch_up(&mut index);
    {
        let view = view(&index);
        assert!(!view.entries().is_open("n").expect("looks"));
        assert_eq!(ids(&view.entries().closers("n").expect("a list")), ["a"]);
        assert_eq!(view.entries().relating_to("n", 1).expect("a page").total, 2);
    }
    fixture.board(&[answer, need.clone()]);
    fixture.catch_up(&mut index);
    assert!(
        !view(&index).entries().is_open("n").expect("looks"),
        "an answer that stands before the need counts too"
    );
    fixture.board(&[need, offer]);
    fixture.catch_up(&mut index);
    assert!(view(&index).entries().is_open("n").expect("looks"));
    fixture.assert_right(&index);
}

#[test]
fn a_merge_that_appends_lines_under_a_new_inode_reads_only_those() {
    let fixture = IndexFixture::new();
    let mut lines: Vec<String> = (0..3000)
        .map(|n| line(&ulid(n), "finding", &format!("entry {n} {}", "padding ".repeat(8)), ""))
        .collect();
    fixture.board(&lines);
    let mut index = fixture.index();
    lines.extend((3000..3100).map(|n| line(&ulid(n), "finding", "merged", "")));
    fixture.board(&lines);
    let caught = index.catch_up(&fixture.files).expect("catches up");
    assert_eq!(caught, 100);
    lines.remove(2500);
    fixture.board(&lines);
    let caught = index.catch_up(&fixture.files).expect("catches up");
    assert!(caught < 2 * 1600, "only from the segment that differs on: {caught}");
    fixture.assert_right(&index);
}

#[test]
fn an_edit_that_keeps_the_length_is_noticed() {
    let fixture = IndexFixture::new();
    fixture.write(
        "blackboard.jsonl",
        line("a", "finding", "one", "") + "\n" + &line("b", "finding", "two", "") + "\n",
    );
    let mut index = fixture.index();
    std::thread::sleep(std::time::Duration::from_millis(20));
    fixture.write(
        "blackboard.jsonl",
        line("a", "finding", "uno", "") + "\n" + &line("b", "finding", "two", "") + "\n",
    );
    assert!(!index.is_current(&fixture.files).expect("looks"));
    fixture.catch_up(&mut index);
    assert_eq!(view(&index).entries().get("a").expect("reads").expect("is there").summary, "uno");
    fixture.assert_right(&index);
}

#[test]
fn a_board_that_is_gone_or_is_a_link_holds_nothing_and_the_link_is_reported() {
    let fixture = IndexFixture::new();
    fixture.append(line("a", "finding", "one", "") + "\n");
    let mut index = fixture.index();
    std::fs::remove_file(fixture.path("blackboard.jsonl")).expect("removes");
    fixture.catch_up(&mut index);
    assert_eq!(newest(&index), [] as [&str; 0]);
    fixture.write("elsewhere", line("secret", "finding", "not ours", "") + "\n");
    std::os::unix::fs::symlink(fixture.path("elsewhere"), fixture.path("blackboard.jsonl"))
        .expect("links");
    fixture.catch_up(&mut index);
    assert_eq!(newest(&index), [] as [&str; 0]);
    assert!(view(&index).unreadable().expect("a list")[0].why.contains("link"));
    fixture.assert_right(&index);
}

#[test]
fn another_process_that_caught_up_makes_this_one_current() {
    let fixture = IndexFixture::new();
    let first = fixture.index();
    let mut second = fixture.index();
    fixture.append(line("a", "finding", "one", "") + "\n");
    assert!(!first.is_current(&fixture.files).expect("looks"));
    fixture.catch_up(&mut second);
    assert!(first.is_current(&fixture.files).expect("looks"));
    assert_eq!(newest(&first), ["a"]);
}

#[test]
fn a_snapshot_does_not_see_what_is_written_meanwhile() {
    let fixture = IndexFixture::new();
    fixture.append(line("a", "finding", "one", "") + "\n");
    let (reader, mut writer) = (fixture.index(), fixture.index());
    let view = view(&reader);
    assert_eq!(view.counts().expect("counts").entries, 1);
    fixture.append(line("b", "finding", "two", "") + "\n");
    writer.catch_up(&fixture.files).expect("catches up");
    assert_eq!(view.counts().expect("counts").entries, 1);
}

#[test]
fn hostile_sizes_make_bounded_rows() {
    let fixture = IndexFixture::new();
    let tags: Vec<String> = (0..20_000).map(|n| format!("\"t{n}\"")).collect();
    let more = format!(",\"tags\":[{}],\"scope\":\"{}\"", tags.join(","), "d/".repeat(50_000));
    fixture.append(line("a", "need", "many tags", &more) + "\n");
    let index = fixture.index();
    let rows: i64 =
        index.conn.query_row("SELECT count(*) FROM tag", [], |row| row.get(0)).expect("counts");
    assert_eq!(rows, limits::LIST as i64);
    let longest: i64 = index
        .conn
        .query_row("SELECT max(length(scope_key)) FROM entry", [], |row| row.get(0))
        .expect("measures");
    assert!(longest <= 2 * limits::ELEMENT_BYTES as i64);
    assert_eq!(
        view(&index).entries().get("a").expect("reads").expect("is there").tags.len(),
        20_000
    );
    assert!(EntryType::Need.asks() && view(&index).entries().is_open("a").expect("looks"));
    fixture.assert_right(&index);
}

#[test]
fn a_large_board_is_built_in_one_go_and_goes_on_from_there() {
    let fixture = IndexFixture::new();
    let lines: Vec<String> = (0..9000)
        .map(|n| line(&ulid(n), "finding", &format!("{n} {}", "words ".repeat(170)), ""))
        .collect();
    fixture.board(&lines);
    let mut index = fixture.index();
    assert_eq!(view(&index).counts().expect("counts").entries, 9000);
    fixture.append(line("last", "finding", "x", "") + "\n");
    assert_eq!(index.catch_up(&fixture.files).expect("catches up"), 1);
    let kept = dump(&index.conn);
    index.rebuild(&fixture.files).expect("rebuilds");
    assert_eq!(kept, dump(&index.conn));
    assert!(index.is_current(&fixture.files).expect("looks"));
}
