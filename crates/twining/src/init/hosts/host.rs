//! The hosts that agents run in: what each needs of us, in the format it reads
//! today. One file a host.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::init::marked_block::MarkerStyle;
use crate::init::patch::{FilePatch, PatchKind};

/// Seconds a host waits for a hook; one takes milliseconds.
pub(super) const HOOK_TIMEOUT_SECONDS: u64 = 5;

/// Instructions for agents, in every host.
pub(super) const INSTRUCTIONS: &str = include_str!("../texts/instructions.md");

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HostKind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// OpenCode.
    OpenCode,
}

/// Who may see what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Everybody who clones the repository.
    Team,
    /// Only its user; git tracks none of it.
    Stealth,
}

/// Where hosts are installed.
#[derive(Clone, Debug)]
pub(crate) struct InstallEnvironment {
    /// The working tree.
    pub checkout: PathBuf,
    /// The user's home, where there is one.
    pub home: Option<PathBuf>,
    /// Where programs are looked for.
    pub programs: Vec<PathBuf>,
    /// Whether Claude Code started us.
    pub inside_claude: bool,
    /// Who may see what is written.
    pub visibility: Visibility,
}

impl HostKind {
    /// All of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Cursor, Self::OpenCode];

    /// Its name in `--agent`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::OpenCode => "opencode",
        }
    }

    /// Reads `claude,codex`; `none` is none of them.
    pub(crate) fn list(words: &str) -> Result<Vec<Self>, String> {
        if words.trim() == "none" {
            return Ok(Vec::new());
        }
        let one = |word: &str| {
            let known = Self::ALL.map(Self::name).join(", ");
            Self::ALL.into_iter().find(|host| host.name() == word.trim()).ok_or(format!(
                "`{}` is not a known host; use one or more of {known}, or none",
                word.trim()
            ))
        };
        let mut hosts = words.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        hosts.sort_unstable();
        hosts.dedup();
        Ok(hosts)
    }

    /// What it needs of us.
    pub(crate) fn patches(self, environment: &InstallEnvironment) -> Vec<FilePatch> {
        match self {
            Self::Claude => super::claude::patches(environment),
            Self::Codex => super::codex::patches(environment),
            Self::Gemini => super::gemini::patches(environment),
            Self::Cursor => super::cursor::patches(environment),
            Self::OpenCode => super::opencode::patches(environment),
        }
    }

    /// Whether its settings may hold comments. Claude Code and Codex read nothing of a
    /// file that has one.
    pub(crate) fn takes_comments(self) -> bool {
        matches!(self, Self::Gemini | Self::Cursor | Self::OpenCode)
    }

    /// Why it reads nothing of a settings file, if so.
    pub(crate) fn overlooks(self, file: &Path, text: &str) -> Option<String> {
        let is_json = file.extension().is_some_and(|ending| ending == "json");
        if self.takes_comments() || !is_json || text.trim().is_empty() {
            return None;
        }
        serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches('\u{feff}'))
            .err()
            .map(|error| error.to_string())
    }

    /// What a person has to do that we cannot.
    pub(crate) fn advice(self, visibility: Visibility) -> &'static str {
        match (self, visibility) {
            (Self::Claude, Visibility::Team) => {
                "Claude Code asks once whether it may start the server in .mcp.json; answer yes"
            }
            (Self::Claude, Visibility::Stealth) => "Claude Code now starts it automatically",
            (Self::Codex, _) => "Codex skips untrusted hooks: start codex here once and trust them",
            (Self::Gemini, _) => {
                "Gemini CLI uses these settings only in a trusted folder: start gemini here once and trust it"
            }
            (Self::Cursor, _) => {
                "Cursor asks once whether it may start the server; turn it on under Settings, MCP"
            }
            (Self::OpenCode, _) => "OpenCode now starts it automatically",
        }
    }

    /// Whether this project, or this person, uses it.
    pub(crate) fn is_here(self, environment: &InstallEnvironment) -> bool {
        let (traces, programs): (&[&str], &[&str]) = match self {
            Self::Claude => (&[".claude", "CLAUDE.md", ".mcp.json"], &["claude"]),
            Self::Codex => (&[".codex"], &["codex"]),
            Self::Gemini => (&[".gemini", "GEMINI.md"], &["gemini"]),
            Self::Cursor => (&[".cursor", ".cursorrules"], &["cursor-agent", "cursor"]),
            Self::OpenCode => (&["opencode.json", "opencode.jsonc", ".opencode"], &["opencode"]),
        };
        let at_home = environment.home.as_deref().is_some_and(|home| match self {
            Self::Claude => home.join(".claude.json").exists(),
            Self::Codex => home.join(".codex/config.toml").exists(),
            Self::Gemini => home.join(".gemini/settings.json").exists(),
            Self::Cursor | Self::OpenCode => false,
        });
        at_home
            || (self == Self::Claude && environment.inside_claude)
            || traces.iter().any(|trace| environment.checkout.join(trace).exists())
            || programs.iter().any(|program| {
                environment.programs.iter().any(|folder| folder.join(program).is_file())
            })
    }
}

impl InstallEnvironment {
    /// Where Claude Code's settings of this project are.
    pub(crate) fn claude_settings(&self) -> &'static str {
        if self.visibility == Visibility::Stealth {
            ".claude/settings.local.json"
        } else {
            ".claude/settings.json"
        }
    }

    /// A piece of a file in the working tree.
    pub(crate) fn patch(&self, file: &str, part: PatchKind) -> FilePatch {
        FilePatch { file: self.checkout.join(file), within: self.checkout.clone(), part }
    }

    /// Returns the agent instructions, in the file a host reads. In stealth nothing: an untracked
    /// file of that name would conflict with the team's.
    pub(super) fn instructions(&self, file: &str) -> Option<FilePatch> {
        (self.visibility == Visibility::Team).then(|| {
            self.patch(file, PatchKind::Block(MarkerStyle::Markdown, INSTRUCTIONS.to_owned()))
        })
    }

    /// The words that start the server. A file that is one person's own may name
    /// the folder; a shared one may not.
    pub(super) fn server_words(&self, tools: Option<&str>) -> Vec<String> {
        let mut words = vec!["mcp".to_owned()];
        words.extend(tools.into_iter().flat_map(|tools| ["--tools".to_owned(), tools.to_owned()]));
        if self.visibility == Visibility::Stealth {
            words.extend(["--project".to_owned(), self.checkout.display().to_string()]);
        }
        words
    }
}

/// A handler that a shell starts.
pub(super) fn in_words(host: HostKind, event: &str) -> String {
    format!("twining hook --agent {} {event}", host.name())
}

/// A group as Claude Code, Codex and Gemini CLI nest it.
pub(super) fn group(matcher: Option<&str>, handler: &Value) -> Value {
    match matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": [handler]}),
        None => json!({"hooks": [handler]}),
    }
}

/// The file agents of several hosts read. One that only points to another is left alone: the other
/// is used.
pub(super) fn instructions_file(checkout: &Path, file: &str) -> String {
    let text = std::fs::read_to_string(checkout.join(file)).unwrap_or_default();
    if file == "CLAUDE.md" && text.lines().any(|line| line.trim() == "@AGENTS.md") {
        "AGENTS.md".to_owned()
    } else {
        file.to_owned()
    }
}
