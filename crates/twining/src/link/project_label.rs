//! Which of a team's repositories a project belongs to: `team` in `config.yml`, a label that comes
//! with the clone and is only compared.

use twining_model::{Id, text};
use twining_store::Store;

use crate::render::command_error::CommandError;

/// What `config.yml` names instead of this repository, if it names another.
pub(super) fn other_project(store: &Store, repository: &Id) -> Option<String> {
    let named = store.config().ok()?.team;
    let named = named.trim();
    (!named.is_empty() && named != repository.as_str())
        .then(|| text::visible(&text::excerpt(named, 40)))
}

/// Refuses to link a clone of another project than the one that an address leads to.
pub(super) fn check(store: &Store, address: &str, repository: &Id) -> Result<(), CommandError> {
    let Some(named) = other_project(store, repository) else { return Ok(()) };
    let message = format!(
        "this is a clone of another project: `team` in .twining/config.yml names repository {named}, and {address} is repository {repository}"
    );
    Err(CommandError::unavailable("OTHER_PROJECT", message).with_hint(
        "nothing was changed; link it to its own project's address, or take the line `team:` out of .twining/config.yml if the project has moved there",
    ))
}
