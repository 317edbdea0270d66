//! A service in production, for the page: its dashboard over any stretch of time, and word when there is more to see.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use stepscope_ground::Problem;
use stepscope_ground::utc::now_ns;
use stepscope_service::dashboard::ServiceDashboard;
use stepscope_service::{Hours, Period};
use tokio::sync::watch;

use crate::backend::Backend;
use crate::question::{number, pairs};
use crate::reply::Reply;

/// How often the directory is looked at, while anyone listens.
const CHECK_PERIOD: Duration = Duration::from_secs(1);
/// Something is sent this often, so that both sides notice when the other one is gone.
const BEAT_EVERY: Duration = Duration::from_secs(15);
/// The longest period, in minutes: a year and a day.
const MAX_MINUTES: i64 = 366 * 1_440;

/// The dashboard: `?last=24h` or `?from=MINUTE&until=MINUTE`, and `&route=NAME` for one route.
pub(crate) fn reply(hours: &Hours, query: &str) -> Result<Reply, Problem> {
    let options = pairs(query);
    let given = |name: &str| options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let period = match (given("from"), given("until")) {
        (Some(from), Some(until)) => {
            let (from, until) = (number::<i64>("from", from)?, number::<i64>("until", until)?);
            let sane = 0 <= from && from < until && until - from <= MAX_MINUTES;
            sane.then_some(Period { from, until }).ok_or_else(|| {
                Problem::new("this period is empty or longer than a year", "choose another one")
            })?
        }
        _ => Period::parse(given("last").unwrap_or("1h"), now_ns())?,
    };
    let route = given("route").filter(|route| !route.is_empty());
    Reply::json(&ServiceDashboard::make(hours, period, route)?)
}

/// Checks the directory for as long as anyone may listen.
pub(crate) async fn watch_directory(backend: Arc<dyn Backend>, changes: Arc<watch::Sender<i64>>) {
    loop {
        tokio::time::sleep(CHECK_PERIOD).await;
        if changes.receiver_count() == 0 {
            continue;
        }
        let backend = backend.clone();
        // On a network drive, checking may hang.
        let look = move || backend.service().and_then(|hours| hours.dir().changed_ns());
        if let Ok(Some(changed)) = tokio::task::spawn_blocking(look).await {
            changes.send_if_modified(|known| std::mem::replace(known, changed) != changed);
        }
    }
}

/// Server-sent events: `changed` when there is more to see, at most once per second.
pub(crate) fn events(changes: watch::Receiver<i64>) -> Response {
    let beats = stream::unfold((changes, true), |(mut changes, first)| async move {
        let text = match first {
            // The page has the present state, and learns that it is connected.
            true => ": connected\n\n".to_owned(),
            false => match tokio::time::timeout(BEAT_EVERY, changes.changed()).await {
                Ok(Ok(())) => {
                    let changed = *changes.borrow_and_update();
                    format!("event: changed\ndata: {{\"newest_ns\":{changed}}}\n\n")
                }
                Ok(Err(_)) => return None,
                Err(_) => ": still here\n\n".to_owned(),
            },
        };
        Some((Ok::<_, Infallible>(text), (changes, false)))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (StatusCode::OK, kind, Body::from_stream(beats)).into_response()
}
