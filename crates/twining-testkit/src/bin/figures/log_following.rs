//! How quickly a folder takes in a log that others wrote.

use std::time::Instant;

use twining_model::Change;
use twining_store::{LogLine, Store, StoreLocation};
use twining_testkit::{ids, records};

use crate::client::BenchResult;
use crate::latency::Bench;
use crate::table::{FigureTable, at_least, thousands};
use crate::{log_progress, show};

/// Records of one line.
const RECORDS: usize = 256;
const LINES: usize = 400;
/// Lines that are taken in at once, as a node that was away does.
const AT_ONCE: usize = 64;

/// Lines of a log, taken in by an empty folder.
pub(crate) fn follow(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "following a log",
        ["a line of 256 records", "records", "records/s", "goals"],
    );
    for (name, decisions, entities) in
        [("entries alone", 0, 0), ("4 decisions, 12 entities, entries", 4, 12)]
    {
        log_progress(&format!("follow: {name}"));
        let project = bench.stores.empty()?;
        let store = Store::open(
            StoreLocation { project: project.path().to_path_buf(), ..StoreLocation::default() },
            ids(),
        )?;
        let lines: Vec<LogLine> = (1..=LINES as u64)
            .map(|seq| {
                let ids = store.ids();
                let change = Change {
                    entries: (decisions + entities..RECORDS)
                        .map(|at| records::entry(ids, &format!("finding {at} of line {seq}")))
                        .collect(),
                    decisions: (0..decisions)
                        .map(|at| records::decision(ids, &format!("decision {at} of line {seq}")))
                        .collect(),
                    entities: (0..entities)
                        .map(|at| records::entity(ids, &format!("module {at} of line {seq}")))
                        .collect(),
                    ..Change::default()
                };
                LogLine { seq, key: ids.next(), change }
            })
            .collect();
        let began = Instant::now();
        for some in lines.chunks(AT_ONCE) {
            store.follower().take_in(some)?;
        }
        let (records, seconds) = (RECORDS * LINES, began.elapsed().as_secs_f64());
        let rate = f64::from(u32::try_from(records).unwrap_or(u32::MAX)) / seconds;
        table.row([
            name.to_owned(),
            thousands(records),
            format!("{rate:.0}"),
            at_least("records/s", rate, 14_000.0),
        ]);
    }
    table.note(format!("{LINES} lines, {AT_ONCE} at once, by a process that stays; every tracked file has them when the call returns."));
    show(&table);
    Ok(())
}
