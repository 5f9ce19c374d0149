//! What an anchor's line says was seen.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use twining_code::{Definition, DefinitionKind, Sighting, Sketch, TOKEN_RULES};
use twining_model::{Anchor, Place};
use twining_store::code::SourceOutline;

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

/// Why a definition whose name is in the file may not be found there.
pub(crate) const SYNTAX_ERROR: &str = "the file has a syntax error";

/// Whether a definition that is not at its place may be there all the same: with a syntax error,
/// even one in other code, the grammar tells not all that is in the file.
pub(crate) fn is_hidden_by_error(
    place: &Place,
    file: &SourceOutline,
    bytes: impl FnOnce() -> Vec<u8>,
) -> bool {
    let name = place.name().and_then(|name| name.rsplit('.').next());
    let is_in_text = |name: &str| String::from_utf8_lossy(&bytes()).contains(name);
    file.has_errors && name.is_some_and(is_in_text)
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
