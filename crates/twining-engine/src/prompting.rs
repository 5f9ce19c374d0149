//! Where a prompt meets the rest of the memory: governance writes what policy and
//! turns have to say, and the context and the knowledge fill what is left.

use twining_model::{Scope, Status};

use crate::caller::Caller;
use crate::context::{AssembleInput, AssembledContext};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::prompt::{self, Memory, PromptDraft};
use crate::governance::{Prompt, PromptInput, PromptRecord, UserPolicy, turns};
use crate::knowledge::RuleFact;

impl Engine {
    /// Writes a prompt for an agent in a role.
    pub fn prompt(&self, caller: &Caller, user: &UserPolicy, input: &PromptInput) -> Result<Prompt, Failure> {
        let policy = self.policy(user);
        let draft = PromptDraft::parse(input, &policy, self.store().root())?;
        let read = |shelf: &twining_store::Shelf| Ok::<_, Failure>(turns::before(shelf, &draft.key, prompt::TURNS_TOLD));
        let earlier = self.store().turns(read).unwrap_or_default();
        let sheet = prompt::begin(&policy, &draft, &earlier)?;
        let memory = self.memory_for(caller, &draft, sheet.room());
        Ok(sheet.finish(memory))
    }

    /// What the other rooms know for a prompt. One that cannot be asked gives
    /// nothing: an agent with half a prompt is better off than one with none.
    fn memory_for(&self, caller: &Caller, draft: &PromptDraft, tokens: usize) -> Memory {
        // A hook waits for this: where there is no memory yet, not even an empty index is made.
        if !self.store().exists().unwrap_or(false) {
            return Memory::default();
        }
        let (task, scope) = (draft.question(), draft.scope.to_string());
        let question = AssembleInput { task, scope, max_tokens: Some(tokens.max(1)), ..AssembleInput::default() };
        let rules = self.critical_rules(draft);
        match self.assemble_by_words(caller, &question) {
            Ok(context) => recalled(rules, context),
            Err(_) => Memory { rules, ..Memory::default() },
        }
    }

    /// Critical rules of the reviewed knowledge in scope; none where there is no
    /// graph, or none that can be read.
    fn critical_rules(&self, draft: &PromptDraft) -> Vec<PromptRecord> {
        let Ok(facts) = self.knowledge_facts() else { return Vec::new() };
        let rule = |rule: &RuleFact| PromptRecord {
            id: rule.id.clone(),
            summary: rule.description.clone(),
            detail: String::new(),
            standing: "critical".to_owned(),
        };
        if draft.scope == Scope::project() {
            return facts.critical_rules.iter().map(rule).collect();
        }
        facts.rules_for(draft.scope.as_str().trim_end_matches('/')).map(rule).collect()
    }
}

fn recalled(rules: Vec<PromptRecord>, context: AssembledContext) -> Memory {
    let decisions = context.active_decisions.into_iter().map(|decision| PromptRecord {
        id: decision.id.to_string(),
        summary: decision.summary,
        detail: decision.rationale.unwrap_or_default(),
        standing: match (decision.status, decision.contested_by.is_empty()) {
            (_, false) => "contested".to_owned(),
            (Status::Active, true) => String::new(),
            (status, true) => status.as_str().to_owned(),
        },
    });
    let warnings = context.active_warnings.into_iter().map(|warning| PromptRecord {
        id: warning.id,
        summary: warning.summary,
        detail: warning.detail.unwrap_or_default(),
        standing: String::new(),
    });
    Memory { rules, decisions: decisions.collect(), warnings: warnings.collect(), left_out: context.omitted_count }
}
