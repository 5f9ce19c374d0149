//! A three-way merge by meaning: nodes, edges and attributes, not lines.
//!
//! Whatever one side alone changed is taken. Where both changed the same attribute a
//! [`Policy`] decides. Something removed on one side goes, unless the other side
//! changed it: then it stands and is told. What defaults give counts as if it were
//! written: a default is a way of writing, and the sides may have different ones. The
//! result is ours with splices, so its layout is ours; comments are merged as the rest is.

mod comments;
mod edges;
mod groups;
mod leaving;
mod meant;
mod policy;
mod side;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::document::Document;
use crate::edit::{EditError, NewStatement, Plan, Sites, carry_out};
use crate::graph::{Attributes, Origin};
use crate::id::Id;
use crate::span::Problem;
use crate::syntax::Target;

use groups::Verbatim;
use meant::Meant;
pub use policy::{AlwaysClash, Clash, ClashKind, Policy, Settle, Subject};
use side::{Identity, Own, Side, all};

/// What came of a merge.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The file: always valid DOT.
    pub text: Vec<u8>,
    /// What people should look at, in order; empty if there is nothing.
    pub clashes: Vec<Clash>,
}

/// Why there is no merge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A side must be right before it is merged.
    #[error("{side} has an error at {line}:{column}: {message}", line = .problem.line, column = .problem.column, message = .problem.message)]
    Broken {
        /// `ours` or `theirs`.
        side: &'static str,
        /// The first error.
        problem: Problem,
    },
    /// One is a `graph`, the other a `digraph`.
    #[error("ours and theirs are not of one kind: one is a `graph`, the other a `digraph`")]
    TwoKinds,
    /// The result cannot be written.
    #[error("the merge cannot be written")]
    Unwritable(#[from] EditError),
}

/// Merges what `ours` and `theirs` made of `base`.
///
/// A base that is empty or wrong counts for what can be read of it: what it lacks was
/// then added by both.
///
/// # Errors
/// A side is not valid DOT, or the two are not of one kind.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8], policy: &(impl Policy + ?Sized)) -> Result<Merged, MergeError> {
    let ours = read("ours", ours)?;
    let theirs = read("theirs", theirs)?;
    let unclashed = |document: Document| Ok(Merged { text: document.into_bytes(), clashes: Vec::new() });
    if base == theirs.bytes() || ours.bytes() == theirs.bytes() {
        return unclashed(ours);
    }
    if base == ours.bytes() {
        return unclashed(theirs);
    }
    by_meaning(&Document::parse(base), &ours, &theirs, policy)
}

fn read(side: &'static str, source: &[u8]) -> Result<Document, MergeError> {
    let document = Document::parse(source);
    match document.errors().first() {
        Some(problem) => Err(MergeError::Broken { side, problem: problem.clone() }),
        None => Ok(document),
    }
}

fn by_meaning(base: &Document, ours: &Document, theirs: &Document, policy: &(impl Policy + ?Sized)) -> Result<Merged, MergeError> {
    if ours.graph().is_directed() != theirs.graph().is_directed() {
        return Err(MergeError::TwoKinds);
    }
    let with = attempt(base, ours, theirs, policy, Defaults::Merged)?;
    // A default of theirs that reaches what it was not meant for may ask for more corrections than it saves.
    let chosen = if with.blanked == 0 { with } else { fewer(with, attempt(base, ours, theirs, policy, Defaults::Ours)?) };
    let text = comments::carried(base, ours, theirs, chosen.text);
    let mut clashes = chosen.clashes;
    clashes.sort();
    Ok(Merged { text, clashes })
}

/// Which defaults of nodes and edges the result has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Defaults {
    Merged,
    Ours,
}

/// A result, and what it took to make it right.
struct Attempt {
    text: Vec<u8>,
    clashes: Vec<Clash>,
    /// Values that had to be written out because no default gives them.
    written: usize,
    /// Those of them that only keep a default away.
    blanked: usize,
}

/// The one with less to put right; if that is the same, the one that carries defaults over.
fn fewer(with: Attempt, without: Attempt) -> Attempt {
    if (without.clashes.len(), without.written) < (with.clashes.len(), with.written) { without } else { with }
}

fn attempt(
    base: &Document,
    ours: &Document,
    theirs: &Document,
    policy: &(impl Policy + ?Sized),
    defaults: Defaults,
) -> Result<Attempt, MergeError> {
    let strict = ours.graph().is_strict() || theirs.graph().is_strict();
    let identity = Identity { strict, attributes: policy.edge_identity() };
    let base = Side::of(base, identity, None);
    let ours_side = Side::of(ours, identity, Some(&base));
    let theirs_side = Side::of(theirs, identity, Some(&base));
    let mut merger = Merger {
        base,
        ours: ours_side,
        theirs: theirs_side,
        plan: Plan::new(ours)?,
        policy,
        clashes: Vec::new(),
        verbatim: Verbatim::of(theirs, ours),
        their_sites: Sites::of(theirs),
        housed: HashMap::new(),
        meant: Meant::default(),
    };
    merger.header();
    merger.bodies(defaults);
    let joined = merger.edges()?;
    let fresh = merger.nodes(&joined)?;
    merger.groups(fresh);
    let text = carry_out(&merger.plan)?;
    let mut clashes = merger.clashes;
    let meant::Written { text, values, blanks, amiss } = merger.meant.written_out(text)?;
    clashes.extend(amiss);
    Ok(Attempt { text, clashes, written: values, blanked: blanks })
}

/// What to do to one attribute of ours.
enum Verdict {
    Keep,
    Set(Id),
    Unset,
}

struct Merger<'a, P: ?Sized> {
    base: Side<'a>,
    ours: Side<'a>,
    theirs: Side<'a>,
    plan: Plan<'a>,
    policy: &'a P,
    clashes: Vec<Clash>,
    verbatim: Option<Verbatim<'a>>,
    their_sites: Sites<'a>,
    /// New edges that stand in a subgraph, by the names from the outermost to its own.
    housed: HashMap<Vec<Id>, Vec<NewStatement>>,
    /// What everything in the result is to mean.
    meant: Meant,
}

impl<'a, P: Policy + ?Sized> Merger<'a, P> {
    fn clash(&mut self, subject: Subject, kind: ClashKind) {
        self.clashes.push(Clash { subject, kind });
    }

    /// The first line of the file is ours; a change there is rare and told.
    fn header(&mut self) {
        let (base, ours, theirs) = (self.base.document.graph(), self.ours.document.graph(), self.theirs.document.graph());
        if theirs.name() != ours.name() && theirs.name() != base.name() {
            let name = theirs.name().map_or_else(|| "nothing".to_owned(), Id::to_string);
            self.clash(Subject::Graph, ClashKind::NotCarriedOver(format!("theirs names it {name}")));
        }
        let more = self.theirs.document.more_graphs();
        if more > self.ours.document.more_graphs().max(self.base.document.more_graphs()) {
            self.clash(Subject::Graph, ClashKind::NotCarriedOver("theirs has another graph behind it".to_owned()));
        }
        if theirs.is_strict() != ours.is_strict() && theirs.is_strict() != base.is_strict() {
            let what = if theirs.is_strict() { "theirs made it strict" } else { "theirs made it not strict" };
            self.clash(Subject::Graph, ClashKind::NotCarriedOver(what.to_owned()));
        }
    }

    /// Attributes of the graph and its defaults.
    fn bodies(&mut self, carry: Defaults) {
        let of = |side: &Side<'a>| side.document.graph();
        let (base, ours, theirs) = (of(&self.base), of(&self.ours), of(&self.theirs));
        self.body(&Subject::Graph, Target::Graph, 0, [base.attributes(), ours.attributes(), theirs.attributes()]);
        for (target, defaults) in [
            (Target::Node, [base.node_defaults(), ours.node_defaults(), theirs.node_defaults()]),
            (Target::Edge, [base.edge_defaults(), ours.edge_defaults(), theirs.edge_defaults()]),
        ] {
            let subject = Subject::Defaults(target);
            match carry {
                Defaults::Merged => self.body(&subject, target, 0, defaults),
                Defaults::Ours => {
                    let [base, ours, theirs] = defaults.map(all);
                    self.compared(&subject, &base, &ours, &theirs);
                }
            }
        }
    }

    fn body(&mut self, subject: &Subject, target: Target, body: usize, [base, ours, theirs]: [&Attributes; 3]) {
        for (name, verdict) in self.compared(subject, &all(base), &all(ours), &all(theirs)) {
            match verdict {
                Verdict::Keep => {}
                Verdict::Set(value) => {
                    let span = ours.get(&name).map(|attribute| attribute.span());
                    self.plan.set_body_attr(target, body, span, &name, &value);
                }
                Verdict::Unset => self.plan.remove_body_attr(target, body, &name),
            }
        }
    }

    /// Compares attributes three ways; what clashes is told here.
    fn compared(&mut self, subject: &Subject, base: &Own, ours: &Own, theirs: &Own) -> Vec<(Arc<str>, Verdict)> {
        if ours == theirs || base == theirs {
            return Vec::new();
        }
        let names: BTreeSet<&Arc<str>> = ours.names().chain(theirs.names()).collect();
        let mut verdicts = Vec::new();
        for name in names {
            let (base, ours, theirs) = (base.get(name), ours.get(name), theirs.get(name));
            let verdict = if ours == theirs || base == theirs {
                Verdict::Keep
            } else if base == ours {
                theirs.map_or(Verdict::Unset, |value| Verdict::Set(value.clone()))
            } else {
                self.contested(subject, name, base, ours, theirs)
            };
            verdicts.push((Arc::clone(name), verdict));
        }
        verdicts
    }

    fn contested(&mut self, subject: &Subject, name: &str, base: Option<&Id>, ours: Option<&Id>, theirs: Option<&Id>) -> Verdict {
        let settled = match (ours, theirs) {
            (Some(ours), Some(theirs)) => self.policy.settle(subject, name, base, ours, theirs),
            // Taken away on one side, changed on the other: what is there stands.
            (None, Some(value)) | (Some(value), None) => Settle::Both(value.clone()),
            (None, None) => return Verdict::Keep,
        };
        let (kept, told) = match (settled, ours) {
            (Settle::Take(value), _) => (value, false),
            (Settle::Both(value), _) => (value, true),
            (Settle::Clash, Some(ours)) => (ours.clone(), true),
            (Settle::Clash, None) => return Verdict::Keep,
        };
        if told {
            let (name, base, ours, theirs) = (name.to_owned(), base.cloned(), ours.cloned(), theirs.cloned());
            let kind = ClashKind::Attribute { name, base, ours, theirs, kept: kept.clone() };
            // What the sides say of a default they say of everything that has it: once is enough.
            if !self.clashes.iter().any(|known| known.kind == kind && defaults_of(subject) == Some(&known.subject)) {
                self.clash(subject.clone(), kind);
            }
        }
        if ours == Some(&kept) { Verdict::Keep } else { Verdict::Set(kept) }
    }

    /// Settles the nodes; returns those of theirs that ours is to get, in their order.
    fn nodes(&mut self, joined: &HashSet<Id>) -> Result<Vec<&'a Id>, MergeError> {
        let ours: &'a Document = self.ours.document;
        let theirs: &'a Document = self.theirs.document;
        for node in ours.graph().nodes() {
            let id = node.id();
            let mut meant = all(node.attributes());
            match (self.base.nodes.get(id).cloned(), theirs.graph().node(id)) {
                (base, Some(other)) => {
                    let subject = Subject::Node(id.clone());
                    let verdicts = self.compared(&subject, &base.unwrap_or_default(), &meant, &all(other.attributes()));
                    for (name, verdict) in verdicts {
                        match by_statement(&name, &verdict, node.attributes(), other.attributes()) {
                            Verdict::Keep => {}
                            Verdict::Set(value) => self.plan.set_node_attr(id, &name, &value)?,
                            Verdict::Unset => self.plan.remove_node_attr(id, &name)?,
                        }
                        meant.apply(&name, verdict);
                    }
                }
                (Some(base), None) if base == meant && !joined.contains(id) => {
                    self.plan.remove_node(id);
                    continue;
                }
                (Some(_), None) => self.clash(Subject::Node(id.clone()), ClashKind::RemovedByTheirs),
                (None, None) => {}
            }
            self.meant.nodes.push((id.clone(), meant));
        }
        let mut fresh = Vec::new();
        for node in theirs.graph().nodes() {
            let id = node.id();
            if self.ours.nodes.contains_key(id) {
                continue;
            }
            let meant = all(node.attributes());
            if let Some(base) = self.base.nodes.get(id) {
                if *base == meant && !joined.contains(id) {
                    continue;
                }
                self.clash(Subject::Node(id.clone()), ClashKind::RemovedByOurs);
            }
            self.meant.nodes.push((id.clone(), meant));
            // One that nobody declares comes with its edge.
            let comes_along = joined.contains(id) && !self.their_sites.declares(id);
            if !comes_along {
                fresh.push(id);
            }
        }
        Ok(fresh)
    }
}

/// The defaults that something may have its attributes from.
fn defaults_of(subject: &Subject) -> Option<&'static Subject> {
    match subject {
        Subject::Node(_) => Some(&Subject::Defaults(Target::Node)),
        Subject::Edge { .. } => Some(&Subject::Defaults(Target::Edge)),
        Subject::Graph | Subject::Defaults(_) | Subject::Subgraph(_) => None,
    }
}

/// What a verdict asks of the statement itself: where a default gave the value to ours,
/// and gives it to theirs, the merged defaults come first, and what they leave wrong is
/// written out afterwards.
fn by_statement(name: &str, verdict: &Verdict, ours: &Attributes, theirs: &Attributes) -> Verdict {
    let is_own = |attributes: &Attributes| attributes.get(name).is_some_and(|attribute| attribute.origin() == Origin::Own);
    let given = theirs.get(name).filter(|attribute| attribute.origin() == Origin::Default);
    match verdict {
        Verdict::Set(value) if given.is_some_and(|given| given.value() == value) => {
            if is_own(ours) {
                Verdict::Unset
            } else {
                Verdict::Keep
            }
        }
        Verdict::Set(value) => Verdict::Set(value.clone()),
        Verdict::Unset if is_own(ours) => Verdict::Unset,
        Verdict::Unset | Verdict::Keep => Verdict::Keep,
    }
}

/// Own attributes in the order in which they are written.
fn in_order(attributes: &Attributes) -> Vec<(String, Id)> {
    let mut own: Vec<_> = attributes.own().collect();
    own.sort_by_key(|attribute| attribute.span());
    own.into_iter().map(|attribute| (attribute.name().to_owned(), attribute.value().clone())).collect()
}

/// What theirs has and where it is to stand in ours.
type Placed<'a> = HashMap<Vec<Id>, Vec<&'a Id>>;
