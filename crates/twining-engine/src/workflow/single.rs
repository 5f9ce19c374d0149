//! One feature of a list, without the rest of it: by its object alone, or looked
//! up by its id. Both know when that is not enough, and then say nothing.

use std::borrow::Cow;

use memchr::memmem;
use twining_model::limits;

use crate::workflow::feature::{Feature, Fields, Surroundings, slug};
use crate::workflow::list::{LISTS, bucket};
use crate::workflow::outline::{Held, Outline};
use crate::workflow::spans::{self, Kind};

/// An object of a list by itself.
#[derive(Debug)]
pub(crate) struct Single<'t> {
    /// The feature it is, if it is one.
    pub(crate) feature: Feature,
    /// What the rest of a list may depend on: its keys, and whatever may hold features.
    pub(crate) shape: Vec<(Cow<'t, str>, Shape<'t>)>,
}

/// What kind of value a field has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shape<'t> {
    /// One word.
    Plain,
    /// Several.
    Words,
    /// Something that has parts itself.
    Whole(&'t str),
}

impl<'t> Single<'t> {
    /// Reads an object with the key it has, or with the key of the array it is in.
    pub(crate) fn read(object: &'t str, key: Option<&str>, array: Option<&str>) -> Option<Self> {
        let whole = spans::whole(object).ok()?;
        let members = spans::members(object, &whole);
        let shape = members.iter().map(|(key, at)| {
            let shape = match spans::kind(object, at) {
                Kind::Other => Shape::Plain,
                Kind::Array if !object[at.start + 1..at.end].contains(['[', '{']) => Shape::Words,
                _ => Shape::Whole(&object[at.clone()]),
            };
            (key.clone(), shape)
        });
        let shape = shape.collect();
        let bucket = array.filter(|array| !LISTS.contains(array)).and_then(bucket);
        let around = Surroundings { key: key.map(str::to_owned), bucket, group: None };
        let (feature, _) = Feature::read(&Fields::of(object, &members), around);
        Some(Self { feature, shape })
    }
}

/// The feature with an id, if that can be told for certain without reading the list.
pub(crate) fn look_up(text: &str, id: &str) -> Option<Feature> {
    let named = format!("\"{id}\"");
    // Others may have it among what they depend on.
    let is_value = |at: &usize| trimmed_end(&text.as_bytes()[..*at]).last() == Some(&b':');
    let at = memmem::find_iter(text.as_bytes(), named.as_bytes()).find(is_value)?;
    let outline = Outline::of(text, at..at + named.len())?;
    let held = outline.held_by.as_ref().filter(|held| held.is_listed)?;
    let object = &text[held.span.clone()];
    // One that holds others is a group.
    if outline.objects > limits::FEATURES || memmem::find(object.as_bytes(), b"feature").is_some() {
        return None;
    }
    let feature = Single::read(object, None, None)?.feature;
    (feature.id == id && is_nowhere_else(text, held, &outline, id)).then_some(feature)
}

/// Whether no other feature can go by a name: one that was tested under it before
/// would be the same to whoever reads the list.
pub(crate) fn is_nowhere_else(text: &str, held: &Held, outline: &Outline, name: &str) -> bool {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'/'));
    // One without an id is called by what its description comes to.
    if !is_plain || outline.has_numbered_letters || outline.has_bucket || (outline.has_nameless && slug(name) == name) {
        return false;
    }
    let bytes = text.as_bytes();
    memmem::find_iter(bytes, name.as_bytes()).filter(|at| !held.span.contains(at)).all(|at| {
        let (before, after) = (quoted_before(&bytes[..at]), quoted_after(&bytes[at + name.len()..]));
        match (before, after) {
            (Quoted::No, _) | (_, Quoted::No) => true,
            // An element of an array names nothing: others depend on it.
            (Quoted::Next(b'[' | b','), Quoted::Next(b',' | b']')) => true,
            _ => false,
        }
    })
}

/// What stands beyond the quote at one end of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoted {
    /// The word is part of a longer text.
    No,
    /// This.
    Next(u8),
    /// Nobody knows.
    Unclear,
}

/// A text is taken for the name within white space too, as the workflow does.
fn quoted_before(text: &[u8]) -> Quoted {
    let text = trimmed_end(text);
    match text {
        [.., b'"'] => trimmed_end(&text[..text.len() - 1]).last().map_or(Quoted::Unclear, |byte| Quoted::Next(*byte)),
        // Space of other scripts, or one that is spelt out.
        [.., last] if !last.is_ascii() => Quoted::Unclear,
        [.., b'\\', b'n' | b't' | b'r' | b'f'] | [.., b'\\', b'u', _, _, _, _] => Quoted::Unclear,
        _ => Quoted::No,
    }
}

fn quoted_after(text: &[u8]) -> Quoted {
    let text = trimmed_start(text);
    match text {
        [b'"', rest @ ..] => trimmed_start(rest).first().map_or(Quoted::Unclear, |byte| Quoted::Next(*byte)),
        [b'\\', ..] => Quoted::Unclear,
        [first, ..] if !first.is_ascii() => Quoted::Unclear,
        _ => Quoted::No,
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn trimmed_end(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |at| at + 1)]
}

fn trimmed_start(text: &[u8]) -> &[u8] {
    &text[text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len())..]
}
