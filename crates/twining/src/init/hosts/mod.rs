//! The hosts that agents run in: what each needs of us, in the format it reads
//! today. One file a host.

mod claude;
mod codex;
mod cursor;
mod gemini;
mod host;
mod opencode;

pub(crate) use host::{HostKind, InstallEnvironment, Visibility};
