//! Memory in a window of time: worked examples, and parts that add up to the whole.

use stepscope_analyse::memory::{self, CurvePoint, Options, UNKNOWN_ORIGIN};
use stepscope_model::Ns;

use crate::data::{fixtures, read};
use crate::memory::curves::{assert_closes, only, worked};

fn within(from: i64, to: i64) -> Options {
    Options { window: Some((Ns(from), Ns(to))), events: true, ..Options::default() }
}

#[test]
fn a_window_starts_from_the_level_at_its_beginning() {
    // Marks at 30 (+50, 1350), 40 (-400, 950) and 70 (+10, 960); before them the level was 1300.
    let report = memory::analyze(&worked(), &within(25, 75));
    assert_closes(&report);
    let device = only(&report);
    assert_eq!((report.records, device.records), (6, 3));
    assert_eq!((device.opening_allocated_bytes, device.closing_allocated_bytes), (1300, 960));
    assert_eq!((device.peak_allocated_bytes, device.peak_at_ns), (1350, 30));
    assert_eq!((device.allocation_count, device.allocated_bytes), (2, 60));
    assert_eq!((device.free_count, device.freed_bytes), (1, 400));
    let live: Vec<_> = device.peak_by_operator.iter().map(|r| (r.operator.as_str(), r.bytes)).collect();
    assert_eq!(live, [("aten::empty", 400), ("aten::linear", 50), (UNKNOWN_ORIGIN, 900)]);
    let rows: Vec<_> =
        report.operators.iter().map(|r| (r.name.as_str(), r.allocated_bytes, r.freed_bytes)).collect();
    assert_eq!(rows, [("aten::linear", 50, 400), ("(no operator)", 10, 0)]);
    // What was allocated or released in it.
    let events: Vec<_> = report.events.iter().map(|e| (e.bytes, e.allocated_at_ns, e.released_at_ns)).collect();
    assert_eq!(events, [(400, Some(20), Some(40)), (50, Some(30), None), (10, Some(70), None)]);
    let curve: Vec<_> = device.curve.iter().map(|p| (p.at_ns, p.allocated_bytes)).collect();
    assert_eq!(curve, [(25, 1300), (30, 1350), (40, 950), (70, 960)]);
}

#[test]
fn the_beginning_can_be_the_peak() {
    let report = memory::analyze(&worked(), &within(35, 60));
    assert_closes(&report);
    let device = only(&report);
    assert_eq!((device.peak_allocated_bytes, device.peak_at_ns), (1350, 35));
    let live: Vec<_> = device.peak_by_operator.iter().map(|r| (r.operator.as_str(), r.bytes)).collect();
    assert_eq!(live, [("aten::empty", 400), ("aten::linear", 50), (UNKNOWN_ORIGIN, 900)]);
    assert_eq!((device.peak_reserved_bytes, device.peak_reserved_at_ns), (Some(1 << 20), Some(35)));
}

#[test]
fn a_window_without_marks_shows_what_was_there() {
    let report = memory::analyze(&worked(), &within(50, 60));
    assert_closes(&report);
    let device = only(&report);
    assert_eq!((device.records, device.allocation_count), (0, 0));
    assert_eq!((device.opening_allocated_bytes, device.closing_allocated_bytes), (950, 950));
    assert_eq!((device.peak_allocated_bytes, device.peak_at_ns), (950, 50));
    assert_eq!((device.peak_known_bytes, device.peak_unknown_bytes), (50, 900));
    assert_eq!(device.curve, [CurvePoint { at_ns: 50, allocated_bytes: 950, reserved_bytes: Some(1 << 20) }]);
    assert!(report.operators.is_empty() && report.events.is_empty());
    // Before the first mark the level is what that mark found.
    let report = memory::analyze(&worked(), &within(0, 1));
    assert_closes(&report);
    assert_eq!((only(&report).peak_allocated_bytes, only(&report).peak_at_ns), (1000, 0));
    // Both ends: the mark at 40 is out, the one at 30 in.
    assert_eq!(only(&memory::analyze(&worked(), &within(30, 40))).records, 1);
    assert!(memory::analyze(&worked(), &within(9, 9)).devices.is_empty());
}

#[test]
fn windows_add_up_to_the_whole() {
    let mut compared = 0;
    for path in fixtures() {
        let trace = read(&path);
        let Some((start, end)) = trace.extent() else { continue };
        let whole = memory::analyze(&trace, &Options::default());
        let middle = (start.0 + end.0) / 2;
        let halves = [(i64::MIN, middle), (middle, i64::MAX)]
            .map(|(from, to)| memory::analyze(&trace, &Options { events: false, ..within(from, to) }));
        halves.iter().for_each(assert_closes);
        for device in &whole.devices {
            let half = |i: usize| halves[i].devices.iter().find(|d| d.device == device.device).unwrap();
            let (first, second) = (half(0), half(1));
            assert_eq!(first.records + second.records, device.records);
            assert_eq!(first.allocated_bytes + second.allocated_bytes, device.allocated_bytes);
            assert_eq!(first.freed_bytes + second.freed_bytes, device.freed_bytes);
            assert_eq!(first.opening_allocated_bytes, device.opening_allocated_bytes);
            assert_eq!(first.closing_allocated_bytes, second.opening_allocated_bytes);
            assert_eq!(second.closing_allocated_bytes, device.closing_allocated_bytes);
            let higher = first.peak_allocated_bytes.max(second.peak_allocated_bytes);
            assert_eq!(higher, device.peak_allocated_bytes);
            compared += 1;
        }
        for row in &whole.operators {
            let of = |i: usize| {
                halves[i].operators.iter().filter(|r| (&r.name, &r.device) == (&row.name, &row.device))
            };
            let sum: i64 = of(0).chain(of(1)).map(|r| r.self_allocated_bytes).sum();
            assert_eq!(sum, row.self_allocated_bytes, "{}", row.name);
        }
    }
    assert!(compared >= 8, "{compared}");
}
