//! What else a project wrote down that could be taken over: one line each for a
//! person to read. Nothing is imported by itself.

use std::fs;
use std::path::Path;

use twining_engine::governance::{GUARDKIT_GATES, GUARDKIT_OVERRIDES};

use super::block::{self, MarkerStyle};

/// Folders in which decision records usually lie.
const RECORDS: [&str; 6] = ["docs/adr", "docs/adrs", "docs/decisions", "docs/architecture/decisions", "doc/adr", "adr"];
/// Where beads keeps its issues.
const ISSUES: [&str; 2] = [".beads/issues.jsonl", ".beads/beads.jsonl"];
/// The usual names of the reference memory server's file.
const MEMORIES: [&str; 3] = ["memory.jsonl", ".memory.jsonl", "memory.json"];
/// Rules for agents.
const RULES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];
/// Larger files are not looked into for a hint.
const MOST_BYTES: u64 = 1024 * 1024;

/// A line for each thing that an import could take over.
pub fn imports(checkout: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in RECORDS {
        let records = fs::read_dir(checkout.join(folder)).into_iter().flatten().flatten();
        let count = records.filter(|entry| entry.path().extension().is_some_and(|kind| kind.eq_ignore_ascii_case("md"))).count();
        if count > 0 {
            let records = crate::page::count(count as u64, "decision record");
            found.push(format!("{folder}/ has {records}: `twining import adr {folder} --dry-run` shows what would come"));
        }
    }
    if [GUARDKIT_OVERRIDES, GUARDKIT_GATES].iter().any(|file| checkout.join(file).is_file()) {
        found.push(".guardkit/ has settings: `twining import guardkit --print` shows the policy they would make".to_owned());
    }
    for (files, source, what) in [(&ISSUES[..], "beads", "issues"), (&MEMORIES[..], "memory-jsonl", "a memory")] {
        let there = files.iter().find(|file| checkout.join(file).is_file());
        found.extend(there.map(|file| format!("{file} has {what}: `twining import {source} {file} --dry-run` shows what would come")));
    }
    for file in RULES {
        let rules = rules_in(&checkout.join(file));
        if rules > 0 {
            let rules = crate::page::count(rules, "rule");
            found.push(format!("{file} has {rules}: `twining import claude-md {file} --dry-run` shows what would become of them"));
        }
    }
    found
}

/// Points of a list outside of our own block. A link is another file's.
fn rules_in(file: &Path) -> u64 {
    let is_small = fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES);
    let text = if is_small { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    let theirs = block::take(&text, MarkerStyle::Markdown).ok().flatten().unwrap_or_default();
    theirs.lines().map(str::trim_start).filter(|line| line.starts_with("- ") || line.starts_with("* ")).count() as u64
}
