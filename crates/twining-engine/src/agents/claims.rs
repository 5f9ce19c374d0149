//! Claims: temporary exclusive editing rights to a part of the project.
//!
//! Exclusive by path component: a claim on `src/auth` keeps others out of `src/auth/jwt.rs`. A
//! claim expires, so that an agent that is gone does not block others; it is local to this machine
//! and never goes through git.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    CaseFolding, Change, Claim, ClaimList, Entry, EntryType, InvalidInput, ProjectRoot, Scope,
    Time, Trust, agent, limits, scope, text, words,
};
use twining_store::{AgentFiles, Config};

use crate::agents::Presence;
use crate::blackboard::note;
use crate::caller::{Caller, Stamp};
use crate::failure::Failure;
use crate::fields;
use crate::input_types::number_or_text;
use crate::secrets::{Redaction, redact_fields};

/// What to claim or release, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClaimInput {
    /// Files and directories
    pub paths: Vec<String>,
    /// A feature, with its files if no path is given
    pub feature: Option<String>,
    /// What to do; default claim
    #[schemars(extend("enum" = ClaimAction::ALL.map(ClaimAction::as_str)))]
    pub action: Option<String>,
    /// 90s, 30m (default), 2h
    ///
    /// At most 24h
    #[serde(default, deserialize_with = "number_or_text")]
    pub ttl: Option<String>,
    /// What for
    pub reason: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(ClaimInput { paths, feature, reason, agent_id });

/// The current claims.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ClaimOutcome {
    /// The claim that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Claims that were released.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<String>,
    /// All active claims.
    pub claims: Vec<Claim>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A claim to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClaimDraft {
    List,
    Take { paths: Vec<Scope>, feature: Option<String>, ttl_ms: i64, reason: Option<String> },
    Release { paths: Vec<Scope>, feature: Option<String> },
}

/// What a claim says that nobody gave a reason for.
const NO_REASON: &str = "work in progress";

/// Signs of a pattern.
const PATTERNS: [char; 4] = ['*', '?', '{', '}'];

words! {
    /// What can be done with claims.
    enum ClaimAction {
        Claim = "claim",
        Release = "release",
        List = "list",
    }
}

impl ClaimDraft {
    /// Validates every field; `files_of` returns the files of a feature.
    pub(crate) fn parse(
        input: &ClaimInput,
        root: &ProjectRoot,
        config: &Config,
        files_of: impl FnOnce(&str) -> Vec<String>,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<Self, InvalidInput> {
        let action = ClaimAction::parse("action", input.action.as_deref().unwrap_or("claim"))?;
        limits::at_most("paths", &input.paths, limits::CLAIM_PATHS)?;
        let mut paths = Vec::new();
        for given in &input.paths {
            let path = Scope::parse("paths", given, root)?;
            if path.key(CaseFolding::Exact).is_empty() {
                return Err(InvalidInput::new("paths", "must name a part of the project")
                    .because("one agent cannot claim the whole project"));
            }
            paths.push(path);
        }
        let feature = fields::optional("feature", input.feature.as_deref(), text::name)?;
        match action {
            ClaimAction::List => Ok(Self::List),
            ClaimAction::Release => Ok(Self::Release { paths, feature }),
            ClaimAction::Claim => {
                // What is there under just that name is no pattern.
                let is_literal = |path: &str| !is_pattern(path) || is_there(path);
                if let Some((pattern, _)) =
                    input.paths.iter().zip(&paths).find(|(_, path)| !is_literal(path.as_str()))
                {
                    return Err(InvalidInput::new(
                        "paths",
                        "must name files and folders literally, without * ? { }",
                    )
                    .because(format!(
                        "`{}` is a glob, and globs are not expanded here",
                        text::excerpt(pattern, 80)
                    )));
                }
                if let Some(feature) = feature.as_deref().filter(|_| paths.is_empty()) {
                    let held = |file: &String| claimable_path(file, root, &is_literal);
                    paths = files_of(feature)
                        .iter()
                        .filter_map(held)
                        .take(limits::CLAIM_PATHS)
                        .collect();
                }
                if paths.is_empty() && feature.is_none() {
                    return Err(InvalidInput::new(
                        "paths",
                        "must name a path unless `feature` is given",
                    ));
                }
                let reason = fields::optional("reason", input.reason.as_deref(), text::summary)?;
                let default = config.agents.claim_seconds.clamp(1, limits::CLAIM_SECONDS as u64);
                let seconds = input.ttl.as_deref().map_or(Ok(default), seconds)?;
                Ok(Self::Take {
                    paths,
                    feature,
                    ttl_ms: i64::try_from(seconds).unwrap_or(0) * 1000,
                    reason,
                })
            }
        }
    }
}

/// Whether a path is a glob instead of a name. Brackets around the whole name, or all of it but its
/// extension, are the placeholder syntax of web frameworks: `app/[id]/page.tsx`,
/// `pages/[[...slug]].vue`.
fn is_pattern(path: &str) -> bool {
    let is_bracketed = |name: &str| {
        let inside = name.trim_start_matches('[');
        let (inside, ending) = inside.split_once(']').unwrap_or((inside, name));
        name.starts_with('[')
            && !inside.contains('[')
            && matches!(ending.trim_start_matches(']').chars().next(), None | Some('.'))
    };
    path.contains(PATTERNS)
        || path.split('/').any(|name| name.contains(['[', ']']) && !is_bracketed(name))
}

/// The path of a feature that can be held: of a pattern, the folder it looks in.
fn claimable_path(
    file: &str,
    root: &ProjectRoot,
    is_literal: &dyn Fn(&str) -> bool,
) -> Option<Scope> {
    let folder = || {
        file.find(['*', '?', '[', '{'])
            .map_or(file, |at| file[..at].rfind('/').map_or("", |slash| &file[..slash]))
    };
    let plain = if is_literal(file) { file } else { folder() };
    Scope::parse("feature", plain, root)
        .ok()
        .filter(|path| !path.key(CaseFolding::Exact).is_empty())
}

/// Reads `90s`, `30m`, `2h`, or seconds.
fn seconds(given: &str) -> Result<u64, InvalidInput> {
    let given = given.trim();
    let (digits, unit) =
        given.split_at(given.find(|c: char| !c.is_ascii_digit()).unwrap_or(given.len()));
    let factor = match unit.trim() {
        "" | "s" => Some(1),
        "m" | "min" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds = digits
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor));
    match seconds {
        Some(seconds) if (1..=limits::CLAIM_SECONDS as u64).contains(&seconds) => Ok(seconds),
        _ => Err(InvalidInput::new("ttl", "must be a time up to 24h, such as 90s, 30m or 2h")
            .because(format!("`{}` is not", text::excerpt(given, 40)))),
    }
}

/// The claims that hold now. One that says it holds for longer than any may is
/// not one of ours: a folder may have come with a clone.
pub(crate) fn current_claims(agent_files: &AgentFiles, now: Time) -> Vec<Claim> {
    let read: Option<ClaimList> =
        agent_files.claims.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
    let longest = agent::longest_claim(now).as_ms();
    let holds = |claim: &Claim| {
        Time::read(&claim.until).is_some_and(|until| until > now && until.as_ms() <= longest)
    };
    let mut claims = read.unwrap_or_default().claims;
    claims.retain(holds);
    claims.truncate(limits::CLAIMS);
    claims
}

/// Whether the caller owns a claim: the same name, and the session that made it, if any. Agents
/// choose their names: two sessions called `main` are different, and a caller without a session
/// matches neither.
pub(crate) fn is_mine(claim: &Claim, caller: &Caller) -> bool {
    is_namesake(claim, caller)
        && (claim.session_id.is_none() || claim.session_id == caller.origin.session)
}

/// Whether a claim is of an agent of this name, and not of another token's.
fn is_namesake(claim: &Claim, caller: &Caller) -> bool {
    let principals = claim.principal.as_ref().zip(caller.origin.principal.as_ref());
    claim.agent_id == caller.agent && principals.is_none_or(|(claim, caller)| claim == caller)
}

/// The path of a claim that a place lies in or covers.
pub(crate) fn overlapping<'c>(
    claim: &'c Claim,
    place: &Scope,
    folding: CaseFolding,
) -> Option<&'c str> {
    claim.paths.iter().map(String::as_str).find(|path| Scope::read(path).overlaps(place, folding))
}

/// Plans a claim on those that hold: all of its paths, or none.
pub(crate) fn plan_claim(
    agent_files: &AgentFiles,
    draft: &ClaimDraft,
    folding: CaseFolding,
    stamp: &Stamp<'_>,
) -> Result<(Change, ClaimOutcome), Failure> {
    let mut outcome =
        ClaimOutcome { claims: current_claims(agent_files, stamp.at), ..ClaimOutcome::default() };
    let entries = match draft {
        ClaimDraft::List => return Ok((Change::default(), outcome)),
        ClaimDraft::Take { .. } => {
            outcome.claim = Some(take(&mut outcome.claims, draft, folding, stamp)?);
            Vec::new()
        }
        ClaimDraft::Release { paths, feature } => {
            let gone = release(&mut outcome.claims, paths, feature.as_ref(), folding, stamp)?;
            outcome.released = gone.iter().map(|claim| claim.id.clone()).collect();
            let foreign = gone.iter().filter(|claim| !is_mine(claim, stamp.caller));
            foreign.map(|claim| release_notice(claim, stamp)).collect()
        }
    };
    let text = serde_json::to_string_pretty(&ClaimList { claims: outcome.claims.clone() })
        .unwrap_or_default()
        + "\n";
    let presence = Presence::read(agent_files.presence.as_deref()).with(stamp).to_text();
    Ok((
        Change { claims: Some(text), presence: Some(presence), entries, ..Change::default() },
        outcome,
    ))
}

/// Adds the claim of a draft, in place of those it renews.
fn take(
    claims: &mut Vec<Claim>,
    draft: &ClaimDraft,
    folding: CaseFolding,
    stamp: &Stamp<'_>,
) -> Result<Claim, Failure> {
    let ClaimDraft::Take { paths, feature, ttl_ms, reason } = draft else {
        unreachable!("only a draft that takes is taken")
    };
    for held in claims.iter().filter(|claim| !is_mine(claim, stamp.caller)) {
        let path = paths.iter().find_map(|path| overlapping(held, path, folding));
        let same_feature = feature.as_ref().filter(|name| held.feature.as_ref() == Some(name));
        if let Some(what) = path.or(same_feature.map(String::as_str)) {
            return Err(taken(held, what));
        }
    }
    // A repeated request extends the claim: the new one replaces the old.
    let covers = |old: &str| paths.iter().any(|path| path.covers(&Scope::read(old), folding));
    let renews = |old: &Claim| {
        is_mine(old, stamp.caller)
            && old.paths.iter().all(|path| covers(path))
            && (old.feature.is_none() || old.feature == *feature)
    };
    let renewed: Vec<Claim> = claims.extract_if(.., |old| renews(old)).collect();
    // Renewing never shortens a claim or drops its reason.
    let ends = renewed.iter().filter_map(|old| Time::read(&old.until));
    let until = ends.chain([Time::from_ms(stamp.at.as_ms() + ttl_ms)]).max().unwrap_or(stamp.at);
    let before = renewed.last().map(|old| old.reason.clone());
    if claims.len() >= limits::CLAIMS {
        let rule = format!("would be claim number {}", limits::CLAIMS + 1);
        return Err(InvalidInput::new("paths", rule)
            .because(format!("at most {} claims can be active at one time", limits::CLAIMS))
            .into());
    }
    let name = |path: &Scope| path.as_str().trim_end_matches('/').to_owned();
    let claim = Claim {
        id: stamp.ids.next().into(),
        agent_id: stamp.caller.agent.clone(),
        session_id: stamp.caller.origin.session.clone(),
        principal: stamp.caller.origin.principal.clone(),
        paths: paths.iter().map(name).collect(),
        feature: feature.clone(),
        reason: reason.clone().or(before).unwrap_or_else(|| NO_REASON.to_owned()),
        since: stamp.at.to_string(),
        until: until.to_string(),
    };
    claims.push(claim.clone());
    Ok(claim)
}

/// Takes out the claims that are named, or all of the caller's own.
fn release(
    claims: &mut Vec<Claim>,
    paths: &[Scope],
    feature: Option<&String>,
    folding: CaseFolding,
    stamp: &Stamp<'_>,
) -> Result<Vec<Claim>, Failure> {
    let all = paths.is_empty() && feature.is_none();
    let meant = |claim: &Claim| {
        all || paths.iter().any(|path| overlapping(claim, path, folding).is_some())
            || (feature.is_some() && claim.feature.as_ref() == feature)
    };
    // A named claim can be released by any person, and by an agent of the same name: its session
    // may have crashed.
    let may = |claim: &Claim| {
        let may_free =
            stamp.caller.origin.trust == Trust::Human || is_namesake(claim, stamp.caller);
        is_mine(claim, stamp.caller) || (!all && may_free)
    };
    if let Some(held) = claims.iter().find(|claim| !all && meant(claim) && !may(claim)) {
        let what = held.paths.first().or(held.feature.as_ref());
        return Err(taken(held, what.map_or("", String::as_str)));
    }
    Ok(claims.extract_if(.., |claim| meant(claim) && may(claim)).collect())
}

/// Fails if a claim of another token was released: in a team that takes a person's token, or the
/// role maintainer.
pub(crate) fn check_released(
    before: &[Claim],
    outcome: &ClaimOutcome,
    caller: &Caller,
) -> Result<(), Failure> {
    let is_foreign = |claim: &&Claim| {
        outcome.released.contains(&claim.id)
            && claim.principal.is_some()
            && claim.principal != caller.origin.principal
    };
    let Some(claim) = before.iter().find(is_foreign) else { return Ok(()) };
    let (holder, until) = (text::excerpt(&claim.holder(), 120), text::excerpt(&claim.until, 40));
    Err(Failure::Refused {
        code: "CLAIMED",
        why: format!("it is claimed by {holder} until {until}, under another token"),
        hint: format!(
            "ask `{holder}` to release it, or somebody with a person's token or the role `maintainer`"
        ),
    })
}

/// The entry that informs the holder of a claim that another released it.
fn release_notice(claim: &Claim, stamp: &Stamp<'_>) -> Entry {
    let what = claim.paths.first().or(claim.feature.as_ref()).map_or("project", String::as_str);
    let (who, whose) = (text::excerpt(&stamp.caller.agent, 40), text::excerpt(&claim.holder(), 80));
    let summary = format!("{who} released the claim of {whose}: {}", fields::shorten(what, 80));
    let scope = claim.paths.first().map_or("project", String::as_str);
    Entry { tags: vec!["claim".to_owned()], ..note(stamp, EntryType::Status, scope, &summary) }
}

fn taken(held: &Claim, what: &str) -> Failure {
    debug_assert_ne!(what, scope::PROJECT);
    Failure::Claimed {
        what: text::excerpt(what, 200),
        by: text::excerpt(&held.holder(), 120),
        until: text::excerpt(&held.until, 40),
        reason: text::excerpt(&held.reason, limits::SUMMARY_CHARS),
        is_shared: held.principal.is_some(),
    }
}
