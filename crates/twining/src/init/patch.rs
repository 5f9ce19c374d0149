//! A piece of an installation: one part of one file, that can be put there and
//! taken out again.

use std::path::PathBuf;

use serde_json::Value;

use super::marked_block;
use super::marked_block::{BlockPosition, MarkerStyle};
use super::plan::{InstallPlan, unusable};
use crate::render::command_error::CommandError;
use crate::settings::codex_toml;
use crate::settings::jsonc::{self, JsoncFile, SettingsError, is_twining_hook, starts_twining};

/// One part of one file.
#[derive(Clone, Debug)]
pub(crate) struct FilePatch {
    /// Which file.
    pub file: PathBuf,
    /// The folder it must not leave.
    pub within: PathBuf,
    /// What of it is ours.
    pub part: PatchKind,
}

/// What of a file is ours.
#[derive(Clone, Debug)]
pub(crate) enum PatchKind {
    /// An entry `twining` in an object of servers.
    Server {
        /// The keys that lead to the object.
        path: Vec<String>,
        /// The entry.
        entry: Value,
    },
    /// Groups of hooks, by event.
    Hooks(Vec<(&'static str, Value)>),
    /// A setting that a file of this kind must have.
    Setting(&'static str, Value),
    /// Words in a list of settings.
    Listed {
        /// The keys that lead to the list.
        path: Vec<&'static str>,
        /// Those that belong there.
        wanted: Vec<String>,
        /// All that we may have put there.
        known: Vec<String>,
    },
    /// Our server in a TOML file, started with these words.
    Toml(Vec<String>),
    /// A folder that commands may only read, in Codex' settings.
    ReadOnly(String),
    /// A block between markers.
    Block(MarkerStyle, String),
    /// The whole file, known by a line in it.
    Whole {
        /// What it holds.
        text: &'static str,
        /// A line that only our file has.
        mark: &'static str,
    },
}

impl FilePatch {
    /// Whether it is a whole file of ours that was replaced or is missing.
    pub(crate) fn is_replaced(&self) -> bool {
        let PatchKind::Whole { mark, .. } = &self.part else { return false };
        !std::fs::read_to_string(&self.file).is_ok_and(|text| text.contains(mark))
    }

    /// Restores a whole file of ours, whatever replaced it.
    pub(crate) fn put_back(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        match &self.part {
            PatchKind::Whole { text, .. } => {
                plan.edit(&self.file, &self.within, |_| Ok(Some((*text).to_owned())))
            }
            _ => self.put(plan),
        }
    }

    /// Puts it into the sheet.
    pub(crate) fn put(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        let shown = plan.shown(&self.file);
        let mut note = None;
        plan.edit(&self.file, &self.within, |text| {
            let after = match self.part.put(text) {
                Ok(after) => after,
                // What others wrote under our name is theirs; the rest goes on.
                Err(PatchError::Theirs(why)) => {
                    note = Some(format!("`{shown}`: {why}; it was not changed"));
                    return Ok(text.map(str::to_owned));
                }
                Err(PatchError::SettingsError(why)) => {
                    return Err(with_fix_hint(unusable(&shown, &why)));
                }
            };
            Ok(Some(after))
        })?;
        note.into_iter().for_each(|note| plan.note(note));
        Ok(())
    }

    /// Removes it. An unreadable file is left and reported: it contains nothing of ours.
    pub(crate) fn take(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        let shown = plan.shown(&self.file);
        let mut note = None;
        plan.edit(&self.file, &self.within, |text| {
            let Some(text) = text else { return Ok(None) };
            Ok(self.part.take(text).unwrap_or_else(|why| {
                note = Some(format!("`{shown}` was not changed: {why}"));
                Some(text.to_owned())
            }))
        })?;
        note.into_iter().for_each(|note| plan.note(note));
        Ok(())
    }
}

fn with_fix_hint(problem: CommandError) -> CommandError {
    problem.with_hint("fix the file, or leave this host out with --agent; nothing was written")
}

/// Why a part cannot be put.
enum PatchError {
    /// Something of the same name belongs to somebody else.
    Theirs(String),
    /// The file is not what it should be.
    SettingsError(String),
}

impl From<SettingsError> for PatchError {
    fn from(why: SettingsError) -> Self {
        match why {
            SettingsError::Taken(_) => Self::Theirs(why.to_string()),
            _ => Self::SettingsError(why.to_string()),
        }
    }
}

fn refused_toml(why: String) -> PatchError {
    if why.contains("something else") {
        PatchError::Theirs(why)
    } else {
        PatchError::SettingsError(why)
    }
}

impl PatchKind {
    fn put(&self, text: Option<&str>) -> Result<String, PatchError> {
        match self {
            Self::Server { path, entry } => {
                let settings = JsoncFile::read(text)?;
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                settings.set(&path, "twining", entry, starts_twining)?;
                Ok(settings.text())
            }
            Self::Hooks(events) => {
                let settings = JsoncFile::read(text)?;
                events.iter().try_for_each(|(event, group)| settings.add_hook(event, group))?;
                Ok(settings.text())
            }
            Self::Setting(key, value) => {
                let settings = JsoncFile::read(text)?;
                settings.add(&[], key, value)?;
                Ok(settings.text())
            }
            Self::Listed { path, wanted, known } => {
                let settings = JsoncFile::read(text)?;
                settings.unlist(
                    path,
                    &known
                        .iter()
                        .filter(|word| !wanted.contains(word))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
                settings.list(path, wanted)?;
                Ok(settings.text())
            }
            Self::Toml(args) => {
                codex_toml::put(text.unwrap_or_default(), args).map_err(refused_toml)
            }
            Self::ReadOnly(folder) => {
                codex_toml::put_read_only(text.unwrap_or_default(), folder).map_err(refused_toml)
            }
            Self::Block(marks, body) => {
                marked_block::put(text.unwrap_or_default(), *marks, BlockPosition::Last, body)
                    .map_err(|unmatched| PatchError::SettingsError(unmatched.to_string()))
            }
            Self::Whole { mark, .. } if text.is_some_and(|text| !text.contains(mark)) => {
                Err(PatchError::Theirs("it was not written by Twining".to_owned()))
            }
            Self::Whole { text, .. } => Ok((*text).to_owned()),
        }
    }

    /// What stays of the file.
    fn take(&self, text: &str) -> Result<Option<String>, String> {
        let open = || JsoncFile::read(Some(text)).map_err(|why| why.to_string());
        let left = |settings: &JsoncFile| {
            let after = settings.text();
            // An empty file that was empty before is not ours to remove.
            Ok(if after != text && settings.is_empty() { None } else { Some(after) })
        };
        match self {
            Self::Server { path, .. } => {
                let settings = open()?;
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                settings.unset(&path, "twining", starts_twining);
                left(&settings)
            }
            Self::Hooks(_) => {
                let settings = open()?;
                settings.remove_hooks();
                left(&settings)
            }
            Self::Setting(key, value) => {
                let settings = open()?;
                let alone = settings.get(&[key]).as_ref() == Some(value);
                settings.unset(&[], key, |there| there == value);
                // It goes only with the rest: a file of somebody else's needs it.
                Ok(if alone && settings.is_empty() { None } else { Some(text.to_owned()) })
            }
            Self::Listed { path, known, .. } => {
                let settings = open()?;
                settings.unlist(path, known);
                left(&settings)
            }
            Self::Toml(_) => codex_toml::take(text),
            Self::ReadOnly(_) => codex_toml::take_read_only(text),
            Self::Block(marks, _) => {
                marked_block::take(text, *marks).map_err(|unmatched| unmatched.to_string())
            }
            Self::Whole { mark, .. } => Ok((!text.contains(mark)).then(|| text.to_owned())),
        }
    }

    /// Whether a text holds something that this part would take out.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Server { path, .. } => {
                let path: Vec<&str> = path.iter().map(String::as_str).chain(["twining"]).collect();
                JsoncFile::read(Some(text))
                    .is_ok_and(|settings| settings.get(&path).as_ref().is_some_and(starts_twining))
            }
            Self::Hooks(_) => JsoncFile::read(Some(text)).is_ok_and(|settings| {
                let hooks = settings.get(&["hooks"]).unwrap_or_default();
                let groups = hooks
                    .as_object()
                    .into_iter()
                    .flat_map(|events| events.values())
                    .flat_map(|list| list.as_array())
                    .flatten();
                groups.flat_map(jsonc::handlers).any(is_twining_hook)
            }),
            Self::Listed { path, known, .. } => {
                let list = JsoncFile::read(Some(text))
                    .ok()
                    .and_then(|settings| settings.get(path))
                    .unwrap_or_default();
                list.as_array().is_some_and(|words| {
                    words.iter().any(|word| known.iter().any(|known| word == known.as_str()))
                })
            }
            Self::ReadOnly(_) => codex_toml::is_read_only(text),
            Self::Toml(_) => {
                codex_toml::entry(text).is_some_and(|(command, _)| command == "twining")
            }
            Self::Block(marks, _) => marked_block::is_there(text, *marks),
            Self::Whole { mark, .. } => text.contains(mark),
            Self::Setting(..) => false,
        }
    }
}
