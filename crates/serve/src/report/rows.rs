//! The slices of a report, row by row, and their details.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use stepscope_analyse::views::timeline::{Details, INSTANT, RowItem};
use stepscope_ground::Problem;
use stepscope_model::SliceId;

use super::pack::{Section, pack, pack_bytes};
use super::redact::{redact, redact_text};
use crate::cached_run::CachedRun;

/// Slices in one section of details, as the page expects them.
const SECTION_SLICES: u32 = 4_096;
/// Most slices whose details are worth writing down.
const MAX_DETAILS: usize = 20_000;
/// How many times coarser the next try is.
const LEVELS_PER_TRY: u32 = 2;

/// The slices and their names within `room`, as exactly as fits, and the level of their buckets; 0 is exact.
pub(super) fn slices(run: &CachedRun, room: usize, redacted: bool) -> Result<(Vec<Section>, u32), Problem> {
    let rows = run.timeline().layout(run.trace()).rows.len() as u32;
    let mut level = 0;
    loop {
        let mut bytes = Vec::new();
        let mut names = BTreeSet::new();
        for row in 0..rows {
            let items = run.timeline().row_items(run.trace(), row, level);
            names.extend(items.iter().map(|item| item.name));
            write_row(row, &items, &mut bytes);
        }
        let name = |&id: &u32| {
            let text = run.timeline().name(run.trace(), id);
            (id, if redacted { redact_text(text) } else { text.to_owned() })
        };
        let names: Vec<(u32, String)> = names.iter().map(name).collect();
        let sections = vec![pack_bytes("rows", &bytes)?, pack("names", &names)?];
        let size: usize = sections.iter().map(|section| section.bytes.len()).sum();
        if size <= room || level > 50 {
            return Ok((sections, level));
        }
        // Buckets shorter than the shortest slices change nothing.
        level = (level + LEVELS_PER_TRY).max(8);
    }
}

/// Row, length, then columns; everything starts at a multiple of 8.
fn write_row(row: u32, items: &[RowItem], out: &mut Vec<u8>) {
    out.extend(row.to_le_bytes());
    out.extend((items.len() as u32).to_le_bytes());
    items.iter().for_each(|item| out.extend((item.start as f64).to_le_bytes()));
    items.iter().for_each(|item| out.extend((item.end as f64).to_le_bytes()));
    items.iter().for_each(|item| out.extend(item.id.to_le_bytes()));
    items.iter().for_each(|item| out.extend(item.name.to_le_bytes()));
    items.iter().for_each(|item| out.extend(item.count.to_le_bytes()));
    out.extend(items.iter().map(|item| item.busy));
    out.extend(items.iter().map(|item| item.category));
    out.resize(out.len().next_multiple_of(8), 0);
}

/// The details of the longest slices that fit, and of how many there are none.
pub(super) fn details(run: &CachedRun, room: usize, redacted: bool) -> Result<(Vec<Section>, usize), Problem> {
    let slices = run.trace().slices();
    let mut ids: Vec<SliceId> = slices.ids().collect();
    let moments = run.trace().points().len() + run.trace().allocations().len();
    let all = ids.len() + moments;
    ids.sort_by_key(|&id| (Reverse(slices.dur(id)), id));
    ids.truncate(MAX_DETAILS);
    let instants = moments.min(MAX_DETAILS - ids.len());
    let moments = (0..instants as u32).map(|at| INSTANT | at);
    let wanted = ids.iter().map(|id| id.index() as u32).chain(moments);
    let text = |id: u32| {
        let details = run.timeline().details(run.trace(), id);
        Ok((id, details.map(|details| text_of(&details, redacted)).transpose()?))
    };
    let mut written = wanted.map(text).collect::<Result<Vec<_>, Problem>>()?;
    loop {
        let sections = detail_sections(&written)?;
        let size: usize = sections.iter().map(|section| section.bytes.len()).sum();
        if size <= room || written.is_empty() {
            return Ok((sections, all - written.len()));
        }
        written.truncate(written.len() / 2);
    }
}

/// Objects of details by slice or instant, where it has any, in sections of neighbors.
fn detail_sections(written: &[(u32, Option<Box<RawValue>>)]) -> Result<Vec<Section>, Problem> {
    let mut by_section: BTreeMap<String, BTreeMap<u32, &RawValue>> = BTreeMap::new();
    for (id, details) in written {
        let Some(details) = details else { continue };
        let kind = if id & INSTANT == 0 { "details" } else { "instants" };
        let section = format!("{kind}/{}", (id & !INSTANT) / SECTION_SLICES);
        by_section.entry(section).or_default().insert(*id, details);
    }
    by_section.iter().map(|(name, details)| pack(name, details)).collect()
}

fn text_of(details: &Details, redacted: bool) -> Result<Box<RawValue>, Problem> {
    let text = match redacted {
        false => serde_json::value::to_raw_value(details),
        true => serde_json::to_value(details).and_then(|mut value| {
            redact(&mut value);
            serde_json::value::to_raw_value(&value)
        }),
    };
    text.map_err(|e| Problem::new(format!("a slice cannot be written: {e}"), ""))
}
