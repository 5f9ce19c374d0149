//! `reindex`: the index is a cache; this builds it anew from the files.

use serde_json::json;
use twining_engine::{Failure, ModelState};

use crate::desk::Project;
use crate::out::{self, OutputFormat};
use crate::page::{count, dim, good};
use crate::problem::{CommandError, ExitStatus};
use crate::progress::Progress;

/// Throws the index away and builds it anew; and makes the vectors that are missing, if asked.
pub fn rebuild(project: &Project, vectors: bool, style: OutputFormat) -> Result<ExitStatus, CommandError> {
    let rebuilt = project.engine.store().rebuild().map_err(Failure::from)?;
    if vectors {
        make_vectors(project)?;
    }
    let counts = [
        ("entries", "entry", rebuilt.entries),
        ("decisions", "decision", rebuilt.active + rebuilt.provisional + rebuilt.superseded + rebuilt.overridden),
        ("entities", "entity", rebuilt.entities),
        ("relations", "relation", rebuilt.relations),
    ];
    let json = || json!(counts.iter().map(|(name, _, number)| ((*name).to_owned(), *number)).collect::<std::collections::BTreeMap<_, _>>());
    let words = counts.map(|(_, noun, number)| count(number, noun)).join(", ");
    Ok(out::answer(style, json, |page| page.line([good("index rebuilt:"), dim(words)]), ExitStatus::Done))
}

fn make_vectors(project: &Project) -> Result<(), CommandError> {
    if let ModelState::Unusable(why) = project.engine.model_state()? {
        return Err(CommandError::unavailable("NO_MODEL", why).with_hint("install twining anew, or unset TWINING_MODEL"));
    }
    let mut progress = Progress::new("vectors");
    let embedding_worker = project.engine.embedding_worker();
    embedding_worker
        .make_all(&mut |embedding| {
            progress.left(embedding.waiting);
            true
        })
        .map_err(Failure::from)?;
    progress.done();
    Ok(())
}
