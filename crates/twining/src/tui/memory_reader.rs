//! Carries out what the model asks for: reads through the engine, acts through the verbs.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use twining_engine::{AgentsInput, QueryInput, QueryTracesInput, WaitingInput, WaitingItem};
use twining_model::{Authority, Entry, Time, Trust, limits};
use twining_store::disk::FolderWatch;
use twining_store::git::GitFolders;
use twining_store::{Housekeeper, StoreError};

use crate::person_check;
use crate::project::{CommandContext, Project};
use crate::render::command_error::CommandError;
use crate::render::text_page::TextPage;
use crate::tui::answer_form::{VerbCall, is_confirmed};
use crate::tui::list_window::PageRange;
use crate::tui::offered_act::{fields, verb};
use crate::tui::state::{ActOutcome, ItemQuery, ItemState, ProjectLine, TopEvent, TopRequest};
use crate::tui::stream_row::{StreamQuery, StreamRow, StreamSource};
use crate::verbs::tool_names::with_command_names;
use crate::verbs::verb::{Verb, VerbAnswer, VerbEntry};

/// Most results of a search.
const FOUND: usize = 50;
/// How many items are looked at around the place where one was.
const NEARBY: usize = 50;
/// Most of what was settled that is looked through for an item that is gone.
const SETTLED: usize = 200;

/// The memory, open as long as the screen is.
pub(crate) struct MemoryReader {
    project: Project,
    /// Whether somebody can type here.
    is_terminal: bool,
    /// Calls that guards stopped, and the state of their file when they were read.
    blocked: Option<(Option<SystemTime>, usize, Vec<StreamRow>)>,
    _housekeeper: Housekeeper,
}

impl MemoryReader {
    pub(crate) fn open(given: Option<PathBuf>, is_terminal: bool) -> Result<Self, CommandError> {
        let project = Project::open(given)?;
        let housekeeper = Housekeeper::start(project.engine.store().clone());
        Ok(Self { project, is_terminal, blocked: None, _housekeeper: housekeeper })
    }

    /// A watch on it, from now on.
    pub(crate) fn watch(&self) -> FolderWatch {
        self.project.engine.store().watch(Vec::new())
    }

    /// What the header says.
    pub(crate) fn project_line(&self) -> Result<ProjectLine, StoreError> {
        let store = self.project.engine.store();
        Ok(ProjectLine {
            name: store.project_name(),
            branch: branch_of(&self.project.located.checkout),
            exists: store.exists()?,
        })
    }

    /// Why nobody here may act.
    pub(crate) fn refusal(&self) -> Option<String> {
        person_check::refusal(self.is_terminal).map(|error| message(&error))
    }

    /// Carries out a request of the model.
    pub(crate) fn carry_out(&mut self, request: TopRequest) -> Option<TopEvent> {
        let event = match request {
            TopRequest::Inbox(page) => self.inbox(page),
            TopRequest::Item(query) => self.item(&query),
            TopRequest::Agents => self.agents(),
            TopRequest::Latest(limit) => self.latest(limit),
            TopRequest::Stream(query) => self.stream(query),
            TopRequest::Act(call) => Ok(TopEvent::Acted(self.act(call))),
            TopRequest::Suspend | TopRequest::Quit => return None,
        };
        Some(event.unwrap_or_else(|error| TopEvent::Failed(message(&error))))
    }

    fn inbox(&self, page: PageRange) -> Result<TopEvent, CommandError> {
        let input = WaitingInput {
            limit: Some(page.limit.min(limits::PAGE)),
            offset: Some(page.offset),
            ..WaitingInput::default()
        };
        Ok(TopEvent::Inbox(page, input.run(&self.context(Authority::Claimed)?)?))
    }

    /// Looks where it was, then among the first of its kind, then among what was settled.
    fn item(&self, query: &ItemQuery) -> Result<TopEvent, CommandError> {
        let context = self.context(Authority::Claimed)?;
        let find = |input: WaitingInput| -> Result<Option<Box<WaitingItem>>, CommandError> {
            let found = input.run(&context)?.items.into_iter().find(|item| item.id == query.id);
            Ok(found.map(Box::new))
        };
        let nearby = WaitingInput {
            offset: Some(query.position.saturating_sub(NEARBY / 2)),
            limit: Some(NEARBY),
            ..WaitingInput::default()
        };
        let of_kind = |settled: bool, limit: usize| WaitingInput {
            kinds: vec![query.kind.as_str().to_owned()],
            settled,
            limit: Some(limit),
            ..WaitingInput::default()
        };
        let waiting = match find(nearby)? {
            None => find(of_kind(false, limits::PAGE))?,
            found => found,
        };
        let state = match waiting {
            Some(item) => ItemState::Waiting(item),
            None => find(of_kind(true, SETTLED))?.map_or(ItemState::Gone, ItemState::Settled),
        };
        Ok(TopEvent::Item(state))
    }

    fn agents(&self) -> Result<TopEvent, CommandError> {
        let context = self.context(Authority::Claimed)?;
        Ok(TopEvent::Agents(AgentsInput::default().run(&context)?))
    }

    /// The newest entries, and the newest calls that guards stopped, in one list.
    fn latest(&mut self, limit: usize) -> Result<TopEvent, CommandError> {
        let (mut rows, _) = self.entries(None, PageRange { offset: 0, limit })?;
        rows.extend(self.newest_blocked(limit)?);
        rows.sort_by_key(|row| std::cmp::Reverse(Time::read(&row.at)));
        rows.truncate(limit);
        Ok(TopEvent::Latest(limit, rows))
    }

    /// Read again only when their file changed: all of it is looked through.
    fn newest_blocked(&mut self, limit: usize) -> Result<Vec<StreamRow>, CommandError> {
        let file = self.project.located.place.project.join(".twining/traces.jsonl");
        let changed = std::fs::metadata(file).and_then(|state| state.modified()).ok();
        if let Some((known, most, rows)) = &self.blocked
            && *known == changed
            && *most >= limit
        {
            return Ok(rows.clone());
        }
        let rows = match changed {
            Some(_) => self.blocked_rows(PageRange { offset: 0, limit })?.0,
            None => Vec::new(),
        };
        self.blocked = Some((changed, limit, rows.clone()));
        Ok(rows)
    }

    fn stream(&self, query: StreamQuery) -> Result<TopEvent, CommandError> {
        let (rows, total) = match &query.source {
            StreamSource::Entries(kind) => self.entries(*kind, query.page)?,
            StreamSource::Blocked => self.blocked_rows(query.page)?,
            StreamSource::Found(text) => self.found(text, query.page)?,
        };
        Ok(TopEvent::Stream(query, rows, total))
    }

    fn entries(
        &self,
        kind: Option<&str>,
        page: PageRange,
    ) -> Result<(Vec<StreamRow>, usize), CommandError> {
        let mut input = fields(json!({"n": page.limit.clamp(1, limits::PAGE)}));
        if page.offset > 0 {
            input.insert("offset".to_owned(), json!(page.offset));
        }
        input.extend(kind.map(|kind| ("entry_types".to_owned(), json!([kind]))));
        let answer = self.read("recent", input)?.to_json();
        let entries = answer["entries"].as_array().cloned().unwrap_or_default();
        let entries = entries.into_iter().map(serde_json::from_value::<Entry>);
        let rows: Vec<_> = entries.filter_map(Result::ok).map(StreamRow::of_entry).collect();
        let total = answer["total"].as_u64().and_then(|total| usize::try_from(total).ok());
        let total = total.unwrap_or(page.offset + rows.len());
        Ok((rows, total))
    }

    fn blocked_rows(&self, page: PageRange) -> Result<(Vec<StreamRow>, usize), CommandError> {
        let found = self.project.engine.query_traces(&QueryTracesInput {
            blocked: Some(true),
            limit: Some(page.limit.clamp(1, limits::PAGE)),
            offset: Some(page.offset),
            ..QueryTracesInput::default()
        })?;
        let rows = found.traces.into_iter().map(|hit| StreamRow::of_trace(hit.trace)).collect();
        Ok((rows, found.total))
    }

    fn found(&self, text: &str, page: PageRange) -> Result<(Vec<StreamRow>, usize), CommandError> {
        let input =
            QueryInput { query: text.to_owned(), limit: Some(FOUND), ..QueryInput::default() };
        let results = self.project.engine.query(&input)?.results;
        let total = results.len();
        let visible = results.into_iter().skip(page.offset).take(page.limit);
        Ok((visible.map(|hit| StreamRow::of_entry(hit.entry)).collect(), total))
    }

    /// Calls a verb that only reads.
    fn read(
        &self,
        name: &str,
        input: Map<String, Value>,
    ) -> Result<Box<dyn VerbAnswer>, CommandError> {
        (known_verb(name)?.run)(&self.context(Authority::Claimed)?, input)
    }

    fn act(&self, call: VerbCall) -> ActOutcome {
        self.try_act(call).unwrap_or_else(|error| ActOutcome::Refused(message(&error)))
    }

    fn try_act(&self, call: VerbCall) -> Result<ActOutcome, CommandError> {
        if let Some(refused) = person_check::refusal(self.is_terminal) {
            return Err(refused);
        }
        let verb = known_verb(&call.verb)?;
        let context = self.context(Authority::Confirmed)?;
        let asks = verb.question.is_some_and(|question| question(&context, &call.input).is_some());
        if asks
            && let Some(word) = (verb.confirm_name)(&call.input)
            && !call.typed.is_some_and(|typed| is_confirmed(&word, &typed))
        {
            return Ok(ActOutcome::NeedsName(word));
        }
        let answer = (verb.run)(&context, call.input)?;
        let mut page = TextPage::new(None);
        answer.show(&mut page);
        let words = anstream::adapter::strip_str(page.as_str()).to_string();
        let lines = with_command_names(&words);
        Ok(ActOutcome::Done(
            lines.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
        ))
    }

    /// The context of a person at this terminal.
    fn context(&self, authority: Authority) -> Result<CommandContext<'_>, CommandError> {
        let name = match authority {
            Authority::Confirmed => self.project.history.user_name(),
            Authority::Claimed => None,
        };
        let caller = person_check::signed(name, Trust::Human)
            .fit()
            .map_err(|refused| CommandError::refused(&refused))?;
        Ok(self.project.context(caller, authority))
    }
}

fn known_verb(name: &str) -> Result<&'static VerbEntry, CommandError> {
    verb(name).ok_or_else(|| {
        CommandError::unavailable("NOT_FOUND", format!("this version has no verb `{name}`"))
    })
}

/// An error in one line, with what to do next.
fn message(error: &CommandError) -> String {
    let json = error.to_json();
    let parts = [&json["message"], &json["hint"]].map(|part| part.as_str().unwrap_or_default());
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    with_command_names(&parts.join("; "))
}

/// The branch that is checked out.
fn branch_of(checkout: &Path) -> Option<String> {
    let head = std::fs::read_to_string(GitFolders::of(checkout)?.own.join("HEAD")).ok()?;
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None => head.get(..8).map(str::to_owned),
    }
}
