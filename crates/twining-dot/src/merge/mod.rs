//! A three-way merge by meaning: nodes, edges and attributes, not lines.
//!
//! Whatever one side alone changed is taken. Where both changed the same attribute a
//! [`Policy`] decides. Something removed on one side goes, unless the other side
//! changed it: then it stands and is told. The result is ours with splices, so its
//! layout is ours; comments are merged as the rest is.

mod comments;
mod groups;
mod leaving;
mod policy;
mod side;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::document::{Document, syntax_errors};
use crate::edit::{EditError, Plan, carry_out};
use crate::graph::{Attributes, Edge};
use crate::id::Id;
use crate::span::Problem;
use crate::syntax::Target;

use groups::Verbatim;
pub use policy::{AlwaysClash, Clash, ClashKind, Policy, Settle, Subject};
use side::{EdgeName, Identity, Own, Side, own};

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
    };
    merger.header();
    merger.bodies();
    let joined = merger.edges()?;
    let fresh = merger.nodes(&joined)?;
    merger.groups(fresh);
    let text = carry_out(&merger.plan)?;
    if let Some(problem) = syntax_errors(&text).into_iter().next() {
        return Err(EditError::WouldBreak(problem).into());
    }
    let text = comments::carried(merger.base.document, ours, theirs, text);
    let mut clashes = merger.clashes;
    clashes.sort();
    Ok(Merged { text, clashes })
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
    fn bodies(&mut self) {
        let of = |side: &Side<'a>| side.document.graph();
        let (base, ours, theirs) = (of(&self.base), of(&self.ours), of(&self.theirs));
        self.body(&Subject::Graph, Target::Graph, 0, [base.attributes(), ours.attributes(), theirs.attributes()]);
        let defaults = [base.node_defaults(), ours.node_defaults(), theirs.node_defaults()];
        self.body(&Subject::Defaults(Target::Node), Target::Node, 0, defaults);
        let defaults = [base.edge_defaults(), ours.edge_defaults(), theirs.edge_defaults()];
        self.body(&Subject::Defaults(Target::Edge), Target::Edge, 0, defaults);
    }

    fn body(&mut self, subject: &Subject, target: Target, body: usize, [base, ours, theirs]: [&Attributes; 3]) {
        let all = |attributes: &Attributes| Own::of(attributes.iter());
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
            self.clash(subject.clone(), ClashKind::Attribute { name, base, ours, theirs, kept: kept.clone() });
        }
        if ours == Some(&kept) { Verdict::Keep } else { Verdict::Set(kept) }
    }

    /// Settles the edges and tells which nodes they need.
    fn edges(&mut self) -> Result<HashSet<Id>, MergeError> {
        let mut joined: HashSet<Id> = HashSet::new();
        let mut join = |edge: &Edge| {
            joined.insert(edge.from.clone());
            joined.insert(edge.to.clone());
        };
        for index in 0..self.ours.edges.len() {
            let (name, edge, attributes) = self.ours.edges[index].clone();
            let base = self.base.edge(&name).map(|(.., attributes)| attributes.clone());
            let theirs = self.theirs.edge(&name).map(|(.., attributes)| attributes.clone());
            let subject = self.edge_subject(&name);
            match (base, theirs) {
                (base, Some(theirs)) => {
                    let verdicts = self.compared(&subject, &base.unwrap_or_default(), &attributes, &theirs);
                    if self.moved(&name, edge, &subject) {
                        self.move_edge(&name, edge, verdicts);
                    } else {
                        for (name, verdict) in verdicts {
                            match verdict {
                                Verdict::Keep => {}
                                Verdict::Set(value) => self.plan.set_edge_attr(edge, &name, &value),
                                Verdict::Unset => self.plan.remove_edge_attr(edge, &name)?,
                            }
                        }
                    }
                }
                (Some(base), None) if base == attributes => {
                    self.plan.remove_edge(edge);
                    continue;
                }
                (Some(_), None) => self.clash(subject, ClashKind::RemovedByTheirs),
                (None, None) => {}
            }
            join(edge);
        }
        for index in 0..self.theirs.edges.len() {
            let (name, edge, attributes) = self.theirs.edges[index].clone();
            if self.ours.edge_index.contains_key(&name) {
                continue;
            }
            match self.base.edge(&name) {
                Some((.., base)) if *base == attributes => continue,
                Some(_) => {
                    let subject = self.edge_subject(&name);
                    self.clash(subject, ClashKind::RemovedByOurs);
                }
                None => {}
            }
            let attributes = in_order(edge.attributes());
            let from = (edge.from.clone(), edge.from_port.clone());
            let to = (edge.to.clone(), edge.to_port.clone());
            self.plan.add_edge(from, to, attributes, 0);
            join(edge);
        }
        Ok(joined)
    }

    /// Whether theirs moved an edge to other ports, which only edges that are told by their ends can be.
    fn moved(&mut self, name: &EdgeName, ours: &Edge, subject: &Subject) -> bool {
        let ports = |edge: &Edge| (edge.from_port.clone(), edge.to_port.clone());
        let Some(theirs) = self.theirs.edge(name).map(|(_, edge, _)| ports(edge)) else { return false };
        let base = self.base.edge(name).map_or((None, None), |(_, edge, _)| ports(edge));
        let ours = ports(ours);
        if theirs == ours || theirs == base {
            return false;
        }
        if ours != base {
            self.clash(subject.clone(), ClashKind::NotCarriedOver("its ports differ in theirs".to_owned()));
        }
        ours == base
    }

    /// Ports are part of the mention, so a moved edge is written anew.
    fn move_edge(&mut self, name: &EdgeName, ours: &Edge, verdicts: Vec<(Arc<str>, Verdict)>) {
        let Some(theirs) = self.theirs.edge(name).map(|(_, edge, _)| *edge) else { return };
        let mut attributes = in_order(ours.attributes());
        for (name, verdict) in verdicts {
            match verdict {
                Verdict::Keep => {}
                Verdict::Unset => attributes.retain(|(known, _)| **known != *name),
                Verdict::Set(value) => match attributes.iter_mut().find(|(known, _)| **known == *name) {
                    Some((_, known)) => *known = value,
                    None => attributes.push((name.to_string(), value)),
                },
            }
        }
        self.plan.remove_edge(ours);
        self.plan.add_edge((theirs.from.clone(), theirs.from_port.clone()), (theirs.to.clone(), theirs.to_port.clone()), attributes, 0);
    }

    fn edge_subject(&self, name: &EdgeName) -> Subject {
        let told = self.policy.edge_identity().iter().zip(&name.identity);
        let identity = told.filter_map(|(attribute, value)| Some(((*attribute).to_owned(), value.clone()?))).collect();
        Subject::Edge { from: name.from.0.clone(), to: name.to.0.clone(), identity }
    }

    /// Settles the nodes; returns those of theirs that ours is to get, in their order.
    fn nodes(&mut self, joined: &HashSet<Id>) -> Result<Vec<&'a Id>, MergeError> {
        let ours: &'a Document = self.ours.document;
        for node in ours.graph().nodes() {
            let id = node.id();
            let attributes = own(node.attributes());
            match (self.base.nodes.get(id).cloned(), self.theirs.nodes.get(id).cloned()) {
                (base, Some(theirs)) => {
                    let subject = Subject::Node(id.clone());
                    for (name, verdict) in self.compared(&subject, &base.unwrap_or_default(), &attributes, &theirs) {
                        match verdict {
                            Verdict::Keep => {}
                            Verdict::Set(value) => self.plan.set_node_attr(id, &name, &value)?,
                            Verdict::Unset => self.plan.remove_node_attr(id, &name)?,
                        }
                    }
                }
                (Some(base), None) if base == attributes && !joined.contains(id) => self.plan.remove_node(id),
                (Some(_), None) => self.clash(Subject::Node(id.clone()), ClashKind::RemovedByTheirs),
                (None, None) => {}
            }
        }
        let theirs: &'a Document = self.theirs.document;
        let mut fresh = Vec::new();
        for node in theirs.graph().nodes() {
            let id = node.id();
            if self.ours.nodes.contains_key(id) {
                continue;
            }
            if let Some(base) = self.base.nodes.get(id) {
                if *base == own(node.attributes()) && !joined.contains(id) {
                    continue;
                }
                self.clash(Subject::Node(id.clone()), ClashKind::RemovedByOurs);
            }
            fresh.push(id);
        }
        Ok(fresh)
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
