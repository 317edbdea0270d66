//! `/metrics` over HTTP, for all workers of a service: whoever gets the port first serves it, the others try again now and
//! then, so that one of them takes over when it ends.
//!
//! It has a thread of its own and a few for connections, each for a bounded time; what fails there stays there.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stepscope_ground::Problem;

use crate::exporter::Exporter;
use crate::exposition::{negotiate, render};
use crate::families::families;
use crate::http::{self, Answer, Bounds};

/// How soon a wish to stop is noticed.
const LOOK: Duration = Duration::from_millis(200);
/// Monitors write once per second: looking more often finds nothing new.
const MAX_AGE: Duration = Duration::from_millis(500);
const NO_SOCKET: RawFd = -1;

/// How an endpoint serves.
#[derive(Copy, Clone, Debug)]
pub struct Options {
    /// How often to try again while somebody else has the port.
    pub retry: Duration,
    /// Connections at once; others are told to come back.
    pub connections: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { retry: Duration::from_secs(3), connections: 8 }
    }
}

/// Serves, or waits for the port.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// The socket that listens.
    socket: AtomicI32,
    connections: AtomicUsize,
    local: Mutex<Option<SocketAddr>>,
}

impl Endpoint {
    /// Starts to serve at `host:port`. If somebody else has the port, it waits; what else is wrong with it is an error.
    pub fn start(exporter: Arc<Exporter>, address: &str, options: Options) -> Result<Self, Problem> {
        let first = match bind(address) {
            Ok(listener) => Some(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => None,
            Err(error) => {
                return Err(Problem::new(
                    format!("cannot listen at {address}: {error}"),
                    "give an address of this machine and a free port, such as 127.0.0.1:9464",
                ));
            }
        };
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            socket: AtomicI32::new(NO_SOCKET),
            connections: AtomicUsize::new(0),
            local: Mutex::new(None),
        });
        if let Some(listener) = &first {
            shared.serving(listener);
        }
        let (of_thread, address) = (shared.clone(), address.to_owned());
        let run = move || of_thread.run(first, &address, &exporter, options);
        let thread = std::thread::Builder::new().name("stepscope-metrics".to_owned()).spawn(run);
        match thread {
            Ok(thread) => Ok(Self { shared, thread: Some(thread) }),
            Err(error) => Err(Problem::new(
                format!("no thread could be started to serve metrics: {error}"),
                "raise the limit of threads (ulimit -u)",
            )),
        }
    }

    /// Where it serves; `None` while somebody else has the port.
    pub fn serving_at(&self) -> Option<SocketAddr> {
        *self.shared.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The socket that listens, if any: a forked child has to close it, or the port stays taken when this process ends.
    pub fn socket(&self) -> Option<RawFd> {
        Some(self.shared.socket.load(Ordering::SeqCst)).filter(|socket| *socket != NO_SOCKET)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn bind(address: &str) -> io::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let listener = TcpListener::bind(addresses.as_slice())?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Shared {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn serving(&self, listener: &TcpListener) {
        self.socket.store(listener.as_raw_fd(), Ordering::SeqCst);
        *self.local.lock().unwrap_or_else(PoisonError::into_inner) = listener.local_addr().ok();
    }

    fn run(
        self: Arc<Self>,
        first: Option<TcpListener>,
        address: &str,
        exporter: &Arc<Exporter>,
        options: Options,
    ) {
        let mut listener = first;
        while !self.stopped() {
            let Some(found) = listener.take().or_else(|| bind(address).ok()) else {
                let again = Instant::now() + options.retry;
                while !self.stopped() && Instant::now() < again {
                    std::thread::sleep(LOOK.min(options.retry));
                }
                continue;
            };
            self.serving(&found);
            self.serve(&found, exporter, options);
            // Before it closes: the number may then be another file's.
            self.socket.store(NO_SOCKET, Ordering::SeqCst);
            *self.local.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Until the end, or until the socket is of no use.
    fn serve(self: &Arc<Self>, listener: &TcpListener, exporter: &Arc<Exporter>, options: Options) {
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as _ };
        while !self.stopped() {
            let mut waiting = [PollFd::new(listener, PollFlags::IN)];
            match poll(&mut waiting, Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(_) => return,
            }
            match listener.accept() {
                Ok((stream, _)) => self.accepted(stream, exporter, options),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
                // Too many open files, or a client that is gone: not at full speed.
                Err(_) => std::thread::sleep(LOOK),
            }
        }
    }

    fn accepted(self: &Arc<Self>, mut stream: TcpStream, exporter: &Arc<Exporter>, options: Options) {
        let _ = stream.set_nonblocking(false);
        if self.connections.fetch_add(1, Ordering::SeqCst) >= options.connections {
            self.connections.fetch_sub(1, Ordering::SeqCst);
            let bounds = Bounds { write: LOOK, ..Bounds::default() };
            let _ = http::write(&mut stream, &Answer::words(503, "too many scrapes at once"), false, bounds);
            return;
        }
        let (shared, exporter) = (self.clone(), exporter.clone());
        let run = move || {
            // Whatever happens in there, the place is free afterwards.
            let _guard = Place(shared);
            answer(&mut stream, &exporter);
        };
        let spawned = std::thread::Builder::new().name("stepscope-scrape".to_owned()).spawn(run);
        // Without a thread nobody gives the place back.
        if spawned.is_err() {
            self.connections.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// A connection that counts until it is over.
struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

fn answer(stream: &mut TcpStream, exporter: &Exporter) {
    let bounds = Bounds::default();
    let (answer, without_body) = match http::read(stream, bounds) {
        Err(None) => return,
        Err(Some(status)) => (Answer::words(status, "this is not a request for metrics"), false),
        Ok(asked) => {
            let head = asked.method == "HEAD";
            let answer = match (asked.method.as_str(), asked.path.as_str()) {
                ("GET" | "HEAD", "/metrics") => metrics(exporter, &asked.accept),
                ("GET" | "HEAD", "/") => Answer::words(200, "stepscope: metrics of a service are at /metrics"),
                ("GET" | "HEAD", _) => Answer::words(404, "metrics are at /metrics"),
                _ => Answer::words(405, "only GET and HEAD are known here"),
            };
            (answer, head)
        }
    };
    let _ = http::write(stream, &answer, without_body, bounds);
    let _ = stream.shutdown(std::net::Shutdown::Write);
}

fn metrics(exporter: &Exporter, accept: &str) -> Answer {
    match exporter.affordable(MAX_AGE) {
        Ok(snapshot) => {
            let format = negotiate(accept);
            let body = render(&families(&snapshot), format);
            Answer { status: 200, content_type: format.content_type(), body }
        }
        // Old numbers with status 200 would hide that nobody knows the present ones.
        Err(error) => Answer::words(503, error.to_string()),
    }
}

#[cfg(test)]
mod tests;
