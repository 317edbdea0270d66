//! `/metrics` over HTTP, for all workers of a service: the one that gets the port first serves it, the others try again now and
//! then, so that one of them takes over when it ends.
//!
//! It has a thread of its own, and one more while metrics are made; a connection has one request and a bounded time, and
//! what fails there stays there.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use stepscope_ground::{Problem, lock};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::exposition::{negotiate, render};
use crate::families::families;
use crate::snapshot_reader::SnapshotReader;

/// Monitors write once per second: looking more often finds nothing new.
const MAX_AGE: Duration = Duration::from_millis(500);
/// A request must have arrived whole by then, …
const REQUEST_WITHIN: Duration = Duration::from_secs(5);
/// … and its answer must have been taken by then.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const MAX_HEAD: usize = 16 << 10;
/// How long to wait where the system has no connection left to give.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 25\r\nConnection: close\r\n\r\ntoo many scrapes at once\n";
const NO_SOCKET: RawFd = -1;

#[derive(Copy, Clone, Debug)]
pub struct Options {
    /// How often to try again while another process has the port.
    pub retry: Duration,
    /// Connections at once; others get 503.
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
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    reader: Arc<SnapshotReader>,
    /// The socket that listens.
    socket: AtomicI32,
    places: Arc<Semaphore>,
    local: Mutex<Option<SocketAddr>>,
}

impl Endpoint {
    /// Starts to serve at `host:port`. If another process has the port, it waits; what else is wrong with it is an error.
    pub fn start(reader: Arc<SnapshotReader>, address: &str, options: Options) -> Result<Self, Problem> {
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
            reader,
            socket: AtomicI32::new(NO_SOCKET),
            places: Arc::new(Semaphore::new(options.connections)),
            local: Mutex::new(None),
        });
        shared.set_listener(first.as_ref());
        let (stop, stopped) = oneshot::channel();
        let serving = serve(shared.clone(), first, address.to_owned(), options.retry);
        let run = || -> io::Result<JoinHandle<()>> {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime =
                runtime.enable_all().max_blocking_threads(1).thread_name("stepscope-scrape").build()?;
            std::thread::Builder::new().name("stepscope-metrics".to_owned()).spawn(move || {
                runtime.spawn(serving);
                let _ = runtime.block_on(stopped);
                // Requests that are being answered are left alone, and so is the thread that waits for this to end.
                runtime.shutdown_background();
            })
        };
        let thread = run().map_err(|error| {
            Problem::new(
                format!("no thread could be started to serve metrics: {error}"),
                "raise the limits of threads and open files (ulimit -u, ulimit -n)",
            )
        })?;
        Ok(Self { shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it serves; `None` while another process has the port.
    pub fn serving_at(&self) -> Option<SocketAddr> {
        *lock(&self.shared.local)
    }

    /// The socket that listens, if any: a forked child has to close it, or the port stays taken when this process ends.
    pub fn socket(&self) -> Option<RawFd> {
        Some(self.shared.socket.load(Ordering::SeqCst)).filter(|socket| *socket != NO_SOCKET)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.shared.set_listener(None);
    }
}

fn bind(address: &str) -> io::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let listener = TcpListener::bind(addresses.as_slice())?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Shared {
    fn set_listener(&self, listener: Option<&TcpListener>) {
        self.socket.store(listener.map_or(NO_SOCKET, AsRawFd::as_raw_fd), Ordering::SeqCst);
        let local = listener.and_then(|listener| listener.local_addr().ok());
        *lock(&self.local) = local;
    }
}

/// Gets the port, sooner or later, and answers requests.
async fn serve(shared: Arc<Shared>, first: Option<TcpListener>, address: String, retry: Duration) {
    let mut found = first;
    let listener = loop {
        if let Some(listener) = found.take().or_else(|| bind(&address).ok()) {
            shared.set_listener(Some(&listener));
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => break listener,
                Err(_) => shared.set_listener(None),
            }
        }
        sleep(retry).await;
    };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match shared.places.clone().try_acquire_owned() {
                Ok(place) => drop(tokio::spawn(answer(stream, shared.reader.clone(), place))),
                Err(_) => drop(stream.try_write(TOO_MANY)),
            },
            // Too many open files, or a client that is gone: not at full speed.
            Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

async fn answer(stream: TcpStream, reader: Arc<SnapshotReader>, _place: OwnedSemaphorePermit) {
    let service = service_fn(move |request| respond(request, reader.clone()));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(REQUEST_WITHIN);
    builder.keep_alive(false).max_buf_size(MAX_HEAD).title_case_headers(true);
    // A connection that breaks off is the client's affair.
    let _ = timeout(ANSWER_WITHIN, builder.serve_connection(TokioIo::new(stream), service)).await;
}

async fn respond(
    request: Request<Incoming>,
    reader: Arc<SnapshotReader>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let known = matches!(*request.method(), Method::GET | Method::HEAD);
    Ok(match request.uri().path() {
        _ if !known => {
            let mut refused = text_reply(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are known here");
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            refused
        }
        "/metrics" => {
            let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let accepted = accepted.collect::<Vec<_>>().join(",");
            // Reading a directory takes long at times; others are answered meanwhile.
            let made = tokio::task::spawn_blocking(move || metrics(&reader, &accepted)).await;
            made.unwrap_or_else(|_| text_reply(StatusCode::INTERNAL_SERVER_ERROR, "metrics could not be made"))
        }
        "/" => text_reply(StatusCode::OK, "stepscope: metrics of a service are at /metrics"),
        _ => text_reply(StatusCode::NOT_FOUND, "metrics are at /metrics"),
    })
}

fn metrics(reader: &SnapshotReader, accepted: &str) -> Response<Full<Bytes>> {
    match reader.throttled_snapshot(MAX_AGE) {
        Ok(snapshot) => {
            let format = negotiate(accepted);
            response(StatusCode::OK, format.content_type(), render(&families(&snapshot), format))
        }
        // Old numbers with status 200 would hide that the present ones are unknown.
        Err(error) => text_reply(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

fn text_reply(status: StatusCode, words: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", format!("{words}\n").into_bytes())
}

fn response(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    for (name, value) in
        [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-store"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests;
