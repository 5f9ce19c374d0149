//! Files that somebody works on: a claim keeps others from editing them until it
//! ends. Claims are made by agents and end by themselves, so a forgotten one
//! holds nobody for long.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use twining_model::{Time, limits, scope, text};
use twining_store::disk::hash_of;

use crate::guards::change::{Proposal, Touched, Where};
use crate::guards::judge::Facts;
use crate::guards::path::{expanded, inside, normal};
use crate::guards::rule::{Guard, Said};
use crate::guards::seams::{Claim, Claims};
use crate::guards::shell::Certainty;

/// Claims that are looked at.
const MOST_CLAIMS: usize = 1_000;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// The host's session.
    pub session: String,
    /// The names it goes by: a subagent's id and kind.
    pub names: Vec<String>,
    /// The processes it descends from: where a host does not tell its session, the
    /// server names the host's process behind an `@`.
    pub processes: Vec<u32>,
}

/// Claims of others that hold now.
#[derive(Clone, Debug, Default)]
pub struct ClaimsOfOthers {
    others: Vec<Other>,
    undone: BTreeMap<String, Undo>,
}

/// A claim of another.
#[derive(Clone, Debug)]
struct Other {
    /// What it holds, as guards see paths.
    held: Vec<String>,
    /// The same as it is written.
    spelt: Vec<String>,
    claim: Claim,
    claimant: Claimant,
    /// What tells it from any other, and from itself once it was renewed.
    mark: u64,
}

/// Who holds a claim, as far as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimant {
    session: Option<String>,
    agent: Option<String>,
}

impl Claimant {
    /// Whether a session, or an agent in it, may be this one. Of a server that knows no
    /// session nobody can tell which it is.
    #[must_use]
    pub fn may_be(&self, session: &str, names: &[&str]) -> bool {
        let is_untold = self.session.as_deref().is_none_or(|own| own.is_empty() || own.contains('@'));
        is_untold || self.session.as_deref() == Some(session) || self.agent.as_deref().is_some_and(|agent| names.contains(&agent))
    }
}

/// What takes back what an agent did to a file that is another's to edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Removing it: it was not there.
    Remove,
    /// Bringing back what git has.
    Restore,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    claims: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: String,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    until: Option<String>,
}

impl ClaimsOfOthers {
    /// Reads the file of claims. One that is damaged claims nothing: nobody could
    /// give back what it holds.
    #[must_use]
    pub fn read(bytes: &[u8], actor: &Actor, now: Time) -> Self {
        let Ok(file) = serde_json::from_slice::<File>(bytes) else { return Self::default() };
        let longest = limits::longest_claim(now).as_ms();
        let others = file.claims.into_iter().take(MOST_CLAIMS).filter_map(|line| {
            // Without an end it would never end, and one further off than any may be is nobody's claim.
            let until = line.until.as_deref().and_then(Time::read).filter(|until| *until > now && until.as_ms() <= longest)?;
            if line.is_of(actor) {
                return None;
            }
            let spelt: Vec<String> = line.paths.iter().filter(|path| plain(path).is_some()).map(|path| normal("", path.trim())).collect();
            let held: Vec<String> = spelt.iter().filter_map(|path| plain(path)).collect();
            let mark = hash_of(format!("{}\u{0}{until}\u{0}{}", line.id, spelt.join("\u{0}")).as_bytes());
            let claimant = Claimant { session: line.session_id.clone(), agent: line.agent_id.clone() };
            let by = line.agent_id.or(line.session_id).unwrap_or_else(|| "somebody".to_owned());
            let claim = Claim { by: told(&by), until, reason: told(line.reason.as_deref().unwrap_or_default()) };
            Some(Other { held, spelt, claim, claimant, mark })
        });
        Self { others: others.collect(), undone: BTreeMap::new() }
    }

    /// Lets an agent take back what it did to these files.
    #[must_use]
    pub fn undoing(mut self, undone: impl IntoIterator<Item = (String, Undo)>) -> Self {
        self.undone = undone.into_iter().map(|(path, undo)| (path.to_lowercase(), undo)).collect();
        self
    }

    /// Every place that another holds, as it is written.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.others.iter().flat_map(|other| &other.spelt).map(String::as_str)
    }

    /// Everybody who holds a path.
    pub fn claimants(&self, path: &str) -> impl Iterator<Item = &Claimant> {
        let path = path.to_lowercase();
        self.others.iter().filter(move |other| other.held.iter().any(|held| is_within(&path, held))).map(|other| &other.claimant)
    }

    /// What tells each of them from any other, and from itself once it grew or was renewed.
    pub fn marks(&self) -> impl Iterator<Item = u64> {
        self.others.iter().map(|other| other.mark)
    }

    /// Those of them that bear one of these marks.
    #[must_use]
    pub fn marked(&self, marks: &BTreeSet<u64>) -> Self {
        let others = self.others.iter().filter(|other| marks.contains(&other.mark)).cloned().collect();
        Self { others, undone: self.undone.clone() }
    }
}

impl Line {
    fn is_of(&self, actor: &Actor) -> bool {
        let session = self.session_id.as_deref().filter(|session| !session.is_empty());
        let host = session.and_then(|session| session.rsplit_once('@')).and_then(|(_, process)| process.parse().ok());
        let agent = self.agent_id.as_deref().unwrap_or_default();
        // `main` is what everybody is called who gives no name.
        session == Some(actor.session.as_str())
            || host.is_some_and(|host| actor.processes.contains(&host))
            || actor.names.iter().any(|name| name == agent)
            || (agent == "main" && session.is_none() && actor.names.is_empty())
    }
}

impl Claims for ClaimsOfOthers {
    fn held(&self, path: &str) -> Option<Claim> {
        let path = path.to_lowercase();
        self.find(|held| is_within(&path, held))
    }

    fn held_below(&self, folder: &str) -> Option<Claim> {
        let folder = folder.trim_matches('/').to_lowercase();
        self.find(|held| folder.is_empty() || is_within(&folder, held) || is_within(held, &folder))
    }

    fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    fn may_undo(&self, path: &str, by: &str) -> bool {
        match self.undone.get(&path.to_lowercase()) {
            Some(Undo::Remove) => REMOVES.contains(&by),
            Some(Undo::Restore) => matches!(by, "git checkout" | "git restore"),
            None => false,
        }
    }
}

/// Programs that take a file away.
const REMOVES: [&str; 6] = ["rm", "unlink", "rmdir", "git rm", "git clean", "find -delete"];
/// Those of git that take a whole folder for what lies in it.
const WHOLE: [&str; 4] = ["git checkout", "git restore", "git rm", "git mv"];

/// Those that change what git will commit, and no file.
const STAGE: [&str; 4] = ["git rm --cached", "git restore --staged", "git reset", "git update-index"];

/// Whether a change falls into what another works on.
pub(super) fn said(guard: &Guard, touched: &Touched, facts: &Facts<'_>) -> Said {
    let nobody = || Said::nothing("nobody else works on it");
    if facts.claims.is_empty() {
        return nobody();
    }
    let held =
        touched.writes.iter().filter(|proposal| proposal.changes() && !STAGE.contains(&proposal.by.as_str())).filter_map(|proposal| {
            let (claim, place, certainty) = disturbed(proposal, facts)?;
            let why = if claim.reason.is_empty() { String::new() } else { format!(" for: {}", claim.reason) };
            let proposal = Proposal { certainty, ..proposal.clone() };
            Some(guard.sure(&proposal, format!("{} has `{place}` until {}{why}", claim.by, claim.until)))
        });
    held.max_by_key(|said| said.level).unwrap_or_else(nobody)
}

/// The claim that a change falls into, where, and how sure that is.
fn disturbed(proposal: &Proposal, facts: &Facts<'_>) -> Option<(Claim, String, Certainty)> {
    let (claims, by) = (facts.claims, proposal.by.as_str());
    let sure = |claim: Claim| (claim, proposal.place(), proposal.certainty);
    match &proposal.at {
        Where::Known(path) | Where::Below(path) if claims.may_undo(path, by) => None,
        Where::Known(path) => claims.held(path).or_else(|| claims.held_below(path).filter(|_| WHOLE.contains(&by))).map(sure),
        Where::Below(path) => claims.held_below(path).map(sure),
        Where::Holes(holes) => {
            let list = |folder: &str, most: usize| facts.files.list(folder, most);
            let of_shell = holes.globs.iter().flat_map(|glob| expanded(glob, &list)).find_map(|path| {
                let path = inside(facts.root, &path);
                let claim = claims.held(&path).or_else(|| claims.held_below(&path).filter(|_| holes.is_tree || WHOLE.contains(&by)));
                claim.filter(|_| !claims.may_undo(&path, by)).map(|claim| (claim, path, proposal.certainty))
            });
            // Which of the words on the line it is, nobody can tell; what takes files away takes what it is given.
            let is_taking = REMOVES.contains(&by) || by == "mv";
            let of_words = || {
                holes.made_of.iter().filter(|path| !path.is_empty()).find_map(|path| match claims.held(path) {
                    Some(claim) => Some((claim, path.clone(), if is_taking { proposal.certainty } else { Certainty::Possible })),
                    None => claims.held_below(path).map(|claim| (claim, path.clone(), Certainty::Possible)),
                })
            };
            of_shell.or_else(of_words)
        }
        // Where nobody knows what is meant, nobody is known to be disturbed.
        Where::Code(_) => None,
    }
}

impl ClaimsOfOthers {
    fn find(&self, is_meant: impl Fn(&str) -> bool) -> Option<Claim> {
        self.others.iter().find(|other| other.held.iter().any(|held| is_meant(held))).map(|other| other.claim.clone())
    }
}

/// A path that is held, letter by letter and with its case folded, as guards see
/// paths. Nobody holds the whole project.
fn plain(path: &str) -> Option<String> {
    let path = normal("", path.trim()).to_lowercase();
    (!path.is_empty() && path != scope::PROJECT).then_some(path)
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn told(stored: &str) -> String {
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
        {"id":"6","agent_id":"dave","paths":["bin"],"until":"2026-01-02T01:00:00Z"}]}"#;

    fn held(actor: &Actor, path: &str) -> Option<String> {
        let now = Time::read("2026-01-01T01:00:00.000Z").expect("a time");
        ClaimsOfOthers::read(FILE.as_bytes(), actor, now).held(path).map(|claim| claim.by)
    }

    #[test]
    fn a_claim_covers_what_is_under_it_until_it_ends_and_never_its_own_agent() {
        let me = Actor { session: "s-c".into(), ..Actor::default() };
        assert_eq!(held(&me, "src/auth/jwt.rs").as_deref(), Some("alice"));
        assert_eq!(held(&me, "src/authority.rs"), None);
        assert_eq!(held(&me, "docs/a.md"), None, "it has ended");
        assert_eq!(held(&me, "x"), None, "it never began to end");
        assert_eq!((held(&me, "lib/a"), held(&me, "app/a")), (None, None), "nobody may claim for longer than a day");
        assert_eq!(held(&me, "bin/a").as_deref(), Some("dave"), "a day is as long as it may be");
        assert_eq!((held(&me, "src/b.rs"), held(&me, "setup.py")), (None, None), "a claim names places, not patterns");
        assert_eq!(held(&me, "s*/a").as_deref(), Some("eve"), "letter by letter");
        assert_eq!(held(&Actor { session: "s-a".into(), ..Actor::default() }, "src/auth/jwt.rs"), None);
        assert_eq!(held(&Actor { session: "s-c".into(), names: vec!["alice".into()], ..Actor::default() }, "src/auth/jwt.rs"), None);
        assert_eq!(held(&me, "web/a").as_deref(), Some("main"));
        let beside = |processes: &[u32]| held(&Actor { processes: processes.to_vec(), ..me.clone() }, "web/a");
        assert_eq!((beside(&[900, 812, 1]), beside(&[813]).as_deref()), (None, Some("main")), "a server of the same host made it");
        assert!(ClaimsOfOthers::read(b"{", &me, Time::from_ms(0)).held("src/auth/jwt.rs").is_none());
    }
}
