use std::fs;
use std::os::unix::fs::FileExt;
use twining_testcases::each;

use super::{IndexFixture, line, sound, trust, ulid, view};
use crate::index::database::Index;
use crate::index::database_files::DatabaseTrust;
use crate::index::{connections, database_files};

fn desk_with_entries(n: usize) -> IndexFixture {
    let fixture = IndexFixture::new();
    let lines: Vec<String> = (0..n)
        .map(|n| line(&ulid(n), "finding", &format!("entry number {n}"), ",\"tags\":[\"t\"]"))
        .collect();
    fixture.board(&lines);
    fixture.decision(&ulid(1), ",\"summary\":\"decided\",\"affected_files\":[\"src/a.rs\"]");
    fixture.swap("graph/entities.json", "[{\"id\":\"e1\",\"name\":\"thing\",\"type\":\"file\"}]");
    fixture
}

#[test]
fn a_database_that_came_with_a_clone_is_never_opened() {
    let fixture = desk_with_entries(3);
    drop(fixture.index());
    let planted = rusqlite::Connection::open(fixture.path("planted")).expect("opens");
    planted
        .execute_batch(
            "CREATE TABLE entry(x); CREATE TRIGGER t AFTER INSERT ON entry BEGIN SELECT 1; END;",
        )
        .expect("plants");
    drop(planted);
    fs::rename(fixture.path("planted"), fixture.path("local/index.db")).expect("renames");
    assert_eq!(trust(&fixture), DatabaseTrust::None);
    let index = fixture.index();
    assert_eq!(view(&index).counts().expect("counts").entries, 3);
    fixture.assert_right(&index);
}

#[test]
fn a_stamp_of_another_directory_version_or_folding_counts_for_nothing() {
    let fixture = desk_with_entries(3);
    drop(fixture.index());
    assert_eq!(trust(&fixture), DatabaseTrust::Full);
    let stamp = fs::read_to_string(fixture.path("local/index.stamp")).expect("reads");
    each(
        [
            stamp.replacen("local ", "local 1", 1),
            stamp.replacen(&format!("index {}", connections::VERSION), "index 0", 1),
            stamp.replacen("names exact", "names ignore-case", 1),
            stamp[..stamp.len() / 2].to_owned(),
            String::new(),
        ],
        |forged| {
            fixture.write("local/index.stamp", forged);
            assert_eq!(trust(&fixture), DatabaseTrust::None);
        },
    );
    fixture.write("local/index.stamp", stamp);
    assert_eq!(trust(&fixture), DatabaseTrust::Full);
}

#[test]
fn a_flipped_bit_anywhere_in_the_database_is_noticed_by_open_and_by_a_running_reader() {
    let fixture = desk_with_entries(300);
    let mut running = fixture.index();
    running.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("checkpoints");
    database_files::mark_clean(&fixture.files).expect("stamps");
    let size = fs::metadata(fixture.path("local/index.db")).expect("is there").len();
    each([30, size / 3, size / 2, size - 9], |at| {
        assert!(running.is_current(&fixture.files).expect("looks"));
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(fixture.path("local/index.db"))
            .expect("opens");
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("reads");
        file.write_all_at(&[byte[0] ^ 4], at).expect("flips");
        drop(file);
        assert_eq!(trust(&fixture), DatabaseTrust::None);
        assert!(!running.is_current(&fixture.files).expect("looks"));
        fixture.catch_up(&mut running);
        fixture.assert_right(&running);
        running
            .conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .expect("checkpoints");
        database_files::mark_clean(&fixture.files).expect("stamps");
    });
}

#[test]
fn a_flipped_bit_in_a_text_is_an_error_and_not_an_answer() {
    let fixture = desk_with_entries(3);
    let index = fixture.index();
    index
        .conn
        .execute("UPDATE line SET raw = replace(raw, 'number 1', 'number 7')", [])
        .expect("tampers");
    let view = view(&index);
    assert!(view.entries().get(&ulid(0)).expect("reads").is_some());
    let error = view.entries().get(&ulid(1)).expect_err("does not match its checksum");
    assert!(error.is_corrupt());
}

#[test]
fn deleted_truncated_or_replaced_files_cost_a_rebuild_and_nothing_else() {
    let fixture = desk_with_entries(20);
    let mut running = fixture.index();
    for attack in 0..6 {
        let db = fixture.path("local/index.db");
        match attack {
            0 => fs::remove_file(&db).expect("removes"),
            1 => fs::OpenOptions::new()
                .write(true)
                .open(&db)
                .expect("opens")
                .set_len(5000)
                .expect("cuts"),
            2 => fs::write(&db, "garbage").expect("writes"),
            3 => {
                fs::remove_file(&db).expect("removes");
                std::os::unix::fs::symlink("/etc/passwd", &db).expect("links");
            }
            4 => {
                fs::remove_file(&db).expect("removes");
                fs::create_dir_all(db.join("sub")).expect("makes");
            }
            _ => {
                let wal = fixture.path("local/index.db-wal");
                fs::remove_file(&wal).expect("removes");
                rustix::fs::mkfifoat(rustix::fs::CWD, &wal, rustix::fs::Mode::from_raw_mode(0o600))
                    .expect("makes a pipe");
            }
        }
        assert!(!running.is_current(&fixture.files).expect("looks"), "attack {attack}");
        fixture.catch_up(&mut running);
        fixture.assert_right(&running);
        let fresh = fixture.index();
        fixture.assert_right(&fresh);
    }
    assert!(fs::read_to_string("/etc/passwd").expect("reads").contains("root"));
}

#[test]
fn a_writer_that_was_killed_is_looked_after_and_its_database_kept_if_it_is_sound() {
    let fixture = desk_with_entries(20);
    let index = fixture.index();
    let ino = index.database.inode;
    drop(index);
    database_files::mark_writing(&fixture.files, ino).expect("stamps");
    assert_eq!(trust(&fixture), DatabaseTrust::Checked);
    let index = Index::open(&fixture.files).expect("opens");
    assert_eq!(index.database.inode, ino);
    assert_eq!(trust(&fixture), DatabaseTrust::Full);
    connections::truncate_wal(&index.conn).expect("empties the log");
    drop(index);
    let file =
        fs::OpenOptions::new().write(true).open(fixture.path("local/index.db")).expect("opens");
    file.write_all_at(&[0xAA; 64], 3 * 4096).expect("breaks a page");
    database_files::mark_writing(&fixture.files, ino).expect("stamps");
    // A page was corrupt, so the index was discarded and rebuilt.
    let index = Index::open(&fixture.files).expect("opens");
    assert_eq!(view(&index).counts().expect("counts").entries, 0);
    fixture.assert_right(&fixture.index());
}

#[test]
fn every_kind_of_wrong_row_is_found() {
    let fixture = desk_with_entries(20);
    each(
        [
            "UPDATE entry SET at = at + 1 WHERE pos = 0",
            "UPDATE entry SET open = 1 WHERE pos = 0",
            "UPDATE entry SET shadowed = 1 WHERE pos = 0",
            "UPDATE line SET raw = raw || ' ' WHERE pos = 0",
            "DELETE FROM tag WHERE pos = 0",
            "DELETE FROM entry_text WHERE rowid = 0",
            "UPDATE decision SET status = 'provisional'",
            "UPDATE entity SET name = 'thong'",
            "UPDATE entity SET alone = 0",
            "UPDATE counter SET n = n + 1 WHERE count = 0",
            "UPDATE scope_count SET n = n + 1",
        ],
        |tampering| {
            let index = fixture.rebuilt();
            assert!(sound::is_sound(&index.conn, fixture.files.folding).expect("verifies"));
            index.conn.execute_batch(tampering).expect("tampers");
            assert!(
                !sound::is_sound(&index.conn, fixture.files.folding).expect("verifies"),
                "{tampering}"
            );
        },
    );
}

#[test]
fn an_unfinished_rebuild_is_swept_away() {
    let fixture = desk_with_entries(3);
    fixture.write("local/index.new", "half a database");
    let index = fixture.index();
    assert!(!fixture.path("local/index.new").exists());
    assert_eq!(view(&index).counts().expect("counts").entries, 3);
}

#[test]
fn destroying_the_index_loses_nothing() {
    let fixture = desk_with_entries(3);
    let mut running = fixture.index();
    Index::destroy(&fixture.files).expect("removes");
    assert!(!fixture.path("local/index.db").exists());
    assert!(!running.is_current(&fixture.files).expect("looks"));
    fixture.catch_up(&mut running);
    fixture.assert_right(&running);
}
