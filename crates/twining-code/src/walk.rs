//! From a syntax tree to the outlines of its definitions.
//!
//! One loop with a cursor, never recursion: source is hostile input, and may nest as deep as it
//! is long.

use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use crate::grammar::{DefinitionShape, Grammar, NodeRole};
use crate::kind::DefinitionKind;
use crate::language::Language;
use crate::lexer::TokenStream;
use crate::sketch::TokenSpan;

/// How deep the tree is looked into.
const DEEPEST: usize = 1_000;

/// Definitions of one file; one with more is read as a whole.
const MOST_DEFINITIONS: usize = 20_000;

/// Imports of one file that are kept.
const MOST_IMPORTS: usize = 1_000;

/// Bytes of a name with those around it, and of an import; a longer one is not kept.
const LONGEST_NAME: usize = 300;

/// Where a definition is, and where its parts are.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) name: String,
    pub(crate) kind: DefinitionKind,
    pub(crate) first_line: u32,
    pub(crate) last_line: u32,
    pub(crate) bytes: Range<u32>,
    pub(crate) own_name: Range<u32>,
    pub(crate) body: Option<Range<u32>>,
}

impl Outline {
    /// The tokens that it covers.
    pub(crate) fn span(&self, tokens: &TokenStream) -> TokenSpan {
        let all = tokens.between(self.bytes.clone());
        let own_name = tokens.between(self.own_name.clone());
        let clamp = |at: usize| at.clamp(all.start, all.end);
        TokenSpan { own_name: clamp(own_name.start)..clamp(own_name.end), all }
    }
}

/// What a tree holds.
#[derive(Debug, Default)]
pub(crate) struct Outlines {
    pub(crate) definitions: Vec<Outline>,
    pub(crate) imports: Vec<String>,
}

/// The outlines of a tree; nothing if it has too many.
pub(crate) fn outlines(tree: &Tree, bytes: &[u8], grammar: &Grammar) -> Option<Outlines> {
    let level = SiblingLevel { attributes: None, is_wrapped: false, is_top: true };
    let walk = Walk {
        bytes,
        grammar,
        prefix: String::new(),
        scopes: Vec::new(),
        levels: vec![level],
        found: Outlines::default(),
    };
    walk.run(tree.walk())
}

/// A node that lends its name to those inside.
struct NameScope {
    /// How many levels were open around it.
    depth: usize,
    /// How long the prefix was before it.
    prefix: usize,
    kind: DefinitionKind,
}

/// What is known about the siblings at one depth.
struct SiblingLevel {
    /// Where the attributes of the next definition begin.
    attributes: Option<(u32, u32)>,
    /// Whether they hold for the first definition, whatever comes before it.
    is_wrapped: bool,
    /// Whether a variable here is one of the file.
    is_top: bool,
}

struct Walk<'t> {
    bytes: &'t [u8],
    grammar: &'t Grammar,
    prefix: String,
    scopes: Vec<NameScope>,
    levels: Vec<SiblingLevel>,
    found: Outlines,
}

/// The parts of a definition as its shape gives them.
struct Parts<'t> {
    name: String,
    kind: DefinitionKind,
    own_name: Node<'t>,
    body: Option<Node<'t>>,
}

impl<'t> Walk<'t> {
    fn run(mut self, mut cursor: TreeCursor<'t>) -> Option<Outlines> {
        loop {
            let inner = self.enter(cursor.node());
            if self.found.definitions.len() > MOST_DEFINITIONS {
                return None;
            }
            if let Some(level) = inner
                && self.levels.len() < DEEPEST
                && cursor.goto_first_child()
            {
                self.levels.push(level);
                continue;
            }
            loop {
                self.leave_scope();
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return Some(self.found);
                }
                self.levels.pop();
            }
        }
    }

    /// Notes what a node is, and says how its children begin; nothing if they do not matter.
    fn enter(&mut self, node: Node<'t>) -> Option<SiblingLevel> {
        let role = self.grammar.role(node.kind_id());
        let is_top = self.levels.last().is_some_and(|level| level.is_top);
        let inner = SiblingLevel { attributes: None, is_wrapped: false, is_top: false };
        match role {
            NodeRole::Comment => return None,
            NodeRole::Attribute => {
                let begin = position(node);
                if let Some(level) = self.levels.last_mut() {
                    level.attributes.get_or_insert(begin);
                }
                return Some(inner);
            }
            NodeRole::Wrapper | NodeRole::Export => {
                if role == NodeRole::Export {
                    self.import(node);
                }
                let begin = self.take_attributes().unwrap_or_else(|| position(node));
                let is_top = is_top && role == NodeRole::Export;
                return Some(SiblingLevel { attributes: Some(begin), is_wrapped: true, is_top });
            }
            NodeRole::Definition(kind, shape) => {
                if let Some(parts) = self.parts(node, kind, shape, is_top) {
                    self.define(node, &parts);
                    return Some(inner);
                }
            }
            NodeRole::Impl => {
                if let Some(name) = node.child_by_field_name("type").and_then(|t| self.base_type(t))
                {
                    self.open_scope(&name, DefinitionKind::Struct);
                }
            }
            NodeRole::Import => self.import(node),
            NodeRole::TopLevel | NodeRole::Other => {}
        }
        // The root of Python is called a module, like a definition of other languages.
        let goes_on = role == NodeRole::TopLevel || self.levels.len() == 1;
        self.forget_attributes(node);
        Some(SiblingLevel { is_top: is_top && goes_on, ..inner })
    }

    fn take_attributes(&mut self) -> Option<(u32, u32)> {
        self.levels.last_mut().and_then(|level| level.attributes.take())
    }

    fn forget_attributes(&mut self, node: Node<'t>) {
        if let Some(level) = self.levels.last_mut()
            && !level.is_wrapped
            && node.is_named()
        {
            level.attributes = None;
        }
    }

    fn define(&mut self, node: Node<'t>, parts: &Parts<'t>) {
        let (start, row) = self.take_attributes().unwrap_or_else(|| position(node));
        let kind = match (parts.kind, self.scopes.last().map(|scope| scope.kind)) {
            (
                DefinitionKind::Function,
                Some(
                    DefinitionKind::Class
                    | DefinitionKind::Struct
                    | DefinitionKind::Enum
                    | DefinitionKind::Trait,
                ),
            ) => DefinitionKind::Method,
            (kind, _) => kind,
        };
        if !self.open_scope(&parts.name, kind) {
            return;
        }
        let end = node.end_position();
        // A node that ends at the beginning of a line ends with the line before.
        let last = if end.column == 0 { end.row } else { end.row + 1 };
        self.found.definitions.push(Outline {
            name: self.prefix.clone(),
            kind,
            first_line: row + 1,
            last_line: offset(last).max(row + 1),
            bytes: start..offset(node.end_byte()),
            own_name: range(parts.own_name),
            body: parts.body.map(range),
        });
    }

    /// Lends a name to the nodes inside the current one.
    fn open_scope(&mut self, name: &str, kind: DefinitionKind) -> bool {
        if name.is_empty() || self.prefix.len() + name.len() + 1 > LONGEST_NAME {
            return false;
        }
        self.scopes.push(NameScope { depth: self.levels.len(), prefix: self.prefix.len(), kind });
        if !self.prefix.is_empty() {
            self.prefix.push('.');
        }
        self.prefix.push_str(name);
        true
    }

    fn leave_scope(&mut self) {
        let depth = self.levels.len();
        if let Some(scope) = self.scopes.pop_if(|scope| scope.depth == depth) {
            self.prefix.truncate(scope.prefix);
        }
    }

    fn parts(
        &self,
        node: Node<'t>,
        kind: DefinitionKind,
        shape: DefinitionShape,
        is_top: bool,
    ) -> Option<Parts<'t>> {
        let field = |name: &str| node.child_by_field_name(name);
        let named = |kind, own_name: Node<'t>, body| {
            Some(Parts { name: self.name_text(own_name), kind, own_name, body })
        };
        match shape {
            DefinitionShape::Plain | DefinitionShape::WithBody => {
                let body = field("body");
                if shape == DefinitionShape::WithBody && body.is_none() {
                    return None;
                }
                let own_name = field("name").or_else(|| declared_name(field("declarator")?))?;
                let parts = named(kind, own_name, body)?;
                let receiver = field("receiver").map(|receiver| self.receiver_type(receiver));
                Some(match receiver {
                    Some(Some(of)) => Parts { name: format!("{of}.{}", parts.name), ..parts },
                    _ => parts,
                })
            }
            DefinitionShape::Value => named(kind, field("name")?, field("value")),
            DefinitionShape::TopValue if is_top => named(kind, field("name")?, field("value")),
            DefinitionShape::TopValue => None,
            DefinitionShape::Variable => {
                let (own_name, value) = (field("name")?, field("value"));
                match value.and_then(function_value) {
                    Some((kind, body)) => named(kind, own_name, body),
                    None if is_top && own_name.kind() == "identifier" => {
                        named(kind, own_name, value)
                    }
                    None => None,
                }
            }
            DefinitionShape::FunctionField => {
                let (_, body) = function_value(field("value")?)?;
                named(kind, field("name")?, body)
            }
            DefinitionShape::Assignment => {
                let left = field("left")?;
                let is_constant = match self.grammar.language {
                    Language::Python => is_top && left.kind() == "identifier",
                    _ => left.kind() == "constant",
                };
                if is_constant { named(kind, left, field("right")) } else { None }
            }
            DefinitionShape::TypeSpec => {
                let body = field("type")?;
                let kind = match body.kind() {
                    "struct_type" => DefinitionKind::Struct,
                    "interface_type" => DefinitionKind::Trait,
                    _ => kind,
                };
                named(kind, field("name")?, Some(body))
            }
            DefinitionShape::Property => {
                named(kind, field("name")?, field("accessors").or_else(|| field("value")))
            }
            DefinitionShape::Prototype => {
                let is_local = self.scopes.last().is_some_and(|scope| {
                    matches!(scope.kind, DefinitionKind::Function | DefinitionKind::Method)
                });
                let declarator = field("declarator").filter(|node| !is_local && is_function(*node));
                named(kind, declared_name(declarator?)?, None)
            }
            DefinitionShape::Member => self.member(node, kind),
            DefinitionShape::Typedef => {
                let body = field("type").and_then(|of| of.child_by_field_name("body"));
                named(kind, declared_name(field("declarator")?)?, body)
            }
            DefinitionShape::FirstChild => named(kind, node.named_child(0)?, node.named_child(1)),
        }
    }

    /// A method that a class of C++ declares, or a constant of a class of Java or C#.
    fn member(&self, node: Node<'t>, kind: DefinitionKind) -> Option<Parts<'t>> {
        let declarator = node.child_by_field_name("declarator");
        if let Some(declarator) = declarator.filter(|node| is_function(*node)) {
            let own_name = declared_name(declarator)?;
            let name = self.name_text(own_name);
            return Some(Parts { name, kind: DefinitionKind::Method, own_name, body: None });
        }
        let declarator = match self.grammar.language {
            Language::Java => declarator?,
            Language::CSharp => {
                let mut cursor = node.walk();
                let mut children = node.named_children(&mut cursor);
                children.find(|child| child.kind() == "variable_declaration")?.named_child(1)?
            }
            _ => return None,
        };
        let modifiers = self.bytes.get(node.start_byte()..declarator.start_byte())?;
        let is_constant = node.kind() == "constant_declaration"
            || modifiers
                .split(u8::is_ascii_whitespace)
                .any(|word| word == b"static" || word == b"const");
        let own_name = declarator.child_by_field_name("name").filter(|_| is_constant)?;
        let body = declarator.child_by_field_name("value").or_else(|| declarator.named_child(1));
        Some(Parts { name: self.name_text(own_name), kind, own_name, body })
    }

    fn text(&self, node: Node<'t>) -> &'t str {
        let bytes = self.bytes.get(node.byte_range()).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// A name as it is written, its white space single and `::` as a dot.
    fn name_text(&self, node: Node<'t>) -> String {
        let node = match node.kind() {
            "template_type" => node.child_by_field_name("name").unwrap_or(node),
            _ => node,
        };
        let text = self.text(node);
        if text.len() > LONGEST_NAME {
            return String::new();
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").replace("::", ".")
    }

    /// Rust: the name of the type that an `impl` is for.
    fn base_type(&self, mut node: Node<'t>) -> Option<String> {
        for _ in 0..8 {
            let inner = match node.kind() {
                "generic_type" | "reference_type" | "pointer_type" => {
                    node.child_by_field_name("type")
                }
                "scoped_type_identifier" => node.child_by_field_name("name"),
                _ => break,
            };
            node = inner?;
        }
        Some(self.name_text(node))
    }

    /// Go: the type in `(s *Server[T])`.
    fn receiver_type(&self, node: Node<'t>) -> Option<&'t str> {
        let text = self.text(node).trim_matches(['(', ')']);
        let text = text.split('[').next().unwrap_or(text);
        text.rsplit([' ', '\t', '\n', '*']).find(|word| !word.is_empty())
    }

    fn import(&mut self, node: Node<'t>) {
        if self.found.imports.len() >= MOST_IMPORTS {
            return;
        }
        let target = match node.kind() {
            "call" => self.required_file(node),
            "import_statement" if self.grammar.language == Language::Python => {
                return self.python_imports(node);
            }
            // `export` without `from` imports nothing.
            "export_statement" => node.child_by_field_name("source"),
            // Go: its specs are nodes of their own.
            "import_declaration" if self.grammar.language == Language::Go => None,
            _ => ["source", "path", "module_name", "argument"]
                .iter()
                .find_map(|field| node.child_by_field_name(field))
                .or_else(|| node.named_child(0)),
        };
        if let Some(target) = target {
            self.push_import(target);
        }
    }

    fn python_imports(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let names: Vec<Node<'t>> =
            node.children_by_field_name("name", &mut cursor).take(MOST_IMPORTS).collect();
        for name in names {
            self.push_import(name.child_by_field_name("name").unwrap_or(name));
        }
    }

    /// Ruby: what `require` names.
    fn required_file(&self, node: Node<'t>) -> Option<Node<'t>> {
        let method = node.child_by_field_name("method")?;
        let is_require = matches!(self.text(method), "require" | "require_relative");
        let arguments = node.child_by_field_name("arguments").filter(|_| is_require)?;
        arguments.named_child(0).filter(|argument| argument.kind() == "string")
    }

    fn push_import(&mut self, node: Node<'t>) {
        // Of `a::{b, c}` and `a as b` the module.
        let text = self.text(node).split(['{', '\n']).next().unwrap_or_default();
        let text = text.split(" as ").next().unwrap_or(text).trim();
        let text = text.trim_matches(['"', '\'', '`', '<', '>']).trim_end_matches("::");
        if !text.is_empty() && text.len() <= LONGEST_NAME {
            self.found.imports.push(text.to_owned());
        }
    }
}

/// The kind and the body of a value that is a function or a class.
fn function_value(value: Node<'_>) -> Option<(DefinitionKind, Option<Node<'_>>)> {
    let kind = match value.kind() {
        "arrow_function" | "function_expression" | "generator_function" => DefinitionKind::Function,
        "class" => DefinitionKind::Class,
        _ => return None,
    };
    Some((kind, value.child_by_field_name("body")))
}

/// The name in a declarator of C: `*(a[3])(int)` declares `a`.
fn declared_name(mut declarator: Node<'_>) -> Option<Node<'_>> {
    for _ in 0..32 {
        let inner = declarator.child_by_field_name("declarator").or_else(|| {
            matches!(declarator.kind(), "reference_declarator" | "parenthesized_declarator")
                .then(|| declarator.named_child(0))
                .flatten()
        });
        match inner {
            Some(inner) => declarator = inner,
            None => return Some(declarator),
        }
    }
    None
}

/// Whether a declarator of C declares a function, and not a pointer to one.
fn is_function(mut declarator: Node<'_>) -> bool {
    for _ in 0..32 {
        if declarator.kind() == "function_declarator" {
            let inner = declarator.child_by_field_name("declarator");
            return inner.is_some_and(|inner| inner.kind() != "parenthesized_declarator");
        }
        let is_pointer = matches!(declarator.kind(), "pointer_declarator" | "reference_declarator");
        let inner = declarator
            .child_by_field_name("declarator")
            .or_else(|| declarator.named_child(0))
            .filter(|_| is_pointer);
        match inner {
            Some(inner) => declarator = inner,
            None => return false,
        }
    }
    false
}

fn position(node: Node<'_>) -> (u32, u32) {
    (offset(node.start_byte()), offset(node.start_position().row))
}

fn range(node: Node<'_>) -> Range<u32> {
    offset(node.start_byte())..offset(node.end_byte())
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
