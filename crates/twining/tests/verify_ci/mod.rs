//! `verify --ci` on real clones: for every rule, a pull request that breaks it and an honest one;
//! the pages of `docs/reference/ci.md` verbatim.

mod pages;
mod rules;
mod team;
