//! What the hooks do without the interpreter. The library itself links to Python and is tested by Python's tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "each test uses a part of what it includes")]

#[path = "../../src/hooks/heap/filter.rs"]
mod filter;
#[path = "../../src/hooks/periodic_file.rs"]
mod periodic_file;
#[path = "../../src/process_memory/slow_guard.rs"]
mod slow_guard;
#[path = "../../src/hooks/ticks.rs"]
mod ticks;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use stepscope_record::clock::{now_ns, steady_ns};

use filter::Filter;
use periodic_file::PeriodicFile;
use slow_guard::SlowGuard;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-hooks-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn names(folder: &PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn an_address_that_was_added_is_never_missed() {
    let filter = Filter::new();
    let addresses: Vec<usize> = (0..300_000).map(|n| 0x7F00_0000_0000 + n * 48).collect();
    addresses.iter().for_each(|&address| filter.add(address));
    assert!(addresses.iter().all(|&address| filter.may_have(address)));
    let (gone, left) = addresses.split_at(100_000);
    gone.iter().for_each(|&address| filter.remove(address));
    assert!(left.iter().all(|&address| filter.may_have(address)));
    filter.clear();
    assert!(!addresses.iter().any(|&address| filter.may_have(address)));
}

#[test]
fn most_addresses_that_were_not_added_are_told_at_once() {
    let filter = Filter::new();
    (0..1_000).for_each(|n| filter.add(0x5500_0000_0000 + n * 4_096));
    let wrong = (0..100_000).filter(|n| filter.may_have(0x7F00_0000_0000 + n * 32)).count();
    assert!(wrong < 5_000, "{wrong} of 100000");
}

#[test]
fn a_full_place_stays_full_and_an_empty_one_empty() {
    let filter = Filter::new();
    (0..1_000).for_each(|_| filter.add(0x1000));
    (0..1_000).for_each(|_| filter.remove(0x1000));
    assert!(filter.may_have(0x1000), "how often it was added is not known any more");
    filter.remove(0x2000);
    filter.add(0x2000);
    filter.remove(0x2000);
    assert!(!filter.may_have(0x2000));
}

/// Starts the clock of the hooks; the longer it runs, the better it knows how long a tick is.
fn start() {
    ticks::start();
    let began = steady_ns();
    while steady_ns() - began < 50_000_000 {
        std::hint::spin_loop();
    }
}

#[test]
fn ticks_are_as_long_as_the_clock_says() {
    start();
    // Whatever happens in between: longer than the inner stretch, shorter than the outer one.
    let outer = steady_ns();
    let tick = ticks::now();
    let inner = steady_ns();
    while steady_ns() - inner < 200_000_000 {
        std::hint::spin_loop();
    }
    let ticks = ticks::now() - tick;
    let outer = steady_ns() - outer;
    let took = ticks::scale()(ticks).0;
    assert!((198_000_000..=outer + outer / 100).contains(&took), "{took} of {outer}");
    let there_and_back = ticks::scale()(ticks::from_ns(1_000_000_000)).0;
    assert!((990_000_000..=1_010_000_000).contains(&there_and_back), "{there_and_back}");
}

#[test]
fn a_tick_is_laid_beside_the_calendar() {
    start();
    let before = now_ns();
    let clock = ticks::Clock::start();
    let tick = ticks::now();
    let after = now_ns();
    assert!((before..=after).contains(&clock.start_ns()));
    let (at, ns_per_tick) = clock.at(tick);
    assert!(clock.start_ns() - 1_000 <= at && at <= after + 1_000_000, "{} {at} {after}", clock.start_ns());
    assert!(ns_per_tick > 0);
    // Before the start it counts backwards.
    assert!(clock.at(tick - ticks::from_ns(1_000_000_000)).0 < at - 900_000_000);
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    start();
    let folder = folder("kept");
    let path = folder.join("out.pstats");
    let every_ns = 3_600_000_000_000;
    let (kept, first) = PeriodicFile::new(path.clone(), every_ns);
    let an_hour = ticks::from_ns(every_ns) / 100 * 98;
    assert!(first > ticks::now() + an_hour);
    let now = ticks::now();
    let due = kept.write(|out| out.write_all(b"first"));
    assert!(due > now + an_hour && due != u64::MAX);
    assert_eq!(fs::read(&path).unwrap(), b"first");
    // One that fails leaves what was there, nothing beside it, and is not tried again.
    let failed = kept.write(|out| {
        out.write_all(b"half of the")?;
        Err(io::Error::other("the disk is full"))
    });
    assert_eq!(failed, u64::MAX);
    assert_eq!(
        (fs::read(&path).unwrap().as_slice(), names(&folder)),
        (b"first".as_slice(), vec!["out.pstats".to_owned()])
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_file_is_left_alone() {
    start();
    let folder = folder("no-file");
    let (kept, _) = PeriodicFile::new(folder.join("inside"), 1);
    fs::create_dir(folder.join("inside")).unwrap();
    assert_eq!(kept.write(|_| unreachable!("a pipe or a device would be replaced")), u64::MAX);
    assert!(folder.join("inside").is_dir());
    let (nowhere, _) = PeriodicFile::new(folder.join("missing/out"), 1);
    assert_eq!(nowhere.write(|out| out.write_all(b"x")), u64::MAX);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_answers_late_three_times_in_a_row_is_not_asked_again() {
    let allocator = SlowGuard::new();
    let ask = |quick: bool| {
        let limit = if quick { Duration::MAX } else { Duration::ZERO };
        allocator.ask(limit, || {
            // Any time at all is longer than none.
            let began = steady_ns();
            while steady_ns() == began {}
            Some(7)
        })
    };
    let answers = [false, false, true, false, false, false, true].map(ask);
    assert_eq!(answers, [Some(7), Some(7), Some(7), Some(7), Some(7), Some(7), None]);
}
