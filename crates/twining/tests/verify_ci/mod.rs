//! `verify --ci` on real clones: every rule with a pull request that breaks it and an
//! honest one, and the pages of `docs/reference/ci.md` as they stand there.

mod pages;
mod rules;
mod team;
