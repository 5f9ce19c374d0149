//! lcov's tracefile: lines by file, each counted once however often it is listed.

use std::collections::{BTreeMap, HashMap};

use super::read::{LineCounts, ReportProblem};

/// What is known of a source file.
#[derive(Default)]
struct FileCoverage {
    /// Each line, and whether it ran.
    lines: HashMap<u32, bool>,
    /// The totals it states.
    stated: LineCounts,
}

/// Counts the lines of a tracefile; `None` if this is none.
pub(super) fn read(text: &str) -> Result<Option<LineCounts>, ReportProblem> {
    let mut files: BTreeMap<&str, FileCoverage> = BTreeMap::new();
    let mut source: Option<&str> = None;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if number == 0
            && !(line.starts_with("TN:") || line.starts_with("SF:") || line.starts_with('#'))
        {
            return Ok(None);
        }
        match line.split_once(':') {
            Some(("SF", path)) => {
                source = Some(path);
                files.entry(path).or_default();
            }
            Some((key @ ("DA" | "LF" | "LH"), value)) => {
                let Some(file) = source.and_then(|path| files.get_mut(path)) else {
                    return Err(format!("has no file name before line {}", number + 1));
                };
                take(file, key, value).ok_or_else(|| {
                    format!("has no number where one is expected, in line {}", number + 1)
                })?;
            }
            None if line == "end_of_record" => source = None,
            _ => {}
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    if source.is_some() {
        return Err("is cut off: the last record has no end".to_owned());
    }
    if files.values().any(|file| file.stated.covered > file.stated.total) {
        return Err("reports more covered lines than total lines".to_owned());
    }
    let lines = files.values().fold(LineCounts::default(), |sum, file| {
        let own = if file.lines.is_empty() {
            file.stated
        } else {
            LineCounts {
                covered: file.lines.values().filter(|ran| **ran).count() as u64,
                total: file.lines.len() as u64,
            }
        };
        LineCounts {
            covered: sum.covered.saturating_add(own.covered.min(own.total)),
            total: sum.total.saturating_add(own.total),
        }
    });
    if lines.total == 0 { Err("measures no lines".to_owned()) } else { Ok(Some(lines)) }
}

fn take(file: &mut FileCoverage, key: &str, value: &str) -> Option<()> {
    if key == "DA" {
        let mut parts = value.split(',');
        let line: u32 = parts.next()?.trim().parse().ok()?;
        let hits: i64 = parts.next()?.trim().parse().ok()?;
        *file.lines.entry(line).or_default() |= hits > 0;
        return Some(());
    }
    let number: u64 = value.trim().parse().ok()?;
    match key {
        "LF" => file.stated.total = file.stated.total.max(number),
        _ => file.stated.covered = file.stated.covered.max(number),
    }
    Some(())
}
