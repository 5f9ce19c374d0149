//! Sets of fates, and the trees of the commits they speak of.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use regex::Regex;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use twining_code::{Definition, DefinitionKind, SourceFile, read_source};

/// What differs between a definition then and now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrueChange {
    None,
    Body,
    Signature,
}

/// A place: path, name, and how many of that name come before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TruePlace {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) before: usize,
}

/// What became of a definition.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    pub(crate) place: TruePlace,
    /// Where it is now; nothing if it was removed.
    pub(crate) to: Option<TruePlace>,
    pub(crate) change: TrueChange,
}

/// The fates of the definitions of a project.
pub(crate) struct FateSet {
    pub(crate) name: String,
    pub(crate) fates: Vec<Fate>,
    repository: String,
    pub(crate) commits: [String; 2],
    extensions: &'static [&'static str],
    wanted: Regex,
    skipped: Regex,
}

/// A source file of a commit.
pub(crate) struct TreeFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) source: SourceFile,
    /// Processor time that reading took.
    pub(crate) took: Duration,
}

/// The source files of a commit.
pub(crate) struct SourceTree {
    pub(crate) files: BTreeMap<String, TreeFile>,
}

impl SourceTree {
    pub(crate) fn definition(&self, place: &TruePlace) -> Option<&Definition> {
        let file = self.files.get(&place.path)?;
        // The sets know no constants; one of the same name must not be counted.
        let mut named = file
            .source
            .definitions
            .iter()
            .filter(|found| found.name == place.name && found.kind != DefinitionKind::Constant);
        named.nth(place.before)
    }
}

/// The files of sets in a folder.
pub(crate) fn sets(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.to_string_lossy();
            name.ends_with(".jsonl") || name.ends_with(".jsonl.xz")
        })
        .collect();
    files.sort();
    Ok(files)
}

impl FateSet {
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let text = if file.extension().is_some_and(|extension| extension == "xz") {
            output(Command::new("xz").arg("-dc").arg(file))?
        } else {
            std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?
        };
        let text = String::from_utf8_lossy(&text);
        let mut rows = text.lines().map(serde_json::from_str::<Value>);
        let problem = |what: &str| format!("{}: {what}", file.display());
        let head = rows.next().and_then(Result::ok).ok_or_else(|| problem("has no first line"))?;
        let field = |name: &str| -> Result<String, String> {
            let text = head.get(name).and_then(Value::as_str);
            text.map(str::to_owned).ok_or_else(|| problem(&format!("`{name}` is missing")))
        };
        let pattern = |name: &str| -> Result<Regex, String> {
            Regex::new(&field(name)?).map_err(|error| problem(&error.to_string()))
        };
        let fates = rows.map(|row| {
            let row = row.map_err(|error| problem(&error.to_string()))?;
            fate(&row).ok_or_else(|| problem(&format!("not a fate: {row}")))
        });
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        Ok(Self {
            name: name.split('.').next().unwrap_or(&name).to_owned(),
            repository: field("repo")?,
            commits: [field("a")?, field("b")?],
            extensions: match field("lang")?.as_str() {
                "py" => &[".py"],
                _ => &[".ts", ".tsx", ".mts", ".cts"],
            },
            wanted: pattern("src")?,
            skipped: pattern("skip")?,
            fates: fates.collect::<Result<_, _>>()?,
        })
    }

    /// Where its repository is.
    pub(crate) fn repository(&self, repos: &Path) -> PathBuf {
        let named = repos.join(&self.repository);
        let inner = named.join("repo");
        if inner.is_dir() { inner } else { named }
    }

    /// The trees of the two commits.
    pub(crate) fn trees(&self, repos: &Path) -> Result<(SourceTree, SourceTree), String> {
        let repository = self.repository(repos);
        let [before, after] = &self.commits;
        Ok((self.tree(&repository, before)?, self.tree(&repository, after)?))
    }

    fn tree(&self, repository: &Path, commit: &str) -> Result<SourceTree, String> {
        let mut git = Command::new("git");
        let list = output(git.arg("-C").arg(repository).args(["ls-tree", "-r", "-z", commit]))?;
        let list = String::from_utf8_lossy(&list);
        let mut objects = Objects::open(repository)?;
        let mut files = BTreeMap::new();
        for line in list.split('\0') {
            let Some((meta, path)) = line.split_once('\t') else { continue };
            let is_wanted = self.extensions.iter().any(|ending| path.ends_with(ending))
                && self.wanted.is_match(path)
                && !self.skipped.is_match(path);
            let blob = meta.split(' ').nth(2).filter(|_| is_wanted);
            let Some(blob) = blob else { continue };
            let bytes = objects.read(blob)?;
            let began = processor_time();
            let source = read_source(path, &bytes);
            let took = processor_time().saturating_sub(began);
            files.insert(path.to_owned(), TreeFile { bytes, source, took });
        }
        Ok(SourceTree { files })
    }
}

fn fate(row: &Value) -> Option<Fate> {
    let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let place = TruePlace {
        path: text("path")?,
        name: text("name")?,
        before: row.get("n").and_then(number)?,
    };
    let to = match row.get("to").and_then(Value::as_array).map(Vec::as_slice) {
        Some([path, name, before]) => Some(TruePlace {
            path: path.as_str()?.to_owned(),
            name: name.as_str()?.to_owned(),
            before: number(before)?,
        }),
        _ => None,
    };
    let change = match text("change")?.as_str() {
        "none" => TrueChange::None,
        "body" => TrueChange::Body,
        "signature" => TrueChange::Signature,
        _ => return None,
    };
    Some(Fate { place, to, change })
}

/// One process that reads objects of a repository.
pub(crate) struct Objects {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Objects {
    pub(crate) fn open(repository: &Path) -> Result<Self, String> {
        let mut git = Command::new("git");
        git.arg("-C").arg(repository).args(["cat-file", "--batch"]);
        git.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = git.spawn().map_err(|error| format!("git: {error}"))?;
        let answers = child.stdout.take().ok_or("git has no output")?;
        Ok(Self { child, answers: BufReader::new(answers) })
    }

    /// The bytes of a blob, named by its id or as `COMMIT:PATH`.
    pub(crate) fn read(&mut self, blob: &str) -> Result<Vec<u8>, String> {
        let ask = self.child.stdin.as_mut().ok_or("git has no input")?;
        let problem = |error: std::io::Error| format!("git cat-file: {error}");
        writeln!(ask, "{blob}").and_then(|()| ask.flush()).map_err(problem)?;
        let mut head = String::new();
        self.answers.read_line(&mut head).map_err(problem)?;
        let size = head.split_whitespace().nth(2).and_then(|size| size.parse::<usize>().ok());
        let size = size.ok_or_else(|| format!("the repository has no {blob}"))?;
        let mut bytes = vec![0; size + 1];
        self.answers.read_exact(&mut bytes).map_err(problem)?;
        bytes.pop();
        Ok(bytes)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let run = command.stderr(Stdio::inherit()).output();
    let run = run.map_err(|error| format!("{command:?}: {error}"))?;
    if run.status.success() { Ok(run.stdout) } else { Err(format!("{command:?}: {}", run.status)) }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
