use std::path::Path;

use super::*;
use crate::block::Block;
use crate::block::tests::example_block;
use crate::counters::counters;
use crate::period::Period;
use crate::segment;
use crate::stacks::stacks;

/// A type as an older version knew it, and as a newer one does.
#[derive(Debug, Default, PartialEq)]
struct Older {
    count: u64,
    names: Vec<String>,
}

#[derive(Debug, Default, PartialEq)]
struct Newer {
    count: u64,
    names: Vec<String>,
    device: Option<u32>,
    inner: BTreeMap<String, f64>,
    offset: i64,
}

message!(Older { 1: count, 2: names });

message!(Newer { 1: count, 2: names } since { 3: device, 4: inner, 5: offset });

fn newer() -> Newer {
    Newer {
        count: 7,
        names: vec!["a".to_owned(), String::new()],
        device: Some(0),
        inner: BTreeMap::from([("x".to_owned(), 0.5), ("zero".to_owned(), 0.0)]),
        offset: i64::MIN,
    }
}

#[test]
fn older_readers_skip_what_is_new_and_newer_ones_fill_in_what_is_missing() {
    let bytes = encode(&newer());
    assert_eq!(decode(&bytes), Some(newer()));
    let older = Older { count: 7, names: newer().names };
    assert_eq!(decode::<Older>(&bytes).as_ref(), Some(&older));
    let filled = Newer { count: 7, names: newer().names, ..Newer::default() };
    assert_eq!(decode(&encode(&older)), Some(filled));
    assert_eq!(encode(&Newer::default()), b"");
    // Schema 1 had neither numbers nor what came since.
    let in_order = decode_in_order::<Newer>(&[7, 2, 1, b'a', 0]);
    assert_eq!(in_order, Some(Newer { count: 7, names: newer().names, ..Newer::default() }));
    assert_eq!(decode_in_order::<Newer>(&[7, 0, 0]), None);
}

#[test]
fn a_block_with_fields_of_a_newer_version_is_read() {
    // Fields of every type, before, between and behind those that are known.
    let mut strange = Message::new();
    strange.number(900, u64::MAX);
    strange.double(901, 1.5);
    strange.bytes(902, "new");
    let known = example_block().encode();
    let both = [strange.as_slice(), known.as_slice(), strange.as_slice()].concat();
    assert_eq!(Block::decode(&both, segment::SCHEMA), Some(example_block()));
    // In a message inside: a route that knows more.
    let mut route = encode(&example_block().routes["/predict"]);
    route.extend_from_slice(&strange);
    let mut block = Message::new();
    block.signed(1, 5);
    block.nested(4, |entry| {
        entry.bytes(1, "/predict");
        entry.bytes(2, &route);
        entry.extend_from_slice(&strange);
    });
    let found = Block::decode(&block, segment::SCHEMA).unwrap();
    assert_eq!((found.minute, found.sequence), (5, 0));
    assert_eq!(found.routes, example_block().routes);
}

#[test]
fn wrong_values_are_refused_and_take_no_room() {
    let wrong: [&dyn Fn(&mut Message); 8] = [
        // A number for a text, a text for a number.
        &|out| out.number(2, 1),
        &|out| out.bytes(1, "x"),
        // No UTF-8.
        &|out| out.bytes(2, [0xff]),
        // Infinite.
        &|out| out.nested(4, |entry| entry.double(2, f64::INFINITY)),
        // More than 32 bits.
        &|out| out.number(3, 1 << 32),
        // Longer than the record; longer than any.
        &|out| out.extend_from_slice(&[0x12, 0x7f, 1]),
        &|out| out.extend_from_slice(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        // A type of field that does not exist.
        &|out| out.extend_from_slice(&[0x0f, 1]),
    ];
    for (at, add) in wrong.iter().enumerate() {
        let mut bytes = encode(&newer());
        add(&mut bytes);
        assert_eq!(decode::<Newer>(&bytes), None, "{at}");
    }
    // Schema 1: two thousand million names in three bytes, and a text as long as the address space.
    assert_eq!(decode_in_order::<Older>(&[7, 0xff, 0xff, 0xff, 0xff, 7, 1]), None);
    assert_eq!(decode_in_order::<Older>(&[7, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), None);
    // Histograms: one that skips a million buckets, and one with more buckets than bytes.
    for end in [[1, 0xc0, 0x84, 0x3d, 1].as_slice(), &[0xff, 0xff, 0x03, 0, 1]] {
        let histogram = [&[10, 0, 1, 1, 1, 0], end].concat();
        let mut block = Message::new();
        block.nested(4, |entry| entry.nested(2, |route| route.bytes(10, &histogram)));
        assert_eq!(Block::decode(&block, segment::SCHEMA), None);
    }
    // One that a newer version knows more about.
    let mut block = Message::new();
    block.nested(4, |entry| entry.nested(2, |route| route.bytes(10, [10, 0, 5, 5, 5, 8, 1, 0, 1, 99, 99])));
    assert_eq!(Block::decode(&block, segment::SCHEMA).unwrap().requests(), 1);
}

/// Files that the version before this one wrote: a block, an empty one and an open one; 90 s of three counters, of which
/// one has no value; three stacks.
#[test]
fn files_of_schema_1_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema-1");
    let hour = 29_914_620 / 60;
    let files = segment::list(&folder).unwrap();
    let read = |open| {
        let (_, path, _) = files.iter().find(|(name, ..)| name.open == open).unwrap();
        let found = segment::read(path).unwrap();
        assert_eq!(found.trouble, None);
        found.blocks
    };
    let example = || Block { minute: hour * 60, ..example_block() };
    let empty = Block { minute: hour * 60 + 1, sequence: 9, ..Block::default() };
    assert_eq!(read(false), [example(), empty]);
    let mut open = Block { minute: hour * 60 + 2, sequence: 10, ..example_block() };
    open.exemplars[0].block = 10;
    assert_eq!(read(true), [open]);

    let period = Period { from: hour * 60, until: hour * 60 + 60 };
    let found = counters(&folder, period).unwrap();
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let points = |name: &str| {
        let series = found.series.iter().find(|series| series.name == name).unwrap();
        series.points.iter().map(|point| (point.mean, point.min, point.max)).collect::<Vec<_>>()
    };
    assert_eq!(points("host.cpu_percent"), [(29.5, 0.0, 59.0), (74.5, 60.0, 89.0)]);
    assert_eq!(points("gpu.power_w"), [(29.0, 0.0, 58.0), (74.0, 60.0, 88.0)]);
    assert_eq!(found.series.len(), 2);

    let found = stacks(&folder, period).unwrap();
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let names = |stack: &crate::stacks::CountedStack| {
        stack
            .frames
            .iter()
            .map(|frame| format!("{}:{}:{}", frame.name, frame.file, frame.line))
            .collect::<Vec<_>>()
    };
    let found: Vec<_> =
        found.stacks.iter().map(|stack| (names(stack).join(";"), stack.samples, stack.ns)).collect();
    let stack = |frames: &[&str], samples| {
        let frames: Vec<String> = frames.iter().map(|name| format!("{name}:app.py:3")).collect();
        (frames.join(";"), samples, samples * 50_000_000)
    };
    assert_eq!(
        found,
        [stack(&["main", "step"], 3), stack(&["main", "step", "encode"], 2), stack(&["main", "idle"], 1)]
    );
}
