//! Memory snapshots of every shape and pickle protocol; damaged and malicious ones.

use std::path::{Path, PathBuf};

use stepscope_formats::{OpenOptions, open, read};
use stepscope_model::{Action, Document, Snapshot};
use stepscope_testkit::damage;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory")
}

fn schema(name: &str) -> Snapshot {
    let path = folder().join("schemas").join(name);
    match open(&path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}")) {
        Document::Snapshot(snapshot) => snapshot,
        other => panic!("{name}: {:?}", other.kind()),
    }
}

fn actions(snapshot: &Snapshot, device: i64) -> Vec<Action> {
    snapshot.history.iter().filter(|entry| entry.device == device).map(|entry| entry.action).collect()
}

const BASE: u64 = 0x7F00_0000_0000;

#[test]
fn all_protocols_say_the_same() {
    let [first, others @ ..] = [2, 3, 4, 5].map(|protocol| schema(&format!("2.15.protocol{protocol}.pickle")));
    for other in others {
        assert_eq!(other.history, first.history);
        assert_eq!(other.segments, first.segments);
        assert_eq!(other.stacks.len(), first.stacks.len());
        assert_eq!(other.settings, first.settings);
    }
    assert_eq!(first.segments[0].blocks.len(), 2);
    assert_eq!(first.history.get(0).map(|entry| (entry.address, entry.bytes)), Some((BASE, 2 << 20)));
}

#[test]
fn every_version_of_pytorch_is_read_and_what_is_new_is_kept() {
    use Action::{Alloc, FreeCompleted, FreeRequested, SegmentAlloc};
    let usual = [SegmentAlloc, Alloc, Alloc, FreeRequested, FreeCompleted];
    let old = schema("2.1.protocol4.pickle");
    assert_eq!(actions(&old, 0), usual);
    assert!(old.history.iter().all(|entry| entry.at.is_none()));
    assert!(old.marks.is_empty() && old.settings.is_empty() && old.notes.is_empty());
    let timed = schema("2.5.protocol4.pickle");
    assert_eq!(actions(&timed, 0), usual);
    assert_eq!(timed.history.get(1).unwrap().at.map(|at| at.0), Some(1_700_000_000_000_000_000));
    assert_eq!(timed.marks.iter().map(|mark| mark.begins).collect::<Vec<_>>(), [true, false]);
    assert!(timed.settings.iter().any(|(name, value)| name == "max_split_size" && value == "-1"));
    // An action that is not known is kept and noted; pinned memory is a device of its own.
    let newest = schema("2.15.protocol4.pickle");
    assert_eq!(actions(&newest, 0), [&usual[..], &[Action::Other]].concat());
    assert_eq!(actions(&newest, Snapshot::HOST), usual);
    let notes: Vec<String> = newest.notes.iter().map(|note| format!("{note:?}")).collect();
    assert!(notes.iter().any(|note| note.contains("annotate")), "{notes:?}");
    // Frames come innermost first in the file.
    let stack = newest.history.get(1).unwrap().stack;
    let names: Vec<&str> =
        newest.stacks.unwind(stack).into_iter().map(|frame| newest.stacks.name(frame)).collect();
    assert_eq!(names, ["main", "step"]);
}

fn refused(bytes: &[u8]) -> String {
    match read(bytes, "evil.pickle", &OpenOptions::default()) {
        Err(error) => error.to_string(),
        Ok(other) => panic!("{:?} was read", other.kind()),
    }
}

#[test]
fn a_pickle_that_asks_for_code_is_refused_and_what_it_asks_for_is_named() {
    // {"segments": os.system("true")} in protocol 2, with GLOBAL and REDUCE.
    let global =
        b"\x80\x02}q\0X\x08\0\0\0segmentsq\x01cposix\nsystem\nq\x02X\x04\0\0\0trueq\x03\x85q\x04Rq\x05s.";
    // The same in protocol 4, with STACK_GLOBAL.
    let stacked =
        b"\x80\x04}\x94\x8c\x08segments\x94\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94s.";
    for bytes in [&global[..], &stacked[..]] {
        let error = refused(bytes);
        assert!(error.contains("posix.system"), "{error}");
    }
    // Behind data that is fine: still refused, not read in part.
    let whole = std::fs::read(folder().join("schemas/2.5.protocol4.pickle")).unwrap();
    let end = whole.len() - 1;
    let hidden =
        [&whole[..end], b"0\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R."].concat();
    assert!(refused(&hidden).contains("os.system"));
    // Other ways to get an object: INST, OBJ, extensions, persistent ids.
    for code in [&b"(ios\nsystem\n"[..], b"(o", b"\x82\x01", b"\x83\x01\0", b"Pos\n", b"Q"] {
        let bytes = [b"\x80\x02}X\x08\0\0\0segments", code, b"s."].concat();
        assert!(read(&bytes[..], "evil.pickle", &OpenOptions::default()).is_err(), "{code:?}");
    }
}

#[test]
fn cut_and_flipped_snapshots_are_read_in_part_or_refused() {
    let (mut in_part, mut whole) = (0, 0);
    for version in ["2.1.protocol4.pickle", "2.15.protocol2.pickle", "2.15.protocol5.pickle"] {
        let bytes = std::fs::read(folder().join("schemas").join(version)).unwrap();
        for end in damage::places(bytes.len(), 2) {
            if let Ok(Document::Snapshot(snapshot)) = read(&bytes[..end], "cut", &OpenOptions::default()) {
                assert!(!snapshot.notes.is_empty(), "{version} cut at {end} does not say so");
                in_part += 1;
            }
        }
        for at in damage::places(bytes.len(), 3) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            whole += usize::from(read(&flipped[..], "flipped", &OpenOptions::default()).is_ok());
        }
    }
    assert!(in_part > 250 && whole > 100, "{in_part} {whole}");
}

#[test]
fn a_recorded_snapshot_cut_anywhere_keeps_what_came_before() {
    let path = folder().join("graph_pool.pickle.gz");
    let Document::Snapshot(all) = open(&path, &OpenOptions::default()).unwrap() else { panic!() };
    let compressed = std::fs::read(&path).unwrap();
    let mut before = 0;
    for end in (100..compressed.len()).step_by(61) {
        if let Ok(Document::Snapshot(part)) = read(&compressed[..end], "cut", &OpenOptions::default()) {
            assert!(part.history.len() >= before && part.history.len() <= all.history.len());
            // The last one may have been cut itself.
            let sure = part.history.len().saturating_sub(1);
            assert!(part.history.iter().take(sure).eq(all.history.iter().take(sure)));
            before = part.history.len();
        }
    }
    assert!(before > 0);
}
