//! Threads of one process that read one store at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use twining_engine::{AssembleInput, Caller, Engine, Failure};
use twining_model::{Channel, Origin, Trust};
use twining_store::{Housekeeper, Store, StoreLocation};

use crate::client::BenchResult;
use crate::latency::Bench;
use crate::store::{FixedRandom, StoreSize};
use crate::table::{FigureTable, at_least, number, thousands};
use crate::{log_progress, show};

const SIZE: StoreSize =
    StoreSize { entries: 10_000, decisions: 1_000, entities: 5_000, relations: 10_000 };
const LASTING: Duration = Duration::from_secs(1);
/// In turn, so that a slow moment of the machine meets all alike.
const ROUNDS: usize = 7;
const QUESTIONS: usize = 64;
const THREADS: [usize; 3] = [1, 2, 4];

type ReadCall = fn(&Engine, &mut FixedRandom) -> Result<(), Failure>;

const READS: [(&str, ReadCall); 2] =
    [("assemble, by words", assemble), ("status", |engine, _| engine.status().map(drop))];

/// Reads a second with one, two and four threads.
pub(crate) fn readers(bench: &mut Bench) -> BenchResult<()> {
    let project = bench.stores.copy(SIZE)?;
    log_progress("threads that read at once");
    let place = StoreLocation { project: project.path().to_owned(), ..StoreLocation::default() };
    let engine = Engine::new(Arc::new(Store::open(place, twining_testkit::ids())?));
    // As in a server, which keeps running and learns of changes.
    let _housekeeper = Housekeeper::start(Arc::clone(engine.store()));
    let mut table = FigureTable::new(
        "threads that read at once",
        ["read", "threads", "reads/s", "of one thread", "goals"],
    );
    for (name, read) in READS {
        rate(&engine, read, 4, LASTING)?;
        let mut rates = THREADS.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for (threads, rates) in THREADS.into_iter().zip(&mut rates) {
                rates.push(rate(&engine, read, threads, LASTING)?);
            }
        }
        let mut one = None;
        for (threads, mut rates) in THREADS.into_iter().zip(rates) {
            rates.sort_by(f64::total_cmp);
            let rate = rates[ROUNDS / 2];
            let share = rate / *one.get_or_insert(rate);
            let goal = if threads == 4 { at_least("4 threads", share, 1.7) } else { String::new() };
            table.row([name.to_owned(), threads.to_string(), number(rate), number(share), goal]);
        }
    }
    table.note(format!(
        "{} entries, in one process; the median of {ROUNDS} rounds of {} s each.",
        thousands(SIZE.entries),
        LASTING.as_secs()
    ));
    show(&table);
    Ok(())
}

fn rate(engine: &Engine, read: ReadCall, threads: usize, lasting: Duration) -> BenchResult<f64> {
    let (begun, done, began) = (AtomicUsize::new(0), AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|_| {
                let (done, begun) = (&done, &begun);
                scope.spawn(move || {
                    while began.elapsed() < lasting {
                        // The same questions, however many ask them.
                        let mut dice = FixedRandom::new(
                            (begun.fetch_add(1, Ordering::AcqRel) % QUESTIONS) as u64,
                        );
                        read(engine, &mut dice)?;
                        done.fetch_add(1, Ordering::AcqRel);
                    }
                    Ok::<_, Failure>(())
                })
            })
            .collect();
        readers.into_iter().try_for_each(|reader| {
            reader.join().map_err(|_| "a reader panicked")?.map_err(|error| error.to_string())
        })
    })?;
    Ok(done.into_inner() as f64 / began.elapsed().as_secs_f64())
}

fn assemble(engine: &Engine, dice: &mut FixedRandom) -> Result<(), Failure> {
    let origin = Origin::new(Channel::Cli, Trust::Agent);
    let caller = Caller { agent: "reader".to_owned(), origin };
    let input =
        AssembleInput { task: dice.sentence(25), scope: dice.file(), ..AssembleInput::default() };
    engine.assemble(&caller, &input).map(drop)
}
