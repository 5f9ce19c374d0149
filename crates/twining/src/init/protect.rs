//! `init --protect`: what is handed to the host, which holds it for real. Its sandbox keeps
//! shells and scripts out of a folder, whatever the model runs; our hooks see plain
//! command lines only. The MCP server and the hooks run outside of the sandbox and go on
//! writing.

use std::path::PathBuf;

use super::git::GitWiring;
use super::marked_block;
use super::marked_block::MarkerStyle;
use super::patch::{FilePatch, PatchKind};
use super::plan::InstallPlan;
use super::{HostKind, InstallEnvironment};
use crate::locate_project::FOLDER;
use crate::render::command_error::CommandError;

/// How much the host is to keep agents from writing, the mild first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProtectionLevel {
    /// What only this machine knows, and git's hooks.
    Local,
    /// Every record besides.
    Strict,
}

/// Where code hosts look for owners; the first that is there, else the first.
const CODEOWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

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

/// Returns a host's protection settings; none if it does not support them.
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
                // `Edit` covers every tool that writes files; a path after `Write` causes a
                // warning. The slash is the project's root.
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

/// Asks code owners about policy and decisions. Without `owners` it says what to fill in,
/// and leaves what somebody has filled in.
pub(super) fn put_codeowners(
    plan: &mut InstallPlan,
    git: &GitWiring,
    owners: Option<&str>,
) -> Result<(), CommandError> {
    let patch = codeowners(git, owners);
    let there = plan
        .text(&patch.file, &patch.within)?
        .is_some_and(|text| marked_block::is_there(&text, MarkerStyle::Hash));
    if there && owners.is_none() { Ok(()) } else { patch.put(plan) }
}

/// The lines for code owners.
pub(super) fn codeowners(git: &GitWiring, owners: Option<&str>) -> FilePatch {
    let top = &git.shape.top;
    let file = CODEOWNERS
        .iter()
        .map(|file| top.join(file))
        .find(|file| file.is_file())
        .unwrap_or_else(|| top.join(CODEOWNERS[0]));
    let lines = ["policy.yml", "decisions/"]
        .map(|file| format!("/{}{FOLDER}/{file}", git.prefix.replace(' ', "\\ ")));
    let body = match owners {
        Some(owners) => lines.map(|line| format!("{line} {owners}")).join("\n"),
        None => format!(
            "# Replace @your-team with the code owners, and remove the leading # from the lines below:\n{}",
            lines.map(|line| format!("# {line} @your-team")).join("\n")
        ),
    };
    FilePatch { file, within: PathBuf::from(top), part: PatchKind::Block(MarkerStyle::Hash, body) }
}

/// Reads `--owner`: teams, people or addresses, separated by spaces.
pub(super) fn owners(given: &str) -> Result<String, CommandError> {
    let words: Vec<&str> = given.split_whitespace().collect();
    let is_owner = |word: &&str| word.contains('@') && word.len() > 1 && !word.contains('#');
    if words.is_empty() || !words.iter().all(is_owner) {
        return Err(CommandError::misuse(
            "--owner takes code owners, such as `@org/team`, `@ada` or an email address",
        ));
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn an_owner_is_a_team_a_person_or_an_address() {
        assert_eq!(
            owners(" @org/team  ada@example.com ").ok().as_deref(),
            Some("@org/team ada@example.com")
        );
        each(["", "@", "team", "@a # b"], |invalid| {
            assert!(owners(invalid).is_err(), "{invalid}");
        });
    }
}
