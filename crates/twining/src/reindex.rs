//! `reindex`: the index is a cache; this builds it anew from the files.

use serde_json::json;
use twining_engine::Failure;

use crate::desk::Project;
use crate::out::{self, Style};
use crate::page::{count, dim, good};
use crate::problem::{Ending, Problem};

/// Throws the index away and builds it anew.
pub fn rebuild(project: &Project, style: Style) -> Result<Ending, Problem> {
    let rebuilt = project.engine.store().rebuild().map_err(Failure::from)?;
    let counts = [
        ("entries", "entry", rebuilt.entries),
        ("decisions", "decision", rebuilt.decisions),
        ("entities", "entity", rebuilt.entities),
        ("relations", "relation", rebuilt.relations),
    ];
    let json = || json!(counts.iter().map(|(name, _, number)| ((*name).to_owned(), *number)).collect::<std::collections::BTreeMap<_, _>>());
    let words = counts.map(|(_, noun, number)| count(number, noun)).join(", ");
    Ok(out::answer(style, json, |page| page.line([good("index rebuilt:"), dim(words)]), Ending::Done))
}
