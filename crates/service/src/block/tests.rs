use super::*;
use crate::sketch::Sketch;

pub(crate) fn example_block() -> Block {
    let mut latency = Sketch::default();
    [0, 1, 17, 1_000_000, 2_000_000, 1 << 50].iter().for_each(|v| latency.record(*v));
    let region = RegionStats { duration: latency.clone(), self_ns: 12 };
    let stats = RouteStats {
        errors: 2,
        regions: BTreeMap::from([("inference".to_owned(), region)]),
        targets: BTreeMap::from([("p95<100ms".to_owned(), TargetCount { requests: 6, missed: 1 })]),
        samples: 99,
        gpu_ns: 77,
        gpu_requests: 3,
        latency,
        ..RouteStats::default()
    };
    let span =
        |parent, name: &str| KeptSpan { name: name.to_owned(), parent, start_ns: 1, duration_ns: u64::MAX };
    let exemplar = Exemplar {
        route: "/predict".to_owned(),
        id: "ü1".to_owned(),
        ended_ns: -5,
        latency_ns: 7,
        failed: true,
        samples: 3,
        process: 42,
        spans: vec![span(None, "a"), span(Some(0), "b")],
        stack: vec!["main (app.py:1)".to_owned(), "load (disk.py:22)".to_owned()],
        profile: Some("one.pt.trace.json.gz".to_owned()),
        slow: true,
        key: u64::MAX,
        block: 8,
    };
    let gauges = Gauges { watched_ns: 60, cpu_ns: 5, max_rss_bytes: 1 << 33, lost_requests: 1, clock_jumps: 2 };
    let routes = BTreeMap::from([("/predict".to_owned(), stats)]);
    Block { minute: 29_000_000, sequence: 8, gauges, routes, exemplars: vec![exemplar] }
}

fn decode(bytes: &[u8]) -> Option<Block> {
    Block::decode(bytes, crate::segment::SCHEMA)
}

#[test]
fn a_block_comes_back_as_it_was() {
    let block = example_block();
    assert_eq!(decode(&block.encode()), Some(block));
    assert_eq!(decode(&Block::default().encode()), Some(Block::default()));
}

#[test]
fn damaged_bytes_are_no_block_and_no_panic() {
    let bytes = example_block().encode();
    // Cut between two fields it is another block: length and checksum of its record are what notices.
    let whole = (0..bytes.len()).filter(|end| decode(&bytes[..*end]).is_some());
    assert!(whole.count() <= 6);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut other = bytes.clone();
            other[at] ^= 1 << bit;
            let _ = decode(&other);
            let _ = Block::decode(&other, 1);
        }
    }
    assert_eq!(decode(&[0xff; 64]), None);
    // A region inside itself.
    let mut circle = example_block();
    circle.exemplars[0].spans[1].parent = Some(1);
    assert_eq!(decode(&circle.encode()), None);
}
