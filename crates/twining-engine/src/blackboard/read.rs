//! Reading the board: by filter, by recency, by what is asked.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    Decision, Entry, EntryType, Id, InvalidInput, Origin, ProjectRoot, Scope, Time, limits, text,
};
use twining_store::{DecisionFilter, EntryFilter, RowId, StoreError, View, vector_key};

use crate::anchors::{CodeNote, Labelled};
use crate::failure::Failure;
use crate::fields::{self, fit_reply, is_false, is_zero};
use crate::input_types::ENTRY_STANDINGS;
use crate::search::{
    self, DecisionSearch, EntrySearch, RankedRecord, Ranking, ScoreParts, SearchMode, SearchQuery,
};

/// The length of an id, and the fewest characters that are taken for the beginning of one.
const ID_LENGTH: usize = 26;
const ID_CHARS: usize = 8;

/// Which entries to read.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadInput {
    /// Only these types
    #[schemars(extend("x-offered" = EntryType::ALL.map(EntryType::as_str)))]
    pub entry_types: Vec<String>,
    /// Any of these
    pub tags: Vec<String>,
    /// Only inside this scope
    ///
    /// A file or directory, relative to the project
    pub scope: Option<String>,
    /// ISO 8601 time
    pub since: Option<String>,
    /// Default 50
    pub limit: Option<usize>,
    /// Where the page begins, counted from the newest
    pub offset: Option<usize>,
    /// Ids of entries or decisions, such as assemble omitted; a unique beginning will do
    pub ids: Vec<String>,
    /// Leave out records whose code changed
    pub fresh_only: bool,
}

/// The newest entries that match, oldest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReadOutcome {
    /// The page, oldest first.
    pub entries: Vec<Labelled<Entry>>,
    /// How many match in all.
    pub total_count: u64,
    /// Where the page of older ones begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Whether older ones were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Decisions among the ids that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Labelled<Decision>>,
    /// Ids that do not exist here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Those left out because their code changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub stale_count: u64,
}

/// Which of the newest entries to read.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecentInput {
    /// How many; default 20
    pub n: Option<usize>,
    /// Where the page begins, counted from the newest
    pub offset: Option<usize>,
    /// Only these types
    #[schemars(extend("x-offered" = EntryType::ALL.map(EntryType::as_str)))]
    pub entry_types: Vec<String>,
    /// Only inside this scope
    ///
    /// A file or directory, relative to the project
    pub scope: Option<String>,
    /// Any of these
    pub tags: Vec<String>,
    /// Only from this ISO 8601 time on
    pub since: Option<String>,
    /// Only before this ISO 8601 time
    pub until: Option<String>,
    /// Only by this agent
    pub agent: Option<String>,
    /// `open`: only what waits for an answer
    #[schemars(extend("enum" = ENTRY_STANDINGS))]
    pub status: Option<String>,
    /// Leave out records whose code changed
    pub fresh_only: bool,
}

/// The newest entries, newest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecentOutcome {
    /// Newest first.
    pub entries: Vec<Labelled<Entry>>,
    /// How many match in all.
    pub total: u64,
    /// Where the page of older ones begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Whether older ones were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Those left out because their code changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub stale_count: u64,
}

/// What to search the board for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryInput {
    /// What to look for
    pub query: String,
    /// Only these types
    #[serde(default)]
    #[schemars(extend("x-offered" = EntryType::ALL.map(EntryType::as_str)))]
    pub entry_types: Vec<String>,
    /// Only with one of these tags
    #[serde(default)]
    pub tags: Vec<String>,
    /// Only inside this scope
    pub scope: Option<String>,
    /// `open`: only what waits for an answer
    #[schemars(extend("enum" = ENTRY_STANDINGS))]
    pub status: Option<String>,
    /// ISO 8601
    ///
    /// Only from this time on
    pub since: Option<String>,
    /// Default 10
    pub limit: Option<usize>,
    /// Leave out records whose code changed
    #[serde(default)]
    pub fresh_only: bool,
}

/// An entry that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EntryHit {
    /// The entry.
    pub entry: Entry,
    /// From 0 to 1.
    pub relevance: f64,
    /// Each signal's contribution.
    pub why: ScoreParts,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
}

/// What was found on the board.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryOutcome {
    /// Best first.
    pub results: Vec<EntryHit>,
    /// How it was searched.
    pub mode: SearchMode,
    /// Texts not embedded yet, found by keyword only.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_yet_embedded: u64,
    /// Whether weaker ones were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Those left out because their code changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub stale_count: u64,
}

/// The newest entries that match, oldest first.
pub fn read(
    view: &View<'_>,
    input: &ReadInput,
    root: &ProjectRoot,
) -> Result<ReadOutcome, Failure> {
    if !input.ids.is_empty() {
        return fetch(view, &input.ids);
    }
    let filter = EntryFilter {
        types: entry_types(&input.entry_types)?,
        tags: fields::tags(&input.tags)?,
        scope: fields::optional_scope(input.scope.as_deref(), root)?,
        since: fields::optional("since", input.since.as_deref(), Time::parse)?,
        ..EntryFilter::default()
    };
    let (offset, limit) =
        (input.offset.unwrap_or_default(), fields::page("limit", input.limit, 50)?);
    let page = view.entries().newest_after(&filter, offset, limit)?;
    let (mut entries, truncated) = fit_reply(page.items);
    let next_offset = fields::next_offset(offset, entries.len(), page.total);
    entries.reverse();
    entries.iter_mut().for_each(fill_origin);
    Ok(ReadOutcome {
        entries: entries.into_iter().map(Labelled::of).collect(),
        total_count: page.total,
        next_offset,
        truncated,
        decisions: Vec::new(),
        missing: Vec::new(),
        stale_count: 0,
    })
}

/// The records with these ids, as an assembled context names those that did not fit.
fn fetch(view: &View<'_>, ids: &[String]) -> Result<ReadOutcome, Failure> {
    let ids = text::list("ids", ids, limits::PAGE, limits::NAME_BYTES)?;
    let (mut entries, mut decisions, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        let whole = whole_id(view, &id)?;
        if let Some(entry) = view.entries().get(&whole)? {
            entries.push(entry);
            continue;
        }
        match Id::read(&whole).map(|id| view.decisions().get(&id)).transpose()?.flatten() {
            Some(mut decision) => {
                decision.origin.iter_mut().for_each(|origin| origin.head = None);
                decisions.push(decision);
            }
            None => missing.push(id),
        }
    }
    let total_count = (entries.len() + decisions.len()) as u64;
    let (mut entries, cut) = fit_reply(entries);
    let (decisions, also_cut) = fit_reply(decisions);
    entries.iter_mut().for_each(fill_origin);
    let truncated = cut || also_cut;
    Ok(ReadOutcome {
        entries: entries.into_iter().map(Labelled::of).collect(),
        total_count,
        next_offset: None,
        truncated,
        decisions: decisions.into_iter().map(Labelled::of).collect(),
        missing,
        stale_count: 0,
    })
}

/// The one id that begins so, or what was given.
fn whole_id(view: &View<'_>, given: &str) -> Result<String, StoreError> {
    let is_part = (ID_CHARS..ID_LENGTH).contains(&given.len());
    if !is_part || view.entries().get(given)?.is_some() {
        return Ok(given.to_owned());
    }
    let upper = given.to_ascii_uppercase();
    // The id of a decision's announcement begins like its own: the decision is meant.
    if let [only] = &view.decisions().with_id_prefix(&upper, 2)?[..] {
        return Ok(only.to_string());
    }
    let mut entries = view.entries().with_id_prefix(&upper, 2)?;
    Ok(entries.pop().filter(|_| entries.is_empty()).unwrap_or_else(|| given.to_owned()))
}

/// The newest entries, newest first.
pub fn recent(
    view: &View<'_>,
    input: &RecentInput,
    root: &ProjectRoot,
) -> Result<RecentOutcome, Failure> {
    let filter = EntryFilter {
        types: entry_types(&input.entry_types)?,
        scope: input
            .scope
            .as_deref()
            .map(|scope| Scope::parse("scope", scope, root))
            .transpose()?,
        tags: fields::tags(&input.tags)?,
        since: fields::optional("since", input.since.as_deref(), Time::parse)?,
        before: fields::optional("until", input.until.as_deref(), Time::parse)?,
        only_open: only_open(input.status.as_deref())?,
        agent: fields::optional("agent", input.agent.as_deref(), text::name)?,
    };
    let (offset, limit) = (input.offset.unwrap_or_default(), fields::page("n", input.n, 20)?);
    let page = view.entries().newest_after(&filter, offset, limit)?;
    let (mut entries, truncated) = fit_reply(page.items);
    let next_offset = fields::next_offset(offset, entries.len(), page.total);
    entries.iter_mut().for_each(fill_origin);
    let entries = entries.into_iter().map(Labelled::of).collect();
    Ok(RecentOutcome { entries, total: page.total, next_offset, truncated, stale_count: 0 })
}

/// Whether only what waits for an answer is wanted.
fn only_open(status: Option<&str>) -> Result<bool, InvalidInput> {
    let standings = [("open", true), ("any", false)];
    let standing = |field, word: &str| fields::one_of(field, word.trim(), &standings);
    Ok(fields::optional("status", status, standing)?.unwrap_or(false))
}

/// Says of an entry that says nothing of its origin that it came with the repository. The commit
/// it was made on is no use to a reader.
fn fill_origin(entry: &mut Entry) {
    entry.origin.get_or_insert_with(Origin::elsewhere).head = None;
}

impl QueryInput {
    /// Which entries it is about, every rule checked.
    pub(super) fn filter(&self, root: &ProjectRoot) -> Result<EntryFilter, InvalidInput> {
        Ok(EntryFilter {
            types: entry_types(&self.entry_types)?,
            tags: fields::tags(&self.tags)?,
            scope: fields::optional_scope(self.scope.as_deref(), root)?,
            since: fields::optional("since", self.since.as_deref(), Time::parse)?,
            only_open: only_open(self.status.as_deref())?,
            ..EntryFilter::default()
        })
    }
}

/// The entries that answer a question, best first.
///
/// A decision's announcement says less than the decision, so it is found by what
/// the decision says; by its own words only where the decision does not lead to it.
pub(crate) fn query(
    view: &View<'_>,
    filter: &EntryFilter,
    limit: usize,
    question: &SearchQuery<'_>,
) -> Result<QueryOutcome, Failure> {
    let mut entries =
        search::rank(&EntrySearch { entries: view.entries(), filter: filter.clone() }, question)?;
    let announced = filter.types.is_empty()
        || filter.types.iter().any(|kind| kind == EntryType::Decision.as_str());
    let mut announcements = Vec::new();
    if announced {
        let mut decisions = search::rank(
            &DecisionSearch { decisions: view.decisions(), filter: DecisionFilter::default() },
            question,
        )?;
        Ranking::compare([&mut entries, &mut decisions]);
        announcements = decisions.ranked;
    }
    let by_decision: HashSet<RowId> = announcements.iter().map(|ranked| ranked.row).collect();
    let (mut hits, mut seen_ids) = (Vec::new(), HashSet::new());
    let mut announcements = announcements.into_iter().peekable();
    let mut entries_left = entries.ranked.into_iter().peekable();
    while hits.len() < limit {
        let worth = |ranked: Option<&RankedRecord>| ranked.map(|ranked| ranked.why.worth());
        let found = match (worth(announcements.peek()), worth(entries_left.peek())) {
            (Some(decision), entry) if entry.is_none_or(|entry| decision >= entry) => announcements
                .next()
                .map(|ranked| Ok((announcement(view, ranked.row, filter)?, ranked.why))),
            _ => entries_left
                .next()
                .map(|ranked| Ok((unannounced(view, ranked.row, &by_decision)?, ranked.why))),
        };
        let Some(found) = found else { break };
        let (entry, why): (Option<Entry>, ScoreParts) = found.map_err(|error: StoreError| error)?;
        if let Some(entry) = entry
            && seen_ids.insert(entry.id.clone())
        {
            let (relevance, why) = (why.relevance(), why.rounded());
            hits.push(EntryHit { entry, relevance, why, code: None });
        }
    }
    let (mut results, truncated) = fit_reply(hits);
    results.iter_mut().for_each(|hit| fill_origin(&mut hit.entry));
    Ok(QueryOutcome {
        results,
        mode: entries.mode,
        not_yet_embedded: question.waiting,
        truncated,
        stale_count: 0,
    })
}

/// The entry that announced a decision, if it passes the filter.
fn announcement(
    view: &View<'_>,
    decision: RowId,
    filter: &EntryFilter,
) -> Result<Option<Entry>, StoreError> {
    let decision = view.decisions().at_row(decision)?;
    let filter =
        EntryFilter { types: vec![EntryType::Decision.as_str().to_owned()], ..filter.clone() };
    let mut found = None;
    // It has the decision's summary, whichever server wrote it; and names the decision, if it was one that does.
    for row in view.entries().by_vector_keys(&[vector_key(decision.summary.trim())], &filter)? {
        let entry = view.entries().at_row(row)?;
        if entry.relates_to.iter().any(|id| *id == decision.id.as_str()) {
            return Ok(Some(entry));
        }
        if entry.relates_to.is_empty() {
            found = Some(entry);
        }
    }
    Ok(found)
}

/// The entry in a row, unless it announces one of these decisions, and is found by it.
fn unannounced(
    view: &View<'_>,
    row: RowId,
    by_decision: &HashSet<RowId>,
) -> Result<Option<Entry>, StoreError> {
    let entry = view.entries().at_row(row)?;
    if entry.kind() == Some(EntryType::Decision) && !entry.relates_to.is_empty() {
        // One that was reworded since says something else, and does not lead here.
        let matching = view
            .decisions()
            .by_vector_keys(&[vector_key(entry.summary.trim())], &DecisionFilter::default())?;
        for decision in matching.into_iter().filter(|decision| by_decision.contains(decision)) {
            if entry.relates_to.contains(&String::from(view.decisions().at_row(decision)?.id)) {
                return Ok(None);
            }
        }
    }
    Ok(Some(entry))
}

fn entry_types(given: &[String]) -> Result<Vec<String>, InvalidInput> {
    limits::at_most("entry_types", given, limits::LIST)?;
    given
        .iter()
        .map(|word| Ok(EntryType::parse("entry_types", word.trim())?.as_str().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Project, caller, choice};
    use crate::{PostInput, QueryInput, ReadInput, RecentInput, SearchMode};
    use twining_testcases::each;

    fn summaries(entries: &[crate::Labelled<twining_model::Entry>]) -> Vec<&str> {
        entries.iter().map(|entry| entry.record.summary.as_str()).collect()
    }

    #[test]
    fn read_gives_the_newest_oldest_first_and_the_full_count() {
        let project = Project::new();
        for n in 1..=5 {
            project.post("finding", &format!("finding {n}"));
        }
        let input = ReadInput { limit: Some(2), ..ReadInput::default() };
        let outcome = project.engine.read(&input).expect("reads");
        assert_eq!(summaries(&outcome.entries), ["finding 4", "finding 5"]);
        assert_eq!(outcome.total_count, 5);
    }

    #[test]
    fn a_unique_beginning_of_an_id_is_enough_however_old_the_record_is() {
        let project = Project::new();
        let decided = project.decide(&choice("auth", "src/auth/", "sign every token")).id;
        let first = project.post("finding", "first");
        for n in 0..3 {
            project.post("finding", &format!("later {n}"));
        }
        let ids = [decided.as_str(), &first].map(|id| id[..24].to_ascii_lowercase()).to_vec();
        let fetch = |ids| project.engine.read(&ReadInput { ids, ..ReadInput::default() });
        let found = fetch(ids).expect("reads");
        assert_eq!((summaries(&found.entries), found.decisions.len()), (vec!["first"], 1));
        project.clock.advance_ms(60_000);
        let ambiguous = project.post("finding", "a minute later")[..8].to_owned();
        project.post("finding", "just after it");
        assert_eq!(fetch(vec![ambiguous.clone()]).expect("reads").missing, [ambiguous]);
    }

    #[test]
    fn what_an_assembled_context_only_names_is_fetched_by_its_id() {
        let project = Project::new();
        let finding = project.post("finding", "tokens expire at noon");
        let decided =
            project.decide(&choice("auth", "src/auth/", "sign every token")).id.to_string();
        let ids = vec![
            decided.clone(),
            finding.to_string(),
            "01M7FBY1J3H49M8AP4629955Y1".to_owned(),
            "../x".to_owned(),
        ];
        let outcome =
            project.engine.read(&ReadInput { ids, ..ReadInput::default() }).expect("reads");
        assert_eq!(summaries(&outcome.entries), ["tokens expire at noon"]);
        assert_eq!(
            outcome.decisions.iter().map(|hit| hit.record.id.to_string()).collect::<Vec<_>>(),
            [decided]
        );
        assert_eq!(outcome.missing, ["01M7FBY1J3H49M8AP4629955Y1", "../x"]);
    }

    #[test]
    fn recent_is_newest_first() {
        let project = Project::new();
        project.post("finding", "first");
        project.post("warning", "second");
        let all = project.engine.recent(&RecentInput::default()).expect("reads");
        assert_eq!(summaries(&all.entries), ["second", "first"]);
        let warnings =
            RecentInput { entry_types: vec!["warning".into()], ..RecentInput::default() };
        assert_eq!(
            summaries(&project.engine.recent(&warnings).expect("reads").entries),
            ["second"]
        );
    }

    #[test]
    fn every_entry_is_on_one_page_and_the_last_page_says_so() {
        let project = Project::new();
        for n in 0..7 {
            project.post(["finding", "need"][n % 2], &format!("entry {n}"));
        }
        let (mut offset, mut seen) = (Some(0), Vec::new());
        while let Some(at) = offset {
            let input = RecentInput { n: Some(3), offset: Some(at), ..RecentInput::default() };
            let page = project.engine.recent(&input).expect("reads");
            assert_eq!(page.total, 7);
            seen.extend(page.entries.into_iter().map(|entry| entry.record.summary));
            offset = page.next_offset;
        }
        let wanted: Vec<String> = (0..7).rev().map(|n| format!("entry {n}")).collect();
        assert_eq!(seen, wanted);
        let second = ReadInput { limit: Some(3), offset: Some(3), ..ReadInput::default() };
        let second = project.engine.read(&second).expect("reads");
        assert_eq!(summaries(&second.entries), ["entry 1", "entry 2", "entry 3"]);
        assert_eq!((second.total_count, second.next_offset), (7, Some(6)));
        let beyond = RecentInput { offset: Some(700), ..RecentInput::default() };
        let beyond = project.engine.recent(&beyond).expect("reads");
        assert!(beyond.entries.is_empty() && beyond.next_offset.is_none() && beyond.total == 7);
    }

    #[test]
    fn recent_is_narrowed_by_author_time_tag_and_what_is_open() {
        let project = Project::new();
        project.post("question", "old question");
        project.clock.advance_ms(1000);
        let noon = project.clock.now().to_string();
        let tagged = PostInput {
            entry_type: "finding".into(),
            summary: "by bob".into(),
            tags: vec!["auth".into()],
            ..PostInput::default()
        };
        project.engine.post(&caller("Bob"), &tagged).expect("posts");
        let text = |word: &str| Some(word.to_owned());
        each(
            [
                (RecentInput { agent: text("bob"), ..RecentInput::default() }, "by bob"),
                (RecentInput { since: text(&noon), ..RecentInput::default() }, "by bob"),
                (RecentInput { tags: vec!["auth".into()], ..RecentInput::default() }, "by bob"),
                (RecentInput { until: text(&noon), ..RecentInput::default() }, "old question"),
                (RecentInput { status: text("open"), ..RecentInput::default() }, "old question"),
            ],
            |(input, wanted)| {
                let page = project.engine.recent(&input).expect("reads");
                assert_eq!((summaries(&page.entries), page.total), (vec![wanted], 1));
            },
        );
    }

    #[test]
    fn a_scope_filter_does_not_match_a_namesake_and_project_matches_all() {
        let project = Project::new();
        project.post_in("src/auth/jwt.ts", "finding", "inside");
        project.post_in("src/authority.ts", "finding", "namesake");
        let in_scope = |scope: &str| {
            let input = ReadInput { scope: Some(scope.into()), ..ReadInput::default() };
            let entries = project.engine.read(&input).expect("reads").entries;
            entries.into_iter().map(|entry| entry.record.summary).collect::<Vec<_>>()
        };
        assert_eq!(in_scope("src/auth"), ["inside"]);
        assert_eq!(in_scope("project"), ["inside", "namesake"]);
    }

    #[test]
    fn since_and_tags_narrow_the_page() {
        let project = Project::new();
        project.post("finding", "old");
        project.clock.advance_ms(1000);
        let since = project.clock.now().to_string();
        let tagged = PostInput {
            entry_type: "finding".into(),
            summary: "new".into(),
            tags: vec!["auth".into()],
            ..PostInput::default()
        };
        project.engine.post(&caller("ada"), &tagged).expect("posts");
        let by_time = ReadInput { since: Some(since), ..ReadInput::default() };
        assert_eq!(summaries(&project.engine.read(&by_time).expect("reads").entries), ["new"]);
        let by_tag =
            ReadInput { tags: vec!["auth".into(), "other".into()], ..ReadInput::default() };
        assert_eq!(summaries(&project.engine.read(&by_tag).expect("reads").entries), ["new"]);
    }

    #[test]
    fn a_typo_in_a_filter_is_refused_instead_of_finding_nothing() {
        let project = Project::new();
        let fields = [
            (
                "entry_types",
                ReadInput { entry_types: vec!["findings".into()], ..ReadInput::default() },
            ),
            ("since", ReadInput { since: Some("yesterday".into()), ..ReadInput::default() }),
            ("limit", ReadInput { limit: Some(0), ..ReadInput::default() }),
            ("limit", ReadInput { limit: Some(501), ..ReadInput::default() }),
            ("scope", ReadInput { scope: Some("..".into()), ..ReadInput::default() }),
        ];
        each(fields, |(field, input)| {
            let message = project.engine.read(&input).expect_err("refused").to_string();
            assert!(message.starts_with(&format!("`{field}` ")), "{message}");
        });
        let n = project
            .engine
            .recent(&RecentInput { n: Some(0), ..RecentInput::default() })
            .expect_err("refused");
        assert!(n.to_string().starts_with("`n` must be from 1 to 500"), "{n}");
    }

    #[test]
    fn a_query_says_that_it_went_by_words() {
        let project = Project::new();
        project.post("finding", "the rate limiter drops bursts");
        project.post("finding", "nothing to see");
        let outcome = project
            .engine
            .query(&QueryInput { query: "rate limiter".into(), ..QueryInput::default() })
            .expect("searches");
        assert_eq!(outcome.mode, SearchMode::Keyword);
        assert_eq!(outcome.results[0].entry.summary, "the rate limiter drops bursts");
        assert!((0.0..=1.0).contains(&outcome.results[0].relevance));
    }

    #[test]
    fn a_query_of_punctuation_is_not_an_error() {
        let project = Project::new();
        project.post("finding", "quotes");
        for hostile in ["\"", "NEAR(", "a* AND", "summary:x", "'; DROP TABLE entries; --"] {
            let input = QueryInput { query: hostile.into(), ..QueryInput::default() };
            project.engine.query(&input).expect("searches");
        }
        let empty = project
            .engine
            .query(&QueryInput { query: " ".into(), ..QueryInput::default() })
            .expect_err("refused");
        assert!(empty.to_string().starts_with("`query` "));
    }
}
