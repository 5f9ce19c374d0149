//! What can go wrong between us and the files.

use std::io;

/// Why a log did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Others planned meanwhile: follow, and plan again.
    #[error("other writers changed the log in the meantime")]
    Behind,
    /// Whether the lines were accepted is not known: send them again under the same keys.
    #[error("the connection to the log was lost before it answered: {0}")]
    Unknown(String),
    /// It cannot be reached.
    #[error("the log cannot be reached: {0}")]
    Unreachable(String),
    /// It answers, but does not let this token in at this address, or do this.
    #[error("{why}")]
    Denied {
        /// What it does not accept.
        why: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// It does not take the lines.
    #[error("the log rejected it: {0}")]
    Refused(String),
    /// It has a line that only a newer program reads.
    #[error("the log has lines of format version {found}, but this program reads version {known}")]
    TooNew {
        /// The version found.
        found: u32,
        /// The version we know.
        known: u32,
    },
}

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file system operation failed.
    #[error("cannot {doing} `{path}`")]
    Io {
        /// What we were about to do, as a verb.
        doing: &'static str,
        /// Which file, relative to the project.
        path: String,
        /// The underlying I/O error.
        #[source]
        source: io::Error,
    },
    /// Another process has held the write lock for too long.
    #[error("another process holds the write lock `{path}`")]
    Locked {
        /// The lock file.
        path: String,
        /// The process that holds it, if recorded.
        holder: Option<u32>,
        /// How long we waited, in milliseconds.
        waited_ms: u64,
    },
    /// A link, a device or the like where a plain file should be.
    #[error("`{path}` is {what}, not a regular file of this project; refused")]
    Unsafe {
        /// Which file.
        path: String,
        /// What it is instead.
        what: &'static str,
    },
    /// The folder was written by a newer version.
    #[error(
        "`.twining/config.yml` has format version {found}, but this program writes version {known}"
    )]
    TooNew {
        /// The version found.
        found: u32,
        /// The version we know.
        known: u32,
    },
    /// The index failed.
    #[error("the index failed")]
    Index(#[from] rusqlite::Error),
    /// A file of ours does not hold what it should.
    #[error("{what}")]
    Damaged {
        /// Which, and how.
        what: String,
    },
    /// A record could not be turned into JSON, or back.
    #[error("cannot encode a record")]
    Encode(#[from] serde_json::Error),
    /// A record is larger than any reader would accept.
    #[error("the record would take {bytes} bytes, and a line may have at most {max_bytes}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// There is no such decision to amend.
    #[error("there is no decision `{id}`")]
    NoDecision {
        /// The id asked for.
        id: String,
    },
    /// A change failed and could not be taken back either; the journal has it.
    #[error("the change could not be finished now; the next write completes it")]
    Unfinished(#[source] Box<StoreError>),
    /// The log that the folder follows did not do what it was asked.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl StoreError {
    /// A word that programs can test for.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } | Self::Encode(_) => "FILE_WRITE_ERROR",
            Self::Locked { .. } => "LOCKED",
            Self::Unsafe { .. } => "UNSAFE_PATH",
            Self::TooNew { .. } | Self::Log(LogError::TooNew { .. }) => "FORMAT_TOO_NEW",
            Self::Index(_) => "INDEX_ERROR",
            Self::Damaged { .. } => "DAMAGED",
            Self::TooLarge { .. } => "INVALID_INPUT",
            Self::NoDecision { .. } => "NOT_FOUND",
            Self::Unfinished(_) => "UNFINISHED",
            Self::Log(LogError::Refused(_)) => "LOG_REFUSED",
            Self::Log(LogError::Denied { .. }) => "LOG_DENIED",
            Self::Log(_) => "LOG_ERROR",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Locked { holder: Some(pid), waited_ms, .. } => {
                return Some(format!(
                    "process {pid} has held it for {waited_ms} ms or more; if it hangs, kill it: that releases the lock"
                ));
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "the disk is full; nothing was written; free some space and try again"
            }
            Self::Index(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == rusqlite::ErrorCode::DiskFull =>
            {
                "the disk is full, and reading needs some space for the index; the files are intact; free some space and try again"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                "a sandbox makes the memory read-only for this shell: use the MCP tool of the same name; reading still works"
            }
            error if error.is_forbidden() => {
                "check who owns the `.twining` folder; reading still works"
            }
            Self::Locked { .. } => {
                "try again; if this persists, look for a stopped `twining` process"
            }
            Self::Unsafe { path, .. } if path.contains(".twining/local/") => {
                "this path is reserved for one of Twining's own files: move the current one away, and Twining recreates its file"
            }
            Self::Unsafe { .. } => {
                "move it away if you did not put it there; Twining does not follow links or leave the project"
            }
            Self::TooNew { .. } => {
                "update twining; until then this folder can be read but not written"
            }
            Self::Unfinished(_) => {
                "do not retry: fix the cause, and the next write completes this one"
            }
            Self::Log(LogError::TooNew { .. }) => {
                "update twining; until then the memory can be read as far as it was followed"
            }
            Self::Log(LogError::Denied { hint, .. }) => hint,
            Self::Log(LogError::Refused(_)) => {
                "the same again is refused again; ask an administrator for a higher limit, or for a token with a higher role, with which a clone runs `twining link URL`"
            }
            Self::Log(LogError::Behind) => "others are writing a lot right now; try again",
            Self::Log(_) => "nothing is lost: try again when the log can be reached",
            Self::Index(_) => {
                "the index is only a cache: `twining reindex` rebuilds it from the files"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether only the log failed to answer, so that a linked clone goes on without it.
    #[must_use]
    pub fn is_offline(&self) -> bool {
        matches!(
            self,
            Self::Log(
                LogError::Unreachable(_)
                    | LogError::Denied { .. }
                    | LogError::Unknown(_)
                    | LogError::Behind
            )
        )
    }

    /// Whether somebody else owns the place, or the disk takes no writes.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        let Self::Io { source, .. } = self else { return false };
        matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
    }

    /// Whether the index itself is broken, so that it must be thrown away.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        let Self::Index(rusqlite::Error::SqliteFailure(failure, _)) = self else { return false };
        matches!(
            failure.code,
            rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase
        )
    }
}
