//! `twining link`, `unlink` and `sync`.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::{ArgMatches, Command, ValueHint};
use serde_json::json;
use twining_store::{Log, LogError, RECORD_PATHS, StoreError};

use super::http_log::HttpLog;
use super::join_log;
use super::settings::LinkSettings;
use super::sync_state::SyncState;
use super::team_link::TeamLink;
use crate::args::{option, path, switch, word};
use crate::output::{self, OutputFormat};
use crate::person_check;
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{TextPage, count, dim, good, place, plain, warn};

/// Bytes of a token.
const TOKEN_BYTES: u64 = 4096;

/// The flags of `link`.
pub(crate) fn link_flags(command: Command) -> Command {
    command
        .args([
            word("url", "URL", "The repository's address: https://host/tenant/repository")
                .required(true),
            path(
                option("token-file", "FILE", "Read the token from this file; default: stdin"),
                ValueHint::FilePath,
            ),
            switch("yes", "Do not ask"),
        ])
        .after_help(
            "Example:\n  twining link https://memory.example.org/acme/shop --token-file ~/shop.token",
        )
}

/// The flags of `unlink`.
pub(crate) fn unlink_flags(command: Command) -> Command {
    command
        .arg(switch("discard", "Also if changes were not sent yet; the files here have them"))
        .after_help("Example:\n  twining unlink")
}

/// The flags of `sync`.
pub(crate) fn sync_flags(command: Command) -> Command {
    command.after_help("Example:\n  twining sync")
}

/// Links the folder to a team's log.
pub(crate) fn link(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    if let Some(why) = person_check::agent_shell() {
        return Err(person_check::required(&format!("only a person links a folder, and {why}")));
    }
    let address = address(given.get_one::<String>("url").map_or("", String::as_str))?;
    let store = project.engine.store();
    let folder = store.location().project.join(".twining");
    if !given.get_flag("yes") {
        let what = format!(
            "This links {} to {address}:\n\
             - its records are sent to the service, and those of the team come here\n\
             - address and token are kept in your own settings, not in the repository\n\
             - git no longer tracks the records: a block in .twining/.gitignore says so",
            folder.display()
        );
        if given.get_one::<PathBuf>("token-file").is_none() {
            return Err(CommandError::misuse(
                "give the token with --token-file, or --yes and stdin",
            )
            .with_hint(what));
        }
        person_check::confirm(&what, "link")?;
    }
    let token = token(given.get_one::<PathBuf>("token-file"))?;
    store.installation().prepare()?;
    let log = HttpLog::new(&address, &token);
    // Before anything is changed: an address or a token that is wrong shows now.
    log.since(0, 1).map_err(|error| unreachable(&address, &error))?;
    let seal = store
        .local_state()
        .identity()?
        .ok_or_else(|| CommandError::unavailable("NOT_FOUND", "there is no memory here"))?;
    let joined = join_log::join(store, &log)?;
    let settings = LinkSettings {
        address: address.clone(),
        token,
        seal,
        folder: folder.display().to_string(),
    };
    let kept = settings.save()?;
    store.installation().ignore_records(true)?;
    let delivered = store.outbox().deliver(&log);
    SyncState::note(store, &delivered.as_ref().map(drop).map_err(copy_of));
    let refused = store.outbox().state()?.refused;
    let untrack = untrack_command();
    let answer = json!({
        "linked": true, "address": address, "settings": kept.display().to_string(),
        "received": joined.received, "sent": joined.missing, "refused": refused,
        "synced": delivered.is_ok(), "next": untrack,
    });
    Ok(output::answer(
        style,
        || answer,
        |page| {
            page.line([good("linked to"), place(&address)]);
            page.line([dim(format!(
                "received {}, sent {}",
                count(joined.received, "line"),
                count(joined.missing as u64, "line")
            ))]);
            if refused > 0 {
                page.line([warn(format!("refused: {}", count(refused as u64, "line")))]);
            }
            if let Err(error) = &delivered {
                page.line([warn(format!("not all is sent yet: {error}"))]);
            }
            page.line([dim("address and token are in"), place(kept.display().to_string())]);
            page.line([plain("Let git forget the records, and commit that:")]);
            page.block(2, &untrack);
        },
        ExitStatus::Done,
    ))
}

/// Ends the link; the files stay, complete.
pub(crate) fn unlink(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    if let Some(why) = person_check::agent_shell() {
        return Err(person_check::required(&format!("only a person unlinks a folder, and {why}")));
    }
    let store = project.engine.store();
    let waiting = store.outbox().state()?.waiting;
    if waiting > 0 && !given.get_flag("discard") {
        return Err(CommandError::unavailable(
            "UNSENT",
            format!("{} not sent to the team yet", count(waiting as u64, "change")),
        )
        .with_hint("`twining sync` sends them; `twining unlink --discard` keeps them here only"));
    }
    store.outbox().remove()?;
    LinkSettings::remove(store)?;
    store.installation().ignore_records(false)?;
    store.housekeep()?;
    Ok(output::answer(
        style,
        || json!({"linked": false, "unsent": waiting, "next": "git add .twining"}),
        |page| {
            page.line([good("unlinked")]);
            page.line([dim("the files have every record; `git add .twining` tracks them again")]);
        },
        ExitStatus::Done,
    ))
}

/// Sends and receives now.
pub(crate) fn sync(project: &Project, style: OutputFormat) -> Result<ExitStatus, CommandError> {
    let store = project.engine.store();
    if !store.outbox().is_linked()? {
        return Err(CommandError::unavailable("NOT_LINKED", "this folder is not linked to a team")
            .with_hint("`twining link URL` links it"));
    }
    let Some(link) = TeamLink::of(store) else {
        return Err(CommandError::unavailable(
            "NOT_LINKED",
            "your settings have no address and token for this folder",
        )
        .with_hint("`twining link URL` links it again"));
    };
    let log = link.log.probing();
    let before = store.follower().position()?;
    let delivered = store.outbox().deliver(&log);
    let exchanged = delivered.and_then(|delivery| {
        store.follower().follow_with(&log)?;
        Ok(delivery)
    });
    link.note(&exchanged.as_ref().map(drop).map_err(copy_of));
    let delivery = exchanged?;
    let received = store.follower().position()? - before;
    let state = store.outbox().state()?;
    Ok(output::answer(
        style,
        || {
            json!({
                "sent": delivery.sent, "refused": delivery.refused, "received": received,
                "waiting": state.waiting, "position": before + received,
            })
        },
        |page| show_sync(page, delivery.sent, delivery.refused, received),
        if delivery.refused > 0 { ExitStatus::FoundProblems } else { ExitStatus::Done },
    ))
}

fn show_sync(page: &mut TextPage, sent: usize, refused: usize, received: u64) {
    page.line([
        good("synced:"),
        dim(format!("sent {}, received {}", count(sent as u64, "line"), count(received, "line"))),
    ]);
    if refused > 0 {
        page.line([warn(format!(
            "refused: {}; `.twining/local/outbox-refused.jsonl` says why",
            count(refused as u64, "line")
        ))]);
    }
}

/// An address that may be given a token: encrypted, or of this machine.
fn address(given: &str) -> Result<String, CommandError> {
    let address = given.trim().trim_end_matches('/');
    let refused = |why: &str| {
        Err(CommandError::misuse(format!("the address {why}"))
            .with_hint("it has the form https://host/tenant/repository"))
    };
    let Some((scheme, rest)) = address.split_once("://") else {
        return refused("must begin with https://");
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.contains('@') || address.contains(['?', '#', ' ', '\\']) {
        return refused("must have no user, query or fragment");
    }
    let is_named = path.split('/').count() >= 2 && path.split('/').all(|part| !part.is_empty());
    if host.is_empty() || !is_named {
        return refused("must name a host, a tenant and a repository");
    }
    let name = if host.starts_with('[') {
        host.split_once(']').map_or(host, |(name, _)| name)
    } else {
        host.split(':').next().unwrap_or(host)
    };
    let is_here = ["localhost", "127.0.0.1", "[::1"].contains(&name);
    match scheme {
        "https" => Ok(address.to_owned()),
        "http" if is_here => Ok(address.to_owned()),
        "http" => refused("must be https: a token is not sent unencrypted"),
        _ => refused("must begin with https://"),
    }
}

fn token(file: Option<&PathBuf>) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = match file {
        Some(file) => std::fs::File::open(file)
            .and_then(|file| file.take(TOKEN_BYTES).read_to_string(&mut text)),
        None if std::io::stdin().is_terminal() => {
            return Err(CommandError::misuse("there is no token on stdin")
                .with_hint("give it with --token-file FILE, so that it is on no screen"));
        }
        None => std::io::stdin().take(TOKEN_BYTES).read_to_string(&mut text),
    };
    read.map_err(|error| CommandError::of_error("INPUT", &error))?;
    let token = text.trim();
    if token.is_empty() || token.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(CommandError::misuse("the token must be one word"));
    }
    Ok(token.to_owned())
}

fn unreachable(address: &str, error: &LogError) -> CommandError {
    CommandError::unavailable("OFFLINE", format!("{address} does not answer as a log: {error}"))
        .with_hint("check the address and the token; nothing was changed")
}

fn untrack_command() -> String {
    let paths: Vec<String> =
        RECORD_PATHS.iter().map(|path| format!(".twining/{}", path.trim_matches('/'))).collect();
    format!("git rm -r -q --cached --ignore-unmatch {}", paths.join(" "))
}

/// The same error once more, for whoever remembers it.
fn copy_of(error: &StoreError) -> StoreError {
    match error {
        StoreError::Log(error) => error.clone().into(),
        error => StoreError::Damaged { what: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_only_to_an_encrypted_address_or_to_this_machine() {
        for good in [
            "https://memory.example.org/acme/shop",
            "https://memory.example.org:8443/acme/shop/",
            "http://127.0.0.1:8080/acme/shop",
            "http://localhost:1/a/b",
            "http://[::1]:8080/acme/shop",
        ] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://memory.example.org/acme/shop",
            "http://127.0.0.1.evil.org/acme/shop",
            "http://127.0.0.1@evil.org/acme/shop",
            "https://user:word@memory.example.org/acme/shop",
            "https://memory.example.org/acme",
            "https://memory.example.org//shop",
            "https:///acme/shop",
            "https://memory.example.org/acme/shop?x=1",
            "file:///etc/passwd",
            "memory.example.org/acme/shop",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
