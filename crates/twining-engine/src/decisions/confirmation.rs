//! Whether a person's word counts as one: in a linked clone that depends on the kind of its token.

use twining_model::Authority;

use crate::engine::Engine;
use crate::failure::Failure;

/// What to do where the team's log takes no person's word.
pub(crate) const PERSONS_TOKEN: &str = "the team's log takes no confirmation from this clone, because its token is not of kind `person`: ask an administrator for one (`twining serve token add --kind person --role maintainer …`), run `twining link URL` with it, and override again at a terminal: `twining override ID --why \"…\"`";

impl Engine {
    /// Whether nothing is confirmed from here: the team's log believes only a person's token.
    pub(crate) fn lacks_persons_token(&self) -> Result<bool, Failure> {
        Ok(self.store().outbox().signature()?.is_some_and(|one| !one.is_person))
    }

    /// The authority that an act has in the team's log too.
    pub(super) fn believed_authority(&self, given: Authority) -> Result<Authority, Failure> {
        Ok(if self.lacks_persons_token()? { Authority::Claimed } else { given })
    }

    /// What has to be done before what is only claimed can be confirmed from here.
    pub(super) fn confirmation_hint(
        &self,
        authority: Option<Authority>,
    ) -> Result<Option<&'static str>, Failure> {
        let is_hopeless = authority == Some(Authority::Claimed) && self.lacks_persons_token()?;
        Ok(is_hopeless.then_some(PERSONS_TOKEN))
    }
}
