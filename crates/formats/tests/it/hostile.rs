//! Input made to hurt: nothing panics, hangs or grows without bound, and nothing is lost in silence.

use std::io::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use stepscope_formats::{OpenOptions, ReadError};
use stepscope_model::NoteKind;

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
    for cut in 0..text.len() {
        match try_read(&text[..cut]) {
            Ok(trace) => {
                assert_ledger_closes(&trace);
                let kept = trace.meta().events_in_file - trace.meta().events_set_aside;
                assert!(kept >= before && kept <= whole, "cut at {cut}: {kept} after {before}");
                before = kept;
                if cut <= closing {
                    assert!(note(&trace, NoteKind::MissingTail).is_some(), "cut at {cut} in silence");
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
    for cut in 0..packed.len() {
        if let Ok(trace) = try_read(&packed[..cut]) {
            assert_ledger_closes(&trace);
            assert!(note(&trace, NoteKind::DamagedCompression).is_some(), "cut at {cut} in silence");
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
    for _ in 0..4000 {
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
    // A flip costs the event it hits at most (a key turned unreadable), hardly ever a neighbour.
    assert!(lost_none > 2700, "only {lost_none} of 4000 flips lost nothing");
    assert!(lost_many < 40, "{lost_many} of 4000 flips lost more than one event");
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
    assert!(matches!(kind(b"\x89PNG\r\n\x1a\n0000"), ReadError::NotATrace { .. }));
    assert!(matches!(kind(b"hello"), ReadError::NotATrace { .. }));
    assert!(matches!(kind(&gzip(b"")), ReadError::Empty { .. }));
    assert!(matches!(kind(b"\x1f\x8b garbage"), ReadError::NotATrace { .. }));
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
    let trace = stepscope_formats::read(&gzip(&mini())[..], "test", &options).unwrap();
    assert!(note(&trace, NoteKind::LimitReached).is_some());
}

#[test]
fn an_event_beyond_the_limit_is_set_aside() {
    let long = format!(r#"{{"ph":"X","name":"{}","pid":1,"tid":1,"ts":5,"dur":1}}"#, "n".repeat(3 << 20));
    let small = |ts: u32| format!(r#"{{"ph":"X","name":"s","pid":1,"tid":1,"ts":{ts},"dur":1}}"#);
    let text = with_events(&format!("{},{long},{}", small(1), small(9)));
    let options = OpenOptions { max_event_bytes: 1 << 20, ..OpenOptions::default() };
    let trace = stepscope_formats::read(text.as_bytes(), "test", &options).unwrap();
    assert_eq!(trace.slices().len(), 2);
    assert_eq!(note(&trace, NoteKind::LimitReached).unwrap().count, 1);
    assert_ledger_closes(&trace);
    // Without the limit the same name is simply a long one.
    assert_eq!(read(text).slices().len(), 3);
}

#[test]
fn deep_nesting_and_many_lanes_cost_linear_time() {
    let begin = Instant::now();
    let deep = format!(
        r#"{{"ph":"X","name":"d","pid":1,"tid":1,"ts":5,"dur":1,"args":{{"a":{}1{}}}}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert_eq!(read(with_events(&deep)).slices().len(), 1);
    let open = format!(r#"{{"ph":"X","name":"d","args":{}"#, "[".repeat(2_000_000));
    assert_eq!(read(with_events(&open)).slices().len(), 0);
    let lanes: Vec<String> = (0..1_000_000)
        .map(|i| {
            format!(r#"{{"ph":"X","name":"a","pid":{},"tid":{i},"ts":{},"dur":-1}}"#, i % 7, 1_000_000 - i)
        })
        .collect();
    let trace = read(with_events(&lanes.join(",")));
    assert_eq!(trace.lanes().len(), 1_000_000);
    assert_eq!(note(&trace, NoteKind::NegativeDuration).unwrap().count, 1_000_000);
    assert!(begin.elapsed() < Duration::from_secs(60), "took {:?}", begin.elapsed());
}

#[test]
fn many_broken_events_cost_linear_time() {
    let begin = Instant::now();
    let broken = r#"{"ph":"X","name":"a,"pid":1,"tid":1,"ts":5,"dur":1,"args":{"x":[[[1,"y":"z"}},"#;
    let text = with_events(&broken.repeat(100_000));
    let trace = read(text);
    assert_ledger_closes(&trace);
    assert!(begin.elapsed() < Duration::from_secs(30), "took {:?}", begin.elapsed());
}

/// Each of these once cost the square of its size: minutes for a few megabytes.
#[test]
fn repeated_damage_costs_linear_time() {
    let begin = Instant::now();
    let times = 200_000;
    let open_lists =
        format!(r#"{{"ph":"X","name":"a"b","ts":1,"dur":1,"args":{{{}"z":1}}}}"#, r#""a":[[],"#.repeat(times));
    assert_eq!(read(with_events(&open_lists)).slices().len(), 1);
    let open_events = r#"{"ph":"X","ts":1,"args":[[[[ "#.repeat(times);
    assert_eq!(read(with_events(&open_events)).meta().events_set_aside, times as u64);
    let closed_over_and_over = r#"{"ph":"X","ts":1,"dur":1}] "#.repeat(times);
    assert_eq!(read(with_events(&closed_over_and_over)).slices().len(), times);
    let keys: String = (0..times).map(|i| format!("\"k{i}\": 1, ")).collect();
    assert_eq!(read(format!("{{{keys}\"traceEvents\": []}}")).meta().entries.len(), times);
    let arrows = r#"{"ph":"X","ts":1,"dur":1},{"ph":"s","cat":"fwdbwd","ts":1},"#.repeat(times);
    assert_eq!(read(with_events(&arrows)).flows().len(), times);
    assert!(begin.elapsed() < Duration::from_secs(30), "took {:?}", begin.elapsed());
}

#[test]
fn brackets_left_open_cost_linear_time() {
    let begin = Instant::now();
    let n = 20_000;
    let text = format!("{{\"traceEvents\":[{}{}x", r#"{"ph":"X","a":["#.repeat(n), "]".repeat(2 * n));
    let trace = read(text);
    assert_ledger_closes(&trace);
    let text = format!(r#"[{{"ph":"X","ts":1,"dur":1,"k":{}1{} x}}]"#, r#"[[],"k":"#.repeat(n), "]".repeat(n));
    let _ = try_read(text.as_bytes());
    assert!(begin.elapsed() < Duration::from_secs(20), "took {:?}", begin.elapsed());
}

#[test]
fn a_wrong_checksum_is_noted_in_small_files_too() {
    let mut packed = gzip(br#"{"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}"#);
    let crc = packed.len() - 8;
    packed[crc] ^= 0xff;
    let trace = read(packed);
    assert_eq!(trace.slices().len(), 1);
    assert!(note(&trace, NoteKind::DamagedCompression).is_some());
}
