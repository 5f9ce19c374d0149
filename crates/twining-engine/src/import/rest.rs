//! What no field of a decision tells of its document: it goes into the context.

use std::collections::BTreeSet;

use twining_model::{Decision, Status};

use super::clean;
use super::markdown::{Document, Section, paragraphs, plain};

/// Parts that have a field; of these only what did not get into it is left.
const KNOWN: [&str; 17] = [
    "status",
    "date",
    "context",
    "problem",
    "issue",
    "motivation",
    "decision",
    "resolution",
    "what we decided",
    "drivers",
    "constraints",
    "considered options",
    "options",
    "pros and cons",
    "consequences",
    "alternatives",
    "decision outcome",
];

/// Words that a status consists of when it says no more than where a decision stands.
const STANDING: [&str; 17] = [
    "status",
    "accepted",
    "approved",
    "active",
    "adopted",
    "implemented",
    "decided",
    "final",
    "proposed",
    "draft",
    "provisional",
    "pending",
    "superseded",
    "deprecated",
    "obsolete",
    "rejected",
    "overridden",
];

/// Keys of the head whose value has a field.
const FACTS: [&str; 11] =
    ["date", "id", "deciders", "decision-makers", "decision makers", "author", "authors", "domain", "category", "scope", "status"];

/// Where our own record keeps what people do not read.
const OWN_COMMENT: &str = "<!-- twining-decision:";

/// Everything of the document that the decision does not tell. `title` is what its
/// summary should say; `date` is the word that its time was read from.
pub(super) fn untold(document: &Document, made: &Decision, title: &str, date: Option<&str>) -> String {
    let told = Told::by(made, date);
    let mut parts: Vec<String> = Vec::new();
    if !told.has(title) {
        parts.push(title.to_owned());
    }
    let head = document.head.iter().filter(|line| !told.has_line(line)).map(String::as_str).collect::<Vec<_>>();
    if !head.is_empty() {
        parts.push(head.join("\n"));
    }
    let first = document.sections.iter().position(|section| section.level == 1);
    let mut in_known = false;
    for (at, section) in document.sections.iter().enumerate() {
        let is_head = section.level == 0 || Some(at) == first;
        if section.level <= 2 {
            in_known = is_head || section.is(&KNOWN);
        }
        let left = left_of(section, &told, in_known || section.is(&KNOWN));
        if is_head {
            parts.extend((!left.is_empty()).then_some(left));
        } else if !left.is_empty() {
            parts.push(format!("{}:\n{left}", section.title));
        } else if section.body.trim().is_empty() && !in_known && !section.is(&KNOWN) && !told.has(&section.title) {
            parts.push(section.title.clone());
        }
    }
    parts.join("\n\n")
}

fn left_of(section: &Section, told: &Told, in_known: bool) -> String {
    let body = match section.body.find(OWN_COMMENT) {
        Some(at) => &section.body[..at],
        None => &section.body,
    };
    if !in_known {
        return body.trim().to_owned();
    }
    let is_status = section.is(&["status"]);
    let mut left = Vec::new();
    for paragraph in paragraphs(body) {
        let is_told = |line: &str| told.has_line(line) || (is_status && is_standing(line));
        // A block of code is of no use in pieces.
        if paragraph.contains("```") {
            left.extend((!told.has(&paragraph)).then_some(paragraph));
            continue;
        }
        let lines: Vec<&str> = paragraph.lines().filter(|line| !is_told(line)).collect();
        if !lines.is_empty() {
            left.push(lines.join("\n"));
        }
    }
    left.join("\n\n")
}

fn is_standing(line: &str) -> bool {
    words(line).iter().all(|word| STANDING.contains(&word.as_str()))
}

fn words(text: &str) -> Vec<String> {
    let text = clean(text).to_lowercase();
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The words of a decision, in their order, each text apart from the next.
struct Told {
    text: String,
    date: BTreeSet<String>,
}

impl Told {
    fn by(made: &Decision, date: Option<&str>) -> Self {
        let mut texts = vec![&made.summary, &made.context, &made.rationale, &made.agent_id, &made.domain, &made.scope];
        texts.extend(made.constraints.iter());
        for option in &made.alternatives {
            texts.extend([&option.option, &option.reason_rejected]);
            texts.extend(option.pros.iter().chain(&option.cons));
        }
        texts.extend(made.override_reason.iter().filter(|_| made.status == Status::Overridden));
        let mut text = format!("| {} |", made.id.as_str().to_lowercase());
        for one in texts {
            text.push_str(&format!(" {} |", words(one).join(" ")));
        }
        Self { text, date: date.map(|word| words(word).join(" ")).into_iter().collect() }
    }

    fn has(&self, text: &str) -> bool {
        let wanted = words(text).join(" ");
        wanted.is_empty() || self.text.contains(&format!(" {wanted} ")) || self.date.contains(&wanted)
    }

    /// A line with its mark, its key or the word that sorts it into a field.
    fn has_line(&self, line: &str) -> bool {
        let bare = line.trim().trim_start_matches(['*', '-', '+', '>', ' ']);
        if self.has(bare) {
            return true;
        }
        if let Some((key, value)) = bare.split_once(':') {
            let key = plain(key).to_lowercase();
            if FACTS.contains(&key.as_str()) {
                return self.has(value) || (key == "status" && is_standing(value));
            }
        }
        // `[name](#place)` in a list of options, and the number of a point.
        if let Some((name, place)) = bare.strip_prefix('[').and_then(|rest| rest.split_once("](")) {
            return place.starts_with('#') && place.ends_with(')') && self.has(name);
        }
        let digits = bare.trim_start_matches(|letter: char| letter.is_ascii_digit());
        if digits.len() < bare.len() && digits.starts_with(['.', ')']) && self.has(digits) {
            return true;
        }
        let told = words(bare);
        let mut rest = told.as_slice();
        if let [first, after @ ..] = rest
            && ["good", "bad", "rejected"].contains(&first.as_str())
        {
            rest = after;
            if let [first, after @ ..] = rest
                && first == "because"
            {
                rest = after;
            }
            return self.has(&rest.join(" "));
        }
        // `Chosen option: "x", because y`: x is in the summary, y is the reason.
        let line = told.join(" ");
        line.strip_prefix("chosen option ").is_some_and(|rest| {
            let (option, because) = rest.split_once(" because ").unwrap_or((rest, ""));
            self.has(option) && self.has(because)
        })
    }
}
