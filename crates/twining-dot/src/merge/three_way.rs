//! Three-way merge by meaning: nodes, edges and attributes, not lines.
//!
//! A change made by only one side is taken. Where both changed the same attribute, a [`Policy`]
//! decides. Something removed on one side is removed unless the other side changed it: then it is
//! kept and reported. Values from defaults count as if written out: a default is a notation, and
//! the sides may have different ones. The result is ours with splices, so it keeps our layout;
//! comments are merged likewise.

use super::policy::{DotClash, DotClashKind, DotMergePolicy, Resolution, Subject};

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostics::Diagnostic;
use crate::document::DotDocument;
use crate::edit::{EditError, EditPlan, NewStatement, StatementIndex, carry_out};
use crate::graph::{AttributeOrigin, Attributes};
use crate::id::DotId;
use crate::syntax::Target;

use super::reconcile_defaults::IntendedGraph;
use super::side::{EdgeIdentity, MergeSide, OwnAttributes, all};
use super::subgraphs::SourceCopier;

/// What came of a merge.
#[derive(Clone, Debug)]
pub struct MergedDot {
    /// The file: always valid DOT.
    pub text: Vec<u8>,
    /// What people should look at, in order; empty if there is nothing.
    pub clashes: Vec<DotClash>,
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
        problem: Diagnostic,
    },
    /// One is a `graph`, the other a `digraph`.
    #[error("ours and theirs are different graph types: one is a `graph`, the other a `digraph`")]
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
pub fn merge(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    policy: &(impl DotMergePolicy + ?Sized),
) -> Result<MergedDot, MergeError> {
    let ours = read("ours", ours)?;
    let theirs = read("theirs", theirs)?;
    let unclashed =
        |document: DotDocument| Ok(MergedDot { text: document.into_bytes(), clashes: Vec::new() });
    if base == theirs.bytes() || ours.bytes() == theirs.bytes() {
        return unclashed(ours);
    }
    if base == ours.bytes() {
        return unclashed(theirs);
    }
    by_meaning(&DotDocument::parse(base), &ours, &theirs, policy)
}

pub(super) fn read(side: &'static str, source: &[u8]) -> Result<DotDocument, MergeError> {
    let document = DotDocument::parse(source);
    match document.errors.first() {
        Some(problem) => Err(MergeError::Broken { side, problem: problem.clone() }),
        None => Ok(document),
    }
}

pub(super) fn by_meaning(
    base: &DotDocument,
    ours: &DotDocument,
    theirs: &DotDocument,
    policy: &(impl DotMergePolicy + ?Sized),
) -> Result<MergedDot, MergeError> {
    if ours.graph().directed != theirs.graph().directed {
        return Err(MergeError::TwoKinds);
    }
    let with = attempt(base, ours, theirs, policy, DefaultsFrom::MergedDot)?;
    // A default of theirs that reaches what it was not meant for may ask for more corrections than it saves.
    let chosen = if with.blanked == 0 {
        with
    } else {
        fewer(with, attempt(base, ours, theirs, policy, DefaultsFrom::Ours)?)
    };
    let text = super::comments::merge_comments(base, ours, theirs, chosen.text);
    let mut clashes = chosen.clashes;
    clashes.sort();
    Ok(MergedDot { text, clashes })
}

/// Which defaults of nodes and edges the result has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultsFrom {
    MergedDot,
    Ours,
}

/// A result, and what it took to make it right.
pub(super) struct MergeAttempt {
    text: Vec<u8>,
    clashes: Vec<DotClash>,
    /// Values that had to be written out because no default gives them.
    written: usize,
    /// Those of them that only keep a default away.
    blanked: usize,
}

/// The one with less to put right; if that is the same, the one that carries defaults over.
pub(super) fn fewer(with: MergeAttempt, without: MergeAttempt) -> MergeAttempt {
    if (without.clashes.len(), without.written) < (with.clashes.len(), with.written) {
        without
    } else {
        with
    }
}

pub(super) fn attempt(
    base: &DotDocument,
    ours: &DotDocument,
    theirs: &DotDocument,
    policy: &(impl DotMergePolicy + ?Sized),
    defaults: DefaultsFrom,
) -> Result<MergeAttempt, MergeError> {
    let strict = ours.graph().strict || theirs.graph().strict;
    let identity = EdgeIdentity { strict, attributes: policy.edge_identity() };
    let base = MergeSide::of(base, identity, None);
    let ours_side = MergeSide::of(ours, identity, Some(&base));
    let theirs_side = MergeSide::of(theirs, identity, Some(&base));
    let mut merger = Merger {
        base,
        ours: ours_side,
        theirs: theirs_side,
        plan: EditPlan::new(ours)?,
        policy,
        clashes: Vec::new(),
        verbatim: SourceCopier::of(theirs, ours),
        their_sites: StatementIndex::of(theirs),
        housed: HashMap::new(),
        intended: IntendedGraph::default(),
    };
    merger.header();
    merger.bodies(defaults);
    let joined = merger.edges()?;
    let fresh = merger.nodes(&joined)?;
    merger.groups(fresh);
    let text = carry_out(&merger.plan)?;
    let mut clashes = merger.clashes;
    let super::reconcile_defaults::CorrectedText { text, values, blanked, mismatches } =
        merger.intended.corrected(text)?;
    clashes.extend(mismatches);
    Ok(MergeAttempt { text, clashes, written: values, blanked })
}

/// What to do to one attribute of ours.
pub(super) enum AttributeAction {
    Keep,
    Set(DotId),
    Unset,
}

pub(super) struct Merger<'a, P: ?Sized> {
    pub(super) base: MergeSide<'a>,
    pub(super) ours: MergeSide<'a>,
    pub(super) theirs: MergeSide<'a>,
    pub(super) plan: EditPlan<'a>,
    pub(super) policy: &'a P,
    clashes: Vec<DotClash>,
    pub(super) verbatim: Option<SourceCopier<'a>>,
    pub(super) their_sites: StatementIndex<'a>,
    /// New edges inside a subgraph, keyed by its path of names from the outermost.
    pub(super) housed: HashMap<Vec<DotId>, Vec<NewStatement>>,
    /// What everything in the result is to mean.
    pub(super) intended: IntendedGraph,
}

impl<'a, P: DotMergePolicy + ?Sized> Merger<'a, P> {
    pub(super) fn clash(&mut self, subject: Subject, kind: DotClashKind) {
        self.clashes.push(DotClash { subject, kind });
    }

    /// Keeps our first line; a change in theirs is rare and reported.
    fn header(&mut self) {
        let (base, ours, theirs) =
            (self.base.document.graph(), self.ours.document.graph(), self.theirs.document.graph());
        if theirs.name != ours.name && theirs.name != base.name {
            let name = theirs.name.as_ref().map_or_else(|| "nothing".to_owned(), DotId::to_string);
            self.clash(
                Subject::Graph,
                DotClashKind::NotCarriedOver(format!("theirs names it {name}")),
            );
        }
        let more = self.theirs.document.more_graphs;
        if more > self.ours.document.more_graphs.max(self.base.document.more_graphs) {
            self.clash(
                Subject::Graph,
                DotClashKind::NotCarriedOver("theirs has a second graph after it".to_owned()),
            );
        }
        if theirs.strict != ours.strict && theirs.strict != base.strict {
            let what =
                if theirs.strict { "theirs made it strict" } else { "theirs made it not strict" };
            self.clash(Subject::Graph, DotClashKind::NotCarriedOver(what.to_owned()));
        }
    }

    /// Attributes of the graph and its defaults.
    fn bodies(&mut self, carry: DefaultsFrom) {
        let of = |side: &MergeSide<'a>| side.document.graph();
        let (base, ours, theirs) = (of(&self.base), of(&self.ours), of(&self.theirs));
        self.body(
            &Subject::Graph,
            Target::Graph,
            0,
            [&base.attributes, &ours.attributes, &theirs.attributes],
        );
        for (target, defaults) in [
            (Target::Node, [&base.node_defaults, &ours.node_defaults, &theirs.node_defaults]),
            (Target::Edge, [&base.edge_defaults, &ours.edge_defaults, &theirs.edge_defaults]),
        ] {
            let subject = Subject::Defaults(target);
            match carry {
                DefaultsFrom::MergedDot => self.body(&subject, target, 0, defaults),
                DefaultsFrom::Ours => {
                    let [base, ours, theirs] = defaults.map(all);
                    self.compared(&subject, &base, &ours, &theirs);
                }
            }
        }
    }

    pub(super) fn body(
        &mut self,
        subject: &Subject,
        target: Target,
        body: usize,
        [base, ours, theirs]: [&Attributes; 3],
    ) {
        for (name, verdict) in self.compared(subject, &all(base), &all(ours), &all(theirs)) {
            match verdict {
                AttributeAction::Keep => {}
                AttributeAction::Set(value) => {
                    let span = ours.get(&name).map(|attribute| attribute.span);
                    self.plan.set_body_attr(target, body, span, &name, &value);
                }
                AttributeAction::Unset => self.plan.remove_body_attr(target, body, &name),
            }
        }
    }

    /// Compares attributes three ways and reports clashes.
    pub(super) fn compared(
        &mut self,
        subject: &Subject,
        base: &OwnAttributes,
        ours: &OwnAttributes,
        theirs: &OwnAttributes,
    ) -> Vec<(Arc<str>, AttributeAction)> {
        if ours == theirs || base == theirs {
            return Vec::new();
        }
        let names: BTreeSet<&Arc<str>> = ours.names().chain(theirs.names()).collect();
        let mut verdicts = Vec::new();
        for name in names {
            let (base, ours, theirs) = (base.get(name), ours.get(name), theirs.get(name));
            let verdict = if ours == theirs || base == theirs {
                AttributeAction::Keep
            } else if base == ours {
                theirs.map_or(AttributeAction::Unset, |value| AttributeAction::Set(value.clone()))
            } else {
                self.contested(subject, name, base, ours, theirs)
            };
            verdicts.push((Arc::clone(name), verdict));
        }
        verdicts
    }

    fn contested(
        &mut self,
        subject: &Subject,
        name: &str,
        base: Option<&DotId>,
        ours: Option<&DotId>,
        theirs: Option<&DotId>,
    ) -> AttributeAction {
        let settled = match (ours, theirs) {
            (Some(ours), Some(theirs)) => self.policy.settle(subject, name, base, ours, theirs),
            // Removed on one side, changed on the other: keep the value.
            (None, Some(value)) | (Some(value), None) => Resolution::Both(value.clone()),
            (None, None) => return AttributeAction::Keep,
        };
        let (kept, is_clash) = match (settled, ours) {
            (Resolution::Take(value), _) => (value, false),
            (Resolution::Both(value), _) => (value, true),
            (Resolution::DotClash, Some(ours)) => (ours.clone(), true),
            (Resolution::DotClash, None) => return AttributeAction::Keep,
        };
        if is_clash {
            let (name, base, ours, theirs) =
                (name.to_owned(), base.cloned(), ours.cloned(), theirs.cloned());
            let kind = DotClashKind::Attribute { name, base, ours, theirs, kept: kept.clone() };
            // What the sides say of a default they say of everything that has it: once is enough.
            if !self
                .clashes
                .iter()
                .any(|known| known.kind == kind && defaults_of(subject) == Some(&known.subject))
            {
                self.clash(subject.clone(), kind);
            }
        }
        if ours == Some(&kept) { AttributeAction::Keep } else { AttributeAction::Set(kept) }
    }

    /// Settles the nodes; returns those of theirs that ours is to get, in their order.
    fn nodes(&mut self, joined: &HashSet<DotId>) -> Result<Vec<&'a DotId>, MergeError> {
        let ours: &'a DotDocument = self.ours.document;
        let theirs: &'a DotDocument = self.theirs.document;
        for node in &ours.graph().nodes {
            let id = &node.id;
            let mut intended = all(&node.attributes);
            match (self.base.nodes.get(id).cloned(), theirs.graph().node(id)) {
                (base, Some(other)) => {
                    let subject = Subject::Node(id.clone());
                    let verdicts = self.compared(
                        &subject,
                        &base.unwrap_or_default(),
                        &intended,
                        &all(&other.attributes),
                    );
                    for (name, verdict) in verdicts {
                        match by_statement(&name, &verdict, &node.attributes, &other.attributes) {
                            AttributeAction::Keep => {}
                            AttributeAction::Set(value) => {
                                self.plan.set_node_attr(id, &name, &value)?;
                            }
                            AttributeAction::Unset => self.plan.remove_node_attr(id, &name)?,
                        }
                        intended.apply(&name, verdict);
                    }
                }
                (Some(base), None) if base == intended && !joined.contains(id) => {
                    self.plan.remove_node(id);
                    continue;
                }
                (Some(_), None) => {
                    self.clash(Subject::Node(id.clone()), DotClashKind::RemovedByTheirs);
                }
                (None, None) => {}
            }
            self.intended.nodes.push((id.clone(), intended));
        }
        let mut fresh = Vec::new();
        for node in &theirs.graph().nodes {
            let id = &node.id;
            if self.ours.nodes.contains_key(id) {
                continue;
            }
            let intended = all(&node.attributes);
            if let Some(base) = self.base.nodes.get(id) {
                if *base == intended && !joined.contains(id) {
                    continue;
                }
                self.clash(Subject::Node(id.clone()), DotClashKind::RemovedByOurs);
            }
            self.intended.nodes.push((id.clone(), intended));
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
pub(super) fn defaults_of(subject: &Subject) -> Option<&'static Subject> {
    match subject {
        Subject::Node(_) => Some(&Subject::Defaults(Target::Node)),
        Subject::Edge { .. } => Some(&Subject::Defaults(Target::Edge)),
        Subject::Graph | Subject::Defaults(_) | Subject::Subgraph(_) => None,
    }
}

/// What a verdict asks of the statement itself: where a default gave the value to ours,
/// and gives it to theirs, the merged defaults come first, and what they leave wrong is
/// written out afterwards.
pub(super) fn by_statement(
    name: &str,
    verdict: &AttributeAction,
    ours: &Attributes,
    theirs: &Attributes,
) -> AttributeAction {
    let is_own = |attributes: &Attributes| {
        attributes.get(name).is_some_and(|attribute| attribute.origin == AttributeOrigin::Own)
    };
    let given = theirs.get(name).filter(|attribute| attribute.origin == AttributeOrigin::Default);
    match verdict {
        AttributeAction::Set(value) if given.is_some_and(|given| &given.value == value) => {
            if is_own(ours) { AttributeAction::Unset } else { AttributeAction::Keep }
        }
        AttributeAction::Set(value) => AttributeAction::Set(value.clone()),
        AttributeAction::Unset if is_own(ours) => AttributeAction::Unset,
        AttributeAction::Unset | AttributeAction::Keep => AttributeAction::Keep,
    }
}

/// Own attributes in the order in which they are written.
pub(super) fn in_order(attributes: &Attributes) -> Vec<(String, DotId)> {
    let mut own: Vec<_> = attributes.own().collect();
    own.sort_by_key(|attribute| attribute.span);
    own.into_iter()
        .map(|attribute| (attribute.name().to_owned(), attribute.value.clone()))
        .collect()
}

/// Nodes of theirs by their target subgraph in ours.
pub(super) type NodesBySubgraph<'a> = HashMap<Vec<DotId>, Vec<&'a DotId>>;
