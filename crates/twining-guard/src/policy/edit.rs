//! Adds a guard to a policy, promotes or discards one in it, leaving every other byte unchanged.
//!
//! Only the usual layout, a block list, is edited; for any other the caller is asked to make the
//! change by hand. The edited text is parsed again: if it changes another guard, nothing is
//! written.

use crate::policy::guard::Guard;
use crate::policy::parse::{self, Examples, GuardSource};
use crate::policy::provenance::PolicyLayer;
use crate::policy::weakened::{policy_weakened, weakened_beside};
use crate::policy::yaml::{self, YamlPosition, YamlValue};
use crate::verdict::Verdict;

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

const BY_HAND: &str =
    "`guards:` is not a list with each guard on its own lines; make the change manually";

/// The policy with the guard at the end of its guards, and the guard as it reads there.
pub fn with_guard(text: &str, new: &NewGuard) -> Result<(String, Guard), String> {
    if find(text, &new.id)?.is_some() {
        return Err(format!("guard `{}` already exists", new.id));
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (at, indent) = match yaml::read(text).0.into_iter().find(|(key, _)| key.name == "guards") {
        None => {
            lines
                .extend(lines.last().is_some_and(|line| !line.trim().is_empty()).then(String::new));
            lines.push("guards:".to_owned());
            (lines.len(), 2)
        }
        Some((key, node)) => match node.value {
            YamlValue::Nothing => (row(key.at) + 1, 2),
            YamlValue::List(items) if items.is_empty() && lines[row(key.at)].contains("[]") => {
                lines[row(key.at)] = lines[row(key.at)].replacen("[]", "", 1).trim_end().to_owned();
                (row(key.at) + 1, 2)
            }
            YamlValue::List(items) => {
                let first =
                    items.first().and_then(|item| lines.get(row(item.at))).ok_or(BY_HAND)?;
                let dash = first
                    .find('-')
                    .filter(|dash| first[..*dash].trim().is_empty())
                    .ok_or(BY_HAND)?;
                (end_of(&lines, row(key.at) + 1), dash)
            }
            _ => return Err(BY_HAND.to_owned()),
        },
    };
    lines.splice(at..at, written(new, indent));
    checked(text, &lines, &new.id)
}

/// The policy with a proposed guard in force.
pub fn promoted(text: &str, id: &str) -> Result<(String, Guard), String> {
    let (source, guard) = find(text, id)?
        .ok_or_else(|| format!("there is no guard `{id}` in the project's policy"))?;
    if !guard.proposed {
        return Err(format!(
            "`{id}` is not proposed: it is in force already, as {}",
            guard.action.as_str()
        ));
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // From the end: an edit must not move the places of the next.
    for (key, node) in source.fields.iter().rev() {
        let new = match (key.name.as_str(), &node.value) {
            ("status", YamlValue::Text(old)) => Some((old, "active")),
            ("action", YamlValue::Text(old)) => Some((old, "block")),
            _ => None,
        };
        if let (Some((old, new)), Some(line)) = (new, lines.get_mut(row(node.at))) {
            let (before, rest) = line.split_at(line.find(&format!("{}:", key.name)).unwrap_or(0));
            *line = format!("{before}{}", rest.replacen(old.as_str(), new, 1));
        }
    }
    checked(text, &lines, id).and_then(|(after, guard)| match guard {
        guard if guard.proposed || guard.action < Verdict::Block => Err(BY_HAND.to_owned()),
        guard => Ok((after, guard)),
    })
}

/// The policy without a proposed guard.
pub fn discarded(text: &str, id: &str) -> Result<String, String> {
    let (source, guard) = find(text, id)?
        .ok_or_else(|| format!("there is no guard `{id}` in the project's policy"))?;
    if !guard.proposed {
        return Err(format!(
            "`{id}` is in force, as {}; only a proposed guard is discarded",
            guard.action.as_str()
        ));
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let begin = usize::try_from(source.line).unwrap_or(1).saturating_sub(1);
    let dash = lines
        .get(begin)
        .and_then(|line| line.find('-').filter(|dash| line[..*dash].trim().is_empty()))
        .ok_or(BY_HAND)?;
    // It ends before the next line that is not deeper than its dash; blank lines stay.
    let is_next =
        |line: &String| line.find(|c: char| !c.is_whitespace()).is_some_and(|at| at <= dash);
    let end = lines[begin + 1..].iter().position(is_next).map_or(lines.len(), |at| begin + 1 + at);
    let last = lines[begin..end].iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0);
    lines.drain(begin..=begin + last);
    let after = joined(text, &lines);
    if find(&after, id)?.is_some() {
        return Err(BY_HAND.to_owned());
    }
    weakened_beside(id, text, &after).map_or(Ok(after), Err)
}

/// The edited text and its guard, if it is there and all others hold as they did.
fn checked(before: &str, lines: &[String], id: &str) -> Result<(String, Guard), String> {
    let after = joined(before, lines);
    let (_, guard) = find(&after, id)?.ok_or("the guard cannot be read back after the edit")?;
    policy_weakened(before, &after).map_or(Ok((after, guard)), Err)
}

/// Lines as one text, that end as those of the text they come from.
fn joined(before: &str, lines: &[String]) -> String {
    let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
    lines.join(newline) + newline
}

/// A guard of a policy, as it is written and as it holds.
fn find(text: &str, id: &str) -> Result<Option<(GuardSource, Guard)>, String> {
    let mut mistakes = Vec::new();
    let mut named = parse::read(text, "the policy", &mut mistakes)
        .guards
        .into_iter()
        .filter(|source| source.id == id);
    let (one, other) = (named.next(), named.next());
    match (yaml::read(text).1.first(), one, other) {
        (Some(_), ..) => Err(mistakes.first().map(ToString::to_string).unwrap_or_default()),
        (_, _, Some(_)) => Err(format!("`{id}` is defined more than once")),
        (_, one, _) => one
            .map(|one| {
                parse::compile(&one, PolicyLayer::Project, None, Examples::Read)
                    .map(|guard| (one, guard))
            })
            .transpose(),
    }
}

fn row(at: YamlPosition) -> usize {
    usize::try_from(at.line).unwrap_or(1).saturating_sub(1)
}

/// The line after the last one of the block that begins at a line.
fn end_of(lines: &[String], begin: usize) -> usize {
    let is_blank = |line: &String| line.trim().is_empty();
    let length = lines[begin..]
        .iter()
        .position(|line| !is_blank(line) && !line.starts_with([' ', '\t', '-', '#']));
    let block = &lines[begin..begin + length.unwrap_or(lines.len() - begin)];
    begin
        + block
            .iter()
            .rposition(|line| !is_blank(line) && !line.starts_with('#'))
            .map_or(0, |last| last + 1)
}

fn written(new: &NewGuard, indent: usize) -> Vec<String> {
    let (dash, pad) = (" ".repeat(indent), " ".repeat(indent + 2));
    let mut lines = vec![format!("{dash}- id: {}", word(&new.id))];
    lines.extend(new.fields.iter().map(|(key, value)| format!("{pad}{key}: {value}")));
    let remark = twining_model::text::excerpt(&new.remark, 200);
    if !remark.is_empty() {
        lines.insert(lines.len() - 1, format!("{pad}# {remark}"));
    }
    lines
}

/// A word as YAML takes it for text.
fn word(text: &str) -> String {
    let keyword = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .contains(&text.to_lowercase().as_str());
    if keyword || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        quoted(text)
    } else {
        text.to_owned()
    }
}

/// A JSON string is a YAML string in double quotes: nothing in it can end it.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(twining_model::text::visible(text).replace(['\n', '\t'], " "))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

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
        each(
            [
                ("", format!("guards:\n{ADDED}")),
                ("# mine\nroles: {}\n", format!("# mine\nroles: {{}}\n\nguards:\n{ADDED}")),
                ("guards:\nroles: {}\n", format!("guards:\n{ADDED}roles: {{}}\n")),
                (
                    "guards: []  # none yet\nroles: {}\n",
                    format!("guards:   # none yet\n{ADDED}roles: {{}}\n"),
                ),
            ],
            |(before, after)| {
                let (text, guard) = with_guard(before, &new("no-push")).expect("writes");
                assert_eq!(text, after);
                assert!(guard.proposed && guard.action == Verdict::Warn);
                assert_eq!(guard.say, "no: {pushing} # by agents\"");
            },
        );
    }

    #[test]
    fn comments_layout_and_the_other_guards_stay_to_the_byte() {
        let before = "# policy\nguards:   # what stops\n    - id: a   # first\n      tools: [Bash]\n      say: |\n        two\n\n        lines\n    # last of them\n\n# roles follow\nroles: {}\n";
        let (text, _) = with_guard(before, &new("no-push")).expect("writes");
        let (head, tail) = before.split_at(before.find("\n# roles").expect("is there"));
        assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
        assert!(
            text.contains("    # last of them\n    - id: no-push\n      status: proposed\n"),
            "{text}"
        );

        let crlf = "guards:\r\n  - {id: a, tools: [Bash], say: x}\r\n";
        let (text, _) = with_guard(crlf, &new("no-push")).expect("writes");
        assert!(
            text.starts_with(crlf)
                && text.contains("\r\n  - id: no-push\r\n    status: proposed\r\n"),
            "{text:?}"
        );
        let flush = "guards:\n- id: a\n  tools: [Bash]\n  say: x\n";
        assert!(
            with_guard(flush, &new("b")).expect("writes").0.contains("\n- id: b\n  status"),
            "a list without indent"
        );
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left_alone() {
        each(
            [
                "guards: [{id: a, tools: [Bash], say: x}]\n",
                "guards: {a: {tools: [Bash], say: x}}\n",
                "guards:\n  a: {tools: [Bash], say: x}\n",
                "guards: 5\n",
            ],
            |before| {
                assert!(
                    with_guard(before, &new("b")).expect_err("is not edited").contains("manually"),
                    "{before}"
                );
            },
        );
        assert!(
            with_guard("guards: [\n", &new("b")).expect_err("is broken").contains("cannot be read")
        );
        assert!(
            with_guard("guards:\n  - {id: b, tools: [Bash], say: x}\n", &new("b"))
                .expect_err("twice")
                .contains("already")
        );
    }

    #[test]
    fn a_discarded_guard_is_gone_and_every_other_byte_stays() {
        each(
            [
                "",
                "guards:\n  - {id: a, tools: [Bash], say: x}\n",
                "guards:\r\n  - {id: a, tools: [Bash], say: x}\r\n",
                "# policy\nguards:\n    - id: a   # first\n      tools: [Bash]\n      say: |\n        two\n\n        lines\n\n# roles follow\nroles: {}\n",
            ],
            |before| {
                let (with, _) = with_guard(before, &new("no-push")).expect("writes");
                let without = if before.is_empty() { "guards:\n" } else { before };
                assert_eq!(discarded(&with, "no-push").as_deref(), Ok(without));
            },
        );
        let (two, _) = with_guard("", &new("a")).expect("writes");
        let (two, _) = with_guard(&two, &new("b")).expect("writes");
        let left = discarded(&two, "a").expect("discards");
        assert!(left.contains("- id: b") && !left.contains("- id: a"), "{left}");
    }

    #[test]
    fn only_a_proposed_guard_on_its_own_lines_is_discarded() {
        let proposed = "status: proposed, tools: [Bash], say: x";
        each(
            [
                ("guards:\n  - {id: a, tools: [Bash], say: x}\n".to_owned(), "in force"),
                (format!("guards: [{{id: a, {proposed}}}]\n"), "manually"),
                (format!("guards:\n  a: {{{proposed}}}\n"), "manually"),
                ("roles: {}\n".to_owned(), "no guard"),
            ],
            |(text, why)| {
                let refused = discarded(&text, "a").expect_err("is left alone");
                assert!(refused.contains(why), "{refused}: {text}");
            },
        );
    }

    #[test]
    fn a_promoted_guard_blocks_and_nothing_else_changes() {
        let (text, _) = with_guard(
            "# c\nguards:\n  - {id: a, tools: [Bash], say: x, action: warn}\n",
            &new("no-push"),
        )
        .expect("writes");
        let (after, guard) = promoted(&text, "no-push").expect("promotes");
        assert_eq!(guard.action, Verdict::Block);
        assert_eq!(
            after,
            text.replace("status: proposed\n    action: warn", "status: active\n    action: block")
        );
        assert!(promoted(&after, "no-push").expect_err("once").contains("in force"));
        assert!(promoted(&after, "nobody").expect_err("none").contains("no guard"));
        let flow =
            "guards:\n  - {id: a, status: 'proposed', action: \"ask\", tools: [Bash], say: x}\n";
        assert_eq!(
            promoted(flow, "a").expect("promotes").0,
            flow.replace("proposed", "active").replace("ask", "block")
        );
    }
}
