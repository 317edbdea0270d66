//! `ExportTraceServiceRequest`: each request that was kept whole is a trace, its regions are spans.

use stepscope_ground::protobuf::{Message, Put};
use stepscope_service::Exemplar;

use super::{Attribute, attribute, request};

const SPAN_KIND_SERVER: u64 = 2;
const SPAN_KIND_INTERNAL: u64 = 1;
const STATUS_ERROR: u64 = 2;

/// Spreads the bits of a text and a number.
fn digest(text: &[u8], seed: u64) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), step);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

fn bytes_of<const N: usize>(hex: &str) -> Option<[u8; N]> {
    if hex.len() != 2 * N || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut found = [0; N];
    for (at, byte) in found.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
    }
    // All zeros are not an id (W3C).
    found.iter().any(|byte| *byte != 0).then_some(found)
}

/// The trace, and the span that called, in the id that a service gave a request: `00-TRACE-SPAN-01`, or a trace alone.
fn of_caller(id: &str) -> Option<([u8; 16], Option<[u8; 8]>)> {
    let parts: Vec<&str> = id.split('-').collect();
    match parts.as_slice() {
        [trace] => Some((bytes_of(trace)?, None)),
        [_, trace, span, _] => Some((bytes_of(trace)?, Some(bytes_of(span)?))),
        _ => None,
    }
}

/// The trace of a request: the caller's if its id is one, else one that is always the same for the same request.
pub(super) fn trace_id(exemplar: &Exemplar) -> [u8; 16] {
    if let Some((trace, _)) = of_caller(&exemplar.id) {
        return trace;
    }
    let name = format!("{}\0{}\0{}\0{}", exemplar.route, exemplar.id, exemplar.process, exemplar.ended_ns);
    let mut found = [0; 16];
    found[..8].copy_from_slice(&digest(name.as_bytes(), exemplar.key).to_be_bytes());
    found[8..].copy_from_slice(&(digest(name.as_bytes(), !exemplar.key) | 1).to_be_bytes());
    found
}

fn span_id(trace: &[u8; 16], at: u64) -> [u8; 8] {
    (digest(trace, at) | 1).to_be_bytes()
}

/// The span that is the request itself.
pub(super) fn root_id(trace: &[u8; 16]) -> [u8; 8] {
    span_id(trace, u64::MAX)
}

/// Requests as one message.
pub fn traces_request(exemplars: &[Exemplar], attributes: &[(String, String)]) -> Vec<u8> {
    request(attributes, |scope| exemplars.iter().for_each(|exemplar| add(scope, exemplar)))
}

fn add(out: &mut Message, exemplar: &Exemplar) {
    let trace = trace_id(exemplar);
    let root = root_id(&trace);
    let ended = exemplar.ended_ns.max(0) as u64;
    let began = ended.saturating_sub(exemplar.latency_ns);
    let caller = of_caller(&exemplar.id).and_then(|(_, span)| span);
    let mut span = span(&trace, &root, caller.as_ref(), &exemplar.route, SPAN_KIND_SERVER, (began, ended));
    for (key, value) in [
        ("stepscope.request.id", Attribute::Text(&exemplar.id)),
        ("stepscope.route", Attribute::Text(&exemplar.route)),
        ("stepscope.samples", Attribute::Number(exemplar.samples.min(i64::MAX as u64) as i64)),
        ("process.pid", Attribute::Number(i64::from(exemplar.process))),
        ("stepscope.kept", Attribute::Text(if exemplar.slow { "slowest" } else { "random" })),
    ] {
        span.bytes(9, attribute(key, &value));
    }
    if exemplar.failed {
        let mut status = Message::new();
        status.number(3, STATUS_ERROR);
        span.bytes(15, &status);
    }
    out.bytes(2, &span);
    for (at, region) in exemplar.spans.iter().enumerate() {
        let parent = region.parent.map_or(root, |parent| span_id(&trace, u64::from(parent)));
        let start = began.saturating_add(region.start_ns);
        let times = (start, start.saturating_add(region.duration_ns));
        let id = span_id(&trace, at as u64);
        out.bytes(2, self::span(&trace, &id, Some(&parent), &region.name, SPAN_KIND_INTERNAL, times));
    }
}

fn span(
    trace: &[u8; 16],
    id: &[u8; 8],
    parent: Option<&[u8; 8]>,
    name: &str,
    kind: u64,
    (start, end): (u64, u64),
) -> Message {
    let mut out = Message::new();
    out.bytes(1, trace);
    out.bytes(2, id);
    if let Some(parent) = parent {
        out.bytes(4, parent);
    }
    out.bytes(5, name);
    out.number(6, kind);
    out.fixed(7, start);
    out.fixed(8, end);
    out
}
