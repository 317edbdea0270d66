//! Counters and allocations have columns of their own, and are written back as they were.

use stepscope_model::{PointKind, Unit};

use crate::{assert_ledger_closes, read, with_events};

#[test]
fn counters_become_series() {
    let events = r#"{"ph":"C","name":"GPU 0","pid":1,"ts":5,"args":{"W":70.50,"°C":41}},
        {"ph":"C","name":"GPU 0","pid":1,"ts":6,"args":{"W":71,"°C":-4e1}},
        {"ph":"C","name":"queue","pid":2,"tid":3,"ts":7,"cat":"mine","args":{"length":-3}},
        {"ph":"C","name":"GPU 0","pid":1,"ts":8,"args":{"W":9}},
        {"ph":"C","name":"nothing","pid":1,"ts":9,"args":{}}"#;
    let trace = read(with_events(events));
    assert_ledger_closes(&trace);
    let counters = trace.counters();
    let series: Vec<_> =
        counters.series().iter().map(|s| (trace.text(s.name), trace.text(s.part), s.unit)).collect();
    assert_eq!(
        series,
        [("GPU 0", "W", Some(Unit::Watts)), ("GPU 0", "°C", Some(Unit::Celsius)), ("queue", "length", None)]
    );
    let rows: Vec<_> = counters
        .rows()
        .map(|r| (r.at.0, r.series.index(), r.value.mantissa, r.value.scale, r.joined))
        .collect();
    assert_eq!(
        rows,
        [(0, 0, 7050, 2, false), (0, 1, 41, 0, true), (2000, 2, -3, 0, false), (3000, 0, 9, 0, false)]
    );
    // A number in a form that would not come back, and no number at all.
    let kinds: Vec<_> = trace.points().ids().map(|id| trace.points().kind(id)).collect();
    assert_eq!((counters.events(), kinds), (3, vec![PointKind::Counter, PointKind::Counter]));
    let mut out = Vec::new();
    stepscope_formats::write_chrome(&trace, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for line in [
        r#"{"ph": "C", "name": "GPU 0", "pid": 1, "ts": 5.000, "args": {"W": 70.50, "°C": 41}}"#,
        r#"{"ph": "C", "name": "GPU 0", "pid": 1, "ts": 6.000, "args": {"W": 71, "°C": -4e1}}"#,
        r#"{"ph": "C", "cat": "mine", "name": "queue", "pid": 2, "tid": 3, "ts": 7.000, "args": {"length": -3}}"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn allocations_are_told_from_other_moments() {
    let events = r#"{"ph":"i","name":"[memory]","cat":"cpu_instant_event","s":"t","pid":1,"tid":2,"ts":5,
            "args":{"Total Reserved":900,"Bytes":-512,"Device Type":1,"Device Id":0,"Addr":77,"Total Allocated":640}},
        {"ph":"i","name":"[memory]","pid":1,"tid":2,"ts":6,"args":{}},
        {"ph":"C","name":"[memory]","pid":1,"tid":2,"ts":7,"args":{"Bytes":3}},
        {"ph":"i","name":"other","pid":1,"tid":2,"ts":8}"#;
    let trace = read(with_events(events));
    assert_ledger_closes(&trace);
    let found: Vec<_> = trace.allocations().ids().map(|id| trace.allocation(id)).collect();
    assert_eq!((found.len(), trace.points().len(), trace.counters().len()), (2, 1, 1));
    assert_eq!((found[0].bytes, found[0].address, found[0].allocated), (Some(-512), Some(77), Some(640)));
    assert_eq!((found[0].device_kind, found[0].device, found[0].reserved), (Some(1), Some(0), Some(900)));
    assert_eq!((found[1].at.0, found[1].bytes), (1000, None));
    let mut out = Vec::new();
    stepscope_formats::write_chrome(&trace, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let line = r#"{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 2, "ts": 5.000, "s": "t", "args": {"Total Reserved": 900, "Bytes": -512, "Device Type": 1, "Device Id": 0, "Addr": 77, "Total Allocated": 640}}"#;
    assert!(text.contains(line), "{text}");
}
