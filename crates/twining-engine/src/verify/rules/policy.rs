//! Rule 4: neither the policy nor the wiring becomes milder, unless somebody approved it.

use std::collections::BTreeMap;

use twining_store::PolicyFile;

use crate::governance::UserPolicy;
use crate::governance::yaml::{self, Node, Value};
use crate::guards::{Guards, NoClauses, NoEvidence, Trial};
use crate::verify::finding::{CiFinding, Severity};
use crate::verify::pull_request::{ChangedFile, PullRequest};

const RULE: &str = "policy";
const POLICY: &str = ".twining/policy.yml";

/// Files that call Twining, or say who reviews its files: hosts, hooks of git, CI.
const WIRING: [&str; 15] = [
    ".claude/settings.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".gitlab-ci.yml",
    "CODEOWNERS",
    "docs/CODEOWNERS",
    ".github/CODEOWNERS",
    ".github/hooks/",
    ".github/workflows/",
    ".husky/",
    ".githooks/",
];

/// Settings with an order, from lenient to strict.
const LADDERS: [(&str, &[&str]); 2] = [("tested_needs", &["told", "seen", "ci"]), ("on_unreadable", &["allow", "warn", "ask", "block"])];

pub(in crate::verify) fn check(request: &PullRequest<'_>, is_approved: bool) -> Vec<CiFinding> {
    let policy = request.changed_at(POLICY).into_iter().flat_map(|file| {
        let (before, after) = (file.text_before().unwrap_or_default(), file.text_after().unwrap_or_default());
        weakened(before, after).into_iter().chain(lowered(before, after)).map(|why| (POLICY.to_owned(), why)).collect::<Vec<_>>()
    });
    let is_wiring = |path: &str| WIRING.iter().any(|known| path == *known || (known.ends_with('/') && path.starts_with(known)));
    let wired = request.changed.iter().filter(|file| file.old_path.as_deref().is_some_and(is_wiring) || is_wiring(file.name()));
    let wiring = wired.filter_map(|file| Some((file.name().to_owned(), unwired(file)?)));
    let severity = if is_approved { Severity::Note } else { Severity::Error };
    let way = if is_approved { "Approved with --approve policy." } else { "Restore it, or have a code owner approve: `--approve policy`." };
    policy.chain(wiring).map(|(path, why)| CiFinding::at(RULE, severity, &path, &format!("{why}. {way}"))).collect()
}

/// The guard of the project that no longer holds as it did.
fn weakened(before: &str, after: &str) -> Option<String> {
    let builtin = Guards::load(&UserPolicy::default(), &PolicyFile::Missing, &NoClauses, Trial::KnownGood);
    let told = builtin.slipped(POLICY, before, Some(after), &NoEvidence)?;
    // Without the guard that says so here, and the file that is named beside it.
    Some(told.split_once("was changed: ").map_or(told.clone(), |(_, why)| format!("the policy is milder: {why}")))
}

/// Thresholds and settings of the policy that went down.
pub(in crate::verify) fn lowered(before: &str, after: &str) -> Vec<String> {
    let (was, is) = (settings(before), settings(after));
    let lower = was.iter().filter_map(|(key, old)| {
        let new = is.get(key);
        let name = key.rsplit('.').next().unwrap_or(key);
        let is_lower = match (old, new) {
            (Value::Number(old), Some(Value::Number(new))) => key.starts_with("gates.") && new < old,
            (Value::Bool(true), Some(Value::Bool(false))) => key.starts_with("gates.") && name.ends_with("required"),
            (Value::Text(old), new) => {
                let (_, ladder) = LADDERS.iter().find(|(known, _)| *known == name)?;
                let step = |word: &str| ladder.iter().position(|known| *known == word);
                let now = if let Some(Value::Text(new)) = new { step(new) } else { None };
                step(old) > now
            }
            _ => false,
        };
        is_lower.then(|| format!("the policy is milder: `{key}` went down"))
    });
    lower.collect()
}

/// Every value of a policy under the names that lead to it.
fn settings(text: &str) -> BTreeMap<String, Value> {
    fn walk(name: &str, node: &Node, found: &mut BTreeMap<String, Value>) {
        match &node.value {
            Value::Map(members) => members.iter().for_each(|(key, node)| walk(&format!("{name}.{}", key.name), node, found)),
            Value::List(elements) => (0..).zip(elements).for_each(|(at, node): (usize, _)| walk(&format!("{name}.{at}"), node, found)),
            value => drop(found.insert(name.to_owned(), value.clone())),
        }
    }
    let mut found = BTreeMap::new();
    yaml::read(text).0.iter().for_each(|(key, node)| walk(&key.name, node, &mut found));
    found
}

/// Why a file that calls Twining calls it less.
fn unwired(file: &ChangedFile) -> Option<String> {
    let (before, after) = (file.text_before().unwrap_or_default(), file.text_after().unwrap_or_default());
    let calls = |text: &str| text.matches("twining").count();
    let is_off = |text: &str| text.replace([' ', '\t', '\n', '\r'], "").contains("\"disableAllHooks\":true");
    if is_off(after) && !is_off(before) {
        return Some("it turns all hooks off".to_owned());
    }
    (calls(after) < calls(before)).then(|| "it names twining in fewer places than before".to_owned())
}
