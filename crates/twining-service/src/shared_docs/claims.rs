//! Claims are shared by all nodes as one document, and not in the log, because they expire. A node
//! brings its folder up to date with the document, lets the verb change the folder, and replaces
//! the document if nobody else did meanwhile.

use rmcp::model::CallToolResult;
use serde_json::Value;
use tokio::runtime::Handle;
use twining_model::{Change, Claim, ClaimList, Time};
use twining_store::{Durability, Store};

use crate::database::{Database, DocRow, RepositoryRow};
use crate::error::ServiceError;
use crate::principal::RemoteCaller;
use crate::repositories::OpenRepository;

/// The document's name.
pub(crate) const CLAIMS: &str = "claims";
/// How often a claim is tried again because another node was quicker.
const TRIES: usize = 5;

/// Brings the folder up to date with the claims of all nodes: their version.
pub(crate) fn take_over(
    database: &Database,
    runtime: &Handle,
    open: &OpenRepository,
    repository: &RepositoryRow,
) -> Result<u64, ServiceError> {
    let (tenant, id) = (&repository.tenant, &repository.id);
    let Some(doc) = runtime.block_on(database.read_doc(tenant, id, CLAIMS))? else { return Ok(0) };
    let store = open.memory.store();
    if in_folder(store)? != doc.body {
        let change = Change { claims: Some(doc.body), ..Change::default() };
        store.write(Durability::Normal, &change)?;
    }
    Ok(doc.version)
}

/// Runs a verb that changes claims, and shares what it made of them.
pub(crate) fn change(
    database: &Database,
    runtime: &Handle,
    open: &OpenRepository,
    caller: &RemoteCaller,
    repository: &RepositoryRow,
    run: impl Fn() -> CallToolResult,
) -> Result<CallToolResult, ServiceError> {
    for _ in 0..TRIES {
        let version = take_over(database, runtime, open, repository)?;
        let before = in_folder(open.memory.store())?;
        let result = run();
        let body = in_folder(open.memory.store())?;
        if body == before {
            return Ok(result);
        }
        let doc = DocRow { version, by: caller.principal.name.clone(), body };
        let (tenant, id) = (&repository.tenant, &repository.id);
        if runtime.block_on(database.replace_doc(tenant, id, CLAIMS, &doc))?.is_some() {
            return Ok(result);
        }
    }
    Err(ServiceError::Unreachable("others claim and release all the time".to_owned()))
}

/// Everybody's claims, as a text has them.
pub(crate) fn claims_in(body: &str) -> Option<Vec<Claim>> {
    let list = serde_json::from_str::<Value>(body).ok()?;
    list["claims"].as_array()?;
    Some(serde_json::from_value::<ClaimList>(list).ok()?.claims)
}

/// What a principal makes of everybody's claims: those of others as they are, and its own, under
/// its name. None if it alters or makes another's. One that holds and that it left out stays, for its
/// clock may be ahead; who may release others' claims takes it out.
pub(crate) fn replaced(
    before: &[Claim],
    mut after: Vec<Claim>,
    principal: &str,
    may_release: bool,
    now: Time,
) -> Option<ClaimList> {
    let is_others = |claim: &Claim| claim.principal.as_deref().is_some_and(|of| of != principal);
    let holds = |claim: &Claim| Time::read(&claim.until).is_some_and(|until| now < until);
    if !may_release {
        let is_left_out = |claim: &&Claim| after.iter().all(|other| other.id != claim.id);
        let held = before.iter().filter(|claim| is_others(claim) && holds(claim));
        let left_out: Vec<Claim> = held.filter(is_left_out).cloned().collect();
        after.extend(left_out);
    }
    let signed = after.into_iter().map(|claim| {
        if before.contains(&claim) {
            return Some(claim);
        }
        let principal = Some(principal.to_owned());
        (!is_others(&claim)).then_some(Claim { principal, ..claim })
    });
    Some(ClaimList { claims: signed.collect::<Option<_>>()? })
}

fn in_folder(store: &Store) -> Result<String, ServiceError> {
    let bytes = store.documents().claims()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-01T10:00:00.000Z";
    const LATER: &str = "2026-11-01T11:00:00.000Z";

    fn claim(id: &str, principal: Option<&str>, until: &str) -> Claim {
        Claim {
            id: id.to_owned(),
            agent_id: "main".to_owned(),
            session_id: None,
            principal: principal.map(str::to_owned),
            paths: vec![format!("src/{id}")],
            feature: None,
            reason: "r".to_owned(),
            since: NOW.to_owned(),
            until: until.to_owned(),
        }
    }

    /// What `ada` makes of claims: ids and principals, or nothing.
    fn by_ada(before: &[Claim], after: &[Claim], may_release: bool) -> Option<Vec<String>> {
        let now = Time::read(NOW).expect("a time");
        let list = replaced(before, after.to_vec(), "ada", may_release, now)?;
        let named = |claim: &Claim| format!("{} {:?}", claim.id, claim.principal.as_deref());
        Some(list.claims.iter().map(named).collect())
    }

    #[test]
    fn a_writer_changes_its_own_claims_and_those_of_before_the_link() {
        let before = [claim("1", Some("ada"), LATER), claim("2", None, LATER)];
        let new = claim("3", None, LATER);
        assert_eq!(by_ada(&before, &[new], false), Some(vec!["3 Some(\"ada\")".to_owned()]));
        assert_eq!(by_ada(&before, &[], false), Some(Vec::new()));
    }

    #[test]
    fn a_claim_of_another_stays_as_it_is_while_it_holds() {
        let theirs = claim("1", Some("bob"), LATER);
        let before = [theirs.clone()];
        let altered = Claim { until: NOW.to_owned(), ..theirs.clone() };
        for after in [vec![altered.clone()], vec![theirs.clone(), altered.clone()]] {
            assert_eq!(by_ada(&before, &after, false), None, "{after:?}");
        }
        let kept = Some(vec!["1 Some(\"bob\")".to_owned()]);
        assert_eq!(by_ada(&before, &[], false), kept, "a clock ahead left it out");
        assert_eq!(by_ada(&before, &[], true), Some(Vec::new()), "a maintainer releases it");
        assert_eq!(by_ada(&before, &[altered], true), None, "and alters none");
        let own = claim("2", Some("ada"), LATER);
        assert_eq!(by_ada(&before, &[theirs, own], false).map(|all| all.len()), Some(2));
        assert_eq!(by_ada(&[claim("1", Some("bob"), NOW)], &[], false), Some(Vec::new()));
    }

    #[test]
    fn nobody_claims_in_the_name_of_another() {
        let forged = claim("1", Some("bob"), LATER);
        assert_eq!(by_ada(&[], std::slice::from_ref(&forged), false), None);
        assert_eq!(by_ada(&[], &[forged], true), None);
    }
}
