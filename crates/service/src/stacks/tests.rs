use std::fs;
use std::path::PathBuf;

use stepscope_ground::utc::HOUR_NS;

use super::*;
use crate::retention::Retention;

/// 2026-11-17T01:00Z.
const START: i64 = 1_794_877_200_000_000_000;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-stacks-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn frame(name: &str) -> StackFrame {
    StackFrame { name: name.to_owned(), file: "app.py".to_owned(), line: 3 }
}

fn add(writer: &mut StackWriter, stack: &str, samples: u64) {
    let frames: Vec<u32> = stack.split(';').map(|name| writer.frame(&frame(name))).collect();
    writer.add(&frames, samples);
}

fn hour(after: i64) -> Period {
    let from = START / 60_000_000_000 + 60 * after;
    Period { from, until: from + 60 }
}

fn folded(found: &Stacks) -> Vec<String> {
    let name =
        |stack: &CountedStack| stack.frames.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(";");
    found.stacks.iter().map(|stack| format!("{} {}", name(stack), stack.samples)).collect()
}

#[test]
fn hours_are_counted_apart_and_add_up_over_processes() {
    let folder = folder("hours");
    let mut one = StackWriter::open(&folder, 50_000_000, START).unwrap();
    let mut other = StackWriter::open(&folder, 25_000_000, START + 5_000).unwrap();
    add(&mut one, "main;step", 3);
    add(&mut one, "main;step;encode", 2);
    add(&mut one, "main;step", 1);
    add(&mut other, "main;step", 10);
    assert_eq!((one.write(), other.write()), (None, None));
    let found = stacks(&folder, hour(0)).unwrap();
    assert_eq!(folded(&found), ["main;step 14", "main;step;encode 2"]);
    // Samples of each at its own rate: 4 × 50 ms and 10 × 25 ms.
    assert_eq!(found.stacks[0].ns, 450_000_000);
    assert_eq!(found.samples(), 16);
    assert_eq!(found.stacks[0].frames[1], frame("step"));

    assert!(!one.is_new_hour(START + HOUR_NS - 1));
    add(&mut one, "main;idle", 1);
    assert!(one.is_new_hour(START + HOUR_NS));
    add(&mut one, "main;other_things", 7);
    one.write();
    // What was not written yet is when the hour ends.
    assert_eq!(
        folded(&stacks(&folder, hour(0)).unwrap()),
        ["main;step 14", "main;step;encode 2", "main;idle 1"]
    );
    assert_eq!(folded(&stacks(&folder, hour(1)).unwrap()), ["main;other_things 7"]);
    let both = Period { from: hour(0).from + 59, until: hour(1).from + 1 };
    let both = stacks(&folder, both).unwrap();
    assert_eq!((both.samples(), both.hours.len()), (24, 2));
    assert_eq!(stack_hours(&folder).unwrap(), both.hours);
    assert!(stacks(&folder, hour(5)).unwrap().stacks.is_empty());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn too_many_stacks_are_one() {
    let folder = folder("bounds");
    let mut writer = StackWriter::with(&folder, 1, START, 3).unwrap();
    for at in 0..10 {
        add(&mut writer, &format!("main;f{at}"), 1);
    }
    // One that is known still counts by itself.
    add(&mut writer, "main;f1", 5);
    // A stack without frames, and one that is too deep: its inner part stays.
    writer.add(&[], 1);
    writer.write();
    let found = stacks(&folder, hour(0)).unwrap();
    assert_eq!(folded(&found), ["(other) 8", "main;f1 6", "main;f0 1", "main;f2 1"]);
    let cut = read(&folder, hour(0), 1).unwrap();
    assert_eq!(cut.samples(), 16);
    assert!(cut.stacks.len() <= 2, "{:?}", folded(&cut));
    let deep = vec!["f"; 5_000].join(";");
    let mut writer = StackWriter::open(&folder, 1, START + HOUR_NS).unwrap();
    add(&mut writer, &format!("outer;{deep};inner"), 1);
    writer.write();
    let found = stacks(&folder, hour(1)).unwrap();
    assert_eq!(found.stacks[0].frames.len(), MAX_DEPTH);
    assert_eq!(found.stacks[0].frames.last(), Some(&frame("inner")));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_damaged_file_is_said_and_nothing_else_breaks() {
    let folder = folder("damaged");
    let mut writer = StackWriter::open(&folder, 1, START).unwrap();
    for at in 0..40 {
        add(&mut writer, &format!("main;f{};g{at}", at % 7), at + 1);
    }
    writer.write();
    let path = segment::list_beside(&folder, segment::STACKS).unwrap().remove(0).2;
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        fs::write(&path, &bytes[..at]).unwrap();
        assert!(stacks(&folder, hour(0)).unwrap().stacks.is_empty());
        let mut turned = bytes.clone();
        turned[at] ^= 0x81;
        fs::write(&path, &turned).unwrap();
        let found = stacks(&folder, hour(0)).unwrap();
        assert!(found.stacks.is_empty() && found.notes.len() == 1, "byte {at}");
    }
    // A record with a right checksum and wrong numbers in it.
    let payload = &bytes[16..];
    for at in 0..payload.len() {
        let mut turned = payload.to_vec();
        turned[at] ^= 0x7f;
        if let Some(counted) = codec::StackCounts::decode(&turned, segment::SCHEMA) {
            counted.each(|frames, _| assert!(frames.len() <= MAX_DEPTH + 1));
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn stacks_go_with_their_hour() {
    let folder = folder("retention");
    let mut writer = StackWriter::open(&folder, 1, START).unwrap();
    add(&mut writer, "main", 1);
    writer.write();
    let rule = Retention { max_age_hours: 24, max_bytes: 0 };
    assert_eq!(crate::retention::apply(&folder, rule, START / HOUR_NS + 1).unwrap(), 0);
    assert_eq!(crate::retention::apply(&folder, rule, START / HOUR_NS + 2).unwrap(), 1);
    fs::remove_dir_all(folder).unwrap();
}
