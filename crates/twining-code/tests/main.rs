//! What is read of source files, language by language and for any bytes.

mod definitions;
mod excerpts;
mod freshness;
mod layout;
mod limits;
mod properties;
