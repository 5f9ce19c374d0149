//! `twining link` and `unlink`.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Command, ValueHint};
use serde_json::{Value, json};
use twining_model::Id;
use twining_store::git::Git;
use twining_store::{LogError, OutboxSignature, Store};

use super::demoted_report::demoted_decisions;
use super::git_tracking::{TrackingMismatch, untrack_command};
use super::http_log::{HttpLog, ServiceIdentity};
use super::link_report::LinkReport;
use super::settings::LinkSettings;
use super::sync_command::{copy_of, record_paths};
use super::sync_state::SyncState;
use super::{join_log, lost_records, project_label};
use crate::args::{option, path, switch, word};
use crate::output::{self, OutputFormat};
use crate::person_check;
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{count, dim, good, plain};

/// What lets git track the records again.
const TRACK_COMMAND: &str = "git add .twining";
/// What is left to do once git's index is without the records.
const COMMIT_COMMAND: &str = "git add .twining && git commit -m \"The team's log has the records\"";
/// Bytes of a token.
const TOKEN_BYTES: u64 = 4096;

/// The flags of `link`.
pub(crate) fn link_flags(command: Command) -> Command {
    command
        .args([
            word("url", "URL", "The repository's address: https://host/tenant/repository")
                .required(true),
            path(
                option(
                    "token-file",
                    "FILE",
                    "Read the token from this file; default, with --yes or --dry-run: stdin",
                ),
                ValueHint::FilePath,
            ),
            switch("dry-run", "Show what would be changed, and change nothing"),
            switch("yes", "Do not ask: for scripts, needs no terminal"),
        ])
        .after_help(
            "Examples:\n  twining link https://memory.example.org/acme/shop --token-file ~/shop.token\n  pass show shop-token | twining link https://memory.example.org/acme/shop --yes\n\nIn a linked folder it changes address and token; what waits is sent to the new one.",
        )
}

/// The flags of `unlink`.
pub(crate) fn unlink_flags(command: Command) -> Command {
    command
        .arg(switch("discard", "Also if changes were not sent yet; the files here have them"))
        .after_help("Example:\n  twining unlink")
}

/// What a link would change, for the person to agree to.
struct LinkProposal<'a> {
    address: &'a str,
    folder: PathBuf,
    /// The repository that the address leads to, if the service says so.
    repository: Option<Id>,
    /// How the service signs what is sent.
    signature: Option<OutboxSignature>,
    /// The last line of its log.
    head: u64,
    /// Records that git tracks.
    tracked: Vec<String>,
}

impl LinkProposal<'_> {
    fn to_words(&self) -> String {
        let mut parts = vec![
            format!("This links {} to {}:", self.folder.display(), self.address),
            "its records are sent to the service, and those of the team come here".to_owned(),
            "address and token are kept in your own settings, not in the repository".to_owned(),
        ];
        parts.extend(self.repository.iter().map(|repository| {
            format!(
                "`team: {repository}` goes into .twining/config.yml: a label by which a wrong service or clone is refused"
            )
        }));
        let block = "git ignores the records from now on, by a block in .twining/.gitignore";
        parts.push(match self.tracked.len() as u64 {
            0 => block.to_owned(),
            tracked => format!(
                "{block}; {} of them leave its index (git rm --cached) and stay in the folder",
                count(tracked, "file")
            ),
        });
        parts.join("\n- ")
    }

    fn to_json(&self) -> Value {
        json!({
            "linked": false, "dry_run": true, "address": self.address,
            "repository": self.repository, "untracks": self.tracked.len(),
        })
    }
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
    let is_asked = !given.get_flag("yes") && !given.get_flag("dry-run");
    if is_asked && given.get_one::<PathBuf>("token-file").is_none() {
        return Err(CommandError::misuse("there is no token")
            .with_hint("give --token-file FILE; or --yes, and the token on stdin"));
    }
    let token = token(given.get_one::<PathBuf>("token-file"))?;
    // Before anything is changed: an address, a token or a clone that is wrong shows now.
    let log = HttpLog::new(&address, &token);
    let identity = log.identity().map_err(|error| unreachable(&address, &error))?;
    let ServiceIdentity { repository, signature, head } = identity;
    if let Some(repository) = &repository {
        project_label::check(store, &address, repository)?;
    }
    let git = Git::at(&store.location().project);
    let tracked = git.tracked_of(&record_paths()).into_iter().collect();
    let folder = store.location().project.join(".twining");
    let proposal = LinkProposal { address: &address, folder, repository, signature, head, tracked };
    if given.get_flag("dry-run") {
        return Ok(output::answer(
            style,
            || proposal.to_json(),
            |page| page.block(0, &proposal.to_words()),
            ExitStatus::Done,
        ));
    }
    if is_asked {
        person_check::confirm(&proposal.to_words(), "link")?;
    }
    carry_out(store, proposal, &token, &log, style)
}

fn carry_out(
    store: &Arc<Store>,
    proposal: LinkProposal<'_>,
    token: &str,
    log: &HttpLog,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let LinkProposal { address, folder, repository, signature, head, tracked } = proposal;
    let installation = store.installation();
    installation.prepare()?;
    let seal = store
        .local_state()
        .identity()?
        .ok_or_else(|| CommandError::unavailable("NOT_FOUND", "there is no memory here"))?;
    LinkSettings::check_can_save(&seal)?;
    // What another token was refused may be taken with this one.
    let retried = store.outbox().retry_refused(&[])?;
    let former = LinkSettings::of(store).and_then(|settings| settings.repository);
    let received = join_log::join(store, log, head, former.is_some() && former == repository)?;
    if let Some(signature) = signature {
        store.outbox().sign_as(signature)?;
    }
    let settings = LinkSettings {
        address: address.to_owned(),
        token: token.to_owned(),
        repository: repository.clone(),
        seal,
        folder: folder.display().to_string(),
    };
    // Before anybody exchanges lines by these settings.
    installation.ignore_records(true)?;
    let kept = settings.save()?;
    let is_labelled = match &repository {
        Some(repository) => installation.label_team(repository)?,
        None => false,
    };
    let git = Git::at(&store.location().project);
    let untracked = if tracked.is_empty() { Ok(()) } else { git.untrack(&tracked) };
    let before = store.outbox().state()?;
    let delivered = store.outbox().deliver(log);
    SyncState::note(store, &delivered.as_ref().map(drop).map_err(copy_of));
    if delivered.is_ok() {
        lost_records::remember_counts(store)?;
    }
    let after = store.outbox().state()?;
    let refused = after.refused;
    let left = after.waiting + refused.saturating_sub(before.refused);
    let sent = before.waiting.saturating_sub(left) as u64;
    let demoted = demoted_decisions(store)?;
    let next = match &untracked {
        Err(_) => untrack_command(),
        Ok(()) if git.shape().is_some() && has_changed(&git) => COMMIT_COMMAND.to_owned(),
        Ok(()) => String::new(),
    };
    let report = LinkReport {
        address,
        settings: kept.display().to_string(),
        repository,
        is_labelled,
        received,
        sent,
        retried: retried as u64,
        refused: refused as u64,
        delivered: delivered.map(drop),
        tracked: tracked.len() as u64,
        untracked,
        demoted,
        next,
    };
    Ok(output::answer(style, || report.to_json(), |page| report.show(page), ExitStatus::Done))
}

/// Ends the link; the files stay, and have what was not sent.
pub(crate) fn unlink(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    if let Some(why) = person_check::agent_shell() {
        return Err(person_check::required(&format!("only a person unlinks a folder, and {why}")));
    }
    let store = project.engine.store();
    if !store.outbox().is_linked()? && LinkSettings::of(store).is_none() {
        return Ok(output::answer(
            style,
            || json!({"linked": false, "was_linked": false}),
            |page| page.line([plain("this folder is not linked to a team; nothing was changed")]),
            ExitStatus::Done,
        ));
    }
    let waiting = store.outbox().state()?.waiting;
    // Where a colleague has ended the link, nothing can be sent any more.
    let has_ended = TrackingMismatch::of(store) == Some(TrackingMismatch::EndedElsewhere);
    if waiting > 0 && !has_ended && !given.get_flag("discard") {
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
        || json!({"linked": false, "was_linked": true, "unsent": waiting, "next": TRACK_COMMAND}),
        |page| {
            page.line([good("unlinked")]);
            if waiting > 0 {
                let unsent = count(waiting as u64, "change");
                page.line([dim(format!("{unsent} not sent to the team: in the files here"))]);
            }
            page.line([dim("the files have every record; git ignores them no longer")]);
            page.line([plain("Track them again, and commit that:")]);
            page.block(2, TRACK_COMMAND);
        },
        ExitStatus::Done,
    ))
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
    // The address of its MCP server, as `serve repo add` says it.
    if let Some(repository) = path.strip_suffix("/mcp").filter(|path| path.contains('/')) {
        return self::address(&format!("{scheme}://{host}/{repository}"));
    }
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
    read.map_err(|error| {
        let from = file.map_or_else(|| "stdin".to_owned(), |file| format!("`{}`", file.display()));
        CommandError::unavailable("INPUT", format!("the token cannot be read from {from}: {error}"))
            .with_hint("name a file that has the token and nothing else: --token-file FILE")
    })?;
    let token = text.trim();
    if token.is_empty() {
        let from = file.map_or_else(|| "stdin".to_owned(), |file| format!("`{}`", file.display()));
        return Err(CommandError::misuse(format!("there is no token in {from}: it is empty"))
            .with_hint("`twining serve token add` makes one, and shows it once"));
    }
    if token.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(CommandError::misuse("the token must be one word"));
    }
    Ok(token.to_owned())
}

fn unreachable(address: &str, error: &LogError) -> CommandError {
    if let LogError::Denied { why, hint } = error {
        return CommandError::unavailable("LOG_DENIED", format!("{address}: {why}"))
            .with_hint(format!("nothing was changed; {hint}"));
    }
    CommandError::unavailable("OFFLINE", format!("{address} does not answer as a log: {error}"))
        .with_hint("check the address; if it is right, the service or its database is away: try again later. Nothing was changed")
}

/// Whether the folder has something to commit; also where nothing was committed yet.
fn has_changed(git: &Git) -> bool {
    git.changed_in("HEAD", ".twining").is_none_or(|files| !files.is_empty())
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
        for (given, meant) in [
            ("https://memory.example.org/acme/shop/mcp", "https://memory.example.org/acme/shop"),
            ("https://memory.example.org/acme/mcp/", "https://memory.example.org/acme/mcp"),
        ] {
            assert_eq!(address(given).ok().as_deref(), Some(meant));
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
