//! Where an event happens: the project, its working tree, and what hooks
//! remember of the session.

use std::path::PathBuf;
use std::time::Duration;

use twining_engine::guards::{Accepted, Actor, Claims, ClaimsOfOthers, Facts, Guards, Heard, Judgement, Look, Notes};
use twining_engine::hygiene::redact_name;
use twining_engine::{Caller, PostInput};
use twining_model::{Channel, Origin, Trust, text};

use super::evidence::Recorded;
use super::lists::Lists;
use super::workspace::Workspace;
use super::{claimed, ending, git_wiring, ruled, rules};
use crate::desk::Project;
use crate::parent_processes::parent_processes;
use crate::problem::Problem;
use crate::user_policy;

/// How long a hook waits for another process that has the index; hosts give it five seconds.
pub const PATIENCE: Duration = Duration::from_millis(700);

/// An event, and all that answers to it may ask.
pub struct Scene {
    /// The memory.
    pub project: Project,
    /// The files.
    pub work: Workspace,
    /// What happened.
    pub heard: Heard,
}

impl Scene {
    /// Opens the project that an event happens in.
    pub fn open(project: Option<PathBuf>, heard: Heard) -> Result<Self, String> {
        let project = Project::open_from(project, &heard.stands).map_err(|problem| told(&problem))?;
        project.engine.store().hurry(PATIENCE);
        Ok(Self::of(project, heard))
    }

    /// An event in a project that is open.
    pub fn of(project: Project, heard: Heard) -> Self {
        let work = Workspace::of(&project);
        Self { project, work, heard }
    }

    /// Who acts.
    pub fn caller(&self) -> Caller {
        let session = Some(self.heard.session.clone());
        let origin = Origin { client: None, session, via: Channel::Hook, trust: Trust::Agent };
        let named = self.heard.event.agent_type.as_deref().unwrap_or("main");
        Caller { agent: redact_name(named).0, origin }
    }

    /// What proves that features work.
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded::of(&self.project.engine, &self.project.located.checkout)
    }

    /// The same for what is compared with how it was.
    pub fn recorded_so_far(&self) -> Recorded<'_> {
        Recorded::so_far(&self.project.engine, &self.project.located.checkout)
    }

    /// What the guards that hold say to the event.
    pub fn judge(&self) -> Judgement {
        let look = Look::at(&self.heard.event, &self.work.root, &self.work);
        let guards = rules::guards_for(&self.project, &look);
        self.knowing(|facts| guards.judge_seen(&self.heard.event, &look, facts))
    }

    /// What these say, and why each is silent.
    pub fn explain(&self, guards: &Guards) -> Judgement {
        ending::foreseen(self, guards, self.knowing(|facts| guards.explain(&self.heard.event, facts)))
    }

    fn knowing(&self, judge: impl Fn(&Facts<'_>) -> Judgement) -> Judgement {
        let claims = self.claims();
        judge(&Facts { root: &self.work.root, files: &self.work, evidence: &self.recorded(), claims: &claims })
    }

    /// What others claim, but for what this session may take back.
    pub fn claims(&self) -> ClaimsOfOthers {
        let event = &self.heard.event;
        let names = event.agent_id.iter().chain(&event.agent_type).cloned().collect();
        let store = self.project.engine.store();
        // A file of claims that cannot be read claims nothing.
        let Some(bytes) = store.claims_file().ok().flatten() else { return ClaimsOfOthers::default() };
        // Asked only where a claim names a process: a tool waits.
        let processes = if bytes.contains(&b'@') { parent_processes() } else { Vec::new() };
        let actor = Actor { session: self.heard.session.clone(), names, processes };
        let claims = ClaimsOfOthers::read(&bytes, &actor, store.ids().now());
        // Most of the time nobody else claims anything, and no note is read.
        if claims.is_empty() { claims } else { claims.undoing(claimed::undoing(&self.notes())) }
    }

    /// What hooks remember of the session.
    pub fn notes(&self) -> Notes {
        let note = self.project.engine.store().note(&self.heard.session).ok().flatten();
        let mut notes: Notes = note.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        notes.began = notes.began.or_else(|| Some(self.project.engine.store().ids().now()));
        notes
    }

    /// Whether hooks remember the session at all. Where a disk takes no notes, nobody
    /// could tell how often an agent was held.
    pub fn is_remembered(&self) -> bool {
        self.project.engine.store().has_note(&self.heard.session).unwrap_or(false)
    }

    /// Remembers it. A note that cannot be left makes a later check weaker, never
    /// this answer wrong.
    pub fn keep_notes(&self, notes: &Notes) {
        let _ = serde_json::to_vec(notes).map(|bytes| self.project.engine.store().leave_note(&self.heard.session, &bytes));
    }

    /// Feature lists as they were last accepted, whoever accepted them.
    pub fn lists(&self) -> Lists<'_> {
        Lists::of(&self.project, &self.work)
    }

    /// Policy and settings as they were when the session was first heard of; they are
    /// taken as they are now if that is now.
    pub fn accepted(&self) -> Accepted {
        let store = self.project.engine.store();
        let kept = store.sealed(&self.accepted_name()).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        kept.unwrap_or_else(|| {
            let now = Accepted { ruled: Some(ruled::begin(self)), ..self.as_it_is() };
            self.keep_accepted(&now);
            now
        })
    }

    /// Policy and settings as they are now.
    pub fn as_it_is(&self) -> Accepted {
        let commit_hook = git_wiring::asking(&self.project);
        Accepted { user: Some(user_policy::text()), commit_hook, ..Accepted::of_texts(&|path| self.work.text(path)) }
    }

    /// Whether there is something to compare with.
    pub fn has_accepted(&self) -> bool {
        self.project.engine.store().has_note(&self.accepted_name()).unwrap_or(false)
    }

    /// Makes sure that there is something to compare with later. Reads nothing if
    /// there is.
    pub fn accept_what_is_there(&self) {
        let store = self.project.engine.store();
        // Where there is no memory, nothing can be remembered.
        if store.exists().unwrap_or(false) && !store.has_note(&self.accepted_name()).unwrap_or(true) {
            self.accepted();
        }
        self.lists().begin();
    }

    /// Remembers protected files.
    pub fn keep_accepted(&self, accepted: &Accepted) {
        let _ = serde_json::to_vec(accepted).map(|bytes| self.project.engine.store().leave_sealed(&self.accepted_name(), &bytes));
    }

    /// The note they are kept in.
    pub fn accepted_name(&self) -> String {
        format!("accepted-{}", self.heard.session)
    }

    /// Asks whoever looks at the board.
    pub fn post_question(&self, summary: &str) {
        let question = PostInput { entry_type: "question".to_owned(), summary: text::excerpt(summary, 190), ..PostInput::default() };
        // If the board cannot be written, the person still reads the message.
        let _ = self.project.engine.post(&self.caller(), &question);
    }
}

fn told(problem: &Problem) -> String {
    problem.to_json()["message"].as_str().unwrap_or("the project cannot be opened").to_owned()
}
