//! Where a folder's service is, and the token for it: the user's own settings, readable by them
//! alone, bound to the folder's identity.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twining_model::Id;
use twining_store::{Store, digest};

use crate::render::command_error::CommandError;
use crate::user_policy;

const FOLDER: &str = "links";

/// What this user knows of a folder's service.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LinkSettings {
    /// Of the form `https://host/tenant/repository`.
    pub address: String,
    /// What the service knows us by.
    pub token: String,
    /// The repository that the address led to when the folder was linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Id>,
    /// The folder's identity: a copy of the folder has another.
    pub seal: String,
    /// The folder, for people who read the file.
    pub folder: String,
}

impl LinkSettings {
    /// The settings for this folder, if there are any.
    pub(super) fn of(store: &Store) -> Option<Self> {
        let seal = store.local_state().identity().ok()??;
        let text = fs::read(file_for(&seal)?).ok()?;
        serde_json::from_slice::<Self>(&text).ok().filter(|settings| settings.seal == seal)
    }

    /// The same if the folder is linked.
    pub(super) fn of_linked(store: &Store) -> Option<Self> {
        store.outbox().is_linked().unwrap_or(false).then(|| Self::of(store)).flatten()
    }

    /// Fails where [`Self::save`] would, before anything else is changed.
    pub(super) fn check_can_save(seal: &str) -> Result<(), CommandError> {
        let path = file_for(seal).ok_or_else(no_folder)?;
        let probe = path.with_extension("probe");
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&probe, b"")?;
            fs::remove_file(&probe)
        };
        write().map_err(|error| cannot_write(&path, &error))
    }

    /// Writes them.
    pub(super) fn save(&self) -> Result<PathBuf, CommandError> {
        let path = file_for(&self.seal).ok_or_else(no_folder)?;
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| CommandError::of_error("FILE_WRITE_ERROR", &error))?;
        let folder = path.parent().unwrap_or(&path);
        let write = || {
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
            let temporary = path.with_extension("new");
            // Made anew: the permissions of a file that is there would stay.
            match fs::remove_file(&temporary) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error: std::io::Error| cannot_write(&path, &error))?;
        Ok(path)
    }

    /// Takes them away.
    pub(super) fn remove(store: &Store) -> Result<(), CommandError> {
        let seal = store.local_state().identity()?;
        let Some(path) = seal.and_then(|seal| file_for(&seal)) else { return Ok(()) };
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(CommandError::of_error("FILE_WRITE_ERROR", &error))
            }
            _ => Ok(()),
        }
    }
}

fn file_for(seal: &str) -> Option<PathBuf> {
    Some(user_policy::folder()?.join(FOLDER).join(format!("{}.json", digest(seal.as_bytes()))))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::of_error("FILE_WRITE_ERROR", error)
        .with_hint(format!("check that {} can be written", path.display()))
}

fn no_folder() -> CommandError {
    CommandError::unavailable("NOT_FOUND", "there is no folder for your settings")
        .with_hint("set HOME or XDG_CONFIG_HOME to a folder outside the project")
}
