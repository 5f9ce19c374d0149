//! What is to be known of a file or a definition beside its decisions and warnings: the rules on
//! it, what shows that it works, what was stopped there, its commits, and where it was before.
//!
//! Every section is short, and left out if there is nothing in it.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use twining_code::Definition;
use twining_model::{Place, Scope, Time, Trace};
use twining_store::code::{CodeIndex, CodeVersion};
use twining_store::git::FileCommit;

use crate::anchors::{GivenPlace, named_place};
use crate::decisions::{RenameHistory, WhyOutcome};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::governance::UserPolicy;
use crate::workflow::{Feature, FeatureStatus};

/// What is listed of each kind.
const MAX_LISTED: usize = 5;
/// Commits of a file that are looked at for those that touched a definition.
const COMMITS_EXAMINED: usize = 20;
/// How long earlier ones are looked at.
const EARLIER_TIME: Duration = Duration::from_millis(150);
/// Characters of a line.
const LINE_CHARS: usize = 120;

/// A guard whose paths name the file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyRule {
    /// Its name.
    pub id: String,
    /// What it says.
    pub say: String,
}

/// A feature that has the file, and what showed that it works.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyEvidence {
    /// The feature.
    pub feature: String,
    /// Its status.
    pub status: FeatureStatus,
    /// The run that showed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Something that was stopped here.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyTrace {
    /// The trace.
    pub id: String,
    /// When.
    pub timestamp: String,
    /// What was tried.
    pub what: String,
    /// The guard that stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
}

/// A commit that changed the definition, or the file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyCommit {
    /// Its hash.
    pub commit: String,
    /// When.
    pub timestamp: String,
    /// Its first line.
    pub subject: String,
    /// The pull request that the line names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<String>,
    /// A decision that is linked with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// Where the code of a record, or the file itself, was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WhyMove {
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
    /// The record, if it is its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What else is to be known of a file or a definition, at most 5 of each.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct WhySections {
    /// Guards whose paths name the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<WhyRule>,
    /// Features that have the file, and the runs that showed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<WhyEvidence>,
    /// What guards stopped here, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<WhyTrace>,
    /// Commits that changed the definition that was asked for; of a file those that are linked
    /// with its decisions, and the last that touched it. The newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<WhyCommit>,
    /// Where it was before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<WhyMove>,
}

impl Engine {
    /// What else bears on a scope that is a file or a definition; nothing for a folder.
    pub fn why_sections(
        &self,
        user: &UserPolicy,
        asked: &str,
        explained: &WhyOutcome,
        moves: &RenameHistory,
    ) -> Result<WhySections, Failure> {
        let given = GivenPlace::read(asked);
        let Ok(scope) = Scope::parse("scope", given.path, self.store().root()) else {
            return Ok(WhySections::default());
        };
        let mut sections =
            WhySections { moved: moved(&scope, explained, moves), ..WhySections::default() };
        let Some(code) = self.code().filter(|code| code.has_file(scope.as_str())) else {
            return Ok(sections);
        };
        let rules = self.guards_naming(user, scope.as_str()).into_iter().take(MAX_LISTED);
        sections.rules = rules.map(|(id, say)| WhyRule { id, say: line(&say) }).collect();
        sections.evidence = self.evidence_on(&scope);
        sections.traces = self.stopped_at(scope.as_str())?;
        if given.name.is_none() {
            sections.commits = commits_of_file(code, scope.as_str(), explained);
        } else if let Ok(place) = named_place(code, asked, self.store().root()) {
            sections.commits = commits_of(code, &place, explained)?;
        }
        if let CodeVersion::Commit(asked) = self.code_version() {
            let is_before = |commit: &WhyCommit| code.git().is_before(&commit.commit, asked);
            sections.commits.retain(is_before);
        }
        Ok(sections)
    }

    /// A list that cannot be read shows nothing here; `features` says why.
    fn evidence_on(&self, scope: &Scope) -> Vec<WhyEvidence> {
        let list = self.feature_list().ok().and_then(|(_, list)| list).unwrap_or_default();
        let folding = self.store().folding();
        let has_it = |feature: &&Feature| {
            feature.files.iter().any(|file| Scope::read(file).covers(scope, folding))
        };
        let filled = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let shown = |feature: &Feature| WhyEvidence {
            feature: feature.id.clone(),
            status: feature.status,
            run: feature.verified_by.as_ref().and_then(|by| filled(&by.run)),
            command: feature.verified_by.as_ref().and_then(|by| filled(&by.command)),
        };
        list.features.iter().filter(has_it).take(MAX_LISTED).map(shown).collect()
    }

    fn stopped_at(&self, path: &str) -> Result<Vec<WhyTrace>, Failure> {
        let mut found: Vec<WhyTrace> = Vec::new();
        self.store().traces().each(&mut |seen| {
            let names_it = std::str::from_utf8(seen.line).is_ok_and(|line| line.contains(path));
            if names_it
                && let Ok(trace) = serde_json::from_slice::<Trace>(seen.line)
                && trace.blocked
                && trace.action.as_deref().is_some_and(|action| names(action, path))
            {
                let what = line(trace.action.as_deref().unwrap_or_default());
                let (id, timestamp, guard) = (trace.id, trace.timestamp, trace.guard);
                found.push(WhyTrace { id, timestamp, what, guard });
            }
            true
        })?;
        found.sort_by(|a, b| b.timestamp.cmp(&a.timestamp));
        found.truncate(MAX_LISTED);
        Ok(found)
    }
}

/// Whether a path stands in a text as it is, and not as the end of a longer one.
fn names(text: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + path.len()..].chars().next();
        before.is_none_or(|c| !is_part(c) || c == '/') && after.is_none_or(|c| !is_part(c))
    })
}

fn line(text: &str) -> String {
    fields::shorten(text.lines().next().unwrap_or_default(), LINE_CHARS)
}

/// Former names of the file, and former places of the code of what is listed.
fn moved(scope: &Scope, explained: &WhyOutcome, moves: &RenameHistory) -> Vec<WhyMove> {
    let files = moves.former_names(scope).into_iter().map(|(from, _)| WhyMove {
        from,
        to: scope.to_string(),
        id: None,
    });
    let decisions = explained.decisions.iter().map(|listed| (listed.id.to_string(), &listed.code));
    let warnings = explained.warnings.iter().map(|listed| (listed.id.clone(), &listed.code));
    let records = decisions.chain(warnings).filter_map(|(id, code)| {
        let code = code.as_ref()?;
        Some(WhyMove { from: code.moved_from.clone()?, to: code.at.clone(), id: Some(id) })
    });
    files.chain(records).take(MAX_LISTED).collect()
}

/// The commits in which a definition became another, by what the file was at each. If the latest did
/// not change it, the ones before are looked at, as long as there is time.
fn commits_of(
    code: &CodeIndex,
    place: &Place,
    explained: &WhyOutcome,
) -> Result<Vec<WhyCommit>, Failure> {
    let until = Instant::now() + EARLIER_TIME;
    let mut examined = COMMITS_EXAMINED;
    let mut commits = code.git().commits_touching(place.path(), COMMITS_EXAMINED + 1);
    let mut versions: Vec<Option<Definition>> = Vec::new();
    loop {
        let new = commits.iter().skip(versions.len());
        let names = new.map(|commit| format!("{}:./{}", commit.hash, place.path()));
        for bytes in code.git().blobs(&names.collect::<Vec<_>>()) {
            let version = bytes.map(|bytes| code.version(place.path(), bytes)).transpose()?;
            versions.push(version.and_then(|version| version.source.file.at(place).cloned()));
        }
        let is_whole = commits.len() <= examined;
        let found = changes(&commits, &versions, is_whole);
        if !found.is_empty() || is_whole || Instant::now() >= until {
            let found = found.into_iter().map(|commit| {
                let at = Time::from_ms(commit.seconds.saturating_mul(1000));
                why_commit(&commit.hash, at, &commit.subject, explained)
            });
            return Ok(found.collect());
        }
        examined *= 2;
        commits = code.git().commits_touching(place.path(), examined + 1);
    }
}

/// The commits before which a definition was another, the newest first. The last one counts only if
/// there is none before it.
fn changes<'c>(
    commits: &'c [FileCommit],
    versions: &[Option<Definition>],
    is_whole: bool,
) -> Vec<&'c FileCommit> {
    let is_change = |at: usize| match (versions.get(at), versions.get(at + 1)) {
        (Some(Some(now)), Some(Some(before))) => !now.is_same_code(before),
        (Some(None), None | Some(None)) | (None, _) => false,
        (Some(Some(_)), None) => is_whole,
        (Some(_), Some(_)) => true,
    };
    let changed = commits.iter().enumerate().filter(|(at, _)| is_change(*at));
    changed.map(|(_, commit)| commit).take(MAX_LISTED).collect()
}

/// The commits that are linked with what is listed, and the last ones that touched a file.
fn commits_of_file(code: &CodeIndex, path: &str, explained: &WhyOutcome) -> Vec<WhyCommit> {
    let mut found: Vec<WhyCommit> = Vec::new();
    for commit in code.git().commits_touching(path, MAX_LISTED) {
        let at = Time::from_ms(commit.seconds.saturating_mul(1000));
        found.push(why_commit(&commit.hash, at, &commit.subject, explained));
    }
    let in_force = explained.decisions.iter().filter(|listed| listed.status.binds());
    let mut linked: Vec<&String> = in_force.flat_map(|listed| &listed.commit_hashes).collect();
    linked.retain(|hash| found.iter().all(|known| !known.commit.starts_with(hash.as_str())));
    let linked = linked.into_iter().take(MAX_LISTED).filter_map(|hash| code.git().commit(hash));
    let mut linked: Vec<WhyCommit> = linked
        .map(|commit| why_commit(&commit.hash, commit.at, &commit.subject, explained))
        .collect();
    // One of another branch, or from before a rebase, did nothing to this file.
    let hashes: Vec<String> = linked.iter().map(|commit| commit.commit.clone()).collect();
    if !hashes.is_empty() {
        let elsewhere = code.git().not_in_head(&hashes);
        linked.retain(|commit| !elsewhere.contains(&commit.commit));
    }
    // What a decision is linked with says more than what came last.
    let is_unlinked = |commit: &WhyCommit| commit.decision.is_none();
    while found.len() + linked.len() > MAX_LISTED
        && let Some(last) = found.iter().rposition(is_unlinked)
    {
        found.remove(last);
    }
    found.extend(linked);
    found.sort_by(|a, b| b.timestamp.cmp(&a.timestamp));
    found.dedup_by(|a, b| a.commit == b.commit);
    found.truncate(MAX_LISTED);
    found
}

fn why_commit(hash: &str, at: Time, subject: &str, explained: &WhyOutcome) -> WhyCommit {
    let linked = explained
        .decisions
        .iter()
        .find(|listed| listed.commit_hashes.iter().any(|linked| hash.starts_with(linked.as_str())));
    WhyCommit {
        commit: hash.to_owned(),
        timestamp: at.to_string(),
        pull_request: pull_request(subject),
        subject: line(subject),
        decision: linked.map(|listed| listed.id.to_string()),
    }
}

/// `#123` of a subject that ends with `(#123)`.
fn pull_request(subject: &str) -> Option<String> {
    let (_, number) = subject.trim_end().strip_suffix(')')?.rsplit_once("(#")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("#{number}"))
}

#[cfg(test)]
mod tests {
    use twining_testcases::each;

    use super::*;

    #[test]
    fn a_pull_request_is_named_at_the_end_of_a_subject() {
        let cases = [
            ("Hash slower (#123)", Some("#123")),
            ("Hash slower (#12a)", None),
            ("Revert (#1) at once", None),
            ("(#)", None),
        ];
        each(cases, |(subject, wanted)| {
            assert_eq!(pull_request(subject).as_deref(), wanted, "{subject}");
        });
    }

    #[test]
    fn a_path_is_named_as_a_whole() {
        let cases = [
            ("Edit: src/a.rs", true),
            ("Edit: /home/x/src/a.rs", true),
            ("Bash: rm src/a.rs", true),
            ("Edit: src/a.rs.bak", false),
            ("Edit: lib-src/a.rs", false),
        ];
        each(cases, |(action, wanted)| {
            assert_eq!(names(action, "src/a.rs"), wanted, "{action}");
        });
    }
}
