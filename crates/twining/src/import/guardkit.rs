//! `twining import guardkit`: another tool's settings as a policy of ours.

use serde_json::json;
use twining_engine::governance::{
    GUARDKIT_GATES, GUARDKIT_OVERRIDES, PolicyImport, import_guardkit,
};
use twining_model::limits;
use twining_store::{TextFile, disk};

use crate::default_policy::POLICY;
use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{dim, good, place, plain, warn};

/// What to do with the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyOutput {
    /// Write it.
    Write,
    /// Print it.
    Print,
}

/// Makes a policy of GuardKit's files. One that is there already is left alone:
/// it may hold comments and guards that no rewrite would keep.
pub(super) fn guardkit(
    project: &Project,
    aim: PolicyOutput,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let imported = import_guardkit(
        read(project, GUARDKIT_OVERRIDES)?.as_deref(),
        read(project, GUARDKIT_GATES)?.as_deref(),
    );
    if imported.files.is_empty() {
        let message = format!(
            "there is neither `{GUARDKIT_OVERRIDES}` nor `{GUARDKIT_GATES}` in this project"
        );
        return Err(CommandError::of_error("NOT_FOUND", &std::io::Error::other(message)));
    }
    if aim == PolicyOutput::Print {
        let ending = output::answer(
            style,
            || answer(&imported, false),
            |page| page.verbatim(&imported.text),
            ExitStatus::Done,
        );
        // The output may be piped into a file; what was left out is reported to the user on stderr.
        if style == OutputFormat::Words {
            for mistake in &imported.mistakes {
                output::warn_about(&CommandError::of_error(
                    "LEFT_OUT",
                    &std::io::Error::other(format!("left out: {mistake}")),
                ));
            }
        }
        return Ok(ending);
    }
    let store = project.engine.store();
    let is_there = store.documents().policy()? == TextFile::Text(imported.text.clone());
    if !is_there && !imported.text.is_empty() && !project.engine.create_policy(&imported.text)? {
        let error =
            std::io::Error::other(format!("`{POLICY}` already exists and was not overwritten"));
        let hint = "`twining import guardkit --print` shows what to add to it";
        return Err(CommandError::of_error("ALREADY_EXISTS", &error).with_hint(hint));
    }
    let written = !is_there && !imported.text.is_empty();
    Ok(output::answer(
        style,
        || answer(&imported, written),
        |page| {
            match written {
                true => page.line([
                    good("written"),
                    place(POLICY),
                    dim(format!("from {}", imported.files.join(" and "))),
                ]),
                false => page.line([place(POLICY), dim("already contains all of it")]),
            }
            imported
                .mistakes
                .iter()
                .for_each(|mistake| page.line([warn("left out:"), plain(mistake.to_string())]));
        },
        ExitStatus::Done,
    ))
}

fn answer(imported: &PolicyImport, written: bool) -> serde_json::Value {
    json!({ "path": POLICY, "written": written, "files": imported.files, "policy": imported.text, "mistakes": imported.mistakes })
}

fn read(project: &Project, path: &str) -> Result<Option<String>, CommandError> {
    let bytes = disk::read_inside(&project.located.checkout, path, limits::POLICY_BYTES)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
