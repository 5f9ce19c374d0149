//! Tracing: what a decision rests on, and what rests on it.

use std::collections::{BTreeSet, HashSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{DecisionStatus, Id, InvalidInput, limits};
use twining_store::View;

use crate::answer::fit_reply;
use crate::decisions::find;
use crate::failure::Failure;
use crate::input::DIRECTIONS;
use crate::words;

/// Which decision to trace.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceInput {
    /// Where to start
    pub decision_id: String,
    /// Default both
    #[schemars(extend("enum" = DIRECTIONS))]
    pub direction: Option<String>,
}

/// A decision in the chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceLink {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// What it rests on.
    pub depends_on: Vec<String>,
    /// What rests on it.
    pub dependents: Vec<Id>,
    /// Where it stands.
    pub status: DecisionStatus,
}

/// The chain of a decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceOutcome {
    /// The decision itself first, then by distance.
    pub chain: Vec<TraceLink>,
    /// Ids in the chain that lead nowhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether the chain goes on.
    pub truncated: bool,
    /// Whether it leads back to where it began, as only files made by hand can.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_loop: bool,
}

/// Follows the dependencies of a decision. A loop in hand-made files is walked once.
pub fn trace(view: &View<'_>, input: &TraceInput) -> Result<TraceOutcome, Failure> {
    let root = Id::parse("decision_id", input.decision_id.trim())?;
    let direction = input.direction.as_deref().map_or(Ok(TraceDirection::Both), direction)?;
    find(view, &root)?;

    let mut walk = TraceWalk { view, seen: HashSet::new(), chain: Vec::new(), missing: BTreeSet::new(), truncated: false, is_loop: false };
    if direction != TraceDirection::Downstream {
        walk.follow(&root, |link| link.depends_on.clone())?;
    }
    if direction != TraceDirection::Upstream {
        walk.follow(&root, |link| link.dependents.iter().map(Id::to_string).collect())?;
    }
    let (chain, cut) = fit_reply(walk.chain);
    Ok(TraceOutcome { chain, missing: walk.missing.into_iter().collect(), truncated: walk.truncated || cut, is_loop: walk.is_loop })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TraceDirection {
    Upstream,
    Downstream,
    Both,
}

fn direction(word: &str) -> Result<TraceDirection, InvalidInput> {
    let known = [("upstream", TraceDirection::Upstream), ("downstream", TraceDirection::Downstream), ("both", TraceDirection::Both)];
    words::one_of("direction", word.trim(), &known)
}

struct TraceWalk<'a, 'v> {
    view: &'a View<'v>,
    seen: HashSet<Id>,
    chain: Vec<TraceLink>,
    missing: BTreeSet<String>,
    truncated: bool,
    is_loop: bool,
}

impl TraceWalk<'_, '_> {
    /// Walks breadth first from the root along `next`. What an earlier walk has
    /// listed is not listed again, but is walked through.
    fn follow(&mut self, root: &Id, next: impl Fn(&TraceLink) -> Vec<String>) -> Result<(), Failure> {
        let mut walked: HashSet<Id> = HashSet::from([root.clone()]);
        let mut queue = VecDeque::from([root.clone()]);
        while let Some(id) = queue.pop_front() {
            if self.chain.len() >= limits::WALK_NODES {
                self.truncated = true;
                break;
            }
            let Some(link) = self.link(&id)? else { continue };
            for name in next(&link) {
                match Id::read(&name) {
                    Some(id) if walked.insert(id.clone()) => queue.push_back(id),
                    Some(known) => self.is_loop |= known == *root,
                    None => {
                        self.missing.insert(name);
                    }
                }
            }
            if self.seen.insert(id) {
                self.chain.push(link);
            }
        }
        Ok(())
    }

    fn link(&mut self, id: &Id) -> Result<Option<TraceLink>, Failure> {
        let Some(decision) = self.view.decisions().get(id)? else {
            self.missing.insert(id.to_string());
            return Ok(None);
        };
        let mut dependents = self.view.decisions().dependents(id)?;
        if dependents.len() > limits::WALK_NODES {
            dependents.truncate(limits::WALK_NODES);
            self.truncated = true;
        }
        let (summary, depends_on) = (decision.summary, decision.depends_on);
        Ok(Some(TraceLink { id: id.clone(), summary, depends_on, dependents, status: decision.status }))
    }
}
