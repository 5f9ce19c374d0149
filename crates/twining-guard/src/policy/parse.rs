//! `guards:` of a policy file into guards. What is not known is refused: a rule
//! with a field we do not understand might mean something else than it does.

use serde_json::{Map, Value as Json};
use twining_model::{limits, text};

use crate::event;
use crate::event::{EventKind, GuardEvent, ToolAction};
use crate::paths::PathGlobs;
use crate::policy::guard::{Actor, CheckKind, Conditions, Example, Guard};
use crate::policy::provenance::{Mistake, PolicyLayer, PolicySource};
use crate::policy::yaml::{self, LostPart, YamlKey, YamlNode, YamlPosition, YamlValue};
use crate::verdict::Verdict;

/// Guards one file may have.
pub(crate) const MAX_GUARDS: usize = 2_000;
/// Examples of one guard.
const MAX_EXAMPLES: usize = 32;

/// A guard as a file has it: fields it leaves out are a built-in's, or the usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuardSource {
    pub(crate) id: String,
    pub(crate) line: u64,
    pub(crate) fields: Vec<(YamlKey, YamlNode)>,
}

/// The guards of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuardSection {
    /// Those that can be read, in its order.
    pub(crate) guards: Vec<GuardSource>,
    /// Why there may be others, which cannot.
    pub(crate) unread: Option<Mistake>,
    /// What happens to what cannot be read; only a person's own file may say so.
    pub(crate) on_unreadable: Option<Verdict>,
}

/// Parts of a policy that hold no guards: one of them that is broken takes none away.
const OTHERS: [&str; 6] = ["roles", "gates", "modes", "overrides", "version", ON_UNREADABLE];

/// What to do about a call that cannot be read.
pub(crate) const ON_UNREADABLE: &str = "on_unreadable";

/// Reads the guards of a file.
pub(crate) fn read(policy: &str, file: &str, mistakes: &mut Vec<Mistake>) -> GuardSection {
    let (entries, broken) = yaml::read(policy);
    let mut unread = None;
    for broken in broken {
        let found = mistake(file, broken.at, format!("this cannot be read: {}", broken.why));
        let holds_guards = match &broken.lost {
            LostPart::Nothing => false,
            LostPart::Part(key) => !OTHERS.contains(&key.as_str()),
            LostPart::All => true,
        };
        unread = unread.or_else(|| holds_guards.then(|| found.clone()));
        mistakes.push(found);
    }
    let mut written = Vec::new();
    let entry = entries.iter().find(|(key, _)| key.name == ON_UNREADABLE);
    let on_unreadable = entry.and_then(|(key, node)| {
        level(node).map_err(|why| mistakes.push(mistake(file, key.at, why))).ok()
    });
    for (_, node) in entries.into_iter().filter(|(key, _)| key.name == "guards") {
        let guards: Vec<(Option<YamlKey>, YamlNode)> = match node.value {
            YamlValue::Map(guards) => {
                guards.into_iter().map(|(key, node)| (Some(key), node)).collect()
            }
            YamlValue::List(guards) => guards.into_iter().map(|node| (None, node)).collect(),
            YamlValue::Nothing => Vec::new(),
            _ => {
                mistakes.push(mistake(
                    file,
                    node.at,
                    "`guards:` must be a list or a map of guards".to_owned(),
                ));
                Vec::new()
            }
        };
        for (key, YamlNode { at, value }) in guards {
            let fields = if let YamlValue::Map(fields) = value { fields } else { Vec::new() };
            let id = fields.iter().find(|(key, _)| key.name == "id").map(|(_, node)| &node.value);
            match (key, id) {
                _ if fields.is_empty() => mistakes.push(mistake(
                    file,
                    at,
                    "a guard must be a map with an `id`".to_owned(),
                )),
                (Some(key), _) => {
                    written.push(GuardSource { id: key.name, line: key.at.line, fields });
                }
                (None, Some(YamlValue::Text(id))) => {
                    written.push(GuardSource { id: id.clone(), line: at.line, fields });
                }
                (None, _) => mistakes.push(mistake(file, at, "the guard has no `id`".to_owned())),
            }
        }
    }
    if written.len() > MAX_GUARDS {
        mistakes.push(mistake(
            file,
            YamlPosition { line: written[MAX_GUARDS].line, column: 1 },
            format!("a policy can have at most {MAX_GUARDS} guards; the others are ignored"),
        ));
        written.truncate(MAX_GUARDS);
    }
    GuardSection { guards: written, unread, on_unreadable }
}

fn mistake(file: &str, at: YamlPosition, message: String) -> Mistake {
    Mistake {
        file: file.to_owned(),
        line: at.line.max(1),
        column: at.column.max(1),
        message,
        suggestion: None,
    }
}

/// Whether the examples of guards are read, to be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examples {
    /// They are.
    Read,
    /// They were tried before, on exactly this text.
    Skip,
}

/// Makes a guard of its fields, over the built-in of that name if there is one.
pub(crate) fn compile(
    written: &GuardSource,
    layer: PolicyLayer,
    base: Option<&Guard>,
    examples: Examples,
) -> Result<Guard, String> {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !(1..=limits::TAG_BYTES).contains(&written.id.len()) || !written.id.chars().all(is_sign) {
        return Err("an id may contain only letters, digits, `-`, `_` and `.`".to_owned());
    }
    let new = || Guard::new(&written.id, CheckKind::Declared, Verdict::Block, PathGlobs::default());
    let mut guard = base.cloned().unwrap_or_else(new);
    let is_built_in = layer == PolicyLayer::Default;
    let line = (!is_built_in).then_some(written.line);
    guard.source = PolicySource { layer, line, column: None };
    let mut on_error = None;
    for (key, node) in &written.fields {
        match key.name.as_str() {
            "id" | "reason" => {}
            "origin" => guard.origin = Some(one(node)?),
            "status" => guard.proposed = is_proposed(&one(node)?)?,
            "verify" => guard.verify = Some(verify(node)?),
            "events" | "event" => guard.events = mapped(node, event_kind)?,
            "tools" | "tool" => guard.tools = texts(node)?,
            "paths" | "path" => guard.paths = PathGlobs::compile(&texts(node)?)?,
            "except" => guard.except = PathGlobs::compile(&texts(node)?)?,
            "when" => guard.when = conditions(node)?,
            "action" => guard.action = level(node)?,
            "on_error" => on_error = Some(level(node)?),
            "say" => guard.say = one(node)?,
            "next_step" => guard.next_step = one(node)?,
            "examples" if examples == Examples::Skip => {}
            "examples" => guard.examples = parse_examples(node)?,
            "otherwise" if is_built_in => guard.otherwise = one(node)?,
            "check" if is_built_in => {
                guard.kind =
                    serde_json::from_value(one(node)?.into()).map_err(|error| error.to_string())?;
            }
            // `run:` and its like end here: nothing in a policy is ever executed.
            name => return Err(format!("`{}` is not a field of a guard", short(name))),
        }
    }
    if base.is_none() {
        guard.on_error = guard.action;
    }
    guard.on_error = on_error.unwrap_or(guard.on_error);
    if guard.proposed {
        // Regardless of its configured action: nobody has approved it yet.
        guard.action = guard.action.min(Verdict::Warn);
        guard.on_error = guard.on_error.min(Verdict::Warn);
    }
    if guard.say.is_empty() {
        return Err("`say` is missing; it tells the agent why".to_owned());
    }
    if guard.kind == CheckKind::Declared
        && guard.paths.is_empty()
        && guard.tools.is_empty()
        && guard.when == Conditions::default()
    {
        return Err(
            "it names no tools, paths or conditions, and would apply to everything".to_owned()
        );
    }
    Ok(guard)
}

fn is_proposed(word: &str) -> Result<bool, String> {
    match word {
        "proposed" => Ok(true),
        "active" => Ok(false),
        word => Err(format!("`{}` is neither proposed nor active", short(word))),
    }
}

fn event_kind(name: &str) -> Result<EventKind, String> {
    EventKind::read(name).ok_or_else(|| format!("`{}` is not an event", short(name)))
}

/// A command, as text or as `{command: …}`.
fn verify(node: &YamlNode) -> Result<String, String> {
    let command = match &node.value {
        YamlValue::Map(fields) => match fields.as_slice() {
            [(key, node)] if key.name == "command" => one(node)?,
            _ => return Err("`verify` takes a `command` and nothing else".to_owned()),
        },
        _ => one(node)?,
    };
    if command.trim().is_empty() || command.len() > limits::ELEMENT_BYTES || command.contains('\0')
    {
        return Err(format!("the `verify` command must have 1 to {} bytes", limits::ELEMENT_BYTES));
    }
    Ok(command)
}

fn conditions(node: &YamlNode) -> Result<Conditions, String> {
    let YamlValue::Map(fields) = &node.value else {
        return Err("`when` must be a map of conditions".to_owned());
    };
    let mut when = Conditions::default();
    for (key, node) in fields {
        match key.name.as_str() {
            "command" => when.commands = mapped(node, |line| Ok(words(line)))?,
            "adds" => when.adds = texts(node)?,
            "removes" => when.removes = texts(node)?,
            "agent" => when.actors = mapped(node, |name| Ok(actor(name)))?,
            name => {
                return Err(format!(
                    "`{}` is not a condition; use command, adds, removes or agent",
                    short(name)
                ));
            }
        }
    }
    let mut texts = when.adds.iter().chain(&when.removes);
    if texts.any(String::is_empty) || when.commands.iter().any(Vec::is_empty) {
        return Err("a condition is empty".to_owned());
    }
    Ok(when)
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn actor(name: &str) -> Actor {
    match name {
        "main" => Actor::Main,
        "subagent" => Actor::Subagent,
        name => Actor::OfType(name.to_owned()),
    }
}

fn parse_examples(node: &YamlNode) -> Result<Vec<Example>, String> {
    let YamlValue::Map(fields) = &node.value else {
        return Err("`examples` must be a map with `blocks` and `allows`".to_owned());
    };
    let mut examples = Vec::new();
    for (key, node) in fields {
        let is_stopped = match key.name.as_str() {
            "blocks" => true,
            "allows" => false,
            name => return Err(format!("`{}` is not a kind of example", short(name))),
        };
        let YamlValue::List(items) = &node.value else {
            return Err("examples must be a list".to_owned());
        };
        for item in items {
            examples.push(example(item, is_stopped)?);
        }
    }
    if examples.len() > MAX_EXAMPLES {
        return Err(format!("it has more than {MAX_EXAMPLES} examples"));
    }
    Ok(examples)
}

/// A command line, or a map of `tool`, `command`, `path`, `content`, `file`, `agent`.
fn example(node: &YamlNode, is_stopped: bool) -> Result<Example, String> {
    if let YamlValue::Text(command) = &node.value {
        let event = GuardEvent::of_tool("Bash", ToolAction::Shell(command.clone()), "/project");
        let input = serde_json::json!({ "command": command });
        return Ok(Example { event, input, file: None, is_stopped });
    }
    let YamlValue::Map(fields) = &node.value else {
        return Err("an example must be a command or a map".to_owned());
    };
    let (mut tool, mut input, mut file, mut agent) = (None, Map::new(), None, None);
    for (key, node) in fields {
        let given = one(node)?;
        match key.name.as_str() {
            "tool" => tool = Some(given),
            "path" => drop(input.insert("file_path".to_owned(), Json::String(given))),
            "file" => file = Some(given),
            "agent" => agent = Some(given),
            "command" | "content" | "old_string" | "new_string" => {
                drop(input.insert(key.name.clone(), Json::String(given)));
            }
            name => return Err(format!("`{}` is not a field of an example", short(name))),
        }
    }
    let has = |key: &str| input.contains_key(key);
    let usual = if has("command") { "Bash" } else { "Write" };
    if !["command", "content", "old_string"].into_iter().any(has) {
        input.insert("content".to_owned(), Json::String("something else\n".to_owned()));
    }
    let tool = tool.unwrap_or_else(|| usual.to_owned());
    let input = Json::Object(input);
    let mut event = GuardEvent::of_tool(&tool, event::action(&tool, &input), "/project");
    event.agent_id = agent.as_deref().filter(|agent| *agent != "main").map(str::to_owned);
    event.agent_type = agent;
    Ok(Example { event, input, file, is_stopped })
}

fn short(text: &str) -> String {
    text::excerpt(text, 40)
}

fn level(node: &YamlNode) -> Result<Verdict, String> {
    // YAML takes a bare `off` for `false`.
    if node.value == YamlValue::Bool(false) {
        return Ok(Verdict::Off);
    }
    let word = one(node)?;
    if word == "allow" {
        return Ok(Verdict::Off);
    }
    Verdict::read(&word)
        .ok_or_else(|| format!("`{}` is not one of block, ask, warn, off", short(&word)))
}

fn one(node: &YamlNode) -> Result<String, String> {
    match &node.value {
        YamlValue::Text(given) if given.len() <= limits::TEXT_BYTES => Ok(given.clone()),
        YamlValue::Number(number) => Ok(number.to_string()),
        YamlValue::Bool(flag) => Ok(flag.to_string()),
        other => Err(format!("expected text, found {}", other.kind())),
    }
}

/// One text or several, each made into something.
fn mapped<T>(node: &YamlNode, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    texts(node)?.iter().map(|text| read(text)).collect()
}

fn texts(node: &YamlNode) -> Result<Vec<String>, String> {
    match &node.value {
        YamlValue::List(items) if items.len() <= limits::LIST => items.iter().map(one).collect(),
        YamlValue::List(_) => Err(format!("a list may have at most {} items", limits::LIST)),
        _ => one(node).map(|text| vec![text]),
    }
}
