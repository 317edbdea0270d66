//! Connections: idle ones are closed, and unauthenticated ones cannot use up the limit.
//!
//! Anyone on the machine can open a connection, but only who has the token is answered. A connection that does not send
//! its request in time is closed, and of those that never showed the token only so many are kept: the oldest goes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::guard;

/// A request must have arrived whole by then; a connection that is kept open must bring the next one by then.
const REQUEST_WITHIN: Duration = Duration::from_secs(20);
/// Connections without the token that are kept at once.
const MAX_STRANGERS: usize = 128;
/// How long to wait where the system has no connection left to give.
const RETRY_PERIOD: Duration = Duration::from_millis(200);

/// A connection, and whether it has shown the token.
struct Guest {
    known: Arc<AtomicBool>,
    task: AbortHandle,
}

/// Answers connections for as long as it is polled.
pub(crate) async fn serve(listener: TcpListener, router: Router, token: String) {
    let token: Arc<str> = token.into();
    let mut guests: VecDeque<Guest> = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) if is_of_the_guest(&error) => continue,
            // Usually too many open files: some will be closed by then.
            Err(_) => {
                tokio::time::sleep(RETRY_PERIOD).await;
                continue;
            }
        };
        let known = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(answer(stream, router.clone(), token.clone(), known.clone()));
        guests.retain(|guest| !guest.task.is_finished() && !guest.known.load(Ordering::Relaxed));
        guests.push_back(Guest { known, task: task.abort_handle() });
        if guests.len() > MAX_STRANGERS
            && let Some(oldest) = guests.pop_front()
        {
            oldest.task.abort();
        }
    }
}

fn is_of_the_guest(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn answer(stream: TcpStream, router: Router, token: Arc<str>, known: Arc<AtomicBool>) {
    // Answers are written whole: nothing is won by waiting for more.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let shown = request.uri().path().split('/').nth(1).is_some_and(|shown| guard::same(shown, &token));
        if shown {
            known.store(true, Ordering::Relaxed);
        }
        router.call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(REQUEST_WITHIN);
    // A connection that breaks off is the guest's affair.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}
