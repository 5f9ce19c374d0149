//! Which tests a change removed, skipped, edited or emptied of assertions.
