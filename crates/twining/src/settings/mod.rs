//! The settings files of hosts, which people write by hand: what is ours comes and goes,
//! everything else stays as it is.

pub(crate) mod codex_toml;
pub(crate) mod jsonc;
