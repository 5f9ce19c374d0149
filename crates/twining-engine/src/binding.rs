//! What binds an agent besides the policy: decisions and reviewed knowledge that
//! say what must not be used.

use twining_model::{Authority, Decision, Status, text};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::guards::{Clause, globs_of, ruled_out};
use crate::knowledge::BondFact;

/// Characters of a record's words that a guard repeats.
const SAID: usize = 200;

impl Engine {
    /// Every clause in force. Opens the index; whoever asks often keeps the answer.
    pub fn clauses(&self) -> Result<Vec<Clause>, Failure> {
        if !self.store().exists()? {
            return Ok(Vec::new());
        }
        let mut clauses = self.store().view(|view| {
            let decisions = view.decisions();
            let mut clauses = Vec::new();
            for decision in decisions.speaking_of("must_not_use")? {
                let is_replaced = || -> Result<bool, twining_store::StoreError> {
                    for id in decisions.successors(&decision.id)? {
                        if decisions.get(&id)?.is_some_and(|successor| successor.status.binds()) {
                            return Ok(true);
                        }
                    }
                    Ok(false)
                };
                let holds = match decision.status {
                    Status::Active | Status::Provisional => true,
                    // A word for it is not enough: somebody must have said so who may.
                    Status::Overridden => decision.override_authority != Some(Authority::Confirmed),
                    Status::Superseded => !is_replaced()?,
                };
                clauses.extend(of_decision(&decision).filter(|_| holds));
            }
            Ok::<_, twining_store::StoreError>(clauses)
        })?;
        // Knowledge that cannot be read binds nobody; its own check says so.
        if let Ok(facts) = self.knowledge_facts() {
            clauses.extend(facts.must_not_use.iter().filter_map(of_bond));
        }
        Ok(clauses)
    }
}

fn of_decision(decision: &Decision) -> Option<Clause> {
    let must_not_use: Vec<String> = decision.constraints.iter().flat_map(|constraint| ruled_out(constraint)).collect();
    (!must_not_use.is_empty()).then(|| Clause {
        id: format!("decision-{}", decision.id),
        paths: globs_of(&decision.scope),
        must_not_use,
        say: said(&decision.summary),
        is_contested: decision.status == Status::Provisional,
    })
}

fn of_bond(bond: &BondFact) -> Option<Clause> {
    let paths: Vec<String> = split(&bond.from_path).flat_map(globs_of).collect();
    let named = split(&bond.to_path).map(str::to_owned).collect::<Vec<_>>();
    // A node without a path is called as it is imported.
    let must_not_use = if named.is_empty() { vec![bond.to.clone()] } else { named };
    let why = if bond.note.is_empty() { &bond.description } else { &bond.note };
    (!paths.is_empty()).then(|| Clause {
        id: format!("knowledge-{}-{}", bond.from, bond.to),
        paths,
        must_not_use,
        say: said(&format!("{} must not use {}: {why}", bond.from, bond.to)),
        is_contested: false,
    })
}

fn split(paths: &str) -> impl Iterator<Item = &str> {
    paths.split(',').map(str::trim).filter(|path| !path.is_empty())
}

fn said(words: &str) -> String {
    text::visible(&text::excerpt(words, SAID)).replace('\n', " ")
}
