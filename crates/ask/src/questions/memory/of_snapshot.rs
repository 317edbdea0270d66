//! What a snapshot says beside its stacks: what each device's allocator held, and which requests it refused.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::memory::heap_profile;
use stepscope_analyse::memory::history::{FailedAllocation, History, Obstacle, largest};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_ground::Problem;
use stepscope_model::{BlockState, Profile, Segment, Snapshot};

use super::QUESTION;
use crate::answer::Part;
use crate::ask::Ask;
use crate::form::{Member, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Table, units};

pub(super) const DEFINITIONS: &[Definition] = definitions! {
    "allocated_bytes_now", "In use" =>
        "Bytes that the program holds when the snapshot was taken, rounded up as the allocator does.";
    "allocated_bytes_peak", "Peak in use" => "The most bytes that the program held at once since the history begins.";
    "reserved_bytes_now", "Reserved" => "Bytes that the allocator has taken from the device and not given back.";
    "reserved_bytes_peak", "Peak reserved" =>
        "The most bytes that the allocator had taken at once since the history begins.";
    "pending_bytes", "Pending" => "Bytes that the program gave back, but that another stream may still use.";
    "free_bytes", "Free inside" => "Reserved bytes that nothing uses.";
    "largest_free_bytes", "Largest free" =>
        "The longest free stretch of one segment: a request for more needs new memory from the device.";
    "segments_taken", "Taken" =>
        "Segments that the allocator took from the device during the history. Each makes the host wait.";
    "segments_returned", "Returned" => "Segments that the allocator gave back to the device during the history.";
    "asked_bytes", "Asked for" => "Bytes of a request that the allocator could not meet.";
    "device_free_bytes", "Left on device" =>
        "Bytes that the device had left then. A limit on the process may forbid using them.";
    "unmatched", "Unmatched" =>
        "Entries of the history that do not fit the others: frees of what was never allocated, and the like.";
};

/// One device's allocator.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct DeviceRow {
    /// The device; pinned memory of the host is -1.
    device: i64,
    /// In use now.
    allocated_bytes_now: u64,
    /// In use at most.
    allocated_bytes_peak: u64,
    /// Taken from the device now.
    reserved_bytes_now: u64,
    /// Taken at most.
    reserved_bytes_peak: u64,
    /// Given back, but not yet free.
    pending_bytes: u64,
    /// Reserved and free.
    free_bytes: u64,
    /// In one piece.
    largest_free_bytes: u64,
    /// Segments taken during the history.
    segments_taken: u64,
    /// Segments given back.
    segments_returned: u64,
    /// Entries that do not fit.
    unmatched: u64,
}

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct RefusalRow {
    device: i64,
    asked_bytes: u64,
    device_free_bytes: u64,
    /// In use then.
    allocated_bytes: u64,
    /// Taken from the device then.
    reserved_bytes: u64,
    /// Reserved and free then.
    free_bytes: u64,
    /// In one piece.
    largest_free_bytes: u64,
    why: Obstacle,
}

/// What an answer about a snapshot holds beside the memory's lines or stacks.
pub(super) const MEMBERS: &[Member] =
    &[rows::<DeviceRow>("allocators").sometimes(), rows::<RefusalRow>("refusals").sometimes()];

pub(super) fn parts(snapshot: &Snapshot, histories: &[History]) -> Vec<Part> {
    let devices: Vec<DeviceRow> = histories.iter().map(|history| device(snapshot, history)).collect();
    let refusals: Vec<RefusalRow> = histories
        .iter()
        .flat_map(|history| history.refusals.iter().map(|refusal| refused(history.device, refusal)))
        .collect();
    let earlier: Vec<String> = histories.iter().filter_map(earlier).collect();
    let several = histories.len() > 1;
    let mut parts = vec![Part::new("allocators", devices, move |rows| {
        let mut table = devices_table(rows);
        if several {
            table.note("the tables above are about one of them; --device N shows another".to_owned());
        }
        table.notes(&earlier);
        table
    })];
    if !refusals.is_empty() {
        parts.push(Part::new("refusals", refusals, refusals_table));
    }
    parts
}

/// What was there before the history begins, in words.
fn earlier(history: &History) -> Option<String> {
    let before = || history.allocations.iter().filter(|allocation| allocation.before);
    let bytes = before().fold(0u64, |sum, allocation| sum.saturating_add(allocation.bytes));
    let count = before().count() as u64;
    (count > 0).then(|| {
        format!(
            "{}: {} in {} pieces was allocated before the recorded history begins",
            name(history.device),
            units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX)),
            units::count(count),
        )
    })
}

fn device(snapshot: &Snapshot, history: &History) -> DeviceRow {
    let now = history.levels.last().copied().unwrap_or(history.at_start);
    let segments = snapshot.segments.iter().filter(|segment| segment.device == history.device);
    DeviceRow {
        device: history.device,
        allocated_bytes_now: now.allocated,
        allocated_bytes_peak: history.peak.allocated,
        reserved_bytes_now: now.reserved,
        reserved_bytes_peak: history.peak.reserved,
        pending_bytes: now.active.saturating_sub(now.allocated),
        free_bytes: now.reserved.saturating_sub(now.active),
        largest_free_bytes: segments.flat_map(free_blocks).max().unwrap_or(0),
        segments_taken: history.segments.0,
        segments_returned: history.segments.1,
        unmatched: history.unmatched,
    }
}

fn free_blocks(segment: &Segment) -> impl Iterator<Item = u64> + '_ {
    segment.blocks.iter().filter(|block| block.state == BlockState::Free).map(|block| block.bytes)
}

fn refused(device: i64, refusal: &FailedAllocation) -> RefusalRow {
    RefusalRow {
        device,
        asked_bytes: refusal.bytes,
        device_free_bytes: refusal.device_free,
        allocated_bytes: refusal.level.allocated,
        reserved_bytes: refusal.level.reserved,
        free_bytes: refusal.free(),
        largest_free_bytes: refusal.largest_gap,
        why: refusal.obstacle(),
    }
}

fn size(bytes: u64) -> Cell {
    Cell::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// Refuses a device that the snapshot does not have.
pub(super) fn known_device(ask: &Ask, histories: &[History]) -> Result<(), Problem> {
    let Some(asked) = ask.device.filter(|asked| histories.iter().all(|history| history.device != *asked))
    else {
        return Ok(());
    };
    let known: Vec<String> = histories.iter().take(20).map(|history| history.device.to_string()).collect();
    let hint = format!("devices in this snapshot: {}", known.join(", "));
    Err(Problem::new(format!("there is no device {asked}"), hint))
}

/// The device that is asked about, or else the one that held most.
pub(super) fn chosen<'a>(ask: &Ask, histories: &'a [History]) -> Option<&'a History> {
    match ask.device {
        Some(asked) => histories.iter().find(|history| history.device == asked),
        None => largest(histories),
    }
}

/// The memory of that device. Of the one that held most, the run has it already.
pub(super) fn profile<'r>(
    ask: &Ask,
    run: &'r Run,
    snapshot: &Snapshot,
    histories: &[History],
) -> Option<Cow<'r, Profile>> {
    match ask.device.and_then(|_| chosen(ask, histories)) {
        Some(history) => Some(Cow::Owned(heap_profile::profile(snapshot, history, run.places()))),
        None => run.profile().map(Cow::Borrowed),
    }
}

pub(in super::super) fn name(device: i64) -> String {
    if device == Snapshot::HOST { "host (pinned)".to_owned() } else { format!("GPU {device}") }
}

fn devices_table(rows: &[DeviceRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Allocator"), |r| Cell::text(name(r.device)))
        .metric("allocated_bytes_now", KEEP, |r| size(r.allocated_bytes_now))
        .metric("allocated_bytes_peak", KEEP, |r| size(r.allocated_bytes_peak))
        .metric("reserved_bytes_now", 150, |r| size(r.reserved_bytes_now))
        .metric("reserved_bytes_peak", 120, |r| size(r.reserved_bytes_peak))
        .metric("free_bytes", 140, |r| size(r.free_bytes))
        .metric("largest_free_bytes", 130, |r| size(r.largest_free_bytes))
        .metric("pending_bytes", 90, |r| size(r.pending_bytes))
        .metric("segments_taken", 80, |r| Cell::count(r.segments_taken))
        .metric("segments_returned", 80, |r| Cell::count(r.segments_returned))
        .table()
        .title("Allocators", "bytes in use by the program, and what the allocator holds")
}

fn refusals_table(rows: &[RefusalRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Allocator"), |r| Cell::text(name(r.device)))
        .metric("asked_bytes", KEEP, |r| size(r.asked_bytes))
        .add(Column::number("In use").keep(), |r| size(r.allocated_bytes))
        .metric("reserved_bytes", 120, |r| size(r.reserved_bytes))
        .metric("free_bytes", 140, |r| size(r.free_bytes))
        .metric("largest_free_bytes", 130, |r| size(r.largest_free_bytes))
        .metric("device_free_bytes", 100, |r| size(r.device_free_bytes))
        .add(Column::text("Why").flexible(24, print::end_ellipsis).keep(), |r| Cell::text(reason(r)))
        .table()
        .title("Out of memory", "requests that could not be met")
}

fn reason(row: &RefusalRow) -> String {
    let bytes = |bytes: u64| units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    match row.why {
        Obstacle::Fragmentation => "fragmentation: set expandable_segments:True".to_owned(),
        Obstacle::SetApart => "set apart for another stream or pool".to_owned(),
        Obstacle::Shortage => {
            format!("shortage: {} too little", bytes(row.asked_bytes.saturating_sub(row.free_bytes)))
        }
    }
}
