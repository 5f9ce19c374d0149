//! How much work a line is worth. Counted, not timed: the same line always gets
//! the same answer, on a slow machine too.

use std::cell::Cell;
use std::rc::Rc;

use crate::guards::shell::Unreadable;

/// Steps one line may take, with all lines that stand in it.
const MOST_STEPS: usize = 200_000;

/// Steps that were taken; one count for a line and whatever it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps(Rc<Cell<usize>>);

impl Steps {
    /// Takes some more, or says that it is enough.
    pub(super) fn take(&self, more: usize) -> Result<(), Unreadable> {
        self.0.set(self.0.get().saturating_add(more));
        if self.0.get() > MOST_STEPS { Err(Unreadable::TooManySteps) } else { Ok(()) }
    }
}
