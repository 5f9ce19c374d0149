//! Architecture decision records, one a file: Nygard's shape, MADR, and ours.

use std::collections::HashMap;

use twining_model::{Alternative, Authority, Decision, DecisionStatus, Id, Time, limits};

use super::markdown::{self, MarkdownDocument, MarkdownSection, plain, points, unquoted};
use super::reader::{
    ImportRecords, ImportSource, ImportedFile, clean, date, decision, origin, slug,
};
use crate::export::decision_in;
use crate::fields;

/// Where our own record keeps what people do not read.
const OWN_COMMENT: &str = "<!-- twining-decision:";
/// Sections that say what follows from the decision; their titles begin so.
const FOLLOWS: [&str; 5] = [
    "consequences",
    "positive consequences",
    "negative consequences",
    "confirmation",
    "validation",
];

/// Reads every file; those that name each other are linked.
pub(super) fn read(files: &[ImportedFile], now: Time, found: &mut ImportRecords) {
    let mut ids: HashMap<String, Id> = HashMap::new();
    let mut links: Vec<(usize, Option<String>, Option<String>)> = Vec::new();
    for file in files {
        if let Some(whole) = decision_in(&file.text) {
            ids.insert(base_name(&file.name), whole.id.clone());
            // Believed as far as any import is.
            found.decisions.push(Decision { origin: Some(origin()), ..whole });
            continue;
        }
        let document = markdown::parse(&file.text);
        match record(file, &document, now, found) {
            Ok(made) => {
                ids.insert(base_name(&file.name), made.id.clone());
                let status = status_text(&document);
                links.push((
                    found.decisions.len(),
                    linked(&status, "superseded by"),
                    linked(&status, "supersedes"),
                ));
                found.decisions.push(made);
            }
            Err((line, why)) => found.unread(&file.name, line, why),
        }
    }
    for (at, by, of) in links {
        let id = |name: Option<String>| {
            name.and_then(|name| ids.get(&name).or_else(|| by_number(&ids, &name)))
                .map(Id::to_string)
        };
        if let Some(decision) = found.decisions.get_mut(at) {
            decision.superseded_by = decision.superseded_by.take().or_else(|| id(by));
            decision.supersedes = decision.supersedes.take().or_else(|| id(of));
        }
    }
}

fn record(
    file: &ImportedFile,
    document: &MarkdownDocument,
    now: Time,
    found: &mut ImportRecords,
) -> Result<Decision, (u64, String)> {
    let title = document.sections.iter().find(|section| section.level == 1);
    let title = title.ok_or((1, "it has no `# title`".to_owned()))?;
    let about = |words: &[&str]| {
        document.sections.iter().find(|section| section.level >= 2 && section.is(words))
    };
    let outcome = about(&["decision outcome"]).or_else(|| {
        about(&["decision", "resolution", "what we decided"])
            .filter(|s| !s.is(&["decision drivers"]))
    });
    let Some(outcome) = outcome else {
        return Err((title.line, "it has no section with a decision".to_owned()));
    };

    let name = named(&title.title);
    let chosen = chosen(&outcome.body);
    let summary = match &chosen {
        Some((option, _))
            if !same(option, &name) && !name.to_lowercase().contains(&option.to_lowercase()) =>
        {
            format!("{name}: {option}")
        }
        _ => name,
    };
    let fact = |keys: &[&str]| fact(document, keys);
    let dated =
        fact(&["date"]).or_else(|| about(&["date"]).map(|section| section.body.trim().to_owned()));
    let at = dated.as_deref().and_then(date);
    let own = fact(&["id"]).and_then(|id| Id::read(id.trim()));
    let mut made = decision(ImportSource::Adr, at, now, &base_name(&file.name), &summary);
    if let Some(id) = own {
        made.id = id;
    }
    (made.status, made.override_reason) = standing(&status_text(document));
    if made.status == DecisionStatus::Overridden {
        made.override_authority = Some(Authority::Claimed);
    }
    if let Some(who) =
        fact(&["deciders", "decision-makers", "decision makers", "author", "authors"])
    {
        made.agent_id = fields::clip(&clean(&plain(&who)), limits::NAME_BYTES);
    }
    if let Some(domain) = fact(&["domain", "category"]) {
        made.domain = fields::clip(&clean(&domain), limits::NAME_BYTES);
    }
    if let Some(scope) = fact(&["scope"]) {
        made.scope =
            twining_model::Scope::read(&fields::clip(&clean(&scope), limits::ELEMENT_BYTES))
                .to_string();
    }
    let mut long =
        |text: &str, line: u64| found.clip(&file.name, line, &clean(text), limits::TEXT_BYTES);
    let context = about(&["context", "problem", "issue", "motivation"])
        .map(|section| unquoted(&section.body))
        .unwrap_or_default();
    let because = chosen.map_or_else(|| unquoted(&outcome.body), |(_, because)| because);
    made.rationale = long(&with_parts(&because, document, outcome), outcome.line);
    if let Some(drivers) = about(&["decision drivers", "drivers", "constraints"]) {
        made.constraints = list(&points(&drivers.body).0);
    }
    made.alternatives = alternatives(document, &made.summary, &outcome.body);
    // Content without a field is not lost: the whole text follows.
    let whole = file.text.split(OWN_COMMENT).next().unwrap_or_default();
    made.context = long(&format!("{context}\n\n{}", whole.trim()), title.line);
    Ok(made)
}

/// The list items that fit; the context contains the rest.
fn list(items: &[String]) -> Vec<String> {
    let items = items.iter().map(|item| fields::clip(&clean(item), limits::ELEMENT_BYTES));
    items.filter(|item| !item.is_empty()).take(limits::LIST).collect()
}

/// Appends the consequences to the reasons.
fn with_parts(because: &str, document: &MarkdownDocument, outcome: &MarkdownSection) -> String {
    let mut text = because.to_owned();
    let after = document
        .sections
        .iter()
        .filter(|section| section.line > outcome.line || section.is(&["consequences"]));
    for section in after.filter(|section| section.level >= 2 && section.is(&FOLLOWS)) {
        if !section.body.trim().is_empty() {
            text.push_str(&format!("\n\n{}:\n{}", section.title, section.body.trim()));
        }
    }
    text
}

fn alternatives(document: &MarkdownDocument, summary: &str, outcome: &str) -> Vec<Alternative> {
    let mut options: Vec<Alternative> = Vec::new();
    let option = |name: &str| Alternative {
        option: clean(&plain(name)),
        pros: Vec::new(),
        cons: Vec::new(),
        reason_rejected: String::new(),
    };
    let listed = document.sections.iter().filter(|section| {
        section.level == 2 && section.is(&["considered options", "alternatives", "options"])
    });
    for name in listed.flat_map(|section| points(&section.body).0) {
        let name = name.lines().next().unwrap_or_default().to_owned();
        options.push(option(&without_link(&name)));
    }
    let mut inside = false;
    for section in &document.sections {
        if section.level == 2 {
            inside = section.is(&[
                "pros and cons",
                "decision outcome",
                "considered options",
                "alternatives",
            ]);
        }
        if !inside || section.level != 3 || section.is(&FOLLOWS) {
            continue;
        }
        let name = plain(&section.title);
        let at = options.iter().position(|known| same(&known.option, &name)).unwrap_or_else(|| {
            options.push(option(&name));
            options.len() - 1
        });
        for point in points(&section.body).0 {
            let lower = point.to_lowercase();
            let after = |word: &str| {
                let rest = point[word.len()..].trim_start_matches([',', ':', ' ']);
                let rest =
                    if rest.to_lowercase().starts_with("because ") { &rest[8..] } else { rest };
                fields::clip(rest.trim(), limits::ELEMENT_BYTES)
            };
            match () {
                () if lower.starts_with("good") => options[at].pros.push(after("good")),
                () if lower.starts_with("bad") => options[at].cons.push(after("bad")),
                () if lower.starts_with("rejected") => {
                    options[at].reason_rejected = after("rejected");
                }
                () => options[at].cons.push(fields::clip(&point, limits::ELEMENT_BYTES)),
            }
        }
    }
    options.retain(|option| {
        let is_chosen = same(&option.option, summary)
            || chosen(outcome).is_some_and(|(chosen, _)| same(&chosen, &option.option));
        !option.option.is_empty() && !is_chosen
    });
    for option in &mut options {
        if option.reason_rejected.is_empty() {
            option.reason_rejected = option
                .cons
                .first()
                .cloned()
                .unwrap_or_else(|| "another option was chosen".to_owned());
        }
    }
    options.truncate(limits::LIST);
    options
}

/// `Chosen option: "x", because y`.
fn chosen(outcome: &str) -> Option<(String, String)> {
    let at = outcome.to_lowercase().find("chosen option")?;
    let rest = outcome.get(at + "chosen option".len()..)?.trim_start_matches(['s', ':', ' ', '*']);
    let lower = rest.to_lowercase();
    let end = [", because", " because", "\n"]
        .iter()
        .filter_map(|word| lower.find(word))
        .min()
        .unwrap_or(rest.len());
    let option = plain(&without_link(rest.get(..end)?.trim().trim_end_matches(['.', ',', ':'])));
    let after = rest.get(end..)?.trim_start_matches([',', ' ']);
    let after =
        if after.to_lowercase().starts_with("because") { &after["because".len()..] } else { after };
    let because = unquoted(after.trim_start_matches([':', ' ', '\n']));
    let before = outcome.get(..at)?.trim();
    let because = if before.is_empty() { because } else { format!("{before}\n\n{because}") };
    (!option.is_empty()).then_some((option, because))
}

fn without_link(text: &str) -> String {
    match (text.find('['), text.find("](")) {
        (Some(0), Some(end)) => text[1..end].to_owned(),
        _ => text.to_owned(),
    }
}

fn same(left: &str, right: &str) -> bool {
    slug(left) == slug(right)
}

/// A title without its number: `1. `, `ADR-0001: `, `0001 - `.
fn named(title: &str) -> String {
    let lower = title.to_lowercase();
    let rest = if lower.starts_with("adr") {
        title[3..].trim_start_matches(['-', ' ', '_', '#'])
    } else {
        title
    };
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    if digits == 0 {
        return title.trim().to_owned();
    }
    let name = rest[digits..].trim_start_matches(['.', ':', ' ', '-', '–', '—', ')']).trim();
    if name.is_empty() { title.trim().to_owned() } else { name.to_owned() }
}

/// A fact in the front matter, or before the first part: `* Status: accepted`.
fn fact(document: &MarkdownDocument, keys: &[&str]) -> Option<String> {
    let front = document
        .front
        .iter()
        .find(|(key, _)| keys.contains(&key.as_str()))
        .map(|(_, value)| value.clone());
    front.or_else(|| {
        let head = document.sections.iter().filter(|section| section.level <= 1);
        let mut lines = head.flat_map(|section| section.body.lines());
        lines.find_map(|line| {
            let line = line.trim().trim_start_matches(['*', '-', '+', ' ']);
            let (key, value) = line.split_once(':')?;
            keys.contains(&plain(key).to_lowercase().as_str())
                .then(|| value.trim().trim_start_matches("**").trim().to_owned())
        })
    })
}

fn status_text(document: &MarkdownDocument) -> String {
    let section =
        document.sections.iter().find(|section| section.level >= 2 && section.is(&["status"]));
    let stated = fact(document, &["status"]).unwrap_or_default();
    section.map_or(stated.clone(), |section| format!("{stated}\n{}", section.body))
}

fn standing(status: &str) -> (DecisionStatus, Option<String>) {
    let lower = status.to_lowercase();
    let has = |word: &str| lower.contains(word);
    let status_text_clean = || Some(fields::summary(&clean(status)));
    match () {
        () if has("rejected") || has("overridden") || has("abandoned") => {
            (DecisionStatus::Overridden, status_text_clean())
        }
        () if has("superseded") || has("deprecated") || has("replaced") || has("obsolete") => {
            (DecisionStatus::Superseded, None)
        }
        () if has("proposed")
            || has("draft")
            || has("provisional")
            || has("pending")
            || has("in discussion") =>
        {
            (DecisionStatus::Provisional, None)
        }
        () => (DecisionStatus::Active, None),
    }
}

/// The file, or its number, that is named after these words.
fn linked(status: &str, words: &str) -> Option<String> {
    let at = status.to_lowercase().find(words)?;
    let rest = status.get(at + words.len()..)?;
    let line = rest.lines().next().unwrap_or_default();
    let target = line.find("](").and_then(|from| line[from + 2..].split(')').next()).map(base_name);
    target.or_else(|| {
        let digits: String = line
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        (!digits.is_empty()).then_some(digits)
    })
}

fn by_number<'i>(ids: &'i HashMap<String, Id>, number: &str) -> Option<&'i Id> {
    let wanted: u64 = number.parse().ok()?;
    let numbered = |name: &str| {
        name.chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            == Ok(wanted)
    };
    let mut found = ids.iter().filter(|(name, _)| numbered(name)).map(|(_, id)| id);
    found.next().filter(|_| found.next().is_none())
}

fn base_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}
