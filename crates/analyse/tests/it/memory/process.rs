//! The memory of the process in recordings of our own.

use stepscope_analyse::memory::process::{ProcessPoint, processes};
use stepscope_formats::{OpenOptions, read_trace};
use stepscope_testkit::RunBuilder;

#[test]
fn looks_at_the_process_are_one_row_per_measure() {
    let looks =
        [("RSS", 100, 500i64), ("PSS", 100, 400), ("RSS", 300, 900), ("RSS", 200, 900), ("RSS", 400, 700)];
    let counter = |name: &str, key: &str, at: i64, value: i64| {
        format!(r#"{{"ph":"C","name":"{name}","pid":1,"tid":1,"ts":0.{at},"args":{{"{key}":{value}}}}}"#)
    };
    let mut events: Vec<String> = (looks.iter())
        .map(|(measure, at, bytes)| counter(&format!("process memory ({measure})"), "bytes", *at, *bytes))
        .collect();
    events.push(counter("CPU", "%", 400, 7));
    let text = format!(r#"{{"traceEvents":[{}]}}"#, events.join(","));
    let found = processes(&read_trace(text.as_bytes(), "looks", &OpenOptions::default()).unwrap());
    let rows: Vec<_> = found.iter().map(|row| (row.measure, row.process_peak_bytes)).collect();
    assert_eq!(rows, [("RSS", 900), ("PSS", 400)]);
    let rss = &found[0];
    // Times count from the first event.
    assert_eq!((rss.process_first_bytes, rss.process_last_bytes, rss.process_peak_at_ns), (500, 700, 100));
    assert_eq!(rss.points.len(), 4);
    assert_eq!(rss.points[1], ProcessPoint { at_ns: 100, process_bytes: 900 });
    assert_eq!(processes(&RunBuilder::new().finish()), []);
}
