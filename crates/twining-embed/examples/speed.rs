//! Speed on this machine: `cargo run --release -p twining-embed --example speed`.
//!
//! Reports the median and best of each measure: on a busy machine only the best shows the code's
//! cost.
#![expect(clippy::print_stdout, reason = "a table is what it is for")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use twining_embed::{DIMENSIONS, Matrix, Model, Vector};

/// Words that are one token each, so that a text's length in tokens is known.
const WORDS: &[&str] = &[
    "the", "cache", "holds", "every", "record", "until", "a", "new", "file", "is", "read", "from",
    "disk", "again", "and",
];
const ROWS: usize = 100_000;

fn main() {
    println!("{:<44} {:>9} {:>9}", "", "median", "best");
    let start = Instant::now();
    let model = Model::built_in().expect("the packed model is whole");
    row("load, first time, checksum included", once(start.elapsed()));
    let start = Instant::now();
    black_box(model.embed(&text(20, 0)));
    row("first text, 20 tokens", once(start.elapsed()));
    row("load again", measure(20, || Model::built_in().expect("the packed model is whole")));

    for tokens in [8, 20, 64, 128, 256] {
        let text = text(tokens, 1);
        assert_eq!(model.tokens(&text).len(), tokens);
        row(
            &format!("one text of {tokens} tokens"),
            measure(4_000 / tokens, || model.embed(&text)),
        );
    }
    for tokens in [20, 128] {
        let texts: Vec<String> = (0..64).map(|number| text(tokens, number)).collect();
        for threads in [1, 2] {
            let took = measure(9, || {
                model.embed_each(&texts, threads, |_, vector| {
                    black_box(vector);
                    ControlFlow::Continue(())
                });
            });
            row(&format!("64 texts of {tokens} tokens, {threads} thread(s)"), took);
            println!(
                "{:<44} {:>9.0} {:>9.0}",
                "  texts a second",
                64.0 / took.median.as_secs_f64(),
                64.0 / took.best.as_secs_f64()
            );
        }
    }

    let mut matrix = Matrix::default();
    for number in 0..ROWS {
        let seed = number as f32;
        matrix.push(
            &Vector::normalised(std::array::from_fn(|at| (seed + at as f32 * 0.7).sin())).pack(),
        );
    }
    let query = model.embed("where do we keep sessions?");
    assert_eq!(query.as_slice().len(), DIMENSIONS);
    row("scores of 100,000 rows", measure(30, || matrix.scores(&query)));
}

fn text(tokens: usize, seed: usize) -> String {
    // [CLS] and [SEP] are tokens too.
    (0..tokens - 2)
        .map(|at| WORDS[(at * 7 + seed + at / 13) % WORDS.len()])
        .collect::<Vec<_>>()
        .join(" ")
}

#[derive(Clone, Copy)]
struct Took {
    median: Duration,
    best: Duration,
}

fn once(took: Duration) -> Took {
    Took { median: took, best: took }
}

fn measure<Result>(times: usize, mut work: impl FnMut() -> Result) -> Took {
    let once = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    let mut took: Vec<Duration> = (0..times.max(3)).map(once).collect();
    took.sort();
    Took { median: took[took.len() / 2], best: took[0] }
}

fn row(what: &str, took: Took) {
    println!(
        "{what:<44} {:>9.2} {:>9.2} ms",
        took.median.as_secs_f64() * 1e3,
        took.best.as_secs_f64() * 1e3
    );
}
