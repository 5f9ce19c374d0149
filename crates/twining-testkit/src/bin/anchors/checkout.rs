//! A throwaway working tree of a repository, in which the product's own search is asked.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;
use twining_store::code::{CodeIndex, DefinitionSearch, SeenDefinition};
use twining_store::git::Git;
use twining_store::{Store, StoreLocation};
use twining_testkit::FixedWorld;

use crate::history::output;

/// What `/proc` counts processor time in.
const TICK: Duration = Duration::from_millis(10);

/// A commit of a repository, checked out. The repository is read in place.
pub(crate) struct ScratchCheckout {
    folder: TempDir,
}

impl ScratchCheckout {
    pub(crate) fn of(repository: &Path, commit: &str) -> Result<Self, String> {
        let problem = |error: std::io::Error| format!("a scratch folder: {error}");
        let folder = tempfile::tempdir().map_err(problem)?;
        let git =
            |words: &[&str]| output(Command::new("git").arg("-C").arg(folder.path()).args(words));
        git(&["init", "--quiet"])?;
        let objects = repository.join("objects");
        let objects = objects.canonicalize().map_err(problem)?;
        let alternates = folder.path().join(".git/objects/info/alternates");
        std::fs::write(alternates, format!("{}\n", objects.display())).map_err(problem)?;
        // Stored copies of repositories may lack their largest files.
        git(&["sparse-checkout", "set", "--no-cone", "/*", "!*.jar"])?;
        git(&["update-ref", "--no-deref", "HEAD", commit])?;
        git(&["-c", "core.symlinks=false", "reset", "--quiet", "--hard"])?;
        Ok(Self { folder })
    }

    /// Looks for a definition with an index that knows nothing yet; what was found, and the
    /// processor time it took, git's included.
    pub(crate) fn search(
        &self,
        seen: &SeenDefinition,
        max_time: Duration,
    ) -> Result<(DefinitionSearch, Duration), String> {
        let location =
            StoreLocation { project: self.folder.path().to_owned(), ..StoreLocation::default() };
        let store = Store::open(location, FixedWorld::new().ids());
        let store = Arc::new(store.map_err(|error| error.to_string())?);
        let index = CodeIndex::new(store, self.folder.path(), Git::at(self.folder.path()));
        let began = time_with_children();
        let found = index.find_moved(seen, max_time).map_err(|error| error.to_string())?;
        Ok((found, time_with_children().saturating_sub(began)))
    }
}

/// Processor time of this process and of those it waited for.
fn time_with_children() -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    let own = Duration::new(
        u64::try_from(own.tv_sec).unwrap_or_default(),
        u32::try_from(own.tv_nsec).unwrap_or_default(),
    );
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: u32 = ticks.filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    own + TICK * ticks
}
