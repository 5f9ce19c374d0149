//! What the grammars call a definition: one table of node kinds for all of them.

use std::sync::OnceLock;

use crate::kind::DefinitionKind;
use crate::language::Language;

/// What a node of a syntax tree is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeRole {
    /// Nothing; its children may be something.
    Other,
    /// A definition, if it has what its shape asks for.
    Definition(DefinitionKind, DefinitionShape),
    /// Lends its name to what is inside, and is no definition: `impl` of Rust.
    Impl,
    /// Belongs to the signature of the definition that follows it.
    Attribute,
    /// Belongs to the signature of the first definition inside it.
    Wrapper,
    /// A comment: nothing in it counts.
    Comment,
    /// Names another file or module.
    Import,
    /// Holds variables of the file, not of a function.
    TopLevel,
    /// Both of these: `export const a = 1`, `export * from "a"`.
    Export,
}

/// Where a definition keeps its name and its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefinitionShape {
    /// Fields `name` and `body`, or `declarator` and `body`.
    Plain,
    /// The same, and without a body it is a mention: `struct a *b` of C.
    WithBody,
    /// Fields `name` and `value`.
    Value,
    /// A variable: with a function as its value, or at the top of the file.
    Variable,
    /// A field of a class, if its value is a function.
    FunctionField,
    /// Fields `left` and `right`: a variable of a module of Python, a constant of Ruby.
    Assignment,
    /// A variable at the top of a Go file.
    TopValue,
    /// Go: the field `type` is the body.
    TypeSpec,
    /// Fields `name` and `accessors` or `value`.
    Property,
    /// A declaration of C that declares a function.
    Prototype,
    /// A field of a class: C++ declares methods so, Java and C# constants.
    Member,
    /// A typedef of C.
    Typedef,
    /// The name is the first child: a constant of PHP.
    FirstChild,
}

fn role_of(kind: &str) -> NodeRole {
    use DefinitionKind as Kind;
    use NodeRole::Definition;
    match kind {
        "function_item"
        | "function_signature_item"
        | "function_definition"
        | "function_declaration"
        | "function_signature"
        | "generator_function_declaration"
        | "local_function_statement"
        | "macro_definition" => Definition(Kind::Function, DefinitionShape::Plain),
        "method_definition"
        | "method_declaration"
        | "method_elem"
        | "method"
        | "singleton_method"
        | "method_signature"
        | "abstract_method_signature"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "destructor_declaration"
        | "annotation_type_element_declaration" => Definition(Kind::Method, DefinitionShape::Plain),
        "property_declaration" => Definition(Kind::Method, DefinitionShape::Property),
        "class_definition"
        | "class_declaration"
        | "abstract_class_declaration"
        | "class"
        | "record_declaration" => Definition(Kind::Class, DefinitionShape::Plain),
        "class_specifier" => Definition(Kind::Class, DefinitionShape::WithBody),
        "struct_item" | "union_item" | "struct_declaration" => {
            Definition(Kind::Struct, DefinitionShape::Plain)
        }
        "struct_specifier" | "union_specifier" => {
            Definition(Kind::Struct, DefinitionShape::WithBody)
        }
        "enum_item" | "enum_declaration" => Definition(Kind::Enum, DefinitionShape::Plain),
        "enum_specifier" => Definition(Kind::Enum, DefinitionShape::WithBody),
        "trait_item"
        | "interface_declaration"
        | "trait_declaration"
        | "annotation_type_declaration"
        | "concept_definition" => Definition(Kind::Trait, DefinitionShape::Plain),
        "mod_item"
        | "module"
        | "internal_module"
        | "namespace_declaration"
        | "namespace_definition" => Definition(Kind::Module, DefinitionShape::WithBody),
        "type_item" | "type_alias_declaration" | "alias_declaration" | "delegate_declaration" => {
            Definition(Kind::Type, DefinitionShape::Plain)
        }
        "type_spec" | "type_alias" => Definition(Kind::Type, DefinitionShape::TypeSpec),
        "type_definition" => Definition(Kind::Type, DefinitionShape::Typedef),
        "const_item" | "static_item" | "preproc_def" => {
            Definition(Kind::Constant, DefinitionShape::Value)
        }
        "preproc_function_def" => Definition(Kind::Function, DefinitionShape::Value),
        "const_spec" | "var_spec" => Definition(Kind::Constant, DefinitionShape::TopValue),
        "const_element" => Definition(Kind::Constant, DefinitionShape::FirstChild),
        "assignment" => Definition(Kind::Constant, DefinitionShape::Assignment),
        "variable_declarator" => Definition(Kind::Constant, DefinitionShape::Variable),
        "public_field_definition" => Definition(Kind::Method, DefinitionShape::FunctionField),
        "declaration" => Definition(Kind::Function, DefinitionShape::Prototype),
        "field_declaration" | "constant_declaration" => {
            Definition(Kind::Constant, DefinitionShape::Member)
        }
        _ => surrounding_role_of(kind),
    }
}

/// The role of what stands around definitions.
fn surrounding_role_of(kind: &str) -> NodeRole {
    match kind {
        "impl_item" => NodeRole::Impl,
        "attribute_item" | "decorator" => NodeRole::Attribute,
        "decorated_definition" | "template_declaration" | "ambient_declaration" => {
            NodeRole::Wrapper
        }
        "export_statement" => NodeRole::Export,
        "comment" | "line_comment" | "block_comment" => NodeRole::Comment,
        "import_statement"
        | "import_from_statement"
        | "import_spec"
        | "import_declaration"
        | "use_declaration"
        | "preproc_include"
        | "using_directive"
        | "namespace_use_clause"
        | "call" => NodeRole::Import,
        "program"
        | "source_file"
        | "translation_unit"
        | "expression_statement"
        | "lexical_declaration"
        | "variable_declaration"
        | "const_declaration"
        | "var_declaration"
        | "var_spec_list" => NodeRole::TopLevel,
        _ => NodeRole::Other,
    }
}

/// A grammar with the role of each of its node kinds.
pub(crate) struct Grammar {
    pub(crate) language: Language,
    pub(crate) syntax: tree_sitter::Language,
    roles: Vec<NodeRole>,
}

impl Grammar {
    /// The grammar of a language; made once.
    pub(crate) fn of(language: Language) -> &'static Self {
        static GRAMMARS: [OnceLock<Grammar>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        GRAMMARS[language as usize].get_or_init(|| Self::new(language))
    }

    /// The role of the node kind with an id.
    pub(crate) fn role(&self, kind: u16) -> NodeRole {
        self.roles.get(usize::from(kind)).copied().unwrap_or(NodeRole::Other)
    }

    fn new(language: Language) -> Self {
        let syntax: tree_sitter::Language = match language {
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
            Language::Python => tree_sitter_python::LANGUAGE.into(),
            Language::Go => tree_sitter_go::LANGUAGE.into(),
            Language::Java => tree_sitter_java::LANGUAGE.into(),
            Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Language::C => tree_sitter_c::LANGUAGE.into(),
            Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Language::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Language::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Language::Php => tree_sitter_php::LANGUAGE_PHP.into(),
        };
        let kinds = u16::try_from(syntax.node_kind_count()).unwrap_or(u16::MAX);
        let role = |id| match syntax.node_kind_for_id(id) {
            Some(kind) if syntax.node_kind_is_named(id) => role_of(kind),
            _ => NodeRole::Other,
        };
        let roles = (0..kinds).map(role).collect();
        Self { language, syntax, roles }
    }
}
