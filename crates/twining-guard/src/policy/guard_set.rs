//! All guards of a project, put together from three layers: compiled in, the
//! person's own file, the project's file. The project's can only be stricter.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use twining_model::text;

use crate::paths::{PathGlobs, globs_of};
use crate::policy::guard::{CheckKind, Conditions, Guard};
use crate::policy::parse::{self, Examples};
use crate::policy::provenance::{Mistake, PolicyLayer};
use crate::policy::{PROJECT_FILE, builtin};
use crate::verdict::Verdict;

pub use twining_model::TextFile;

/// The person's own policy file, which only the binary can find.
#[derive(Clone, Debug)]
pub struct UserPolicy {
    /// What it is called in mistakes.
    pub name: String,
    /// What is in it.
    pub file: TextFile,
}

impl Default for UserPolicy {
    fn default() -> Self {
        Self { name: "the user's policy.yml".to_owned(), file: TextFile::Missing }
    }
}

/// The guards that hold in a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GuardSet {
    /// All of them, dead ones too.
    pub guards: Vec<Guard>,
    /// What was wrong with the files.
    pub mistakes: Vec<Mistake>,
    /// Why the guards of the project's policy cannot be read, if they cannot.
    pub unread: Option<Mistake>,
    /// What happens to a call that cannot be read.
    pub on_unreadable: Verdict,
}

impl GuardSet {
    /// Puts the layers together, examples untried. The user's file may change what is
    /// compiled in; the project's may only add guards and make them stricter.
    #[must_use]
    pub(crate) fn assemble(user: &UserPolicy, project: &TextFile, examples: Examples) -> Self {
        let mut all = Self { guards: builtin::guards(), ..Self::default() };
        all.add_layer(PolicyLayer::User, &user.name, &user.file, examples);
        all.add_layer(PolicyLayer::Project, PROJECT_FILE, project, examples);
        all
    }

    /// One guard by itself, at least warning: what it would say, whatever it does.
    #[must_use]
    pub fn alone(guard: &Guard) -> Self {
        let guard = Guard {
            examples: Vec::new(),
            action: guard.action.max(Verdict::Warn),
            ..guard.clone()
        };
        Self { guards: vec![guard], ..Self::default() }
    }

    /// Only what decisions and knowledge rule out.
    #[must_use]
    pub fn of_clauses(clauses: &[Clause]) -> Self {
        let mut all = Self::default();
        all.add_clauses(clauses);
        all
    }

    /// Adds what decisions and knowledge rule out.
    pub fn add_clauses(&mut self, clauses: &[Clause]) {
        for clause in clauses {
            match clause.to_guard() {
                Ok(guard) => self.guards.push(guard),
                Err(why) => self.mistakes.push(Mistake::whole("a decision's clause", &why)),
            }
        }
    }

    /// Also keeps agents away from these folders, which are outside the project: the
    /// person's own settings.
    pub fn protect(&mut self, folders: &[String]) {
        let globs: Vec<String> = folders.iter().flat_map(|folder| globs_of(folder)).collect();
        for guard in self.guards.iter_mut().filter(|guard| guard.id == builtin::RECORDS) {
            guard.paths.extend(globs.iter().cloned());
        }
    }

    /// Whether a guard of this name holds and refuses.
    #[must_use]
    pub fn blocks(&self, id: &str) -> bool {
        self.guards
            .iter()
            .any(|guard| guard.id == id && guard.is_on() && guard.action == Verdict::Block)
    }

    /// Message to the agent and the user about a policy that cannot be read.
    #[must_use]
    pub fn unread_notice(&self) -> Option<String> {
        let mistake = self.unread.as_ref()?;
        Some(text::visible(&format!(
            "The project's guards cannot be read ({mistake}); until line {} of {} is fixed, only the built-in guards are in force. `twining guard list` shows what is wrong.",
            mistake.line, mistake.file
        )))
    }

    fn add_layer(&mut self, layer: PolicyLayer, name: &str, file: &TextFile, examples: Examples) {
        let text = match file {
            TextFile::Missing => return,
            TextFile::Unusable(why) => {
                let mistake = Mistake::whole(name, why);
                if layer == PolicyLayer::Project {
                    self.unread = Some(mistake.clone());
                }
                return self.mistakes.push(mistake);
            }
            TextFile::Text(text) => text,
        };
        let part = parse::read(text, name, &mut self.mistakes);
        match (layer, part.on_unreadable) {
            (PolicyLayer::User, Some(level)) => self.on_unreadable = level,
            (_, Some(_)) => self.mistakes.push(Mistake::whole(
                name,
                "`on_unreadable` is a user setting and has no effect here",
            )),
            _ => {}
        }
        if layer == PolicyLayer::Project {
            self.unread = part.unread;
        }
        let mut seen = BTreeSet::new();
        for written in part.guards {
            let is_again = !seen.insert(written.id.clone());
            let known = self.guards.iter().position(|guard| guard.id == written.id);
            let base = known.filter(|at| {
                self.guards[*at].kind != CheckKind::Declared
                    || self.guards[*at].source.layer == PolicyLayer::Default
            });
            let compiled =
                parse::compile(&written, layer, base.map(|at| &self.guards[at]), examples);
            let mut mistake = |message: String| {
                self.mistakes.push(Mistake {
                    file: name.to_owned(),
                    line: written.line,
                    column: 1,
                    message,
                    suggestion: None,
                });
            };
            match (compiled, known) {
                (Err(why), _) => mistake(format!(
                    "the guard `{}` is ignored: {why}",
                    text::excerpt(&written.id, 40)
                )),
                // Whichever of the two was meant: the other may be a mistake, and must not take it away.
                (Ok(guard), Some(_)) if is_again => {
                    mistake(format!(
                        "`{}` is defined twice; both apply, and the stricter answer wins",
                        guard.id
                    ));
                    self.guards.push(guard);
                }
                // A person's own file says what holds for them.
                (Ok(guard), Some(at)) if layer == PolicyLayer::User => self.guards[at] = guard,
                (Ok(guard), Some(at)) => {
                    let action = self.guards[at].action;
                    if guard.action < action {
                        mistake(format!(
                            "`{}` is {} already, and a project can only make it stricter",
                            guard.id,
                            action.as_str()
                        ));
                    }
                    // Added next to the guard it cannot replace.
                    if guard.action > Verdict::Off {
                        self.guards.push(guard);
                    }
                }
                (Ok(guard), None) => self.guards.push(guard),
            }
        }
    }
}

/// Things one clause may rule out.
const MAX_ITEMS: usize = 32;

/// A decision or a rule of the knowledge that can be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clause {
    /// The guard's name: `decision-` and the id, or `knowledge-` and the nodes.
    pub id: String,
    /// Where it holds, as globs.
    pub paths: Vec<String>,
    /// What must not be brought in: an import or a path.
    pub must_not_use: Vec<String>,
    /// The record's own words: what was decided, and why.
    pub say: String,
    /// Whether it is contested and only warns, instead of blocking.
    pub is_contested: bool,
}

impl Clause {
    pub(crate) fn to_guard(&self) -> Result<Guard, String> {
        let otherwise = match self.id.strip_prefix("decision-") {
            Some(decision) => {
                format!("a person overrides the decision: `twining override {decision} --why …`")
            }
            None => "propose a different edge with twining_knowledge_update, for review".to_owned(),
        };
        let action = if self.is_contested { Verdict::Warn } else { Verdict::Block };
        Ok(Guard {
            say: self.say.clone(),
            next_step: "write it without that".to_owned(),
            otherwise,
            when: Conditions { adds: self.must_not_use.clone(), ..Conditions::default() },
            ..Guard::new(
                &self.id,
                CheckKind::ForbiddenUse,
                action,
                PathGlobs::compile(&self.paths)?,
            )
        })
    }
}

/// What a constraint rules out: `must_not_use: kind, src/legacy`. Prose gives
/// nothing: each thing is one word.
#[must_use]
pub fn ruled_out(constraint: &str) -> Vec<String> {
    let Some((head, items)) = constraint.split_once(':') else { return Vec::new() };
    let head: String = head.trim().to_lowercase().replace(['_', '-'], " ");
    if head != "must not use" {
        return Vec::new();
    }
    items
        .split(',')
        .map(|item| item.trim().trim_matches(['`', '"', '\'']).to_owned())
        .filter(|item| item.len() > 1 && item.len() <= 200 && !item.contains(char::is_whitespace))
        .take(MAX_ITEMS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constraint_rules_out_words_and_no_prose() {
        assert_eq!(ruled_out("must_not_use: kind, `src/legacy/`"), ["kind", "src/legacy/"]);
        assert_eq!(ruled_out("Must not use: lodash"), ["lodash"]);
        assert_eq!(ruled_out("must not use: the old API for new code"), Vec::<String>::new());
        assert_eq!(ruled_out("must stay fast: yes"), Vec::<String>::new());
    }
}
