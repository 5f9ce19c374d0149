//! `reindex`: the index is a cache; this rebuilds it from the files.

use std::io;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use twining_engine::ModelState;

use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{count, dim, good};

/// How often the line that counts vectors is written anew.
const TICK: Duration = Duration::from_millis(200);

/// Discards and rebuilds the index; also computes missing vectors, if requested.
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
    let is_watched = io::stderr().is_terminal();
    let (mut all, mut shown) = (0, None::<Instant>);
    project.engine.embedding_worker().make_all(&mut |embedding| {
        all = all.max(embedding.waiting);
        if is_watched && shown.is_none_or(|shown| shown.elapsed() >= TICK) {
            shown = Some(Instant::now());
            // A line nobody can read is no reason to stop.
            let _ =
                write!(anstream::stderr(), "\rvectors: {} of {all}   ", all - embedding.waiting);
        }
        true
    })?;
    if shown.is_some() {
        let _ = write!(anstream::stderr(), "\r{:60}\r", "");
    }
    Ok(())
}
