//! Who decides when both sides changed the same attribute, and what is told of it.

use crate::id::Id;
use crate::syntax::Target;

/// What a change is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The graph itself.
    Graph,
    /// A default of the graph.
    Defaults(Target),
    /// A subgraph, by the names from the outermost to its own.
    Subgraph(Vec<Id>),
    /// A node.
    Node(Id),
    /// An edge.
    Edge {
        /// Its tail.
        from: Id,
        /// Its head.
        to: Id,
        /// The attributes that tell it from parallel ones.
        identity: Vec<(String, Id)>,
    },
}

impl std::fmt::Display for Subject {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Graph => out.write_str("the graph"),
            Self::Defaults(Target::Node) => out.write_str("the defaults of nodes"),
            Self::Defaults(Target::Edge) => out.write_str("the defaults of edges"),
            Self::Defaults(Target::Graph) => out.write_str("the defaults of graphs"),
            Self::Subgraph(path) => write!(out, "the subgraph {}", path.iter().map(Id::to_string).collect::<Vec<_>>().join("/")),
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
pub enum Settle {
    /// This value is right; there is no more to say.
    Take(Id),
    /// Both are kept in this value, and people are told.
    Both(Id),
    /// People must decide; until then the value of ours stands.
    Clash,
}

/// Knows what attributes mean, as this crate does not.
pub trait Policy {
    /// Both sides changed the attribute, to different values. `base` is none if both added it.
    fn settle(&self, subject: &Subject, attribute: &str, base: Option<&Id>, ours: &Id, theirs: &Id) -> Settle;

    /// The attributes that tell parallel edges apart.
    fn edge_identity(&self) -> &[&str] {
        &["key"]
    }
}

/// Settles nothing: every disagreement is a clash.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysClash;

impl Policy for AlwaysClash {
    fn settle(&self, _: &Subject, _: &str, _: Option<&Id>, _: &Id, _: &Id) -> Settle {
        Settle::Clash
    }
}

/// A disagreement that the merge could not settle alone, and what it did meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clash {
    /// What it is about.
    pub subject: Subject,
    /// What happened.
    pub kind: ClashKind,
}

/// What both sides did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClashKind {
    /// Both changed an attribute; the value of ours stands.
    Attribute {
        /// Which.
        name: String,
        /// The value before.
        base: Option<Id>,
        /// Our value, none if we took it away.
        ours: Option<Id>,
        /// Their value, none if they took it away.
        theirs: Option<Id>,
        /// What stands in the file now.
        kept: Id,
    },
    /// Ours removed what theirs changed; it stands.
    RemovedByOurs,
    /// Theirs removed what ours changed; it stands.
    RemovedByTheirs,
    /// Theirs changed what this merge does not carry over; ours stands.
    NotCarriedOver(String),
}

impl std::fmt::Display for Clash {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let subject = &self.subject;
        let shown = |value: &Option<Id>| value.as_ref().map_or_else(|| "nothing".to_owned(), Id::to_string);
        match &self.kind {
            ClashKind::Attribute { name, ours, theirs, kept, .. } => {
                write!(out, "{subject}: `{name}` is {} in ours and {} in theirs; {kept} stands", shown(ours), shown(theirs))
            }
            ClashKind::RemovedByOurs => write!(out, "{subject} was removed in ours and changed in theirs; it stands"),
            ClashKind::RemovedByTheirs => write!(out, "{subject} was removed in theirs and changed in ours; it stands"),
            ClashKind::NotCarriedOver(what) => write!(out, "{subject}: {what}; what stands in ours was kept"),
        }
    }
}
