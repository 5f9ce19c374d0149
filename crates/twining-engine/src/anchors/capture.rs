//! Capturing: what is seen at the code a record names, when the record is made or confirmed.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use schemars::JsonSchema;
use serde::Serialize;
use twining_code::{Definition, Excerpt, TOKEN_RULES, line_hashes};
use twining_model::{Anchor, AnchorEvent, AnchorRole, AnchoredRecord, Place, SeenCode, limits};
use twining_store::code::{CodeIndex, FileVersion, IndexedSource, SourceLookup};

use crate::anchors::lookup::definitions_named;
use crate::anchors::named_code::{NamedCode, NamedFile, is_named, symbol};
use crate::caller::Stamp;
use crate::failure::Failure;
use crate::fields;
use crate::suggestions;

/// How long files are read for a record. More than an answer may take: what is not seen now is
/// not bound later.
pub(crate) const CAPTURE_TIME: Duration = Duration::from_millis(500);
/// Definitions of one name that are all anchored: overloads, and twins for two systems.
const MAX_TWINS: usize = 4;
/// Files that are read for a symbol whose file nobody named.
const MAX_FILES_READ: usize = 20;
/// Names that are suggested for one that is not there.
const MAX_NEAREST: usize = 3;

/// Code that a record was anchored to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AnchoredPlace {
    /// Where: `path#Outer.name`, or a file.
    pub at: String,
    /// What is there.
    pub kind: String,
    /// The file is compared as a whole: it has no grammar, or nobody wrote it by hand.
    #[serde(skip_serializing_if = "fields::is_false")]
    pub coarse: bool,
}

/// Code that a record names and that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnresolvedName {
    /// What was named.
    pub name: String,
    /// Names that are there and look like it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
}

/// What was seen at one place.
#[derive(Clone, Debug)]
pub(crate) struct CapturedPlace {
    pub(crate) at: Place,
    pub(crate) role: AnchorRole,
    kind: String,
    is_coarse: bool,
    seen: SeenCode,
    definition: Definition,
    words: Vec<String>,
    lines: Vec<String>,
}

/// All that a record names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    pub(crate) places: Vec<CapturedPlace>,
    pub(crate) unresolved: Vec<UnresolvedName>,
}

impl Captured {
    /// The lines to write for a record.
    pub(crate) fn anchors(
        &self,
        of: &AnchoredRecord,
        event: AnchorEvent,
        stamp: &Stamp<'_>,
    ) -> Vec<Anchor> {
        self.places.iter().map(|place| place.anchor(of, event, stamp)).collect()
    }

    /// What the reply says of it.
    pub(crate) fn anchored(&self) -> Vec<AnchoredPlace> {
        self.places.iter().map(CapturedPlace::place).collect()
    }
}

impl CapturedPlace {
    /// What a reply says of it.
    pub(crate) fn place(&self) -> AnchoredPlace {
        AnchoredPlace { at: self.at.to_string(), kind: self.kind.clone(), coarse: self.is_coarse }
    }

    pub(crate) fn anchor(
        &self,
        of: &AnchoredRecord,
        event: AnchorEvent,
        stamp: &Stamp<'_>,
    ) -> Anchor {
        signed(self.line(of, event), stamp)
    }

    /// What was seen, without id, time and author.
    pub(crate) fn line(&self, of: &AnchoredRecord, event: AnchorEvent) -> Anchor {
        Anchor {
            kind: self.kind.clone(),
            seen: self.seen.clone(),
            v: TOKEN_RULES,
            sig: format!("{:016x}", self.definition.signature),
            body: format!("{:016x}", self.definition.body),
            sketch: BASE64.encode(self.definition.sketch.0),
            tokens: self.definition.tokens,
            words: self.words.clone(),
            lines: self.lines.clone(),
            ..Anchor::new(String::new(), of.clone(), self.at.clone(), self.role, event)
        }
    }
}

/// A line as it is written: with a new id, the time and the author.
pub(crate) fn signed(line: Anchor, stamp: &Stamp<'_>) -> Anchor {
    Anchor {
        id: stamp.ids.next().to_string(),
        timestamp: stamp.at.to_string(),
        agent_id: stamp.caller.agent.clone(),
        origin: Some(stamp.caller.origin.clone()),
        ..line
    }
}

/// Looks up what a record names. What cannot be read in time is left out: the record is written in
/// any case.
pub(crate) fn capture(code: &CodeIndex, named: &NamedCode) -> Result<Captured, Failure> {
    capture_until(code, named, Instant::now() + CAPTURE_TIME)
}

/// The same, where several records share one time.
pub(crate) fn capture_until(
    code: &CodeIndex,
    named: &NamedCode,
    until: Instant,
) -> Result<Captured, Failure> {
    let mut capture = Capture::new(code, named, until);
    if !named.is_empty() {
        capture.read_files()?;
        capture.resolve()?;
        capture.name_commit();
    }
    Ok(capture.found)
}

/// What is seen at one place, in any time it takes; none if there is no such definition.
pub(crate) fn capture_place(
    code: &CodeIndex,
    at: &Place,
    role: AnchorRole,
    text: &str,
) -> Result<Option<CapturedPlace>, Failure> {
    let Some(source) = code.source(at.path(), None)?.found() else { return Ok(None) };
    let Some(definition) = source.file.at(at).cloned() else { return Ok(None) };
    let named = NamedCode { text: text.to_owned(), ..NamedCode::default() };
    let mut capture = Capture::new(code, &named, Instant::now());
    capture.add(&source, at.clone(), role, &definition, None)?;
    capture.name_commit();
    Ok(capture.found.places.pop())
}

/// Places that look like one that is not there: in its file, or in files of its file's name.
pub(crate) fn nearest_places(code: &CodeIndex, at: &Place) -> Result<Vec<String>, Failure> {
    let path = at.path();
    let Some(source) = code.source(path, None)?.found() else {
        return Ok(files_of_that_name(&code.git().listed_of(&[]), path));
    };
    let names: Vec<&str> =
        source.file.definitions.iter().map(|found| found.name.as_str()).collect();
    let nearest = nearest_names(at.name().unwrap_or_default(), &names);
    Ok(nearest.into_iter().map(|name| format!("{path}#{name}")).collect())
}

/// Those of the project's files that have the same name in another folder, or almost the same.
fn files_of_that_name(files: &[String], path: &str) -> Vec<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let wanted = last(path);
    let names: Vec<String> = files.iter().map(|file| last(file)).collect();
    let has_it = names.contains(&wanted);
    let near = suggestions::nearest(&wanted, names.iter().map(String::as_str));
    let name = if has_it { Some(wanted.as_str()) } else { near };
    let is_near = |file: &&String| name.is_some_and(|name| last(file) == name);
    files.iter().filter(is_near).take(MAX_NEAREST).cloned().collect()
}

/// What a commit had at the code a record names; `files` are those of them that were there.
pub(crate) fn capture_version(
    code: &CodeIndex,
    named: &NamedCode,
    files: Vec<(NamedFile, FileVersion)>,
    commit: &str,
) -> Result<Captured, Failure> {
    let mut texts = HashMap::new();
    let mut sources = Vec::new();
    for (file, FileVersion { source, bytes }) in files {
        texts.insert(file.path.clone(), bytes);
        sources.push((file, source));
    }
    let new = Capture::new(code, named, Instant::now());
    let mut capture = Capture { files: sources, texts: Some(texts), ..new };
    capture.resolve()?;
    for place in &mut capture.found.places {
        place.seen.commit = Some(commit.to_owned());
    }
    Ok(capture.found)
}

struct Capture<'c> {
    code: &'c CodeIndex,
    named: &'c NamedCode,
    until: Instant,
    found: Captured,
    files: Vec<(NamedFile, IndexedSource)>,
    /// The files' bytes, if not those of the checkout are looked at.
    texts: Option<HashMap<String, Vec<u8>>>,
    /// The files of the project, listed where a name is not there.
    listed: OnceCell<Vec<String>>,
}

impl<'c> Capture<'c> {
    fn new(code: &'c CodeIndex, named: &'c NamedCode, until: Instant) -> Self {
        let (found, files, listed) = (Captured::default(), Vec::new(), OnceCell::new());
        Self { code, named, until, found, files, texts: None, listed }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Files that look like one that is not there; none once the time is over.
    fn nearest_files(&self, path: &str) -> Vec<String> {
        if self.is_over() {
            return Vec::new();
        }
        files_of_that_name(self.listed.get_or_init(|| self.code.git().listed_of(&[])), path)
    }

    fn read_files(&mut self) -> Result<(), Failure> {
        for file in &self.named.files {
            match self.code.source(&file.path, Some(self.until))? {
                SourceLookup::Found(source) => self.files.push((file.clone(), source)),
                SourceLookup::Missing if file.may_be_a_file() && !self.is_folder(&file.path) => {
                    let nearest = self.nearest_files(&file.path);
                    if file.is_surely_a_file() || !nearest.is_empty() {
                        self.unresolved(file.path.clone(), nearest);
                    }
                }
                SourceLookup::Missing | SourceLookup::Unread => {}
            }
        }
        Ok(())
    }

    /// Whether git lists files below a path. Nothing is bound to a folder.
    fn is_folder(&self, path: &str) -> bool {
        !self.code.git().listed_of(&[path.to_owned()]).is_empty()
    }

    fn resolve(&mut self) -> Result<(), Failure> {
        let files = std::mem::take(&mut self.files);
        let mut bound: HashSet<String> = HashSet::new();
        for (file, source) in &files {
            if let Some(name) = &file.name {
                if self.bind_symbol(name, file.role, &[(file, source)])? {
                    bound.insert(file.path.clone());
                }
            } else if let Some(lines) = &file.lines {
                let last = source.file.whole.last_line;
                if *lines.start() > last {
                    let (path, first) = (&file.path, lines.start());
                    self.unresolved(format!("{path}:{first}"), vec![format!("{path}:{last}")]);
                } else if let Some(definition) = source.file.around(*lines.start()) {
                    self.bind(source, &file.path, file.role, definition, Some(lines.clone()))?;
                    bound.insert(file.path.clone());
                }
            }
        }
        let all: Vec<(&NamedFile, &IndexedSource)> =
            files.iter().map(|(file, source)| (file, source)).collect();
        for symbol in &self.named.symbols {
            let before = self.found.places.len();
            self.bind_symbol(symbol, AnchorRole::Affected, &all)?;
            bound
                .extend(self.found.places[before..].iter().map(|place| place.at.path().to_owned()));
        }
        for mention in self.named.mentions() {
            self.bind_mention(&mention, &all)?;
        }
        for (file, source) in &files {
            if !bound.contains(&file.path)
                && let Ok(at) = Place::file(&file.path)
            {
                let whole = source.file.whole.clone();
                self.add(source, at, file.role, &whole, None)?;
            }
        }
        Ok(())
    }

    /// Anchors the definitions that a symbol names in these files; whether there are any.
    fn bind_symbol(
        &mut self,
        given: &str,
        role: AnchorRole,
        files: &[(&NamedFile, &IndexedSource)],
    ) -> Result<bool, Failure> {
        let wanted = symbol(given).unwrap_or_else(|| given.to_owned());
        let mut twins = 0;
        for (file, source) in files {
            for definition in &source.file.definitions {
                if twins < MAX_TWINS && is_named(&definition.name, &wanted) {
                    self.bind(source, &file.path, role, definition, None)?;
                    twins += 1;
                }
            }
        }
        if twins == 0 && files.is_empty() && self.texts.is_none() {
            let places = self.bind_anywhere(&wanted, role)?;
            let Some(places) = places else { return Ok(true) };
            twins = places.len();
            if twins > 1 {
                let several = places.iter().take(MAX_NEAREST).map(ToString::to_string).collect();
                self.unresolved(given.to_owned(), several);
            }
        }
        if twins == 0 {
            let names = files.iter().flat_map(|(_, source)| &source.file.definitions);
            let names: Vec<&str> = names.map(|definition| definition.name.as_str()).collect();
            let mut nearest = nearest_names(&wanted, &names);
            let may_look = !self.is_over() && !files.is_empty() && self.texts.is_none();
            if nearest.is_empty() && may_look {
                let (elsewhere, _) = definitions_named(self.code, &wanted, Some(self.until))?;
                nearest.extend(elsewhere.iter().take(MAX_NEAREST).map(ToString::to_string));
            }
            self.unresolved(given.to_owned(), nearest);
        }
        Ok(twins > 0)
    }

    /// Anchors the one definition of the project that a symbol names. Where those of that name are;
    /// not known with many files that contain the word, or no time to read them.
    fn bind_anywhere(
        &mut self,
        wanted: &str,
        role: AnchorRole,
    ) -> Result<Option<Vec<Place>>, Failure> {
        if self.is_over() {
            return Ok(None);
        }
        let leaf = wanted.rsplit('.').next().unwrap_or(wanted);
        let files = self.code.git().files_with_word(leaf);
        if files.len() > MAX_FILES_READ {
            return Ok(None);
        }
        let mut found = Vec::new();
        for path in files {
            match self.code.source(&path, Some(self.until))? {
                SourceLookup::Found(source) => {
                    let named = source.file.definitions.iter();
                    let named = named.filter(|definition| is_named(&definition.name, wanted));
                    let named: Vec<Definition> = named.cloned().collect();
                    found.extend(
                        named.into_iter().map(|found| (path.clone(), source.clone(), found)),
                    );
                }
                SourceLookup::Missing => {}
                SourceLookup::Unread => return Ok(None),
            }
        }
        if let [(path, source, definition)] = found.as_slice() {
            self.bind(source, path, role, definition, None)?;
        }
        let place = |(path, _, found): &(String, _, Definition)| {
            Place::definition(path, &found.name, found.nth).ok()
        };
        Ok(Some(found.iter().filter_map(place).collect()))
    }

    /// Anchors what the text names in backticks, if exactly one definition of the files has that
    /// name.
    fn bind_mention(
        &mut self,
        name: &str,
        files: &[(&NamedFile, &IndexedSource)],
    ) -> Result<(), Failure> {
        let mentions =
            self.found.places.iter().filter(|place| place.role == AnchorRole::Mention).count();
        if mentions >= limits::ANCHOR_MENTIONS {
            return Ok(());
        }
        let mut found = files.iter().flat_map(|(file, source)| {
            let named = source.file.definitions.iter();
            named
                .filter(|definition| is_named(&definition.name, name))
                .map(move |definition| (*file, *source, definition))
        });
        if let (Some((file, source, definition)), None) = (found.next(), found.next()) {
            self.bind(source, &file.path, AnchorRole::Mention, definition, None)?;
        }
        Ok(())
    }

    fn bind(
        &mut self,
        source: &IndexedSource,
        path: &str,
        role: AnchorRole,
        definition: &Definition,
        lines: Option<std::ops::RangeInclusive<u32>>,
    ) -> Result<(), Failure> {
        let Ok(at) = Place::definition(path, &definition.name, definition.nth) else {
            return Ok(());
        };
        self.add(source, at, role, definition, lines)
    }

    fn add(
        &mut self,
        source: &IndexedSource,
        at: Place,
        role: AnchorRole,
        definition: &Definition,
        lines: Option<std::ops::RangeInclusive<u32>>,
    ) -> Result<(), Failure> {
        let is_known = self.found.places.iter().any(|place| place.at == at);
        if is_known || self.found.places.len() >= limits::ANCHORS {
            return Ok(());
        }
        let bytes = match &self.texts {
            Some(texts) => texts.get(at.path()).cloned().unwrap_or_default(),
            None => self.code.text(at.path())?.unwrap_or_default(),
        };
        let excerpt =
            Excerpt::read(at.path(), &bytes, &(definition.first_line..=definition.last_line));
        let mut words = excerpt.witnesses(&self.named.text, &definition.name);
        if at.name().is_none() {
            // They leave the file with the definitions, which are watched themselves.
            let bound = self.found.places.iter().filter(|place| place.at.path() == at.path());
            let watched: Vec<&str> = bound
                .flat_map(|place| {
                    place.words.iter().map(String::as_str).chain([place.definition.last_name()])
                })
                .collect();
            words.retain(|word| !watched.contains(&word.as_str()));
        }
        let lines = lines.map(|lines| line_hashes(at.path(), &bytes, &lines)).unwrap_or_default();
        self.found.places.push(CapturedPlace {
            kind: definition.kind.name().to_owned(),
            is_coarse: source.file.coarse,
            seen: SeenCode { blob: source.blob.clone(), ..SeenCode::default() },
            definition: definition.clone(),
            words: most_telling(words),
            lines: lines
                .into_iter()
                .take(limits::ANCHOR_LINES)
                .map(|hash| format!("{hash:08x}"))
                .collect(),
            at,
            role,
        });
        Ok(())
    }

    /// Notes the commit that is checked out, and whether it has what was seen.
    fn name_commit(&mut self) {
        if self.found.places.is_empty() {
            return;
        }
        let paths: Vec<&str> = self.found.places.iter().map(|place| place.at.path()).collect();
        let Some((head, blobs)) = self.code.git().head_with_blobs(&paths) else { return };
        for (place, committed) in self.found.places.iter_mut().zip(blobs) {
            place.seen.dirty = committed.as_deref() != Some(place.seen.blob.as_str());
            place.seen.commit = Some(head.clone());
        }
    }

    fn unresolved(&mut self, name: String, nearest: Vec<String>) {
        let name = UnresolvedName { name, nearest };
        if !self.found.unresolved.contains(&name) {
            self.found.unresolved.push(name);
        }
    }
}

/// The words that say most of the code, in their order: those that only code has, then the longest.
fn most_telling(mut words: Vec<String>) -> Vec<String> {
    let is_plain = |word: &String| word.chars().all(char::is_lowercase);
    words.sort_by_key(|word| (is_plain(word), std::cmp::Reverse(word.len())));
    words.truncate(limits::ANCHOR_WORDS);
    words
}

/// Names that are a slip of the pen away, or share their words with the one that was given.
fn nearest_names(wanted: &str, names: &[&str]) -> Vec<String> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let leaf = last(wanted);
    let leaves: Vec<String> = names.iter().map(|name| last(name)).collect();
    let slip = suggestions::nearest(&leaf, leaves.iter().map(String::as_str));
    let is_near = |name: &&&str| {
        let name = last(name);
        Some(name.as_str()) == slip
            || (leaf.len() > 2
                && (name.contains(&leaf) || (name.len() > 2 && leaf.contains(&name))))
    };
    names.iter().filter(is_near).take(MAX_NEAREST).map(|name| (*name).to_owned()).collect()
}
