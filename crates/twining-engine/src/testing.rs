//! A throwaway project with a clock that only moves on request.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tempfile::TempDir;
use twining_embed::Model;
use twining_model::{
    Authority, Channel, Decision, Entity, Entry, Id, IdSource, Origin, Relation, Time, Trust, World,
};
use twining_store::disk::Probe;
use twining_store::{Store, StoreLocation};

use crate::{
    AddEntityInput, AddRelationInput, Caller, DecideInput, DecideOutcome, Engine, History,
    OverrideInput, OverrideOutcome, PostInput,
};

/// A history in which nothing was ever committed.
pub(crate) struct NoHistory;

impl History for NoHistory {
    fn last_commits(&self, _files: &[String]) -> Result<BTreeMap<String, Time>, String> {
        Ok(BTreeMap::new())
    }
}

/// A clock that only tests move.
pub(crate) struct Clock {
    ms: AtomicI64,
    drawn: AtomicU64,
}

impl Clock {
    pub(crate) fn now(&self) -> Time {
        Time::from_ms(self.ms.load(Ordering::SeqCst))
    }

    pub(crate) fn advance_ms(&self, ms: i64) {
        self.ms.fetch_add(ms, Ordering::SeqCst);
    }

    pub(crate) fn advance_days(&self, days: i64) {
        self.advance_ms(days * 24 * 60 * 60 * 1000);
    }
}

struct ClockWorld(Arc<Clock>);

impl World for ClockWorld {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn random(&self) -> u128 {
        let n = u128::from(self.0.drawn.fetch_add(1, Ordering::SeqCst));
        n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    }
}

/// A project in a temporary folder.
pub(crate) struct Project {
    dir: TempDir,
    pub(crate) clock: Arc<Clock>,
    pub(crate) engine: Engine,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::with(Engine::new, None)
    }

    /// A project that is searched by meaning too, once its vectors are made.
    pub(crate) fn with_model() -> Self {
        Self::with(understanding, None)
    }

    /// The same on a disk that fails when the probe says so.
    pub(crate) fn with_model_on(probe: Arc<dyn Probe>) -> Self {
        Self::with(understanding, Some(probe))
    }

    /// The same, whose questions wait so long for vectors that are being made.
    pub(crate) fn waiting_for_vectors(self, timeout: Duration) -> Self {
        Self { engine: self.engine.waiting_for_vectors(timeout), ..self }
    }

    fn with(engine: fn(Store) -> Engine, probe: Option<Arc<dyn Probe>>) -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        let start = Time::read("2026-11-15T09:00:00Z").expect("a time").as_ms();
        let clock = Arc::new(Clock { ms: AtomicI64::new(start), drawn: AtomicU64::new(0) });
        let engine = engine(store_on(dir.path(), &clock, probe));
        Self { dir, clock, engine }
    }

    /// Another process on the same folder.
    pub(crate) fn another_engine(&self) -> Engine {
        Engine::new(store_on(self.path(), &self.clock, None))
    }

    /// Another process on the same folder that searches by meaning.
    pub(crate) fn another_engine_with_model(&self) -> Engine {
        understanding(store_on(self.path(), &self.clock, None))
    }

    /// Another process on the same folder, with a model of its own.
    pub(crate) fn another_engine_with(
        &self,
        load: impl Fn() -> Result<Arc<Model>, String> + Send + Sync + 'static,
    ) -> Engine {
        Engine::with_model(store_on(self.path(), &self.clock, None), Box::new(load))
    }

    /// Makes every vector there is to make.
    pub(crate) fn make_vectors(&self) {
        self.engine.embedding_worker().make_all(&mut |_| true).expect("makes them");
        assert_eq!(
            self.engine.embedding_worker().scan().expect("looks").waiting,
            0,
            "texts without a vector"
        );
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn post(&self, kind: &str, summary: &str) -> String {
        self.post_in("project", kind, summary)
    }

    pub(crate) fn post_in(&self, scope: &str, kind: &str, summary: &str) -> String {
        self.clock.advance_ms(1);
        let input = PostInput {
            entry_type: kind.into(),
            summary: summary.into(),
            scope: Some(scope.into()),
            force: true,
            ..PostInput::default()
        };
        self.engine.post(&caller("ada"), &input).expect("posts").id
    }

    pub(crate) fn reply(&self, kind: &str, summary: &str, to: &str) -> String {
        self.clock.advance_ms(1);
        let input = PostInput {
            entry_type: kind.into(),
            summary: summary.into(),
            relates_to: vec![to.into()],
            ..PostInput::default()
        };
        self.engine.post(&caller("bob"), &input).expect("posts").id
    }

    pub(crate) fn decide(&self, input: &DecideInput) -> DecideOutcome {
        self.clock.advance_ms(1);
        self.engine.decide(&caller("ada"), input).expect("decides")
    }

    pub(crate) fn override_as(
        &self,
        authority: Authority,
        id: &Id,
        new_decision: Option<&str>,
    ) -> OverrideOutcome {
        self.clock.advance_ms(1);
        let input = OverrideInput {
            decision_id: id.to_string(),
            reason: "the client said no".into(),
            new_decision: new_decision.map(str::to_owned),
            ..OverrideInput::default()
        };
        self.engine.override_decision(&caller("ada"), authority, &input).expect("overrides")
    }

    pub(crate) fn add_entity(&self, name: &str, kind: &str) -> String {
        let input = AddEntityInput {
            name: name.into(),
            kind: kind.into(),
            properties: BTreeMap::new(),
            agent_id: None,
        };
        self.engine.add_entity(&caller("ada"), &input).expect("adds").id
    }

    pub(crate) fn relate(&self, source: &str, kind: &str, target: &str) -> String {
        let input = AddRelationInput {
            source: source.into(),
            target: target.into(),
            kind: kind.into(),
            properties: BTreeMap::new(),
            agent_id: None,
        };
        self.engine.add_relation(&caller("ada"), &input).expect("adds").id
    }

    /// The board as its file holds it.
    pub(crate) fn board(&self) -> Vec<Entry> {
        let text =
            fs::read_to_string(self.path().join(".twining/blackboard.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line is an entry")).collect()
    }

    pub(crate) fn entry(&self, id: &str) -> Entry {
        self.board().into_iter().find(|entry| entry.id == id).expect("the entry is on the board")
    }

    pub(crate) fn entries_tagged(&self, tag: &str) -> Vec<Entry> {
        self.board().into_iter().filter(|entry| entry.tags.iter().any(|t| t == tag)).collect()
    }

    /// The decision as its file holds it.
    pub(crate) fn decision(&self, id: &Id) -> Decision {
        let text = fs::read(self.path().join(format!(".twining/decisions/{id}.json")))
            .expect("the decision has a file");
        serde_json::from_slice(&text).expect("the file is a decision")
    }

    pub(crate) fn decisions(&self) -> Vec<Decision> {
        let filter = twining_store::DecisionFilter::default();
        self.engine
            .store()
            .view::<_, twining_store::StoreError>(|view| {
                Ok(view.decisions().page(&filter, 1000)?.items)
            })
            .expect("reads")
    }

    pub(crate) fn decision_files(&self) -> usize {
        let Ok(files) = fs::read_dir(self.path().join(".twining/decisions")) else { return 0 };
        files
            .filter(|file| file.as_ref().is_ok_and(|file| file.file_name() != "index.json"))
            .count()
    }

    /// The graph as its files hold it, once the journal is carried into them.
    pub(crate) fn entities(&self) -> Vec<Entity> {
        self.array("graph/entities.json")
    }

    pub(crate) fn relations(&self) -> Vec<Relation> {
        self.array("graph/relations.json")
    }

    /// Puts a file into `.twining` as git or a person would.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(".twining").join(name);
        fs::create_dir_all(path.parent().expect("inside a folder")).expect("makes the folder");
        fs::write(path, text).expect("writes");
    }

    /// Puts a decision file there that no verb of ours made.
    pub(crate) fn write_decision(&self, id: &str, fields: &serde_json::Value) {
        let mut decision = serde_json::json!({
            "id": id, "timestamp": "2026-11-14T09:00:00.000Z", "agent_id": "git", "domain": "architecture", "scope": "src/",
            "summary": id, "context": "c", "rationale": "r", "status": "active", "depends_on": [],
        });
        for (key, value) in fields.as_object().expect("an object of fields") {
            decision[key] = value.clone();
        }
        self.write(&format!("decisions/{id}.json"), &decision.to_string());
    }

    fn array<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        self.engine.store().housekeep().expect("housekeeps");
        let text = fs::read_to_string(self.path().join(".twining").join(name))
            .unwrap_or_else(|_| "[]".into());
        serde_json::from_str(&text).expect("an array of records")
    }
}

/// An agent that calls over MCP.
pub(crate) fn caller(agent: &str) -> Caller {
    let origin = Origin { client: Some("test".into()), ..Origin::new(Channel::Mcp, Trust::Agent) };
    Caller { agent: agent.into(), origin }
}

/// A decision of these words, and nothing else.
pub(crate) fn choice(domain: &str, scope: &str, summary: &str) -> DecideInput {
    DecideInput {
        domain: domain.into(),
        scope: scope.into(),
        summary: summary.into(),
        context: "it came up".into(),
        rationale: format!("reasons for: {summary}"),
        ..DecideInput::default()
    }
}

/// A person at the command line.
pub(crate) fn person(name: &str) -> Caller {
    let origin = Origin::new(Channel::Cli, Trust::Human);
    Caller { agent: name.into(), origin }
}

fn understanding(store: Store) -> Engine {
    Engine::with_model(
        store,
        Box::new(|| Model::built_in().map(Arc::new).map_err(|damaged| damaged.to_string())),
    )
}

fn store_on(path: &Path, clock: &Arc<Clock>, probe: Option<Arc<dyn Probe>>) -> Store {
    let ids = Arc::new(IdSource::new(Box::new(ClockWorld(Arc::clone(clock)))));
    let place = StoreLocation { project: path.to_owned(), ..StoreLocation::default() };
    Store::open_probed(place, ids, probe).expect("opens")
}
