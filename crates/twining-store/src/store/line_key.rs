//! A key from outside for the next line of the log: whoever asks again under it is not written
//! twice.

use std::cell::RefCell;

use twining_model::Id;

thread_local! {
    static NEXT: RefCell<Option<Id>> = const { RefCell::new(None) };
}

/// Runs something whose first line for the log has this key.
pub fn with_line_key<T>(key: &Id, run: impl FnOnce() -> T) -> T {
    struct Clear;
    impl Drop for Clear {
        fn drop(&mut self) {
            NEXT.set(None);
        }
    }
    let _clear = Clear;
    NEXT.set(Some(key.clone()));
    run()
}

/// The key that the next line of this thread is to have.
pub(super) fn line_key() -> Option<Id> {
    NEXT.with_borrow(Clone::clone)
}

/// From now on lines of this thread have keys of their own.
pub(super) fn use_up_line_key() {
    NEXT.set(None);
}
