//! Asking: one store at a time, each in a folder of its own.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use twining_embed::Model;
use twining_engine::{
    AssembleInput, Caller, Engine, QueryInput, SearchDecisionsInput, TraceInput, WhyInput,
};
use twining_model::{Channel, Id, IdSource, Origin, Time, Trust};
use twining_store::{Store, StoreLocation, VECTOR_BYTES, VectorBytes, VectorCursor};
use twining_testkit::FixedWorld;

use crate::Measure;
use crate::data::{self, EvalOutcome, EvalSet, of, text, texts};
use crate::metrics::{LIST, MetricTable, of_ranking, share};

const CHARS_PER_TOKEN: usize = 4;
const BUDGETS: [(usize, &str, &str); 2] =
    [(1000, "strict@1000", "over@1000"), (4000, "strict@4000", "over@4000")];

/// Runs one set.
#[expect(clippy::print_stderr, reason = "progress for people")]
pub(crate) fn run(
    name: &str,
    set: &EvalSet,
    measure: &[Measure],
    keyword: bool,
    cache: Option<&Path>,
    table: &mut MetricTable,
) -> EvalOutcome<()> {
    for store in set.stores() {
        eprintln!("{name}: {store}");
        let records: Vec<&Value> = of(&set.corpus, &store).collect();
        let project = tempfile::tempdir()?;
        data::write(project.path(), &records)?;
        let model = Model::built_in()?.identity();
        let kept = cache.map(|cache| cache.join(format!("{name}-{store}-{model:016x}.vectors")));
        let engine = engine(project.path(), &records, keyword)?;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.exists()) {
            take_out(&engine, model, kept)?;
        }
        engine.embedding_worker().make_all(&mut |embedding| {
            eprint!("\r{} vectors to make   ", embedding.waiting);
            true
        })?;
        eprintln!();
        if let Some(kept) = kept.filter(|_| !keyword) {
            put_away(&engine, model, &kept)?;
        }
        EvalRun { engine: &engine, set: name, table }.ask(set, &store, measure)?;
    }
    Ok(())
}

const ROW: usize = 8 + VECTOR_BYTES;

/// Gives a store the vectors an earlier run made.
fn take_out(engine: &Engine, model: u64, kept: &Path) -> EvalOutcome<()> {
    let bytes = fs::read(kept)?;
    let (rows, _) = bytes.as_chunks::<ROW>();
    let rows: Vec<(u64, VectorBytes)> = rows
        .iter()
        .filter_map(|row| {
            Some((u64::from_le_bytes(*row.first_chunk::<8>()?), *row.last_chunk::<VECTOR_BYTES>()?))
        })
        .collect();
    engine.store().vectors(model, |file| file.append(&rows))?;
    Ok(())
}

/// Keeps the vectors of a store for a later run.
fn put_away(engine: &Engine, model: u64, kept: &Path) -> EvalOutcome<()> {
    let mut bytes = Vec::new();
    engine.store().vectors(model, |file| {
        file.read_new(&mut VectorCursor::default(), &mut |name, vector| {
            bytes.extend(name.to_le_bytes());
            bytes.extend(vector);
        })
    })?;
    fs::create_dir_all(kept.parent().ok_or("a cache is a folder")?)?;
    Ok(fs::write(kept, bytes)?)
}

/// An engine whose clock is an hour after the last record.
fn engine(project: &Path, records: &[&Value], keyword: bool) -> EvalOutcome<Engine> {
    let last = records
        .iter()
        .filter_map(|record| Time::read(text(record, "timestamp")))
        .map(Time::as_ms)
        .max()
        .unwrap_or(0);
    let ids = Arc::new(IdSource::new(Box::new(FixedWorld::at(Time::from_ms(last + 3_600_000)))));
    let store = Store::open(
        StoreLocation { project: project.to_owned(), ..StoreLocation::default() },
        ids,
    )?;
    Ok(if keyword {
        Engine::new(store)
    } else {
        Engine::with_model(
            store,
            Box::new(|| Model::built_in().map(Arc::new).map_err(|damaged| damaged.to_string())),
        )
    })
}

struct EvalRun<'a> {
    engine: &'a Engine,
    set: &'a str,
    table: &'a mut MetricTable,
}

impl EvalRun<'_> {
    fn ask(&mut self, set: &EvalSet, store: &str, measure: &[Measure]) -> EvalOutcome<()> {
        let decides = of(&set.corpus, store).any(|record| text(record, "kind") == "decide");
        for query in of(&set.queries, store) {
            let (words, gold) = (text(query, "text").to_owned(), texts(query, "gold"));
            if measure.contains(&Measure::Query) {
                let input =
                    QueryInput { query: words.clone(), limit: Some(LIST), ..QueryInput::default() };
                let results = self.engine.query(&input)?.results;
                // A decision's announcement counts as the decision.
                let ids: Vec<String> = results
                    .into_iter()
                    .map(|hit| hit.entry.relates_to.into_iter().next().unwrap_or(hit.entry.id))
                    .collect();
                self.table.add(self.set, "query", &of_ranking(&ids, &gold));
            }
            if decides && measure.contains(&Measure::Search) {
                let input = SearchDecisionsInput {
                    query: words,
                    limit: Some(LIST),
                    ..SearchDecisionsInput::default()
                };
                let ids: Vec<String> = self
                    .engine
                    .search_decisions(&input)?
                    .results
                    .into_iter()
                    .map(|hit| hit.decision.id.to_string())
                    .collect();
                self.table.add(self.set, "search_decisions", &of_ranking(&ids, &gold));
            }
        }
        if measure.contains(&Measure::Assemble) {
            for task in of(&set.tasks, store) {
                self.assemble(task)?;
            }
        }
        if measure.contains(&Measure::Truth) {
            for fact in of(&set.truth, store) {
                self.check(fact, set)?;
            }
        }
        Ok(())
    }

    fn assemble(&mut self, task: &Value) -> EvalOutcome<()> {
        let gold = texts(task, "gold");
        let mut values = Vec::new();
        for (budget, strict, over) in BUDGETS {
            let (task, scope) = (text(task, "task").to_owned(), text(task, "scope").to_owned());
            let input =
                AssembleInput { task, scope, max_tokens: Some(budget), ..AssembleInput::default() };
            let reply = serde_json::to_string(&self.engine.assemble(&asker(), &input)?)?;
            let chars = reply.chars().count();
            let seen: String = reply.chars().take(budget * CHARS_PER_TOKEN).collect();
            values.push((strict, share(&gold, |id| seen.contains(&format!("\"id\":\"{id}\"")))));
            values.push((over, f64::from(u8::from(chars > budget * CHARS_PER_TOKEN))));
        }
        self.table.add(self.set, "assemble", &values);
        Ok(())
    }

    fn check(&mut self, fact: &Value, set: &EvalSet) -> EvalOutcome<()> {
        let id = text(fact, "id");
        match text(fact, "kind") {
            "trace" => {
                for direction in ["upstream", "downstream"] {
                    let wanted = texts(fact, direction);
                    if !wanted.is_empty() {
                        let input = TraceInput {
                            decision_id: id.to_owned(),
                            direction: Some(direction.to_owned()),
                        };
                        let mut found: Vec<String> = self
                            .engine
                            .trace(&input)?
                            .chain
                            .into_iter()
                            .map(|link| link.id.to_string())
                            .collect();
                        found.retain(|other| other != id);
                        self.table.add(
                            self.set,
                            "truth: trace",
                            &[
                                ("recall", share(&wanted, |id| found.contains(id))),
                                ("precision", share(&found, |id| wanted.contains(id))),
                            ],
                        );
                    }
                }
            }
            "why" => {
                let input =
                    WhyInput { scope: Some(text(fact, "scope").to_owned()), ..WhyInput::default() };
                let found: Vec<String> = self
                    .engine
                    .why(&input)?
                    .decisions
                    .into_iter()
                    .map(|why| why.id.to_string())
                    .collect();
                self.table.add(
                    self.set,
                    "truth: why",
                    &[("recall", share(&texts(fact, "expect"), |id| found.contains(id)))],
                );
            }
            "superseded" => {
                let old = set
                    .corpus
                    .iter()
                    .find(|record| text(record, "id") == id)
                    .ok_or("a fact about nothing")?;
                let input = WhyInput {
                    scope: Some(old["scope"].as_str().unwrap_or("project").to_owned()),
                    ..WhyInput::default()
                };
                let id = Id::read(id).ok_or("not an id")?;
                let standing = self
                    .engine
                    .why(&input)?
                    .decisions
                    .into_iter()
                    .find(|why| why.id == id)
                    .map(|why| why.status);
                let holds = standing.is_some_and(|status| status.as_str() == "superseded");
                self.table.add(
                    self.set,
                    "truth: superseded",
                    &[("recall", f64::from(u8::from(holds)))],
                );
            }
            _ => {}
        }
        Ok(())
    }
}

fn asker() -> Caller {
    Caller { agent: "eval".to_owned(), origin: Origin::new(Channel::Cli, Trust::Agent) }
}
