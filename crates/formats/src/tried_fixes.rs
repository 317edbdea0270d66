//! What `stepscope try` measured on the program of a trace: a small file beside it, `train-1.try.json` for `train-1.pt.trace.json.gz`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_model::{Document, TriedFix};

/// No results are this long.
const MAX_BYTES: u64 = 4 << 20;

/// The place of the results beside a trace.
pub fn tried_path(trace: &Path) -> PathBuf {
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = stem.strip_suffix(".json").unwrap_or(stem);
    trace.with_file_name(format!("{}.try.json", stem.strip_suffix(".pt.trace").unwrap_or(stem)))
}

/// Adds what was measured to a trace. A file that cannot be understood is none of ours.
pub(crate) fn attach(path: &Path, document: &mut Document) {
    let Document::Trace(trace) = document else { return };
    let Ok(file) = File::open(tried_path(path)) else { return };
    let mut text = Vec::new();
    if file.take(MAX_BYTES).read_to_end(&mut text).is_ok() {
        trace.set_tried(parse(&text));
    }
}

fn parse(text: &[u8]) -> Vec<TriedFix> {
    let Ok(record) = serde_json::from_slice::<Value>(text) else { return Vec::new() };
    let without_ns = record["baseline_ns"].as_f64().unwrap_or(0.0) as i64;
    let fixes = record["fixes"].as_array().map_or(&[][..], Vec::as_slice);
    let parse = |fix: &Value| {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (low, high) = (fix["saves_low"].as_f64(), fix["saves_high"].as_f64());
        fix["took"].as_bool().filter(|took| *took)?;
        Some(TriedFix {
            name: fix["name"].as_str()?.to_owned(),
            without_ns,
            with_ns: fix["iteration_ns"].as_f64()? as i64,
            saves_share: fix["saves"].as_f64()?,
            saves_interval: low.zip(high),
            verdict: word(&fix["verdict"]),
            numbers: word(&fix["numbers"]["kind"]),
        })
    };
    fixes.iter().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_lie_beside_their_trace() {
        let place = |trace: &str| tried_path(Path::new(trace)).display().to_string();
        assert_eq!(place("a/train-1.pt.trace.json.gz"), "a/train-1.try.json");
        assert_eq!(place("trace.json"), "trace.try.json");
        assert_eq!(place("vm.xplane.pb"), "vm.xplane.pb.try.json");
    }

    #[test]
    fn what_took_effect_is_read_and_nonsense_is_not() {
        let text = br#"{"baseline_ns": 40.5e6, "fixes": [
            {"name": "tf32", "took": true, "iteration_ns": 30e6, "saves": 0.25, "saves_low": 0.2, "saves_high": 0.3,
             "verdict": "faster", "numbers": {"kind": "within_noise", "share": 1e-4}},
            {"name": "compile", "took": false, "iteration_ns": 30e6, "saves": 0.25},
            {"name": 3, "took": true}, 7]}"#;
        let tf32 = TriedFix {
            name: "tf32".to_owned(),
            without_ns: 40_500_000,
            with_ns: 30_000_000,
            saves_share: 0.25,
            saves_interval: Some((0.2, 0.3)),
            verdict: "faster".to_owned(),
            numbers: "within_noise".to_owned(),
        };
        assert_eq!(parse(text), [tf32]);
        for wrong in ["", "[]", "{\"fixes\": 3}", "{"] {
            assert_eq!(parse(wrong.as_bytes()), []);
        }
    }
}
