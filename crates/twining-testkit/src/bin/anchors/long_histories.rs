//! Java methods whose lives people checked: CodeTracker's oracle, read in place.
//!
//! Each of its files tells one method back to the commit that introduced it. The method is seen at
//! that commit, and asked for at the commit the oracle ends with, years later. All of them are
//! there, so an answer that a method is gone is wrong.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use twining_code::{Definition, read_source};
use twining_store::code::{DefinitionSearch, SeenDefinition};

use crate::checkout::ScratchCheckout;
use crate::history::{Objects, output};
use crate::searches::SearchOptions;

/// Where the oracle keeps its methods.
const METHODS: &str = "src/main/resources/oracle/method/";

/// One way of answering, against what is so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) right: u32,
    pub(crate) wrong: u32,
    pub(crate) nowhere: u32,
    pub(crate) unknown: u32,
}

/// How the methods were answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryScore {
    pub(crate) methods: u32,
    /// Methods that the extractor does not tell from others of their name.
    pub(crate) unread: u32,
    /// By path and name alone.
    pub(crate) same_place: Answers,
    pub(crate) search: Answers,
    took: Vec<Duration>,
}

impl HistoryScore {
    /// The processor time that this share of the searches stayed under.
    pub(crate) fn took(&self, percent: usize) -> Duration {
        let last = self.took.len().saturating_sub(1);
        self.took.get(last * percent / 100).copied().unwrap_or_default()
    }
}

/// Where a method is: a path, and its name there.
type Place = (String, String);

/// One method of the oracle.
struct MethodLife {
    /// `OWNER+NAME`, as the folders of repositories are called.
    repository: String,
    /// The commit that introduced it, its path there and how the oracle names it.
    introduced: (String, String, String),
    /// The commit the oracle ends with, the path there, its name and its line.
    last: (String, String, String, u32),
}

/// Asks for every method whose repository is in the folder.
#[expect(clippy::print_stderr, reason = "progress for people")]
pub(crate) fn score(
    oracle: &Path,
    repos: &Path,
    options: SearchOptions,
) -> Result<HistoryScore, String> {
    let mut score = HistoryScore::default();
    let (mut objects, mut checkouts) = (HashMap::new(), HashMap::new());
    for life in lives(oracle)? {
        let repository = repos.join(&life.repository).join("repo");
        if !repository.is_dir() {
            continue;
        }
        if !objects.contains_key(&life.repository) {
            objects.insert(life.repository.clone(), Objects::open(&repository)?);
        }
        let objects = objects.get_mut(&life.repository).expect("inserted above");
        let Some((then, goal)) = ends(&life, objects) else {
            score.unread += 1;
            continue;
        };
        score.methods += 1;
        eprint!("\r{} methods, {}   ", score.methods, life.repository);
        let (commit, path, _) = &life.introduced;
        let (end, ..) = &life.last;
        let stays = outline(objects, end, path)
            .iter()
            .any(|(now, _)| (&now.name, now.nth) == (&then.name, then.nth));
        let here = (path.clone(), then.name.clone());
        score.same_place.count(if stays { Some(&here) } else { None }, &goal);
        if stays {
            score.search.count(Some(&here), &goal);
            continue;
        }
        let key = (life.repository.clone(), end.clone());
        if !checkouts.contains_key(&key) {
            checkouts.insert(key.clone(), ScratchCheckout::of(&repository, end)?);
        }
        let (path, commit) = (path.clone(), commit.clone());
        let seen = SeenDefinition { path, definition: then, commit, blob: None };
        let (answer, took) = checkouts[&key].search(&seen, options.max_time)?;
        score.took.push(took);
        match &answer {
            DefinitionSearch::Found { path, name, .. } => {
                score.search.count(Some(&(path.clone(), name.clone())), &goal);
            }
            DefinitionSearch::Nowhere { .. } => score.search.count(None, &goal),
            DefinitionSearch::Unknown => score.search.unknown += 1,
        }
        if options.show_misses {
            eprintln!("\n{}#{} wanted {goal:?} got {answer:?}", seen.path, seen.definition.name);
        }
    }
    eprintln!();
    score.took.sort_unstable();
    Ok(score)
}

impl Answers {
    fn count(&mut self, told: Option<&Place>, goal: &Place) {
        match told {
            None => self.nowhere += 1,
            Some(place) if place == goal => self.right += 1,
            Some(_) => self.wrong += 1,
        }
    }
}

/// The method at its introduction, and the place it has at the end.
fn ends(life: &MethodLife, objects: &mut Objects) -> Option<(Definition, Place)> {
    let (commit, path, key) = &life.introduced;
    let then = by_parameters(outline(objects, commit, path), key)?;
    let (end, end_path, end_key, line) = &life.last;
    let (class, name, _) = parts(end_key)?;
    let now = outline(objects, end, end_path)
        .into_iter()
        .map(|(now, _)| now)
        .filter(|now| is_method(now, &class, &name))
        .min_by_key(|now| now.first_line.abs_diff(*line))?;
    Some((then, (end_path.clone(), now.name)))
}

/// The definitions of a version of a file, each with the text it begins with.
fn outline(objects: &mut Objects, commit: &str, path: &str) -> Vec<(Definition, String)> {
    let Ok(bytes) = objects.read(&format!("{commit}:{path}")) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let definitions = read_source(path, &bytes).definitions.into_iter();
    definitions
        .map(|found| {
            let first = found.first_line.saturating_sub(1) as usize;
            let head = lines.iter().skip(first).take(13).copied().collect::<Vec<_>>().join(" ");
            (found, head)
        })
        .collect()
}

/// Class, name and parameters of `path.Class#name(Type, Type)`.
fn parts(key: &str) -> Option<(String, String, Vec<String>)> {
    let pattern = Regex::new(r"([\w$]+)#([\w$]+)\((.*)\)$").expect("a valid pattern");
    let found = pattern.captures(key)?;
    let class = found[1].rsplit('$').next().unwrap_or_default().to_owned();
    Some((class, found[2].to_owned(), parameters(&found[3])))
}

/// The parameters of a list, without what stands in `<…>`.
fn parameters(list: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let plain: String = list
        .chars()
        .filter(|sign| match sign {
            '<' => {
                depth += 1;
                false
            }
            '>' => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => depth == 0,
        })
        .collect();
    plain.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn is_method(definition: &Definition, class: &str, name: &str) -> bool {
    let mut parts = definition.name.rsplit('.');
    parts.next() == Some(name) && parts.next() == Some(class)
}

/// The method with these parameters; the only one of its name if none has them.
fn by_parameters(outline: Vec<(Definition, String)>, key: &str) -> Option<Definition> {
    let (class, name, wanted) = parts(key)?;
    let mut named: Vec<(Definition, String)> =
        outline.into_iter().filter(|(found, _)| is_method(found, &class, &name)).collect();
    let list = Regex::new(&format!(r"\b{}\s*\(([^)]*)\)", regex::escape(&name)));
    let list = list.expect("an escaped name");
    let fits = |head: &str| {
        let given = list.captures(head).map_or_else(Vec::new, |found| parameters(&found[1]));
        given.len() == wanted.len()
            && wanted.iter().zip(&given).all(|(wanted, given)| {
                let kind = wanted.trim_end_matches(['[', ']', '.']);
                given.contains(kind.rsplit('.').next().unwrap_or(kind))
            })
    };
    let place = named.iter().position(|(_, head)| fits(head));
    let place = place.or_else(|| (named.len() == 1).then_some(0))?;
    Some(named.swap_remove(place).0)
}

fn lives(oracle: &Path) -> Result<Vec<MethodLife>, String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(oracle).args(["ls-tree", "-r", "--name-only", "HEAD", METHODS]);
    let list = output(&mut git)?;
    let mut objects = Objects::open(oracle)?;
    String::from_utf8_lossy(&list)
        .lines()
        .map(|file| {
            let bytes = objects.read(&format!("HEAD:{file}"))?;
            let told: Value =
                serde_json::from_slice(&bytes).map_err(|error| format!("{file}: {error}"))?;
            life(&told).ok_or_else(|| format!("{file}: not a method's life"))
        })
        .collect()
}

fn life(told: &Value) -> Option<MethodLife> {
    let text = |of: &Value, name: &str| of.get(name)?.as_str().map(str::to_owned);
    let address = text(told, "repositoryWebURL")?;
    let mut parts = address.trim_end_matches(".git").rsplit('/');
    let (name, owner) = (parts.next()?, parts.next()?);
    let changes = told.get("expectedChanges")?.as_array()?;
    let first = changes.iter().min_by_key(|change| {
        change.get("commitTime").and_then(Value::as_i64).unwrap_or(i64::MAX)
    })?;
    Some(MethodLife {
        repository: format!("{owner}+{name}"),
        introduced: (
            text(first, "commitId")?,
            text(first, "elementFileAfter")?,
            text(first, "elementNameAfter")?,
        ),
        last: (
            text(told, "startCommitId")?,
            text(told, "filePath")?,
            text(told, "functionKey")?,
            u32::try_from(told.get("functionStartLine")?.as_u64()?).ok()?,
        ),
    })
}
