//! Hits are those of a plain look at every name.

use proptest::prelude::*;
use stepscope_analyse::views::timeline::{INSTANT, Order, SearchQuery};
use stepscope_model::{Kind, PointKind};
use stepscope_testkit::{RunBuilder, Slice};

use crate::data::{all_fixtures, read};
use crate::views::timeline_any::{build, rows};
use crate::views::timeline_tools::timeline;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn finds_what_is_there(
        slices in rows(),
        text in prop::sample::select(vec!["", "aten", "ATEN::MM", "f", "/^f$/", "/gemm|Kernel/", "[", "."]),
        exact in any::<bool>(),
        by_duration in any::<bool>(),
        after in 0..300i64,
        limit in 0..20usize,
    ) {
        let trace = build(&slices);
        let timeline = timeline(&trace);
        let order = if by_duration { Order::Duration } else { Order::Start };
        let query = SearchQuery { text: text.to_owned(), exact, category: None, order, after, limit };
        let hits = timeline.search(&trace, &query).unwrap();
        let matches = |name: &str| match text {
            _ if exact => name == text,
            "/^f$/" => name == "f",
            "/gemm|Kernel/" => name.contains("gemm") || name.contains("Kernel"),
            text => name.to_lowercase().contains(&text.to_lowercase()),
        };
        // Start, length and number of everything that has a name like this.
        let slice = |id| (trace.slices().start(id), trace.slices().dur(id).0, trace.name(id), id.index() as u32);
        let mut want: Vec<_> = trace.slices().ids().map(slice).collect();
        let points = trace.points();
        for id in points.ids().filter(|&id| points.kind(id) == PointKind::Instant) {
            want.push((points.at(id), 0, trace.text(points.name(id)), INSTANT | id.index() as u32));
        }
        want.retain(|hit| matches(hit.2));
        prop_assert_eq!(hits.total, want.len() as u64);
        prop_assert_eq!(hits.total_ns, want.iter().map(|hit| hit.1).sum::<i64>());
        prop_assert_eq!(hits.density.iter().sum::<u64>(), want.len() as u64);
        prop_assert_eq!(hits.density.len(), 256);
        prop_assert_eq!(hits.names.iter().map(|n| n.count).sum::<u64>(), want.len() as u64);
        want.retain(|hit| hit.0.0 >= after);
        want.sort_by_key(|hit| if by_duration { (-hit.1, hit.0.0, hit.3) } else { (hit.0.0, 0, hit.3) });
        want.truncate(limit);
        prop_assert_eq!(hits.hits.iter().map(|h| h.id).collect::<Vec<_>>(), want.iter().map(|h| h.3).collect::<Vec<_>>());
        for (hit, want) in hits.hits.iter().zip(&want) {
            prop_assert_eq!((hit.name.as_str(), hit.start_ns, hit.dur_ns), (want.2, want.0.0, want.1));
        }
    }
}

#[test]
fn a_pattern_that_is_none_is_an_error_and_a_huge_one_too() {
    let trace = RunBuilder::new().finish();
    let timeline = timeline(&trace);
    let ask =
        |text: &str| timeline.search(&trace, &SearchQuery { text: text.to_owned(), ..SearchQuery::default() });
    assert!(ask("/(/").is_err());
    assert!(ask(r"/(\w{1000}){1000}/").is_err());
    for text in ["/", "//", "(", "", "/a/"] {
        assert_eq!(ask(text).unwrap().total, 0, "{text}");
    }
}

#[test]
fn categories_narrow_a_search() {
    let mut run = RunBuilder::in_nanoseconds();
    run.add(Slice::new(Kind::HostOp, "same", (0, 10)));
    run.add(Slice::new(Kind::PythonFunction, "same", (20, 30)));
    run.add(Slice::new(Kind::Runtime, "cudaDeviceSynchronize", (40, 50)));
    let trace = run.finish();
    let timeline = timeline(&trace);
    let count = |category: Option<u8>| {
        timeline.search(&trace, &SearchQuery { category, ..SearchQuery::default() }).unwrap().total
    };
    assert_eq!([None, Some(0), Some(1), Some(4), Some(5), Some(200)].map(count), [3, 1, 1, 1, 0, 0]);
}

#[test]
fn every_name_of_a_fixture_is_found_as_often_as_it_stands_there() {
    for path in all_fixtures().into_iter().step_by(11) {
        let trace = read(&path);
        let timeline = timeline(&trace);
        let mut counts = std::collections::BTreeMap::<&str, u64>::new();
        trace.slices().ids().for_each(|id| *counts.entry(trace.name(id)).or_default() += 1);
        let points = trace.points();
        for id in points.ids().filter(|&id| points.kind(id).is_moment()) {
            *counts.entry(trace.text(points.name(id))).or_default() += 1;
        }
        for (name, count) in counts.into_iter().step_by(9) {
            let query = SearchQuery { text: name.to_owned(), exact: true, limit: 1, ..SearchQuery::default() };
            let hits = timeline.search(&trace, &query).unwrap();
            assert_eq!((hits.total, hits.names.len(), hits.hits.len()), (count, 1, 1), "{name}");
        }
    }
}
