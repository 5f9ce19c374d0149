//! Verbs. One definition serves every entry point: the command line and MCP are both built from the
//! table of [`VerbEntry`]s in [`crate::commands`].

use clap::{ArgMatches, Command};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use twining_engine::Failure;
use twining_model::{InvalidInput, limits, text};

use crate::project::CommandContext;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::json_output;
use crate::render::text_page::{TextPage, dim, plain, warn};
use crate::verbs::flags;
use crate::verbs::schema;
use crate::verbs::serde_messages;

/// Verbs that share the first part of their name share a command, and what it is about.
pub(crate) const FAMILIES: [(&str, &str); 1] =
    [("knowledge", "The reviewed graph: check, search, pack, edit, draw")];

/// What verbs belong together; a client may ask for some groups only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VerbGroup {
    /// Messages between agents.
    Blackboard,
    /// What was chosen, and why.
    Decisions,
    /// What a task needs to know.
    Context,
    /// What the code is made of.
    Graph,
    /// What people reviewed.
    Knowledge,
    /// What is asked of agents.
    Governance,
    /// What is to be built, and what to do now.
    Workflow,
    /// What rules stopped, and the rules made from it.
    Learning,
    /// Who works here, and on what.
    Agents,
    /// The health of the memory.
    Lifecycle,
}

impl VerbGroup {
    /// Every group, in the order people read them.
    pub(crate) const ALL: [Self; 10] = [
        Self::Context,
        Self::Blackboard,
        Self::Decisions,
        Self::Graph,
        Self::Knowledge,
        Self::Governance,
        Self::Workflow,
        Self::Learning,
        Self::Agents,
        Self::Lifecycle,
    ];

    /// The word for it in `--tools`.
    pub(crate) fn as_str(self) -> &'static str {
        self.words().0
    }

    /// What it is about, in a line of help.
    pub(crate) fn summary(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Blackboard => ("blackboard", "what agents tell each other"),
            Self::Decisions => ("decisions", "what was chosen, and why"),
            Self::Context => ("context", "what a task needs to know"),
            Self::Graph => ("graph", "what the code is made of"),
            Self::Knowledge => ("knowledge", "what people reviewed"),
            Self::Governance => ("governance", "what agents must do, and whether they did it"),
            Self::Workflow => ("workflow", "what to build, and what to do now"),
            Self::Learning => ("learning", "what rules stopped, and the rules made from it"),
            Self::Agents => ("agents", "who works here, and on what"),
            Self::Lifecycle => ("lifecycle", "the health of the memory"),
        }
    }
}

/// What a verb does to the memory, from harmless to grave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// Adds a record where there is none like it; a second time nothing changes.
    AddsOnce,
    /// Adds a record each time.
    Adds,
    /// Changes existing records' status.
    Changes,
    /// Takes records away.
    Removes,
}

impl Effect {
    /// The word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::AddsOnce => "adds_once",
            Self::Adds => "adds",
            Self::Changes => "changes",
            Self::Removes => "removes",
        }
    }
}

/// Who is offered a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Agents over MCP, and people.
    Everyone,
    /// People only, at the command line and in the browser: MCP neither lists nor calls it.
    People,
}

impl Audience {
    /// The word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::People => "people",
        }
    }
}

/// What a verb works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The memory alone: a team service offers it to agents without a checkout.
    Memory,
    /// The working tree too: its files, its reports, its policy, or this machine.
    Tree,
}

/// A verb, implemented on the engine's input: one engine call, and how people see the answer.
/// Schema, flags and help come from the input's fields.
pub(crate) trait Verb: DeserializeOwned + JsonSchema + 'static {
    /// Its name, in snake case.
    const NAME: &'static str;
    /// What it does and when to call it; models pay for each word.
    const ABOUT: &'static str;
    /// The same for a person's page of help.
    const HELP: &'static str = Self::ABOUT;
    /// A command line that works.
    const EXAMPLE: &'static str;
    /// What it does to the memory.
    const EFFECT: Effect;
    /// Who is offered it.
    const AUDIENCE: Audience = Audience::Everyone;
    /// The command that does it, where another one than its own does: `guard promote`.
    const COMMAND: Option<&'static str> = None;
    /// Whether a host that defers tool schemas should load this one at once.
    const ALWAYS_LOADED: bool = false;
    /// Whether [`Verb::question`] may ask something.
    const ASKS: bool = false;

    /// Fields that a command line may give without their flag, in this order.
    const WORDS: &'static [&'static str] = &[];
    /// Fields whose names do not speak for themselves: a model is shown the first
    /// paragraph of their doc comment.
    const DESCRIBED: &'static [&'static str] = &[];

    /// What it answers; its fields are the tool's JSON.
    type Output: Serialize + JsonSchema + 'static;

    /// Does it.
    fn run(&self, ctx: &CommandContext<'_>) -> Result<Self::Output, Failure>;

    /// Shows the answer to a person.
    fn show(output: &Self::Output, page: &mut TextPage);

    /// How a command with this answer ends.
    fn ending(_output: &Self::Output) -> ExitStatus {
        ExitStatus::Done
    }

    /// What the person behind the caller is asked before it is done, where that
    /// is possible: their word makes it weigh more.
    fn question(&self, _context: &CommandContext<'_>) -> Option<String> {
        None
    }

    /// What this call does to the memory, where it may do less than others of its verb.
    fn effect(&self) -> Effect {
        Self::EFFECT
    }

    /// The word a person types to confirm what [`Verb::question`] asks: the guard's name, the
    /// decision's id.
    fn confirm_name(&self) -> Option<String> {
        None
    }

    /// Adds flags that only a command line has; [`CommandContext::flags`] holds what was given.
    fn flags(command: Command) -> Command {
        command
    }

    /// Asks the person at this terminal for what their flags did not give.
    fn ask(
        given: Map<String, Value>,
        _flags: &ArgMatches,
    ) -> Result<Map<String, Value>, CommandError> {
        Ok(given)
    }
}

/// What a verb answered.
pub(crate) trait VerbAnswer {
    /// As the tool's JSON.
    fn to_json(&self) -> Value;
    /// The same as text in one line, which is quicker for a long answer.
    fn to_json_line(&self) -> String;
    /// For a person.
    fn show(&self, page: &mut TextPage);
    /// How a command with this answer ends.
    fn ending(&self) -> ExitStatus;
}

/// A verb's question to a person, its types erased.
pub(crate) type QuestionFn = fn(&CommandContext<'_>, &Map<String, Value>) -> Option<String>;

/// The word that confirms a verb's question, its types erased.
pub(crate) type ConfirmNameFn = fn(&Map<String, Value>) -> Option<String>;

/// What a call does to the memory, its types erased.
pub(crate) type EffectFn = fn(&Map<String, Value>) -> Effect;

/// A verb's work, its types erased.
pub(crate) type RunFn =
    fn(&CommandContext<'_>, Map<String, Value>) -> Result<Box<dyn VerbAnswer>, CommandError>;

/// A verb's questions about what was not given, its types erased.
pub(crate) type AskFn =
    fn(Map<String, Value>, &ArgMatches) -> Result<Map<String, Value>, CommandError>;

/// Names a field that was not given, and its flag.
pub(crate) type MissingFn = fn(&Map<String, Value>) -> Option<(String, String)>;

/// A verb in the table, its types erased.
pub(crate) struct VerbEntry {
    /// [`Verb::NAME`].
    pub name: &'static str,
    /// What it belongs to.
    pub group: VerbGroup,
    /// [`Verb::ABOUT`].
    pub about: &'static str,
    /// [`Verb::HELP`].
    pub help: &'static str,
    /// [`Verb::EXAMPLE`].
    pub example: &'static str,
    /// [`Verb::EFFECT`].
    pub effect: Effect,
    /// [`Verb::AUDIENCE`].
    pub audience: Audience,
    /// What it works on.
    pub needs: Needs,
    /// [`Verb::COMMAND`].
    pub command: Option<&'static str>,
    /// [`Verb::ALWAYS_LOADED`].
    pub always_loaded: bool,
    /// The schema of what it takes.
    pub input_schema: fn() -> Map<String, Value>,
    /// The schema of [`Verb::Output`].
    pub output_schema: fn() -> Map<String, Value>,
    /// [`flags::with_flags`].
    pub with_flags: fn(Command) -> Command,
    /// [`flags::read`].
    pub read_flags: fn(&ArgMatches) -> Result<Map<String, Value>, InvalidInput>,
    /// [`flags::missing`].
    pub missing: MissingFn,
    /// [`flags::typed_names`].
    pub typed_names: fn() -> Vec<(String, String)>,
    /// [`Verb::ask`].
    pub ask: AskFn,
    /// [`Verb::run`].
    pub run: RunFn,
    /// [`Verb::question`], of one that asks.
    pub question: Option<QuestionFn>,
    /// [`Verb::confirm_name`].
    pub confirm_name: ConfirmNameFn,
    /// [`Verb::effect`]; of what cannot be read, the gravest.
    pub effect_of: EffectFn,
}

impl VerbEntry {
    /// The entry of `V`.
    pub(crate) const fn of<V: Verb>(group: VerbGroup, needs: Needs) -> Self {
        Self {
            name: V::NAME,
            group,
            about: V::ABOUT,
            help: V::HELP,
            example: V::EXAMPLE,
            effect: V::EFFECT,
            audience: V::AUDIENCE,
            needs,
            command: V::COMMAND,
            always_loaded: V::ALWAYS_LOADED,
            input_schema: || schema::of_input::<V>(V::DESCRIBED),
            output_schema: schema::of_output::<V::Output>,
            with_flags: |command| {
                V::flags(flags::with_flags::<V>(command, &command_name(V::NAME), V::WORDS))
            },
            read_flags: |matches| flags::read::<V>(matches, V::WORDS),
            missing: flags::missing::<V>,
            typed_names: || flags::typed_names::<V>(V::WORDS),
            ask: V::ask,
            run: run::<V>,
            question: if V::ASKS { Some(question::<V>) } else { None },
            confirm_name: confirm_name::<V>,
            effect_of: effect_of::<V>,
        }
    }

    /// The name MCP clients call it by.
    pub(crate) fn tool_name(&self) -> String {
        format!("twining_{}", self.name)
    }

    /// Its name in words.
    pub(crate) fn title(&self) -> String {
        let mut title = self.name.replace('_', " ");
        title[..1].make_ascii_uppercase();
        title
    }

    /// What calls it on the command line: one word, or two for a verb of a family.
    pub(crate) fn command_name(&self) -> String {
        self.command.map_or_else(|| command_name(self.name), str::to_owned)
    }

    /// What a program is told of it: `twining schema` and the page are made from this.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "command": self.command_name(),
            "title": self.title(),
            "effect": self.effect.as_str(),
            "audience": self.audience.as_str(),
            "asks": self.question.is_some(),
            "input": (self.input_schema)(),
            "output": (self.output_schema)(),
        })
    }

    /// The family it belongs to on the command line, and its name in it.
    pub(crate) fn family(&self) -> Option<(&'static str, &'static str)> {
        family(self.name)
    }
}

/// What calls a verb on the command line.
pub(crate) fn command_name(name: &'static str) -> String {
    match family(name) {
        Some((family, name)) => format!("{family} {}", name.replace('_', "-")),
        None => name.replace('_', "-"),
    }
}

fn family(name: &'static str) -> Option<(&'static str, &'static str)> {
    FAMILIES
        .iter()
        .find_map(|(family, _)| Some((*family, name.strip_prefix(family)?.strip_prefix('_')?)))
}

struct TypedAnswer<V: Verb>(V::Output);

impl<V: Verb> VerbAnswer for TypedAnswer<V> {
    fn to_json(&self) -> Value {
        serde_json::to_value(&self.0).expect("answers have string keys")
    }

    fn to_json_line(&self) -> String {
        json_output::compact(&self.0)
    }

    fn show(&self, page: &mut TextPage) {
        V::show(&self.0, page);
        for taken in self.to_json()["redacted"].as_array().into_iter().flatten() {
            let word = |name: &str| plain(taken[name].as_str().unwrap_or_default());
            page.line([warn("redacted before writing:"), word("kind"), dim("in"), word("field")]);
        }
    }

    fn ending(&self) -> ExitStatus {
        V::ending(&self.0)
    }
}

fn run<V: Verb>(
    ctx: &CommandContext<'_>,
    fields: Map<String, Value>,
) -> Result<Box<dyn VerbAnswer>, CommandError> {
    let input: V =
        read_fields(Value::Object(fields)).map_err(|refused| CommandError::refused(&refused))?;
    Ok(Box::new(TypedAnswer::<V>(input.run(ctx)?)))
}

/// What cannot be read is not asked about: running it says why.
fn question<V: Verb>(ctx: &CommandContext<'_>, fields: &Map<String, Value>) -> Option<String> {
    read_fields::<V>(Value::Object(fields.clone())).ok()?.question(ctx)
}

fn effect_of<V: Verb>(fields: &Map<String, Value>) -> Effect {
    let input = read_fields::<V>(Value::Object(fields.clone()));
    input.map_or(V::EFFECT, |input| input.effect())
}

fn confirm_name<V: Verb>(fields: &Map<String, Value>) -> Option<String> {
    read_fields::<V>(Value::Object(fields.clone())).ok()?.confirm_name()
}

/// Reads a tool's arguments, and on failure names the field that is to blame:
/// serde knows only what it expected.
pub(crate) fn read_fields<T: DeserializeOwned + JsonSchema>(
    mut fields: Value,
) -> Result<T, InvalidInput> {
    within_limits(&fields)?;
    schema::settle::<T>(&mut fields)?;
    let error = match T::deserialize(&fields) {
        Ok(input) => return Ok(input),
        Err(error) => error.to_string(),
    };
    let known = schema::of_input::<T>(&[]);
    let is_field =
        |name: &str| known.get("properties").is_some_and(|fields| fields.get(name).is_some());
    if let Some((name, rest)) =
        quoted_after(&error, "unknown field `").filter(|(name, _)| fields.get(name).is_some())
    {
        let rest = rest.strip_prefix(", ").unwrap_or(rest);
        let rest =
            rest.replacen("expected one of", "it takes", 1).replacen("expected", "it takes", 1);
        return Err(
            InvalidInput::new(text::excerpt(name, 80), "is not a known field").because(rest)
        );
    }
    // One field at a time: the one that cannot be read alone is the one.
    for (name, value) in fields.as_object().into_iter().flatten() {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        let Err(error) = T::deserialize(&alone) else { continue };
        let error = error.to_string();
        if quoted_after(&error, "missing field `").is_none_or(|(missing, _)| !is_field(missing)) {
            return Err(InvalidInput::new(text::excerpt(name, 80), "cannot be read")
                .because(text::excerpt(&serde_messages::plain_message(&error), 200)));
        }
    }
    match quoted_after(&error, "missing field `") {
        Some((name, _)) => Err(InvalidInput::new(name.to_owned(), "is required")),
        None => Err(InvalidInput::new("arguments", "cannot be read")
            .because(text::excerpt(&serde_messages::plain_message(&error), 200))),
    }
}

fn within_limits(fields: &Value) -> Result<(), InvalidInput> {
    let depth = json_output::depth(fields);
    if depth > limits::JSON_DEPTH {
        return Err(InvalidInput::new(
            "arguments",
            format!("may be nested at most {} deep", limits::JSON_DEPTH),
        )
        .because(format!("{depth} were given")));
    }
    if json_output::weight(fields) > limits::RECORD_BYTES {
        let weights = fields
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (json_output::weight(value), name));
        let (bytes, name) =
            weights.max().map_or((0, "arguments"), |(bytes, name)| (bytes, name.as_str()));
        return Err(InvalidInput::new(
            text::excerpt(name, 80),
            format!("makes the request larger than {} bytes", limits::RECORD_BYTES),
        )
        .because(format!("it has {bytes} bytes")));
    }
    Ok(())
}

/// The word between `label` and the next backquote, and what follows it.
fn quoted_after<'e>(error: &'e str, label: &str) -> Option<(&'e str, &'e str)> {
    error.strip_prefix(label)?.split_once('`')
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;
    use twining_model::Alternative;

    use crate::verbs::verb::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only read")]
        summary: String,
        #[serde(default)]
        #[expect(dead_code, reason = "only read")]
        tags: Vec<String>,
        #[serde(default)]
        #[expect(dead_code, reason = "only read")]
        alternatives: Vec<Alternative>,
    }

    fn refusal(fields: &Value) -> String {
        read_fields::<Sample>(fields.clone()).expect_err("is refused").to_string()
    }

    #[test]
    fn a_wrong_argument_is_named() {
        assert_eq!(refusal(&json!({})), "`summary` is required");
        assert_eq!(
            refusal(&json!({"summary": 5})),
            "`summary` cannot be read; expected text, got the number `5`"
        );
        assert_eq!(
            refusal(&json!({"summary": "a", "tags": "b"})),
            "`tags` cannot be read; expected a list, got the text \"b\""
        );
        assert_eq!(
            refusal(&json!({"summary": "a", "sumary": "b"})),
            "`sumary` is not a known field; it takes `summary`, `tags`, `alternatives`"
        );
    }

    #[test]
    fn a_call_that_only_lists_reads() {
        let effect = |name: &str, fields: Value| {
            let verb = crate::commands::VERBS.iter().find(|verb| verb.name == name);
            (verb.expect("a verb").effect_of)(fields.as_object().expect("an object"))
        };
        assert_eq!(effect("features", json!({})), Effect::Reads);
        assert_eq!(effect("features", json!({"action": "list", "id": "F1"})), Effect::Reads);
        assert_eq!(effect("features", json!({"action": "update", "id": "F1"})), Effect::Changes);
        assert_eq!(effect("features", json!({"action": 5})), Effect::Changes);
        assert_eq!(effect("claim", json!({"action": "list"})), Effect::Reads);
        assert_eq!(effect("claim", json!({"paths": ["src/"]})), Effect::Changes);
    }

    #[test]
    fn null_is_the_same_as_nothing() {
        assert!(
            read_fields::<Sample>(json!({"summary": "a", "tags": null, "alternatives": null}))
                .is_ok()
        );
        assert_eq!(refusal(&json!({"summary": null})), "`summary` is required");
    }

    #[test]
    fn a_list_does_not_pass_for_an_object() {
        assert_eq!(
            refusal(&json!({"summary": "a", "alternatives": [["opt", ["p"], ["c"], "rr"]]})),
            "`alternatives[0]` must be an object; a list was given"
        );
        assert_eq!(
            refusal(&json!({"summary": "a", "alternatives": [5]})),
            "`alternatives[0]` must be an object; a number was given"
        );
    }

    #[test]
    fn a_field_missing_inside_another_is_blamed_on_that_one() {
        assert_eq!(
            refusal(&json!({"summary": "a", "alternatives": [{"pros": []}]})),
            "`alternatives` cannot be read; field `option` is missing"
        );
    }

    #[test]
    fn ten_megabytes_are_refused_by_the_field_that_holds_them() {
        let refused = refusal(&json!({"summary": "x".repeat(10_000_000)}));
        assert_eq!(
            refused,
            "`summary` makes the request larger than 1048576 bytes; it has 10000002 bytes"
        );
    }

    #[test]
    fn json_that_is_nested_too_deep_is_refused() {
        let mut deep = json!("x");
        for _ in 0..70 {
            deep = json!([deep]);
        }
        assert!(
            refusal(&json!({"summary": deep}))
                .starts_with("`arguments` may be nested at most 64 deep")
        );
    }
}
