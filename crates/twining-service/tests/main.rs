//! Tests on a real PostgreSQL, from the packages of the system. Where there is none they say
//! that they are skipped.

mod crashes;
mod documents;
mod following;
mod isolation;
mod log;
mod migrations;
mod service;
mod tls;
mod tokens;
