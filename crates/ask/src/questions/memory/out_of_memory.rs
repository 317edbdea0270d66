//! Why a request for GPU memory was refused, what held the rest, and what would have helped.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::memory::history::{History, Obstacle};
use stepscope_analyse::memory::out_of_memory::{HolderRow, OutOfMemory, out_of_memory};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_ground::Problem;
use stepscope_model::Snapshot;

use super::QUESTION;
use super::of_snapshot::name;
use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::form::{Member, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, units, wrap};

pub(super) const DEFINITIONS: &[Definition] = definitions! {
    "missing_bytes", "Missing" =>
        "What was asked for, less what was free inside and what the device had left for the process; 0 if that would have \
         been enough in one piece.";
    "refusal", "Request" => "Which refused request this is about, counted from 1.";
    "held_share", "% in use" => "What a line held when the request was refused, divided by all bytes in use then.";
    "at_ns_refused", "At" => "When the request was refused, counted from the first entry of the history.";
};

/// Lines to name for each request.
const MAX_HOLDERS: usize = 5;
/// Requests to explain, the last ones: programs may catch the error and try again.
const MAX_REQUESTS: usize = 5;

/// One refused request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct OomRow {
    /// Which, counted from 1.
    refusal: u64,
    device: i64,
    at_ns_refused: Option<i64>,
    asked_bytes: u64,
    /// In use then.
    allocated_bytes: u64,
    /// Taken from the device then.
    reserved_bytes: u64,
    /// Reserved and free then.
    free_bytes: u64,
    /// In one piece.
    largest_free_bytes: u64,
    device_free_bytes: u64,
    missing_bytes: u64,
    why: Obstacle,
    /// Whether the device had room, so that a limit on the process refused.
    limited: bool,
    expandable_segments: bool,
    /// Whether segments that grow would have served it.
    expandable_segments_help: bool,
    function: String,
    file: String,
    line: u32,
    /// All of it, as a colleague would tell it.
    text: String,
}

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[rows::<OomRow>("out_of_memory"), rows::<HolderRow>("holders")];

pub(super) fn answer(
    ask: &Ask,
    run: &Arc<Run>,
    snapshot: &Snapshot,
    histories: &[History],
) -> Result<Answer, Problem> {
    ask.refuse(
        &["leaks", "lines", "at", "by", "sort", "filter", "step", "from", "to"],
        "--oom",
        "leave it out",
    )?;
    let all: Vec<(usize, OutOfMemory)> = histories
        .iter()
        .filter(|history| ask.device.is_none_or(|asked| asked == history.device))
        .flat_map(|history| out_of_memory(snapshot, history, run.places(), MAX_HOLDERS).into_iter().enumerate())
        .collect();
    let count = all.len();
    let shown = &all[count.saturating_sub(MAX_REQUESTS)..];
    let rows: Vec<OomRow> = shown.iter().map(|(number, oom)| row(*number, oom)).collect();
    let holders: Vec<HolderRow> = shown.iter().flat_map(|(_, oom)| oom.holders.clone()).collect();
    let words: Vec<String> = shown.iter().map(|(_, oom)| in_words(oom)).collect();
    let requests = Part::new("out_of_memory", rows, move |_| Table::default()).shown(false);
    let mut held = Part::new("holders", holders, holders_table);
    if count == 0 {
        held = held.shown(false);
    }
    let mut answer = Answer::new(vec![requests, held]).main("out_of_memory");
    let left_out = count.saturating_sub(MAX_REQUESTS);
    answer.above = Some(Box::new(move |out, screen| {
        let about = match count {
            0 => "no request was refused in this history".to_owned(),
            1 => "one request was refused".to_owned(),
            n => format!("{n} requests were refused"),
        };
        print::heading(out, screen, "Out of memory", &about)?;
        for text in &words {
            writeln!(out)?;
            for line in wrap(&screen.text(text), screen.width.clamp(20, 100)) {
                writeln!(out, "{line}")?;
            }
        }
        writeln!(out)?;
        if left_out > 0 {
            print::note(out, screen, &format!("{left_out} earlier ones are not shown"))?;
        }
        Ok(())
    }));
    Ok(answer)
}

fn row(number: usize, oom: &OutOfMemory) -> OomRow {
    let refusal = &oom.refusal;
    OomRow {
        refusal: number as u64 + 1,
        device: oom.device,
        at_ns_refused: oom.at.map(|at| at.0),
        asked_bytes: refusal.bytes,
        allocated_bytes: refusal.level.allocated,
        reserved_bytes: refusal.level.reserved,
        free_bytes: oom.free,
        largest_free_bytes: refusal.largest_gap,
        device_free_bytes: refusal.device_free,
        missing_bytes: oom.missing,
        why: oom.obstacle,
        limited: oom.limited,
        expandable_segments: oom.expandable,
        expandable_segments_help: oom.expandable_helps(),
        function: oom.line.function.clone(),
        file: oom.line.file.clone(),
        line: oom.line.line,
        text: in_words(oom),
    }
}

/// A refused request as a colleague would tell it.
fn in_words(oom: &OutOfMemory) -> String {
    let size = |bytes: u64| units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    let refusal = &oom.refusal;
    let request = match oom.line.line > 0 {
        true => format!("{} requested {}", oom.line.place(), size(refusal.bytes)),
        false => format!("{} was requested", size(refusal.bytes)),
    };
    let mut text = format!(
        "{}: {request}. The program held {}, the allocator {}; {} of that \
         was free, at most {} in one piece. ",
        name(oom.device),
        size(refusal.level.allocated),
        size(refusal.level.reserved),
        size(oom.free),
        size(refusal.largest_gap),
    );
    match (oom.obstacle, oom.expandable) {
        (Obstacle::SetApart, _) => text.push_str(
            "That piece was large enough, but set apart: a stream or a memory pool (a CUDA graph has one) keeps its free memory \
             to itself.",
        ),
        (Obstacle::Fragmentation, false) => text.push_str(
            "Enough memory was free, but fragmented. With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True this \
             request would probably have fit.",
        ),
        (Obstacle::Fragmentation, true) => {
            text.push_str("Enough memory was free, but fragmented, although segments can grow.");
        }
        (Obstacle::Shortage, _) => text.push_str(&format!(
            "{} was missing whatever the arrangement: a shortage, which other settings of the allocator do not cure.",
            size(oom.missing)
        )),
    }
    match oom.limited {
        true => text.push_str(&format!(
            " The device itself had {} left: a limit on this process refused \
             (torch.cuda.set_per_process_memory_fraction).",
            size(refusal.device_free)
        )),
        false => text.push_str(&format!(" The device had {} left.", size(refusal.device_free))),
    }
    text
}

fn holders_table(rows: &[HolderRow]) -> Table {
    let several = rows.iter().any(|r| (r.refusal, r.device) != (rows[0].refusal, rows[0].device));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add_if(several, Column::text("Request").priority(150), |r| {
            Cell::text(format!("{} on {}", r.refusal, name(r.device)))
        })
        .add(Column::name("Function"), |r| Cell::text(&r.function))
        .metric("held_bytes", KEEP, |r| Cell::bytes(i64::try_from(r.held_bytes).unwrap_or(i64::MAX)))
        .metric("held_share", 140, |r| Cell::share(r.held_share).role(Role::Device))
        .metric("held_count", 90, |r| Cell::count(r.held_count))
        .add(Column::text("Guess").priority(130), |r| Cell::text(r.category))
        .add(Column::text("Where").flexible(14, print::middle_ellipsis).keep(), |r| {
            Cell::text(if r.line == 0 { r.file.clone() } else { format!("{}:{}", r.file, r.line) })
        })
        .table()
        .title("What held most then", "the largest lines; what they are for is a guess from stacks")
}
