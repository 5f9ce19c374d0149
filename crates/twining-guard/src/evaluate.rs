//! What all guards of a project say to one event.

use crate::facts::{Facts, NoClaims, NoEvidence};
use twining_model::TextFile;

use crate::checks::{claims, feature_list, forbidden_use, records, wiring};
use crate::effects::{Effects, FileAccess};
use crate::event::{GuardEvent, ToolAction};
use crate::policy::guard::{CheckKind, Guard, GuardAnswer};
use crate::policy::{Examples, GuardHealth, GuardSet, PolicyLayer, UserPolicy, weakened};
use crate::verdict::{Evaluation, GuardFinding, Verdict, VerifyCommand};

impl GuardSet {
    /// Puts the layers together, and takes guards that fail their own examples for dead.
    #[must_use]
    pub fn load(user: &UserPolicy, project: &TextFile, examples: Examples) -> Self {
        let mut all = Self::assemble(user, project, examples);
        if examples == Examples::Read {
            for guard in all.guards.iter_mut().filter(|guard| guard.standing == GuardHealth::Alive)
            {
                if let Err(why) = try_examples(guard) {
                    guard.standing = GuardHealth::Dead(why);
                }
            }
        }
        all
    }

    /// Asks every guard about an event.
    #[must_use]
    pub fn evaluate(&self, event: &GuardEvent, facts: &Facts<'_>) -> Evaluation {
        let effects = Effects::of(event, facts.root, facts.files);
        let asked = self.guards.iter().filter(|guard| guard.is_on() && guard.is_asked(event));
        let mut findings: Vec<GuardFinding> =
            asked.map(|guard| finding(guard, self.answer(guard, event, &effects, facts))).collect();
        findings.extend(self.unreadable(&effects));
        Evaluation::of(findings, effects.unread)
    }

    /// The same with a line for guards that were not asked.
    #[must_use]
    pub fn explain(&self, event: &GuardEvent, facts: &Facts<'_>) -> Evaluation {
        let mut evaluation = self.evaluate(event, facts);
        for guard in &self.guards {
            let why = match (&guard.standing, guard.action) {
                (GuardHealth::Dead(why), _) => format!("dead: {why}"),
                (_, Verdict::Off) => "off".to_owned(),
                _ if !guard.is_asked(event) => "does not apply to this event or tool".to_owned(),
                _ => continue,
            };
            evaluation.findings.push(finding(guard, GuardAnswer::silent(&why)));
        }
        evaluation
    }

    fn answer(
        &self,
        guard: &Guard,
        event: &GuardEvent,
        effects: &Effects,
        facts: &Facts<'_>,
    ) -> GuardAnswer {
        match guard.kind {
            CheckKind::Declared => guard.declared(event, effects),
            CheckKind::Records => records::check(guard, effects, facts),
            CheckKind::FeatureList => feature_list::check(guard, effects, facts),
            CheckKind::PolicyWeakened => weakened::check(guard, effects),
            CheckKind::Wiring => wiring::check(guard, effects, facts),
            CheckKind::PersonCommands => records::check_person_command(guard, effects),
            CheckKind::Claims => claims::check(guard, effects, facts),
            CheckKind::ForbiddenUse => forbidden_use::check(guard, effects, facts),
            CheckKind::Returns => GuardAnswer::silent("checked when a subagent returns"),
            CheckKind::Reads => {
                let is_whole =
                    matches!(event.action, ToolAction::Read(_) | ToolAction::ReadMany(_));
                match effects.reads.iter().find(|path| is_whole && guard.paths.matches(path)) {
                    Some(path) => GuardAnswer::about(
                        guard.action,
                        path,
                        format!("`{path}` would be read in full"),
                    ),
                    None => GuardAnswer::silent("no log is read in full"),
                }
            }
        }
    }

    /// What the person's own policy says about a call that cannot be read.
    fn unreadable(&self, effects: &Effects) -> Option<GuardFinding> {
        let first = effects.unread.first().filter(|_| self.on_unreadable > Verdict::Off)?;
        Some(GuardFinding {
            guard: "on-unreadable".to_owned(),
            source: PolicyLayer::User.as_str().to_owned(),
            verdict: self.on_unreadable,
            file: None,
            effect: format!("part of this call cannot be read: {first}"),
            why: "the user's policy sets `on_unreadable`".to_owned(),
            code: String::new(),
            instead: "name the files on the command line, or make the change with an edit tool"
                .to_owned(),
            otherwise: "a person runs it themselves".to_owned(),
            verify: None,
        })
    }
}

fn finding(guard: &Guard, answer: GuardAnswer) -> GuardFinding {
    let speaks = answer.level > Verdict::Off;
    let if_speaking = |text: String| if speaks { text } else { String::new() };
    let otherwise = match (guard.otherwise.as_str(), answer.level) {
        ("", Verdict::Ask) => "a person approves it when the host asks".to_owned(),
        ("", _) => {
            format!("a person runs `twining guard bypass {} --for 30m --why …`", guard.id)
        }
        (otherwise, _) => otherwise.to_owned(),
    };
    GuardFinding {
        guard: guard.id.clone(),
        source: guard.source.to_string(),
        verdict: answer.level,
        file: answer.file,
        effect: answer.effect,
        why: if_speaking(answer.why.unwrap_or_else(|| guard.say.clone())),
        code: String::new(),
        instead: if_speaking(answer.instead.unwrap_or_else(|| guard.next_step.clone())),
        otherwise: if_speaking(otherwise),
        verify: guard
            .verify
            .clone()
            .filter(|_| speaks)
            .map(|command| VerifyCommand { command, unverified: guard.on_error }),
    }
}

/// The files of an example: one text, wherever it is asked for.
struct ExampleFile<'a>(Option<&'a str>);

impl FileAccess for ExampleFile<'_> {
    fn read(&self, _: &str) -> Result<Option<String>, String> {
        Ok(self.0.map(str::to_owned))
    }
}

/// A guard's examples, each tried on the guard alone.
fn try_examples(guard: &Guard) -> Result<(), String> {
    for (at, example) in guard.examples.iter().enumerate() {
        let mut event = example.event.clone();
        event.kind = guard.events.first().copied().unwrap_or(event.kind);
        let files = ExampleFile(example.file.as_deref());
        let facts =
            Facts { root: "/project", files: &files, evidence: &NoEvidence, claims: &NoClaims };
        let speaks = GuardSet::alone(guard).evaluate(&event, &facts).verdict > Verdict::Off;
        if speaks != example.is_stopped {
            return Err(format!(
                "example {} should be {} and is not",
                at + 1,
                if speaks { "let through" } else { "stopped" }
            ));
        }
    }
    Ok(())
}
