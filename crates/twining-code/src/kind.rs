//! The kinds of definitions, the same for all languages.

/// What kind of code a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DefinitionKind {
    /// The whole of a file.
    File,
    /// A namespace, a module inside a file.
    Module,
    /// A class or a record.
    Class,
    /// A struct or a union.
    Struct,
    /// An enumeration.
    Enum,
    /// A trait, an interface, a protocol.
    Trait,
    /// A name for another type.
    Type,
    /// A function or a macro.
    Function,
    /// A function of a type.
    Method,
    /// A constant, or a variable of a module.
    Constant,
}

impl DefinitionKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Module => "module",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Trait => "trait",
            Self::Type => "type",
            Self::Function => "function",
            Self::Method => "method",
            Self::Constant => "constant",
        }
    }

    /// The kind that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        const ALL: [DefinitionKind; 10] = [
            DefinitionKind::File,
            DefinitionKind::Module,
            DefinitionKind::Class,
            DefinitionKind::Struct,
            DefinitionKind::Enum,
            DefinitionKind::Trait,
            DefinitionKind::Type,
            DefinitionKind::Function,
            DefinitionKind::Method,
            DefinitionKind::Constant,
        ];
        ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether code of one kind may have become code of the other by a move alone: a function
    /// that moves into a class is a method there.
    #[must_use]
    pub fn is_like(self, other: Self) -> bool {
        let is_callable = |kind| matches!(kind, Self::Function | Self::Method);
        self == other || (is_callable(self) && is_callable(other))
    }
}
