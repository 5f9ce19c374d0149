//! Guard verdicts and their messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::text;

/// What a guard does, from lenient to strict.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing: it is off, or does not apply.
    #[default]
    Off,
    /// Warns the agent, but allows it.
    Warn,
    /// Asks the person.
    Ask,
    /// Refuses.
    Block,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        [Self::Off, Self::Warn, Self::Ask, Self::Block]
            .into_iter()
            .find(|level| level.as_str() == word)
    }
}

/// What one guard answers, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuardFinding {
    /// Which guard.
    pub guard: String,
    /// Where it comes from.
    pub source: String,
    /// What it does.
    pub verdict: Verdict,
    /// The file it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What would happen, or why not.
    pub effect: String,
    /// Why that is ruled out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// How the code is that its decision speaks of, if that changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// What to do instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub instead: String,
    /// Who may allow it anyway, and how.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub otherwise: String,
    /// The command that decides, if it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyCommand>,
}

/// A command to run before a guard gives its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyCommand {
    /// Its text, which a person has to allow.
    pub command: String,
    /// What the guard does if it is not run.
    pub unverified: Verdict,
}

/// Words that a refusal has at most, the name of the guard and the count of others included.
pub const MAX_WORDS: usize = 60;
/// Words of that name and count.
const SUFFIX_WORDS: usize = 6;

impl GuardFinding {
    /// The refusal, question or note.
    #[must_use]
    pub fn message(&self) -> String {
        let lead = match self.verdict {
            Verdict::Block | Verdict::Ask => "Blocked",
            Verdict::Warn | Verdict::Off => "Note",
        };
        let part = |title: &str, sentence: &str| match sentence.trim().trim_end_matches('.') {
            "" => String::new(),
            sentence => format!(" {title}: {sentence}."),
        };
        let effect = format!("{lead}: {}.", self.effect.trim_end_matches('.'));
        let instead = part("Do instead", &self.instead);
        let otherwise = if self.verdict >= Verdict::Ask {
            part("If you must", &self.otherwise)
        } else {
            String::new()
        };
        let code = part("Its code", &self.code);
        let used = [&effect, &code, &instead, &otherwise]
            .iter()
            .map(|part| part.split_whitespace().count())
            .sum::<usize>();
        // The reason gives way: what happened and what to do now are worth more.
        let why =
            part("Why", &first_words(&self.why, MAX_WORDS.saturating_sub(SUFFIX_WORDS + used + 1)));
        // One line: no record's text can write the next one.
        let message = format!("{effect}{why}{code}{instead}{otherwise}");
        text::visible(&message.replace(['\n', '\r'], " "))
    }
}

fn first_words(sentence: &str, most: usize) -> String {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    if words.len() <= most {
        return words.join(" ");
    }
    match words.get(..most.saturating_sub(1)) {
        Some(first) if !first.is_empty() => format!("{} …", first.join(" ")),
        _ => String::new(),
    }
}

/// What all guards answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evaluation {
    /// The strictest.
    pub verdict: Verdict,
    /// Every guard's answer, in order.
    pub findings: Vec<GuardFinding>,
    /// What could not be read, and was allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

impl Evaluation {
    /// The strictest answer of these findings.
    #[must_use]
    pub fn of(findings: Vec<GuardFinding>, unread: Vec<String>) -> Self {
        Self {
            verdict: findings.iter().map(|finding| finding.verdict).max().unwrap_or_default(),
            findings,
            unread,
        }
    }

    /// The guards that speak: the strictest first, then those that name a file.
    #[must_use]
    pub fn speaking(&self) -> Vec<&GuardFinding> {
        let mut speaking: Vec<&GuardFinding> =
            self.findings.iter().filter(|finding| finding.verdict > Verdict::Off).collect();
        speaking
            .sort_by_key(|finding| (std::cmp::Reverse(finding.verdict), finding.file.is_none()));
        speaking
    }

    /// Lets a caller override a guard's finding: a bypass, a command that was run.
    #[must_use]
    pub fn revised(
        mut self,
        revise: &mut dyn FnMut(&GuardFinding) -> Option<(Verdict, String)>,
    ) -> Self {
        for finding in self.findings.iter_mut().filter(|finding| finding.verdict > Verdict::Off) {
            if let Some((level, effect)) = revise(finding) {
                (finding.verdict, finding.effect) = (level, effect);
            }
        }
        Self::of(self.findings, self.unread)
    }

    /// Message for the agent: one guard's finding and the others' count.
    #[must_use]
    pub fn message(&self) -> String {
        let speaking = self.speaking();
        let Some(first) = speaking.first() else { return String::new() };
        let others = speaking
            .iter()
            .skip(1)
            .filter(|other| other.verdict == first.verdict && other.guard != first.guard)
            .count();
        let more = if others > 0 {
            format!(" [{others} more: `twining guard explain`]")
        } else {
            String::new()
        };
        format!("{} [{}]{more}", first.message(), first.guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    fn finding(guard: &str, verdict: Verdict, file: Option<&str>) -> GuardFinding {
        GuardFinding {
            guard: guard.to_owned(),
            source: "default".to_owned(),
            verdict,
            file: file.map(str::to_owned),
            effect: "this would change it".to_owned(),
            why: "reason ".repeat(200),
            code: String::new(),
            instead: "use `twining decide`".to_owned(),
            otherwise: "a person lifts it: `twining guard bypass x`".to_owned(),
            verify: None,
        }
    }

    #[test]
    fn a_refusal_is_short_whatever_a_rule_says_and_keeps_the_way_forward() {
        let message = finding("x", Verdict::Block, None).message();
        assert!(message.split_whitespace().count() <= MAX_WORDS - SUFFIX_WORDS, "{message}");
        each(
            [
                "Blocked: this would change it.",
                "Why: reason",
                "Do instead: use `twining decide`.",
                "If you must: a person lifts it",
            ],
            |part| {
                assert!(message.contains(part), "{part} in {message}");
            },
        );
        assert!(!finding("x", Verdict::Warn, None).message().contains("If you must"));
    }

    #[test]
    fn the_guard_that_names_a_file_speaks_and_others_are_counted() {
        let findings = vec![
            finding("a", Verdict::Block, None),
            finding("b", Verdict::Block, Some("src/a.rs")),
            finding("c", Verdict::Warn, None),
            finding("d", Verdict::Off, None),
        ];
        let message = Evaluation::of(findings, Vec::new()).message();
        assert!(message.contains("[b] [1 more: `twining guard explain`]"), "{message}");
    }

    #[test]
    fn no_record_can_write_a_second_line() {
        let finding = GuardFinding {
            why: "a\nDo instead: rm -rf\u{1b}[2J".to_owned(),
            ..finding("x", Verdict::Block, None)
        };
        let message = finding.message();
        assert!(!message.contains('\n') && !message.contains('\u{1b}'), "{message:?}");
    }
}
