//! Any bytes as a memory snapshot: they may be refused, but what is read is replayed and looked at without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stepscope_analyse::findings::{Thresholds, findings};
use stepscope_analyse::memory::leaks::{Grouping, leaks};
use stepscope_analyse::memory::live_at::{By, Moment, live_at};
use stepscope_analyse::memory::out_of_memory::out_of_memory;
use stepscope_analyse::run::Run;
use stepscope_formats::{OpenOptions, read};
use stepscope_model::Document;

fuzz_target!(|bytes: &[u8]| {
    let limits = OpenOptions { max_text_bytes: 4 << 20, max_event_bytes: 1 << 20, ..OpenOptions::default() };
    let Ok(Document::Snapshot(snapshot)) = read(bytes, "fuzz", &limits) else { return };
    let run = Run::from_document(Document::Snapshot(snapshot));
    let Some((snapshot, histories)) = run.snapshot() else { return };
    for history in histories {
        assert!(history.levels.len() == history.times.len());
        leaks(snapshot, history, run.places(), Grouping::Stack, 1);
        out_of_memory(snapshot, history, run.places(), 5);
        let live = live_at(snapshot, history, run.places(), Moment::End, By::Category);
        let sum = live.iter().fold(0u64, |sum, row| sum.saturating_add(row.live_bytes_then));
        // Sums of hostile sizes stop at the largest number, in whatever order they are made.
        let last = history.levels.last().copied().unwrap_or(history.at_start);
        assert!(sum == last.allocated || sum > u64::MAX / 4 || last.allocated > u64::MAX / 4);
    }
    findings(&run, &Thresholds::default());
});
