//! `twining guard`: what people do to guards, and the verbs behind it.

pub(crate) mod admin;
pub(crate) mod list;
pub(crate) mod verbs;
