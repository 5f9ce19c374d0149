//! Flags made from a verb's input: each field of its schema is a flag, and the field's
//! doc comment is its help. What was given becomes the JSON that an MCP client would
//! send, and is checked as that is.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, Error};
use schemars::JsonSchema;
use serde_json::{Map, Number, Value};
use twining_model::{InvalidInput, text};

use crate::verbs::schema;
use crate::verbs::serde_messages;

/// Fields that flags of every command give.
const EVERYWHERE: [&str; 3] = ["agent_id", "source_agent", "project"];

/// Flags that every command has.
const GLOBAL: [&str; 4] = ["agent", "project", "json", "json-input"];

/// Fields whose flag is not their name; what is one thing is one flag in every verb.
/// Their names, and those of others with that flag, are taken too.
const SPELLED: [(&str, &str); 27] = [
    ("acceptance_criteria", "criterion"),
    ("acceptance_criteria_status", "criterion"),
    ("adds", "adds"),
    ("affected_files", "file"),
    ("agent", "of"),
    ("blockers_found", "blocker"),
    ("capabilities", "can"),
    ("commit_hash", "commit"),
    ("data", "data"),
    ("entity_types", "type"),
    ("entry_types", "type"),
    ("entry_type", "type"),
    ("files_modified", "file"),
    ("last", "limit"),
    ("lessons_from_turn", "lesson"),
    ("max_results", "limit"),
    ("minutes", "for"),
    ("n", "limit"),
    ("new_context", "why"),
    ("operations", "op"),
    ("quality_gate_results", "gate-results"),
    ("rationale", "why"),
    ("reason", "why"),
    ("required_capabilities", "needs"),
    ("story_id", "story"),
    ("target_agent", "to"),
    ("what_was_correct", "correct"),
];

/// Lists whose items may hold a comma.
const WHOLE: [&str; 8] = [
    "acceptance_criteria",
    "adds",
    "affected_symbols",
    "blockers_found",
    "commands",
    "constraints",
    "lessons_from_turn",
    "paths",
];

/// A field of an input, as a command line gives it.
struct Field {
    /// Its path in the JSON: `evidence.tests.run`.
    path: String,
    long: String,
    shape: FlagShape,
    help: String,
    /// What it can be, where that is a closed set.
    offered: Vec<String>,
    /// What a value given as JSON looks like, where that is known.
    example: String,
    is_required: bool,
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq)]
enum FlagShape {
    /// False unless it is given.
    Switch,
    /// True, false, or not given.
    Truth,
    /// A number of things.
    CountKind,
    Whole,
    Fraction,
    Text,
    Texts,
    NumberPairs,
    Json,
    Jsons,
}

/// Adds the flags of `T` to the command of this name, and the fields it takes as `words`.
pub(crate) fn with_flags<T: JsonSchema>(command: Command, name: &str, words: &[&str]) -> Command {
    let fields = fields::<T>();
    let shorthands: Vec<&Field> = of_words(&fields, words).collect();
    let usage = usage(name, &fields, &shorthands);
    let flags = fields.iter().map(|field| {
        let others = fields.iter().filter(|other| other.path != field.path);
        let taken: Vec<&str> = others.map(|other| other.long.as_str()).chain(GLOBAL).collect();
        field
            .flag()
            .hide(words.contains(&field.path.as_str()))
            .aliases(field.aliases().into_iter().filter(|name| !taken.contains(&name.as_str())))
    });
    command.args(shorthands.iter().map(|field| field.word())).args(flags).override_usage(usage)
}

/// What was given, as the tool's JSON.
pub(crate) fn read<T: JsonSchema>(
    matches: &ArgMatches,
    words: &[&str],
) -> Result<Map<String, Value>, InvalidInput> {
    let fields = fields::<T>();
    let mut given = Map::new();
    for field in &fields {
        let values: Vec<&String> = matches.get_many(&field.flag_id()).unwrap_or_default().collect();
        field.put(&mut given, &values)?;
    }
    let mut rest = of_words(&fields, words)
        .flat_map(|field| matches.get_many::<String>(&field.word_id()).unwrap_or_default())
        .peekable();
    for field in of_words(&fields, words) {
        // `recent src/` leaves out how many.
        let is_passed_over = field.shape == FlagShape::CountKind
            && words.last() != Some(&field.path.as_str())
            && rest.peek().is_some_and(|word| number(word, field.shape).is_err());
        if given.contains_key(&field.path) || is_passed_over {
            continue;
        }
        let most = if field.shape == FlagShape::Texts { usize::MAX } else { 1 };
        let taken: Vec<&String> = rest.by_ref().take(most).collect();
        field.put(&mut given, &taken)?;
    }
    match rest.next() {
        Some(word) => {
            let twice = of_words(&fields, words).map(|field| {
                format!("give {} once, as a word or with --{}", field.value_name(), field.long)
            });
            let refused = InvalidInput::new(serde_messages::short(word), "is one word too many");
            Err(refused.because(twice.collect::<Vec<_>>().join("; ")))
        }
        None => Ok(given),
    }
}

/// The first field that must be given and is not, and its flag.
pub(crate) fn missing<T: JsonSchema>(given: &Map<String, Value>) -> Option<(String, String)> {
    let is_given = |field: &Field| given.get(&field.path).is_some_and(|value| !value.is_null());
    let mut fields = fields::<T>().into_iter();
    fields.find(|field| field.is_required && !is_given(field)).map(|field| (field.path, field.long))
}

/// Every field, and what a command line calls it: its flag, or its place among the words.
pub(crate) fn typed_names<T: JsonSchema>(words: &[&str]) -> Vec<(String, String)> {
    let typed = |field: &Field| match words.contains(&field.path.as_str()) {
        true => field.value_name(),
        false => format!("--{}", field.long),
    };
    fields::<T>().into_iter().map(|field| (field.path.clone(), typed(&field))).collect()
}

fn fields<T: JsonSchema>() -> Vec<Field> {
    let mut fields = Vec::new();
    collect(&schema::whole::<T>(), "", &mut fields);
    fields
}

fn of_words<'f>(fields: &'f [Field], words: &[&str]) -> impl Iterator<Item = &'f Field> {
    words
        .iter()
        .filter_map(|name| fields.iter().find(|field| field.path == *name))
        .collect::<Vec<_>>()
        .into_iter()
}

fn collect(schema: &Map<String, Value>, above: &str, fields: &mut Vec<Field>) {
    let required = schema.get("required").and_then(Value::as_array);
    for (name, property) in
        schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        let Some(property) = property.as_object().filter(|_| !EVERYWHERE.contains(&name.as_str()))
        else {
            continue;
        };
        let path = format!("{above}{name}");
        if property.contains_key("properties") {
            collect(property, &format!("{path}."), fields);
            continue;
        }
        let is_required =
            above.is_empty() && required.is_some_and(|names| names.iter().any(|one| one == name));
        fields.push(Field::of(path, name, property, is_required));
    }
}

/// The parser requires nothing, because it may be given in JSON; help still shows what is required.
fn usage(name: &str, fields: &[Field], shorthands: &[&Field]) -> String {
    let mut usage = format!("twining {name} [OPTIONS]");
    let is_word = |field: &Field| shorthands.iter().any(|word| word.path == field.path);
    for field in fields.iter().filter(|field| field.is_required && !is_word(field)) {
        usage.push_str(&format!(" --{} <{}>", field.long, field.value_name()));
    }
    for field in shorthands {
        let (open, close) = if field.is_required { ('<', '>') } else { ('[', ']') };
        let more = if field.shape == FlagShape::Texts { "..." } else { "" };
        usage.push_str(&format!(" {open}{}{close}{more}", field.value_name()));
    }
    usage
}

impl Field {
    fn of(path: String, name: &str, schema: &Map<String, Value>, is_required: bool) -> Self {
        let shape = FlagShape::of(schema);
        let items = schema.get("items").and_then(|items| items.get("enum"));
        let offered = schema
            .get("enum")
            .or(items)
            .or_else(|| schema.get(schema::OFFERED))
            .and_then(Value::as_array);
        let offered =
            offered.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let help = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .replace("\n\n", ". ");
        let long = spelled(&path, name, shape);
        let example = example(schema);
        Self { long, path, shape, help, offered, example, is_required }
    }

    fn flag_id(&self) -> String {
        format!("field {}", self.path)
    }

    fn word_id(&self) -> String {
        format!("word {}", self.path)
    }

    fn flag(&self) -> Arg {
        let flag = Arg::new(self.flag_id())
            .long(self.long.clone())
            .help(self.help.clone())
            .value_name(self.value_name());
        let flag = match self.shape {
            FlagShape::Switch => flag
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .hide_possible_values(true),
            FlagShape::Truth => {
                flag.num_args(0..=1).default_missing_value("true").hide_possible_values(true)
            }
            FlagShape::Texts | FlagShape::NumberPairs | FlagShape::Jsons => {
                flag.action(ArgAction::Append)
            }
            _ => flag,
        };
        flag.value_parser(Offered(self.offered()))
    }

    /// Other names of its flag: its own, and those of every field that has this flag.
    fn aliases(&self) -> Vec<String> {
        let named = SPELLED.iter().filter(|(_, long)| *long == self.long).map(|(name, _)| *name);
        let mut names: Vec<String> = named
            .chain(self.path.rsplit('.').next())
            .flat_map(|name| [name, singular(name)])
            .map(|name| name.replace('_', "-"))
            .filter(|name| *name != self.long)
            .collect();
        // What a claim covers is its scope.
        names.extend((self.path == "paths").then(|| "scope".to_owned()));
        names.sort();
        names.dedup();
        names
    }

    fn word(&self) -> Arg {
        let help = format!("{} [or --{}]", self.help, self.long);
        let word = Arg::new(self.word_id())
            .help(help)
            .value_name(self.value_name())
            .value_parser(Offered(self.offered()));
        if self.shape == FlagShape::Texts {
            word.num_args(0..).action(ArgAction::Append)
        } else {
            word
        }
    }

    fn offered(&self) -> Vec<String> {
        match self.shape {
            FlagShape::Switch | FlagShape::Truth => ["true", "false"].map(str::to_owned).to_vec(),
            _ => self.offered.clone(),
        }
    }

    /// The placeholder for the value in help.
    fn value_name(&self) -> String {
        let name = self.path.rsplit('.').next().unwrap_or_default();
        let placeholder = match self.shape {
            FlagShape::Switch | FlagShape::Truth => "BOOL",
            FlagShape::CountKind | FlagShape::Whole | FlagShape::Fraction => "N",
            FlagShape::NumberPairs => "KEY=VALUE",
            FlagShape::Json | FlagShape::Jsons => "JSON",
            _ if matches!(name, "since" | "until" | "before" | "ttl") || name.ends_with("_at") => {
                "TIME"
            }
            _ if name.ends_with("_id")
                || name.ends_with("ids")
                || matches!(name, "supersedes" | "depends_on" | "relates_to") =>
            {
                "ID"
            }
            _ if matches!(
                name,
                "files"
                    | "affected_files"
                    | "files_modified"
                    | "paths"
                    | "reports"
                    | "data"
                    | "ci_report"
            ) =>
            {
                "PATH"
            }
            _ if name == "rules_out" => "LIB,PATH",
            _ if WHOLE.contains(&name) => "TEXT",
            _ => return self.long.replace('-', "_").to_uppercase(),
        };
        placeholder.to_owned()
    }

    /// Puts the given values at the field's path in the JSON.
    fn put(&self, given: &mut Map<String, Value>, values: &[&String]) -> Result<(), InvalidInput> {
        let Some(last) = values.last() else { return Ok(()) };
        let refused = |why: String| {
            InvalidInput::new(self.path.clone(), "cannot be read").because(text::excerpt(&why, 200))
        };
        let value = match self.shape {
            FlagShape::Texts => {
                Value::Array(self.split(values).into_iter().map(|value| self.text(value)).collect())
            }
            FlagShape::Jsons => {
                Value::Array(values.iter().map(|text| self.json(text)).collect::<Result<_, _>>()?)
            }
            FlagShape::NumberPairs => Value::Object(
                values.iter().map(|text| pair(text)).collect::<Result<_, _>>().map_err(refused)?,
            ),
            FlagShape::Json => self.json(last)?,
            FlagShape::Switch | FlagShape::Truth => Value::from(
                last.parse::<bool>().map_err(|_| refused("write true or false".to_owned()))?,
            ),
            FlagShape::CountKind | FlagShape::Whole | FlagShape::Fraction => {
                Value::Number(number(last, self.shape).map_err(refused)?)
            }
            FlagShape::Text => self.text(last),
        };
        let mut level = given;
        let mut names: Vec<&str> = self.path.split('.').collect();
        let name = names.pop().unwrap_or_default();
        for above in names {
            let inner = level.entry(above).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = inner else { return Ok(()) };
            level = inner;
        }
        level.insert(name.to_owned(), value);
        Ok(())
    }

    fn json(&self, given: &str) -> Result<Value, InvalidInput> {
        serde_json::from_str(given).map_err(|_| {
            InvalidInput::new(self.path.clone(), format!("takes JSON{}", self.example))
        })
    }

    /// A word that is not offered is likely refused, and what is refused is repeated:
    /// a secret must not be.
    fn text(&self, value: &str) -> Value {
        let is_known = self.offered.is_empty() || self.offered.iter().any(|word| word == value);
        if is_known { Value::from(value) } else { Value::from(serde_messages::short(value)) }
    }

    fn split<'v>(&self, values: &[&'v String]) -> Vec<&'v str> {
        if WHOLE.contains(&self.path.as_str()) {
            return values.iter().map(|value| value.as_str()).collect();
        }
        values.iter().flat_map(|value| value.split(',')).collect()
    }
}

impl FlagShape {
    fn of(schema: &Map<String, Value>) -> Self {
        let items = schema.get("items");
        let is_text = |schema: &Value| schema.get("type").is_some_and(|name| name == "string");
        let may_be_null = schema.get("type").is_some_and(Value::is_array);
        let name = match schema.get("type") {
            Some(Value::Array(names)) => names.iter().find(|name| *name != "null"),
            name => name,
        };
        match name.and_then(Value::as_str) {
            Some("boolean") if may_be_null => Self::Truth,
            Some("boolean") => Self::Switch,
            Some("integer") if schema.contains_key("minimum") => Self::CountKind,
            Some("integer") => Self::Whole,
            Some("number") => Self::Fraction,
            Some("array") if items.is_some_and(is_text) => Self::Texts,
            Some("array") => Self::Jsons,
            Some("object") if schema.get("additionalProperties").is_some_and(is_text) => {
                Self::NumberPairs
            }
            Some("string") => Self::Text,
            _ => Self::Json,
        }
    }
}

/// The required fields of this schema, or of its items.
fn example(schema: &Map<String, Value>) -> String {
    let object = schema.get("items").and_then(Value::as_object).unwrap_or(schema);
    let required = object.get("required").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<String> =
        required.filter_map(Value::as_str).map(|name| format!("\"{name}\":\"…\"")).collect();
    if names.is_empty() { String::new() } else { format!(", such as '{{{}}}'", names.join(",")) }
}

/// One of what a name says many of; `status` is one already.
fn singular(name: &str) -> &str {
    name.strip_suffix('s').filter(|one| !one.ends_with('u')).unwrap_or(name)
}

fn spelled(path: &str, name: &str, shape: FlagShape) -> String {
    if let Some((_, long)) = SPELLED.iter().find(|(field, _)| *field == name) {
        return (*long).to_owned();
    }
    let one = match shape {
        FlagShape::Texts | FlagShape::Jsons | FlagShape::NumberPairs => {
            match name.strip_suffix("ies") {
                Some(stem) => format!("{stem}y"),
                None => singular(name).to_owned(),
            }
        }
        _ if path.contains("tests.") => format!("tests_{name}"),
        _ => name.to_owned(),
    };
    one.replace('_', "-")
}

/// Lists what a value may be and takes any: the engine knows best what to say of another.
#[derive(Clone)]
struct Offered(Vec<String>);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        if self.0.is_empty() { None } else { Some(Box::new(self.0.iter().map(PossibleValue::new))) }
    }
}

fn pair(given: &str) -> Result<(String, Value), String> {
    let (key, value) = given.split_once('=').ok_or("write it as key=value")?;
    if key.trim().is_empty() {
        return Err("the key before `=` is empty".to_owned());
    }
    Ok((key.trim().to_owned(), Value::from(value)))
}

fn number(given: &str, shape: FlagShape) -> Result<Number, String> {
    let word = given.trim();
    let read = match shape {
        FlagShape::CountKind => word.parse::<u64>().ok().map(Number::from),
        FlagShape::Whole => word.parse::<i64>().ok().map(Number::from),
        _ => word.parse().ok().and_then(Number::from_f64),
    };
    read.ok_or_else(|| match shape {
        FlagShape::CountKind => "write a positive whole number".to_owned(),
        FlagShape::Whole => "write a whole number".to_owned(),
        _ => "write a number".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use crate::verbs::flags::*;
    use twining_testcases::each;

    #[test]
    fn a_word_that_is_no_number_is_refused_in_words() {
        assert_eq!(number("20", FlagShape::CountKind), Ok(Number::from(20)));
        each(["x", "-1", "2.5", "99999999999999999999999"], |wrong| {
            assert_eq!(
                number(wrong, FlagShape::CountKind),
                Err("write a positive whole number".to_owned()),
                "{wrong}"
            );
        });
        assert_eq!(number("-1", FlagShape::Whole), Ok(Number::from(-1)));
    }

    #[test]
    fn a_property_is_split_at_its_first_equals_sign() {
        assert_eq!(pair("sql=a=b"), Ok(("sql".to_owned(), Value::from("a=b"))));
        assert!(pair("no sign").is_err());
        assert!(pair("=x").is_err());
    }
}
