//! Answers: bounded in size, and honest about what was left out.

use serde::Serialize;
use twining_model::limits;

/// The items from the front whose JSON fits into one answer, and whether any
/// had to go.
pub(crate) fn fit_reply<T: Serialize>(mut items: Vec<T>) -> (Vec<T>, bool) {
    let mut left = limits::ANSWER_BYTES;
    let fitting = items.iter().take_while(|item| {
        let bytes = serde_json::to_vec(item).map_or(usize::MAX, |json| json.len()).saturating_add(1);
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    });
    let fitting_count = fitting.count();
    let cut = fitting_count < items.len();
    items.truncate(fitting_count);
    (items, cut)
}

/// For `skip_serializing_if`: whether there is nothing to tell.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// For `skip_serializing_if`: whether nothing was counted.
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_never_outgrows_its_limit() {
        let (fitting_count, cut) = fit_reply(vec!["x".repeat(limits::ANSWER_BYTES / 3); 5]);
        assert_eq!((fitting_count.len(), cut), (2, true));
        assert_eq!(fit_reply(vec!["x"]), (vec!["x"], false));
    }
}
