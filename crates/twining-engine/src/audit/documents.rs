//! Which files of a repository are a memory for agents, and what their hosts make of them.

use super::project_tree::last_part;

/// What kind of memory a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentKind {
    /// Instructions or notes in Markdown.
    Instructions,
    /// The record of a decision.
    DecisionRecord,
    /// Lines of JSON, as memory servers keep them.
    JsonLines,
}

/// How much of a file its host reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SizeLimit {
    /// Whose limit it is.
    pub host: &'static str,
    /// In characters, bytes or lines.
    pub unit: SizeUnit,
    /// How many.
    pub most: usize,
    /// What happens beyond.
    pub beyond: &'static str,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeUnit {
    /// Bytes.
    Bytes,
    /// Characters.
    Characters,
    /// Lines.
    Lines,
}

/// Files with these names, wherever they are.
const NAMES: &str = " CLAUDE.md CLAUDE.local.md AGENTS.md AGENTS.override.md AGENT.md GEMINI.md QWEN.md MEMORY.md WARP.md \
    CRUSH.md CONVENTIONS.md copilot-instructions.md .cursorrules .windsurfrules .clinerules .roorules .goosehints .rules ";
/// Names of memory servers' files.
const LINE_FILES: &str = " memory.jsonl memory.json ";
/// Folders of rules for agents.
const RULE_FOLDERS: [&str; 15] = [
    ".cursor/rules/",
    ".claude/rules/",
    ".claude/agents/",
    ".claude/commands/",
    ".claude/skills/",
    ".agents/skills/",
    ".github/instructions/",
    ".windsurf/rules/",
    ".clinerules/",
    ".roo/rules/",
    ".kiro/steering/",
    ".amazonq/rules/",
    ".continue/rules/",
    ".junie/",
    "memory-bank/",
];
/// Folders of decision records.
const DECISION_FOLDERS: &str =
    " adr adrs decisions architecture-decisions architecture_decisions decision-records ";
/// Folders whose files are about something else.
const FOREIGN_FOLDERS: &str = " node_modules vendor third_party third-party fixtures __fixtures__ testdata test-data templates template \
    __snapshots__ snapshots .git .twining cassettes evals ";

/// What a file is, if it is a memory.
pub(super) fn kind_of_document(path: &str) -> Option<DocumentKind> {
    let folders: Vec<&str> = path.split('/').rev().skip(1).collect();
    if folders.iter().any(|folder| is_in(FOREIGN_FOLDERS, folder)) {
        return None;
    }
    let name = last_part(path);
    if is_in(LINE_FILES, &name) {
        return (name.ends_with('l') || folders.is_empty()).then_some(DocumentKind::JsonLines);
    }
    let is_text = [".md", ".mdc", ".mdx"].iter().any(|end| name.ends_with(end));
    let is_rule = RULE_FOLDERS
        .iter()
        .any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")));
    if is_in(NAMES, &name) || (is_rule && is_text) {
        return Some(DocumentKind::Instructions);
    }
    let is_record = folders.first().is_some_and(|folder| is_in(DECISION_FOLDERS, folder));
    (is_record && is_text && !is_in(" README.md index.md template.md ", &name))
        .then_some(DocumentKind::DecisionRecord)
}

/// What a file is that somebody named.
pub(super) fn kind_of_named(path: &str) -> DocumentKind {
    kind_of_document(path).unwrap_or(if path.ends_with(".jsonl") {
        DocumentKind::JsonLines
    } else {
        DocumentKind::Instructions
    })
}

/// Whether words of a file say what is in the code.
pub(super) fn is_source(path: &str) -> bool {
    const PROSE: [&str; 9] =
        [".md", ".mdc", ".mdx", ".rst", ".txt", ".adoc", ".jsonl", ".lock", ".svg"];
    let name = last_part(path);
    !path.starts_with(".twining/")
        && !path.contains("/.twining/")
        && !PROSE.iter().any(|end| name.ends_with(end))
        && !is_in(NAMES, &name)
        && !name.to_lowercase().starts_with("changelog")
        && !matches!(name.as_str(), "package-lock.json" | "pnpm-lock.yaml" | "npm-shrinkwrap.json")
}

/// Whether a file is read only when it is needed: skills, commands and agents stand alone.
pub(super) fn is_read_on_demand(path: &str) -> bool {
    let folders = ["skills/", ".claude/commands/", ".claude/agents/"];
    folders.iter().any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")))
}

/// How much the file's host reads of it.
pub(super) fn size_limit(path: &str) -> Option<SizeLimit> {
    if is_read_on_demand(path) {
        return None;
    }
    let (host, unit, most, beyond) = match last_part(path).as_str() {
        "MEMORY.md" => ("Claude Code", SizeUnit::Lines, 200, "does not load the lines after that"),
        "AGENTS.md" | "AGENTS.override.md" => {
            ("Codex", SizeUnit::Bytes, 32 * 1024, "cuts off the rest")
        }
        "CLAUDE.md" | "CLAUDE.local.md" => {
            ("Claude Code", SizeUnit::Characters, 40_000, "warns that it slows every turn")
        }
        _ if path.contains(".windsurf/rules/") || path.ends_with(".windsurfrules") => {
            ("Windsurf", SizeUnit::Characters, 12_000, "ignores the rest")
        }
        _ => return None,
    };
    Some(SizeLimit { host, unit, most, beyond })
}

impl SizeLimit {
    /// How large a text is by this count.
    pub(super) fn size_of(&self, text: &str) -> usize {
        match self.unit {
            SizeUnit::Bytes => text.len(),
            SizeUnit::Characters => text.chars().count(),
            SizeUnit::Lines => text.lines().count(),
        }
    }

    /// The word for what it counts.
    pub(super) fn noun(&self) -> &'static str {
        match self.unit {
            SizeUnit::Bytes => "bytes",
            SizeUnit::Characters => "characters",
            SizeUnit::Lines => "lines",
        }
    }
}

fn is_in(words: &str, word: &str) -> bool {
    words.contains(&format!(" {word} "))
}
