//! Files that are no traces but can be read: profiles, by content and not by name.

use std::io::Write;

use stepscope_formats::{OpenOptions, READERS, ReadError, read, read_trace, write_speedscope};
use stepscope_model::{Document, Profile, ValueUnit};
use stepscope_testkit::damage;

fn profile(text: &str) -> Profile {
    match read(text.as_bytes(), "test", &OpenOptions::default()) {
        Ok(Document::Profile(profile)) => profile,
        other => panic!("{other:?}"),
    }
}

/// Every sample as `part: stack = amounts`.
fn rows(profile: &Profile) -> Vec<String> {
    let stack = |id| {
        let names = profile.stacks.unwind(id).into_iter().map(|frame| profile.stacks.name(frame).to_owned());
        names.collect::<Vec<_>>().join(";")
    };
    profile.samples().iter().map(|s| format!("{}: {} = {:?}", s.part, stack(s.stack), s.amounts)).collect()
}

fn notes(profile: &Profile) -> Vec<(&str, u64)> {
    profile.notes.iter().map(|note| (note.kind.code(), note.count)).collect()
}

#[test]
fn folded_stacks_are_a_profile() {
    let text = "main;load;read 12\nmain;load 3\n\nmain;step with spaces (a.py:3) 7\r\nmain;load;read 1\n";
    let found = profile(text);
    let want = ["0: main;load;read = [12]", "0: main;load = [3]", "0: main;step with spaces = [7]"];
    assert_eq!(rows(&found)[..3], want);
    assert_eq!((found.samples().len(), found.total(0), found.stacks.frames().len()), (4, 23, 4));
    assert_eq!(found.values()[0].unit, ValueUnit::Plain);
    assert_eq!((found.source.format.as_str(), found.source.text_bytes), ("folded stacks", text.len() as u64));
    assert!(found.notes.is_empty());
}

#[test]
fn folded_lines_that_are_none_are_counted() {
    let good = "a;b 1\n".repeat(1000);
    let text = format!("{good}no weight\n;; 2\nc 0.5\nd 99999999999999999999\n 7\n");
    let found = profile(&text);
    assert_eq!(rows(&found)[1000..], ["0: ;; = [2]", "0: c = [1]"]);
    assert_eq!(notes(&found), [("bad-line", 2), ("large-weight", 1), ("rounded-weight", 1)]);
    assert_eq!(found.notes.iter().next().unwrap().offsets, [6000, 6044]);
}

#[test]
fn folded_stacks_come_packed_and_cut_too() {
    let text = "main;load;read 12\nmain;load 3\n".repeat(5000);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let packed = gz.finish().unwrap();
    let open = |bytes: &[u8]| match read(bytes, "test", &OpenOptions::default()).unwrap() {
        Document::Profile(profile) => profile,
        other => panic!("{other:?}"),
    };
    let whole = open(&packed);
    assert_eq!((whole.samples().len(), whole.source.format.as_str()), (10_000, "folded stacks, gzip"));
    let cut = open(&packed[..packed.len() / 2]);
    let kept = cut.samples().len();
    assert!(kept > 1000 && kept < 10_000, "{kept}");
    assert!(notes(&cut).contains(&("damaged-compression", 1)));
    // One line after the other, whatever the boundaries of the pieces they come in.
    let few = OpenOptions { max_events: 100, ..OpenOptions::default() };
    let Document::Profile(limited) = read(text.as_bytes(), "test", &few).unwrap() else { panic!() };
    assert_eq!((limited.samples().len(), notes(&limited)), (100, vec![("limit-reached", 1)]));
}

const SAMPLED: &str = r#"{
  "$schema": "https://www.speedscope.app/file-format-schema.json",
  "profiles": [
    {"type": "sampled", "name": "thread 1", "unit": "seconds", "startValue": 0, "endValue": 0.03,
     "samples": [[0, 1], [0], [0, 1, 2], []], "weights": [0.01, 0.0100000004, 1e-2, 0]},
    {"type": "sampled", "name": "heap", "unit": "bytes", "startValue": 0, "endValue": 64,
     "samples": [[0, 2]], "weights": [64]}
  ],
  "shared": {"frames": [{"name": "main", "file": "a.py", "line": 3}, {"name": "load \"x\""}, {"name": "read", "col": 1}]},
  "name": "a run", "exporter": "a test", "activeProfileIndex": 0
}"#;

#[test]
fn sampled_profiles_keep_their_parts_and_units() {
    let found = profile(SAMPLED);
    let want = [
        "0: main;load \"x\" = [10000000, 0]",
        "0: main = [10000000, 0]",
        "0: main;load \"x\";read = [10000000, 0]",
        "0:  = [0, 0]",
        "1: main;read = [0, 64]",
    ];
    assert_eq!(rows(&found), want);
    assert_eq!(found.parts, ["thread 1", "heap"]);
    assert_eq!(
        found.values().iter().map(|v| v.unit).collect::<Vec<_>>(),
        [ValueUnit::Nanoseconds, ValueUnit::Bytes]
    );
    assert_eq!((found.name.as_str(), found.source.format.as_str()), ("a run", "speedscope JSON"));
    let (_, main) = found.stacks.frames().next().unwrap();
    assert_eq!((found.stacks.text(main.file), main.line), ("a.py", 3));
    assert_eq!(notes(&found), [("rounded", 1)]);
}

#[test]
fn evented_profiles_give_each_stack_its_own_time() {
    // main from 10 to 30, load within it from 12 to 20, read within that from 15 to 20.
    let text = r#"{"shared": {"frames": [{"name": "main"}, {"name": "load"}, {"name": "read"}]}, "profiles": [
      {"type": "evented", "name": "t", "unit": "microseconds", "startValue": 0, "endValue": 40, "events": [
        {"type": "O", "frame": 0, "at": 10}, {"type": "O", "frame": 1, "at": 12}, {"type": "O", "frame": 2, "at": 15},
        {"type": "C", "frame": 2, "at": 20}, {"type": "C", "frame": 1, "at": 20}, {"type": "C", "frame": 0, "at": 30}]}]}"#;
    let found = profile(text);
    let want = ["0: main = [2000]", "0: main;load = [3000]", "0: main;load;read = [5000]", "0: main = [10000]"];
    assert_eq!(rows(&found), want);
    assert_eq!((found.total(0), found.notes.is_empty()), (20_000, true));
    let at: Vec<_> = found.samples().iter().filter_map(|sample| sample.at).map(|at| at.0).collect();
    assert_eq!(at, [10_000, 12_000, 15_000, 20_000]);
}

#[test]
fn what_does_not_fit_together_is_repaired_and_counted() {
    let text = r#"{"shared": {"frames": [{"name": "a"}, {"name": "b"}]}, "profiles": [
      {"type": "evented", "unit": "none", "endValue": 50, "events": [
        {"type": "O", "frame": 0, "at": 10}, {"type": "O", "frame": 1, "at": 20}, {"type": "O", "frame": 7, "at": 30},
        {"type": "C", "frame": 9, "at": 31}, {"type": "C", "frame": 1, "at": 32}, {"type": "C", "frame": 1, "at": 25},
        {"type": "O", "frame": 1, "at": "x"}]},
      {"type": "sampled", "unit": "none", "samples": [[0], [1], [0, 5]], "weights": [1, 1e40]},
      {"type": "sampled", "unit": "none", "samples": [[1]]},
      {"type": "other"}]}"#;
    let found = profile(text);
    let want = [
        "0: a = [10]",
        "0: a;b = [10]",
        "0: a;b = [1]",
        "0: a;b = [1]",
        "0: a = [18]",
        "1: a = [1]",
        "2: b = [1]",
    ];
    assert_eq!(rows(&found), want);
    let want = [
        ("no-partner", 1),
        ("bad-number", 2),
        ("unknown-type", 1),
        ("unknown-frame", 2),
        ("bad-close", 3),
        ("left-open", 1),
        ("backwards", 1),
    ];
    assert_eq!(notes(&found), want);
}

#[test]
fn a_profile_written_reads_back_the_same() {
    let mut text = Vec::new();
    let first = profile(SAMPLED);
    write_speedscope(&first, &mut text).unwrap();
    let Document::Profile(again) = read(&text[..], "test", &OpenOptions::default()).unwrap() else { panic!() };
    // Each part was written once per value; the amounts of the others are 0.
    for value in [0, 1] {
        assert_eq!(first.total(value), again.total(value));
    }
    let kept = |profile: &Profile| {
        let mut rows: Vec<String> = rows(profile).into_iter().filter(|row| !row.ends_with("[0, 0]")).collect();
        rows.iter_mut().for_each(|row| *row = row.split_once(": ").unwrap().1.to_owned());
        rows
    };
    assert_eq!(kept(&first), kept(&again));
    let frames = |profile: &Profile| {
        let text = |id| profile.stacks.text(id).to_owned();
        profile.stacks.frames().map(|(_, f)| (text(f.name), text(f.file), f.line)).collect::<Vec<_>>()
    };
    assert_eq!(frames(&first), frames(&again));
}

#[test]
fn every_depth_of_a_stack_is_not_written_out() {
    // Each of 3,000 nested calls has a moment of its own: written out, that is 4.5 million frames.
    let events: String = (0..3000).map(|at| format!(r#"{{"type":"O","frame":0,"at":{at}}},"#)).collect();
    let text = format!(
        r#"{{"shared": {{"frames": [{{"name": "f"}}]}}, "profiles": [{{"type": "evented", "unit": "none", "endValue": 3000,
        "events": [{events}{{"type":"C","frame":0,"at":3000}}]}}]}}"#
    );
    let first = profile(&text);
    let mut written = Vec::new();
    write_speedscope(&first, &mut written).unwrap();
    let Document::Profile(again) = read(&written[..], "test", &OpenOptions::default()).unwrap() else {
        panic!()
    };
    assert_eq!((again.total(0), again.samples().len()), (first.total(0), first.samples().len()));
    let deepest =
        |profile: &Profile| profile.samples().iter().map(|s| profile.stacks.unwind(s.stack).len()).max();
    assert_eq!((deepest(&first), deepest(&again)), (Some(3000), Some(1024)));
}

#[test]
fn a_damaged_profile_is_refused_with_a_sentence() {
    for cut in [100, 200, SAMPLED.len() - 2] {
        let error = read(&SAMPLED.as_bytes()[..cut], "p.json", &OpenOptions::default()).unwrap_err();
        assert!(matches!(error, ReadError::Damaged { .. }), "{error}");
        assert!(error.to_string().starts_with("this speedscope profile is damaged (EOF"), "{error}");
    }
    let small = OpenOptions { max_whole_bytes: 100, ..OpenOptions::default() };
    assert!(matches!(read(SAMPLED.as_bytes(), "p.json", &small), Err(ReadError::Limit { .. })));
}

#[test]
fn whoever_needs_a_trace_is_told_what_the_file_is() {
    let options = OpenOptions::default();
    let error = read_trace(SAMPLED.as_bytes(), "p.json", &options).unwrap_err();
    assert_eq!(error.to_string(), "this is a profile (speedscope JSON), not a trace: p.json");
    assert!(error.hint().contains("timeline"), "{}", error.hint());
    let error = read_trace("a;b 5\n".as_bytes(), "p.txt", &options).unwrap_err();
    assert_eq!(error.to_string(), "this is a profile (folded stacks), not a trace: p.txt");
    let error = read_trace("hello".as_bytes(), "p.txt", &options).unwrap_err();
    assert_eq!(error.to_string(), "this is text in an unknown format, which stepscope cannot read: p.txt");
    for reader in READERS {
        assert!(error.hint().contains(reader.name), "{}", error.hint());
    }
}

#[test]
fn every_reader_reads_its_example_whole_cut_and_damaged() {
    for reader in READERS {
        assert!(!reader.name.is_empty() && !reader.about.is_empty());
        let text = reader.example;
        let open = |text: &[u8]| read(text, "test", &OpenOptions::default());
        let whole = open(text).unwrap_or_else(|error| panic!("{}: {error}", reader.name));
        assert_eq!(whole.kind(), reader.yields, "{}", reader.name);
        // What is left of it may be another format, or none: an answer or a sentence, but no panic.
        let (mut read, mut tries) = (0, 0);
        let mut take = |text: &[u8]| {
            read += usize::from(open(text).is_ok());
            tries += 1;
        };
        for at in 0..text.len() {
            take(&text[..at]);
            for bit in damage::bits(at) {
                let mut copy = text.to_vec();
                copy[at] ^= bit;
                take(&copy);
            }
        }
        assert!(20 * read > tries, "{}: only {read} of {tries} could be read", reader.name);
    }
}
