//! Rules for agents in Markdown, as CLAUDE.md and AGENTS.md hold them.
//!
//! What states a choice becomes a decision. What forbids something becomes a
//! constraint, and where it names a command or a path a guard that is proposed: a
//! person accepts it. The rest is advice. The part that `twining init` wrote is ours and is passed over.

use twining_model::Time;

use super::markdown::{self, points};
use super::reader::{ImportRecords, ImportSource, ImportedFile, clean, decision, entry, slug};
use crate::fields;

const BEGIN: &str = "<!-- twining:begin";
const END: &str = "<!-- twining:end";
/// Words by which something is forbidden.
const FORBIDS: &str = "never |do not |don't |don\u{2019}t |must not |mustn't |avoid |forbidden|not allowed|no longer use|prohibited|\
    refrain from";
/// Words by which something is chosen.
const CHOOSES: &str = "we use |use |always use |prefer |we chose |we decided|decided to |instead of |rather than |must use |\
    is used for |are used for |stick to |follow |written in |built with ";

/// Reads one file.
pub(super) fn read(file: &ImportedFile, now: Time, found: &mut ImportRecords) {
    let text = without_ours(&file.text);
    let mut seen = std::collections::HashSet::new();
    let mut headings: Vec<(usize, String)> = Vec::new();
    for section in markdown::parse(&text).sections {
        if section.level > 0 {
            headings.retain(|(level, _)| *level < section.level);
            headings.push((section.level, section.title.clone()));
        }
        let place =
            headings.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" / ");
        let (rules, rest) = points(&section.body);
        let rest = markdown::paragraphs(&rest).into_iter().filter(|part| !part.starts_with("<!--"));
        for rule in rules.into_iter().chain(rest) {
            let rule = clean(&rule);
            // The heading distinguishes rules with the same wording in two places.
            let key = format!("{place}\u{0}{}", fields::fold(&rule));
            if !rule.is_empty() && seen.insert(key.clone()) {
                add_rule(&rule, &place, &key, now, found);
            }
        }
    }
    if seen.is_empty() {
        found.unread(&file.name, 1, "it contains nothing that could be a rule");
    }
}

fn add_rule(rule: &str, place: &str, key: &str, now: Time, found: &mut ImportRecords) {
    let summary = fields::summary(&rule.replace("**", ""));
    // A code block is an example, not a rule.
    let words_only = rule.split("```").step_by(2).collect::<Vec<_>>().join(" ");
    let lower = words_only.to_lowercase().replace("**", "").replace("__", "");
    let contains_any = |words: &str| words.split('|').any(|word| lower.contains(word));
    let mut push = |kind: &str, tag: &str| {
        let mut made = entry(ImportSource::ClaudeMd, kind, None, now, key, &summary, rule);
        made.tags.push(tag.to_owned());
        if !place.is_empty() {
            made.detail = format!("{place}\n\n{rule}");
        }
        found.entries.push(made);
    };
    if contains_any(FORBIDS) {
        push("constraint", "guard-to-review");
        found.guards_to_review += 1;
    } else if !rule.contains("```") && contains_any(CHOOSES) && rule.lines().count() <= 6 {
        let mut made = decision(ImportSource::ClaudeMd, None, now, key, &summary);
        made.domain =
            slug(&format!("{} {summary}", place.rsplit(" / ").next().unwrap_or_default()));
        made.context = if place.is_empty() {
            "A rule for agents".to_owned()
        } else {
            format!("A rule for agents, under: {place}")
        };
        rule.clone_into(&mut made.rationale);
        found.decisions.push(made);
    } else {
        push("finding", "advice");
        found.advice += 1;
    }
}

/// The text without what we wrote into it.
fn without_ours(text: &str) -> String {
    let mut ours = false;
    let mut text_left = String::with_capacity(text.len());
    for line in text.lines() {
        if line.contains(BEGIN) {
            ours = true;
        }
        // Blank lines in its place keep the line numbers.
        text_left.push_str(if ours { "" } else { line });
        text_left.push('\n');
        if line.contains(END) {
            ours = false;
        }
    }
    text_left
}
