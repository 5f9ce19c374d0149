//! The write path's files: lock, record, board, journal, arrays, queues; and the read side of them.

pub(crate) mod array_file;
pub(crate) mod board;
pub(crate) mod hook_queue;
pub(crate) mod journal;
pub(crate) mod lock;
pub(crate) mod outbox_file;
pub(crate) mod store_files;
