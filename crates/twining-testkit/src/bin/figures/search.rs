//! Searching and assembling, at three sizes, by meaning and by words alone; in a
//! fresh clone; and posting while vectors are made.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_embed::{DIMENSIONS, Model, Vector};
use twining_model::{Decision, Entry};
use twining_store::{Store, StoreLocation, VectorBytes, VectorKeys, decision_text, entry_text};
use twining_testkit::FixedWorld;

use crate::client::{BenchClient, BenchResult};
use crate::latency::{Bench, post_arguments};
use crate::store::{FixedRandom, StoreSize};
use crate::table::{FigureTable, LatencySample, at_most, below, number, thousands};
use crate::{log_progress, show};

const CALLS: usize = 200;
const MIB: f64 = 1024.0;
const WORDS_ALONE: &str = "search:\n  embeddings: false\n";
const CLONES: usize = 5;
const CLONED: StoreSize =
    StoreSize { entries: 9_000, decisions: 1_000, entities: 1_000, relations: 2_000 };
const EMBEDDED_BEHIND: StoreSize =
    StoreSize { entries: 10_000, decisions: 0, entities: 0, relations: 0 };
/// Records, and the goals for `query` and `assemble`; none for the smallest.
const SIZES: [(usize, Option<(f64, f64)>); 3] =
    [(1_000, None), (10_000, Some((15.0, 20.0))), (100_000, Some((50.0, 60.0)))];

/// All of it.
pub(crate) fn search(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "search",
        ["call", "records", "mode", "p50 ms", "p95 ms", "max ms", "goals"],
    );
    for (records, goals) in SIZES {
        let size = StoreSize {
            entries: records,
            decisions: records / 10,
            entities: records / 2,
            relations: records,
        };
        let project = bench.stores.copy(size)?;
        log_progress(&format!("search: {} records, vectors for all", thousands(records)));
        give_vectors(project.path(), &Model::built_in()?)?;
        let mut client = bench.client(&project)?;
        rows(&mut client, records, "hybrid", goals, &mut table)?;
        let resident = client.resident_kib() as f64 / MIB;
        table.note(format!(
            "{} records embedded: RSS {} MiB ({}).",
            thousands(records),
            number(resident),
            below("RSS", resident, 250.0)
        ));
        client.close()?;
        let config = project.path().join(".twining/config.yml");
        fs::write(&config, fs::read_to_string(&config)? + WORDS_ALONE)?;
        let mut client = bench.client(&project)?;
        rows(
            &mut client,
            records,
            "keyword",
            goals.map(|(_, assemble)| (5.0, assemble)),
            &mut table,
        )?;
        client.close()?;
    }
    table.note(format!(
        "{CALLS} calls each over MCP after one that warms it; a tenth as many decisions as entries; the query is embedded in the call."
    ));
    table.note("Every word of these stores stands in thousands of records, which is the worst a search by words can meet.");
    show(&table);
    in_a_fresh_clone(bench)?;
    posts_beside_embedding(bench)
}

type SearchArguments = fn(&mut FixedRandom) -> Value;

/// What is asked, and with which tool.
const QUESTIONS: [(&str, &str, SearchArguments); 3] = [
    ("query", "twining_query", |dice| json!({"query": dice.sentence(6)})),
    ("search_decisions", "twining_search_decisions", |dice| json!({"query": dice.sentence(6)})),
    (
        "assemble",
        "twining_assemble",
        |dice| json!({"task": dice.sentence(25), "scope": dice.file()}),
    ),
];

/// The first questions where there is neither an index nor a vector.
fn in_a_fresh_clone(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "questions in a fresh clone",
        ["call", "first p50 ms", "first max ms", "next p50 ms", "next max ms", "goals"],
    );
    log_progress("questions in a fresh clone");
    for (name, tool, ask) in QUESTIONS {
        let (mut first, mut next, mut dice) =
            (LatencySample::default(), LatencySample::default(), FixedRandom::new(12));
        for _ in 0..CLONES {
            let project = bench.stores.copy(CLONED)?;
            let mut client = bench.client(&project)?;
            let (answer, took) = client.call(tool, &ask(&mut dice))?;
            if answer["not_yet_embedded"].as_u64().unwrap_or_default() == 0 {
                return Err(format!("{name} does not say that vectors are missing").into());
            }
            first.push(took);
            for _ in 0..CALLS / CLONES {
                next.push(client.call(tool, &ask(&mut dice))?.1);
            }
            client.close()?;
        }
        let goals =
            [at_most("first", first.max(), 300.0), at_most("next", next.max(), 300.0)].join(", ");
        table.row([
            name.to_owned(),
            number(first.p50()),
            number(first.max()),
            number(next.p50()),
            number(next.max()),
            goals,
        ]);
    }
    table.note(format!(
        "{CLONED}, without `local/`; {CLONES} clones each. The first builds the index; meanwhile and later vectors are made."
    ));
    show(&table);
    Ok(())
}

fn rows(
    client: &mut BenchClient,
    records: usize,
    mode: &str,
    goals: Option<(f64, f64)>,
    table: &mut FigureTable,
) -> BenchResult<()> {
    for (name, tool, ask) in QUESTIONS {
        let goal = goals.map(|(query, assemble)| if name == "assemble" { assemble } else { query });
        let (mut took, mut dice) = (LatencySample::default(), FixedRandom::new(11));
        let (first, _) = client.call(tool, &ask(&mut dice))?;
        if first["mode"] != mode {
            return Err(format!(
                "{name} answered with mode {} where {mode} was expected",
                first["mode"]
            )
            .into());
        }
        for _ in 0..CALLS {
            took.push(client.call(tool, &ask(&mut dice))?.1);
        }
        let p95 = took.percentile(95.0);
        let goal = goal.map_or_else(String::new, |goal| below("p95", p95, goal));
        table.row([
            name.to_owned(),
            thousands(records),
            mode.to_owned(),
            number(took.p50()),
            number(p95),
            number(took.max()),
            goal,
        ]);
    }
    Ok(())
}

/// Gives every record vectors that point anywhere: how long a search takes does
/// not depend on where, and making a hundred thousand real ones takes half an hour.
pub(crate) fn give_vectors(project: &Path, model: &Model) -> BenchResult<()> {
    let store = Store::open(
        StoreLocation { project: project.to_owned(), ..StoreLocation::default() },
        FixedWorld::new().ids(),
    )?;
    let mut dice = FixedRandom::new(5);
    let mut rows: Vec<(u64, VectorBytes)> = Vec::new();
    let mut give =
        |sense: VectorKeys| rows.extend(sense.names().map(|name| (name, anywhere(&mut dice))));
    for line in fs::read_to_string(project.join(".twining/blackboard.jsonl"))?.lines() {
        let entry: Entry = serde_json::from_str(line)?;
        give(VectorKeys::of(&entry.summary, &entry_text(&entry)));
    }
    for file in fs::read_dir(project.join(".twining/decisions")).into_iter().flatten().flatten() {
        if let Ok(decision) = serde_json::from_slice::<Decision>(&fs::read(file.path())?) {
            give(VectorKeys::of(&decision.summary, &decision_text(&decision)));
        }
    }
    store.vectors(model.identity(), |file| file.append(&rows))?.ok_or("the store has no folder")?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a random direction")]
fn anywhere(dice: &mut FixedRandom) -> VectorBytes {
    let numbers: [f32; DIMENSIONS] =
        std::array::from_fn(|_| dice.below(2001) as f32 / 1000.0 - 1.0);
    Vector::normalised(numbers).pack().to_bytes()
}

/// Posts, one every few milliseconds, while the server makes ten thousand vectors.
fn posts_beside_embedding(bench: &mut Bench) -> BenchResult<()> {
    let project = bench.stores.copy(EMBEDDED_BEHIND)?;
    log_progress("posts while vectors are made");
    let mut client = bench.client(&project)?;
    client.call("twining_status", &json!({}))?;
    let model = Model::built_in()?.identity();
    let vectors = project.path().join(format!(".twining/local/vectors-{model:016x}.bin"));
    let made = || fs::metadata(&vectors).map_or(0, |file| file.len() / 400);
    let (mut took, mut dice, began) =
        (LatencySample::default(), FixedRandom::new(6), Instant::now());
    while began.elapsed() < Duration::from_secs(30) {
        took.push(client.call("twining_post", &post_arguments(&mut dice, 1))?.1);
        std::thread::sleep(Duration::from_millis(5));
    }
    let rate = made() as f64 / began.elapsed().as_secs_f64();
    let mut table = FigureTable::new(
        "posting while vectors are made",
        ["call", "p50 ms", "p95 ms", "max ms", "vectors/s", "goals"],
    );
    let p95 = took.percentile(95.0);
    table.row([
        "post".to_owned(),
        number(took.p50()),
        number(p95),
        number(took.max()),
        number(rate),
        below("p95", p95, 2.0),
    ]);
    table.note(format!(
        "{} records without vectors at the start; 30 s.",
        thousands(EMBEDDED_BEHIND.entries)
    ));
    show(&table);
    client.close().map(drop)
}
