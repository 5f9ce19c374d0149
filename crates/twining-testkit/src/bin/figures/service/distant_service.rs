//! A way to a node that may be cut or long: what a clone on another machine sees of the service.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::client::BenchResult;

/// The way to a node.
pub(super) struct DistantService {
    pub(super) port: u16,
    way: Arc<ServiceWay>,
}

#[derive(Default)]
struct ServiceWay {
    node: AtomicU16,
    is_cut: AtomicBool,
    /// Milliseconds from one end to the other.
    one_way: AtomicU64,
    connections: AtomicUsize,
}

impl DistantService {
    /// Opens the way to the node at this port.
    pub(super) fn new(node: u16) -> BenchResult<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let way = Arc::new(ServiceWay { node: AtomicU16::new(node), ..ServiceWay::default() });
        let shared = Arc::clone(&way);
        // Ends with the program.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let way = Arc::clone(&shared);
                std::thread::spawn(move || drop(way.carry(client)));
            }
        });
        Ok(Self { port, way })
    }

    /// Cuts the way, or opens it.
    pub(super) fn set_cut(&self, is_cut: bool) {
        self.way.is_cut.store(is_cut, Ordering::SeqCst);
    }

    /// How long everything takes from one end to the other.
    pub(super) fn set_one_way(&self, one_way: Duration) {
        let millis = u64::try_from(one_way.as_millis()).unwrap_or(u64::MAX);
        self.way.one_way.store(millis, Ordering::SeqCst);
    }

    /// How often somebody has connected.
    pub(super) fn connections(&self) -> usize {
        self.way.connections.load(Ordering::SeqCst)
    }
}

impl ServiceWay {
    fn carry(self: Arc<Self>, client: TcpStream) -> std::io::Result<()> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Ok(());
        }
        let node = TcpStream::connect(("127.0.0.1", self.node.load(Ordering::SeqCst)))?;
        client.set_nodelay(true)?;
        node.set_nodelay(true)?;
        let (from_client, to_node) = (client.try_clone()?, node.try_clone()?);
        let way = Arc::clone(&self);
        std::thread::spawn(move || way.copy(from_client, to_node));
        self.copy(node, client);
        Ok(())
    }

    fn copy(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            std::thread::sleep(Duration::from_millis(self.one_way.load(Ordering::SeqCst)));
            if self.is_cut.load(Ordering::SeqCst) || to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        // The other direction ends too.
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
