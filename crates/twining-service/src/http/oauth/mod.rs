//! The service as a resource server of OAuth 2.1: access tokens of issuers that a tenant trusts.
//!
//! Nothing is fetched and nobody is believed unless an administrator has named the issuer for
//! this tenant, with where its keys are and the most that its tokens may do where. A token then
//! has to be signed by one of those keys, come from exactly that issuer, be for exactly this
//! endpoint, and still be good.

mod access_token;
mod key_cache;
mod resource_server;
mod signing_key;
mod web_address;

pub(super) use resource_server::{ResourceServer, metadata};
pub use web_address::{PublicUrl, check_key_address};
