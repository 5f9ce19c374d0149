//! Posting: words into an entry, without looking at what is on the board.

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use twining_model::{
    AnchorEvent, AnchorRole, AnchoredRecord, Change, Entry, EntryType, Id, InvalidInput,
    ProjectRoot, Scope, limits, text,
};
use twining_store::{Durability, NewLine, StoreError, View};

use crate::anchors::{
    AnchoredPlace, Captured, GivenPlace, Labelled, NamedCode, UnresolvedName, beside,
    record_of_entry,
};
use crate::blackboard::duplicates::RecentEntries;
use crate::blackboard::*;
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::input_types::postable;
use crate::secrets::{Redaction, clean, redact_fields};
use crate::{blackboard, fields};

/// What to post, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostInput {
    /// What kind of entry
    #[schemars(extend("enum" = postable()))]
    pub entry_type: String,
    /// One line, at most 200 characters
    pub summary: String,
    /// Full context
    pub detail: Option<String>,
    /// Domain tags
    #[serde(default)]
    pub tags: Vec<String>,
    /// File, directory, module or `project` (default)
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
    /// Entries or decisions this is about; an answer or status closes them
    #[serde(default)]
    pub relates_to: Vec<String>,
    /// Your name
    pub agent_id: Option<String>,
    /// Post it even if it repeats a recent entry
    #[serde(default)]
    pub force: bool,
}

redact_fields!(PostInput { summary, detail, tags, scope, relates_to, agent_id });

/// What was posted.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PostOutcome {
    /// The new entry, or the existing duplicate.
    pub id: String,
    /// When.
    pub timestamp: String,
    /// The existing duplicate; nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// Anything else to know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
    /// Code it is anchored to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchored: Vec<AnchoredPlace>,
    /// Code it names that is not there: check the names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedName>,
    /// Other records on the same code, at most 5.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

/// An entry to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostDraft {
    pub(crate) kind: EntryType,
    pub(crate) summary: String,
    pub(crate) detail: String,
    pub(crate) tags: Vec<String>,
    pub(crate) scope: Scope,
    pub(crate) relates_to: Vec<String>,
    pub(crate) named: NamedCode,
}

impl PostDraft {
    /// Checks every word.
    pub(crate) fn parse(input: &PostInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        let word = input.entry_type.trim();
        if word == EntryType::Decision.as_str() {
            return Err(InvalidInput::new("entry_type", "must not be `decision`")
                .because("record a decision with twining_decide, which keeps its reasons and announces it here"));
        }
        let postable = EntryType::ALL.into_iter().filter(|kind| *kind != EntryType::Decision);
        let kind = fields::one_of(
            "entry_type",
            word,
            &postable.map(|kind| (kind.as_str(), kind)).collect::<Vec<_>>(),
        )?;
        let place = input.scope.as_deref().map(GivenPlace::read);
        let scope = fields::scope_or_project(place.as_ref().map(|place| place.path), root)?;
        let summary = text::summary_beside("summary", &input.summary, "detail")?;
        let detail = text::long("detail", input.detail.as_deref().unwrap_or_default())?;
        let mut named = NamedCode { text: format!("{summary}\n{detail}"), ..NamedCode::default() };
        if let Some(place) = &place {
            named.add_file(scope.as_str(), AnchorRole::Scope, place);
        }
        Ok(Self {
            kind,
            summary,
            detail,
            tags: fields::tags(&input.tags)?,
            scope,
            relates_to: fields::references("relates_to", &input.relates_to)?,
            named,
        })
    }
}

impl PostOutcome {
    /// The answer to a post that was not written.
    pub(crate) fn repeats((id, timestamp): (String, String)) -> Self {
        let note =
            "nothing was written: this entry already says the same; pass force to post it anyway"
                .to_owned();
        Self { duplicate_of: Some(id.clone()), note: Some(note), id, timestamp, ..Self::default() }
    }
}

/// The note on a post that refers to unknown records. It is kept all the same: they may be
/// archived, or on another branch.
pub(crate) fn unknown_ids_note(unknown: &[String]) -> String {
    let names = fields::some_names(unknown.iter().map(String::as_str));
    format!(
        "posted, but relates_to has unknown ids: {names}. If it should close or answer something, post it again with the right id"
    )
}

/// Plans an entry. The board is not read, so that posting costs the same on any.
pub(crate) fn plan_post(
    draft: &PostDraft,
    stamp: &Stamp<'_>,
) -> Result<(Entry, PostOutcome), InvalidInput> {
    let entry = Entry {
        detail: draft.detail.clone(),
        tags: draft.tags.clone(),
        relates_to: draft.relates_to.clone(),
        ..note(stamp, draft.kind, draft.scope.as_str(), &draft.summary)
    };
    // Escaped control characters take six bytes each: within every limit of its
    // own, an entry can still be a line that no reader would take.
    fields::fits("entry", &entry, limits::RECORD_BYTES / 2)?;
    let posted = PostOutcome {
        id: entry.id.clone(),
        timestamp: entry.timestamp.clone(),
        ..PostOutcome::default()
    };
    Ok((entry, posted))
}

/// An entry of ours about `scope`, without detail, tags or relations so far.
pub(crate) fn note(stamp: &Stamp<'_>, kind: EntryType, scope: &str, summary: &str) -> Entry {
    Entry {
        id: stamp.ids.next().into(),
        timestamp: stamp.at.to_string(),
        agent_id: stamp.caller.agent.clone(),
        entry_type: kind.as_str().to_owned(),
        tags: Vec::new(),
        relates_to: Vec::new(),
        scope: scope.to_owned(),
        summary: fields::summary(summary),
        detail: String::new(),
        origin: Some(stamp.caller.origin.clone()),
        extra: Map::new(),
    }
}

/// Its tag.
pub(crate) const VERIFIED_TAG: &str = "verification";
/// How its summary begins.
pub(crate) const VERIFIED: &str = "Verified ";

/// Whether an entry only says that a scope was verified.
pub(crate) fn is_report(entry: &Entry) -> bool {
    entry.tags.iter().any(|tag| tag == VERIFIED_TAG) && entry.summary.starts_with(VERIFIED)
}

/// A post that every rule was checked for, and that is not written yet.
pub struct ReadyPost {
    caller: Caller,
    entry: Entry,
    relates_to: Vec<String>,
    code: Captured,
    outcome: PostOutcome,
}

/// What a post comes to before anything is written.
pub enum PreparedPost {
    /// It is to be written.
    New(Box<ReadyPost>),
    /// It repeats a recent one; this is the answer.
    Repeats(PostOutcome),
}

impl ReadyPost {
    /// The line of the log that it is, if it is no more than that: nothing has to be looked up in a
    /// view.
    pub fn line(&self, engine: &Engine) -> Option<Result<NewLine, StoreError>> {
        let is_plain = self.code.places.is_empty() && self.relates_to.is_empty();
        is_plain.then(|| engine.store().line_of_post(self.entry.clone()))
    }
}

impl Engine {
    /// Posts an entry, unless it repeats a recent one.
    pub fn post(&self, caller: &Caller, input: &PostInput) -> Result<PostOutcome, Failure> {
        let ready = match self.prepare_post(caller, input)? {
            PreparedPost::New(ready) => *ready,
            PreparedPost::Repeats(outcome) => return Ok(outcome),
        };
        let ReadyPost { caller, entry, code, .. } = &ready;
        let mut others = Vec::new();
        if code.places.is_empty() {
            self.store().post(std::slice::from_ref(entry))?;
        } else {
            let of = AnchoredRecord::Entry(entry.id.clone());
            let anchors = code.anchors(&of, AnchorEvent::Made, &self.stamp(caller));
            // Never a reason to fail.
            others = self.store().view(|view| beside(view, &anchors)).unwrap_or_default();
            let change = Change { anchors, ..Change::of_entries(vec![entry.clone()]) };
            self.store().write(Durability::Normal, &change)?;
        }
        Ok(PostOutcome { beside: others, ..self.posted(ready) })
    }

    /// Checks a post, and whether it repeats a recent one.
    pub fn prepare_post(
        &self,
        caller: &Caller,
        input: &PostInput,
    ) -> Result<PreparedPost, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = PostDraft::parse(&input, self.store().root())?;
        if let Some(existing) = self.find_duplicate(&draft).filter(|_| !input.force) {
            return Ok(PreparedPost::Repeats(PostOutcome::repeats(existing)));
        }
        let (entry, outcome) = plan_post(&draft, &self.stamp(&caller))?;
        let code = self.capture(&draft.named)?;
        let outcome = PostOutcome { redacted, ..outcome };
        let relates_to = draft.relates_to;
        Ok(PreparedPost::New(Box::new(ReadyPost { caller, entry, relates_to, code, outcome })))
    }

    /// Notes a post that was written, and answers it.
    pub fn posted(&self, post: ReadyPost) -> PostOutcome {
        let ReadyPost { caller, entry, relates_to, code, outcome } = post;
        if self.store().has_log() {
            // The folder follows later; a repetition must be noticed at once.
            let recent = self.state::<Mutex<RecentEntries>>();
            recent.lock().unwrap_or_else(PoisonError::into_inner).add_ahead(entry);
        }
        self.heartbeat(&caller);
        let note =
            self.unknown_among(&relates_to).map(|unknown| blackboard::unknown_ids_note(&unknown));
        let (anchored, unresolved) = (code.anchored(), code.unresolved);
        PostOutcome { note, anchored, unresolved, ..outcome }
    }

    /// Which of these ids nobody here has. Asked after the fact and never a reason to fail.
    fn unknown_among(&self, ids: &[String]) -> Option<Vec<String>> {
        if ids.is_empty() {
            return None;
        }
        let unknown = self.store().view(|view| {
            let mut unknown = Vec::new();
            for id in ids {
                let decided = Id::read(id).map_or(Ok(false), |id| view.decisions().exists(&id))?;
                if !decided
                    && view.entries().get(id)?.is_none()
                    && view.graph().entity(id)?.is_none()
                {
                    unknown.push(id.clone());
                }
            }
            Ok::<_, StoreError>(unknown)
        });
        unknown.ok().filter(|unknown| !unknown.is_empty())
    }

    /// The entry that says this already. Without the index, and never a reason to
    /// fail: what cannot be compared is posted.
    fn find_duplicate(&self, draft: &PostDraft) -> Option<(String, String)> {
        let recent = self.state::<Mutex<RecentEntries>>();
        let mut recent = recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (lines, is_replaced) =
            self.store().documents().read_new_lines(&mut recent.tail).ok()?;
        recent.add_lines(&lines, is_replaced);
        recent.same_as(draft, self.store().folding(), self.store().ids().now())
    }

    /// Reads entries by filter.
    pub fn read(&self, input: &ReadInput) -> Result<ReadOutcome, Failure> {
        self.search_on_new_index()?;
        self.store().view(|view| {
            let mut found = blackboard::read(view, input, self.store().root())?;
            let fresh_only = input.fresh_only;
            found.stale_count = self.label_entries(view, &mut found.entries, fresh_only)?;
            found.stale_count += self.label_hits(
                view,
                &mut found.decisions,
                fresh_only,
                |hit| AnchoredRecord::Decision(hit.record.id.to_string()),
                |hit| &mut hit.code,
            )?;
            Ok(found)
        })
    }

    /// Searches entries.
    pub fn query(&self, input: &QueryInput) -> Result<QueryOutcome, Failure> {
        let text = fields::query("query", &input.query)?;
        let filter = input.filter(self.store().root())?;
        let limit = fields::page("limit", input.limit, 10)?;
        let question = self.question(&text)?;
        self.search_on_new_index()?;
        self.store().view(|view| {
            let mut found = blackboard::query(view, &filter, limit, &question)?;
            found.stale_count = self.label_hits(
                view,
                &mut found.results,
                input.fresh_only,
                |hit| record_of_entry(&hit.entry),
                |hit| &mut hit.code,
            )?;
            Ok(found)
        })
    }

    /// Reads the newest entries.
    pub fn recent(&self, input: &RecentInput) -> Result<RecentOutcome, Failure> {
        self.search_on_new_index()?;
        self.store().view(|view| {
            let mut found = blackboard::recent(view, input, self.store().root())?;
            found.stale_count = self.label_entries(view, &mut found.entries, input.fresh_only)?;
            Ok(found)
        })
    }

    fn label_entries(
        &self,
        view: &View<'_>,
        entries: &mut Vec<Labelled<Entry>>,
        fresh_only: bool,
    ) -> Result<u64, Failure> {
        let record = |hit: &Labelled<Entry>| record_of_entry(&hit.record);
        self.label_hits(view, entries, fresh_only, record, |hit| &mut hit.code)
    }

    /// Closes entries that need no answer.
    pub fn dismiss(
        &self,
        caller: &Caller,
        input: &DismissInput,
    ) -> Result<DismissOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let ids = fields::references("ids", &input.ids)?;
        if ids.is_empty() {
            return Err(InvalidInput::new("ids", "must name at least one entry").into());
        }
        let reason = text::long("reason", input.reason.as_deref().unwrap_or_default())?;
        let outcome = self.store().transact(Durability::Normal, |view| {
            plan_dismiss(view, &ids, &reason, &self.stamp(&caller))
        })?;
        Ok(DismissOutcome { redacted, ..outcome })
    }
}

#[cfg(test)]
mod tests {
    use twining_model::limits;
    use twining_testcases::each;

    use crate::testing::{Project, caller};
    use crate::{PostInput, PreparedPost};

    fn refusal(input: &PostInput) -> String {
        let project = Project::new();
        let failure = project.engine.post(&caller("ada"), input).expect_err("refused");
        assert_eq!(failure.code(), "INVALID_INPUT");
        assert!(
            !project.path().join(".twining/blackboard.jsonl").exists(),
            "a refused post left a file"
        );
        failure.to_string()
    }

    fn finding(summary: &str) -> PostInput {
        PostInput { entry_type: "finding".into(), summary: summary.into(), ..PostInput::default() }
    }

    #[test]
    fn a_post_keeps_who_said_it_beside_who_they_claim_to_be() {
        let project = Project::new();
        let input = PostInput { agent_id: Some("human".into()), ..finding("the cache is cold") };
        let posted = project.engine.post(&caller("ada"), &input).expect("posts");
        let entry = project.entry(&posted.id);
        assert_eq!((entry.agent_id.as_str(), entry.scope.as_str()), ("human", "project"));
        assert_eq!(entry.timestamp, posted.timestamp);
        assert_eq!(entry.origin, Some(caller("ada").origin));
    }

    #[test]
    fn a_post_about_a_record_that_is_not_here_is_kept_and_says_so() {
        let project = Project::new();
        let asked = PostInput { entry_type: "question".into(), ..finding("who owns the cache?") };
        let asked = project.engine.post(&caller("ada"), &asked).expect("posts");
        assert_eq!(asked.note, None);
        let answer = |summary: &str, ids: &[&str]| {
            let relates_to = ids.iter().map(|id| (*id).to_owned()).collect();
            let input = PostInput { entry_type: "answer".into(), relates_to, ..finding(summary) };
            project.engine.post(&caller("bob"), &input).expect("posts")
        };
        assert_eq!(answer("the platform team", &[&asked.id]).note, None);
        let stray = answer("or so they say", &[&asked.id, "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
        let note = stray.note.expect("a word about it");
        assert!(note.contains("01ARZ3NDEKTSV4RRFFQ69G5FAV") && !note.contains(&asked.id), "{note}");
        assert_eq!(project.entry(&stray.id).relates_to.len(), 2, "nothing is dropped");
    }

    #[test]
    fn a_post_that_was_not_written_is_repeated_by_nobody() {
        let project = Project::new();
        let prepare = |input: &PostInput| project.engine.prepare_post(&caller("ada"), input);
        for _ in 0..2 {
            let Ok(PreparedPost::New(ready)) = prepare(&finding("the cache is cold")) else {
                panic!("nothing on the board says it yet");
            };
            let line = ready.line(&project.engine).expect("it is one line").expect("fits");
            assert_eq!(line.change.entries[0].summary, "the cache is cold");
        }
        project.post("finding", "the cache is cold");
        let again = prepare(&finding("the cache is cold"));
        assert!(matches!(again, Ok(PreparedPost::Repeats(_))));
    }

    #[test]
    fn a_post_about_others_needs_more_than_a_line() {
        let project = Project::new();
        let input = PostInput { relates_to: vec!["x".into()], ..finding("the cache is cold") };
        let prepared = project.engine.prepare_post(&caller("ada"), &input);
        let Ok(PreparedPost::New(ready)) = prepared else { panic!("it is new") };
        assert!(ready.line(&project.engine).is_none());
    }

    #[test]
    fn a_decision_cannot_be_posted_without_its_reasons() {
        let message = refusal(&PostInput { entry_type: "decision".into(), ..finding("use redis") });
        assert!(
            message.contains("`entry_type`") && message.contains("twining_decide"),
            "{message}"
        );
    }

    #[test]
    fn an_unknown_entry_type_is_not_offered_decision() {
        let message = refusal(&PostInput { entry_type: "rumour".into(), ..finding("x") });
        assert!(
            message.contains("must be one of need, offer, finding, constraint,")
                && !message.contains("decision"),
            "{message}"
        );
    }

    #[test]
    fn every_broken_rule_names_its_field() {
        let cases = [
            ("entry_type", PostInput { entry_type: "rumour".into(), ..finding("x") }),
            ("summary", finding("")),
            ("summary", finding(&"x".repeat(201))),
            ("summary", finding("a\0b")),
            ("detail", PostInput { detail: Some("x".repeat(10 * 1024 * 1024)), ..finding("x") }),
            ("tags", PostInput { tags: vec!["t".into(); 100_000], ..finding("x") }),
            ("tags", PostInput { tags: vec!["t".repeat(65)], ..finding("x") }),
            ("scope", PostInput { scope: Some("../../etc/passwd".into()), ..finding("x") }),
            ("scope", PostInput { scope: Some("/etc/passwd".into()), ..finding("x") }),
            ("relates_to", PostInput { relates_to: vec!["x".into(); 300], ..finding("x") }),
            ("agent_id", PostInput { agent_id: Some("  ".into()), ..finding("x") }),
            (
                "entry",
                PostInput {
                    detail: Some("\u{1}".repeat(limits::TEXT_BYTES)),
                    relates_to: (0..200).map(|n| format!("{n}{}", "\u{1}".repeat(900))).collect(),
                    ..finding("x")
                },
            ),
        ];
        each(cases, |(field, input)| {
            let message = refusal(&input);
            assert!(message.starts_with(&format!("`{field}` ")), "{field}: {message}");
        });
    }

    #[test]
    fn an_absolute_path_inside_the_project_is_stored_relative() {
        let project = Project::new();
        let scope = project.path().join("src/auth/jwt.ts").to_string_lossy().into_owned();
        let posted = project
            .engine
            .post(&caller("ada"), &PostInput { scope: Some(scope), ..finding("x") })
            .expect("posts");
        assert_eq!(project.entry(&posted.id).scope, "src/auth/jwt.ts");
    }

    #[test]
    fn a_reference_in_lower_case_still_closes_its_question() {
        let project = Project::new();
        let question = project.post("question", "which port?");
        let answer = PostInput {
            entry_type: "answer".into(),
            relates_to: vec![question.to_lowercase()],
            ..finding("8080")
        };
        project.engine.post(&caller("bob"), &answer).expect("posts");
        assert_eq!(project.engine.status().expect("reports").unanswered_questions, 0);
    }
}
