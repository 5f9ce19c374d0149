//! `guards:` of a policy file into guards. What is not known is refused: a rule
//! with a field we do not understand might mean something else than it does.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};
use twining_model::{limits, text};

use crate::governance::policy::{Layer, Mistake, Source};
use crate::governance::yaml::{self, Key, Lost, Node, Spot, Value};
use crate::guards::event::{Event, Moment};
use crate::guards::judge::Trial;
use crate::guards::path::Paths;
use crate::guards::rule::{Example, Guard, Kind, Level, Standing, When, Who};
use crate::guards::tool;

/// Guards one file may have.
pub(crate) const MOST_GUARDS: usize = 2_000;
/// Examples of one guard.
const MOST_EXAMPLES: usize = 32;

/// A guard as a file has it: fields it leaves out are a built-in's, or the usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) id: String,
    pub(crate) line: u64,
    pub(crate) fields: Vec<(Key, Node)>,
}

/// The guards of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// Those that can be read, in its order.
    pub(crate) guards: Vec<Written>,
    /// Why there may be others, which cannot.
    pub(crate) unread: Option<Mistake>,
}

/// Parts of a policy that hold no guards: one of them that is broken takes none away.
const OTHERS: [&str; 5] = ["roles", "gates", "modes", "overrides", "version"];

/// Reads the guards of a file.
pub(crate) fn read(policy: &str, file: &str, mistakes: &mut Vec<Mistake>) -> Page {
    let (entries, broken) = yaml::read(policy);
    let mut unread = None;
    for broken in broken {
        let told = mistake(file, broken.at, format!("this cannot be read: {}", broken.why));
        let holds_guards = match &broken.lost {
            Lost::Nothing => false,
            Lost::Part(key) => !OTHERS.contains(&key.as_str()),
            Lost::All => true,
        };
        unread = unread.or_else(|| holds_guards.then(|| told.clone()));
        mistakes.push(told);
    }
    let mut written = Vec::new();
    for (_, node) in entries.into_iter().filter(|(key, _)| key.name == "guards") {
        match node.value {
            Value::Map(guards) => {
                for (key, node) in guards {
                    match node.value {
                        Value::Map(fields) => written.push(Written { id: key.name, line: key.at.line, fields }),
                        _ => mistakes.push(mistake(file, node.at, "a guard is a map".to_owned())),
                    }
                }
            }
            Value::List(guards) => {
                for node in guards {
                    let Value::Map(fields) = node.value else {
                        mistakes.push(mistake(file, node.at, "a guard is a map with an `id`".to_owned()));
                        continue;
                    };
                    match fields.iter().find(|(key, _)| key.name == "id").map(|(_, node)| &node.value) {
                        Some(Value::Text(id)) => written.push(Written { id: id.clone(), line: node.at.line, fields }),
                        _ => mistakes.push(mistake(file, node.at, "the guard has no `id`".to_owned())),
                    }
                }
            }
            Value::Nothing => {}
            _ => mistakes.push(mistake(file, node.at, "`guards:` is a list or a map of guards".to_owned())),
        }
    }
    if written.len() > MOST_GUARDS {
        mistakes.push(mistake(
            file,
            Spot { line: written[MOST_GUARDS].line, column: 1 },
            format!("a policy has at most {MOST_GUARDS} guards; the others are left out"),
        ));
        written.truncate(MOST_GUARDS);
    }
    Page { guards: written, unread }
}

/// The names of guards in a text that is no YAML: what somebody who mends it must
/// not leave out unasked.
pub(crate) fn named(policy: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let (mut inside, mut indent) = (false, None);
    for line in policy.lines() {
        let words = line.trim_start();
        if let Some((key, value)) = words.trim_start_matches(['-', ' ']).split_once(':')
            && key == "id"
        {
            named.extend(as_id(value));
        }
        let depth = line.len() - words.len();
        if depth == 0 && !words.is_empty() && !words.starts_with(['-', '#', '<', '=', '>']) {
            (inside, indent) = (words.starts_with("guards:"), None);
        } else if inside && let Some((key, rest)) = words.split_once(':') {
            // A map of guards: their names are what stands furthest out.
            let is_name = rest.trim().is_empty() || rest.trim_start().starts_with('{');
            if depth > 0 && is_name && *indent.get_or_insert(depth) == depth {
                named.extend(as_id(key));
            }
        }
    }
    named
}

fn as_id(word: &str) -> Option<String> {
    let word = word.split(" #").next()?.split(',').next()?.trim().trim_matches(['"', '\'']);
    is_id(word).then(|| word.to_owned())
}

fn is_id(word: &str) -> bool {
    !word.is_empty() && word.len() <= limits::TAG_BYTES && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn mistake(file: &str, at: Spot, message: String) -> Mistake {
    Mistake { file: file.to_owned(), line: at.line.max(1), column: at.column.max(1), message, suggestion: None }
}

/// Makes a guard of its fields, over the built-in of that name if there is one.
pub(crate) fn compile(written: &Written, layer: Layer, base: Option<&Guard>, trial: Trial) -> Result<Guard, String> {
    if !is_id(&written.id) {
        return Err("an id has letters, digits, `-`, `_` and `.`".to_owned());
    }
    let nothing = Paths::compile(&[])?;
    let mut guard = base.cloned().unwrap_or(Guard {
        id: written.id.clone(),
        source: Source::DEFAULT,
        action: Level::Block,
        say: String::new(),
        next_step: String::new(),
        on_error: Level::Off,
        standing: Standing::Alive,
        proposed: false,
        origin: None,
        verify: None,
        kind: Kind::Declared,
        moments: vec![Moment::PreToolUse],
        tools: Vec::new(),
        paths: nothing.clone(),
        except: nothing,
        when: When::default(),
        examples: Vec::new(),
    });
    guard.source = Source { layer, line: Some(written.line), column: None };
    let mut on_error = None;
    for (key, node) in &written.fields {
        match key.name.as_str() {
            "id" | "reason" => {}
            "origin" => guard.origin = Some(one(node)?),
            "status" => {
                guard.proposed = match one(node)?.as_str() {
                    "proposed" => true,
                    "active" => false,
                    word => return Err(format!("`{}` is neither proposed nor active", text::excerpt(word, 40))),
                }
            }
            "verify" => guard.verify = Some(verify(node)?),
            "events" | "event" => {
                guard.moments = texts(node)?
                    .iter()
                    .map(|name| Moment::read(name).ok_or_else(|| format!("`{}` is no event", text::excerpt(name, 40))))
                    .collect::<Result<_, _>>()?;
            }
            "tools" | "tool" => guard.tools = texts(node)?,
            "paths" | "path" => guard.paths = Paths::compile(&texts(node)?)?,
            "except" => guard.except = Paths::compile(&texts(node)?)?,
            "when" => guard.when = when(node)?,
            "action" => guard.action = level(node)?,
            "on_error" => on_error = Some(level(node)?),
            "say" => guard.say = one(node)?,
            "next_step" => guard.next_step = one(node)?,
            // Tried before on exactly this text, they are not even read.
            "examples" if trial == Trial::KnownGood => {}
            "examples" => guard.examples = examples(node)?,
            // `run:` and its like end here: nothing in a policy is ever executed.
            name => return Err(format!("`{}` is no field of a guard", text::excerpt(name, 40))),
        }
    }
    if base.is_none() {
        guard.on_error = guard.action;
    }
    guard.on_error = on_error.unwrap_or(guard.on_error);
    if guard.proposed {
        // Whatever it would like to do: a person has not said yes yet.
        guard.action = guard.action.min(Level::Warn);
        guard.on_error = guard.on_error.min(Level::Warn);
    }
    if guard.say.is_empty() {
        return Err("it says nothing: `say` tells the agent why".to_owned());
    }
    if guard.kind == Kind::Declared && guard.paths.is_empty() && guard.tools.is_empty() && guard.when == When::default() {
        return Err("it names no tools, paths or conditions, and would speak to everything".to_owned());
    }
    Ok(guard)
}

/// A command, as text or as `{command: …}`.
fn verify(node: &Node) -> Result<String, String> {
    let command = match &node.value {
        Value::Map(fields) => match fields.as_slice() {
            [(key, node)] if key.name == "command" => one(node)?,
            _ => return Err("`verify` takes a `command` and nothing else".to_owned()),
        },
        _ => one(node)?,
    };
    if command.trim().is_empty() || command.len() > limits::ELEMENT_BYTES || command.contains('\0') {
        return Err(format!("a command to verify by has 1 to {} bytes", limits::ELEMENT_BYTES));
    }
    Ok(command)
}

fn when(node: &Node) -> Result<When, String> {
    let Value::Map(fields) = &node.value else { return Err("`when` is a map of conditions".to_owned()) };
    let mut when = When::default();
    for (key, node) in fields {
        match key.name.as_str() {
            "command" => when.commands = texts(node)?.iter().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect(),
            "adds" => when.adds = texts(node)?,
            "removes" => when.removes = texts(node)?,
            "agent" => {
                let who = |name: &String| match name.as_str() {
                    "main" => Who::Main,
                    "subagent" => Who::Subagent,
                    kind => Who::Kind(kind.to_owned()),
                };
                when.by = texts(node)?.iter().map(who).collect();
            }
            name => return Err(format!("`{}` is no condition; known are command, adds, removes, agent", text::excerpt(name, 40))),
        }
    }
    if when.commands.iter().chain([&when.adds, &when.removes]).any(|list| list.iter().any(String::is_empty))
        || when.commands.iter().any(Vec::is_empty)
    {
        return Err("a condition is empty".to_owned());
    }
    Ok(when)
}

fn examples(node: &Node) -> Result<Vec<Example>, String> {
    let Value::Map(fields) = &node.value else { return Err("`examples` has `blocks` and `allows`".to_owned()) };
    let mut examples = Vec::new();
    for (key, node) in fields {
        let is_stopped = match key.name.as_str() {
            "blocks" => true,
            "allows" => false,
            name => return Err(format!("`{}` is no kind of example", text::excerpt(name, 40))),
        };
        let Value::List(items) = &node.value else { return Err("examples are a list".to_owned()) };
        for item in items {
            examples.push(example(item, is_stopped)?);
        }
    }
    if examples.len() > MOST_EXAMPLES {
        return Err(format!("it has more than {MOST_EXAMPLES} examples"));
    }
    Ok(examples)
}

/// A command line, or a map of `tool`, `command`, `path`, `content`, `file`, `agent`.
fn example(node: &Node, is_stopped: bool) -> Result<Example, String> {
    if let Value::Text(command) = &node.value {
        let event = Event::of_tool("Bash", crate::guards::Action::Shell(command.clone()), "/project");
        let input = serde_json::json!({ "command": command });
        return Ok(Example { event, input, file: None, is_stopped });
    }
    let Value::Map(fields) = &node.value else { return Err("an example is a command or a map".to_owned()) };
    let (mut tool, mut input, mut file, mut agent) = (None, Map::new(), None, None);
    for (key, node) in fields {
        let given = one(node)?;
        match key.name.as_str() {
            "tool" => tool = Some(given),
            "path" => drop(input.insert("file_path".to_owned(), Json::String(given))),
            "file" => file = Some(given),
            "agent" => agent = Some(given),
            "command" | "content" | "old_string" | "new_string" => drop(input.insert(key.name.clone(), Json::String(given))),
            name => return Err(format!("`{}` is no part of an example", text::excerpt(name, 40))),
        }
    }
    let usual = if input.contains_key("command") { "Bash" } else { "Write" };
    if !input.contains_key("command") && !input.contains_key("content") && !input.contains_key("old_string") {
        input.insert("content".to_owned(), Json::String("something else\n".to_owned()));
    }
    let tool = tool.unwrap_or_else(|| usual.to_owned());
    let input = Json::Object(input);
    let mut event = Event::of_tool(&tool, tool::action(&tool, &input), "/project");
    event.agent_id = agent.as_deref().filter(|agent| *agent != "main").map(str::to_owned);
    event.agent_type = agent;
    Ok(Example { event, input, file, is_stopped })
}

fn level(node: &Node) -> Result<Level, String> {
    // YAML takes a bare `off` for `false`.
    if node.value == Value::Bool(false) {
        return Ok(Level::Off);
    }
    let word = one(node)?;
    if word == "allow" {
        return Ok(Level::Off);
    }
    Level::read(&word).ok_or_else(|| format!("`{}` is none of block, ask, warn, off", text::excerpt(&word, 40)))
}

fn one(node: &Node) -> Result<String, String> {
    match &node.value {
        Value::Text(given) if given.len() <= limits::TEXT_BYTES => Ok(given.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        other => Err(format!("text is wanted, and {} stands there", other.kind())),
    }
}

fn texts(node: &Node) -> Result<Vec<String>, String> {
    match &node.value {
        Value::List(items) if items.len() <= limits::LIST => items.iter().map(one).collect(),
        Value::List(_) => Err(format!("a list may have at most {} items", limits::LIST)),
        _ => one(node).map(|text| vec![text]),
    }
}
