//! Policy for attributes that both sides changed, and the clashes reported.

use crate::id::DotId;
use crate::syntax::Target;

/// What a change is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The graph itself.
    Graph,
    /// A default of the graph.
    Defaults(Target),
    /// A subgraph, by the names from the outermost to its own.
    Subgraph(Vec<DotId>),
    /// A node.
    Node(DotId),
    /// An edge.
    Edge {
        /// Its tail.
        from: DotId,
        /// Its head.
        to: DotId,
        /// The attributes that distinguish it from parallel edges.
        identity: Vec<(String, DotId)>,
    },
}

impl std::fmt::Display for Subject {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Graph => out.write_str("the graph"),
            Self::Defaults(Target::Node) => out.write_str("the node defaults"),
            Self::Defaults(Target::Edge) => out.write_str("the edge defaults"),
            Self::Defaults(Target::Graph) => out.write_str("the graph defaults"),
            Self::Subgraph(path) => write!(
                out,
                "the subgraph {}",
                path.iter().map(DotId::to_string).collect::<Vec<_>>().join("/")
            ),
            Self::Node(id) => write!(out, "the node {id}"),
            Self::Edge { from, to, identity } => {
                write!(out, "the edge {from} -> {to}")?;
                identity.iter().try_for_each(|(name, value)| write!(out, " ({name} {value})"))
            }
        }
    }
}

/// How a disagreement is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// This value is right; there is no more to say.
    Take(DotId),
    /// Keeps both in this value and reports a clash.
    Both(DotId),
    /// A person must decide; until then our value is kept.
    DotClash,
}

/// Knows what attributes mean, as this crate does not.
pub trait DotMergePolicy {
    /// Both sides changed the attribute, to different values. `base` is none if both added it.
    fn settle(
        &self,
        subject: &Subject,
        attribute: &str,
        base: Option<&DotId>,
        ours: &DotId,
        theirs: &DotId,
    ) -> Resolution;

    /// The attributes that distinguish parallel edges.
    fn edge_identity(&self) -> &[&str] {
        &["key"]
    }
}

/// Settles nothing: every disagreement is a clash.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysClash;

impl DotMergePolicy for AlwaysClash {
    fn settle(&self, _: &Subject, _: &str, _: Option<&DotId>, _: &DotId, _: &DotId) -> Resolution {
        Resolution::DotClash
    }
}

/// A disagreement that the merge could not settle alone, and what it did meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DotClash {
    /// What it is about.
    pub subject: Subject,
    /// What happened.
    pub kind: DotClashKind,
}

/// What both sides did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DotClashKind {
    /// Both changed an attribute; `kept` is the result.
    Attribute {
        /// Which.
        name: String,
        /// The value before.
        base: Option<DotId>,
        /// Our value, none if we took it away.
        ours: Option<DotId>,
        /// Their value, none if they took it away.
        theirs: Option<DotId>,
        /// Value now in the file.
        kept: DotId,
    },
    /// Ours removed what theirs changed; kept.
    RemovedByOurs,
    /// Theirs removed what ours changed; kept.
    RemovedByTheirs,
    /// Theirs changed what this merge does not carry over; ours remains.
    NotCarriedOver(String),
}

impl std::fmt::Display for DotClash {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let subject = &self.subject;
        let shown = |value: &Option<DotId>| {
            value.as_ref().map_or_else(|| "nothing".to_owned(), DotId::to_string)
        };
        match &self.kind {
            DotClashKind::Attribute { name, ours, theirs, kept, .. } => {
                write!(
                    out,
                    "{subject}: `{name}` is {} in ours and {} in theirs; {kept} was kept",
                    shown(ours),
                    shown(theirs)
                )
            }
            DotClashKind::RemovedByOurs => {
                write!(out, "{subject} was removed in ours and changed in theirs; it was kept")
            }
            DotClashKind::RemovedByTheirs => {
                write!(out, "{subject} was removed in theirs and changed in ours; it was kept")
            }
            DotClashKind::NotCarriedOver(what) => {
                write!(out, "{subject}: {what}; ours was kept")
            }
        }
    }
}
