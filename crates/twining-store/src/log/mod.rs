//! The write path's files: lock, record, board, journal, arrays, queues; and the read side of them.

pub mod array_file;
pub mod board;
pub mod files;
pub mod journal;
pub mod lines;
pub mod lock;
pub mod queue;
pub mod recent;
pub mod record;
pub mod rotating;
pub mod shared;
