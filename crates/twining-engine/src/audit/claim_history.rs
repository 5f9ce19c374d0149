//! What became of the things that documents name and the tree no longer has.
//!
//! A missing path counts as gone only if some commit removed it, and a missing name or script only
//! if it was there when the line that names it was written. What never was there is unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use twining_store::disk;
use twining_store::git::{Git, Removal, WordPlace};

use super::build_scripts::{BuildScripts, is_build_file};
use super::claim_checks::CheckedClaim;
use super::claims::{ClaimSubject, extension};
use super::commands::CommandNeed;
use super::documents::is_source;
use super::file_audit::AuditRequest;
use super::project_tree::{ProjectTree, candidates, is_end_of};
use super::report::ClaimVerdict;
use super::source_words::FoundWords;

/// How often a path is followed from one name to the next.
const HOPS: usize = 8;
/// Commits whose trees are looked into.
const MOST_TREES: usize = 24;
/// Commits whose sources are searched for names, the busiest first.
const SEARCHED_TREES: usize = 6;
/// Names for which the removing commit is looked up.
const DATED_NAMES: usize = 12;
/// Bytes of a document as it is in HEAD.
const DOCUMENT_BYTES: usize = 1024 * 1024;

/// Where something went, as far as commits say.
#[derive(Clone, Debug)]
pub(super) struct Departure {
    removal: Removal,
    to: Option<String>,
}

impl Departure {
    /// What became of it.
    pub(super) fn in_words(&self) -> String {
        let when = dated(&self.removal);
        match &self.to {
            Some(to) => format!("moved to `{to}` in {when}"),
            None => format!("was removed in {when}"),
        }
    }
}

/// Asks git what became of missing paths, scripts and targets. Gives when the lines of open claims
/// were written; none where git took too long to tell.
pub(super) fn check_history(
    claims: &mut [CheckedClaim],
    request: &AuditRequest<'_>,
    tree: &ProjectTree,
    scripts: &BuildScripts,
) -> Option<Written> {
    let git = request.git;
    let mut ages = DocumentAges::new(request);
    let is_complete = check_paths(claims, &mut ages, git, tree, candidate_paths);
    let written = Written::find(claims, request);
    let is_complete =
        check_paths(claims, &mut ages, git, tree, |checked, _| written.paths_then(checked))
            && is_complete;
    check_scripts(claims, git, scripts, &written);
    is_complete.then_some(written)
}

/// What a claim of a path may mean.
fn candidate_paths(checked: &CheckedClaim, tree: &ProjectTree) -> Vec<String> {
    let ClaimSubject::Path { path, .. } = &checked.claim.subject else { return Vec::new() };
    let mut found = candidates(checked.folder(), path);
    found.extend(tree.inside(path).map(|rest| rest.trim_end_matches('/').to_owned()));
    // A word without a dot may be a branch, a package or a unit; only an exact path counts.
    found.retain(|path| path.contains('/') || extension(path).is_some());
    found
}

/// Settles the paths that a commit removed.
fn check_paths(
    claims: &mut [CheckedClaim],
    ages: &mut DocumentAges<'_, '_>,
    git: &Git,
    tree: &ProjectTree,
    meant: impl Fn(&CheckedClaim, &ProjectTree) -> Vec<String>,
) -> bool {
    let open: Vec<(usize, Vec<String>)> = claims
        .iter()
        .enumerate()
        .filter(|(_, checked)| checked.verdict.is_none())
        .map(|(i, checked)| (i, meant(checked, tree)))
        .filter(|(_, paths)| !paths.is_empty())
        .collect();
    let asked: BTreeSet<String> = open.iter().flat_map(|(_, paths)| paths.clone()).collect();
    if asked.is_empty() {
        return true;
    }
    let asked: Vec<String> = asked.into_iter().collect();
    let ignored = git.ignored_of(&asked);
    let Some(departures) = departures(git, tree, &asked) else { return false };
    for (i, paths) in open {
        let Some(checked) = claims.get_mut(i) else { continue };
        if paths.iter().any(|path| ignored.contains(path)) {
            checked.settle(ClaimVerdict::Unknown, "git ignores it");
            continue;
        }
        let Some((path, departure)) =
            paths.iter().find_map(|path| Some((path, departures.get(path)?)))
        else {
            continue;
        };
        let is_gone = departure.to.is_none() && !checked.claim.is_certain;
        if is_gone && ages.is_after(&checked.document, &departure.removal.commit) {
            checked.settle(ClaimVerdict::Unknown, "it went before this file was there");
            continue;
        }
        let when = dated(&departure.removal);
        checked.commit = Some(departure.removal.commit.clone());
        match &departure.to {
            Some(to) => {
                checked.to = Some(to.clone());
                checked.settle(ClaimVerdict::Moved, format!("moved to `{to}` in {when}"));
            }
            None => {
                let near = tree.namesake(path);
                let near = near.map(|near| format!("; `{near}` has that name")).unwrap_or_default();
                checked.settle(ClaimVerdict::Gone, format!("removed in {when}{near}"));
            }
        }
    }
    true
}

/// The commits that documents are from.
struct DocumentAges<'r, 'a> {
    request: &'r AuditRequest<'a>,
    first: BTreeMap<String, Option<String>>,
}

impl<'r, 'a> DocumentAges<'r, 'a> {
    fn new(request: &'r AuditRequest<'a>) -> Self {
        Self { request, first: BTreeMap::new() }
    }

    /// Whether a document came after a commit: what that commit removed is an example there, or the
    /// past. Not if there is no time to tell.
    fn is_after(&mut self, document: &str, commit: &str) -> bool {
        if !self.first.contains_key(document) && (self.request.is_time_up)() {
            return false;
        }
        let git = self.request.git;
        let first = self.first.entry(document.to_owned());
        let first = first.or_insert_with(|| git.first_commit_of(document));
        first.as_ref().is_some_and(|first| first != commit && git.is_before(commit, first))
    }
}

/// Follows paths from the commit that removed them to where they are now.
pub(super) fn departures(
    git: &Git,
    tree: &ProjectTree,
    paths: &[String],
) -> Option<BTreeMap<String, Departure>> {
    let mut found: BTreeMap<String, Departure> = BTreeMap::new();
    // Each path that is still on its way, and those that asked for it.
    let mut under_way: BTreeMap<String, Vec<String>> =
        paths.iter().map(|path| (path.clone(), vec![path.clone()])).collect();
    let mut renames: HashMap<String, Vec<(String, String)>> = HashMap::new();
    for _ in 0..HOPS {
        let asked: Vec<String> = under_way.keys().cloned().collect();
        let mut next: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, removal) in git.removals(&asked)? {
            let renames = renames
                .entry(removal.commit.clone())
                .or_insert_with(|| git.renames_in(&removal.commit));
            let to = renamed_to(&path, renames);
            let askers = under_way.remove(&path).unwrap_or_default();
            match to {
                Some(to) if tree.has(&to) => {
                    for asker in askers {
                        found.insert(
                            asker,
                            Departure { removal: removal.clone(), to: Some(to.clone()) },
                        );
                    }
                }
                Some(to) => {
                    for asker in &askers {
                        found.insert(
                            asker.clone(),
                            Departure { removal: removal.clone(), to: None },
                        );
                    }
                    next.entry(to).or_default().extend(askers);
                }
                None => {
                    for asker in askers {
                        found.insert(asker, Departure { removal: removal.clone(), to: None });
                    }
                }
            }
        }
        if next.is_empty() {
            break;
        }
        under_way = next;
    }
    Some(found)
}

/// What a commit renamed a file to; a folder, where most of what it renamed of it went to one place.
fn renamed_to(path: &str, renames: &[(String, String)]) -> Option<String> {
    if let Some((_, to)) = renames.iter().find(|(from, _)| from == path) {
        return Some(to.clone());
    }
    let mut targets: BTreeMap<&str, usize> = BTreeMap::new();
    let mut moved = 0;
    for (from, to) in renames {
        let Some(inner) = from.strip_prefix(path).and_then(|inner| inner.strip_prefix('/')) else {
            continue;
        };
        moved += 1;
        if let Some(folder) = to.strip_suffix(inner).and_then(|folder| folder.strip_suffix('/')) {
            *targets.entry(folder).or_default() += 1;
        }
    }
    let (folder, number) = targets.into_iter().max_by_key(|(_, number)| *number)?;
    (number * 4 >= moved * 3).then(|| folder.to_owned())
}

fn dated(removal: &Removal) -> String {
    let hash: String = removal.commit.chars().take(9).collect();
    let day: String = removal.at.to_string().chars().take(10).collect();
    format!("{hash} ({day}: {})", removal.subject)
}

/// When the lines of open claims were written, and what the tree held then.
pub(super) struct Written {
    commits: BTreeMap<(String, usize), String>,
    trees: HashMap<String, ProjectTree>,
}

impl Written {
    fn find(claims: &[CheckedClaim], request: &AuditRequest<'_>) -> Self {
        let git = request.git;
        let mut lines: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for checked in claims.iter().filter(|checked| checked.verdict.is_none()) {
            lines.entry(&checked.document).or_default().insert(checked.claim.line);
        }
        let mut commits = BTreeMap::new();
        for (document, lines) in lines {
            if (request.is_time_up)() {
                break;
            }
            let at_head = lines_at_head(request, document, &lines);
            let asked = at_head.values().copied().collect();
            let by_line = git.line_commits(document, &asked);
            for (line, then) in at_head {
                if let Some(commit) = by_line.get(&then) {
                    commits.insert((document.to_owned(), line), commit.clone());
                }
            }
        }
        let mut trees = HashMap::new();
        let is_path = |checked: &&CheckedClaim| {
            checked.verdict.is_none() && matches!(checked.claim.subject, ClaimSubject::Path { .. })
        };
        for checked in claims.iter().filter(is_path) {
            let key = (checked.document.clone(), checked.claim.line);
            let Some(commit) = commits.get(&key) else { continue };
            if trees.len() < MOST_TREES && !trees.contains_key(commit) && !(request.is_time_up)() {
                let files = git.files_at(commit);
                trees.insert(commit.clone(), ProjectTree::new("".as_ref(), files));
            }
        }
        Self { commits, trees }
    }

    fn commit_of(&self, checked: &CheckedClaim) -> Option<&String> {
        self.commits.get(&(checked.document.clone(), checked.claim.line))
    }

    /// The whole path of what a claim named by the end of it.
    fn paths_then(&self, checked: &CheckedClaim) -> Vec<String> {
        let ClaimSubject::Path { path, .. } = &checked.claim.subject else { return Vec::new() };
        let is_telling = extension(path).is_some() || path.contains('/');
        let then = self.commit_of(checked).and_then(|commit| self.trees.get(commit));
        let found = then.filter(|_| is_telling).and_then(|tree| tree.find_by_end(path));
        found.filter(|whole| is_end_of(path.trim_end_matches('/'), whole)).into_iter().collect()
    }
}

/// Which lines of the document in HEAD these lines of the working tree are.
fn lines_at_head(
    request: &AuditRequest<'_>,
    document: &str,
    lines: &BTreeSet<usize>,
) -> BTreeMap<usize, usize> {
    let now = disk::read_inside(request.root, document, DOCUMENT_BYTES).ok().flatten();
    let then = request.git.blobs(&[format!("HEAD:./{document}")]).into_iter().next().flatten();
    let (Some(now), Some(then)) = (now, then) else { return BTreeMap::new() };
    if now == then {
        return lines.iter().map(|line| (*line, *line)).collect();
    }
    let (now, then) = (String::from_utf8_lossy(&now), String::from_utf8_lossy(&then));
    let by_text: HashMap<&str, usize> = then.lines().zip(1..).collect();
    let line_at_head = |line: &usize| {
        let text = now.lines().nth(line.checked_sub(1)?)?;
        Some((*line, *by_text.get(text)?))
    };
    lines.iter().filter_map(line_at_head).collect()
}

/// Settles scripts and targets by the build files of the commit that a line is from.
fn check_scripts(
    claims: &mut [CheckedClaim],
    git: &Git,
    scripts: &BuildScripts,
    written: &Written,
) {
    let mut then: HashMap<(String, String), BuildScripts> = HashMap::new();
    for checked in claims.iter_mut().filter(|checked| checked.verdict.is_none()) {
        let ClaimSubject::Command(need) = checked.claim.subject.clone() else { continue };
        let is_undefined = scripts.defines(&need) == Some(false);
        let key =
            written.commit_of(checked).map(|commit| (commit.clone(), checked.folder().to_owned()));
        let was_defined = key.is_some_and(|(commit, folder)| {
            let defined = then
                .entry((commit.clone(), folder.clone()))
                .or_insert_with(|| scripts_at(git, &commit, &folder));
            defined.defines(&need) == Some(true)
        });
        let name = &checked.claim.text;
        let near = crate::suggestions::nearest(name, scripts.namesakes(&need).into_iter());
        let near = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
        let what = kind_of_script(&checked.claim.subject);
        if was_defined {
            let proof = format!(
                "{what} was there when this was written and no build file has it now{near}"
            );
            checked.settle(ClaimVerdict::Gone, proof);
        } else if is_undefined && checked.claim.is_certain {
            checked.is_mistake = true;
            checked
                .settle(ClaimVerdict::Unknown, format!("no build file here has this {what}{near}"));
        }
    }
}

fn kind_of_script(subject: &ClaimSubject) -> &'static str {
    match subject {
        ClaimSubject::Command(CommandNeed::PackageScript { .. }) => "script",
        ClaimSubject::Command(CommandNeed::MakeTarget(_)) => "target",
        ClaimSubject::Command(CommandNeed::JustRecipe(_)) => "recipe",
        _ => "alias",
    }
}

/// What the build files in a folder and above it defined in a commit.
fn scripts_at(git: &Git, commit: &str, folder: &str) -> BuildScripts {
    const FILES: [&str; 7] = [
        "package.json",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
        ".cargo/config.toml",
    ];
    let paths: Vec<String> = FILES
        .iter()
        .flat_map(|file| candidates(folder, file))
        .filter(|path| is_build_file(path))
        .collect();
    let names: Vec<String> = paths.iter().map(|path| format!("{commit}:./{path}")).collect();
    let mut scripts = BuildScripts::default();
    for (path, bytes) in paths.iter().zip(git.blobs(&names)) {
        if let Some(bytes) = bytes {
            scripts.read(path, &String::from_utf8_lossy(&bytes));
        }
    }
    scripts
}

/// Settles names by the words of the commits that lines are from, the busiest commit first.
pub(super) fn check_words(
    claims: &mut [CheckedClaim],
    request: &AuditRequest<'_>,
    now: &FoundWords,
    written: &Written,
) {
    let mut commits: BTreeMap<&String, usize> = BTreeMap::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for checked in claims.iter().filter(|checked| checked.verdict.is_none()) {
        if let ClaimSubject::Name(words) = &checked.claim.subject
            && let Some(commit) = written.commit_of(checked)
        {
            *commits.entry(commit).or_default() += 1;
            open.extend(words.iter().filter(|word| !now.present.contains(*word)).cloned());
        }
    }
    let mut commits: Vec<(&String, usize)> = commits.into_iter().collect();
    commits.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let mut places: BTreeMap<String, (String, WordPlace)> = BTreeMap::new();
    for (commit, _) in commits.into_iter().take(SEARCHED_TREES) {
        let asked: Vec<String> = open.iter().cloned().collect();
        if asked.is_empty() || (request.is_time_up)() {
            break;
        }
        let found = request.git.words_at(commit, &asked).unwrap_or_default();
        for place in found.into_iter().filter(|place| is_source(&place.path)) {
            open.remove(&place.word);
            places.entry(place.word.clone()).or_insert((commit.clone(), place));
        }
    }
    let mut dated_names = 0;
    for checked in claims.iter_mut().filter(|checked| checked.verdict.is_none()) {
        let ClaimSubject::Name(words) = checked.claim.subject.clone() else { continue };
        let Some((commit, place)) = words.iter().find_map(|word| places.get(word)) else {
            continue;
        };
        let short: String = commit.chars().take(9).collect();
        let mut proof = format!("was in `{}` at {short}; no source has it now", place.path);
        if dated_names < DATED_NAMES && !(request.is_time_up)() {
            dated_names += 1;
            if let Some(removal) = request.git.last_change_of(&place.word, &place.path) {
                proof =
                    format!("left `{}` in {}; no source has it now", place.path, dated(&removal));
                checked.commit = Some(removal.commit);
            }
        }
        checked.settle(ClaimVerdict::Gone, proof);
    }
}
