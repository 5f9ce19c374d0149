//! Who calls: whom the service knows by a token, and what that token may do where.

use std::cell::RefCell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Id, words};

words! {
    /// What a token may do in a repository, from least to most.
    pub enum AccessRole {
        /// Reads.
        Reader = "reader",
        /// Adds.
        Writer = "writer",
        /// Overrides, promotes, reconsiders, archives and prunes.
        Maintainer = "maintainer",
        /// The same; for people who run the service, which takes the command line.
        Admin = "admin",
    }
}

impl AccessRole {
    /// The scope of an access token by OAuth that asks for it.
    #[must_use]
    pub fn scope(self) -> &'static str {
        match self {
            Self::Reader => "twining:read",
            Self::Writer => "twining:write",
            Self::Maintainer | Self::Admin => "twining:maintain",
        }
    }
}

words! {
    /// Who holds a token.
    pub enum PrincipalKind {
        /// A coding agent.
        Agent = "agent",
        /// A person.
        Person = "person",
        /// A machine: a linked clone, CI.
        Machine = "machine",
        /// Whoever runs the service.
        Admin = "admin",
    }
}

/// Which repositories a grant is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// All of the tenant.
    All,
    /// One.
    One(Id),
}

/// A role in some repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Which.
    pub repository: GrantScope,
    /// What may be done there.
    pub role: AccessRole,
}

/// Whom the service knows by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The token's id, which is no secret.
    pub token_id: String,
    /// The tenant it belongs to.
    pub tenant: Id,
    /// Its name.
    pub name: String,
    /// Who holds it.
    pub kind: PrincipalKind,
    /// What it may do.
    pub grants: Vec<Grant>,
}

impl Principal {
    /// The most it may do in a repository of its tenant.
    #[must_use]
    pub fn role_in(&self, repository: &Id) -> Option<AccessRole> {
        let is_for = |grant: &&Grant| match &grant.repository {
            GrantScope::All => true,
            GrantScope::One(id) => id == repository,
        };
        self.grants.iter().filter(is_for).map(|grant| grant.role).max()
    }
}

/// A call of a tool from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteCaller {
    /// Whose token it came with.
    pub principal: Principal,
    /// What that may do in this repository.
    pub role: AccessRole,
    /// What the client calls itself.
    pub client: Option<String>,
    /// The project's folder on the caller's machine, which scopes are relative to.
    pub root: Option<String>,
    /// Whether a person said yes to a question of ours.
    pub confirmed: bool,
}

thread_local! {
    static ACTING: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does something on behalf of a principal: lines that this thread appends meanwhile bear its
/// name.
pub fn acting_as<T>(principal: &Principal, doing: impl FnOnce() -> T) -> T {
    struct Restore(Option<String>);
    impl Drop for Restore {
        fn drop(&mut self) {
            ACTING.set(self.0.take());
        }
    }
    let _restore = Restore(ACTING.replace(Some(principal.name.clone())));
    doing()
}

/// On whose behalf this thread acts.
pub(crate) fn acting_principal() -> Option<String> {
    ACTING.with_borrow(Clone::clone)
}
