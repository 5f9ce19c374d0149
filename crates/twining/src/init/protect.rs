//! `init --protect`: what is handed to the host, which holds it for real. Its sandbox keeps
//! shells and scripts out of a folder, whatever the model runs; our hooks see plain
//! command lines only. The MCP server and the hooks run outside of the sandbox and go on
//! writing.

use super::patch::{FilePatch, PatchKind};
use super::{HostKind, InstallEnvironment};
use crate::locate_project::FOLDER;

/// How much the host is to keep agents from writing, the mild first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProtectionLevel {
    /// What only this machine knows, and git's hooks.
    Local,
    /// Every record besides.
    Strict,
}

/// What only a person can add.
pub(super) const CODEOWNERS: &str = "to have people approve changes of policy and decisions, add `/.twining/policy.yml @your-team` and `/.twining/decisions/ @your-team` to CODEOWNERS";

impl ProtectionLevel {
    /// Reads the word behind `--protect=`.
    pub(crate) fn named(word: &str) -> Self {
        if word == "strict" { Self::Strict } else { Self::Local }
    }

    /// The folders, from the project's root.
    fn folders(self) -> [String; 2] {
        let memory =
            if self == Self::Strict { FOLDER.to_owned() } else { format!("{FOLDER}/local") };
        [memory, ".git/hooks".to_owned()]
    }
}

/// What a host is told; nothing where it knows no such thing.
pub(super) fn patches(
    host: HostKind,
    environment: &InstallEnvironment,
    wanted: ProtectionLevel,
) -> Vec<FilePatch> {
    let listed = |path: &[&'static str], form: fn(&str) -> String| {
        let lines = |level: ProtectionLevel| {
            level.folders().iter().map(|folder| form(folder)).collect::<Vec<_>>()
        };
        let known = [lines(ProtectionLevel::Local), lines(ProtectionLevel::Strict)].concat();
        PatchKind::Listed { path: path.to_vec(), wanted: lines(wanted), known }
    };
    match host {
        HostKind::Claude => {
            let settings = environment.claude_settings();
            vec![
                // `Edit` stands for every tool that writes files; a path behind `Write` is warned of. The slash is the project's root.
                environment.patch(
                    settings,
                    listed(&["permissions", "deny"], |folder| format!("Edit(/{folder}/**)")),
                ),
                environment.patch(
                    settings,
                    listed(&["sandbox", "filesystem", "denyWrite"], |folder| format!("./{folder}")),
                ),
            ]
        }
        // Git's folder is read-only there by itself.
        HostKind::Codex => vec![
            environment
                .patch(".codex/config.toml", PatchKind::ReadOnly(wanted.folders()[0].clone())),
        ],
        HostKind::Gemini | HostKind::Cursor | HostKind::OpenCode => Vec::new(),
    }
}

/// What a person has to know of it.
pub(super) fn advice(host: HostKind) -> &'static str {
    match host {
        HostKind::Claude => {
            "Claude Code blocks its file tools immediately, and shells once its sandbox is on: type /sandbox there"
        }
        HostKind::Codex => {
            "Codex blocks shells from it in a trusted project, unless --sandbox or sandbox_mode overrides that"
        }
        HostKind::Gemini => {
            "Gemini CLI has no setting that keeps one folder read-only; only hooks guard the memory there"
        }
        HostKind::Cursor => {
            "Cursor has no setting that keeps one folder read-only; only hooks guard the memory there"
        }
        HostKind::OpenCode => {
            "OpenCode has no setting that keeps one folder read-only; only its plugin guards the memory there"
        }
    }
}
