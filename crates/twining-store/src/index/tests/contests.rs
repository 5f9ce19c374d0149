use proptest::prelude::*;
use twining_model::Status;

use super::{Desk, ulid, view};

/// A decision of one of two domains, somewhere in a small tree, saying one of three things.
fn decided() -> impl Strategy<Value = String> {
    let statuses = prop::sample::select(vec!["active", "provisional", "superseded"]);
    let scopes = prop::sample::select(vec!["project", "src/", "src/auth/", "src/auth/jwt.ts", "docs/"]);
    let summaries = prop::sample::select(vec!["use this", "use  this", "use that"]);
    let confidences = prop::sample::select(vec!["high", "medium", "low"]);
    (statuses, scopes, summaries, confidences, any::<bool>()).prop_map(|(status, scope, summary, confidence, is_odd)| {
        let domain = if is_odd { "Storage" } else { "storage " };
        let domain = if scope == "docs/" { "writing" } else { domain };
        format!(
            ",\"status\":\"{status}\",\"scope\":\"{scope}\",\"summary\":\"{summary}\",\"domain\":\"{domain}\",\"confidence\":\"{confidence}\""
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn few_decisions_compared_in_memory_contest_one_another_as_the_index_has_it(fields in prop::collection::vec(decided(), 1..14)) {
        let desk = Desk::new();
        fields.iter().enumerate().for_each(|(n, fields)| desk.decision(&ulid(n), fields));
        let index = desk.index();
        let view = view(&index);
        let contests = view.contests().expect("reads");
        for row in view.decisions().affecting(&twining_model::Scope::project()).expect("reads") {
            let decision = view.decisions().get(&row.id).expect("reads").expect("is there");
            for limit in 1..4 {
                let both = [Status::Active, Status::Provisional];
                prop_assert_eq!(
                    contests.contesters(&decision, &both, limit).expect("answers"),
                    view.decisions().contesters(&decision, &both, limit).expect("answers")
                );
            }
        }
    }
}
