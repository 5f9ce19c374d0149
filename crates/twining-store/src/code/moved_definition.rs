//! Finding a definition that is no longer at its place: renamed with its file, moved as it is, or
//! changed on the way. The commit in which it left tells most; its history is halved to find that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use twining_code::{Definition, DefinitionKind, FEWEST_TOKENS, Language, likeness, read_source};

use super::code_index::CodeIndex;
use super::outline::SourceOutline;
use crate::error::StoreError;
use crate::git::{BlobReader, Git, TreeChange};

/// How long one search may take.
pub const MAX_SEARCH_TIME: Duration = Duration::from_secs(2);
/// Moves that are followed, one after the other.
const MAX_HOPS: usize = 8;
/// Definitions with fewer tokens are alike by chance: only one of the same name counts.
const SMALL: u32 = 25;
/// Changed files that are all searched for the very same code; of more, those with its name, and
/// of more still, those with the names around it.
const MOST_CHANGED: usize = 200;
/// What the best candidate must score, and by how much it must lead.
const ACCEPTED: f64 = 0.5;
const LEAD: f64 = 0.1;
/// How much of the code must be there under another name. The name is the best sign that it is the
/// same; without it, code that took over its job looks much the same.
const RENAMED: f64 = 0.6;
const SAME_NAME: f64 = 0.25;
const LONGER_NAME: f64 = 0.15;
/// How alike two are that are too small for likeness and have the same body.
const SAME_BODY: f64 = 0.6;
/// Beside the same name: what it belongs to has the same name too.
const SAME_OUTER: f64 = 0.15;
const RENAMED_FILE: f64 = 0.1;
const SAME_FILE: f64 = 0.05;

/// A definition as it was seen.
#[derive(Clone, Debug)]
pub struct SeenDefinition {
    /// The file.
    pub path: String,
    /// What was there.
    pub definition: Definition,
    /// The commit that was checked out then.
    pub commit: String,
    /// What the file was. After a squash or a rebase another clone has it in another commit.
    pub blob: Option<String>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionSearch {
    /// It is there now.
    Found {
        /// The file.
        path: String,
        /// Its name there.
        name: String,
        /// Which of that name.
        nth: u32,
        /// The commit in which it left its last place; none if that is not committed yet.
        commit: Option<String>,
    },
    /// It is nowhere.
    Nowhere {
        /// The commit in which it left.
        commit: Option<String>,
    },
    /// The history does not reach so far, or there was no time.
    Unknown,
}

/// Where a definition was last seen on its way.
struct Trail {
    path: String,
    definition: Definition,
    commit: String,
}

/// A definition that a change added.
struct Candidate {
    path: String,
    definition: Definition,
    naming: Naming,
    score: f64,
}

/// What two definitions' names say of whether they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// Nothing.
    Other,
    /// Of functions in one place, one name has all words of the other, two at least:
    /// `cache_size` and `get_cache_size`.
    Longer,
    /// The same last name.
    Same,
    /// The same last name in what has the same name.
    SameOuter,
}

impl Naming {
    fn of(was: &Definition, now: &Definition, is_same_file: bool) -> Self {
        let is_same_outer = outer(was) == outer(now);
        if was.last_name() == now.last_name() {
            match is_same_outer && outer(was).is_some() {
                true => Self::SameOuter,
                false => Self::Same,
            }
        } else if is_same_file
            && is_same_outer
            && matches!(was.kind, DefinitionKind::Function | DefinitionKind::Method)
            && has_all_words(was.last_name(), now.last_name())
        {
            Self::Longer
        } else {
            Self::Other
        }
    }
}

impl CodeIndex {
    /// Looks for a definition that is not at its place in the working tree, for so long.
    pub fn find_moved(
        &self,
        seen: &SeenDefinition,
        max_time: Duration,
    ) -> Result<DefinitionSearch, StoreError> {
        MovedSearch::new(self, max_time).run(seen)
    }

    /// Looks for where a commit has a definition that is not at its place there, for so long.
    pub fn find_moved_until(
        &self,
        seen: &SeenDefinition,
        commit: &str,
        max_time: Duration,
    ) -> Result<DefinitionSearch, StoreError> {
        MovedSearch { end: Some(commit), ..MovedSearch::new(self, max_time) }.run(seen)
    }

    /// Where these changes put a definition that they took from its place, if they did.
    pub fn moved_by(
        &self,
        path: &str,
        definition: &Definition,
        changes: &[TreeChange],
    ) -> Result<Option<(String, Definition)>, StoreError> {
        let trail =
            Trail { path: path.to_owned(), definition: definition.clone(), commit: String::new() };
        let best = MovedSearch::new(self, MAX_SEARCH_TIME).best_candidate(&trail, changes)?;
        Ok(best.map(|candidate| (candidate.path, candidate.definition)))
    }

    /// The same for what is not committed yet.
    pub fn moved_uncommitted(
        &self,
        path: &str,
        definition: &Definition,
    ) -> Result<Option<(String, Definition)>, StoreError> {
        let trail =
            Trail { path: path.to_owned(), definition: definition.clone(), commit: String::new() };
        let best = MovedSearch::new(self, MAX_SEARCH_TIME).moved_in_working_tree(&trail)?;
        Ok(best.map(|candidate| (candidate.path, candidate.definition)))
    }
}

/// Looks for where a commit has a definition, in a clone whose code nobody keeps an index of.
pub fn find_moved_in_history(
    git: &Git,
    seen: &SeenDefinition,
    commit: &str,
    max_time: Duration,
) -> Result<DefinitionSearch, StoreError> {
    let mut search = MovedSearch {
        git,
        index: None,
        end: Some(commit),
        blobs: BlobReader::new(git),
        until: Instant::now() + max_time,
    };
    search.run(seen)
}

/// One search, with a git that it asks for versions of files.
struct MovedSearch<'i> {
    git: &'i Git,
    /// What keeps the versions that were read.
    index: Option<&'i CodeIndex>,
    /// The commit whose code is looked through; none for the working tree.
    end: Option<&'i str>,
    blobs: BlobReader,
    until: Instant,
}

impl MovedSearch<'_> {
    fn new(index: &CodeIndex, max_time: Duration) -> MovedSearch<'_> {
        let (git, until) = (index.git(), Instant::now() + max_time);
        MovedSearch { git, index: Some(index), end: None, blobs: BlobReader::new(git), until }
    }

    /// What a version of a file defines.
    fn outline(&self, path: &str, bytes: &[u8]) -> Result<Arc<SourceOutline>, StoreError> {
        Ok(match self.index {
            Some(index) => index.read_and_keep(path, bytes)?.file,
            None => Arc::new(read_source(path, bytes).into()),
        })
    }

    /// What a file defines where the search ends.
    fn outline_at_end(&mut self, path: &str) -> Result<Option<Arc<SourceOutline>>, StoreError> {
        match (self.end, self.index) {
            (None, Some(index)) => Ok(index.listed_source(path)?.found().map(|found| found.file)),
            (end, _) => {
                let bytes = self.blobs.read(&format!("{}:./{path}", end.unwrap_or("HEAD")));
                bytes.map(|bytes| self.outline(path, &bytes)).transpose()
            }
        }
    }

    /// Whether a definition of this name is at the path where the search ends.
    fn is_at_end(&mut self, trail: &Trail) -> Result<bool, StoreError> {
        let source = match (self.end, self.index) {
            (None, Some(index)) => index.source(&trail.path, None)?.found().map(|found| found.file),
            _ => self.outline_at_end(&trail.path)?,
        };
        Ok(source.is_some_and(|source| at(&source, &trail.definition).is_some()))
    }

    /// The commit to begin at: where it was seen, or the last one in which the file was the same.
    fn commit_of(&self, seen: &SeenDefinition) -> Option<String> {
        if self.git.has_commit(&seen.commit) {
            return Some(seen.commit.clone());
        }
        let until = self.end.unwrap_or("HEAD");
        self.git.commit_with_blob(until, &seen.path, seen.blob.as_deref()?)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn run(&mut self, seen: &SeenDefinition) -> Result<DefinitionSearch, StoreError> {
        let Some(commit) = self.commit_of(seen) else { return Ok(DefinitionSearch::Unknown) };
        let seen = &SeenDefinition { commit, ..seen.clone() };
        let mut trail = Trail {
            path: seen.path.clone(),
            definition: seen.definition.clone(),
            commit: seen.commit.clone(),
        };
        let mut left_in = None;
        for hop in 0..MAX_HOPS {
            if self.is_over() {
                return Ok(DefinitionSearch::Unknown);
            }
            if hop > 0 && self.is_at_end(&trail)? {
                return Ok(found(&trail, left_in));
            }
            let Some(vanished) = self.vanished_in(&trail)? else {
                return Ok(DefinitionSearch::Unknown);
            };
            let Vanished::In(commit) = vanished else {
                if self.end.is_some() {
                    return Ok(found(&trail, left_in));
                }
                // HEAD has it still: the working tree moved it.
                return match self.moved_in_working_tree(&trail)? {
                    Some(candidate) => Ok(found(&Trail::at(candidate, &trail.commit), None)),
                    None => self.same_elsewhere(seen, None),
                };
            };
            let changes = self.git.changes_of_commit(&commit);
            if let Some(last) = self.before(&trail, &changes)? {
                trail.definition = last;
            }
            let Some(next) = self.best_candidate(&trail, &changes)? else {
                return self.same_elsewhere(seen, Some(commit));
            };
            trail = Trail::at(next, &commit);
            left_in = Some(commit);
        }
        Ok(DefinitionSearch::Unknown)
    }

    /// Looks for the very same code in files that changed since it was seen: copied in one commit
    /// and removed in another, or in the working tree. Only one that was not there then counts,
    /// and only if it is the only one.
    fn same_elsewhere(
        &mut self,
        seen: &SeenDefinition,
        left_in: Option<String>,
    ) -> Result<DefinitionSearch, StoreError> {
        let wanted = &seen.definition;
        let mut paths = self.git.written_between(&seen.commit, self.end.unwrap_or("HEAD"));
        if self.end.is_none() {
            paths.extend(self.git.uncommitted());
        }
        paths.retain(|path| are_akin(path, &seen.path));
        paths.sort_unstable();
        paths.dedup();
        // A constructor's name stands in every other file; what it belongs to says more.
        for name in wanted.name.rsplit('.') {
            if paths.len() <= MOST_CHANGED {
                break;
            }
            let named = self.git.files_with_word_at(self.end, name);
            paths.retain(|path| named.contains(path));
        }
        let mut same: Vec<(String, Definition)> = Vec::new();
        for path in paths {
            if self.is_over() {
                return Ok(DefinitionSearch::Unknown);
            }
            let Some(now) = self.outline_at_end(&path)? else { continue };
            let is_same = |found: &&Definition| {
                found.kind == wanted.kind
                    && found.is_same_code(wanted)
                    && (found.tokens > SMALL || found.last_name() == wanted.last_name())
            };
            let mut found: Vec<Definition> =
                pieces(&now, wanted).iter().filter(is_same).cloned().collect();
            if !found.is_empty() {
                let then = self.blobs.read(&format!("{}:./{path}", seen.commit));
                let then = then.map(|bytes| self.outline(&path, &bytes)).transpose()?;
                found.retain(|found| then.as_ref().is_none_or(|then| at(then, found).is_none()));
            }
            same.extend(found.into_iter().map(|found| (path.clone(), found)));
        }
        Ok(match same.as_slice() {
            [(path, definition)] => DefinitionSearch::Found {
                path: path.clone(),
                name: definition.name.clone(),
                nth: definition.nth,
                commit: left_in,
            },
            _ => DefinitionSearch::Nowhere { commit: left_in },
        })
    }

    /// The commit after which the definition is no longer at its place.
    fn vanished_in(&mut self, trail: &Trail) -> Result<Option<Vanished>, StoreError> {
        let until = self.end.unwrap_or("HEAD");
        let Some(commits) = self.git.commits_of_file(&trail.commit, until, &trail.path) else {
            return Ok(None);
        };
        let (mut first, mut end) = (0, commits.len());
        // The first commit that does not have it is in `first..end`, or there is none.
        while first < end {
            if self.is_over() {
                return Ok(None);
            }
            let middle = usize::midpoint(first, end);
            if self.is_in_commit(&commits[middle], trail)? {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(Some(commits.get(first).map_or(Vanished::NotYet, |commit| Vanished::In(commit.clone()))))
    }

    fn is_in_commit(&mut self, commit: &str, trail: &Trail) -> Result<bool, StoreError> {
        let name = format!("{commit}:./{}", trail.path);
        let Some(bytes) = self.blobs.read(&name) else { return Ok(false) };
        let last_name = trail.definition.last_name().as_bytes();
        if memchr::memmem::find(&bytes, last_name).is_none() {
            return Ok(false);
        }
        let source = self.outline(&trail.path, &bytes)?;
        Ok(at(&source, &trail.definition).is_some())
    }

    /// What a version in git defines, read now if it is not known yet.
    fn blob_source(
        &mut self,
        path: &str,
        blob: &str,
    ) -> Result<Option<Arc<SourceOutline>>, StoreError> {
        if let Some(index) = self.index
            && let Some(known) = index.known_blob(path, blob)?
        {
            return Ok(Some(known.file));
        }
        let bytes = self.blobs.read(blob);
        bytes.map(|bytes| self.outline(path, &bytes)).transpose()
    }

    /// The definition as it was just before these changes.
    fn before(
        &mut self,
        trail: &Trail,
        changes: &[TreeChange],
    ) -> Result<Option<Definition>, StoreError> {
        let before = changes
            .iter()
            .filter_map(|change| change.before.as_ref())
            .find(|before| before.path == trail.path);
        let Some(before) = before else { return Ok(None) };
        let source = self.blob_source(&before.path, &before.object)?;
        Ok(source.and_then(|source| at(&source, &trail.definition).cloned()))
    }

    /// The definition that a commit added and that is likeliest to be the one that left.
    fn best_candidate(
        &mut self,
        trail: &Trail,
        changes: &[TreeChange],
    ) -> Result<Option<Candidate>, StoreError> {
        let mut read = Vec::new();
        for change in changes {
            let Some(after) = &change.after else { continue };
            if !are_akin(&after.path, &trail.path) {
                continue;
            }
            if self.is_over() {
                break;
            }
            let is_as_before =
                change.before.as_ref().is_some_and(|before| before.object == after.object);
            // Renamed as it is: it defines nothing new, except where the definition was.
            if is_as_before && change.before.as_ref().is_some_and(|old| old.path != trail.path) {
                continue;
            }
            let Some(now) = self.blob_source(&after.path, &after.object)? else { continue };
            let before = match &change.before {
                Some(before) => self.blob_source(&before.path, &before.object)?,
                None => None,
            };
            read.push(OutlineChange {
                old_path: change.before.as_ref().map(|before| before.path.clone()),
                before,
                path: after.path.clone(),
                after: now,
            });
        }
        Ok(best_of(trail, &read))
    }

    /// The same for what is not committed yet.
    fn moved_in_working_tree(&mut self, trail: &Trail) -> Result<Option<Candidate>, StoreError> {
        let mut read = Vec::new();
        for path in self.git.uncommitted() {
            if !are_akin(&path, &trail.path) {
                continue;
            }
            let Some(now) = self.outline_at_end(&path)? else { continue };
            let committed = self.blobs.read(&format!("HEAD:./{path}"));
            let before = committed.map(|bytes| self.outline(&path, &bytes)).transpose()?;
            read.push(OutlineChange {
                old_path: before.is_some().then(|| path.clone()),
                before,
                path,
                after: now,
            });
        }
        Ok(best_of(trail, &read))
    }
}

/// A file that a change wrote, as definitions.
#[derive(Clone, Debug)]
pub struct OutlineChange {
    /// Its path before.
    pub old_path: Option<String>,
    /// What it defined before.
    pub before: Option<Arc<SourceOutline>>,
    /// Its path now.
    pub path: String,
    /// What it defines now.
    pub after: Arc<SourceOutline>,
}

/// Where these changes put a definition that they took from its place, if they did.
#[must_use]
pub fn likeliest_move(
    path: &str,
    definition: &Definition,
    changes: &[OutlineChange],
) -> Option<(String, Definition)> {
    let trail =
        Trail { path: path.to_owned(), definition: definition.clone(), commit: String::new() };
    best_of(&trail, changes).map(|candidate| (candidate.path, candidate.definition))
}

/// The definition that changes added and that is likeliest to be the one that left.
fn best_of(trail: &Trail, changes: &[OutlineChange]) -> Option<Candidate> {
    let mut candidates = Vec::new();
    for change in changes.iter().filter(|change| are_akin(&change.path, &trail.path)) {
        let was_here = change.old_path.as_ref().is_some_and(|path| *path == trail.path);
        let is_renamed = change.old_path.as_ref().is_some_and(|path| *path != change.path);
        for definition in pieces(&change.after, &trail.definition) {
            let is_old = change.before.as_ref().is_some_and(|old| at(old, definition).is_some());
            let is_itself = was_here && is_renamed && is_same(definition, &trail.definition);
            if is_old && !is_itself {
                continue;
            }
            let bonus = if is_renamed && was_here { RENAMED_FILE } else { 0.0 }
                + if change.path == trail.path { SAME_FILE } else { 0.0 };
            let naming = Naming::of(&trail.definition, definition, was_here);
            let score = score(&trail.definition, definition, naming).map(|score| score + bonus);
            candidates.extend(score.map(|score| Candidate {
                path: change.path.clone(),
                definition: definition.clone(),
                naming,
                score,
            }));
        }
    }
    best(&trail.definition, candidates)
}

/// When a definition left its place.
enum Vanished {
    /// In this commit.
    In(String),
    /// HEAD has it.
    NotYet,
}

impl Trail {
    fn at(candidate: Candidate, commit: &str) -> Self {
        Self { path: candidate.path, definition: candidate.definition, commit: commit.to_owned() }
    }
}

fn found(trail: &Trail, commit: Option<String>) -> DefinitionSearch {
    DefinitionSearch::Found {
        path: trail.path.clone(),
        name: trail.definition.name.clone(),
        nth: trail.definition.nth,
        commit,
    }
}

/// The definition of the same name in a version of a file.
fn at<'s>(source: &'s SourceOutline, wanted: &Definition) -> Option<&'s Definition> {
    if wanted.kind == DefinitionKind::File {
        Some(&source.whole)
    } else {
        source.named(&wanted.name, wanted.nth)
    }
}

/// What of a file another may have become: its definitions, or the file itself.
fn pieces<'s>(source: &'s SourceOutline, wanted: &Definition) -> &'s [Definition] {
    if wanted.kind == DefinitionKind::File {
        std::slice::from_ref(&source.whole)
    } else {
        &source.definitions
    }
}

fn is_same(one: &Definition, other: &Definition) -> bool {
    one.name == other.name && one.nth == other.nth
}

/// Whether code may move from one file to the other as it is.
fn are_akin(one: &str, other: &str) -> bool {
    match (Language::of_path(one), Language::of_path(other)) {
        (Some(one), Some(other)) => one.is_akin_to(other),
        _ => {
            let extension = |path: &str| path.rsplit_once('.').map(|(_, end)| end.to_owned());
            extension(one) == extension(other)
        }
    }
}

/// How likely a definition is what another became; none if it cannot be.
fn score(was: &Definition, now: &Definition, naming: Naming) -> Option<f64> {
    if !was.kind.is_like(now.kind) || (naming == Naming::Other && was.tokens < SMALL) {
        return None;
    }
    let by_name = match naming {
        Naming::Other => 0.0,
        Naming::Longer => LONGER_NAME,
        Naming::Same => SAME_NAME,
        Naming::SameOuter => SAME_NAME + SAME_OUTER,
    };
    let is_small = was.tokens.min(now.tokens) < FEWEST_TOKENS;
    if naming == Naming::Longer && is_small && was.body == now.body {
        return Some(SAME_BODY + by_name);
    }
    Some(alike(was, now) + by_name)
}

/// What a definition belongs to.
fn outer(definition: &Definition) -> Option<&str> {
    definition.name.rsplit_once('.').map(|(outer, _)| outer)
}

/// Whether one name has all words of the other, two at least.
fn has_all_words(one: &str, other: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<String> = Vec::new();
        let mut is_inside = false;
        for character in name.chars() {
            if !character.is_alphanumeric() {
                is_inside = false;
                continue;
            }
            if !is_inside || character.is_uppercase() {
                words.push(String::new());
            }
            is_inside = true;
            words.last_mut().expect("a word has begun").extend(character.to_lowercase());
        }
        words
    };
    let (one, other) = (words(one), words(other));
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    short.len() > 1 && short.iter().all(|word| long.contains(word))
}

fn alike(was: &Definition, now: &Definition) -> f64 {
    if was.is_same_code(now) {
        1.0
    } else if was.tokens.min(now.tokens) < FEWEST_TOKENS {
        0.0
    } else {
        likeness(&was.sketch, &now.sketch)
    }
}

/// The best of several, if it is good enough and clearly better than the next.
fn best(was: &Definition, mut candidates: Vec<Candidate>) -> Option<Candidate> {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let second = candidates.get(1).map_or(0.0, |candidate| candidate.score);
    let first = candidates.into_iter().next()?;
    let is_enough = first.naming != Naming::Other || alike(was, &first.definition) >= RENAMED;
    (is_enough && first.score >= ACCEPTED && first.score - second >= LEAD).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of twenty lines, the last `changed` of them not as they were.
    fn source(name: &str, changed: usize) -> SourceOutline {
        let line = |n: usize| {
            let is_changed = n >= 20 - changed;
            let (call, add) = if is_changed { ("other", "-") } else { ("work", "+") };
            format!("    value{n} = {call}{n}(start) {add} {n}\n")
        };
        let body: String = (0..20).map(line).collect();
        read_source("a.py", format!("def {name}(start):\n{body}").as_bytes()).into()
    }

    #[test]
    fn half_the_code_is_enough_under_the_same_name_only() {
        let was = source("first", 0);
        let was = &was.definitions[0];
        let is_about_half = |changed: &usize| {
            let likeness = alike(was, &source("first", *changed).definitions[0]);
            (ACCEPTED..RENAMED).contains(&likeness)
        };
        let changed = (0..20).find(is_about_half).expect("some change leaves about half");
        let moved_to = |name: &str| {
            let after = Arc::new(source(name, changed));
            let change =
                OutlineChange { old_path: None, before: None, path: "b.py".to_owned(), after };
            likeliest_move("a.py", was, &[change]).map(|(path, _)| path)
        };
        assert_eq!(moved_to("first").as_deref(), Some("b.py"));
        assert_eq!(moved_to("second"), None);
    }

    #[test]
    fn a_longer_name_in_one_place_is_nearly_the_same_name() {
        let moved_from = |was: &str, now: &str, path: &str| {
            let [before, after] =
                [was, now].map(|text| Arc::new(read_source("a.py", text.as_bytes()).into()));
            let before: Arc<SourceOutline> = before;
            let last = |outline: &SourceOutline| outline.definitions.last().cloned().expect("one");
            let definition = last(&before);
            let change = OutlineChange {
                old_path: Some(path.to_owned()),
                before: Some(before),
                path: path.to_owned(),
                after,
            };
            likeliest_move("a.py", &definition, &[change]).map(|(_, now)| now.name)
        };
        let method = |name: &str, more: &str| {
            format!("class Field:\n    {more}def {name}(self):\n        return self.name\n")
        };
        let was = method("get_cache_name", "");
        let found = moved_from(&was, &method("cache_name", "@property\n    "), "a.py");
        assert_eq!(found.as_deref(), Some("Field.cache_name"));
        assert_eq!(moved_from(&was, &method("cache_name", ""), "b.py"), None, "in another file");
        assert_eq!(moved_from(&was, &method("name", ""), "a.py"), None, "one word says little");
        assert_eq!(moved_from(&was, &method("cache_size", ""), "a.py"), None, "another word");
    }

    #[test]
    fn names_are_compared_by_their_words() {
        assert!(has_all_words("shouldExternalize", "shouldExternalizeForSSR"));
        assert!(has_all_words("_check_templates_of", "check_templates"));
        assert!(!has_all_words("window_frame_end", "window_frame_value"));
        assert!(!has_all_words("less", "lessProcessor"));
        assert!(!has_all_words("_", "__"));
    }
}
