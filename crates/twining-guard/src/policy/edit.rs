//! A guard written into a policy, or promoted in it, with every other byte left
//! as it is.
//!
//! The text is edited by lines and then read again: if anything but what was
//! meant reads differently, nothing is changed.

use crate::policy::parse::{self, Examples, GuardSource};
use crate::policy::rule::Guard;
use crate::policy::source::Layer;
use crate::policy::yaml::{self, Key, Node, Spot, Value};
use crate::verdict::Level;

/// A guard to be written: its id, and its other fields as YAML on one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGuard {
    /// Its id.
    pub id: String,
    /// Its other fields.
    pub fields: Vec<(&'static str, String)>,
    /// A comment above its last field.
    pub remark: String,
}

/// The policy with the guard at the end of its guards, and the guard as it reads there.
pub fn with_guard(text: &str, new: &NewGuard) -> Result<(String, Guard), String> {
    let before = read(text)?;
    if find(text, &new.id)?.is_some() {
        return Err(format!("there is a guard `{}` already", new.id));
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let guards = before.iter().find(|(key, _)| key.name == "guards");
    let (at, written) = match guards {
        None => {
            if lines.last().is_some_and(|line| !line.trim().is_empty()) {
                lines.push(String::new());
            }
            lines.push("guards:".to_owned());
            (lines.len(), as_item(new, 2))
        }
        Some((key, node)) => {
            let at = end_of(&lines, key.at);
            match &node.value {
                Value::Nothing => (at, as_item(new, 2)),
                Value::List(items) if items.is_empty() => {
                    emptied(&mut lines, key.at, "[]")?;
                    (at, as_item(new, 2))
                }
                Value::Map(entries) if entries.is_empty() => {
                    emptied(&mut lines, key.at, "{}")?;
                    (at, as_item(new, 2))
                }
                Value::List(items) => (at, as_item(new, dash_of(&lines, items[0].at).ok_or(FLOW)?)),
                Value::Map(entries) => {
                    let first = entries[0].0.at;
                    if first.line == key.at.line {
                        return Err(FLOW.to_owned());
                    }
                    (at, as_entry(new, column(first)))
                }
                _ => return Err("`guards:` is neither a list nor a map".to_owned()),
            }
        }
    };
    lines.splice(at..at, written);
    let mut after = lines.join(newline);
    after.push_str(newline);
    let guard = find(&after, &new.id)?.ok_or("the guard does not read as it was written")?;
    unchanged_but(text, &after, &new.id)?;
    Ok((after, guard))
}

const FLOW: &str = "the guards stand in one line with brackets; put each on lines of its own first";

/// The policy with a proposed guard in force.
pub fn promoted(text: &str, id: &str) -> Result<(String, Guard), String> {
    let guard = find(text, id)?.ok_or_else(|| format!("there is no guard `{id}` in the project's policy"))?;
    if !guard.proposed {
        return Err(format!("`{id}` is not proposed: it is in force already, as {}", guard.action.as_str()));
    }
    let written = entry(text, id)?.ok_or("it is not there")?;
    let mut spots: Vec<(Spot, &str)> = Vec::new();
    for (key, node) in &written.fields {
        match key.name.as_str() {
            "status" => spots.push((node.at, "active")),
            "action" if level_of(node) != Some(Level::Block) => spots.push((node.at, "block")),
            _ => {}
        }
    }
    // From the end: an edit must not move the places of the next.
    spots.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (at, word) in spots {
        let line = lines.get_mut(row(at)).ok_or("the place of a field is not known")?;
        *line = reworded(line, column(at), word)?;
    }
    let mut after = lines.join(newline);
    if text.ends_with('\n') {
        after.push_str(newline);
    }
    let guard = find(&after, id)?.filter(|guard| !guard.proposed && guard.action == Level::Block);
    let guard = guard.ok_or("its fields are written in a way that only a person can change")?;
    unchanged_but(text, &after, id)?;
    Ok((after, guard))
}

fn level_of(node: &Node) -> Option<Level> {
    match &node.value {
        Value::Text(word) => Level::read(word),
        Value::Bool(false) => Some(Level::Off),
        _ => None,
    }
}

fn read(text: &str) -> Result<Vec<(Key, Node)>, String> {
    let (entries, broken) = yaml::read(text);
    match broken.first() {
        Some(broken) => Err(format!("line {} of the policy is no YAML: {}", broken.at.line, broken.why)),
        None => Ok(entries),
    }
}

fn written(text: &str) -> Vec<GuardSource> {
    parse::read(text, "", &mut Vec::new()).guards
}

fn entry(text: &str, id: &str) -> Result<Option<GuardSource>, String> {
    let mut all = written(text).into_iter().filter(|written| written.id == id);
    let one = all.next();
    if all.next().is_some() {
        return Err(format!("`{id}` stands there more than once"));
    }
    Ok(one)
}

fn find(text: &str, id: &str) -> Result<Option<Guard>, String> {
    entry(text, id)?.map(|written| parse::compile(&written, Layer::Project, None, Examples::Read)).transpose()
}

/// Whether both texts read the same, but for one guard.
fn unchanged_but(before: &str, after: &str, id: &str) -> Result<(), String> {
    let rest = |text: &str| -> Result<String, String> {
        let keys = read(text)?.into_iter().filter(|(key, _)| key.name != "guards");
        let keys: String = keys.map(|(key, node)| format!("{}={};", key.name, bare(&node.value))).collect();
        let guards = written(text).into_iter().filter(|written| written.id != id);
        let guards: String = guards.map(|written| format!("{}={};", written.id, bare(&Value::Map(written.fields)))).collect();
        Ok(keys + &guards)
    };
    if rest(before)? == rest(after)? { Ok(()) } else { Err("the rest of the policy would read differently".to_owned()) }
}

/// A value without the places it stands at.
fn bare(value: &Value) -> String {
    match value {
        Value::List(items) => format!("[{}]", items.iter().map(|node| bare(&node.value)).collect::<Vec<_>>().join(",")),
        Value::Map(entries) => {
            format!(
                "{{{}}}",
                entries.iter().map(|(key, node)| format!("{:?}:{}", key.name, bare(&node.value))).collect::<Vec<_>>().join(",")
            )
        }
        other => format!("{other:?}"),
    }
}

fn row(at: Spot) -> usize {
    usize::try_from(at.line).unwrap_or(1).saturating_sub(1)
}

fn column(at: Spot) -> usize {
    usize::try_from(at.column).unwrap_or(1).saturating_sub(1)
}

/// The line after the last one of the guards.
fn end_of(lines: &[String], key: Spot) -> usize {
    let mut end = row(key) + 1;
    for (at, line) in lines.iter().enumerate().skip(row(key) + 1) {
        let inside = line.starts_with([' ', '\t']) || line.starts_with("- ") || line == "-";
        if line.trim().is_empty() || (line.starts_with('#') && !inside) {
            continue;
        }
        if !inside {
            break;
        }
        end = at + 1;
    }
    end
}

/// The column of the dash in front of an item; none where there is none.
fn dash_of(lines: &[String], item: Spot) -> Option<usize> {
    let line = lines.get(row(item))?;
    let before: String = line.chars().take(column(item)).collect();
    let dash = before.trim_end();
    (dash.ends_with('-') && dash.trim_start() == "-").then(|| dash.chars().count() - 1)
}

/// Takes empty brackets away behind the key.
fn emptied(lines: &mut [String], key: Spot, brackets: &str) -> Result<(), String> {
    let line = lines.get_mut(row(key)).ok_or("the place of the guards is not known")?;
    if !line.contains(brackets) {
        return Err(FLOW.to_owned());
    }
    *line = line.replacen(brackets, "", 1).trim_end().to_owned();
    Ok(())
}

fn as_item(new: &NewGuard, indent: usize) -> Vec<String> {
    let (pad, inner) = (" ".repeat(indent), " ".repeat(indent + 2));
    let mut lines = vec![format!("{pad}- id: {}", word(&new.id))];
    lines.extend(fields(new, &inner));
    lines
}

fn as_entry(new: &NewGuard, indent: usize) -> Vec<String> {
    let (pad, inner) = (" ".repeat(indent), " ".repeat(indent + 2));
    let mut lines = vec![format!("{pad}{}:", word(&new.id))];
    lines.extend(fields(new, &inner));
    lines
}

fn fields(new: &NewGuard, pad: &str) -> Vec<String> {
    let mut lines: Vec<String> = new.fields.iter().map(|(key, value)| format!("{pad}{key}: {value}")).collect();
    let remark = twining_model::text::excerpt(&new.remark, 200);
    if !remark.is_empty() {
        lines.insert(lines.len().saturating_sub(1), format!("{pad}# {remark}"));
    }
    lines
}

/// A word as YAML takes it for text.
fn word(text: &str) -> String {
    let keyword = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
    if keyword || !text.starts_with(|c: char| c.is_ascii_alphabetic()) { quoted(text) } else { text.to_owned() }
}

/// A JSON string is a YAML string in double quotes: nothing in it can end it.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(twining_model::text::visible(text).replace(['\n', '\t'], " ")).to_string()
}

/// A line with the word at a column replaced, quoted or not.
fn reworded(line: &str, column: usize, word: &str) -> Result<String, String> {
    let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let (before, rest) = line.split_at(at);
    let length = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].find(quote).map(|end| end + 2),
        _ => Some(rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())),
    };
    match length {
        Some(length) if length > 0 => Ok(format!("{before}{word}{}", &rest[length..])),
        _ => Err("the place of a field is not known".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(id: &str) -> NewGuard {
        let fields = vec![
            ("status", "proposed".to_owned()),
            ("action", "warn".to_owned()),
            ("when", "{command: [\"git push\"]}".to_owned()),
            ("say", quoted("no: {pushing}\n# by agents\"")),
        ];
        NewGuard { id: id.to_owned(), fields, remark: "backtest: 3 of 40".to_owned() }
    }

    const ADDED: &str = "  - id: no-push\n    status: proposed\n    action: warn\n    when: {command: [\"git push\"]}\n    # backtest: 3 of 40\n    say: \"no: {pushing} # by agents\\\"\"\n";

    #[test]
    fn a_guard_is_written_where_there_are_none() {
        for (before, after) in [
            ("", format!("guards:\n{ADDED}")),
            ("# mine\nroles: {}\n", format!("# mine\nroles: {{}}\n\nguards:\n{ADDED}")),
            ("guards:\nroles: {}\n", format!("guards:\n{ADDED}roles: {{}}\n")),
            ("guards: []  # none yet\nroles: {}\n", format!("guards:   # none yet\n{ADDED}roles: {{}}\n")),
            ("guards: {}\n", format!("guards:\n{ADDED}")),
        ] {
            let (text, guard) = with_guard(before, &new("no-push")).expect("writes");
            assert_eq!(text, after);
            assert!(guard.proposed && guard.action == Level::Warn);
            assert_eq!(guard.say, "no: {pushing} # by agents\"");
        }
    }

    #[test]
    fn comments_layout_and_the_other_guards_stay_to_the_byte() {
        let before = "# policy\nguards:   # what stops\n    - id: a   # first\n      tools: [Bash]\n      say: |\n        two\n\n        lines\n    # last of them\n\n# roles follow\nroles: {}\n";
        let (text, _) = with_guard(before, &new("no-push")).expect("writes");
        let (head, tail) = before.split_at(before.find("\n# roles").expect("is there"));
        assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
        assert!(text.contains("    # last of them\n    - id: no-push\n      status: proposed\n"), "{text}");

        let map = "guards:\r\n  a: {tools: [Bash], say: x}\r\n";
        let (text, _) = with_guard(map, &new("no-push")).expect("writes");
        assert!(text.starts_with(map) && text.contains("\r\n  no-push:\r\n    status: proposed\r\n"), "{text:?}");
        let flush = "guards:\n- id: a\n  tools: [Bash]\n  say: x\n";
        assert!(with_guard(flush, &new("b")).expect("writes").0.contains("\n- id: b\n  status"), "a list without indent");
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left_alone() {
        for before in ["guards: [{id: a, tools: [Bash], say: x}]\n", "guards: {a: {tools: [Bash], say: x}}\n", "guards: [\n", "guards: 5\n"]
        {
            assert!(with_guard(before, &new("b")).is_err(), "{before}");
        }
        assert!(with_guard("guards:\n  - {id: b, tools: [Bash], say: x}\n", &new("b")).expect_err("twice").contains("already"));
    }

    #[test]
    fn a_promoted_guard_blocks_and_nothing_else_changes() {
        let (text, _) = with_guard("# c\nguards:\n  - {id: a, tools: [Bash], say: x, action: warn}\n", &new("no-push")).expect("writes");
        let (after, guard) = promoted(&text, "no-push").expect("promotes");
        assert_eq!(guard.action, Level::Block);
        assert_eq!(after, text.replace("status: proposed\n    action: warn", "status: active\n    action: block"));
        assert!(promoted(&after, "no-push").expect_err("once").contains("in force"));
        assert!(promoted(&after, "nobody").expect_err("none").contains("no guard"));
        let flow = "guards:\n  - {id: a, status: 'proposed', action: \"ask\", tools: [Bash], say: x}\n";
        assert_eq!(promoted(flow, "a").expect("promotes").0, flow.replace("'proposed'", "active").replace("\"ask\"", "block"));
    }
}
