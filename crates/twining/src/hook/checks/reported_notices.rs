//! What was reported already: the same is not reported again.

use std::collections::BTreeSet;

use twining_store::Store;

use super::comparison::{CheckNotice, NoticeLevel};

/// The note of what was reported in this project, in any session.
const REPORTED: &str = "shared-told-at-turn-end";
/// How many of those are remembered.
const MAX_REPORTED: usize = 512;

/// Filters out known notices: each is reported once per project, a blocking one once per session.
pub(crate) fn not_reported(store: &Store, notices: Vec<CheckNotice>) -> Vec<CheckNotice> {
    if notices.is_empty() {
        return notices;
    }
    let mut reported: BTreeSet<String> =
        store.local_state().read_json(REPORTED).unwrap_or_default();
    let known = reported.len();
    let new: Vec<CheckNotice> = notices
        .into_iter()
        .filter(|notice| {
            notice.weight == NoticeLevel::Refuse || reported.insert(notice.text.clone())
        })
        .collect();
    if reported.len() > known {
        while reported.len() > MAX_REPORTED {
            reported.pop_first();
        }
        store.local_state().write_json(REPORTED, &reported);
    }
    new
}
