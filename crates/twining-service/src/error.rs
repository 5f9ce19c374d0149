//! Why the service could not do what it was asked.

use twining_store::{LogError, StoreError};

/// Why the service could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The database cannot be reached; whatever was asked for may be asked again.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The database refused a statement.
    #[error("the database refused a statement")]
    Database(#[source] tokio_postgres::Error),
    /// The database's address or settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The schema is not that of this program.
    #[error("{0}")]
    Schema(String),
    /// A name, a number of days or the like that is not accepted.
    #[error("{0}")]
    Invalid(String),
    /// There is one of that name already.
    #[error("there is already a {what} `{name}`")]
    Exists {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// There is no such thing.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Under which name.
        name: String,
    },
    /// The log did not do what it was asked.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A repository's folder failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A repository's folder could not be made or removed.
    #[error("cannot {doing} `{path}`")]
    Folder {
        /// What was to be done, as a verb.
        doing: &'static str,
        /// Which folder.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

impl ServiceError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        let of_log = |error: &LogError| !matches!(error, LogError::Refused(_));
        match self {
            Self::Unreachable(_) => true,
            Self::Log(error) | Self::Store(StoreError::Log(error)) => of_log(error),
            _ => false,
        }
    }
}

impl From<tokio_postgres::Error> for ServiceError {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let going_down = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
        ];
        match error.code() {
            Some(code) if !going_down.contains(code) => Self::Database(error),
            // Why, too: a certificate that is not trusted is for the operator to mend.
            _ => Self::Unreachable(match std::error::Error::source(&error) {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }),
        }
    }
}

impl From<deadpool_postgres::PoolError> for ServiceError {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error) => error.into(),
            error => Self::Unreachable(error.to_string()),
        }
    }
}
