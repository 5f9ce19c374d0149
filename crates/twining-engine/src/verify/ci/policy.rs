//! Rule 4: neither the policy nor the wiring becomes milder, unless somebody approved it.

use std::collections::BTreeMap;

use twining_guard::checks::wiring::unwired;
use twining_guard::policy::policy_weakened;
use twining_guard::policy::yaml::{self, YamlNode, YamlValue};

use crate::verify::ci::pull_request::{ChangedFile, PullRequest};
use crate::verify::ci::report::{CiFinding, Severity};

const RULE: &str = "policy";
const POLICY: &str = ".twining/policy.yml";

/// Files that call Twining, or say who reviews its files: hosts, hooks of git, CI.
const WIRING: &str = ".claude/settings.json|.codex/hooks.json|.codex/config.toml|.gemini/settings.json|.cursor/hooks.json|\
    .pre-commit-config.yaml|lefthook.yml|.gitlab-ci.yml|CODEOWNERS|docs/CODEOWNERS|.github/CODEOWNERS|\
    .github/hooks/|.github/workflows/|.husky/|.githooks/";

/// Where the evidence is set that a feature needs, and its grades from weak to strong.
const CONFIG: &str = ".twining/config.yml";
const TESTED_NEEDS: &str = "workflow.tested_needs";
const GRADES: [&str; 3] = ["told", "seen", "ci"];

pub(in crate::verify) fn check(request: &PullRequest<'_>, is_approved: bool) -> Vec<CiFinding> {
    let settings =
        [POLICY, CONFIG].into_iter().filter_map(|path| Some((path, request.changed_at(path)?)));
    let policy = settings.flat_map(|(path, file)| {
        let (before, after) =
            (file.text_before().unwrap_or_default(), file.text_after().unwrap_or_default());
        let guard = if path == POLICY { policy_weakened(before, after) } else { None };
        let milder = guard.into_iter().chain(lowered(before, after));
        milder
            .map(|why| (path.to_owned(), format!("the policy is weaker: {why}")))
            .collect::<Vec<_>>()
    });
    let is_wiring = |path: &str| {
        WIRING
            .split('|')
            .any(|known| path == known || (known.ends_with('/') && path.starts_with(known)))
    };
    let wired = request
        .changed
        .iter()
        .filter(|file| file.old_path.as_deref().is_some_and(is_wiring) || is_wiring(file.name()));
    let wiring = wired.filter_map(|file| Some((file.name().to_owned(), stops_calling(file)?)));
    let severity = if is_approved { Severity::Note } else { Severity::Error };
    let way = if is_approved {
        "Approved with --approve policy."
    } else {
        "Restore it, or have a code owner approve: `--approve policy`."
    };
    policy
        .chain(wiring)
        .map(|(path, why)| CiFinding::at(RULE, severity, &path, &format!("{why}. {way}")))
        .collect()
}

/// Thresholds of gates that went down, or were switched off, and weaker evidence.
pub(in crate::verify) fn lowered(before: &str, after: &str) -> Vec<String> {
    let (was, is) = (settings(before), settings(after));
    let lower = was.iter().filter(|(key, old)| match (old, is.get(*key)) {
        (YamlValue::Number(old), Some(YamlValue::Number(new))) => {
            key.starts_with("gates.") && new < old
        }
        (YamlValue::Bool(true), Some(YamlValue::Bool(false))) => {
            key.starts_with("gates.") && key.ends_with("required")
        }
        (YamlValue::Text(old), new) if *key == TESTED_NEEDS => {
            let grade = |word: &str| GRADES.iter().position(|grade| *grade == word);
            let now = if let Some(YamlValue::Text(new)) = new { grade(new) } else { None };
            grade(old) > now
        }
        _ => false,
    });
    lower.map(|(key, _)| format!("`{key}` was lowered")).collect()
}

/// Every value of a policy under the names that lead to it.
fn settings(text: &str) -> BTreeMap<String, YamlValue> {
    fn walk(name: &str, node: &YamlNode, found: &mut BTreeMap<String, YamlValue>) {
        match &node.value {
            YamlValue::Map(members) => members
                .iter()
                .for_each(|(key, node)| walk(&format!("{name}.{}", key.name), node, found)),
            YamlValue::List(elements) => (0..)
                .zip(elements)
                .for_each(|(at, node): (usize, _)| walk(&format!("{name}.{at}"), node, found)),
            value => drop(found.insert(name.to_owned(), value.clone())),
        }
    }
    let mut found = BTreeMap::new();
    yaml::read(text).0.iter().for_each(|(key, node)| walk(&key.name, node, &mut found));
    found
}

/// How a file calls Twining less than it did.
fn stops_calling(file: &ChangedFile) -> Option<String> {
    unwired(
        file.name(),
        file.text_before().unwrap_or_default(),
        file.text_after().unwrap_or_default(),
    )
}
