//! OpenTelemetry: counters and exponential histograms, and requests that were kept whole as traces, over OTLP/HTTP.

mod metrics;
mod settings;
mod traces;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use stepscope_ground::Problem;
use stepscope_ground::protobuf::{Message, Put};
use stepscope_service::Exemplar;

use crate::client::{Destination, SendOutcome};
use crate::families::families;
use crate::snapshot_reader::SnapshotReader;

pub use metrics::metrics_request;
pub use settings::Settings;
pub use traces::traces_request;

/// Requests that wait to be sent; older ones are dropped.
const MAX_WAITING: usize = 2_000;
/// Requests that are remembered as sent.
const MAX_SENT: usize = 20_000;

/// Sends what is new to a collector.
#[derive(Debug)]
pub struct Otlp {
    reader: Arc<SnapshotReader>,
    settings: Settings,
    /// Requests that ended before are left out.
    since_ns: i64,
    sent: HashSet<(u64, i64)>,
    order: VecDeque<(u64, i64)>,
    waiting: VecDeque<Exemplar>,
}

impl Otlp {
    /// Sends all counters, and requests that end after a moment (nanoseconds since 1970).
    pub fn new(reader: Arc<SnapshotReader>, settings: Settings, since_ns: i64) -> Self {
        let (sent, order, waiting) = (HashSet::new(), VecDeque::new(), VecDeque::new());
        Self { reader, settings, since_ns, sent, order, waiting }
    }

    /// Sends once. What it returns is to be said; what was not taken is sent with the next.
    pub fn push(&mut self, stop: &dyn Fn() -> bool) -> Result<Vec<Problem>, Problem> {
        let snapshot = self.reader.snapshot(Duration::ZERO)?;
        let note = |note: &String| Problem::new(note, "check that the directory can be read, and is whole");
        let mut said: Vec<Problem> = snapshot.notes.iter().map(note).collect();
        let resource = &self.settings.resource;
        let body = metrics_request(&families(&snapshot), resource, snapshot.began_ns, snapshot.taken_ns);
        // Counters are sums since the beginning: one that did not arrive is in the next one.
        said.extend(self.deliver(&self.settings.metrics, &body, stop).err());
        for exemplar in snapshot.exemplars.iter().rev().filter(|exemplar| exemplar.ended_ns >= self.since_ns) {
            let name = (exemplar.key, exemplar.ended_ns);
            if self.sent.insert(name) {
                self.order.push_back(name);
                self.waiting.push_back(exemplar.clone());
            }
        }
        while self.order.len() > MAX_SENT {
            let forgotten = self.order.pop_front();
            forgotten.map(|name| self.sent.remove(&name));
        }
        while self.waiting.len() > MAX_WAITING {
            self.waiting.pop_front();
        }
        if !self.waiting.is_empty() {
            let body = traces_request(self.waiting.make_contiguous(), &self.settings.resource);
            match self.deliver(&self.settings.traces, &body, stop) {
                Ok(()) => self.waiting.clear(),
                Err(why) => said.push(why),
            }
        }
        Ok(said)
    }

    /// `Err` where it should be sent again or something is to be said.
    fn deliver(&self, to: &Destination, body: &[u8], stop: &dyn Fn() -> bool) -> Result<(), Problem> {
        match to.send(body, self.settings.retry, stop) {
            SendOutcome::Taken(None) => Ok(()),
            SendOutcome::Taken(Some(problem))
            | SendOutcome::NotNow(problem)
            | SendOutcome::Refused(problem) => Err(problem),
        }
    }
}

/// `KeyValue`.
enum Attribute<'a> {
    Text(&'a str),
    Number(i64),
}

fn attribute(key: &str, value: &Attribute<'_>) -> Message {
    let mut any = Message::new();
    match value {
        Attribute::Text(text) => any.bytes(1, text),
        Attribute::Number(number) => any.number(3, *number as u64),
    }
    let mut out = Message::new();
    out.bytes(1, key);
    out.bytes(2, &any);
    out
}

/// A request of one resource and one scope; `add` puts into the scope what is sent.
fn request(attributes: &[(String, String)], add: impl FnOnce(&mut Message)) -> Message {
    let mut of_scope = Message::new();
    of_scope.bytes(1, scope());
    add(&mut of_scope);
    let mut of_resource = Message::new();
    of_resource.bytes(1, resource(attributes));
    of_resource.bytes(2, &of_scope);
    let mut out = Message::new();
    out.bytes(1, &of_resource);
    out
}

/// `Resource`.
fn resource(attributes: &[(String, String)]) -> Message {
    let mut out = Message::new();
    for (key, value) in attributes {
        out.bytes(1, attribute(key, &Attribute::Text(value)));
    }
    out
}

/// `InstrumentationScope`.
fn scope() -> Message {
    let mut out = Message::new();
    out.bytes(1, "stepscope");
    out.bytes(2, env!("CARGO_PKG_VERSION"));
    out
}

#[cfg(test)]
mod tests;
