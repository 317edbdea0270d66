//! Input made to hurt: nothing panics, hangs or grows without bound, and nothing is lost in silence.

use std::io::Write;

use proptest::prelude::*;
use stepscope_formats::{OpenOptions, ReadError, kineto_notes as notes};
use stepscope_testkit::damage;

use crate::{assert_ledger_closes, mini, note, read, try_read, with_events};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn cut_at_every_byte() {
    let text = mini();
    let whole = read(&text).meta().events_in_file;
    let events_at = String::from_utf8_lossy(&text).find("\"traceEvents\": [").unwrap() + 16;
    let closing = text.iter().rposition(|&b| b == b'}').unwrap();
    let mut before = 0;
    for cut in damage::places(text.len(), 3).chain([text.len() - 1]) {
        match try_read(&text[..cut]) {
            Ok(trace) => {
                assert_ledger_closes(&trace);
                let kept = trace.meta().events_in_file - trace.meta().events_set_aside;
                assert!(kept >= before && kept <= whole, "cut at {cut}: {kept} after {before}");
                before = kept;
                if cut <= closing {
                    assert!(note(&trace, notes::MISSING_TAIL).is_some(), "cut at {cut} in silence");
                }
            }
            Err(error) => assert!(cut < events_at, "cut at {cut}: {error}"),
        }
    }
    assert_eq!(before, whole);
}

#[test]
fn gzip_cut_at_every_byte() {
    let packed = gzip(&mini());
    for cut in damage::places(packed.len(), 2) {
        if let Ok(trace) = try_read(&packed[..cut]) {
            assert_ledger_closes(&trace);
            assert!(note(&trace, notes::DAMAGED_COMPRESSION).is_some(), "cut at {cut} in silence");
        }
    }
}

#[test]
fn byte_flips() {
    let text = mini();
    let packed = gzip(&text);
    // A fixed walk over positions and values: the same on every run.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let whole = read(&text).meta().events_in_file;
    let (mut lost_none, mut lost_many) = (0, 0);
    let flips = if damage::is_nightly() { 4000 } else { 1600 };
    for _ in 0..flips {
        let mut copy = text.clone();
        let at = next() % copy.len();
        copy[at] ^= 1 << (next() % 8);
        if let Ok(trace) = try_read(&copy) {
            assert_ledger_closes(&trace);
            let lost = whole - (trace.meta().events_in_file - trace.meta().events_set_aside).min(whole);
            lost_none += u32::from(lost == 0);
            lost_many += u32::from(lost > 1);
        }
        let mut copy = packed.clone();
        let at = next() % copy.len();
        copy[at] ^= 1 << (next() % 8);
        if let Ok(trace) = try_read(&copy) {
            assert_ledger_closes(&trace);
        }
    }
    // A flip costs the event it hits at most (a key turned unreadable), hardly ever a neighbor.
    assert!(lost_none > flips * 27 / 40, "only {lost_none} of {flips} flips lost nothing");
    assert!(lost_many < flips / 100, "{lost_many} of {flips} flips lost more than one event");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_at_all(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = try_read(&bytes);
        let inside = [b"{\"traceEvents\": [".as_slice(), &bytes].concat();
        if let Ok(trace) = try_read(&inside) {
            assert_ledger_closes(&trace);
        }
    }

    #[test]
    fn json_tokens_in_any_order(tokens in proptest::collection::vec(
        prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"", "\"ph\"", "\"X\"", "\"name\"", "\"ts\"", "1", "-", "1.5",
            "\\", "\n", "null", "NaN", "\"args\"", "\"dur\"", "{\"ph\":\"X\",\"ts\":1,\"dur\":2}", "\"traceEvents\"", "e9"]), 0..60)) {
        let text = format!("{{\"traceEvents\": [{}", tokens.concat());
        if let Ok(trace) = try_read(text.as_bytes()) {
            assert_ledger_closes(&trace);
        }
    }
}

#[test]
fn things_that_are_no_traces() {
    let kind = |bytes: &[u8]| try_read(bytes).unwrap_err();
    assert!(matches!(kind(b""), ReadError::Empty { .. }));
    assert!(matches!(kind(b"  \n "), ReadError::Empty { .. }));
    assert!(matches!(kind(b"\x89PNG\r\n\x1a\n0000"), ReadError::Unknown { .. }));
    assert!(matches!(kind(b"hello"), ReadError::Unknown { .. }));
    assert!(matches!(kind(b"hello;world 5"), ReadError::NotATrace { .. }));
    assert!(matches!(kind(&gzip(b"")), ReadError::Empty { .. }));
    assert!(matches!(kind(b"\x1f\x8b garbage"), ReadError::Damaged { .. }));
    let missing = stepscope_formats::open("no/such/file".as_ref(), &OpenOptions::default());
    assert!(matches!(missing, Err(ReadError::NotFound { .. })));
}

#[test]
fn bombs_stop_at_the_limits() {
    let blanks = vec![b' '; 80 << 20];
    let bomb = gzip(&gzip(&blanks));
    let error = try_read(&bomb).unwrap_err();
    assert!(matches!(error, ReadError::Limit { .. }), "{error}");
    let nested = gzip(&gzip(&gzip(&mini())));
    assert!(matches!(try_read(&nested), Err(ReadError::Limit { .. })));
    let options = OpenOptions { max_text_bytes: 1000, ..OpenOptions::default() };
    let trace = stepscope_formats::read_trace(&gzip(&mini())[..], "test", &options).unwrap();
    assert!(note(&trace, notes::LIMIT_REACHED).is_some());
}

#[test]
fn an_event_beyond_the_limit_is_set_aside() {
    let long = format!(r#"{{"ph":"X","name":"{}","pid":1,"tid":1,"ts":5,"dur":1}}"#, "n".repeat(3 << 20));
    let small = |ts: u32| format!(r#"{{"ph":"X","name":"s","pid":1,"tid":1,"ts":{ts},"dur":1}}"#);
    let text = with_events(&format!("{},{long},{}", small(1), small(9)));
    let options = OpenOptions { max_event_bytes: 1 << 20, ..OpenOptions::default() };
    let trace = stepscope_formats::read_trace(text.as_bytes(), "test", &options).unwrap();
    assert_eq!(trace.slices().len(), 2);
    assert_eq!(note(&trace, notes::LIMIT_REACHED).unwrap().count, 1);
    assert_ledger_closes(&trace);
    // Without the limit the same name is simply a long one.
    assert_eq!(read(text).slices().len(), 3);
}

#[test]
fn many_lanes_and_deep_nesting_are_read() {
    let deep = format!(
        r#"{{"ph":"X","name":"d","pid":1,"tid":1,"ts":5,"dur":1,"args":{{"a":{}1{}}}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    assert_eq!(read(with_events(&deep)).slices().len(), 1);
    let open = format!(r#"{{"ph":"X","name":"d","args":{}"#, "[".repeat(200_000));
    assert_eq!(read(with_events(&open)).slices().len(), 0);
    let lanes = |n: usize| {
        let event = |i| format!(r#"{{"ph":"X","name":"a","pid":{},"tid":{i},"ts":{},"dur":-1}}"#, i % 7, n - i);
        (0..n).map(event).collect::<Vec<_>>().join(",")
    };
    let trace = read(with_events(&lanes(20_000)));
    assert_eq!(trace.lanes().len(), 20_000);
    assert_eq!(note(&trace, notes::NEGATIVE_DURATION).unwrap().count, 20_000);
}

#[test]
fn repeated_damage_is_read_and_counted() {
    repeated_damage(2_000);
}

/// Each of these once cost the square of its size: minutes for a few megabytes.
#[test]
#[ignore = "large: the growth tests ask the same of smaller files"]
fn repeated_damage_of_megabytes_is_read_and_counted() {
    repeated_damage(200_000);
}

fn repeated_damage(times: usize) {
    let open_lists =
        format!(r#"{{"ph":"X","name":"a"b","ts":1,"dur":1,"args":{{{}"z":1}}}}"#, r#""a":[[],"#.repeat(times));
    assert_eq!(read(with_events(&open_lists)).slices().len(), 1);
    let open_events = r#"{"ph":"X","ts":1,"args":[[[[ "#.repeat(times);
    assert_eq!(read(with_events(&open_events)).meta().events_set_aside, times as u64);
    let closed_over_and_over = r#"{"ph":"X","ts":1,"dur":1}] "#.repeat(times);
    assert_eq!(read(with_events(&closed_over_and_over)).slices().len(), times);
    let arrows = r#"{"ph":"X","ts":1,"dur":1},{"ph":"s","cat":"fwdbwd","ts":1},"#.repeat(times);
    assert_eq!(read(with_events(&arrows)).flows().len(), times);
    let broken = r#"{"ph":"X","name":"a,"pid":1,"tid":1,"ts":5,"dur":1,"args":{"x":[[[1,"y":"z"}},"#;
    assert_ledger_closes(&read(with_events(&broken.repeat(times))));
    let text = format!("{{\"traceEvents\":[{}{}x", r#"{"ph":"X","a":["#.repeat(times), "]".repeat(2 * times));
    assert_ledger_closes(&read(text));
}

#[test]
fn entries_beyond_the_limits_are_left_out_and_counted() {
    let keys = |n: usize| (0..n).map(|i| format!("\"k{i}\": {i}, ")).collect::<String>();
    let file = |keys: &str| format!("{{{keys}\"k1\": \"last\", \"traceEvents\": [], \"end\": 1}}");
    let whole = read(file(&keys(50)));
    assert_eq!(whole.meta().extra.len(), 51);
    assert_eq!(whole.meta().extra("k1"), Some("\"last\""));
    assert_eq!(note(&whole, notes::DUPLICATE_KEY).unwrap().count, 1);
    assert!(note(&whole, notes::LIMIT_REACHED).is_none());

    let few = OpenOptions { max_entries: 10, ..OpenOptions::default() };
    let trace = stepscope_formats::read_trace(file(&keys(50)).as_bytes(), "test", &few).unwrap();
    assert_eq!(trace.meta().extra.len(), 10);
    assert_eq!(trace.meta().extra("k1"), Some("\"last\""), "the last value counts, also when the rest is full");
    assert_eq!(note(&trace, notes::LIMIT_REACHED).unwrap().count, 41);

    let short = OpenOptions { max_entry_bytes: 100, ..OpenOptions::default() };
    let trace = stepscope_formats::read_trace(file(&keys(50)).as_bytes(), "test", &short).unwrap();
    let bytes: usize = trace.meta().extra.iter().map(|(key, text)| key.len() + text.len()).sum();
    assert!(bytes <= 100 && bytes > 80, "{bytes}");
    assert!(note(&trace, notes::LIMIT_REACHED).unwrap().count > 20);
}

#[test]
fn known_values_too_long_to_be_taken_apart_are_counted() {
    let list =
        |n: usize| format!("{{\"deviceProperties\": [{}{{}}], \"traceEvents\": []}}", "{},".repeat(n - 1));
    assert_eq!(read(list(3)).meta().devices.len(), 3);
    let trace = read(list(5_000));
    assert_eq!(trace.meta().devices.len(), 4096);
    assert_eq!(note(&trace, notes::LIMIT_REACHED).unwrap().count, 1);
    let trace = read(list(2 << 20));
    assert_eq!(trace.meta().devices.len(), 0);
    assert_eq!(note(&trace, notes::LIMIT_REACHED).unwrap().count, 1);
    assert!(trace.meta().extra("deviceProperties").is_some());
}

#[test]
fn reading_stops_at_the_most_events() {
    let text = with_events(&[r#"{"ph":"X","ts":1,"dur":1}"#; 20].join(","));
    let options = OpenOptions { max_events: 15, ..OpenOptions::default() };
    let trace = stepscope_formats::read_trace(text.as_bytes(), "test", &options).unwrap();
    assert_eq!(trace.slices().len(), 15);
    assert_ledger_closes(&trace);
    let noted = note(&trace, notes::LIMIT_REACHED).unwrap();
    assert_eq!((noted.count, noted.detail.as_str()), (1, "more than 15 events"));
    assert!(note(&trace, notes::MISSING_TAIL).is_none(), "nobody looked for the end");
    let enough = OpenOptions { max_events: 20, ..OpenOptions::default() };
    assert!(stepscope_formats::read_trace(text.as_bytes(), "test", &enough).unwrap().notes().is_empty());
}

#[test]
fn one_event_over_and_over_is_stopped_by_how_well_it_packs() {
    let text = with_events(&vec![r#"{"ph":"B","ts":1}"#; 1_500_000].join(","));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert!(text.len() / packed.len() > 250, "{}", text.len() / packed.len());
    let trace = read(packed);
    let noted = note(&trace, notes::LIMIT_REACHED).unwrap();
    assert!(noted.detail.contains("unpacks to more than 200"), "{}", noted.detail);
    assert!(trace.slices().len() < 1_400_000, "{}", trace.slices().len());
    // The same text, unpacked, is read to its end.
    assert_eq!(read(text).slices().len(), 1_500_000);
}

#[test]
fn begins_and_ends_nest_whatever_their_order_in_the_file() {
    let event = |ph: &str, name: &str, tid: u32, ts: u32| {
        format!(r#"{{"ph":"{ph}","name":"{name}","pid":1,"tid":{tid},"ts":{ts}}}"#)
    };
    let events = [
        event("B", "outer", 1, 10),
        event("B", "other", 2, 11),
        event("B", "inner", 1, 10),
        event("E", "", 1, 20),
        event("B", "second", 1, 25),
        event("E", "", 1, 24),
        event("E", "", 1, 20),
        event("E", "", 1, 30),
        event("X", "late", 2, 40),
    ];
    let trace = read(with_events(&events.join(",")));
    let slices = trace.slices();
    let rows: Vec<_> =
        slices.ids().map(|id| (trace.name(id), slices.start(id).0 / 1000, slices.dur(id).0 / 1000)).collect();
    let want = [("outer", 0, 10), ("inner", 0, 10), ("second", 15, 0), ("other", 1, 29), ("late", 30, 0)];
    assert_eq!(rows, want);
    assert_eq!(trace.meta().joined_pairs, 3);
    for kind in [notes::UNMATCHED_BEGIN, notes::UNMATCHED_END, notes::NEGATIVE_DURATION] {
        assert_eq!(note(&trace, kind).unwrap().count, 1, "{kind:?}");
    }
    assert_ledger_closes(&trace);
}

#[test]
fn a_wrong_checksum_is_noted_in_small_files_too() {
    let mut packed = gzip(br#"{"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}"#);
    let crc = packed.len() - 8;
    packed[crc] ^= 0xff;
    let trace = read(packed);
    assert_eq!(trace.slices().len(), 1);
    assert!(note(&trace, notes::DAMAGED_COMPRESSION).is_some());
}
