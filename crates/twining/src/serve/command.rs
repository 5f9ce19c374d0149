//! The command line of `twining serve`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use serde_json::json;
use twining_model::IdSource;
use twining_service::{
    CallRates, Database, HostRules, PublicUrl, ServeOptions, ServiceError, ServiceParts, TlsFiles,
};
use twining_store::git::GitFolders;

use super::admin;
use super::served_memory::ProjectOpener;
use super::tool_catalog::RemoteTools;
use crate::args::{option, path, switch};
use crate::output::{self, OutputFormat};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::plain;
use crate::system_world::SystemWorld;

/// Names the database without putting its password on a command line.
const DATABASE_VARIABLE: &str = "TWINING_DATABASE_URL";

const HELP: &str = "Serve a team's memory over HTTP, from PostgreSQL.

PostgreSQL keeps one log per repository. Every node is one `twining serve` process; nodes keep
folders that follow the log, and any node answers any request. Agents use it as an MCP server:

  claude mcp add --transport http twining https://HOST/TENANT/REPO/mcp --header \"Authorization: Bearer TOKEN\"

Start in this order: `serve migrate`, `serve tenant add`, `serve repo add`, `serve token add`, and
then `serve` itself on as many machines as you like. Without TLS it listens on loopback only.";

const EXAMPLE: &str = "Example:
  export TWINING_DATABASE_URL=postgresql://twining@localhost/twining
  twining serve migrate
  twining serve tenant add acme && twining serve repo add acme shop
  twining serve token add --tenant acme --repo shop --role writer --kind agent --name ci
  twining serve --listen 127.0.0.1:7400 --data /var/lib/twining";

/// Adds its flags and the commands below it.
pub(crate) fn flags(command: Command) -> Command {
    let database = option(
        "database",
        "URL",
        "postgresql://… of the database; better given by TWINING_DATABASE_URL, which no process list shows",
    );
    command
        .long_about(HELP)
        .arg(database.global(true))
        .args(serve_flags())
        .subcommands(admin::commands())
        .args_conflicts_with_subcommands(false)
        .after_help(EXAMPLE)
}

fn serve_flags() -> [Arg; 13] {
    let address = |arg: Arg| arg.value_parser(value_parser!(SocketAddr));
    let names = |arg: Arg| arg.value_delimiter(',');
    [
        address(option("listen", "ADDR:PORT", "Where to listen")).default_value("127.0.0.1:7400"),
        path(
            option(
                "data",
                "DIR",
                "Folder for the node's copies of repositories; a cache, made again from the log if it is gone",
            ),
            ValueHint::DirPath,
        ),
        address(option(
            "metrics",
            "ADDR:PORT",
            "Where Prometheus asks for /metrics; default: nowhere",
        )),
        path(
            option("tls-cert", "FILE", "The certificate chain, as PEM: TLS in the process"),
            ValueHint::FilePath,
        )
        .requires("tls-key"),
        path(option("tls-key", "FILE", "Its private key, as PEM"), ValueHint::FilePath)
            .requires("tls-cert"),
        names(option(
            "behind-proxy",
            "HOSTS",
            "A proxy in front does TLS and passes on these public host names",
        ))
        .conflicts_with("tls-cert"),
        names(option("hosts", "HOSTS", "The public host names, with TLS in the process")),
        option(
            "public-url",
            "URL",
            "Where it is reached from outside, such as https://memory.example.com: accepts access tokens of trusted issuers for its endpoints there",
        )
        .value_parser(|text: &str| PublicUrl::parse(text).map_err(|error| error.to_string())),
        option("open", "N", "Repositories that are open at a time")
            .value_parser(value_parser!(u16).range(1..))
            .default_value("256"),
        option("token-rate", "N", "Calls a second of one token; it may save up five times as many")
            .value_parser(value_parser!(u32).range(1..))
            .default_value("20"),
        option("tenant-rate", "N", "Calls a second of all tokens of a tenant")
            .value_parser(value_parser!(u32).range(1..))
            .default_value("500"),
        switch(
            "sessions",
            "Give clients of the protocol before 2026-07-28 sessions; they are of this node, so send a client to one node only",
        ),
        option("drain", "SECONDS", "How long to go on after SIGTERM with /readyz saying no")
            .value_parser(value_parser!(u64).range(0..=300))
            .default_value("5"),
    ]
}

/// Runs it, or one of the commands below it: `called` is what was typed.
pub(crate) fn run(
    called: &str,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let url = database_url(given)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(160)
        .build()
        .map_err(|error| CommandError::of_error("RUNTIME", &error))?;
    let ended = runtime.block_on(async {
        let database = Database::connect(&url).await?;
        match called {
            "serve" => serve(given, database, style).await,
            admin => admin::run(admin, given, &database, style).await,
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended
}

async fn serve(
    given: &ArgMatches,
    database: Database,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let data = given.get_one::<PathBuf>("data").ok_or_else(|| {
        CommandError::misuse("--data must name a folder for the node's copies of repositories")
            .with_hint("for example --data /var/lib/twining")
    })?;
    let data = data_folder(data)?;
    let parts = ServiceParts {
        database,
        opener: Arc::new(ProjectOpener::new()),
        tools: Arc::new(RemoteTools),
        ids: Arc::new(IdSource::new(Box::new(SystemWorld))),
    };
    let options = options(given, data);
    let has_names =
        ["hosts", "behind-proxy", "public-url"].iter().any(|flag| given.contains_id(flag));
    if !has_names && !options.listen.ip().is_loopback() {
        output::warn_about(
            &CommandError::misuse(format!(
                "{} is reached from other machines, but requests are answered for `localhost` and `127.0.0.1` alone",
                options.listen
            ))
            .with_hint("name what clients call it: --hosts memory.example.com"),
        );
    }
    twining_service::serve(options, parts, |address, metrics| {
        let json = || json!({"listening": address.to_string(), "metrics": metrics.map(|at| at.to_string())});
        let words = format!("listening on {address}");
        output::answer(style, json, |page| page.line([plain(words)]), ExitStatus::Done);
        // Whoever started us may wait for that line.
        let _ = std::io::stdout().flush();
    })
    .await?;
    Ok(ExitStatus::Done)
}

fn options(given: &ArgMatches, data: PathBuf) -> ServeOptions {
    let file = |name: &str| given.get_one::<PathBuf>(name).cloned();
    let names = |name: &str| given.get_many::<String>(name).unwrap_or_default().cloned();
    let listen = given.get_one::<SocketAddr>("listen").copied();
    let public_url = given.get_one::<PublicUrl>("public-url").cloned();
    let listen = listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 7400)));
    let tls = file("tls-cert").zip(file("tls-key"));
    ServeOptions {
        listen,
        metrics: given.get_one::<SocketAddr>("metrics").copied(),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        behind_proxy: given.contains_id("behind-proxy"),
        hosts: HostRules::new(
            names("behind-proxy")
                .chain(names("hosts"))
                .chain(public_url.iter().map(|url| url.host().to_owned())),
        ),
        public_url,
        data,
        rates: CallRates {
            token: given.get_one::<u32>("token-rate").copied().unwrap_or(20),
            tenant: given.get_one::<u32>("tenant-rate").copied().unwrap_or(500),
        },
        open_limit: usize::from(given.get_one::<u16>("open").copied().unwrap_or(256)),
        sessions: given.get_flag("sessions"),
        drain: Duration::from_secs(given.get_one::<u64>("drain").copied().unwrap_or(5)),
    }
}

/// The folder of a node's copies, made if need be. In a working tree they would take that for
/// their own.
fn data_folder(given: &Path) -> Result<PathBuf, CommandError> {
    let unusable = |error: std::io::Error| {
        let folder = given.display();
        CommandError::unavailable("FILE_WRITE_ERROR", format!("cannot use `--data {folder}`: {error}"))
            .with_hint(format!(
                "name a folder that you may write to, or have it made: `sudo install -d -o \"$USER\" {folder}`"
            ))
    };
    let folder = std::path::absolute(given).map_err(unusable)?;
    if let Some(git) = GitFolders::of(&folder) {
        let top = git.top.display();
        let message = format!("--data must not be in a git working tree, and `{top}` is one");
        return Err(CommandError::misuse(message).with_hint("for example --data /var/lib/twining"));
    }
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::canonicalize(&folder)).map_err(unusable)
}

fn database_url(given: &ArgMatches) -> Result<String, CommandError> {
    let flag = given.get_one::<String>("database").cloned();
    let url = flag.or_else(|| std::env::var(DATABASE_VARIABLE).ok()).filter(|url| !url.is_empty());
    url.ok_or_else(|| {
        CommandError::misuse("no database is named").with_hint(format!(
            "set {DATABASE_VARIABLE}=postgresql://USER@HOST/NAME, or give --database"
        ))
    })
}

impl From<ServiceError> for CommandError {
    fn from(error: ServiceError) -> Self {
        let code = match &error {
            ServiceError::Unreachable(_) => "DATABASE_UNREACHABLE",
            ServiceError::Settings(_) | ServiceError::Invalid(_) => "INVALID_INPUT",
            ServiceError::Schema(_) => "SCHEMA",
            ServiceError::Exists { .. } => "EXISTS",
            ServiceError::NotFound { .. } => "NOT_FOUND",
            _ => "SERVICE_ERROR",
        };
        let problem = Self::of_error(code, &error);
        match error {
            ServiceError::Schema(_) => problem.with_hint("run `twining serve migrate`"),
            ServiceError::Unreachable(_) => {
                problem.with_hint("is PostgreSQL running, and is the URL right?")
            }
            ServiceError::NotFound { what: "token", .. } => {
                problem.with_hint("`twining serve token list --tenant TENANT` shows them")
            }
            ServiceError::NotFound { what, .. } | ServiceError::Exists { what, .. } => {
                let verb = if what == "tenant" { "tenant list" } else { "repo list TENANT" };
                problem.with_hint(format!("`twining serve {verb}` shows what there is"))
            }
            ServiceError::Database(_) => {
                problem.with_hint("check the user, the database and their rights in the URL")
            }
            _ => problem,
        }
    }
}
