//! The memory of a snapshot in a report: one picture of each kind per device, the states at the peak, at the end and when a request was refused,
//! and what is known about the allocations with most pixels.

use std::collections::BTreeMap;

use serde_json::Value;
use stepscope_analyse::views::memory::picture::Frame;
use stepscope_analyse::views::memory::{MemoryAxis, MemoryDevice, PictureQuery, Stacked};
use stepscope_ground::Problem;

use super::pack::{Section, pack, pack_bytes};
use super::redact::redact;
use super::{size, value_of};
use crate::cached_run::CachedRun;

/// Devices of a report, those with the highest peaks.
const MAX_DEVICES: usize = 8;
/// Pixels of a picture: it is drawn larger when someone zooms in.
const PICTURE_COLUMNS: u32 = 1_800;
const PICTURE_ROWS: u32 = 720;
/// How many times fewer columns and rows are tried where these do not fit.
const COARSER_BY: [u32; 4] = [1, 2, 4, 8];
/// Most allocations and segments with details, per device.
const MAX_DETAILS: usize = 2_000;
/// The share of the room that pictures and states leave to details.
const FOR_DETAILS: usize = 2;
/// As the page has it: reserved memory is in sight unless it would make everything else small.
const RESERVED_IN_SIGHT: f64 = 2.5;
const HEADROOM: f64 = 1.05;

/// The sections of a snapshot's memory within about `room` bytes, and what was left out; nothing for other files.
pub(super) fn memory(
    run: &CachedRun,
    room: usize,
    redacted: bool,
) -> Result<(Vec<Section>, Vec<String>), Problem> {
    let Some(((_, histories), view)) = run.snapshot().zip(run.memory_view()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let about = view.about(histories);
    let mut sections = vec![pack("memory/about", &value_of(run, "memory/about", "", redacted)?)?];
    let mut left_out =
        vec!["the memory at moments other than the peak, the end and the last refused request, and pictures of parts of it".to_owned()];
    let devices = &about.devices[..about.devices.len().min(MAX_DEVICES)];
    if about.device_count as usize > devices.len() {
        left_out.push(format!("the memory of all but {} of {} devices", devices.len(), about.device_count));
    }
    let mut pictures = Vec::new();
    let mut times = 1;
    for coarser in COARSER_BY {
        times = coarser;
        pictures.clear();
        for device in devices {
            for (name, query) in queries(device, coarser) {
                let body = view.picture(histories, &query).unwrap_or_default();
                let body = if redacted { redact_head(&body) } else { body };
                pictures.push(pack_bytes(&format!("memory/picture/{name}/{}", device.device), &body)?);
            }
        }
        if size(&pictures) <= room / 2 {
            break;
        }
    }
    sections.append(&mut pictures);
    for device in devices {
        let number = device.device;
        for what in ["state", "flame"] {
            let mut of_states = BTreeMap::new();
            let refused = device.refusals.last().map(|refusal| refusal.state);
            for state in [device.peak_state, device.states - 1].into_iter().chain(refused) {
                let path = format!("memory/{what}");
                let query = format!("device={number}&state={state}");
                of_states.insert(state, value_of(run, &path, &query, redacted)?);
            }
            sections.push(pack(&format!("memory/{what}s/{number}"), &of_states)?);
        }
    }
    let mut room = room.saturating_sub(size(&sections)) / FOR_DETAILS;
    for device in devices {
        for (name, of, query) in [("allocations", "", 0), ("segments", "&of=segments", 2)] {
            let drawn = view.drawn(histories, &queries(device, times)[query].1);
            let (section, without) = details(run, device.device, (name, of), drawn, room, redacted)?;
            room = room.saturating_sub(section.bytes.len());
            sections.push(section);
            if without > 0 {
                left_out.push(format!("the details of {without} {name} with few pixels"));
            }
        }
    }
    Ok((sections, left_out))
}

/// The pictures of a device, with so many times fewer pixels each way.
fn queries(device: &MemoryDevice, coarser: u32) -> [(&'static str, PictureQuery); 3] {
    let most = device.peak_bytes.max(device.peak_reserved_bytes).max(1) as f64;
    let narrow = most > RESERVED_IN_SIGHT * device.peak_bytes as f64;
    let high = if narrow { device.peak_bytes.max(1) as f64 } else { most };
    let query = |axis, stacked, to: f64, high: f64| PictureQuery {
        device: device.device,
        stacked,
        axis,
        from: 0.0,
        to,
        columns: PICTURE_COLUMNS / coarser,
        frame: Frame { low: 0, high: (high * HEADROOM) as u64, rows: PICTURE_ROWS / coarser },
    };
    let entries = f64::from(device.states);
    let time = device.duration_ns.unwrap_or(0) as f64 + 1.0;
    [
        ("entry", query(MemoryAxis::Entry, Stacked::Allocations, entries, high)),
        ("time", query(MemoryAxis::Time, Stacked::Allocations, time, high)),
        ("segments", query(MemoryAxis::Entry, Stacked::Segments, entries, most)),
    ]
}

/// What is known about as many of these as fit, and about how many nothing is written.
fn details(
    run: &CachedRun,
    device: i64,
    (name, of): (&str, &str),
    mut drawn: Vec<u32>,
    room: usize,
    redacted: bool,
) -> Result<(Section, usize), Problem> {
    let all = drawn.len();
    drawn.truncate(MAX_DETAILS);
    loop {
        let mut found: BTreeMap<u32, Value> = BTreeMap::new();
        for id in &drawn {
            let query = format!("device={device}&id={id}{of}");
            found.insert(*id, value_of(run, "memory/allocation", &query, redacted)?);
        }
        let section = pack(&format!("memory/{name}/{device}"), &found)?;
        if section.bytes.len() <= room || drawn.is_empty() {
            return Ok((section, all - drawn.len()));
        }
        drawn.truncate(drawn.len() / 2);
    }
}

/// A picture without folders in the names of its lines.
fn redact_head(body: &[u8]) -> Vec<u8> {
    let length = body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize);
    let Some(text) = body.get(8..8 + length) else { return Vec::new() };
    let mut head: Value = serde_json::from_slice(text).unwrap_or_default();
    redact(&mut head);
    let head = head.to_string();
    let mut out = (head.len() as u64).to_le_bytes().to_vec();
    out.extend(head.as_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
    out.extend(&body[(8 + length).next_multiple_of(8)..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_picture_lose_their_folders_and_columns_stay() {
        let head = br#"{"places":[{"file":"/home/ann/secret/train.py"}]}"#;
        let mut body = (head.len() as u64).to_le_bytes().to_vec();
        body.extend(head);
        body.resize(body.len().next_multiple_of(8), 0);
        body.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        let out = redact_head(&body);
        let text = String::from_utf8_lossy(&out);
        assert!(text.contains("\"train.py\"") && !text.contains("ann"), "{text}");
        assert_eq!(out[out.len() - 8..], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(out.len().is_multiple_of(8));
    }
}
