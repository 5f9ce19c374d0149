//! Files that somebody works on: a claim keeps others from editing them until it
//! ends. Claims are made by agents and end by themselves, so a forgotten one
//! holds nobody for long.

use serde::Deserialize;
use twining_model::{Time, agent, scope, text};

use crate::effects::{ChangeExtent, Effects};
use crate::facts::{ActiveClaim, ClaimLookup, Facts};
use crate::paths::normal;
use crate::policy::guard::{Guard, GuardAnswer};

/// Claims that are looked at.
const MAX_CLAIMS: usize = 1_000;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimant {
    /// The host's session.
    pub session: String,
    /// The names it goes by: a subagent's id and kind.
    pub names: Vec<String>,
    /// The processes it descends from: if a host does not report its session, the server records
    /// the host's process after an `@`.
    pub processes: Vec<u32>,
    /// Whose token it shares its claims with, if its folder is linked to a team.
    pub principal: Option<String>,
}

/// Claims of others that hold now.
#[derive(Clone, Debug, Default)]
pub struct ForeignClaims {
    /// Each with its paths, as guards see them.
    others: Vec<(Vec<String>, ActiveClaim)>,
}

#[derive(Deserialize)]
struct ClaimsFile {
    #[serde(default)]
    claims: Vec<ClaimRecord>,
}

#[derive(Deserialize)]
struct ClaimRecord {
    agent_id: Option<String>,
    session_id: Option<String>,
    principal: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    reason: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

impl ForeignClaims {
    /// Reads the file of claims. One that is damaged claims nothing: nobody could
    /// give back what it holds. A claim of an agent that goes by the asker's own name
    /// does not hold it where its session, which is asked about by its name and by when it
    /// made the claim, is gone.
    #[must_use]
    pub fn read(
        bytes: &[u8],
        asker: &Claimant,
        now: Time,
        is_abandoned: &dyn Fn(&str, Option<Time>) -> bool,
    ) -> Self {
        let Ok(file) = serde_json::from_slice::<ClaimsFile>(bytes) else { return Self::default() };
        let longest = agent::longest_claim(now).as_ms();
        let others = file.claims.into_iter().take(MAX_CLAIMS).filter_map(|line| {
            // Without an end it would never end, and one further off than any may be is nobody's claim.
            let until = line
                .until
                .as_deref()
                .and_then(Time::read)
                .filter(|until| *until > now && until.as_ms() <= longest)?;
            let session = line.session_id.as_deref().unwrap_or_default();
            let since = line.since.as_deref().and_then(Time::read);
            let is_own =
                line.is_of(asker) || line.is_namesake_of(asker) && is_abandoned(session, since);
            if is_own && !line.is_of_other_principal(asker) {
                return None;
            }
            let paths: Vec<String> =
                line.paths.iter().filter_map(|path| claimed_path(path)).collect();
            let agent =
                line.agent_id.or(line.session_id).unwrap_or_else(|| "another agent".to_owned());
            let by = match line.principal.filter(|owner| *owner != agent) {
                Some(owner) => format!("{agent} ({owner})"),
                None => agent,
            };
            Some((
                paths,
                ActiveClaim {
                    by: short(&by),
                    until,
                    reason: short(line.reason.as_deref().unwrap_or_default()),
                },
            ))
        });
        Self { others: others.collect() }
    }

    /// Whether nobody else claims anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    fn find(&self, matches: impl Fn(&str) -> bool) -> Option<ActiveClaim> {
        self.others
            .iter()
            .find(|(paths, _)| paths.iter().any(|path| matches(path)))
            .map(|(_, claim)| claim.clone())
    }
}

impl ClaimRecord {
    /// Whether it was shared with another token: names and processes of other machines mean
    /// nothing here.
    fn is_of_other_principal(&self, asker: &Claimant) -> bool {
        self.principal.as_ref().zip(asker.principal.as_ref()).is_some_and(|(is, me)| is != me)
    }

    fn is_namesake_of(&self, asker: &Claimant) -> bool {
        let agent = self.agent_id.as_deref().unwrap_or("main");
        agent == "main" && asker.names.is_empty() || asker.names.iter().any(|name| name == agent)
    }

    fn is_of(&self, asker: &Claimant) -> bool {
        let session = self.session_id.as_deref().filter(|session| !session.is_empty());
        let host = session
            .and_then(|session| session.rsplit_once('@'))
            .and_then(|(_, process)| process.parse().ok());
        let agent = self.agent_id.as_deref().unwrap_or_default();
        // `main` is what everybody is called who gives no name.
        session == Some(asker.session.as_str())
            || host.is_some_and(|host| asker.processes.contains(&host))
            || asker.names.iter().any(|name| name == agent)
            || (agent == "main" && session.is_none() && asker.names.is_empty())
    }
}

impl ClaimLookup for ForeignClaims {
    fn claim_on(&self, path: &str) -> Option<ActiveClaim> {
        let path = path.to_lowercase();
        self.find(|claim_on| is_within(&path, claim_on))
    }

    fn claim_below(&self, folder: &str) -> Option<ActiveClaim> {
        let folder = folder.trim_matches('/').to_lowercase();
        self.find(|claim_on| {
            folder.is_empty() || is_within(&folder, claim_on) || is_within(claim_on, &folder)
        })
    }
}

/// Whether a change falls into what another works on.
pub(crate) fn check(guard: &Guard, effects: &Effects, facts: &Facts<'_>) -> GuardAnswer {
    let claimed =
        effects.changes.iter().filter(|change| change.changes_something()).find_map(|change| {
            let claim = match change.extent {
                ChangeExtent::File => facts.claims.claim_on(&change.path),
                ChangeExtent::Tree => facts.claims.claim_below(&change.path),
                // The author of uncommitted work is unknown.
                ChangeExtent::Uncommitted => None,
            }?;
            let why = if claim.reason.is_empty() {
                String::new()
            } else {
                format!(" ({})", claim.reason)
            };
            let why = format!("{} has claimed it until {}{why}", claim.by, claim.until);
            Some(GuardAnswer::of_change(guard.action, change, "").because(why))
        });
    claimed.unwrap_or_else(|| GuardAnswer::silent("no other agent has claimed it"))
}

/// A path that is claimed, as guards see paths. Nobody holds the whole project.
fn claimed_path(path: &str) -> Option<String> {
    let path = normal("", path.trim()).to_lowercase();
    (!path.is_empty() && path != scope::PROJECT).then_some(path)
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn short(stored: &str) -> String {
    text::visible(&text::excerpt(stored, 120)).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"claims":[
        {"id":"1","agent_id":"alice","session_id":"s-a","paths":["src/auth"],"feature":null,"reason":"rewriting","since":"2026-01-01T00:00:00Z","until":"2026-01-01T02:00:00Z"},
        {"id":"2","agent_id":"bob","session_id":"s-b","paths":["docs/*.md"],"until":"2026-01-01T00:30:00Z"},
        {"id":"3","agent_id":"carol","paths":["x"]},
        {"id":"4","agent_id":"mallory","paths":["lib"],"until":"2026-01-02T02:00:00Z"},
        {"id":"5","agent_id":"mallory","paths":["app"],"until":"9999-12-31T23:59:59Z"},
        {"id":"7","agent_id":"eve","paths":["**","s*","project","."],"until":"2026-01-01T02:00:00Z"},
        {"id":"8","agent_id":"main","session_id":"01K9Z3M4E0A1B2C3D4E5F6G7H1@812","paths":["web"],"until":"2026-01-01T02:00:00Z"},
        {"id":"9","agent_id":"main","principal":"bob-laptop","paths":["api"],"until":"2026-01-01T02:00:00Z"},
        {"id":"6","agent_id":"dave","paths":["bin"],"until":"2026-01-02T01:00:00Z"}]}"#;

    fn claim_on(asker: &Claimant, path: &str) -> Option<String> {
        let now = Time::read("2026-01-01T01:00:00.000Z").expect("a time");
        ForeignClaims::read(FILE.as_bytes(), asker, now, &|_, _| false)
            .claim_on(path)
            .map(|claim| claim.by)
    }

    #[test]
    fn a_claim_covers_what_is_under_it_until_it_ends_and_never_its_own_agent() {
        let me = Claimant { session: "s-c".into(), ..Claimant::default() };
        assert_eq!(claim_on(&me, "src/auth/jwt.rs").as_deref(), Some("alice"));
        assert_eq!(claim_on(&me, "src/authority.rs"), None);
        let linked = Claimant { principal: Some("ada-laptop".into()), ..me.clone() };
        assert_eq!(claim_on(&linked, "api/a").as_deref(), Some("main (bob-laptop)"));
        assert_eq!(claim_on(&me, "docs/a.md"), None, "it has ended");
        assert_eq!(claim_on(&me, "x"), None, "it never began to end");
        assert_eq!(
            (claim_on(&me, "lib/a"), claim_on(&me, "app/a")),
            (None, None),
            "nobody may claim for longer than a day"
        );
        assert_eq!(
            claim_on(&me, "bin/a").as_deref(),
            Some("dave"),
            "a day is as long as it may be"
        );
        assert_eq!(
            (claim_on(&me, "src/b.rs"), claim_on(&me, "setup.py")),
            (None, None),
            "a claim names places, not patterns"
        );
        assert_eq!(claim_on(&me, "s*/a").as_deref(), Some("eve"), "letter by letter");
        assert_eq!(
            claim_on(&Claimant { session: "s-a".into(), ..Claimant::default() }, "src/auth/jwt.rs"),
            None
        );
        assert_eq!(
            claim_on(
                &Claimant {
                    session: "s-c".into(),
                    names: vec!["alice".into()],
                    ..Claimant::default()
                },
                "src/auth/jwt.rs"
            ),
            None
        );
        assert_eq!(claim_on(&me, "web/a").as_deref(), Some("main"));
        let beside = |processes: &[u32]| {
            claim_on(&Claimant { processes: processes.to_vec(), ..me.clone() }, "web/a")
        };
        assert_eq!(
            (beside(&[900, 812, 1]), beside(&[813]).as_deref()),
            (None, Some("main")),
            "a server of the same host made it"
        );
        assert!(
            ForeignClaims::read(b"{", &me, Time::from_ms(0), &|_, _| false)
                .claim_on("src/auth/jwt.rs")
                .is_none()
        );
    }
}
