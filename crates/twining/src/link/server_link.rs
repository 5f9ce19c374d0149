//! The link of a server that runs: the folder may be linked, unlinked or linked elsewhere meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

use twining_store::Store;

use super::settings::LinkSettings;
use super::sync_worker::SyncWorker;
use super::team_link::TeamLink;

/// The link of a running server, looked at again with every call: nothing runs where there is none.
#[derive(Default)]
pub(crate) struct ServerLink(Mutex<Option<RunningLink>>);

struct RunningLink {
    settings: LinkSettings,
    link: TeamLink,
    worker: SyncWorker,
}

impl ServerLink {
    /// The link as it is now; its sync worker runs from then on.
    pub(crate) fn current(&self, store: &Arc<Store>) -> Option<TeamLink> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = LinkSettings::of_linked(store);
        let alive = running.as_ref().filter(|running| running.worker.is_running());
        if alive.map(|running| &running.settings) != settings.as_ref() {
            *running = settings.map(|settings| {
                let link = TeamLink::with_settings(store, &settings);
                let worker = SyncWorker::start(Arc::clone(store), link.clone());
                RunningLink { settings, link, worker }
            });
        }
        running.as_ref().map(|running| running.link.clone())
    }
}
