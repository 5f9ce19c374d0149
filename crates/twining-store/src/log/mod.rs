//! The write path's files: lock, record, board, journal, arrays, queues; and the read side of them.

pub mod array_file;
pub mod board;
pub mod hook_queue;
pub mod journal;
pub mod lock;
pub mod store_files;
