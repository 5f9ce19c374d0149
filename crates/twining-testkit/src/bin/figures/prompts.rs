//! What a hook waits for: a process that starts, resolves the policy, prints a
//! prompt and is gone.

use std::path::Path;

use crate::client::{BenchResult, once};
use crate::latency::Bench;
use crate::store::StoreSize;
use crate::table::{FigureTable, LatencySample, below, number, thousands};
use crate::{log_progress, show};

const TIMES: usize = 50;

const CALLS: [(&str, &[&str]); 4] = [
    ("role", &["role", "coach"]),
    ("gates", &["gates", "feature", "5"]),
    ("prompt, turn 1", &["prompt", "player", "--task", "TASK-GE-001", "--turn", "1"]),
    (
        "prompt, turn 2",
        &["prompt", "coach", "--task", "TASK-GE-001", "--turn", "2", "--scope", "src/"],
    ),
];

const POLICY: &str = "roles:\n  coach:\n    must_do_additions: [Check the contract]\ngates:\n  feature: {coverage_threshold: 0.9}\n";

/// Each call on an empty folder, a young project and a large one, their index built.
pub(crate) fn prompts(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "role, gates and prompt, one process each",
        ["store", "call", "p50 ms", "p95 ms", "max ms", "goals"],
    );
    let empty = bench.stores.empty()?;
    log_progress("prompts, on an empty folder");
    measure(&bench.twining, empty.path(), "empty folder", &mut table)?;
    for size in [StoreSize::SMALL, StoreSize::LARGE] {
        let (project, client, _) = bench.warm(size)?;
        client.close()?;
        std::fs::write(project.path().join(".twining/policy.yml"), POLICY)?;
        let turn = [
            "--player-decision",
            "did it",
            "--coach-decision",
            "revise",
            "--progress-summary",
            "half of it",
        ];
        once(
            &bench.twining,
            project.path(),
            &[&["record-turn", "TASK-GE-001", "1"][..], &turn].concat(),
        )?;
        let name = format!("{} entries", thousands(size.entries));
        log_progress(&format!("prompts, on {name}"));
        measure(&bench.twining, project.path(), &name, &mut table)?;
    }
    table.note(format!(
        "From spawn to exit, {TIMES} times each after one that is not counted; with a policy file and one turn, but on the empty folder."
    ));
    show(&table);
    Ok(())
}

fn measure(
    twining: &Path,
    project: &Path,
    store: &str,
    table: &mut FigureTable,
) -> BenchResult<()> {
    for (name, words) in CALLS {
        once(twining, project, words)?;
        let mut took = LatencySample::default();
        for _ in 0..TIMES {
            took.push(once(twining, project, words)?);
        }
        let [p50, p95, max] = [took.p50(), took.percentile(95.0), took.max()].map(number);
        table.row([
            store.to_owned(),
            name.to_owned(),
            p50,
            p95,
            max,
            below("p50", took.p50(), 5.0),
        ]);
    }
    Ok(())
}
