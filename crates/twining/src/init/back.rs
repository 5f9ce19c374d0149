//! The way back: each file as it was before us, to the byte where that is known.
//!
//! A receipt knows; else what is ours is taken out, and nothing besides.

use std::path::{Path, PathBuf};

use super::piece::{FilePatch, PatchKind};
use super::receipt::{OriginalContent, Receipt};
use super::sheet::InstallPlan;
use super::{block, git};
use crate::problem::CommandError;

/// Takes a piece out of its file, if it is in it.
pub fn remove_patch(plan: &mut InstallPlan, receipt: &Receipt, patch: &FilePatch) -> Result<(), CommandError> {
    let FilePatch { file, within, part } = patch;
    if !within.is_dir() || !file.exists() {
        return Ok(());
    }
    // A link that leads out was never written to.
    let Ok(Some(text)) = plan.text(file, within) else { return Ok(()) };
    let ours = match part {
        // Nobody can tell whose it is, so it goes with the rest or not at all.
        PatchKind::Setting(..) => plan.is_changed(file, within),
        _ => part.is_in(&text),
    };
    if !ours {
        return Ok(());
    }
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    match (part, receipt.put_in(&real)) {
        (PatchKind::Block(marks, _), Some(put_in)) => {
            let taken = |text: Option<&str>| text.map_or(Ok(None), |text| block::take_with_gap(text, *marks, put_in));
            plan.edit(file, within, |text| Ok(taken(text).unwrap_or_else(|_| text.map(str::to_owned))))?;
        }
        _ => patch.take(plan)?,
    }
    // One that was there before us stays, even if nothing is left in it.
    if receipt.was_there(&real) {
        let empty = if real.extension().is_some_and(|ending| ending == "json") { "{}\n" } else { "" };
        plan.edit(file, within, |text| Ok(Some(text.unwrap_or(empty).to_owned())))?;
    }
    Ok(())
}

/// Restores to the byte what nobody touched since, but for what others need as it is.
pub fn restore(plan: &mut InstallPlan, receipt: &Receipt, patches: &[FilePatch], needed: &[PathBuf]) -> Result<(), CommandError> {
    let has_ours = |file: &Path, text: &str| patches.iter().any(|patch| patch.file == file && patch.part.is_in(text));
    let is_needed = |file: &&Path| needed.iter().any(|needed| needed == file);
    let files: Vec<PathBuf> = plan.files().filter(|file| !is_needed(file)).map(Path::to_owned).collect();
    for file in files {
        let Some(within) = file.parent().map(Path::to_owned) else { continue };
        let Ok(Some(now)) = std::fs::read_to_string(&file).map(Some) else { continue };
        match receipt.original(&file, &now) {
            OriginalContent::Unknown => {}
            OriginalContent::Absent => plan.edit(&file, &within, |_| Ok(None))?,
            // What was mended was ours already, in part: it is taken out, not brought back.
            OriginalContent::Text(text) if block::has_marker(&text) || git::has_driver(&text) || has_ours(&file, &text) => {}
            OriginalContent::Text(text) => plan.edit(&file, &within, |_| Ok(Some(text)))?,
        }
    }
    Ok(())
}
