//! The way back: each file as it was before us, to the byte where that is known.
//!
//! A receipt knows; else git may; else what is ours is taken out, and nothing besides.

use std::path::{Path, PathBuf};

use super::piece::{Part, Piece};
use super::receipt::{Original, Receipt};
use super::sheet::Sheet;
use super::{block, git};
use crate::desk::Project;
use crate::problem::Problem;

/// Where no receipt knows a file, what it was may still be proven: it is what `init`
/// makes of the committed one, or of none at all.
pub fn prove_back(sheet: &mut Sheet, receipt: &Receipt, project: &Project, pieces: &[Piece]) -> Result<(), Problem> {
    let mut files: Vec<(&Path, &Path)> = pieces.iter().map(|piece| (piece.file.as_path(), piece.within.as_path())).collect();
    files.dedup();
    for (file, within) in files {
        let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        if receipt.knows(&real) || !file.is_file() {
            continue;
        }
        let Ok(Some(now)) = sheet.text(file, within) else { continue };
        let parts: Vec<&Part> = pieces.iter().filter(|piece| piece.file == file).map(|piece| &piece.part).collect();
        if !parts.iter().any(|part| part.is_in(&now)) {
            continue;
        }
        let inside = real.strip_prefix(&project.located.checkout).ok().and_then(Path::to_str);
        let versions = inside.map(|path| project.history.versions(path)).unwrap_or_default();
        let is_ours = |text: &String| parts.iter().any(|part| part.is_in(text));
        let began_with_us = !versions.is_empty() && versions.iter().all(is_ours);
        let installed = |from: Option<&str>| {
            parts.iter().try_fold(from.map(str::to_owned), |text, part| part.put_into(text.as_deref()).map(Some)).flatten()
        };
        let without = versions.iter().find(|text| !is_ours(text));
        if let Some(text) = without.filter(|text| installed(Some(text)).as_ref() == Some(&now)) {
            sheet.edit(file, within, |_| Ok(Some(text.clone())))?;
        } else if installed(None).as_ref() == Some(&now) && without.is_none() {
            // Hosts make files with no server in them: such a one may have been there.
            let may_be_theirs = matches!(parts.as_slice(), [Part::Server { .. }]) && !began_with_us;
            let left = may_be_theirs.then(|| parts[0].emptied(&now)).flatten();
            if left.is_some() {
                sheet.note(format!("`{}` stays with no server in it: nobody knows whether it was there before", sheet.shown(file)));
            }
            sheet.edit(file, within, |_| Ok(left))?;
        }
    }
    Ok(())
}

/// Takes a piece out of its file, if it is in it.
pub fn take_back(sheet: &mut Sheet, receipt: &Receipt, piece: &Piece) -> Result<(), Problem> {
    let Piece { file, within, part } = piece;
    if !within.is_dir() || !file.exists() {
        return Ok(());
    }
    // A link that leads out was never written to.
    let Ok(Some(text)) = sheet.text(file, within) else { return Ok(()) };
    let ours = match part {
        // Nobody can tell whose it is, so it goes with the rest or not at all.
        Part::Setting(..) => sheet.is_changed(file, within),
        _ => part.is_in(&text),
    };
    if !ours {
        return Ok(());
    }
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let is_known = receipt.knows(&real);
    match (part, receipt.put_in(&real)) {
        (Part::Block(marks, _), Some(put_in)) => {
            let taken = |text: Option<&str>| text.map_or(Ok(None), |text| block::take_with_gap(text, *marks, put_in));
            sheet.edit(file, within, |text| Ok(taken(text).unwrap_or_else(|_| text.map(str::to_owned))))?;
        }
        _ => piece.take(sheet)?,
    }
    // Nobody knows whether it was there before us: nothing is taken but what is ours.
    if !is_known
        && sheet.text(file, within)?.is_none()
        && let Some(left) = part.emptied(&text)
    {
        sheet.edit(file, within, |_| Ok(Some(left)))?;
    }
    // One that was there before us stays, even if nothing is left in it.
    if receipt.was_there(&real) {
        let empty = if real.extension().is_some_and(|ending| ending == "json") { "{}\n" } else { "" };
        sheet.edit(file, within, |text| Ok(Some(text.unwrap_or(empty).to_owned())))?;
    }
    Ok(())
}

/// Restores to the byte what nobody touched since, but for what others need as it is.
pub fn restore(sheet: &mut Sheet, receipt: &Receipt, needed: &[PathBuf]) -> Result<(), Problem> {
    let is_needed = |file: &&Path| needed.iter().any(|needed| needed == file);
    let files: Vec<PathBuf> = sheet.files().filter(|file| !is_needed(file)).map(Path::to_owned).collect();
    for file in files {
        let Some(within) = file.parent().map(Path::to_owned) else { continue };
        let Ok(Some(now)) = std::fs::read_to_string(&file).map(Some) else { continue };
        match receipt.original(&file, &now) {
            Original::Unknown => {}
            Original::Absent => sheet.edit(&file, &within, |_| Ok(None))?,
            // What was mended was ours already, in part: it is taken out, not brought back.
            Original::Text(text) if block::has_marker(&text) || git::has_driver(&text) => {}
            Original::Text(text) => sheet.edit(&file, &within, |_| Ok(Some(text)))?,
        }
    }
    Ok(())
}
