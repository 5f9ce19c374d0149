//! The schema: numbered steps in the program, carried out once each and in order.
//!
//! A step that was carried out never changes; a sum of its text shows it. Steps only add, so
//! that the version before can go on while nodes are replaced.

use sha2::{Digest, Sha256};
use tokio_postgres::Row;

use super::connection::{Database, within};
use crate::error::ServiceError;

/// One step of the schema.
struct Migration {
    number: i32,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "tables", sql: include_str!("migrations/0001_tables.sql") },
    Migration { number: 2, name: "access", sql: include_str!("migrations/0002_access.sql") },
    Migration { number: 3, name: "totals", sql: include_str!("migrations/0003_totals.sql") },
    Migration {
        number: 4,
        name: "confirmations",
        sql: include_str!("migrations/0004_confirmations.sql"),
    },
    Migration { number: 5, name: "issuers", sql: include_str!("migrations/0005_issuers.sql") },
];

/// Carried out every time, before the first step.
const ROLES: &str = include_str!("migrations/0000_roles.sql");
/// One migration at a time in a database: "twn" in bytes.
const LOCK: &str = "select pg_advisory_lock(7632750)";
const SET_OWNER: &str = "set role twining_owner";
const TABLE: &str = "create table if not exists twining.migration (
    number integer primary key,
    name text not null,
    sum bytea not null,
    at timestamptz not null default now()
)";
const APPLIED: &str = "select number, name, sum from twining.migration order by number";
const RECORD: &str = "insert into twining.migration (number, name, sum) values ($1, $2, $3)";

impl Database {
    /// Carries out what the schema lacks, and names it. Needs the right to make roles the
    /// first time, `twining_owner` afterwards.
    pub async fn migrate(&self) -> Result<Vec<String>, ServiceError> {
        let mut client = self.login().await?;
        client.batch_execute(LOCK).await?;
        client.batch_execute(ROLES).await?;
        client.batch_execute(SET_OWNER).await?;
        client.batch_execute(TABLE).await?;
        let missing = missing(&client.query(APPLIED, &[]).await?)?;
        let mut done = Vec::new();
        for migration in missing {
            let transaction = client.transaction().await?;
            transaction.batch_execute(migration.sql).await?;
            let sum = migration.sum();
            transaction.execute(RECORD, &[&migration.number, &migration.name, &sum]).await?;
            transaction.commit().await?;
            done.push(format!("{:04} {}", migration.number, migration.name));
        }
        Ok(done)
    }

    /// Fails unless the schema is that of this program, or a newer one.
    pub async fn check_migrations(&self) -> Result<(), ServiceError> {
        let client = self.client().await?;
        let rows = within(client.query(APPLIED, &[])).await?;
        match missing(&rows)?.first() {
            None => Ok(()),
            Some(first) => Err(ServiceError::Schema(format!(
                "the schema lacks step {:04} `{}`; run `twining serve migrate`",
                first.number, first.name
            ))),
        }
    }
}

impl Migration {
    fn sum(&self) -> Vec<u8> {
        Sha256::digest(self.sql).to_vec()
    }
}

/// The steps that were not carried out yet. One that this program does not know is of a newer
/// one, whose schema this one can use; one with another text is of somebody else.
fn missing(rows: &[Row]) -> Result<Vec<&'static Migration>, ServiceError> {
    let applied: Vec<(i32, Vec<u8>)> =
        rows.iter().map(|row| (row.get("number"), row.get("sum"))).collect();
    let mut missing = Vec::new();
    for migration in MIGRATIONS {
        match applied.iter().find(|(number, _)| *number == migration.number) {
            None => missing.push(migration),
            Some((_, sum)) if *sum == migration.sum() => {}
            Some(_) => {
                return Err(ServiceError::Schema(format!(
                    "step {:04} of the schema is another one than this program's `{}`",
                    migration.number, migration.name
                )));
            }
        }
    }
    Ok(missing)
}
