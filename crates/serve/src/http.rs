//! The server: one thread pool for connections, another for answers.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use stepscope_ground::Problem;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use crate::api::reply;
use crate::assets::{asset, unpack};
use crate::backend::Backend;
use crate::cached_run::CachedRun;
use crate::connections;
use crate::guard;
use crate::history;
use crate::messages::{ErrorReply, ServiceOpened, SessionInfo, StillLoading};
use crate::question;
use crate::reply::Reply;
use crate::runs::{RunLookup, RunState, Runs};
use crate::service;

/// Ports tried upward from the default before giving up.
const MAX_PORTS_TRIED: u16 = 100;
/// How long a request waits for a trace before it is answered with how far reading is.
const MAX_READ_WAIT: Duration = Duration::from_millis(200);
/// Answers shorter than this are not worth compressing.
const MIN_PACKED_BYTES: usize = 4 << 10;
/// How often a folder is looked at.
const WATCH_PERIOD: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address to listen on; loopback unless someone chose otherwise.
    pub host: IpAddr,
    /// The port; upward from the default if none is given.
    pub port: Option<u16>,
    /// Serve the UI from this folder instead of the embedded one.
    pub ui: Option<PathBuf>,
    /// Look for new traces now and then.
    pub watch: bool,
    /// This program's version, shown in the help.
    pub version: String,
}

/// The port tried first.
const DEFAULT_PORT: u16 = 7007;

#[derive(Clone, Debug)]
pub struct Address {
    pub socket: SocketAddr,
    /// What to open in a browser; it ends with the access token.
    pub url: String,
}

/// A server that listens but does not answer yet.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    /// Ctrl-C, listened for since before anyone knows the address.
    stop: Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
    address: Address,
    shared: Arc<ServerState>,
    watch: bool,
}

struct ServerState {
    runs: Arc<Runs>,
    token: String,
    ui: Option<PathBuf>,
    watch: bool,
    version: String,
    /// As many answers at once as there are cores: tiles must not wait behind a heap of reports.
    heavy: Semaphore,
    /// When the directory of a service last changed.
    changes: Arc<watch::Sender<i64>>,
}

impl Server {
    /// Takes a port and starts reading the first trace.
    pub fn bind(options: ServerOptions, backend: Arc<dyn Backend>) -> io::Result<Server> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = runtime.block_on(listen(options.host, options.port))?;
        let mut stop = Box::pin(tokio::signal::ctrl_c());
        runtime.block_on(async {
            // Asked once, it listens from here on.
            tokio::select! {
                biased;
                ended = &mut stop => Err(ended.err().unwrap_or_else(|| io::ErrorKind::Interrupted.into())),
                () = std::future::ready(()) => Ok(()),
            }
        })?;
        let socket = listener.local_addr()?;
        let token = guard::token().map_err(|e| io::Error::other(e.to_string()))?;
        let url = format!("http://{socket}/{token}/");
        let runs = Runs::new(backend);
        runs.refresh();
        runs.start_first();
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let shared = Arc::new(ServerState {
            runs,
            token,
            ui: options.ui,
            watch: options.watch,
            version: options.version,
            heavy: Semaphore::new(cores),
            changes: Arc::new(watch::Sender::new(0)),
        });
        Ok(Server { runtime, listener, stop, address: Address { socket, url }, shared, watch: options.watch })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Why no trace was found at the start, if so.
    pub fn problem(&self) -> Option<Problem> {
        self.shared.runs.problem()
    }

    /// Answers until Ctrl-C.
    pub fn run(self) -> io::Result<()> {
        let Server { runtime, listener, stop, shared, watch, .. } = self;
        let router = Router::new()
            .route("/{token}/api/runs", get(runs))
            .route("/{token}/api/r/{run}/{*what}", get(about_run))
            .route("/{token}/api/diff", get(about_sides))
            .route("/{token}/api/history", get(about_baselines))
            .route("/{token}/api/service", get(about_service))
            .route("/{token}/api/service/events", get(service_events))
            .route("/{token}/", get(index))
            .route("/{token}/{file}", get(file))
            .fallback(async || not_found())
            .layer(middleware::from_fn(protect))
            .with_state(shared.clone());
        let token = shared.token.clone();
        runtime.block_on(async move {
            if shared.runs.backend.service().is_some() {
                let (backend, changes) = (shared.runs.backend.clone(), shared.changes.clone());
                tokio::spawn(service::watch_directory(backend, changes));
            }
            if watch {
                tokio::spawn(watch_for_runs(shared));
            }
            tokio::select! {
                () = connections::serve(listener, router, token) => {}
                _ = stop => {}
            }
        });
        // A report under way would hold up the end by seconds.
        runtime.shutdown_background();
        Ok(())
    }
}

async fn listen(host: IpAddr, port: Option<u16>) -> io::Result<TcpListener> {
    if let Some(port) = port {
        return TcpListener::bind((host, port)).await;
    }
    let mut last = None;
    for port in DEFAULT_PORT..DEFAULT_PORT + MAX_PORTS_TRIED {
        match TcpListener::bind((host, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
            result => return result,
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other("no free port")))
}

async fn watch_for_runs(shared: Arc<ServerState>) {
    loop {
        tokio::time::sleep(WATCH_PERIOD).await;
        let runs = shared.runs.clone();
        // Listing a folder may hang on a network drive; it must not hold up answers.
        let _ = tokio::task::spawn_blocking(move || runs.refresh()).await;
    }
}

async fn protect(method: Method, headers: HeaderMap, request: axum::extract::Request, next: Next) -> Response {
    let mut response = if method != Method::GET && method != Method::HEAD {
        StatusCode::METHOD_NOT_ALLOWED.into_response()
    } else if guard::is_ours(&headers, is_page(request.uri().path())) {
        next.run(request).await
    } else {
        (
            StatusCode::FORBIDDEN,
            "Forbidden. Only the page itself may use this server. Open the URL stepscope printed.\n",
        )
            .into_response()
    };
    response.headers_mut().extend(guard::headers());
    response
}

/// Whether a path is that of the page itself: the token and nothing more.
fn is_page(path: &str) -> bool {
    path.strip_prefix('/').and_then(|path| path.strip_suffix('/')).is_some_and(|token| !token.contains('/'))
}

fn not_found() -> Response {
    let text = "Not found. Open the full URL stepscope printed; it ends with your access token.\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

/// Paths that start with the token of this server.
fn is_known(shared: &ServerState, token: &str) -> bool {
    guard::same(token, &shared.token)
}

async fn index(
    State(shared): State<Arc<ServerState>>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    serve_file(&shared, &token, "", &headers)
}

async fn file(
    State(shared): State<Arc<ServerState>>,
    Path((token, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    serve_file(&shared, &token, &name, &headers)
}

fn serve_file(shared: &ServerState, token: &str, name: &str, headers: &HeaderMap) -> Response {
    let Some(found) = is_known(shared, token).then(|| asset(name, shared.ui.as_deref())).flatten() else {
        return not_found();
    };
    let mut response = if !found.gzipped {
        found.body.into_response()
    } else if takes_gzip(headers) {
        ([(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))], found.body).into_response()
    } else {
        unpack(&found.body).into_response()
    };
    let own = response.headers_mut();
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static(found.kind));
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn runs(
    State(shared): State<Arc<ServerState>>,
    Path(token): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    if !is_known(&shared, &token) {
        return not_found();
    }
    // A run that is being recorded grows only for those who want to see that.
    if query.as_deref() == Some("fresh=1") && shared.runs.is_recording() {
        let runs = shared.runs.clone();
        let _ = tokio::task::spawn_blocking(move || runs.refresh()).await;
    }
    let backend = &shared.runs.backend;
    let opened = SessionInfo {
        version: &shared.version,
        watching: shared.watch,
        runs: shared.runs.list(),
        history: backend.histories().is_some(),
        service: backend.service().map(|hours| ServiceOpened { name: hours.dir().name() }),
        problem: shared.runs.problem(),
        report: None,
    };
    as_json(StatusCode::OK, &opened)
}

async fn about_run(
    State(shared): State<Arc<ServerState>>,
    Path((token, run, what)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Some(id) = is_known(&shared, &token).then(|| run.parse().ok()).flatten() else { return not_found() };
    let heavy = ["ask/", "csv/", "flame", "path"].iter().any(|start| what.starts_with(start));
    let (runs, pack) = (shared.runs.clone(), takes_gzip(&headers));
    let work = move || answer(&runs, id, &what, &query.unwrap_or_default(), pack);
    let response = worked_out(&shared, heavy, work).await;
    response.unwrap_or_else(|| failed("this question failed inside Stepscope; the others still work"))
}

/// What some work comes to; `None` if it fails in a way that it must not.
async fn worked_out(
    shared: &ServerState,
    heavy: bool,
    work: impl FnOnce() -> Response + Send + 'static,
) -> Option<Response> {
    // The semaphore is never closed.
    let permit = if heavy { shared.heavy.acquire().await.ok() } else { None };
    let response = tokio::task::spawn_blocking(work).await;
    drop(permit);
    response.ok()
}

fn failed(words: &str) -> Response {
    let why = Problem::new(words, "please report it, with the trace if you can");
    problem(StatusCode::INTERNAL_SERVER_ERROR, &why)
}

/// Compares two runs: `?a=0&b=1`, several recordings per side, or more than two sides.
async fn about_sides(
    State(shared): State<Arc<ServerState>>,
    Path(token): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if !is_known(&shared, &token) {
        return not_found();
    }
    let (runs, pack) = (shared.runs.clone(), takes_gzip(&headers));
    let work = move || match compare(&runs, &query.unwrap_or_default()) {
        Ok(reply) => packed(reply, pack),
        Err(response) => *response,
    };
    let response = worked_out(&shared, true, work).await;
    response.unwrap_or_else(|| failed("this comparison failed inside Stepscope; everything else still works"))
}

/// The history of baselines. They grow while the server runs, so nothing is kept.
async fn about_baselines(
    State(shared): State<Arc<ServerState>>,
    Path(token): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    if !is_known(&shared, &token) {
        return not_found();
    }
    let backend = shared.runs.backend.clone();
    let work = move || match backend.histories() {
        None => not_found(),
        Some(histories) => match history::reply(histories, &query.unwrap_or_default()) {
            Ok(reply) => {
                let kind = [(header::CONTENT_TYPE, reply.kind), (header::CACHE_CONTROL, "no-store")];
                (StatusCode::OK, kind, reply.body).into_response()
            }
            Err(why) => problem(StatusCode::BAD_REQUEST, &why),
        },
    };
    worked_out(&shared, false, work).await.unwrap_or_else(not_found)
}

/// The dashboard of a service. It grows while the server runs, so the browser keeps nothing.
async fn about_service(
    State(shared): State<Arc<ServerState>>,
    Path(token): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if !is_known(&shared, &token) {
        return not_found();
    }
    let (backend, pack) = (shared.runs.backend.clone(), takes_gzip(&headers));
    let work = move || match backend.service() {
        None => not_found(),
        Some(hours) => match service::reply(hours, &query.unwrap_or_default()) {
            Ok(reply) => {
                let mut response = packed(reply, pack);
                response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                response
            }
            Err(why) => problem(StatusCode::BAD_REQUEST, &why),
        },
    };
    worked_out(&shared, true, work).await.unwrap_or_else(not_found)
}

async fn service_events(State(shared): State<Arc<ServerState>>, Path(token): Path<String>) -> Response {
    if !is_known(&shared, &token) || shared.runs.backend.service().is_none() {
        return not_found();
    }
    service::events(shared.changes.subscribe())
}

fn compare(runs: &Arc<Runs>, query: &str) -> Result<Reply, Box<Response>> {
    let wrong = |why: Problem| Box::new(problem(StatusCode::BAD_REQUEST, &why));
    let query = question::parse("diff", query).map_err(wrong)?;
    let (mut ask, mut sides) = (query.ask, Vec::new());
    for ids in &query.sides {
        let side = ids.iter().map(|&id| ready(runs, id)).collect::<Result<Vec<_>, _>>()?;
        if sides.is_empty() {
            ask = side[0].settled(&ask);
        }
        sides.push(side.iter().map(|run| run.run.clone()).collect());
    }
    let runs = ask.take_sides(&sides);
    question::object(&ask, &runs).and_then(|object| Reply::json(&object)).map_err(wrong)
}

/// A run that is in memory, or what to say instead.
fn ready(runs: &Arc<Runs>, id: u32) -> Result<Arc<CachedRun>, Box<Response>> {
    Err(Box::new(match runs.get(id, MAX_READ_WAIT) {
        RunLookup::Ready(run) => return Ok(run),
        RunLookup::Loading(read, total) => {
            let body = StillLoading { run: id, state: RunState::Loading, read_bytes: read, total_bytes: total };
            as_json(StatusCode::ACCEPTED, &body)
        }
        RunLookup::Failed(why) => problem(StatusCode::UNPROCESSABLE_ENTITY, &why),
        RunLookup::Unknown => {
            let gone = Problem::new("this run is no longer here", "choose another one at the top");
            problem(StatusCode::NOT_FOUND, &gone)
        }
    }))
}

fn answer(runs: &Arc<Runs>, id: u32, what: &str, query: &str, pack: bool) -> Response {
    let run = match ready(runs, id) {
        Ok(run) => run,
        Err(response) => return *response,
    };
    match reply(&run, what, query) {
        None => not_found(),
        Some(Err(why)) => problem(StatusCode::BAD_REQUEST, &why),
        Some(Ok(reply)) => packed(reply, pack),
    }
}

fn packed(reply: Reply, pack: bool) -> Response {
    let mut response = match pack && reply.body.len() > MIN_PACKED_BYTES {
        false => Body::from(reply.body).into_response(),
        true => {
            let mut gz = GzEncoder::new(Vec::with_capacity(reply.body.len() / 3), Compression::fast());
            match gz.write_all(&reply.body).and_then(|()| gz.finish()) {
                Ok(body) => ([(header::CONTENT_ENCODING, "gzip")], body).into_response(),
                Err(_) => Body::from(reply.body).into_response(),
            }
        }
    };
    let own = response.headers_mut();
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.kind));
    // A run never changes under its number, and the token is new with every start.
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=86400, immutable"));
    if reply.kind.starts_with("text/csv") {
        own.insert(
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"stepscope.csv\""),
        );
    }
    response
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("gzip"))
}

fn problem(status: StatusCode, why: &Problem) -> Response {
    as_json(status, &ErrorReply { error: why })
}

fn as_json(status: StatusCode, value: &impl Serialize) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    match serde_json::to_vec(value) {
        Ok(body) => (status, kind, body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
