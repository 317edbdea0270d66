//! Any bytes as an XPlane profile: they may be refused, but what is read adds up and is looked at without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stepscope_analyse::peers::xprof::{hlo, kernels, memory, not_seen, ops, steps};
use stepscope_formats::{OpenOptions, read};
use stepscope_model::Document;

fuzz_target!(|bytes: &[u8]| {
    // Small limits, so that the fuzzer reaches them with small inputs.
    let limits = OpenOptions { max_text_bytes: 4 << 20, max_held_bytes: 1 << 20, ..OpenOptions::default() };
    // A plane's beginning, so that what follows is taken for a profile.
    let mut text = b"\x0a\x0b\x12\x09/host:CPU".to_vec();
    text.extend_from_slice(bytes);
    for text in [bytes, &text[..]] {
        let Ok(Document::Trace(trace)) = read(text, "fuzz.xplane.pb", &limits) else { continue };
        let meta = trace.meta();
        let kept = trace.slices().len() + trace.points().len() + trace.flows().len();
        let found = kept as u64 + meta.joined_pairs + meta.events_set_aside;
        assert_eq!(meta.events_in_file, found, "events in the file and events accounted for");
        for id in trace.slices().ids() {
            assert_eq!(trace.args(id).iter().count(), trace.args(id).len());
        }
        let found = steps::steps(&trace);
        for row in &found.rows {
            assert!(row.time_ns > 0 && row.all_others_ns >= 0, "{row:?}");
        }
        not_seen::not_seen(&trace, &found);
        ops::ops(&trace);
        hlo::hlo(&trace);
        kernels::kernels(&trace);
        memory::memory(&trace);
    }
});
