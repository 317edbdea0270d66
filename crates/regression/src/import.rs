//! Measurements in the files of other benchmark tools.

mod asv;
mod pytest_benchmark;

use serde_json::Value;
use stepscope_ground::Problem;

use crate::measurement::{How, Measurement};

/// Whether a file that begins so may be one of these, or a measurement of ours; a trace of gigabytes is not read to find out.
pub fn may_be(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&head[..head.len().min(400)]);
    let first = head.trim_start().strip_prefix('{').map(str::trim_start).unwrap_or_default();
    ["\"machine_info\"", "\"commit_info\"", "\"benchmarks\"", "\"commit_hash\"", "\"stepscope\""]
        .iter()
        .any(|key| first.starts_with(key))
}

/// Reads a file of pytest-benchmark or asv, by what is in it. `Ok(None)`: it is neither.
pub fn read(text: &[u8], place: &str) -> Result<Option<Measurement>, Problem> {
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return Ok(None) };
    let repeats = if pytest_benchmark::is(&value) {
        pytest_benchmark::repeats(&value)
    } else if asv::is(&value) {
        asv::repeats(&value)
    } else {
        return Ok(None);
    };
    if repeats.iter().all(|repeat| repeat.values.is_empty()) {
        return Err(Problem::new(
            format!("this file holds no benchmark that ran: {place}"),
            "run the benchmarks again and give the new file",
        ));
    }
    let mut measurement = Measurement::new(How::Imported);
    measurement.repeats = repeats;
    for repeat in &mut measurement.repeats {
        repeat.source = Some(place.to_owned());
    }
    Ok(Some(measurement))
}

#[cfg(test)]
mod tests;
