//! The server: one port on the loopback address, a limited number of connections, until a signal
//! ends it.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use twining_store::Housekeeper;

use crate::link::ServerLink;
use crate::locate_project::ProjectLocation;
use crate::project::Project;
use crate::render::command_error::CommandError;
use crate::web::events::{self, NoticeLog};
use crate::web::instance::InstanceFiles;
use crate::web::keys::KeyRing;
use crate::web::{access, api, assets};

/// Connections at one time; one more is closed at once.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take for its headers, and for its body.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How long calls that are under way may take when the server ends.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(2);

/// What the handlers share.
pub(super) struct WebServer {
    /// The port it listens on.
    pub(super) port: u16,
    /// Codes and keys.
    pub(super) keys: KeyRing,
    /// The working tree it was started in.
    pub(super) checkout: PathBuf,
    /// What changed while it runs.
    pub(super) notices: NoticeLog,
    open: Mutex<Option<OpenMemory>>,
}

/// The project, and who works for it in the background.
struct OpenMemory {
    project: Arc<Project>,
    _housekeeper: Housekeeper,
    link: ServerLink,
}

impl WebServer {
    /// The project, opened when it is first needed. A failure is not kept: the folder may be
    /// there again for the next call.
    pub(super) fn project(&self) -> Result<Arc<Project>, CommandError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*open {
            // A folder that was linked meanwhile has its sync worker from the next call on.
            open.link.current(open.project.engine.store());
            return Ok(Arc::clone(&open.project));
        }
        let project = Arc::new(Project::open(Some(self.checkout.clone()))?);
        let housekeeper = Housekeeper::start(Arc::clone(project.engine.store()));
        let link = ServerLink::default();
        link.current(project.engine.store());
        *open = Some(OpenMemory { project: Arc::clone(&project), _housekeeper: housekeeper, link });
        Ok(project)
    }
}

/// Serves until a signal ends it; `announce` says where. Signals are caught first, so that none
/// ends us with our files still there.
pub(super) fn serve(
    located: ProjectLocation,
    port: u16,
    announce: impl FnOnce(&WebServer),
) -> Result<(), CommandError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build();
    let runtime = runtime.map_err(|error| CommandError::of_error("RUNTIME", &error))?;
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let server = Arc::new(WebServer {
            port: listener.local_addr()?.port(),
            keys: KeyRing::default(),
            checkout: located.checkout,
            notices: NoticeLog::new(),
            open: Mutex::default(),
        });
        let _files = InstanceFiles::create(&located.place.project, &server);
        // Before anybody can ask: what changes from here on is told.
        events::watch_memory(&server);
        announce(&server);
        tokio::select! {
            () = accept(&server, &listener) => {}
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        Ok(server)
    });
    runtime.shutdown_timeout(SHUTDOWN_WAIT);
    let server = ended.map_err(|error: std::io::Error| {
        CommandError::of_error("NETWORK", &error).with_hint("is another program on this port?")
    })?;
    // The housekeeper leaves the files as git is to track them.
    drop(server.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    Ok(())
}

async fn accept(server: &Arc<WebServer>, listener: &TcpListener) {
    let router = Router::new()
        .route("/key", post(api::trade_code))
        .route("/api", get(api::describe))
        .route("/api/{verb}", post(api::call))
        .route("/events", get(events::follow))
        .fallback(assets::serve)
        .layer(from_fn_with_state(Arc::clone(server), access::guard))
        .with_state(Arc::clone(server));
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: asked again at once, it would fail again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else { continue };
        // An event waits for no other.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(READ_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // A client that goes away, or takes too long, is no error of ours.
            let _ = connection.await;
            drop(permit);
        });
    }
}
