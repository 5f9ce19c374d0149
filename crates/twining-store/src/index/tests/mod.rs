//! Stories about the index: what it makes of files that anybody may have edited.

mod answers;
mod board;
mod decisions;
mod graph;
mod same_as_rebuilt;
mod sound;
mod trust;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;
use twining_model::scope::CaseFolding;
use twining_model::{Entry, Id, Time};

use super::catch_up::{self, CommitPace};
use super::database::Index;
use super::database_files::IndexedFiles;
use super::{View, database_files};
use crate::disk::layout::Layout;
use crate::log::store_files::{DecisionsChanged, StoreFiles};

/// A project folder whose files are written by hand.
pub(super) struct IndexFixture {
    pub dir: TempDir,
    pub files: StoreFiles,
}

pub(super) const NOW: i64 = 1_800_000_000_000;

impl IndexFixture {
    pub(super) fn new() -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let project = dir.path().canonicalize().expect("it exists");
        let layout = Layout::make(&project, None).expect("makes the folder");
        Self { files: StoreFiles::new(&layout, &Arc::new(AtomicBool::new(true))), dir }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".twining").join(name)
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("writes");
    }

    /// Puts a new file in the old one's place, as git and editors do.
    pub(super) fn swap(&self, name: &str, text: impl AsRef<[u8]>) {
        let temp = self.path("swap.tmp");
        fs::write(&temp, text).expect("writes");
        fs::rename(temp, self.path(name)).expect("renames");
    }

    pub(super) fn board(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.swap("blackboard.jsonl", text);
    }

    pub(super) fn append(&self, text: impl AsRef<[u8]>) {
        let mut file =
            fs::OpenOptions::new().append(true).open(self.path("blackboard.jsonl")).expect("opens");
        file.write_all(text.as_ref()).expect("appends");
    }

    pub(super) fn append_anchors(&self, text: impl AsRef<[u8]>) {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.path("anchors.jsonl"))
            .expect("opens");
        file.write_all(text.as_ref()).expect("appends");
    }

    pub(super) fn decision(&self, id: &str, fields: &str) {
        self.write(&format!("decisions/{id}.json"), format!("{{\"id\":\"{id}\"{fields}}}"));
    }

    /// The index on disk, brought up to the files.
    pub(super) fn index(&self) -> Index {
        let mut index = Index::open(&self.files).expect("opens");
        self.catch_up(&mut index);
        index
    }

    pub(super) fn catch_up(&self, index: &mut Index) {
        index.catch_up(&self.files).expect("catches up");
        assert!(
            index.is_current(&self.files).expect("looks"),
            "after a catch-up the index is current"
        );
    }

    /// Returns the expected index: everything read again.
    pub(super) fn rebuilt(&self) -> Index {
        let index = Index::in_memory().expect("opens");
        let board = catch_up::plan_board(&index.conn, &IndexedFiles::default(), &self.files)
            .expect("plans");
        catch_up::run(
            &index.conn,
            CommitPace::Shared,
            &self.files,
            board,
            &DecisionsChanged::Unknown,
        )
        .expect("rebuilds");
        index
    }

    /// Checks that the index is what a new one would be, and sound in itself.
    pub(super) fn assert_right(&self, index: &Index) {
        let (kept, anew) = (dump(&index.conn), dump(&self.rebuilt().conn));
        for (kept, anew) in kept.iter().zip(&anew) {
            assert_eq!(kept, anew);
        }
        assert!(
            sound::is_sound(&index.conn, self.files.folding).expect("verifies"),
            "rows, marks and counts agree"
        );
    }
}

pub(super) fn view(index: &Index) -> View<'_> {
    index.view(Time::from_ms(NOW), CaseFolding::Exact).expect("a snapshot")
}

/// An entry's line. `more` is further JSON fields, each with a comma in front.
pub(super) fn line(id: &str, kind: &str, summary: &str, more: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"timestamp\":\"2026-11-15T00:00:00.000Z\",\"entry_type\":\"{kind}\",\"summary\":\"{summary}\"{more}}}"
    )
}

/// An anchor's line.
pub(super) fn anchor_line(id: usize, of: usize, at: usize) -> String {
    format!(
        "{{\"id\":\"{}\",\"of\":\"decision:{of}\",\"at\":\"src/{at}.rs#f\",\"sketch\":\"{}\",\"timestamp\":\"2026-11-15T00:00:0{}.000Z\"}}",
        ulid(id),
        "A".repeat(43),
        id % 10
    )
}

pub(super) fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

/// A ULID that ends in `n`.
pub(super) fn ulid(n: usize) -> String {
    let id = format!("01M7EB3QWY4C5CPJ{n:010}");
    assert!(Id::read(&id).is_some());
    id
}

const TABLES: [&str; 19] = [
    "SELECT 'known', state -> '$.board.offset', state -> '$.board.line', state -> '$.board.segment', state -> '$.seq', state -> '$.anchors.offset', state -> '$.anchors.line', state -> '$.anchors.before' FROM known",
    "SELECT 'anchor', * FROM anchor",
    "SELECT 'segment', * FROM segment",
    "SELECT 'counter', * FROM counter WHERE n <> 0",
    "SELECT 'unreadable', * FROM unreadable",
    "SELECT 'entry', * FROM entry",
    "SELECT 'line', * FROM line",
    "SELECT 'tag', * FROM tag",
    "SELECT 'relates', * FROM relates",
    "SELECT 'scope_count', * FROM scope_count",
    "SELECT 'decision_file', * FROM decision_file",
    "SELECT 'decision', id, at, touched, status, confidence, scope_key, domain_key, unconfirmed, clashed, promoted, compatible, supersedes, scope, summary, raw, sum
     FROM decision JOIN decision_line USING(num)",
    "SELECT 'file', file_key, id FROM affected_file JOIN decision USING(num)
     UNION ALL SELECT 'symbol', symbol, id FROM affected_symbol JOIN decision USING(num)
     UNION ALL SELECT 'rests', target, id FROM dependency JOIN decision USING(num)
     UNION ALL SELECT 'commit', folded || ' ' || hash, id FROM decision_commit JOIN decision USING(num)",
    "SELECT 'entity', id, name, name_key, kind, alone, raw, sum FROM entity",
    "SELECT 'relation', id, source, target, kind, dangling, raw, sum FROM relation",
    "SELECT 'entry word', term, doc, col, offset FROM entry_words",
    "SELECT 'decision word', term, id, col, offset FROM decision_words JOIN decision ON num = doc",
    "SELECT 'entity word', term, id, col, offset FROM entity_words JOIN entity ON num = doc",
    "SELECT 'entity note', term, id, col, offset FROM entity_notes JOIN entity ON num = doc",
];

/// Every row of every table, without what distinguishes a file from its copy.
pub(super) fn dump(conn: &Connection) -> Vec<Vec<String>> {
    conn.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.entry_words USING fts5vocab('main', 'entry_text', 'instance');
         CREATE VIRTUAL TABLE IF NOT EXISTS temp.decision_words USING fts5vocab('main', 'decision_text', 'instance');
         CREATE VIRTUAL TABLE IF NOT EXISTS temp.entity_notes USING fts5vocab('main', 'entity_note', 'instance');
         CREATE VIRTUAL TABLE IF NOT EXISTS temp.entity_words USING fts5vocab('main', 'entity_text', 'instance');",
    )
    .expect("vocabularies");
    TABLES.iter().map(|sql| rows(conn, sql)).collect()
}

fn rows(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(sql).expect("prepares");
    let columns = statement.column_count();
    let mut found: Vec<String> = statement
        .query_map([], |row| {
            (0..columns).map(|at| row.get::<_, Value>(at)).collect::<Result<Vec<_>, _>>()
        })
        .expect("queries")
        .map(|row| format!("{:?}", row.expect("a row")))
        .collect();
    found.sort_unstable();
    found
}

/// The stamp's verdict, for stories about who touched what.
pub(super) fn trust(fixture: &IndexFixture) -> database_files::DatabaseTrust {
    database_files::trust(&fixture.files).expect("looks")
}
