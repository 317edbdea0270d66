//! The reader on any bytes: it may refuse them, but what it accepts must add up and survive an export.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use stepscope_formats::{OpenOptions, read, read_trace, write_chrome, write_speedscope};
use stepscope_model::{Document, Profile, Trace};

fuzz_target!(|bytes: &[u8]| {
    // Small limits, so that the fuzzer reaches them with small inputs.
    let limits = OpenOptions { max_text_bytes: 4 << 20, max_event_bytes: 1 << 20, ..OpenOptions::default() };
    match read(bytes, "fuzz", &limits) {
        Ok(Document::Trace(trace)) => {
            ledger_closes(&trace);
            arguments_are_readable(&trace);
            export_reads_back(&trace);
        }
        Ok(Document::Profile(profile)) => profile_reads_back(&profile),
        Ok(Document::Snapshot(_)) | Err(_) => {}
    }
});

/// What was read of a profile is worth the same after it was written and read again.
fn profile_reads_back(profile: &Profile) {
    let mut text = Vec::new();
    write_speedscope(profile, &mut text).expect("writing to memory does not fail");
    let again = read(&text[..], "export", &OpenOptions::default()).expect("the export can be read");
    let Document::Profile(again) = again else { panic!("the export is a profile") };
    for (value, kind) in profile.values().iter().enumerate() {
        let same = again.values().iter().position(|other| other.unit == kind.unit).expect("the value is there");
        assert_eq!(profile.total(value), again.total(same), "the total of {}", kind.name);
    }
}

/// Every event of the file is somewhere: kept, joined or set aside.
fn ledger_closes(trace: &Trace) {
    let meta = trace.meta();
    let [slices, points, flows] = kept(trace);
    let found = (slices + points + flows) as u64 + meta.joined_pairs + meta.events_set_aside;
    assert_eq!(meta.events_in_file, found, "events in the file and events accounted for");
}

fn arguments_are_readable(trace: &Trace) {
    let slices = trace.slices().ids().map(|id| trace.args(id));
    let points = trace.points().ids().map(|id| trace.point_args(id));
    for args in slices.chain(points) {
        assert_eq!(args.iter().count(), args.len());
    }
}

/// The export is JSON, and holds everything that was kept.
fn export_reads_back(trace: &Trace) {
    let mut text = Vec::new();
    write_chrome(trace, &mut text).expect("writing to memory does not fail");
    // Not a `Value`: that one also refuses valid JSON, by its depth and by the size of its numbers.
    serde_json::from_slice::<&RawValue>(&text).expect("the export is valid JSON");
    // Escapes make an export longer than its source, so the limits above do not hold for it.
    let again = read_trace(&text[..], "export", &OpenOptions::default()).expect("the export is a trace");
    assert_eq!(kept(trace), kept(&again), "slices, points and flows before and after the export");
    assert_eq!(again.meta().events_set_aside, 0, "events of the export set aside");
}

fn kept(trace: &Trace) -> [usize; 3] {
    [trace.slices().len(), trace.points().len(), trace.flows().len()]
}
