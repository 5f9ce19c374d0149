//! The commands of who runs the service. They ask the database, not a node, and need its owner's
//! rights.

use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgGroup, ArgMatches, Command, ValueHint, value_parser};
use serde_json::{Value, json};
use twining_model::Id;
use twining_service::{
    AccessRole, AuditEntry, Database, Grant, GrantScope, NewToken, PrincipalKind, RepositoryRow,
    ServiceError, TenantLimits, TenantRow, TokenRow,
};

use super::issuers;
use crate::args::{option, path, word};
use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{StyledText, TextPage, dim, plain, strong, warn};

/// How long a token is good for unless something else is said.
const DAYS: &str = "90";
/// Rows of the audit that are shown at once.
const AUDIT_ROWS: &str = "100";

/// Their flags.
pub(super) fn commands() -> [Command; 7] {
    [migrate(), tenant(), repo(), token(), issuers::command(), audit(), export()]
}

fn migrate() -> Command {
    Command::new("migrate").about("Bring the database's schema up to date").long_about(
        "Bring the database's schema up to date.\n\nThe first time, the URL's user must be allowed to make roles: it makes `twining_owner`, who owns the tables, and `twining_app`, whom nodes serve as. Nodes of the version before go on working; run this before the first node of a new version.",
    )
}

fn tenant() -> Command {
    let add = Command::new("add")
        .about("Make a tenant: a team whose repositories nobody else sees")
        .arg(name("name", "NAME", "Its name, the first part of every address: a-z 0-9 . _ -"))
        .after_help("Example:\n  twining serve tenant add acme");
    let limit = Command::new("limit")
        .about("Set what all repositories of a tenant may hold together")
        .arg(name("tenant", "TENANT", "Whose they are"))
        .args([
            option("records", "N", "At most so many records, or none for no limit")
                .value_parser(parse_limit),
            option("bytes", "N", "At most so many bytes of lines (K, M, G and T are powers of 1024), or none for no limit")
                .value_parser(parse_limit),
        ])
        .group(ArgGroup::new("what").args(["records", "bytes"]).required(true).multiple(true))
        .after_help("Example:\n  twining serve tenant limit acme --records 5000000 --bytes 20G");
    let list = Command::new("list").about("List tenants, what they hold and what they may hold");
    group("tenant", "Make, list and limit tenants").subcommands([add, list, limit])
}

fn repo() -> Command {
    let add = Command::new("add")
        .about("Make a repository's memory")
        .arg(name("tenant", "TENANT", "Whose it is"))
        .arg(name("name", "NAME", "Its name, the second part of its address: a-z 0-9 . _ -"))
        .after_help("Example:\n  twining serve repo add acme shop");
    let list = Command::new("list").about("List a tenant's repositories").arg(name(
        "tenant",
        "TENANT",
        "Whose they are",
    ));
    group("repo", "Make and list repositories").subcommands([add, list])
}

fn token() -> Command {
    let kinds = PrincipalKind::ALL.map(PrincipalKind::as_str);
    let roles = AccessRole::ALL.map(AccessRole::as_str);
    let one_of =
        |arg: Arg, words: Vec<&'static str>| arg.value_parser(PossibleValuesParser::new(words));
    let add = Command::new("add")
        .about("Issue a token; it is shown this once and kept nowhere")
        .args([
            needed("tenant", "TENANT", "Whose it is"),
            needed("repo", "REPO", "The repository it is for, or * for all of the tenant's"),
            one_of(needed("role", "ROLE", "reader reads; writer adds; maintainer also overrides, promotes, archives and prunes; admin may do the same"), roles.to_vec()),
            one_of(option("kind", "KIND", "Who will hold it"), kinds.to_vec()).default_value("agent"),
            needed("name", "NAME", "Whom it stands for: records and the audit show this name"),
            option("days", "N", "How long it is good for")
                .value_parser(value_parser!(u32).range(1..=366))
                .default_value(DAYS),
        ])
        .after_help("Example:\n  twining serve token add --tenant acme --repo shop --role writer --name ada-laptop --kind machine");
    let revoke = Command::new("revoke")
        .about("End a token, on every node within a second")
        .arg(name("id", "ID", "The token's id: the part between the first two underscores"));
    let list = Command::new("list")
        .about("List a tenant's tokens, without their secrets")
        .arg(needed("tenant", "TENANT", "Whose they are"));
    group("token", "Issue, revoke and list tokens").subcommands([add, revoke, list])
}

fn audit() -> Command {
    Command::new("audit")
        .about("Show who did what: refusals, overrides, tokens")
        .arg(needed("tenant", "TENANT", "Whose"))
        .arg(
            option("after", "N", "Only rows after this number")
                .value_parser(value_parser!(i64))
                .default_value("0"),
        )
        .arg(
            option("limit", "N", "At most so many")
                .value_parser(value_parser!(u32).range(1..=10_000))
                .default_value(AUDIT_ROWS),
        )
        .after_help("Example:\n  twining serve audit --tenant acme --json")
}

fn export() -> Command {
    Command::new("export")
        .about("Write a repository's memory as a folder, as `git clone` would have it")
        .arg(needed("tenant", "TENANT", "Whose it is"))
        .arg(needed("repo", "REPO", "Which one"))
        .arg(path(
            needed("to", "DIR", "The folder to write it into; made if need be"),
            ValueHint::DirPath,
        ))
        .after_help("Example:\n  twining serve export --tenant acme --repo shop --to /backup/shop")
}

pub(super) fn group(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).subcommand_required(true).arg_required_else_help(true)
}

pub(super) fn name(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    word(id, value, help).required(true)
}

pub(super) fn needed(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(id, value, help).required(true)
}

/// `5000000`, `20G` or `none`.
fn parse_limit(text: &str) -> Result<Option<u64>, String> {
    if text == "none" {
        return Ok(None);
    }
    let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
    let unit = units.iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, *bits)));
    let (digits, bits) = unit.unwrap_or((text, 0));
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << bits));
    number.map(Some).ok_or_else(|| "must be a number such as 5000000 or 20G, or none".to_owned())
}

/// What a command has to say.
pub(super) struct AdminReport {
    pub(super) json: Value,
    pub(super) rows: Vec<Vec<StyledText>>,
}

impl AdminReport {
    pub(super) fn line(json: Value, words: impl AsRef<str>) -> Self {
        Self { json, rows: vec![vec![plain(words)]] }
    }
}

/// Runs one of them: `called` is what was typed.
pub(super) async fn run(
    called: &str,
    given: &ArgMatches,
    database: &Database,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    if called != "serve migrate" {
        // Before anything is written: what is done must also be put on record.
        database.check_admin_rights().await?;
    }
    let report = match called {
        "serve migrate" => {
            let done = database.migrate().await?;
            let words = match done.len() {
                0 => "the schema is up to date".to_owned(),
                _ => format!("done: {}", done.join(", ")),
            };
            AdminReport::line(json!({"migrations": done}), words)
        }
        "serve tenant add" => add_tenant(text(given, "name"), database).await?,
        "serve tenant list" => list_tenants(database).await?,
        "serve tenant limit" => limit_tenant(given, database).await?,
        "serve repo add" => add_repository(given, database).await?,
        "serve repo list" => list_repositories(given, database).await?,
        "serve token add" => add_token(given, database).await?,
        "serve token revoke" => revoke_token(text(given, "id"), database).await?,
        "serve token list" => list_tokens(given, database).await?,
        "serve issuer add" => issuers::add(given, database).await?,
        "serve issuer list" => issuers::list(given, database).await?,
        "serve issuer remove" => issuers::remove(given, database).await?,
        "serve audit" => read_audit(given, database).await?,
        "serve export" => export_folder(given, database).await?,
        other => return Err(CommandError::misuse(format!("`{other}` is not a command"))),
    };
    let show = |page: &mut TextPage| page.table(0, report.rows);
    Ok(output::answer(style, || report.json, show, ExitStatus::Done))
}

async fn add_tenant(name: &str, database: &Database) -> Result<AdminReport, ServiceError> {
    let tenant = database.add_tenant(name).await?;
    note(database, &tenant.id, "tenant.add", name).await?;
    let words = format!("tenant {name} is there; next: twining serve repo add {name} REPO");
    Ok(AdminReport::line(json!({"id": tenant.id, "name": tenant.name}), words))
}

async fn list_tenants(database: &Database) -> Result<AdminReport, ServiceError> {
    let tenants = database.tenants().await?;
    let rows = tenants.iter().map(tenant_row).collect();
    let json: Value = tenants.iter().map(tenant_json).collect();
    Ok(AdminReport { json: json!({"tenants": json}), rows })
}

/// What is not named stays as it is.
async fn limit_tenant(
    given: &ArgMatches,
    database: &Database,
) -> Result<AdminReport, ServiceError> {
    let mut tenant = tenant_named(given, database).await?;
    let limit = |name: &str, now| given.get_one::<Option<u64>>(name).copied().unwrap_or(now);
    let TenantLimits { records, bytes } = tenant.limits;
    tenant.limits =
        TenantLimits { records: limit("records", records), bytes: limit("bytes", bytes) };
    database.limit_tenant(&tenant.id, tenant.limits).await?;
    note(database, &tenant.id, "tenant.limit", &tenant.name).await?;
    Ok(AdminReport { json: tenant_json(&tenant), rows: vec![tenant_row(&tenant)] })
}

fn tenant_json(tenant: &TenantRow) -> Value {
    json!({
        "id": tenant.id,
        "name": tenant.name,
        "records": tenant.holds.records,
        "bytes": tenant.holds.bytes,
        "record_limit": tenant.limits.records,
        "byte_limit": tenant.limits.bytes,
    })
}

fn tenant_row(tenant: &TenantRow) -> Vec<StyledText> {
    let of = |holds: u64, limit: Option<u64>, what: &str| match limit {
        Some(limit) if holds >= limit => warn(format!("{holds} of {limit} {what}")),
        Some(limit) => plain(format!("{holds} of {limit} {what}")),
        None => plain(format!("{holds} {what}")),
    };
    vec![
        strong(&tenant.name),
        of(tenant.holds.records, tenant.limits.records, "records"),
        of(tenant.holds.bytes, tenant.limits.bytes, "bytes"),
        dim(tenant.id.as_str()),
    ]
}

async fn add_repository(
    given: &ArgMatches,
    database: &Database,
) -> Result<AdminReport, ServiceError> {
    let (tenant, name) = (tenant_named(given, database).await?, text(given, "name"));
    let repository = database.add_repository(&tenant.id, name).await?;
    note(database, &tenant.id, "repo.add", name).await?;
    let words =
        format!("its address is /{}/{name}/mcp; next: twining serve token add", tenant.name);
    let json = json!({"id": repository.id, "tenant": tenant.name, "name": name, "path": format!("/{}/{name}/mcp", tenant.name)});
    Ok(AdminReport::line(json, words))
}

async fn list_repositories(
    given: &ArgMatches,
    database: &Database,
) -> Result<AdminReport, ServiceError> {
    let tenant = tenant_named(given, database).await?;
    let repositories = database.repositories(&tenant.id).await?;
    let row = |is: &RepositoryRow| {
        vec![strong(&is.name), plain(format!("{} lines", is.head)), dim(is.id.as_str())]
    };
    let rows = repositories.iter().map(row).collect();
    let json: Value = repositories
        .iter()
        .map(|is| json!({"id": is.id, "name": is.name, "head": is.head}))
        .collect();
    Ok(AdminReport { json: json!({"repositories": json}), rows })
}

async fn add_token(given: &ArgMatches, database: &Database) -> Result<AdminReport, CommandError> {
    let tenant = tenant_named(given, database).await?;
    let repository = scope_named(&tenant, text(given, "repo"), database).await?;
    let role = AccessRole::parse("role", text(given, "role"))
        .map_err(|refused| CommandError::refused(&refused))?;
    let kind = PrincipalKind::parse("kind", text(given, "kind"))
        .map_err(|refused| CommandError::refused(&refused))?;
    let token = NewToken {
        tenant: tenant.id.clone(),
        name: text(given, "name").to_owned(),
        kind,
        grants: vec![Grant { repository, role }],
        days: given.get_one::<u32>("days").copied().unwrap_or(90),
        made_by: "cli".to_owned(),
    };
    let (id, text) = database.add_token(&token).await?;
    note(database, &tenant.id, "token.add", &id).await?;
    let json = json!({"id": id, "token": text, "days": token.days});
    // Beside the answer: a file that it is sent to has the token and nothing else.
    output::note(&format!("good for {} days; it is not shown again", token.days));
    Ok(AdminReport { json, rows: vec![vec![plain(&text)]] })
}

async fn revoke_token(given: &str, database: &Database) -> Result<AdminReport, ServiceError> {
    // A whole token names its id, and its secret is shown nowhere.
    let id = given.strip_prefix("twn_").unwrap_or(given);
    let id = id.split('_').next().unwrap_or(id);
    if !database.revoke_token(id).await? {
        return Err(ServiceError::NotFound { what: "token", name: id.to_owned() });
    }
    for tenant in database.tenants().await? {
        let tokens = database.tokens(&tenant.id).await?;
        if tokens.iter().any(|token| token.principal.token_id == id) {
            note(database, &tenant.id, "token.revoke", id).await?;
        }
    }
    Ok(AdminReport::line(json!({"revoked": id}), format!("revoked {id}")))
}

async fn list_tokens(given: &ArgMatches, database: &Database) -> Result<AdminReport, ServiceError> {
    let tenant = tenant_named(given, database).await?;
    let tokens = database.tokens(&tenant.id).await?;
    let repositories = database.repositories(&tenant.id).await?;
    let rows = tokens.iter().map(|token| token_row(token, &repositories)).collect();
    let json: Value = tokens.iter().map(token_json).collect();
    Ok(AdminReport { json: json!({"tokens": json}), rows })
}

pub(super) fn grants_json(grants: &[Grant]) -> Value {
    let grant_json = |grant: &Grant| {
        let repository = match &grant.repository {
            GrantScope::All => "*",
            GrantScope::One(id) => id.as_str(),
        };
        json!({"repository": repository, "role": grant.role.as_str()})
    };
    grants.iter().map(grant_json).collect()
}

fn token_json(token: &TokenRow) -> Value {
    json!({
        "id": token.principal.token_id,
        "name": token.principal.name,
        "kind": token.principal.kind.as_str(),
        "grants": grants_json(&token.principal.grants),
        "made_at": token.made_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
        "used_on": token.used_on,
    })
}

fn token_row(token: &TokenRow, repositories: &[RepositoryRow]) -> Vec<StyledText> {
    let principal = &token.principal;
    let name_of = |grant: &Grant| match &grant.repository {
        GrantScope::All => "*".to_owned(),
        GrantScope::One(id) => {
            let named = repositories.iter().find(|repository| repository.id == *id);
            named.map_or_else(|| id.to_string(), |repository| repository.name.clone())
        }
    };
    let grants = principal.grants.iter();
    let grants: Vec<String> =
        grants.map(|grant| format!("{} of {}", grant.role.as_str(), name_of(grant))).collect();
    let ends = match &token.revoked_at {
        Some(at) => warn(format!("revoked {at}")),
        None => dim(format!("until {}", token.expires_at)),
    };
    vec![
        strong(&principal.token_id),
        plain(&principal.name),
        plain(principal.kind.as_str()),
        plain(grants.join(", ")),
        ends,
    ]
}

async fn read_audit(given: &ArgMatches, database: &Database) -> Result<AdminReport, ServiceError> {
    let tenant = tenant_named(given, database).await?;
    let after = given.get_one::<i64>("after").copied().unwrap_or(0);
    let limit = given.get_one::<u32>("limit").copied().unwrap_or(100);
    let found = database.read_audit(&tenant.id, after, limit).await?;
    let row = |entry: &AuditEntry| {
        [&entry.by, &entry.via, &entry.act, &entry.target, &entry.outcome].map(plain).to_vec()
    };
    let rows = found
        .iter()
        .map(|is| [vec![dim(is.number.to_string()), dim(&is.at)], row(&is.entry)].concat())
        .collect();
    let json: Value = found
        .iter()
        .map(|is| {
            let AuditEntry { by, via, act, target, outcome, .. } = &is.entry;
            json!({"number": is.number, "at": is.at, "by": by, "via": via, "act": act, "target": target, "outcome": outcome})
        })
        .collect();
    Ok(AdminReport { json: json!({"audit": json}), rows })
}

/// Follows the log into a new folder: the same that a node does.
async fn export_folder(
    given: &ArgMatches,
    database: &Database,
) -> Result<AdminReport, CommandError> {
    let tenant = tenant_named(given, database).await?;
    let repository = repository_named(&tenant, text(given, "repo"), database).await?;
    let folder = given.get_one::<PathBuf>("to").cloned().unwrap_or_default();
    if folder.join(".twining").exists() {
        let what = format!("{} has a memory already", folder.display());
        return Err(CommandError::unavailable("ALREADY_THERE", what)
            .with_hint("nothing was written; name a folder that is not there yet"));
    }
    let log = database.log(&tenant.id, &repository.id);
    let into = folder.clone();
    let exported = tokio::task::spawn_blocking(move || -> Result<u64, ServiceError> {
        std::fs::create_dir_all(&into).map_err(|source| ServiceError::Folder {
            doing: "make",
            path: into.display().to_string(),
            source,
        })?;
        let log: Arc<dyn twining_store::Log> = log;
        let project = Project::exported(&into)?;
        let store = project.engine.store();
        store.use_log(log);
        store.follower().catch_up()?;
        store.housekeep()?;
        Ok(store.follower().position()?)
    });
    let lines = exported.await.map_err(|error| CommandError::of_error("RUNTIME", &error))??;
    note(database, &tenant.id, "export", &repository.name).await?;
    let words = format!("{lines} lines are in {}", folder.display());
    let json = json!({"lines": lines, "folder": folder.to_string_lossy()});
    Ok(AdminReport::line(json, words))
}

pub(super) async fn tenant_named(
    given: &ArgMatches,
    database: &Database,
) -> Result<TenantRow, ServiceError> {
    let name = text(given, "tenant");
    let found = database.find_tenant(name).await?;
    found.ok_or_else(|| ServiceError::NotFound { what: "tenant", name: name.to_owned() })
}

/// `*`, or a repository's name.
pub(super) async fn scope_named(
    tenant: &TenantRow,
    name: &str,
    database: &Database,
) -> Result<GrantScope, ServiceError> {
    Ok(match name {
        "*" => GrantScope::All,
        name => GrantScope::One(repository_named(tenant, name, database).await?.id),
    })
}

async fn repository_named(
    tenant: &TenantRow,
    name: &str,
    database: &Database,
) -> Result<RepositoryRow, ServiceError> {
    let found = database.find_repository(&tenant.id, (&tenant.name, name)).await?;
    found.ok_or_else(|| ServiceError::NotFound { what: "repository", name: name.to_owned() })
}

pub(super) async fn note(
    database: &Database,
    tenant: &Id,
    act: &str,
    target: &str,
) -> Result<(), ServiceError> {
    let entry = AuditEntry {
        tenant: tenant.clone(),
        by: "command line".to_owned(),
        via: "cli".to_owned(),
        act: act.to_owned(),
        target: target.to_owned(),
        outcome: "ok".to_owned(),
    };
    database.audit(&entry).await
}

pub(super) fn text<'a>(given: &'a ArgMatches, name: &str) -> &'a str {
    given.get_one::<String>(name).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_with_or_without_a_unit_or_none() {
        assert_eq!(parse_limit("5000000"), Ok(Some(5_000_000)));
        assert_eq!(parse_limit("20G"), Ok(Some(20 << 30)));
        assert_eq!(parse_limit("none"), Ok(None));
        for wrong in ["", "G", "-1", "1.5G", "99999999T", "20g"] {
            assert!(parse_limit(wrong).is_err(), "{wrong}");
        }
    }
}
