//! Stores of any size, the same bytes every time, written as files in our
//! layout: made once a run, and copied for each measurement.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use twining_model::{
    Alternative, Confidence, Decision, DecisionStatus, Entity, Entry, IdSource, Relation,
};
use twining_testkit::{FixedWorld, records};

use crate::client::BenchResult;
use crate::log_progress;
use crate::table::thousands;

const WORDS: &str = "auth token session cache index lock retry queue parser schema config router handler socket buffer stream \
    batch commit merge branch review deploy metric trace budget search graph entity relation decision scope agent worker handoff \
    archive warning finding constraint module service client server latency throughput memory thread process signal timeout format \
    encode decode validate migrate rollback snapshot replica shard payment invoice order account profile upload download render \
    layout colour theme locale calendar notify email webhook audit permission role because prefer avoid instead until before after \
    between without against database postgres sqlite redis kafka docker kernel driver network proxy";
const TYPES: [&str; 13] = [
    "finding",
    "finding",
    "finding",
    "finding",
    "finding",
    "warning",
    "need",
    "question",
    "answer",
    "status",
    "artifact",
    "constraint",
    "offer",
];
const DOMAINS: [&str; 5] = ["architecture", "implementation", "testing", "api", "data"];
const RELATIONS: [&str; 4] = ["calls", "imports", "depends_on", "decided_by"];
const MODULES: usize = 50;
const FILES: usize = 20;
const MONTH_MS: i64 = 30 * 24 * 3600 * 1000;
/// A board that is never asked to be archived.
const CONFIG: &str = "version: 1\nproject_name: bench\narchive:\n  max_blackboard_entries_before_archive: 1000000000\n";

/// How much a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StoreSize {
    /// Lines on the board.
    pub entries: usize,
    /// Decision files.
    pub decisions: usize,
    /// Entities.
    pub entities: usize,
    /// Relations.
    pub relations: usize,
}

impl StoreSize {
    /// A young project.
    pub(crate) const SMALL: Self =
        Self { entries: 1_000, decisions: 100, entities: 500, relations: 1_000 };
    /// The size the goals are set for.
    pub(crate) const LARGE: Self =
        Self { entries: 100_000, decisions: 10_000, entities: 50_000, relations: 100_000 };
    /// A million entries.
    pub(crate) const MILLION: Self = Self { entries: 1_000_000, ..Self::LARGE };

    /// Hardly anything but a graph, with so many elements in each of its arrays.
    #[must_use]
    pub(crate) fn of_graph(elements: usize) -> Self {
        Self { entries: 100, decisions: 10, entities: elements, relations: elements }
    }
}

impl std::fmt::Display for StoreSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [entries, decisions, entities, relations] =
            [self.entries, self.decisions, self.entities, self.relations].map(thousands);
        write!(
            f,
            "{entries} entries, {decisions} decisions, {entities} entities, {relations} relations"
        )
    }
}

/// What one may ask a store about.
#[derive(Debug, Default)]
pub(crate) struct KnownRecords {
    /// Names of entities.
    pub entities: Vec<String>,
    /// Ids of decisions.
    pub decisions: Vec<String>,
}

/// A project of its own for one measurement, gone when dropped.
pub(crate) struct BenchProject {
    dir: TempDir,
    /// What is in it.
    pub known: Rc<KnownRecords>,
}

impl BenchProject {
    /// Where it is.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The blackboard.
    #[must_use]
    pub(crate) fn board(&self) -> PathBuf {
        self.path().join(".twining/blackboard.jsonl")
    }
}

/// The stores of a run.
pub(crate) struct BenchStores {
    root: TempDir,
    made: BTreeMap<StoreSize, (PathBuf, Rc<KnownRecords>)>,
}

impl BenchStores {
    /// Starts empty; stores are created in `dir`, or in the system's temporary folder.
    pub(crate) fn new(dir: Option<&Path>) -> BenchResult<Self> {
        let builder = || tempfile::Builder::new().prefix("twining-figures-").to_owned();
        let root = dir.map_or_else(|| builder().tempdir(), |dir| builder().tempdir_in(dir))?;
        Ok(Self { root, made: BTreeMap::new() })
    }

    /// Their folder.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// A folder with nothing in it.
    pub(crate) fn empty(&self) -> BenchResult<BenchProject> {
        Ok(BenchProject { dir: tempfile::tempdir_in(self.path())?, known: Rc::default() })
    }

    /// A copy of the store of this size, without any index.
    pub(crate) fn copy(&mut self, size: StoreSize) -> BenchResult<BenchProject> {
        let (path, known) = match self.made.get(&size) {
            Some(made) => made.clone(),
            None => {
                log_progress(&format!("making a store of {size}"));
                let path = self.path().join(format!("made-{}", self.made.len()));
                let made = (path.clone(), Rc::new(write_store(&path, size)?));
                self.made.insert(size, made.clone());
                made
            }
        };
        let project = BenchProject { dir: tempfile::tempdir_in(self.path())?, known };
        copy_dir(&path, &project.path().join(".twining"))?;
        // Or the first flush of a measurement would pay for the copy.
        rustix::fs::syncfs(File::open(project.path())?)?;
        Ok(project)
    }
}

/// Chance that falls the same way every time.
#[derive(Clone, Debug)]
pub(crate) struct FixedRandom {
    state: u64,
    words: Arc<[&'static str]>,
}

impl FixedRandom {
    /// Dice with their own series.
    #[must_use]
    pub(crate) fn new(series: u64) -> Self {
        Self { state: series, words: WORDS.split_whitespace().collect() }
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((bits ^ (bits >> 31)) >> 1).unwrap_or_default() % sides
    }

    /// One of these.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// So many words.
    pub(crate) fn sentence(&mut self, words: usize) -> String {
        let known = Arc::clone(&self.words);
        (0..words).map(|_| self.pick(&known)).collect::<Vec<_>>().join(" ")
    }

    /// A directory of the project.
    pub(crate) fn module(&mut self) -> String {
        format!("src/mod{}/", self.below(MODULES))
    }

    /// A file of the project.
    pub(crate) fn file(&mut self) -> String {
        format!("{}file{}.rs", self.module(), self.below(FILES))
    }

    /// Something a decision may depend on: a function.
    pub(crate) fn symbol(&mut self) -> String {
        format!("fn_{}", self.below(1000))
    }

    fn scope(&mut self) -> String {
        match self.below(100) {
            0..15 => "project".to_owned(),
            15..50 => self.module(),
            _ => self.file(),
        }
    }
}

/// An entry like the others, as a line.
pub(crate) fn board_line(ids: &IdSource, dice: &mut FixedRandom) -> BenchResult<String> {
    Ok(serde_json::to_string(&entry(ids, dice))? + "\n")
}

/// An entry like the others.
pub(crate) fn entry(ids: &IdSource, dice: &mut FixedRandom) -> Entry {
    Entry {
        agent_id: format!("agent-{}", dice.below(8)),
        entry_type: dice.pick(&TYPES).to_owned(),
        tags: vec![dice.sentence(1), dice.sentence(1)],
        scope: dice.scope(),
        detail: dice.sentence(40),
        ..records::entry(ids, &dice.sentence(9))
    }
}

fn decision(
    ids: &IdSource,
    dice: &mut FixedRandom,
    number: usize,
    before: Option<&String>,
) -> Decision {
    let rejected = Alternative {
        option: dice.sentence(4),
        pros: vec![dice.sentence(4)],
        cons: vec![dice.sentence(4)],
        reason_rejected: dice.sentence(8),
    };
    Decision {
        agent_id: format!("agent-{}", dice.below(8)),
        domain: dice.pick(&DOMAINS).to_owned(),
        scope: dice.scope(),
        context: dice.sentence(25),
        rationale: dice.sentence(35),
        constraints: vec![dice.sentence(6)],
        alternatives: vec![rejected],
        depends_on: before.filter(|_| number.is_multiple_of(3)).into_iter().cloned().collect(),
        confidence: [Confidence::High, Confidence::Medium, Confidence::Low][dice.below(3)],
        status: if dice.below(100) < 85 {
            DecisionStatus::Active
        } else {
            DecisionStatus::Provisional
        },
        affected_files: vec![dice.file(), dice.file()],
        affected_symbols: vec![dice.symbol()],
        ..records::decision(ids, &dice.sentence(9))
    }
}

fn write_store(folder: &Path, size: StoreSize) -> BenchResult<KnownRecords> {
    fs::create_dir_all(folder.join("decisions"))?;
    fs::create_dir_all(folder.join("graph"))?;
    fs::write(folder.join("config.yml"), CONFIG)?;
    let world = FixedWorld::new();
    world.pass(-MONTH_MS);
    let (ids, mut dice) = (world.ids(), FixedRandom::new(1));
    let step = MONTH_MS / i64::try_from(size.entries.max(1))?;
    let every = size.entries / size.decisions.max(1);
    let mut known = KnownRecords::default();
    let mut board = BufWriter::new(File::create(folder.join("blackboard.jsonl"))?);
    let mut listed = Vec::new();
    for number in 0..size.entries {
        world.pass(step);
        let mut entry = entry(&ids, &mut dice);
        if number.is_multiple_of(every) && known.decisions.len() < size.decisions {
            let decision = decision(&ids, &mut dice, known.decisions.len(), known.decisions.last());
            "decision".clone_into(&mut entry.entry_type);
            entry.tags = vec![decision.domain.clone()];
            entry.summary.clone_from(&decision.summary);
            entry.detail.clone_from(&decision.rationale);
            entry.scope.clone_from(&decision.scope);
            entry.relates_to = vec![decision.id.to_string()];
            fs::write(
                folder.join(format!("decisions/{}.json", decision.id)),
                serde_json::to_string_pretty(&decision)? + "\n",
            )?;
            listed.push(listing(&decision).to_string());
            known.decisions.push(decision.id.into());
        }
        serde_json::to_writer(&mut board, &entry)?;
        board.write_all(b"\n")?;
    }
    board.flush()?;
    write_array(&folder.join("decisions/index.json"), listed.into_iter().map(Ok))?;
    write_graph(folder, size, &ids, &mut dice, &mut known)?;
    Ok(known)
}

fn write_graph(
    folder: &Path,
    size: StoreSize,
    ids: &IdSource,
    dice: &mut FixedRandom,
    known: &mut KnownRecords,
) -> BenchResult<()> {
    let files = (0..MODULES).flat_map(|module| {
        (0..FILES).map(move |file| (format!("src/mod{module}/file{file}.rs"), "file"))
    });
    let concepts = known.decisions.iter().map(|id| (id.clone(), "concept"));
    let functions = (0..size.entities).map(|number| (format!("fn_{number}"), "function"));
    let mut numbers = Vec::with_capacity(size.entities);
    let mut names = Vec::with_capacity(size.entities);
    let entities =
        files.chain(concepts).chain(functions).take(size.entities).map(|(name, kind)| {
            let properties =
                [("scope".to_owned(), dice.scope()), ("note".to_owned(), dice.sentence(5))];
            let entity = Entity {
                kind: kind.to_owned(),
                properties: properties.into(),
                ..records::entity(ids, &name)
            };
            let text = serde_json::to_string(&entity)?;
            numbers.push(entity.id);
            names.push(name);
            Ok(text)
        });
    write_array(&folder.join("graph/entities.json"), entities)?;
    let relations = (0..size.relations).map(|_| {
        let (source, target) =
            (&numbers[dice.below(numbers.len())], &numbers[dice.below(numbers.len())]);
        let relation = Relation {
            kind: dice.pick(&RELATIONS).to_owned(),
            ..records::relation(ids, source, target)
        };
        Ok(serde_json::to_string(&relation)?)
    });
    write_array(&folder.join("graph/relations.json"), relations)?;
    known.entities = names;
    Ok(())
}

fn listing(decision: &Decision) -> Value {
    json!({
        "id": decision.id, "timestamp": decision.timestamp, "domain": decision.domain, "scope": decision.scope,
        "summary": decision.summary, "confidence": decision.confidence, "status": decision.status,
        "affected_files": decision.affected_files, "affected_symbols": decision.affected_symbols,
        "commit_hashes": decision.commit_hashes,
    })
}

/// One element a line, the comma in front.
fn write_array(
    path: &Path,
    elements: impl Iterator<Item = BenchResult<String>>,
) -> BenchResult<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(b"[\n")?;
    for (i, element) in elements.enumerate() {
        writeln!(file, "{}{}", if i == 0 { "" } else { "," }, element?)?;
    }
    file.write_all(b"]\n")?;
    Ok(file.flush()?)
}

fn copy_dir(from: &Path, to: &Path) -> BenchResult<()> {
    fs::create_dir(to)?;
    for item in fs::read_dir(from)? {
        let item = item?;
        let target = to.join(item.file_name());
        if item.file_type()?.is_dir() {
            copy_dir(&item.path(), &target)?;
        } else {
            fs::copy(item.path(), target)?;
        }
    }
    Ok(())
}
