//! What an anchor's line says was seen.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use twining_code::{Definition, DefinitionKind, Sighting, Sketch, TOKEN_RULES};
use twining_model::Anchor;

/// What was seen; none if it was made by other token rules.
pub(crate) fn recorded_sighting(anchor: &Anchor) -> Option<Sighting> {
    if anchor.v != TOKEN_RULES {
        return None;
    }
    Some(Sighting {
        signature: hash(&anchor.sig)?,
        body: hash(&anchor.body)?,
        sketch: sketch_of(anchor)?,
        tokens: anchor.tokens,
        words: anchor.words.clone(),
        lines: line_hashes_of(anchor),
    })
}

/// The lines that a record names, as they were seen.
pub(crate) fn line_hashes_of(anchor: &Anchor) -> Vec<u32> {
    anchor.lines.iter().filter_map(|line| u32::from_str_radix(line, 16).ok()).collect()
}

/// The definition that was seen.
pub(crate) fn definition_of(anchor: &Anchor, seen: &Sighting) -> Definition {
    Definition {
        name: anchor.at.name().unwrap_or_default().to_owned(),
        nth: anchor.at.nth(),
        kind: DefinitionKind::from_name(&anchor.kind).unwrap_or(DefinitionKind::Type),
        first_line: 0,
        last_line: 0,
        signature: seen.signature,
        body: seen.body,
        tokens: seen.tokens,
        sketch: seen.sketch,
    }
}

fn hash(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn sketch_of(anchor: &Anchor) -> Option<Sketch> {
    Some(Sketch(BASE64.decode(&anchor.sketch).ok()?.try_into().ok()?))
}
