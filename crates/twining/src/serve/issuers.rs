//! `serve issuer`: who may issue access tokens for a tenant by OAuth.

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use twining_service::{
    AccessRole, Database, Grant, IssuerRow, NewIssuer, PrincipalKind, ServiceError,
    check_key_address,
};

use super::admin::{
    AdminReport, grants_json, group, name, needed, note, scope_named, tenant_named, text,
};
use crate::args::option;
use crate::render::command_error::CommandError;
use crate::render::text_page::{StyledText, dim, plain, strong};

/// Their flags.
pub(super) fn command() -> Command {
    let kinds = ["agent", "person", "machine"];
    let roles = [AccessRole::Reader, AccessRole::Writer, AccessRole::Maintainer];
    let roles = PossibleValuesParser::new(roles.map(AccessRole::as_str));
    let add = Command::new("add")
        .about("Trust the access tokens of an authorization server")
        .args([
            needed("tenant", "TENANT", "For whose repositories"),
            needed("name", "NAME", "Its name here: records show NAME:SUBJECT"),
            needed("url", "URL", "What it calls itself: the claim `iss` of its tokens, to the letter"),
            needed("jwks", "URL", "Where it publishes its keys; nothing is fetched from elsewhere"),
            needed("repo", "REPO", "The repository its tokens are for, or * for all of the tenant's"),
            needed("role", "ROLE", "The most its tokens may do; the scopes twining:read, twining:write and twining:maintain ask for less")
                .value_parser(roles),
            option("kind", "KIND", "Who holds its tokens")
                .value_parser(PossibleValuesParser::new(kinds))
                .default_value("agent"),
        ])
        .after_help("Example:\n  twining serve issuer add --tenant acme --name corp --url https://id.example.com --jwks https://id.example.com/keys --repo '*' --role writer\n\nNodes accept its tokens if they were started with --public-url.");
    let list = Command::new("list")
        .about("List the issuers that a tenant trusts")
        .arg(needed("tenant", "TENANT", "Whose"));
    let remove = Command::new("remove")
        .about("Trust an issuer no more; nodes notice within ten seconds")
        .arg(needed("tenant", "TENANT", "Whose"))
        .arg(name("name", "NAME", "Its name here"));
    group("issuer", "Trust access tokens by OAuth").subcommands([add, list, remove])
}

/// Trusts one.
pub(super) async fn add(
    given: &ArgMatches,
    database: &Database,
) -> Result<AdminReport, CommandError> {
    let tenant = tenant_named(given, database).await?;
    let repository = scope_named(&tenant, text(given, "repo"), database).await?;
    let role = AccessRole::parse("role", text(given, "role"))
        .map_err(|refused| CommandError::refused(&refused))?;
    let kind = PrincipalKind::parse("kind", text(given, "kind"))
        .map_err(|refused| CommandError::refused(&refused))?;
    for address in ["url", "jwks"] {
        check_key_address(text(given, address))?;
    }
    let issuer = NewIssuer {
        tenant: tenant.id.clone(),
        name: text(given, "name").to_owned(),
        url: text(given, "url").to_owned(),
        jwks: text(given, "jwks").to_owned(),
        kind,
        grants: vec![Grant { repository, role }],
    };
    let id = database.add_issuer(&issuer).await?;
    note(database, &tenant.id, "issuer.add", &issuer.url).await?;
    let words = format!("{} trusts {}", tenant.name, issuer.url);
    Ok(AdminReport::line(issuer_json(&IssuerRow { id, issuer }), words))
}

/// Names all.
pub(super) async fn list(
    given: &ArgMatches,
    database: &Database,
) -> Result<AdminReport, ServiceError> {
    let tenant = tenant_named(given, database).await?;
    let issuers = database.issuers(&tenant.id).await?;
    let row = |row: &IssuerRow| -> Vec<StyledText> {
        let issuer = &row.issuer;
        let roles: Vec<_> = issuer.grants.iter().map(|grant| grant.role.as_str()).collect();
        vec![
            strong(&issuer.name),
            plain(&issuer.url),
            plain(issuer.kind.as_str()),
            plain(roles.join(" ")),
            dim(&issuer.jwks),
        ]
    };
    let rows = issuers.iter().map(row).collect();
    let json: Value = issuers.iter().map(issuer_json).collect();
    Ok(AdminReport { json: json!({"issuers": json}), rows })
}

/// Trusts one no more.
pub(super) async fn remove(
    given: &ArgMatches,
    database: &Database,
) -> Result<AdminReport, ServiceError> {
    let (tenant, name) = (tenant_named(given, database).await?, text(given, "name"));
    database.remove_issuer(&tenant.id, name).await?;
    note(database, &tenant.id, "issuer.remove", name).await?;
    Ok(AdminReport::line(json!({"removed": name}), format!("removed {name}")))
}

fn issuer_json(row: &IssuerRow) -> Value {
    let issuer = &row.issuer;
    json!({
        "id": row.id,
        "name": issuer.name,
        "url": issuer.url,
        "jwks": issuer.jwks,
        "kind": issuer.kind.as_str(),
        "grants": grants_json(&issuer.grants),
    })
}
