//! Delegating: a need that says what it takes, shown to those who can.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use twining_model::{Entry, EntryType, InvalidInput, ProjectRoot, Scope, Time, limits, text};
use twining_store::{AgentFiles, Config, EntryFilter, View};

use crate::agents::registry::{AgentMatch, DiscoverInput, capabilities, discover};
use crate::blackboard::note;
use crate::caller::Stamp;
use crate::failure::Failure;
use crate::fields;
use crate::input_types::URGENCIES;
use crate::secrets::{Redaction, redact_fields};

/// Number of newest offers to examine, and of suggestions to return.
const OFFERS: usize = 200;
const MAX_SUGGESTED: usize = 10;
/// The tag of a need that was delegated.
const TAG: &str = "delegation";

/// The task, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateInput {
    /// What is to be done
    pub summary: String,
    /// Capabilities needed, comma-separated
    pub required_capabilities: Vec<String>,
    /// Urgency; default normal
    #[schemars(extend("enum" = URGENCIES))]
    pub urgency: Option<String>,
    /// Timeout; default depends on urgency
    pub timeout_ms: Option<u64>,
    /// File, directory, module or `project` (default)
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
    /// Domain tags
    #[serde(default)]
    pub tags: Vec<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(DelegateInput { summary, required_capabilities, scope, tags, agent_id });

/// A matching offer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OfferMatch {
    /// The offer on the board.
    pub id: String,
    /// Who made it.
    pub agent_id: String,
    /// Its summary.
    pub summary: String,
    /// The needed capabilities it offers.
    pub matched: Vec<String>,
}

/// The request, and who could do it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DelegateOutcome {
    /// The need on the board; answer it with `relates_to`.
    pub id: String,
    /// When.
    pub timestamp: String,
    /// When it expires.
    pub expires_at: String,
    /// Matching agents, best first.
    pub suggested_agents: Vec<AgentMatch>,
    /// Matching offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<OfferMatch>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A delegation to be, every rule checked.
#[derive(Clone, Debug)]
pub(crate) struct DelegateDraft {
    summary: String,
    wanted: Vec<String>,
    urgency: &'static str,
    timeout_ms: i64,
    scope: Scope,
    tags: Vec<String>,
}

impl DelegateDraft {
    pub(crate) fn parse(
        input: &DelegateInput,
        root: &ProjectRoot,
        config: &Config,
    ) -> Result<Self, InvalidInput> {
        let wanted = capabilities("required_capabilities", &input.required_capabilities)?;
        if wanted.is_empty() {
            return Err(InvalidInput::new(
                "required_capabilities",
                "must name at least one capability",
            ));
        }
        let timeouts = config.delegations.timeouts;
        let known =
            [("high", timeouts.high_ms), ("normal", timeouts.normal_ms), ("low", timeouts.low_ms)];
        let known = known.map(|(word, timeout_ms)| (word, (word, timeout_ms)));
        let urgency = input.urgency.as_deref().unwrap_or("normal");
        let (urgency, default) = fields::one_of("urgency", urgency, &known)?;
        let mut tags = text::list("tags", &input.tags, limits::TAGS - 1, limits::TAG_BYTES)?;
        tags.push(TAG.to_owned());
        Ok(Self {
            summary: text::summary("summary", &input.summary)?,
            wanted,
            urgency,
            // A year: longer than anybody waits, and never past the end of time.
            timeout_ms: i64::try_from(input.timeout_ms.unwrap_or(default))
                .unwrap_or(i64::MAX)
                .clamp(1, 365 * fields::DAY_MS),
            scope: fields::scope_or_project(input.scope.as_deref(), root)?,
            tags,
        })
    }
}

/// Plans the need, and finds who might meet it.
pub(crate) fn delegate(
    view: &View<'_>,
    agent_files: &AgentFiles,
    draft: &DelegateDraft,
    config: &Config,
    stamp: &Stamp<'_>,
) -> Result<(Entry, DelegateOutcome), Failure> {
    let expires_at = Time::from_ms(stamp.at.as_ms() + draft.timeout_ms).to_string();
    let detail = json!({
        "type": "delegation", "required_capabilities": draft.wanted, "urgency": draft.urgency,
        "expires_at": expires_at, "timeout_ms": draft.timeout_ms,
    });
    let entry = Entry {
        detail: detail.to_string(),
        tags: draft.tags.clone(),
        ..note(stamp, EntryType::Need, draft.scope.as_str(), &draft.summary)
    };
    let asked = DiscoverInput {
        required_capabilities: draft.wanted.clone(),
        include_gone: true,
        min_score: None,
    };
    let mut suggested = discover(agent_files, &asked, config, stamp.at)?.agents;
    suggested.retain(|agent| agent.agent_id != stamp.caller.agent);
    suggested.truncate(MAX_SUGGESTED);
    let delegated = DelegateOutcome {
        id: entry.id.clone(),
        timestamp: entry.timestamp.clone(),
        expires_at,
        suggested_agents: suggested,
        redacted: Vec::new(),
        offers: offers(view, &draft.wanted, &stamp.caller.agent)?,
    };
    Ok((entry, delegated))
}

/// Offers that nobody took, of what is wanted: by their tags, or by the words of their line.
fn offers(view: &View<'_>, wanted: &[String], asking: &str) -> Result<Vec<OfferMatch>, Failure> {
    let filter =
        EntryFilter { types: vec![EntryType::Offer.as_str().to_owned()], ..EntryFilter::default() };
    let mut found = Vec::new();
    for offer in view.entries().newest(&filter, OFFERS)?.items {
        let tags: Vec<String> = offer.tags.iter().map(|tag| tag.to_lowercase()).collect();
        let line = format!(" {} ", split_words(&offer.summary));
        let is_offered = |word: &&String| {
            tags.contains(word) || line.contains(&format!(" {} ", split_words(word)))
        };
        let matched: Vec<String> = wanted.iter().filter(is_offered).cloned().collect();
        if matched.is_empty()
            || offer.agent_id == asking
            || !view.entries().closers(&offer.id)?.is_empty()
        {
            continue;
        }
        found.push(OfferMatch {
            id: offer.id,
            agent_id: offer.agent_id,
            summary: offer.summary,
            matched,
        });
    }
    // Stable: of two that fit alike the newer stays first.
    found.sort_by_key(|offer| std::cmp::Reverse(offer.matched.len()));
    found.truncate(MAX_SUGGESTED);
    Ok(found)
}

fn split_words(text: &str) -> String {
    let lower = text.to_lowercase();
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
