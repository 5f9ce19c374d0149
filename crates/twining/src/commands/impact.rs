//! Impact: what hangs on a decision, a file or a definition.

use schemars::JsonSchema;
use serde::Serialize;
use twining_engine::{CodeImpact, Failure, Feature, FeaturesInput, ImpactInput, ImpactOutcome};
use twining_model::Id;

use super::anchors::{ASSUMED, code_line};
use super::rows;
use crate::project::CommandContext;
use crate::render::text_page::{TextPage, count, dim, kind, place, plain, standing, strong};
use crate::verbs::verb::{Effect, Verb};

/// What hangs on a decision, or on a place in the code.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImpactAnswer {
    #[serde(flatten)]
    decision: Option<ImpactOutcome>,
    /// What hangs on the code, where a file or a definition was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<CodeImpact>,
}

fn show_code_impact(impact: &CodeImpact, page: &mut TextPage) {
    page.line([strong(&impact.at), dim(count(impact.records.len() as u64, "record"))]);
    for record in &impact.records {
        let assumed = if record.assumed { ASSUMED } else { "" };
        let row = vec![dim(&record.id), plain(&record.summary), place(&record.at), dim(assumed)];
        page.table(2, [row]);
        if let Some(note) = &record.code {
            page.table(4, [code_line(note)]);
        }
    }
    rows::section(page, "Features", impact.features.iter().map(|id| vec![plain(id)]));
    rows::section(page, "Claimed by", impact.claimed_by.iter().map(|agent| vec![plain(agent)]));
    rows::section(page, "Guards", impact.guards.iter().map(|id| vec![plain(id)]));
    rows::section(page, "Tests", impact.tests.iter().map(|test| vec![place(test)]));
    rows::section(
        page,
        "Mentioned in",
        impact.mentioned_in.iter().map(|mention| {
            let doubt = (mention.of > 1).then(|| format!("1 of {} with that name", mention.of));
            vec![place(&mention.at), dim(doubt.unwrap_or_default()), dim(mention.records.join(" "))]
        }),
    );
    if impact.omitted_count > 0 {
        page.line([dim(format!("{} more", impact.omitted_count))]);
    }
    rows::section(
        page,
        "Usually changes with",
        impact
            .changes_with
            .iter()
            .map(|file| vec![place(&file.path), dim(format!("{} %", file.percent))]),
    );
}

impl Verb for ImpactInput {
    const NAME: &'static str = "impact";
    const ABOUT: &'static str = "What changing a decision, a file or a definition would affect: decisions, features, guards, tests, code that names it.";
    const EXAMPLE: &'static str = "twining impact src/auth/hash.rs#hash_password";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["decision_id"];

    type Output = ImpactAnswer;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ImpactAnswer, Failure> {
        if Id::read(self.decision_id.trim()).is_some() {
            return Ok(ImpactAnswer { decision: Some(ctx.engine.impact(self)?), code: None });
        }
        let listed = ctx.engine.features(&ctx.caller, ctx.checkout, &FeaturesInput::default());
        let features: Vec<Feature> = listed
            .map(|listed| listed.features.into_iter().map(|listed| listed.feature).collect())
            .unwrap_or_default();
        let code = ctx.engine.code_impact(&ctx.user_policy(), &self.decision_id, &features)?;
        Ok(ImpactAnswer { decision: None, code: Some(code) })
    }

    fn show(impact: &ImpactAnswer, page: &mut TextPage) {
        if let Some(code) = &impact.code {
            show_code_impact(code, page);
        }
        let Some(impact) = &impact.decision else { return };
        page.line([plain(&impact.summary)]);
        rows::section(
            page,
            "Dependent decisions",
            impact.dependents.iter().map(|decision| {
                vec![dim(&decision.id), standing(decision.status), plain(&decision.summary)]
            }),
        );
        rows::section(page, "Files", impact.affected_files.iter().map(|file| vec![place(file)]));
        rows::section(
            page,
            "Symbols",
            impact.affected_symbols.iter().map(|symbol| vec![plain(symbol)]),
        );
        rows::section(page, "Entities", impact.entities.iter().map(rows::entity_row));
        rows::section(
            page,
            "Entries",
            impact
                .entries
                .iter()
                .map(|entry| vec![dim(&entry.id), kind(&entry.entry_type), plain(&entry.summary)]),
        );
        rows::section(page, "Commits", impact.commits.iter().map(|hash| vec![plain(hash)]));
        rows::truncated_note(page, impact.truncated, "trace one of the dependent decisions");
    }
}
