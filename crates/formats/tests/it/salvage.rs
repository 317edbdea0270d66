//! What broken writers leave behind, one kind of damage at a time.

use stepscope_formats::kineto_notes as notes;
use stepscope_model::{Ns, Value};

use crate::{assert_ledger_closes, names, note, read, try_read, with_events};

fn slice(name: &str, ts: u32) -> String {
    format!(
        "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{name}\", \"pid\": 1, \"tid\": 1, \"ts\": {ts}.500, \"dur\": 2, \"args\": {{\"External id\": {ts}}}}}"
    )
}

fn three(middle: &str) -> String {
    with_events(&format!("\n  {},\n  {middle},\n  {}\n", slice("first", 10), slice("last", 90)))
}

#[test]
fn backslashes_that_escape_nothing() {
    let trace = read(three(&slice(r"C:\Users\x.py", 50)));
    assert_eq!(names(&trace), ["first", r"C:\Users\x.py", "last"]);
    assert_eq!(note(&trace, notes::BAD_ESCAPE).unwrap().count, 1);
}

#[test]
fn a_backslash_before_the_closing_quote() {
    let trace = read(three(&slice(r"C:\Temp\", 50)));
    assert_eq!(trace.slices().len(), 3);
    assert_eq!(names(&trace)[1], r"C:\Temp\");
    assert_ledger_closes(&trace);
}

#[test]
fn quotes_nobody_escaped() {
    let trace = read(three(&slice(r#"fn<"sm90", int>("x")"#, 50)));
    assert_eq!(names(&trace), ["first", r#"fn<"sm90", int>("x")"#, "last"]);
    let noted = note(&trace, notes::UNESCAPED_QUOTE).unwrap();
    assert_eq!(noted.count, 1);
    assert!(noted.offsets[0] > 100);
    assert_eq!(trace.meta().events_set_aside, 0);
}

#[test]
fn raw_control_bytes() {
    let trace = read(three(&slice("tab\u{1}\u{1b}[31m", 50)));
    assert_eq!(names(&trace)[1], "tab\u{1}\u{1b}[31m");
    assert_eq!(note(&trace, notes::CONTROL_BYTE).unwrap().count, 1);
}

#[test]
fn bytes_that_are_not_utf8() {
    let mut text = three(&slice("bad@name", 50)).into_bytes();
    let at = text.iter().position(|&b| b == b'@').unwrap();
    text[at] = 0xff;
    let trace = read(text);
    assert_eq!(names(&trace)[1], "bad\u{fffd}name");
    assert_eq!(note(&trace, notes::INVALID_UTF8).unwrap().count, 1);
}

#[test]
fn bare_words_and_missing_values() {
    let event = r#"{"ph":"X","name":"m","pid":1,"tid":1,"ts":50,"dur":1,"args":{"a": N/A, "b": NaN, "c": -Infinity, "Process Group Description": , "d": 12}}"#;
    let trace = read(three(event));
    let id = trace.slices().ids().nth(1).unwrap();
    assert_eq!(trace.args(id).get("a"), Some(Value::Str("N/A")));
    assert_eq!(trace.args(id).get("c"), Some(Value::Str("-Infinity")));
    assert_eq!(trace.args(id).get("Process Group Description"), Some(Value::Null));
    assert_eq!(trace.args(id).get("d"), Some(Value::Int(12)));
    assert_eq!(note(&trace, notes::BARE_WORD).unwrap().count, 4);
}

#[test]
fn commas_missing_and_doubled() {
    let text = with_events(&format!("{} {},,{}", slice("a", 1), slice("b", 20), slice("c", 40)));
    let trace = read(text);
    assert_eq!(names(&trace), ["a", "b", "c"]);
    assert_eq!(note(&trace, notes::COMMA).unwrap().count, 2);
    let inside = r#"{"ph":"X" "name":"m","pid":1,,"tid":1,"ts":50,"dur":1,}"#;
    let trace = read(three(inside));
    assert_eq!(names(&trace), ["first", "m", "last"]);
    assert_ledger_closes(&trace);
}

#[test]
fn an_event_beyond_repair_is_set_aside_and_located() {
    let text = three("{\"ph\": \"X\", \"name\" \"pid\" \"tid\" @@@@ 17 }");
    let trace = read(&text);
    assert_eq!(names(&trace), ["first", "last"]);
    assert_eq!(trace.meta().events_set_aside, 1);
    let noted = note(&trace, notes::BROKEN_EVENT).unwrap();
    assert_eq!(noted.offsets, [text.find("{\"ph\": \"X\", \"name\" \"pid\"").unwrap() as u64]);
    assert_ledger_closes(&trace);
}

#[test]
fn garbage_between_events() {
    let trace = read(three("@@ garbage {not: json} @@"));
    assert_eq!(names(&trace), ["first", "last"]);
    assert_eq!(note(&trace, notes::GARBAGE).unwrap().count, 1);
    assert!(trace.meta().skipped_bytes >= 25, "{}", trace.meta().skipped_bytes);
}

#[test]
fn the_tail_is_missing() {
    let text = three(&slice("middle", 50));
    let cut = text.find("\"last\"").unwrap();
    let trace = read(&text[..cut]);
    assert_eq!(names(&trace), ["first", "middle"]);
    assert_eq!(note(&trace, notes::TRUNCATED_EVENT).unwrap().count, 1);
    assert_eq!(note(&trace, notes::MISSING_TAIL).unwrap().count, 1);
    assert_eq!(trace.meta().events_set_aside, 1);
    assert_ledger_closes(&trace);
}

#[test]
fn broken_metadata_before_the_events() {
    let text = format!("{{\"deviceProperties\": [{{\"id\" 0}}}}, @@ \"traceEvents\": [{}]}}", slice("a", 1));
    assert_eq!(names(&read(text)), ["a"]);
}

#[test]
fn times_that_cannot_be() {
    let event =
        |ts: &str, dur: &str| format!(r#"{{"ph":"X","name":"t{ts}","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#);
    let trace = read(with_events(&format!(
        "{},{},{},{},{},{}",
        event("1", "-5"),
        event("1e300", "1"),
        event("9223372036854775", "9223372036854775"),
        r#"{"ph":"X","name":"words","pid":1,"tid":1,"ts":"abc","dur":1}"#,
        event("-7.25", "1"),
        r#"{"ph":"X","name":"nodur","pid":1,"tid":1,"ts":3}"#
    )));
    assert_eq!(names(&trace), ["t-7.25", "t1", "nodur"]);
    assert_eq!(trace.origin(), Ns(-7250));
    assert_eq!(note(&trace, notes::NEGATIVE_DURATION).unwrap().count, 1);
    assert_eq!(note(&trace, notes::TIME_OUT_OF_RANGE).unwrap().count, 2);
    assert_eq!(note(&trace, notes::NO_TIME).unwrap().count, 1);
    assert_eq!(note(&trace, notes::MISSING_DURATION).unwrap().count, 1);
    assert_ledger_closes(&trace);
}

#[test]
fn the_very_first_event_ends_out_of_range() {
    for dur in ["1e300", "9223372036854775.807"] {
        let trace = read(with_events(&format!(r#"{{"ph":"X","name":"a","ts":1,"dur":{dur}}}"#)));
        assert_eq!(trace.meta().events_set_aside, 1);
        assert_ledger_closes(&trace);
    }
}

#[test]
fn duplicate_keys_count_the_last() {
    let trace = read(with_events(r#"{"ph":"X","name":"a","name":"b","pid":1,"tid":1,"ts":1,"dur":1}"#));
    assert_eq!(names(&trace), ["b"]);
    assert_eq!(note(&trace, notes::DUPLICATE_KEY).unwrap().count, 1);
}

#[test]
fn json_without_events_is_refused_with_a_hint() {
    for text in ["{}", "{\"a\": 1}", "{\"traceEvents\": null}", "[[1, 2], [3]]", "[1, 2]"] {
        let error = try_read(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("no trace events"), "{text}: {error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn a_list_without_events_is_an_empty_trace() {
    for text in ["[]", "{\"traceEvents\": []}"] {
        assert_eq!(read(text).meta().events_in_file, 0);
    }
}

#[test]
fn a_broken_event_does_not_take_its_neighbors_along() {
    let good: Vec<String> = (0..100).map(|i| slice("good", 100 + i)).collect();
    for broken in [
        r#"{"ph":"X","name":"w","pid":1,"tid":1,"ts":1,"dur":1,"args":{"path":"C:\dir\","kw":[{"id":3}]}}"#,
        r#"{"ph":"X","name":"a"b","pid":1,"tid":1,"ts":1,"dur":1,"args":{"kw":[{"name":"inner"}]}}"#,
        r#"{"ph":"X","name" "w" "pid" @@ ,"args":{"kw":[{"name":"inner"},{"id":1}]}}"#,
    ] {
        let trace = read(with_events(&format!("{broken},\n{}", good.join(",\n"))));
        assert!(names(&trace).iter().filter(|n| **n == "good").count() == 100, "{broken}");
        assert!(trace.meta().events_set_aside <= 1, "{broken}");
        assert_eq!(trace.meta().events_in_file, 101, "{broken}");
        assert_ledger_closes(&trace);
    }
}

#[test]
fn a_phase_far_behind_its_brace_still_begins_an_event() {
    let late = format!(
        r#"{{"name":"late","args":{{"a":"{}"}},"ph":"X","pid":1,"tid":1,"ts":5,"dur":1}}"#,
        "x".repeat(12_000)
    );
    let text = with_events(&format!(r#"{{"ph":"X","name" @@ "w"}}, {late}, {}"#, slice("last", 90)));
    assert_eq!(names(&read(text)), ["late", "last"]);
}

#[test]
fn documents_one_after_the_other_are_all_read() {
    let text = format!("{}\n{}", with_events(&slice("one", 1)), with_events(&slice("two", 20)));
    let trace = read(text);
    assert_eq!(names(&trace), ["one", "two"]);
    assert_eq!(note(&trace, notes::GARBAGE).unwrap().count, 1);
    assert_eq!(note(&trace, notes::MISSING_TAIL), None);
}

#[test]
fn a_bracket_at_the_end_of_a_window_does_not_end_the_events() {
    let mut text = format!("[{}, ", slice("one", 1)).into_bytes();
    text.resize((512 << 10) - 1, b'@');
    text.push(b']');
    text.extend_from_slice(format!(", {}]", slice("two", 20)).as_bytes());
    assert_eq!(names(&read(text)), ["one", "two"]);
}

#[test]
fn odd_texts_are_noted_however_often_they_are_tried() {
    let mut text = three(&slice("a@\"b", 50)).into_bytes();
    let at = text.iter().position(|&b| b == b'@').unwrap();
    text[at] = 0xff;
    let trace = read(text);
    assert_eq!(names(&trace)[1], "a\u{fffd}\"b");
    assert_eq!(note(&trace, notes::INVALID_UTF8).unwrap().count, 1);
    let escaped = read(three(&slice("a\\n\u{1}", 50)));
    assert_eq!(note(&escaped, notes::CONTROL_BYTE).unwrap().count, 1);
}

#[test]
fn brackets_too_many_are_noted() {
    let trace =
        read(three(r#"{"ph":"X","name":"m","pid":1,"tid":1,"ts":50,"dur":1,"args":{"dims":[1,2]],"b":3}}"#));
    assert_eq!(names(&trace), ["first", "m", "last"]);
    assert_eq!(note(&trace, notes::BRACKET).unwrap().count, 1);
}
