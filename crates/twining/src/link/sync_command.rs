//! `twining sync`: exchanges lines now, shows and settles what the log refused, and puts the state of
//! the records on a branch.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use twining_model::{Id, InvalidInput, text};
use twining_store::git::{BranchCommit, BranchCommitError, Git};
use twining_store::{Delivery, RECORD_PATHS, RefusedLine, StoreError};

use super::demoted_report::{DemotedDecision, demoted_decisions, show_demoted};
use super::lost_records;
use super::refused_changes::what_of;
use super::team_link::{LINK_AGAIN, NO_SETTINGS, TeamLink};
use crate::args::{option, switch, word};
use crate::output::{self, OutputFormat};
use crate::person_check;
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{TextPage, count, dim, good, place, plain, warn, when};

/// The index of a commit that is made beside the working tree, in `local/`.
const SCRATCH_INDEX: &str = "sync-commit.index";
const MESSAGE: &str = "Records of the team's log";

/// The flags of `sync`, and the commands below it.
pub(crate) fn sync_flags(command: Command) -> Command {
    let keys = |help| word("key", "KEY", help).action(ArgAction::Append).num_args(0..);
    let refused = Command::new("refused")
        .about("Show the changes that the log refused, and why")
        .after_help("Example:\n  twining sync refused");
    let retry = Command::new("retry")
        .about("Send again what the log refused")
        .arg(keys("Which, by the key that `sync refused` shows; default: all"))
        .after_help("Example:\n  twining sync retry");
    let drop = Command::new("drop")
        .about("Give up what the log refused: decisions are as before, new records stay here alone")
        .arg(keys("Which, by the key that `sync refused` shows"))
        .arg(switch("all", "All of them"))
        .after_help("Example:\n  twining sync drop --all");
    command
        .subcommands([commit_command(), refused, retry, drop])
        .after_help("Example:\n  twining sync")
}

fn commit_command() -> Command {
    let branch: Arg = option("branch", "NAME", "The branch; a new one begins at HEAD");
    Command::new("commit")
        .about("Put the state of the records on a branch, for review and history")
        .long_about(
            "Put the state of the records on a branch, for review and history.\n\nWorking tree and index stay as they are, and no hook runs. The commit is made on top of the branch; a branch that does not exist begins at HEAD. A branch that is checked out somewhere is refused. Look at it with `git show` or `git diff`; checked out in this folder, its files would change with every exchange.",
        )
        .args([
            branch.required(true),
            option("message", "TEXT", "The message; default: \"Records of the team's log\""),
        ])
        .after_help("Example:\n  twining sync commit --branch twining/records")
}

/// Runs it, or one of the commands below it: `called` is what was typed.
pub(crate) fn sync(
    called: &str,
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    match called.strip_prefix("sync ").unwrap_or_default() {
        "commit" => commit(project, given, style),
        "refused" => Ok(show_refused(&refused_lines(project)?, style)),
        "retry" => retry(project, given, style),
        "drop" => drop_refused(project, given, style),
        _ => exchange(project, style),
    }
}

/// Sends and receives now.
fn exchange(project: &Project, style: OutputFormat) -> Result<ExitStatus, CommandError> {
    let store = project.engine.store();
    if !store.outbox().is_linked()? {
        return Err(CommandError::unavailable("NOT_LINKED", "this folder is not linked to a team")
            .with_hint("`twining link URL` links it"));
    }
    let Some(link) = TeamLink::of(store) else {
        return Err(CommandError::unavailable("NOT_LINKED", NO_SETTINGS).with_hint(LINK_AGAIN));
    };
    let log = link.asking()?;
    let before = store.follower().position()?;
    let exchanged = lost_records::follow_again_if_lost(store, &log).and_then(|(is_lost, first)| {
        let rest = store.outbox().deliver(&log)?;
        let delivery =
            Delivery { sent: first.sent + rest.sent, refused: first.refused + rest.refused };
        store.follower().follow_with(&log)?;
        link.follow_claims(&log)?;
        lost_records::remember_counts(store)?;
        Ok((delivery, is_lost))
    });
    link.note(&exchanged.as_ref().map(drop).map_err(copy_of));
    let (delivery, is_lost) = exchanged?;
    let received = store.follower().position()?.saturating_sub(before);
    let refused = store.outbox().refused()?;
    let state = store.outbox().state()?;
    let demoted = demoted_decisions(store)?;
    let answer = json!({
        "sent": delivery.sent, "refused": delivery.refused, "received": received,
        "waiting": state.waiting, "position": before + received, "followed_again": is_lost,
        "refused_lines": refused.iter().map(line_json).collect::<Vec<_>>(),
        "demoted": demoted.iter().map(DemotedDecision::to_json).collect::<Vec<_>>(),
    });
    let show = |page: &mut TextPage| {
        let (sent, received) = (count(delivery.sent as u64, "line"), count(received, "line"));
        let label = if refused.is_empty() { good("synced:") } else { warn("synced, but not all:") };
        page.line([label, dim(format!("sent {sent}, received {received}"))]);
        if is_lost {
            page.line([dim(
                "git had removed records from this folder; they are back from the log",
            )]);
        }
        show_demoted(page, &demoted);
        show_lines(page, &refused);
    };
    let ending = if refused.is_empty() { ExitStatus::Done } else { ExitStatus::FoundProblems };
    Ok(output::answer(style, || answer, show, ending))
}

fn retry(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let keys = chosen_keys(project, given)?;
    project.engine.store().outbox().retry_refused(&keys)?;
    exchange(project, style)
}

fn drop_refused(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    if let Some(why) = person_check::agent_shell() {
        let why = format!("only a person gives up what was not shared, and {why}");
        return Err(person_check::required(&why));
    }
    let keys = chosen_keys(project, given)?;
    if keys.is_empty() && !given.get_flag("all") {
        return Err(CommandError::misuse("name the changes to give up, or all of them with --all")
            .with_hint("`twining sync refused` shows them"));
    }
    let store = project.engine.store();
    let has_all = !lost_records::has_lost_records(store)?;
    let dropped = store.outbox().drop_refused(&keys)?;
    // What the team did meanwhile to the decisions that were changed here may be missing.
    lost_records::follow_again_next(store);
    if has_all {
        // Announcements that were taken back are not lost.
        lost_records::remember_counts(store)?;
    }
    Ok(output::answer(
        style,
        || json!({ "dropped": dropped }),
        |page| {
            let lines = count(dropped as u64, "change");
            page.line([
                good(format!("gave up {lines}:")),
                dim("decisions are as before it, new records stay in this folder alone"),
            ]);
            page.line([dim("`twining link` sends what the log lacks, and so these too")]);
        },
        ExitStatus::Done,
    ))
}

/// The keys that were given; each is of a refused line.
fn chosen_keys(project: &Project, given: &ArgMatches) -> Result<Vec<Id>, CommandError> {
    let refused = refused_lines(project)?;
    let given = given.get_many::<String>("key").into_iter().flatten();
    given
        .map(|key| {
            let known = refused.iter().find(|one| one.line.key.as_str() == key);
            known.map(|one| one.line.key.clone()).ok_or_else(|| {
                CommandError::refused(
                    &InvalidInput::new("key", "must be of a refused change")
                        .because(format!("`{}` is none", text::excerpt(key, 40))),
                )
                .with_hint("`twining sync refused` shows them")
            })
        })
        .collect()
}

fn refused_lines(project: &Project) -> Result<Vec<RefusedLine>, CommandError> {
    Ok(project.engine.store().outbox().refused()?)
}

fn show_refused(refused: &[RefusedLine], style: OutputFormat) -> ExitStatus {
    output::answer(
        style,
        || json!({ "refused_lines": refused.iter().map(line_json).collect::<Vec<_>>() }),
        |page| {
            if refused.is_empty() {
                page.line([good("the log refused nothing")]);
            }
            show_lines(page, refused);
        },
        ExitStatus::Done,
    )
}

fn show_lines(page: &mut TextPage, refused: &[RefusedLine]) {
    if refused.is_empty() {
        return;
    }
    page.heading(format!("Refused: {}", count(refused.len() as u64, "change")));
    for one in refused {
        let at = one.line.at.to_string();
        page.line([plain(one.line.key.as_str()), when(&at), plain(what_of(&one.line.change))]);
        page.line([dim("  because"), warn(&one.reason)]);
    }
    page.line([dim("send again:"), plain("twining sync retry [KEY…]")]);
    page.line([dim("give up:   "), plain("twining sync drop KEY… (or --all)")]);
}

fn line_json(one: &RefusedLine) -> Value {
    json!({
        "key": one.line.key, "at": one.line.at.to_string(), "what": what_of(&one.line.change),
        "reason": one.reason,
    })
}

/// Puts the state of the records on a branch.
fn commit(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let text_of = |name| given.get_one::<String>(name).map(String::as_str);
    let branch = text_of("branch").unwrap_or_default();
    let store = project.engine.store();
    let made = store.installation().with_settled_files(|folder| {
        let state = BranchCommit {
            branch,
            paths: &record_paths(),
            message: text_of("message").unwrap_or(MESSAGE),
            scratch_index: folder.join("local").join(SCRATCH_INDEX),
        };
        Ok(Git::at(&store.location().project).commit_to_branch(&state))
    })?;
    let commit = made.map_err(|error| commit_error(&error))?;
    Ok(output::answer(
        style,
        || json!({ "branch": branch, "commit": commit }),
        |page| match &commit {
            Some(commit) => {
                page.line([good("committed"), plain(commit), dim("to"), place(branch)]);
                page.line([dim("look at it:"), plain(format!("git show --stat {branch}"))]);
            }
            None => page.line([place(branch), dim("has this state already")]),
        },
        ExitStatus::Done,
    ))
}

fn commit_error(error: &BranchCommitError) -> CommandError {
    let (code, hint) = match error {
        BranchCommitError::NoRepository => ("NOT_FOUND", "run it inside a git repository"),
        BranchCommitError::BadName(_) => ("INVALID_INPUT", "give a name such as twining/records"),
        BranchCommitError::CheckedOut { .. } => {
            ("CHECKED_OUT", "name a branch of its own, such as twining/records")
        }
        BranchCommitError::Git(_) => {
            ("GIT_ERROR", "nothing was changed; fix the cause and try again")
        }
    };
    CommandError::of_error(code, error).with_hint(hint)
}

/// The records, from the project's folder.
pub(super) fn record_paths() -> Vec<String> {
    RECORD_PATHS.iter().map(|path| format!(".twining/{}", path.trim_matches('/'))).collect()
}

/// The same error once more, for whoever remembers it.
pub(super) fn copy_of(error: &StoreError) -> StoreError {
    match error {
        StoreError::Log(error) => error.clone().into(),
        error => StoreError::Damaged { what: error.to_string() },
    }
}
