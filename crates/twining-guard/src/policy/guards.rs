//! Clauses: what a decision or the reviewed knowledge says must not be used, as a guard.

use serde::{Deserialize, Serialize};

use crate::paths::PathGlobs;
use crate::policy::rule::{CheckKind, Conditions, Guard};
use crate::verdict::Verdict;

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
    /// Whether it is in force, or contested and only told.
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
    use crate::policy::guards::*;

    #[test]
    fn a_constraint_rules_out_words_and_no_prose() {
        assert_eq!(ruled_out("must_not_use: kind, `src/legacy/`"), ["kind", "src/legacy/"]);
        assert_eq!(ruled_out("Must not use: lodash"), ["lodash"]);
        assert_eq!(ruled_out("must not use: the old API for new code"), Vec::<String>::new());
        assert_eq!(ruled_out("must stay fast: yes"), Vec::<String>::new());
    }
}
