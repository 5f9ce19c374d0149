//! An event, the project it happens in, and what hooks remember of the session.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use twining_engine::learning::RecordedCall;
use twining_engine::secrets::redact_name;
use twining_engine::workflow::EvidenceVerdict;
use twining_engine::{Caller, Engine, FeatureProofs, PostInput};
use twining_guard::hosts::HookEvent;
use twining_guard::{
    Claimant, Evaluation, EvidenceLookup, Facts, FeatureProof, ForeignClaims, GuardSet,
};
use twining_model::{Channel, Origin, Time, Trust, text};

use super::session_state::SessionState;
use super::working_tree::WorkingTree;
use crate::project::{Project, parent_processes};

/// How long a hook waits for another process that has the index; hosts give it five seconds.
pub(super) const INDEX_TIMEOUT: Duration = Duration::from_millis(700);

/// An event, and all that answering it may ask.
pub(crate) struct HookContext {
    /// The memory.
    pub project: Project,
    /// The files.
    pub files: WorkingTree,
    /// What happened.
    pub event: HookEvent,
}

impl HookContext {
    /// Opens the project that an event happens in.
    pub(crate) fn open(project: Option<PathBuf>, event: HookEvent) -> Result<Self, String> {
        let project = Project::open_from(project, &event.cwd).map_err(|problem| {
            problem.to_json()["message"]
                .as_str()
                .unwrap_or("the project cannot be opened")
                .to_owned()
        })?;
        project.engine.store().set_deadline(INDEX_TIMEOUT);
        Ok(Self::of(project, event))
    }

    /// An event in a project that is open.
    pub(crate) fn of(project: Project, event: HookEvent) -> Self {
        let files = WorkingTree::of(&project);
        Self { project, files, event }
    }

    /// Whether the project has a memory at all.
    pub(crate) fn has_memory(&self) -> bool {
        self.project.engine.store().exists().unwrap_or(false)
    }

    /// Who acts.
    pub(crate) fn caller(&self) -> Caller {
        let session = Some(self.event.session.clone());
        let origin = Origin { session, ..Origin::new(Channel::Hook, Trust::Agent) };
        let named = self.event.event.agent_type.as_deref().unwrap_or("main");
        self.project.at_head(Caller { agent: redact_name(named).0, origin })
    }

    /// What the guards say to the event.
    pub(crate) fn evaluate(&self, guards: &GuardSet) -> Evaluation {
        self.with_facts(|facts| guards.evaluate(&self.event.event, facts))
    }

    /// What they say, and why each is silent.
    pub(crate) fn explain(&self, guards: &GuardSet) -> Evaluation {
        self.with_facts(|facts| guards.explain(&self.event.event, facts))
    }

    fn with_facts(&self, evaluate: impl Fn(&Facts<'_>) -> Evaluation) -> Evaluation {
        let claims = self.claims();
        evaluate(&Facts {
            root: &self.files.root,
            files: &self.files,
            evidence: &self.runs(),
            claims: &claims,
        })
    }

    /// What proves that features work.
    pub(crate) fn runs(&self) -> RecordedRuns<'_> {
        RecordedRuns::of(&self.project.engine, &self.project.located.checkout)
    }

    /// What others claim.
    fn claims(&self) -> ForeignClaims {
        let event = &self.event.event;
        let store = self.project.engine.store();
        // A file of claims that cannot be read claims nothing.
        let Some(bytes) = store.documents().claims().ok().flatten() else {
            return ForeignClaims::default();
        };
        // Asked only where a claim names a process: a tool waits.
        let processes = if bytes.contains(&b'@') { parent_processes() } else { Vec::new() };
        let names = event.agent_id.iter().chain(&event.agent_type).cloned().collect();
        let signature = store.outbox().signature().ok().flatten();
        let principal = signature.map(|signature| signature.principal);
        let asker = Claimant { session: self.event.session.clone(), names, processes, principal };
        ForeignClaims::read(&bytes, &asker, store.ids().now(), &|session, since| {
            self.is_abandoned(session, since)
        })
    }

    /// Whether the session behind a claim is gone: its server ended, or it made no calls since this
    /// session began.
    fn is_abandoned(&self, session: &str, since: Option<Time>) -> bool {
        if let Some((_, process)) = session.rsplit_once('@') {
            return cfg!(target_os = "linux")
                && !std::path::Path::new("/proc").join(process).exists();
        }
        let Some(began) = self.notes().began else { return false };
        let calls = self.project.engine.store().local_state().latest_calls().unwrap_or_default();
        let is_recorded = |call: RecordedCall| {
            call.session == session && Time::read(&call.at).is_some_and(|at| at >= began)
        };
        since.is_some_and(|since| since < began)
            && !calls.iter().filter_map(|line| RecordedCall::read(line)).any(is_recorded)
    }

    /// What hooks remember of the session.
    pub(crate) fn notes(&self) -> SessionState {
        let store = self.project.engine.store();
        let mut notes: SessionState =
            store.local_state().read_json(&self.event.session).unwrap_or_default();
        notes.began.get_or_insert_with(|| store.ids().now());
        notes
    }

    /// Saves the notes, and returns whether that succeeded. A note that cannot be saved makes a
    /// later check weaker, never this answer wrong.
    pub(crate) fn save_notes(&self, notes: &SessionState) -> bool {
        let store = self.project.engine.store();
        self.has_memory() && store.local_state().write_json(&self.event.session, notes)
    }

    /// Posts to the board, for its next reader.
    pub(crate) fn post(&self, entry_type: &str, summary: &str, scope: Option<&str>) {
        let whole = text::visible(summary).replace('\n', " ");
        let (summary, scope) = (text::excerpt(&whole, 190), scope.map(str::to_owned));
        let detail = (summary != whole).then_some(whole);
        let entry = PostInput {
            entry_type: entry_type.to_owned(),
            summary,
            detail,
            scope,
            ..PostInput::default()
        };
        // If the board cannot be written, the person still reads the message.
        let _ = self.project.engine.post(&self.caller(), &entry);
    }
}

/// The workflow's runs, and the working tree they are compared with. Nothing is read
/// until somebody asks.
pub(crate) struct RecordedRuns<'a> {
    engine: &'a Engine,
    checkout: &'a Path,
    proofs: OnceCell<Result<FeatureProofs<'a>, String>>,
}

impl<'a> RecordedRuns<'a> {
    /// The runs of a project.
    pub(crate) fn of(engine: &'a Engine, checkout: &'a Path) -> Self {
        Self { engine, checkout, proofs: OnceCell::new() }
    }

    fn proofs(&self) -> Result<&FeatureProofs<'a>, String> {
        self.proofs
            .get_or_init(|| self.engine.proofs().map_err(|failure| failure.to_string()))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Whether a feature was found to work when it was last reported: what changed or
    /// failed after that is no reason to take the mark back.
    pub(crate) fn was_proven(&self, feature: &str) -> bool {
        self.proofs().is_ok_and(|proofs| proofs.passed(feature).is_some())
    }
}

impl EvidenceLookup for RecordedRuns<'_> {
    fn proof_of(&self, feature: &str) -> FeatureProof {
        match self.proofs().and_then(|proofs| proofs.of(self.checkout, feature)) {
            Ok(Some(EvidenceVerdict::Accepted { run, .. })) => FeatureProof::Recorded(run),
            Ok(Some(EvidenceVerdict::Missing { what, .. })) => FeatureProof::Missing(what),
            Ok(None) => FeatureProof::Missing("no run of its tests is recorded".to_owned()),
            // What cannot be read proves nothing.
            Err(why) => FeatureProof::Missing(why),
        }
    }
}
