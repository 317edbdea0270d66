//! Files about memory: ours go in and out unchanged, mprof's give the curve of the process.

use stepscope_formats::{OpenOptions, READERS, open, read, write_memory};
use stepscope_model::{Document, Profile};

const MIB: u64 = 1 << 20;

fn profile(text: &[u8]) -> Profile {
    match read(text, "test", &OpenOptions::default()) {
        Ok(Document::Profile(profile)) => profile,
        other => panic!("{other:?}"),
    }
}

fn example(name: &str) -> &'static [u8] {
    READERS.iter().find(|reader| reader.name == name).unwrap().example
}

#[test]
fn what_is_written_is_what_was_read() {
    let first = profile(example("a memory profile"));
    let mut text = Vec::new();
    write_memory(&first, &mut text).unwrap();
    let again = profile(&text);
    assert_eq!(again.heap, first.heap);
    let samples = |profile: &Profile| {
        let rows = profile.samples().iter().map(|sample| {
            let names: Vec<String> = profile
                .stacks
                .unwind(sample.stack)
                .into_iter()
                .map(|frame| format!("{}:{}", profile.stacks.name(frame), profile.stacks.get(frame).line))
                .collect();
            (names, sample.amounts.to_vec())
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(samples(&again), samples(&first));
    assert_eq!(
        samples(&first),
        [(vec!["main:3".to_owned(), "load:9".to_owned()], vec![3, 1500, 2, 3, 500, 1000, 1500])]
    );
    assert!(first.notes.is_empty());
}

#[test]
fn rows_that_name_what_is_not_there_are_set_aside() {
    let text = String::from_utf8(example("a memory profile").to_vec()).unwrap();
    let broken = text.replace("\"frames\": [[0, 1, 3], [2, 1, 9]]", "\"frames\": [[0, 1, 3], [2, 77, 9]]");
    assert_ne!(broken, text);
    let profile = profile(broken.as_bytes());
    // The frame, the stack that has it, and the line of it.
    assert_eq!(profile.notes.iter().map(|note| note.count).sum::<u64>(), 3);
    let newer = text.replace("\"stepscope_memory\": 1", "\"stepscope_memory\": 2");
    let error = read(newer.as_bytes(), "test", &OpenOptions::default()).unwrap_err().to_string();
    assert!(error.contains("version 2"), "{error}");
}

#[test]
fn mprof_gives_the_curve_and_functions() {
    let profile = profile(example("an mprof file"));
    let heap = profile.heap.as_ref().unwrap();
    let curve: Vec<(i64, u64)> =
        heap.curve.iter().map(|point| (point.at.0 / 1_000_000, point.rss_bytes.unwrap())).collect();
    assert_eq!(curve, [(0, 21 * MIB / 2), (100, 169 * MIB / 4), (200, 12 * MIB)]);
    assert_eq!((heap.peak_bytes, heap.end_bytes), (169 * MIB / 4, 12 * MIB));
    let line = heap.lines[0];
    assert_eq!((line.hits, line.rss_bytes, line.increment_bytes), (1, 169 * MIB / 4, 127 * MIB as i64 / 4));
    assert_eq!(profile.stacks.name(line.function), "demo.build");
    // A child's reading is noted, not mixed in.
    assert_eq!(profile.notes.iter().map(|note| note.count).sum::<u64>(), 1);
}

#[test]
fn pytorchs_memory_timeline_has_its_peak_by_category() {
    // Both files hold the same run; the numbers are the sums of the file's own rows.
    for file in ["memory_timeline.json.gz", "memory_timeline.raw.json.gz"] {
        let path = crate::fixture("2.11-h200/gpt_stack").join(file);
        let Document::Profile(profile) = open(&path, &OpenOptions::default()).unwrap() else {
            panic!("{file}")
        };
        let heap = profile.heap.as_ref().unwrap();
        assert_eq!((heap.peak_bytes, heap.end_bytes), (2_662_170_112, 1_283_998_208), "{file}");
        let at_peak: Vec<(&str, i64)> = profile
            .samples()
            .iter()
            .map(|sample| (profile.stacks.name(profile.stacks.unwind(sample.stack)[0]), sample.amounts[6]))
            .collect();
        let of = |name: &str| at_peak.iter().find(|row| row.0 == name).map(|row| row.1);
        assert_eq!(of("(activation)"), Some(1_373_146_624), "{file}");
        assert_eq!(of("(parameter)"), Some(254_889_984), "{file}");
        assert_eq!(of("(optimizer state)"), Some(509_779_968), "{file}");
        assert_eq!(at_peak.iter().map(|row| row.1).sum::<i64>(), 2_662_170_112, "{file}");
    }
    for wrong in
        ["[[1, 2], [3]]", "[[1, 2", "[[1.5, 2, 3, 4]]", "[[1, 2, 3]]", "[[9223372036854775808, 1, 1, 1]]"]
    {
        assert!(read(wrong.as_bytes(), "test", &OpenOptions::default()).is_err(), "{wrong}");
    }
}
