//! A trace that somebody reports, or that a hook saw.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use twining_model::{
    InvalidInput, Origin, Trace, TraceContext, TraceEvent, TraceType, Trust, limits, text,
};

use crate::caller::Stamp;
use crate::fields;
use crate::secrets::{Redaction, redact_fields};

/// Bytes of each text of a trace.
const TEXT_BYTES: usize = limits::TRACE_BYTES / 5;

/// What to store.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreTraceInput {
    /// correction, violation, decision or approval
    #[serde(rename = "type")]
    #[schemars(extend("enum" = TraceType::ALL.map(TraceType::as_str)))]
    pub kind: String,
    /// What was done, or tried
    pub what_happened: String,
    /// What would have been right
    pub what_was_correct: Option<String>,
    /// Why
    pub why: Option<String>,
    /// Tool and command or path: `Bash: git push`
    pub action: Option<String>,
    /// The guard it is about
    pub guard: Option<String>,
    /// The id of the guard's trace it judges
    ///
    /// By a person, an approval says that the guard was right, a correction that it was wrong
    pub about: Option<String>,
    /// It was prevented
    pub blocked: Option<bool>,
    /// The feature
    pub feature: Option<String>,
    /// The task
    pub task: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(StoreTraceInput {
    what_happened,
    what_was_correct,
    why,
    action,
    guard,
    feature,
    task,
    agent_id
});

/// A trace that was stored.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StoreTraceOutcome {
    /// Its id.
    pub id: String,
    /// When.
    pub timestamp: String,
    /// Its trust level.
    pub trust: Trust,
    /// Secrets removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// The trace of a report, every rule checked.
pub(crate) fn plan_trace(
    input: &StoreTraceInput,
    stamp: &Stamp<'_>,
) -> Result<(Trace, StoreTraceOutcome), InvalidInput> {
    let kind = TraceType::parse("type", &input.kind)?;
    let long = |field: &'static str, given: Option<&str>| {
        let given = given.unwrap_or_default();
        text::bounded(field, given, TEXT_BYTES).map(|()| masked(given.trim()))
    };
    let name =
        |field, given: &Option<String>| fields::optional(field, given.as_deref(), text::name);
    if input.what_happened.trim().is_empty() {
        return Err(InvalidInput::new("what_happened", "must not be empty"));
    }
    let event = TraceEvent {
        what_happened: long("what_happened", Some(&input.what_happened))?,
        what_was_correct: long("what_was_correct", input.what_was_correct.as_deref())?,
        why: long("why", input.why.as_deref())?,
        extra: Map::new(),
    };
    let blocked = input.blocked.unwrap_or(false);
    if blocked && kind != TraceType::Violation {
        return Err(InvalidInput::new("blocked", "applies only to violations"));
    }
    let about = name("about", &input.about)?;
    if about.is_some() && input.guard.is_none() {
        return Err(InvalidInput::new("guard", "is required with `about`"));
    }
    let context = TraceContext {
        agent: stamp.caller.agent.clone(),
        feature: name("feature", &input.feature)?.unwrap_or_default(),
        task: name("task", &input.task)?.unwrap_or_default(),
        extra: Map::new(),
    };
    let origin = stamp.caller.origin.clone();
    let source = if origin.trust == Trust::Human { "person" } else { "reported" };
    let trace = Trace {
        id: stamp.ids.next().into(),
        timestamp: stamp.at.to_string(),
        kind: kind.as_str().to_owned(),
        context,
        event,
        source: source.to_owned(),
        action: name("action", &input.action)?.map(|action| masked(&action)),
        guard: name("guard", &input.guard)?,
        about,
        blocked,
        origin: Some(origin),
        ..Trace::default()
    };
    fields::fits("what_happened", &trace, limits::TRACE_BYTES)?;
    let stored = StoreTraceOutcome {
        id: trace.id.clone(),
        timestamp: trace.timestamp.clone(),
        trust: trace.trust(true),
        redacted: Vec::new(),
    };
    Ok((trace, stored))
}

/// Bytes of a text that are looked through for secrets, of which a few hundred stay.
const LOOKED_THROUGH: usize = 8 * 1024;

/// What a hook saw.
#[derive(Clone, Debug, Default)]
pub struct ObservedTrace<'a> {
    /// What it is.
    pub kind: TraceType,
    /// Where it comes from: `enforcement_hook`, `auto_detected`, `person`.
    pub source: &'a str,
    /// The guard it is about.
    pub guard: Option<&'a str>,
    /// What was tried, in a few words.
    pub action: String,
    /// What was done, or tried.
    pub what_happened: String,
    /// What would have been right.
    pub what_was_correct: String,
    /// Why.
    pub why: String,
    /// Whether it was kept from happening.
    pub blocked: bool,
    /// Whether it is a guess.
    pub guessed: bool,
    /// The recorded call.
    pub call: Option<String>,
}

impl ObservedTrace<'_> {
    /// The trace of it, its texts cut to size and without what looks like a secret.
    #[must_use]
    pub fn into_trace(self, id: String, at: &str, agent: &str, origin: Origin) -> Trace {
        // Cut before it is looked through, well past what is kept: half a secret at the end is cut off again.
        let clean_excerpt = |given: &str, chars: usize| {
            text::excerpt(&masked(fields::clip(given, LOOKED_THROUGH).as_str()), chars)
        };
        Trace {
            id,
            timestamp: at.to_owned(),
            kind: self.kind.as_str().to_owned(),
            context: TraceContext { agent: clean_excerpt(agent, 100), ..TraceContext::default() },
            event: TraceEvent {
                what_happened: clean_excerpt(&self.what_happened, 300),
                what_was_correct: clean_excerpt(&self.what_was_correct, 300),
                why: clean_excerpt(&self.why, 300),
                extra: Map::new(),
            },
            source: self.source.to_owned(),
            guard: self.guard.map(|guard| clean_excerpt(guard, 100)),
            about: None,
            action: Some(self.action).filter(|action| !action.is_empty()),
            blocked: self.blocked,
            guessed: self.guessed,
            call: self.call,
            origin: Some(origin),
            extra: Map::new(),
        }
    }
}

/// How secrets of well-known services begin.
const STARTS: &str =
    "sk-|sk_|pk_live|rk_live|ghp_|gho_|ghs_|github_pat_|glpat-|xox|akia|asia|aiza|eyj";
/// Names whose value is nobody's business.
const NAMES: [&str; 8] =
    ["token", "secret", "passw", "apikey", "api_key", "api-key", "credential", "private"];
/// Words after which a secret follows.
const BEFORE: [&str; 4] = ["bearer", "basic", "token", "authorization:"];
const MASK: &str = "[masked]";

/// The text with what looks like a secret left out.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut follows = false;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let plain = bare.trim_matches(['"', '\'', '`', ',', ';', '(', ')']);
        if follows && !plain.is_empty() && !BEFORE.contains(&plain.to_lowercase().as_str()) {
            out.push_str(MASK);
        } else {
            out.push_str(&one(bare, plain));
        }
        out.push_str(&word[bare.len()..]);
        let lower = plain.to_lowercase();
        follows = BEFORE.contains(&lower.as_str())
            || (lower.starts_with('-')
                && !lower.contains('=')
                && NAMES.iter().any(|name| lower.contains(name)));
    }
    out
}

fn one(word: &str, plain: &str) -> String {
    let lower = plain.to_lowercase();
    if let Some((name, value)) = word.split_once(['=', ':'])
        && !value.trim_matches(['"', '\'', '/']).is_empty()
        && NAMES.iter().any(|known| name.to_lowercase().contains(known))
    {
        return format!("{name}={MASK}");
    }
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((who, place)) = rest.split_once('@')
        && !who.contains('/')
    {
        return format!("{scheme}://{MASK}@{place}");
    }
    let begins = STARTS.split('|').any(|start| lower.starts_with(start)) && plain.len() >= 16;
    // The guard of a decision is called by its id, which is no secret.
    let plain = plain.trim_matches(['[', ']']);
    let plain = plain.strip_prefix("decision-").unwrap_or(plain);
    let value = plain.rsplit('=').next().unwrap_or(plain);
    if begins || is_random(plain) || is_random(value) || plain.starts_with("-----BEGIN") {
        MASK.to_owned()
    } else {
        word.to_owned()
    }
}

/// Long, without blanks or dots, with digits and letters of both cases.
fn is_random(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "+/_-=".contains(c);
    let has = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
    word.len() >= 24
        && word.chars().all(fits)
        && word.matches('/').count() < 3
        && has(char::is_ascii_digit)
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use crate::learning::traces::*;
    use twining_testcases::each;

    #[test]
    fn a_secret_on_a_command_line_does_not_reach_a_tracked_file() {
        each(
            [
                "curl -H 'Authorization: Bearer abc123' https://x.test",
                "git clone https://bob:abc123@github.test/x",
                "export API_TOKEN=abc123",
                "mysql --password abc123",
                "deploy --api-key=abc123",
                "echo ghp_abc123abc123abc123abc123",
                "echo wJalrXUtnFEMIabc123bPxRfiCYEXAMPLEKEY",
            ],
            |secret| {
                let masked_text = masked(secret);
                assert!(
                    !masked_text.contains("abc123") && masked_text.contains(MASK),
                    "{masked_text}"
                );
            },
        );
    }

    #[test]
    fn an_ordinary_line_stays_readable() {
        each(
            [
                "git push --force origin main",
                "cargo test -p twining-engine learning::tests",
                "revert 3f2a91c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2",
                "see https://docs.test/a/b?c=d and src/auth/TokenStore.ts",
                "entry 01M7EB3QWY4C5CPJF6982ZJQ18",
                "decision-01M7EB3QWY4C5CPJF6982ZJQ18",
            ],
            |plain| {
                assert_eq!(masked(plain), plain);
            },
        );
    }
}
