//! The report: what is there, what needs attention, and what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_guard::policy::Examples;
use twining_guard::{GuardSet, UserPolicy};
use twining_model::{Claim, DecisionStatus, Handoff, Id, Scope, Time, limits, text};
use twining_store::config::VERSION;
use twining_store::{
    AgentFiles, Config, EntryFilter, FeatureListFile, RecordCounts, Store, StoreError, TextFile,
    TurnFiles, View,
};

use crate::agents::{AgentLiveness, AgentSummary};
use crate::anchors::CodeCounts;
use crate::decisions::{PERSONS_TOKEN, open_claimed_overrides};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::DAY_MS;
use crate::governance::turns;
use crate::knowledge::KnowledgeMetrics;
use crate::search::{ModelState, SearchMode};
use crate::{agents, fields, workflow};

/// Unreadable files that are listed.
const UNREADABLE_LISTED: usize = 20;
/// Maximum number of similar names reported.
const SUSPICIONS: usize = 5;
/// Turn files that are looked at, the last by name: `status` must not grow with the project.
const TURNS: usize = 200;
/// Days a decision may be provisional before someone should look.
const STALE_DAYS: i64 = 7;

/// Something to look at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatusWarning {
    /// Machine-readable code.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl StatusWarning {
    fn new(code: &str, message: String, hint: &str) -> Self {
        Self { code: code.to_owned(), message, hint: hint.to_owned() }
    }
}

/// A file, or a line of one, that could not be read. It is left unchanged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnreadableFile {
    /// Relative to `.twining`.
    pub file: String,
    /// Which line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong with it.
    pub why: String,
}

/// What to count, and what to add.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusInput {
    /// Count only entries, decisions and claims of this part
    ///
    /// A file or directory, relative to the project
    pub scope: Option<String>,
    /// Also show knowledge usage and cost, as counted on this machine
    #[serde(default)]
    pub metrics: bool,
}

/// What a linked clone knows of the exchange with the team's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TeamExchange {
    /// When the service last answered, if it ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
    /// Changes not sent yet.
    pub unsent: u64,
    /// When the oldest of them was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsent_since: Option<String>,
}

/// The state of the memory.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct StatusReport {
    /// What the project is called.
    pub project: String,
    /// The part that entries, decisions and claims are counted in, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Entries on the board.
    pub blackboard_entries: u64,
    /// Decisions in force.
    pub active_decisions: u64,
    /// Provisional decisions.
    pub provisional_decisions: u64,
    /// Entities in the graph.
    pub graph_entities: u64,
    /// Relations in the graph.
    pub graph_relations: u64,
    /// Time of the last activity, or `none`.
    pub last_activity: String,
    /// Whether the board is over its threshold.
    pub needs_archiving: bool,
    /// Decisions replaced.
    pub superseded_decisions: u64,
    /// Decisions overridden.
    pub overridden_decisions: u64,
    /// Unmet needs.
    pub open_needs: u64,
    /// Unanswered questions.
    pub unanswered_questions: u64,
    /// Unresolved warnings.
    pub open_warnings: u64,
    /// Entities without a relation.
    pub disconnected_entities: u64,
    /// Files and lines that could not be read, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableFile>,
    /// What needs attention.
    pub warnings: Vec<StatusWarning>,
    /// One line.
    pub summary: String,
    /// How searches are answered: `hybrid`, or `keyword` without a model.
    pub search: SearchMode,
    /// Where the memory is, in the project.
    pub store: String,
    /// Format version of the folder.
    pub format_version: u32,
    /// Agents in the registry.
    pub registered_agents: u64,
    /// Active agents.
    pub active_agents: u64,
    /// Unacknowledged handoffs.
    pub open_handoffs: u64,
    /// Active claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Records that are bound to code, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeCounts>,
    /// The exchange with the team's log, in a linked clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamExchange>,
    /// Knowledge usage and cost, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<KnowledgeMetrics>,
}

/// Takes stock. `rejected` is the number of queued lines that were set aside, `unread` what
/// cannot be read beside the index.
pub(crate) fn status(
    view: &View<'_>,
    project: String,
    config: &Config,
    rejected: u64,
    model: &ModelState,
    unread: &[UnreadableFile],
) -> Result<StatusReport, Failure> {
    let mut tally = view.counts()?;
    tally.unreadable += unread.len() as u64;
    if tally.unconfirmed_overrides > 0 {
        tally.unconfirmed_overrides = open_claimed_overrides(view)?.len() as u64;
    }
    let counts = StatusCounts {
        stale: view
            .decisions()
            .stale_provisional(fields::earlier(view.now(), STALE_DAYS * DAY_MS))?,
        unanswered: unanswered(view, &tally)?,
        duplicates: view.entries().duplicate_ids()?,
        threshold: config.archive.max_blackboard_entries_before_archive,
        permanent: permanent(view, &tally)?,
        rejected,
        tally,
    };
    let unreadable = view.unreadable()?.into_iter();
    let unreadable =
        unreadable.map(|bad| UnreadableFile { file: bad.file, line: bad.line, why: bad.why });
    let notices = notices(&counts, config, model);
    let tally = &counts.tally;
    Ok(StatusReport {
        project,
        blackboard_entries: tally.entries,
        active_decisions: tally.active,
        provisional_decisions: tally.provisional,
        graph_entities: tally.entities,
        graph_relations: tally.relations,
        last_activity: tally.last_activity.map_or_else(|| "none".to_owned(), Time::into),
        needs_archiving: counts.needs_archiving(),
        superseded_decisions: tally.superseded,
        overridden_decisions: tally.overridden,
        open_needs: tally.open_needs,
        unanswered_questions: tally.open_questions,
        open_warnings: tally.open_warnings,
        disconnected_entities: tally.disconnected,
        unreadable: unreadable.chain(unread.iter().cloned()).take(UNREADABLE_LISTED).collect(),
        summary: summary(tally, &notices),
        warnings: notices.into_iter().map(|notice| notice.warning).collect(),
        search: if *model == ModelState::Ready { SearchMode::Hybrid } else { SearchMode::Keyword },
        store: ".twining".to_owned(),
        format_version: config.version,
        ..StatusReport::default()
    })
}

impl StatusReport {
    /// Adds who is there and who holds what.
    pub(super) fn add_agents(&mut self, agent_files: &AgentFiles, config: &Config, now: Time) {
        let everyone = agents::everyone(agent_files, config, now);
        let count =
            |wanted: fn(&&AgentSummary) -> bool| everyone.iter().filter(wanted).count() as u64;
        self.registered_agents = count(|agent| agent.registered_at.is_some());
        self.active_agents = count(|agent| agent.liveness == AgentLiveness::Active);
        self.open_handoffs = agents::open_handoffs(agent_files, limits::HANDOFFS, |_| true)
            .map_or(0, |open| open.len() as u64);
        self.claims = agents::current_claims(agent_files, now);
        if let Some((line, why)) = agent_files.registered().unreadable.first() {
            let message = format!("agents/registry.json, line {line}: {why}");
            let hint = "fix it manually; Twining does not overwrite it";
            self.warnings.push(StatusWarning::new("unreadable_registry", message, hint));
        }
        for why in everyone.iter().filter_map(|agent| agent.suspicious.clone()).take(SUSPICIONS) {
            let hint = "check that this agent is who you think it is";
            self.warnings.push(StatusWarning::new("look_alike_agents", why, hint));
        }
    }
}

/// What the warnings are drawn from.
struct StatusCounts {
    tally: RecordCounts,
    stale: u64,
    unanswered: u64,
    duplicates: u64,
    threshold: u64,
    permanent: u64,
    rejected: u64,
}

impl StatusCounts {
    /// Whether the board is over its threshold and an archive would help: one
    /// full of decisions must not send agents to archive again and again.
    fn needs_archiving(&self) -> bool {
        self.tally.entries >= self.threshold && self.tally.entries > self.permanent
    }
}

/// Whether someone should look now. A lone entity is worth knowing; a project is
/// not unwell for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attention {
    Yes,
    No,
}

struct StatusNotice {
    attention: Attention,
    warning: StatusWarning,
}

/// Entries that no archive will move: decisions, summaries of archives, what is open.
fn permanent(view: &View<'_>, tally: &RecordCounts) -> Result<u64, Failure> {
    let announcements =
        EntryFilter { types: vec!["decision".to_owned()], ..EntryFilter::default() };
    let summaries = EntryFilter {
        types: vec!["finding".to_owned()],
        tags: vec!["archive".to_owned()],
        ..EntryFilter::default()
    };
    let open = tally.open_needs + tally.open_questions + tally.open_warnings;
    Ok(view.entries().newest(&announcements, 1)?.total
        + view.entries().newest(&summaries, 1)?.total
        + open)
}

/// Questions open for a day or more: all that are open but for the recent ones,
/// which are few on a board of any age.
fn unanswered(view: &View<'_>, tally: &RecordCounts) -> Result<u64, Failure> {
    if tally.open_questions == 0 {
        return Ok(0);
    }
    let recent = EntryFilter {
        types: vec!["question".to_owned()],
        since: Some(fields::earlier(view.now(), DAY_MS)),
        only_open: true,
        ..EntryFilter::default()
    };
    Ok(tally.open_questions.saturating_sub(view.entries().newest(&recent, 1)?.total))
}

fn notices(counts: &StatusCounts, config: &Config, model: &ModelState) -> Vec<StatusNotice> {
    let tally = &counts.tally;
    let mut notices = StatusNotices(Vec::new());
    if config.version > VERSION {
        let message = format!(
            "the folder has format version {}; it can be read but not written",
            config.version
        );
        notices.add(Attention::Yes, "format_too_new", message, "update twining");
    }
    notices.count(tally.unreadable, Attention::Yes, &UNREADABLE);
    notices.count(tally.unconfirmed_overrides, Attention::Yes, &UNCONFIRMED);
    notices.count(counts.stale, Attention::Yes, &STALE);
    notices.count(counts.unanswered, Attention::Yes, &UNANSWERED);
    notices.count(tally.dangling, Attention::Yes, &DANGLING);
    notices.count(tally.future_dated, Attention::Yes, &AHEAD);
    notices.count(
        tally.provisional - counts.stale.min(tally.provisional),
        Attention::No,
        &PROVISIONAL,
    );
    notices.count(tally.disconnected, Attention::No, &LONE);
    notices.count(counts.duplicates, Attention::No, &TWICE);
    notices.count(counts.rejected, Attention::No, &REJECTED);
    if counts.needs_archiving() {
        let message = format!(
            "the blackboard has {}; the archive threshold is {}",
            fields::count(tally.entries, "entry", "entries"),
            counts.threshold
        );
        notices.add(
            Attention::Yes,
            "needs_archiving",
            message,
            "twining_archive archives the settled entries",
        );
    }
    if let ModelState::Unusable(why) = model {
        let message = format!("searches use keywords only: {why}");
        notices.add(
            Attention::No,
            "no_embeddings",
            message,
            "reinstall twining, or unset TWINING_MODEL; everything else works",
        );
    }
    for note in &config.notes {
        notices.add(Attention::No, "config", note.clone(), "edit .twining/config.yml");
    }
    notices.0
}

struct StatusNotices(Vec<StatusNotice>);

impl StatusNotices {
    fn count(&mut self, n: u64, attention: Attention, kind: &NoticeKind) {
        if n > 0 {
            self.add(attention, kind.code, fields::count(n, kind.one, kind.many), kind.hint);
        }
    }

    fn add(&mut self, attention: Attention, code: &str, message: String, hint: &str) {
        self.0.push(StatusNotice { attention, warning: StatusWarning::new(code, message, hint) });
    }
}

/// What can be the matter, in words.
struct NoticeKind {
    code: &'static str,
    one: &'static str,
    many: &'static str,
    hint: &'static str,
}

const UNREADABLE: NoticeKind = NoticeKind {
    code: "unreadable_files",
    one: "file or line could not be read",
    many: "files or lines could not be read",
    hint: "they were left as they are; see the list of what could not be read, and fix it",
};
const UNCONFIRMED: NoticeKind = NoticeKind {
    code: "unconfirmed_overrides",
    one: "override was claimed by an agent and not confirmed",
    many: "overrides were claimed by agents and not confirmed",
    hint: "a person confirms one by overriding it again at a terminal: `twining override ID --why \"…\"`; `twining waiting` lists them",
};
const STALE: NoticeKind = NoticeKind {
    code: "stale_provisional",
    one: "provisional decision is older than 7 days",
    many: "provisional decisions are older than 7 days",
    hint: "settle each with twining_promote, twining_override or a decision that supersedes it",
};
const UNANSWERED: NoticeKind = NoticeKind {
    code: "unanswered_questions",
    one: "question is unanswered",
    many: "questions are unanswered",
    hint: "answer with an entry of type answer that relates to it, or use twining_dismiss",
};
const DANGLING: NoticeKind = NoticeKind {
    code: "dangling_relations",
    one: "relation points to a missing entity",
    many: "relations point to missing entities",
    hint: "twining_prune_graph removes them",
};
const AHEAD: NoticeKind = NoticeKind {
    code: "future_dated",
    one: "record is dated in the future",
    many: "records are dated in the future",
    hint: "they are ranked last; check the clock of the machine that wrote them",
};
const PROVISIONAL: NoticeKind = NoticeKind {
    code: "provisional",
    one: "provisional decision waits for review",
    many: "provisional decisions wait for review",
    hint: "twining_why project shows what each contradicts; a person settles it with twining_override or twining_promote",
};

const LONE: NoticeKind = NoticeKind {
    code: "disconnected_entities",
    one: "entity has no relation",
    many: "entities have no relation",
    hint: "relate them with twining_add_relation, or remove them with twining_prune_graph",
};
const TWICE: NoticeKind = NoticeKind {
    code: "duplicate_ids",
    one: "entry is on more than one line",
    many: "entries are on more than one line",
    hint: "a merge kept both sides; each entry counts once, and its last line is used",
};
const REJECTED: NoticeKind = NoticeKind {
    code: "rejected_queue_lines",
    one: "line queued by a hook was rejected",
    many: "lines queued by hooks were rejected",
    hint: "`.twining/pending-rejected.jsonl` lists each with its reason; fix the hook, then delete the file",
};

fn summary(tally: &RecordCounts, notices: &[StatusNotice]) -> String {
    let messages_of = |attention: Attention| {
        let messages: Vec<&str> = notices
            .iter()
            .filter(|n| n.attention == attention)
            .map(|n| n.warning.message.as_str())
            .collect();
        messages.join("; ")
    };
    let attention = messages_of(Attention::Yes);
    if !attention.is_empty() {
        return format!("Needs attention: {attention}.");
    }
    let information = messages_of(Attention::No);
    format!(
        "Healthy. {}, {}, {}.{}",
        fields::count(tally.entries, "blackboard entry", "blackboard entries"),
        fields::count(tally.active, "active decision", "active decisions"),
        fields::count(tally.entities, "graph entity", "graph entities"),
        if information.is_empty() {
            String::new()
        } else {
            format!(" For information: {information}.")
        },
    )
}

impl Engine {
    /// Takes stock.
    pub fn status(&self) -> Result<StatusReport, Failure> {
        self.search_on_new_index()?;
        let config = self.store().config()?;
        let rejected = self.store().queues().rejected_lines()?;
        let model = self.expected_model_state()?;
        let agent_files = self.store().documents().agents();
        let unread = unreadable_files(self.store(), &agent_files);
        let project = self.store().project_name();
        let mut report = self.store().view(|view| {
            let report = status(view, project.clone(), &config, rejected, &model, &unread)?;
            Ok::<_, Failure>(StatusReport { code: self.code_counts(view)?, ..report })
        })?;
        if self.lacks_persons_token()? {
            let mut warnings = report.warnings.iter_mut();
            if let Some(warning) = warnings.find(|warning| warning.code == UNCONFIRMED.code) {
                warning.hint = PERSONS_TOKEN.to_owned();
            }
        }
        report.warnings.extend(self.knowledge_warning());
        if let Ok(agent_files) = &agent_files {
            report.add_agents(agent_files, &config, self.store().ids().now());
        }
        Ok(report)
    }

    /// The same, with entries, decisions and claims of one scope only.
    pub fn status_in(&self, scope: &str) -> Result<StatusReport, Failure> {
        let (scope, mut report) =
            (Scope::parse("scope", scope, self.store().root())?, self.status()?);
        self.store().view(|view| {
            let open = |kind: &str| {
                let types = if kind.is_empty() { Vec::new() } else { vec![kind.to_owned()] };
                let only_open = !types.is_empty();
                let filter = EntryFilter {
                    types,
                    only_open,
                    scope: Some(scope.clone()),
                    ..EntryFilter::default()
                };
                view.entries().newest(&filter, 1).map(|page| page.total)
            };
            report.blackboard_entries = open("")?;
            report.open_needs = open("need")?;
            report.unanswered_questions = open("question")?;
            report.open_warnings = open("warning")?;
            let bearing = view.decisions().in_scope(&scope)?;
            let having = |status: DecisionStatus| {
                bearing.iter().filter(|row| row.status == status).count() as u64
            };
            report.active_decisions = having(DecisionStatus::Active);
            report.provisional_decisions = having(DecisionStatus::Provisional);
            report.superseded_decisions = having(DecisionStatus::Superseded);
            report.overridden_decisions = having(DecisionStatus::Overridden);
            Ok::<_, Failure>(())
        })?;
        let folding = self.store().folding();
        report.claims.retain(|claim| {
            claim.paths.iter().any(|path| Scope::read(path).overlaps(&scope, folding))
        });
        report.summary = format!(
            "{}, {} in {scope}.",
            fields::count(report.blackboard_entries, "blackboard entry", "blackboard entries"),
            fields::count(report.active_decisions, "active decision", "active decisions"),
        );
        report.scope = Some(scope.to_string());
        Ok(report)
    }

    /// What is the matter with the knowledge graph.
    fn knowledge_warning(&self) -> Option<StatusWarning> {
        let (message, hint) = match self.knowledge_errors() {
            Ok(0) => return None,
            Ok(errors) => {
                let errors = fields::count(errors as u64, "error", "errors");
                (
                    format!("the knowledge graph has {errors}; its valid parts are served"),
                    "twining_knowledge_check lists them".to_owned(),
                )
            }
            Err(error) => (
                format!("the knowledge graph cannot be read: {error}"),
                error.hint().unwrap_or_default(),
            ),
        };
        Some(StatusWarning { code: "knowledge_errors".to_owned(), message, hint })
    }
}

/// Files beside the index that cannot be read. Each reader skips them, so somebody has to tell.
fn unreadable_files(store: &Store, agents: &Result<AgentFiles, StoreError>) -> Vec<UnreadableFile> {
    let documents = store.documents();
    let mut found = documents.turns().map(|stored| unreadable_turns(&stored)).unwrap_or_default();
    found.extend(documents.policy().ok().as_ref().and_then(unreadable_policy));
    found.extend(documents.features().ok().as_ref().and_then(unreadable_features));
    match agents {
        Ok(stored) => found.extend(unreadable_handoffs(stored)),
        Err(error) => {
            found.push(unreadable("agents/registry.json".to_owned(), &error.to_string()));
        }
    }
    found
}

/// Turns that cannot be read, or lie where another belongs.
fn unreadable_turns(stored: &TurnFiles) -> Vec<UnreadableFile> {
    let listing = match stored.all() {
        Ok(listing) => listing,
        Err(error) => return vec![unreadable("turns".to_owned(), &error.to_string())],
    };
    let skipped = listing.skipped.iter().map(|(file, why)| unreadable(file.clone(), why));
    let bad = listing.locations.iter().rev().take(TURNS);
    skipped
        .chain(bad.filter_map(|slot| {
            turns::why_unreadable(stored, slot).map(|why| unreadable(slot.path(), &why))
        }))
        .collect()
}

/// A policy whose guards cannot be read. Other mistakes are reported when the policy is queried:
/// the rest of it applies.
fn unreadable_policy(file: &TextFile) -> Option<UnreadableFile> {
    let mistake = GuardSet::load(&UserPolicy::default(), file, Examples::Skip).unread?;
    let why = format!(
        "{}; its guards are not in force until it is fixed",
        text::excerpt(&mistake.message, 160)
    );
    Some(UnreadableFile { file: "policy.yml".to_owned(), line: Some(mistake.line), why })
}

/// A feature list that cannot be read.
fn unreadable_features(stored: &FeatureListFile) -> Option<UnreadableFile> {
    let failure = workflow::read_list(stored).err()?;
    let file = stored.path.strip_prefix(".twining/").unwrap_or(&stored.path);
    Some(unreadable(file.to_owned(), &failure.to_string()))
}

/// Handoffs that cannot be read, among the newest.
fn unreadable_handoffs(stored: &AgentFiles) -> Vec<UnreadableFile> {
    let ids = match stored.handoff_ids() {
        Ok(ids) => ids,
        Err(error) => return vec![unreadable("handoffs".to_owned(), &error.to_string())],
    };
    let why = |id: &Id| match stored.handoff(id) {
        Ok(None) => None,
        Ok(Some(bytes)) => match serde_json::from_slice::<Handoff>(&bytes) {
            Ok(handoff) if handoff.id == id.as_str() => None,
            Ok(_) => Some("it contains a different handoff than its file name says".to_owned()),
            Err(error) => Some(error.to_string()),
        },
        Err(error) => Some(error.to_string()),
    };
    ids.iter()
        .take(limits::HANDOFFS)
        .filter_map(|id| Some(unreadable(format!("handoffs/{id}.json"), &why(id)?)))
        .collect()
}

fn unreadable(file: String, why: &str) -> UnreadableFile {
    UnreadableFile { file, line: None, why: text::excerpt(why, 160) }
}
