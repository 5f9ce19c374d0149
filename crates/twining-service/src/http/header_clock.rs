//! How long a client takes for the headers of a request. A connection may be idle between requests
//! for minutes; once a request has begun, its headers must come soon.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Since when a client sends headers that are not complete, if it does.
#[derive(Clone, Debug)]
pub(super) struct HeaderClock(Arc<Mutex<RequestPhase>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestPhase {
    /// Between requests.
    Idle,
    /// Headers have begun, or a new connection was made for them.
    Headers(Instant),
    /// The request is being answered.
    Answering,
}

impl HeaderClock {
    /// The clock of a new connection: a first request is due.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(RequestPhase::Headers(Instant::now()))))
    }

    /// The headers are complete.
    pub(super) fn headers_came(&self) {
        self.set(RequestPhase::Answering);
    }

    /// The request was answered.
    pub(super) fn answered(&self) {
        self.set(RequestPhase::Idle);
    }

    /// Returns when headers have taken longer than this.
    pub(super) async fn too_slow(&self, limit: Duration) {
        loop {
            let until = match *self.phase() {
                RequestPhase::Headers(since) => since + limit,
                // Headers that begin from now on have at least until then.
                _ => Instant::now() + limit,
            };
            tokio::time::sleep_until(until).await;
            if matches!(*self.phase(), RequestPhase::Headers(since) if since.elapsed() >= limit) {
                return;
            }
        }
    }

    fn bytes_came(&self) {
        let mut phase = self.phase();
        if *phase == RequestPhase::Idle {
            *phase = RequestPhase::Headers(Instant::now());
        }
    }

    fn set(&self, phase: RequestPhase) {
        *self.phase() = phase;
    }

    fn phase(&self) -> std::sync::MutexGuard<'_, RequestPhase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that tells the clock when bytes come.
pub(super) struct ClockedStream<S> {
    stream: S,
    clock: HeaderClock,
}

impl<S> ClockedStream<S> {
    /// Reads and writes this stream.
    pub(super) fn new(stream: S, clock: HeaderClock) -> Self {
        Self { stream, clock }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClockedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.clock.bytes_came();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClockedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(20);

    async fn is_cut(clock: &HeaderClock, wait: Duration) -> bool {
        tokio::time::timeout(wait, clock.too_slow(LIMIT)).await.is_ok()
    }

    #[tokio::test]
    async fn only_headers_that_have_begun_are_waited_for_in_vain() {
        let (clock, long) = (HeaderClock::new(), Duration::from_secs(30));
        assert!(is_cut(&clock, long).await, "a connection that never says anything");
        clock.headers_came();
        assert!(!is_cut(&clock, LIMIT * 5).await, "a long answer");
        clock.answered();
        assert!(!is_cut(&clock, LIMIT * 5).await, "an idle connection");
        let reading = tokio::spawn({
            let clock = clock.clone();
            async move {
                loop {
                    clock.bytes_came();
                    tokio::time::sleep(LIMIT / 4).await;
                }
            }
        });
        assert!(is_cut(&clock, long).await, "headers byte by byte");
        reading.abort();
    }
}
