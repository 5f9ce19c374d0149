//! The loop, as stories.

mod captured;
mod evidence;
mod loops;
mod merge;
mod shapes;
mod table;
mod together;

use super::*;

/// A list of features as written in a file.
fn list(text: &str) -> FeatureList {
    FeatureList::parse(text).expect("is a list")
}

/// The next step in words.
fn say(text: &str) -> String {
    NextBrief::of(&next(Some(&list(text)))).say
}
