//! `twining seed`: the defaults written out, for a person to edit.

use serde_json::json;
use twining_engine::governance::DEFAULT_POLICY;

use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{dim, good, place};

/// The file, as people call it.
pub(crate) const POLICY: &str = ".twining/policy.yml";

/// Writes the project's policy unless there is one. A second time nothing changes.
pub(crate) fn write(project: &Project, style: OutputFormat) -> Result<ExitStatus, CommandError> {
    let written = project.engine.create_policy(DEFAULT_POLICY)?;
    Ok(output::answer(
        style,
        || json!({ "path": POLICY, "written": written }),
        |page| match written {
            true => page.line([
                good("written:"),
                place(POLICY),
                dim("(edit it; whatever you remove falls back to the built-in default)"),
            ]),
            false => page.line([place(POLICY), dim("already exists and was not changed")]),
        },
        ExitStatus::Done,
    ))
}
