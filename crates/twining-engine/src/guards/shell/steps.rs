//! How much work a line is worth. Counted, so that the same line gets the same
//! answer on a slow machine too. The grammar's own steps are no measure of its work
//! once it came upon a mistake, so whoever waits may say that it is enough.

use std::cell::Cell;
use std::rc::Rc;

use crate::guards::shell::Unreadable;

/// Steps one line may take, with all lines that stand in it.
const MOST_STEPS: usize = 200_000;

/// Steps after which whoever waits is asked.
const STEPS_UNASKED: usize = 1_000;

/// Whether whoever waits goes on waiting.
pub type Patience = fn() -> bool;

/// Steps that were taken; one count for a line and whatever it holds.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    taken: Rc<Cell<usize>>,
    patience: Patience,
}

impl Default for Steps {
    fn default() -> Self {
        Self::within(|| true)
    }
}

impl Steps {
    pub(super) fn within(patience: Patience) -> Self {
        Self { taken: Rc::default(), patience }
    }

    /// Takes some more, or says that it is enough.
    pub(super) fn take(&self, more: usize) -> Result<(), Unreadable> {
        let (before, after) = (self.taken.get(), self.taken.get().saturating_add(more));
        self.taken.set(after);
        let asks = before / STEPS_UNASKED != after / STEPS_UNASKED;
        if after > MOST_STEPS || (asks && !(self.patience)()) { Err(Unreadable::TooManySteps) } else { Ok(()) }
    }
}
