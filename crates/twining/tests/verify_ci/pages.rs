//! The pages of `docs/ci.md`.
