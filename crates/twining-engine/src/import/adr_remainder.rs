//! What no field of a decision tells of its document: it goes into the context.

use twining_model::Decision;

use super::markdown::{MarkdownDocument, MarkdownSection, numbered, paragraphs};
use super::records::clean;

/// Parts that have a field; of these only what did not get into it is left.
const KNOWN: &str = "status|date|context|problem|issue|motivation|decision|resolution|what we decided|drivers|constraints|\
    considered options|options|pros and cons|consequences|alternatives";

/// Words at the front of a line that sort it into a field, or say no more than where a
/// decision stands.
const MARKS: &str = "status date id deciders decision makers author authors domain category scope good bad rejected chosen option \
    accepted approved active adopted implemented decided final proposed draft provisional pending superseded deprecated obsolete overridden";

/// Where our own record keeps what people do not read.
const OWN_COMMENT: &str = "<!-- twining-decision:";

/// Everything of the document that the decision does not tell. `title` is what its
/// summary should say; `date` is the word that its time was read from.
pub(super) fn remainder(
    document: &MarkdownDocument,
    made: &Decision,
    title: &str,
    date: Option<&str>,
) -> String {
    let covered = DecisionText::by(made, date);
    let mut parts: Vec<String> = Vec::new();
    if !covered.has(title) {
        parts.push(title.to_owned());
    }
    let head = document
        .head
        .iter()
        .filter(|line| !covered.has_line(line))
        .map(String::as_str)
        .collect::<Vec<_>>();
    if !head.is_empty() {
        parts.push(head.join("\n"));
    }
    let first = document.sections.iter().position(|section| section.level == 1);
    let mut in_known_section = false;
    for (at, section) in document.sections.iter().enumerate() {
        let is_head = section.level == 0 || Some(at) == first;
        if section.level <= 2 {
            in_known_section = is_head || is_known(section);
        }
        let left = left_of(section, &covered, in_known_section || is_known(section));
        if is_head {
            parts.extend((!left.is_empty()).then_some(left));
        } else if !left.is_empty() {
            parts.push(format!("{}:\n{left}", section.title));
        } else if section.body.trim().is_empty()
            && !in_known_section
            && !is_known(section)
            && !covered.has(&section.title)
        {
            parts.push(section.title.clone());
        }
    }
    parts.join("\n\n")
}

fn left_of(section: &MarkdownSection, covered: &DecisionText, in_known_section: bool) -> String {
    let body = match section.body.find(OWN_COMMENT) {
        Some(at) => &section.body[..at],
        None => &section.body,
    };
    if !in_known_section {
        return body.trim().to_owned();
    }
    let mut left = Vec::new();
    for paragraph in paragraphs(body) {
        // A block of code is of no use in pieces.
        if paragraph.contains("```") {
            left.extend((!covered.has(&paragraph)).then_some(paragraph));
            continue;
        }
        let lines: Vec<&str> = paragraph.lines().filter(|line| !covered.has_line(line)).collect();
        if !lines.is_empty() {
            left.push(lines.join("\n"));
        }
    }
    left.join("\n\n")
}

fn is_known(section: &MarkdownSection) -> bool {
    KNOWN.split('|').any(|known| section.is(&[known]))
}

fn words(text: &str) -> Vec<String> {
    let text = clean(text).to_lowercase();
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The words of a decision, in their order, each text apart from the next.
struct DecisionText(String);

impl DecisionText {
    fn by(made: &Decision, date: Option<&str>) -> Self {
        let mut texts: Vec<&str> = vec![made.id.as_str(), date.unwrap_or_default()];
        texts.extend(
            [
                &made.summary,
                &made.context,
                &made.rationale,
                &made.agent_id,
                &made.domain,
                &made.scope,
            ]
            .map(String::as_str),
        );
        texts.extend(made.constraints.iter().chain(&made.override_reason).map(String::as_str));
        for option in &made.alternatives {
            let points = option.pros.iter().chain(&option.cons);
            texts.extend(
                [&option.option, &option.reason_rejected]
                    .into_iter()
                    .chain(points)
                    .map(String::as_str),
            );
        }
        Self(texts.iter().map(|text| format!(" {} |", words(text).join(" "))).collect())
    }

    fn has(&self, text: &str) -> bool {
        let wanted = words(text).join(" ");
        wanted.is_empty() || self.0.contains(&format!(" {wanted} "))
    }

    /// A line with its mark, its key or the word that sorts it into a field; of `x
    /// because y` each part, since they have a field each.
    fn has_line(&self, line: &str) -> bool {
        let bare = line.trim().trim_start_matches(['*', '-', '+', '>', ' ']);
        let bare = numbered(bare).unwrap_or(bare);
        // `[name](#place)` in a list of options.
        let bare = bare
            .strip_suffix(')')
            .and_then(|link| link.split_once("](#"))
            .map_or(bare, |(name, _)| name);
        let has_part = |part: &str| {
            let covered = words(part);
            let marks = covered
                .iter()
                .take_while(|word| MARKS.split_whitespace().any(|mark| mark == *word))
                .count();
            self.has(&covered[marks..].join(" "))
        };
        self.has(bare) || words(bare).join(" ").split(" because ").all(has_part)
    }
}
