//! The schema: numbered steps in the program, carried out once each and in order.

use super::connection::Database;
use crate::error::ServiceError;

impl Database {
    /// Carries out what the schema lacks, and names it. Needs the right to make roles the
    /// first time, `twining_owner` afterwards.
    pub async fn migrate(&self) -> Result<Vec<String>, ServiceError> {
        unimplemented!()
    }

    /// Fails unless the schema is that of this program.
    pub async fn check_migrations(&self) -> Result<(), ServiceError> {
        unimplemented!()
    }
}
