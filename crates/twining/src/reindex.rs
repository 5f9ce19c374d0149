//! `reindex`: the index is a cache; this builds it anew from the files.

use std::io;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use twining_engine::ModelState;

use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{count, dim, good};

/// Throws the index away and builds it anew; and makes the vectors that are missing, if asked.
pub(crate) fn rebuild(
    project: &Project,
    vectors: bool,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let rebuilt = project.engine.store().rebuild()?;
    if vectors {
        make_vectors(project)?;
    }
    let counts = [
        ("entries", "entry", rebuilt.entries),
        (
            "decisions",
            "decision",
            rebuilt.active + rebuilt.provisional + rebuilt.superseded + rebuilt.overridden,
        ),
        ("entities", "entity", rebuilt.entities),
        ("relations", "relation", rebuilt.relations),
    ];
    let json = || {
        json!(
            counts
                .iter()
                .map(|(name, _, number)| ((*name).to_owned(), *number))
                .collect::<std::collections::BTreeMap<_, _>>()
        )
    };
    let words = counts.map(|(_, noun, number)| count(number, noun)).join(", ");
    Ok(output::answer(
        style,
        json,
        |page| page.line([good("index rebuilt:"), dim(words)]),
        ExitStatus::Done,
    ))
}

fn make_vectors(project: &Project) -> Result<(), CommandError> {
    if let ModelState::Unusable(why) = project.engine.model_state()? {
        return Err(CommandError::unavailable("NO_MODEL", why)
            .with_hint("reinstall twining, or unset TWINING_MODEL"));
    }
    let mut progress = Progress::new("vectors");
    let embedding_worker = project.engine.embedding_worker();
    embedding_worker.make_all(&mut |embedding| {
        progress.left(embedding.waiting);
        true
    })?;
    progress.done();
    Ok(())
}

/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(200);

/// A line that counts down.
pub(crate) struct Progress {
    what: &'static str,
    all: u64,
    last: Option<Instant>,
    watched: bool,
}

impl Progress {
    /// Nothing shown yet; nothing at all if nobody watches.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, all: 0, last: None, watched: io::stderr().is_terminal() }
    }

    /// So many are left.
    pub(crate) fn left(&mut self, left: u64) {
        self.all = self.all.max(left);
        if self.watched && self.last.is_none_or(|last| last.elapsed() >= TICK) {
            self.last = Some(Instant::now());
            // A line nobody can read is no reason to stop.
            let _ = write!(
                anstream::stderr(),
                "\r{}: {} of {}   ",
                self.what,
                self.all - left,
                self.all
            );
        }
    }

    /// All is done; the line goes.
    pub(crate) fn done(self) {
        if self.last.is_some() {
            let _ = write!(anstream::stderr(), "\r{:60}\r", "");
        }
    }
}
