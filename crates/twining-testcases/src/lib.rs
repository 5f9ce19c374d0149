//! Tables of cases in tests: every row is checked, so that one failure hides no other.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Checks every row, and fails at the end if any of them did. The rows that failed are counted
/// from 1; what was wrong with each is printed where it panicked.
///
/// # Panics
/// If a row failed, or if there is none.
#[track_caller]
pub fn each<T>(rows: impl IntoIterator<Item = T>, mut check: impl FnMut(T)) {
    let mut failed = Vec::new();
    let mut count = 0;
    for row in rows {
        count += 1;
        if catch_unwind(AssertUnwindSafe(|| check(row))).is_err() {
            failed.push(count);
        }
    }
    assert!(count > 0, "the table has no rows");
    assert!(failed.is_empty(), "{} of {count} rows failed: {failed:?}", failed.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_fails_hides_no_other() {
        let mut seen = Vec::new();
        let failure = catch_unwind(AssertUnwindSafe(|| {
            each([1, 2, 3, 4], |n| {
                seen.push(n);
                assert!(n % 2 == 0);
            });
        }))
        .expect_err("two rows fail");
        assert_eq!(seen, [1, 2, 3, 4]);
        assert_eq!(
            failure.downcast_ref::<String>().map(String::as_str),
            Some("2 of 4 rows failed: [1, 3]")
        );
    }

    #[test]
    #[should_panic(expected = "the table has no rows")]
    fn an_empty_table_is_no_test() {
        each([(); 0], |()| {});
    }
}
