use super::*;
use crate::testing::{block, folder, path, write};

const MS: u64 = 1_000_000;
/// 2026-08-14T01:00Z
const HOUR: i64 = 496_297;

fn ledger(folder: &Path) -> Ledger {
    Ledger::new(folder, Limits::default(), true)
}

fn at(hour: i64, minute: i64) -> i64 {
    (hour * 60 + minute) * MINUTE_NS
}

fn requests(ledger: &mut Ledger, now_ns: i64) -> u64 {
    ledger.refresh(now_ns).unwrap();
    ledger.snapshot(now_ns).totals.requests()
}

#[test]
fn all_processes_count_and_none_is_missed_when_it_is_gone() {
    let folder = folder("processes");
    let mut ledger = ledger(&folder);
    assert_eq!(requests(&mut ledger, at(HOUR, 0)), 0);
    write(&folder, HOUR, 1, "open", &[block(HOUR * 60, 0, "/a", &[5 * MS; 3])]);
    write(&folder, HOUR, 2, "minutes", &[block(HOUR * 60, 0, "/a", &[5 * MS; 4])]);
    assert_eq!(requests(&mut ledger, at(HOUR, 1)), 7);
    // One goes on, the other was killed: its file stays.
    write(&folder, HOUR, 1, "minutes", &[block(HOUR * 60, 0, "/a", &[5 * MS; 3])]);
    write(&folder, HOUR, 1, "open", &[block(HOUR * 60 + 1, 1, "/b", &[5 * MS; 2])]);
    assert_eq!(requests(&mut ledger, at(HOUR, 2)), 9);
    let snapshot = ledger.snapshot(at(HOUR, 2));
    assert_eq!(snapshot.workers, Some(Workers { processes: 2, rss_bytes: 2 << 20, max_rss_bytes: 1 << 20 }));
    assert_eq!(snapshot.began_ns, at(HOUR, 0));
    assert_eq!(snapshot.totals.cpu_ns, 3_000_000);
    // Long after, nothing is shown as running.
    assert_eq!(ledger.snapshot(at(HOUR, 30)).workers, None);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn counters_survive_retention_and_a_restart_after_it() {
    let folder = folder("retention");
    for hour in 0..10 {
        write(
            &folder,
            HOUR + hour,
            1,
            "minutes",
            &[block((HOUR + hour) * 60, hour as u64, "/a", &[5 * MS; 10])],
        );
    }
    let now = at(HOUR + 9, 30);
    let mut first = ledger(&folder);
    assert_eq!(requests(&mut first, now), 100);
    let whole = first.snapshot(now).totals;
    // Settled hours go, and one that is not settled.
    for hour in [0, 1, 2, 5, 8] {
        fs::remove_file(path(&folder, HOUR + hour, 1, "minutes")).unwrap();
    }
    assert_eq!(requests(&mut first, now), 100);
    assert_eq!(first.snapshot(now).totals, whole);
    // Another one starts: it knows those that were settled. The one that was not is lost, and says what it can.
    let mut second = ledger(&folder);
    assert_eq!(requests(&mut second, now), 90);
    assert_eq!(second.snapshot(now).began_ns, at(HOUR, 0));
    // Later the first has settled everything, and everybody who starts then knows it all.
    assert_eq!(requests(&mut first, at(HOUR + 20, 0)), 100);
    let mut third = ledger(&folder);
    assert_eq!(requests(&mut third, at(HOUR + 20, 0)), 100);
    assert_eq!(third.snapshot(now).totals, whole);
    // New hours count on top for all of them.
    write(&folder, HOUR + 20, 2, "minutes", &[block((HOUR + 20) * 60, 0, "/a", &[5 * MS; 5])]);
    assert_eq!([requests(&mut first, at(HOUR + 20, 5)), requests(&mut third, at(HOUR + 20, 5))], [105, 105]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn who_knows_less_does_not_overwrite_who_knows_more() {
    let folder = folder("overwrite");
    write(&folder, HOUR, 1, "minutes", &[block(HOUR * 60, 0, "/a", &[MS; 10])]);
    write(&folder, HOUR + 1, 1, "minutes", &[block(HOUR * 60 + 60, 1, "/a", &[MS; 10])]);
    let mut late = ledger(&folder);
    let mut early = ledger(&folder);
    assert_eq!(requests(&mut late, at(HOUR + 9, 0)), 20);
    // Its clock is behind: one hour is not over for it.
    assert_eq!(requests(&mut early, at(HOUR + 3, 0)), 20);
    fs::remove_file(path(&folder, HOUR + 1, 1, "minutes")).unwrap();
    assert_eq!(requests(&mut ledger(&folder), at(HOUR + 9, 0)), 20);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn one_that_only_reads_writes_nothing() {
    let folder = folder("reading");
    write(&folder, HOUR, 1, "minutes", &[block(HOUR * 60, 0, "/a", &[MS; 10])]);
    let mut reading = Ledger::new(&folder, Limits::default(), false);
    assert_eq!(requests(&mut reading, at(HOUR + 9, 0)), 10);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    assert_eq!(requests(&mut ledger(&folder), at(HOUR + 9, 0)), 10);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_directory_that_is_gone_for_a_moment_counts_no_second_time() {
    let folder = folder("mount");
    write(&folder, HOUR, 1, "minutes", &[block(HOUR * 60, 0, "/a", &[MS; 10])]);
    let mut ledger = ledger(&folder);
    assert_eq!(requests(&mut ledger, at(HOUR + 9, 0)), 10);
    let away = folder.with_extension("away");
    let _ = fs::remove_dir_all(&away);
    fs::rename(&folder, &away).unwrap();
    assert!(ledger.refresh(at(HOUR + 9, 1)).is_err());
    fs::create_dir_all(&folder).unwrap();
    let error = ledger.refresh(at(HOUR + 9, 1)).unwrap_err();
    assert!(error.what.contains("is empty"), "{error}");
    assert_eq!(ledger.snapshot(at(HOUR + 9, 1)).totals.requests(), 10);
    fs::remove_dir_all(&folder).unwrap();
    fs::rename(&away, &folder).unwrap();
    assert_eq!(requests(&mut ledger, at(HOUR + 9, 2)), 10);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sums_that_are_damaged_are_said_and_left_out() {
    let folder = folder("damaged");
    write(&folder, HOUR, 1, "minutes", &[block(HOUR * 60, 0, "/a", &[MS; 10])]);
    assert_eq!(requests(&mut ledger(&folder), at(HOUR + 9, 0)), 10);
    let file = folder.join("stepscope-exported.json");
    let whole = fs::read_to_string(&file).unwrap();
    for damaged in [&whole[..whole.len() / 2], "", "[]", &whole.replacen("\"count\":10", "\"count\":11", 1)] {
        fs::write(&file, damaged).unwrap();
        let mut ledger = ledger(&folder);
        assert_eq!(requests(&mut ledger, at(HOUR + 9, 0)), 10, "{damaged}");
        let notes = ledger.snapshot(0).notes;
        assert!(notes.iter().any(|note| note.contains("stepscope-exported.json is damaged")), "{notes:?}");
    }
    // Half a file of a service is said too, and the rest counts.
    let minutes = path(&folder, HOUR + 1, 1, "minutes");
    let each: Vec<_> = (0..2).map(|n| block(HOUR * 60 + 60 + n, n as u64, "/a", &[MS; 5])).collect();
    write(&folder, HOUR + 1, 1, "minutes", &each);
    let bytes = fs::read(&minutes).unwrap();
    fs::write(&minutes, &bytes[..bytes.len() - 3]).unwrap();
    let mut ledger = ledger(&folder);
    assert_eq!(requests(&mut ledger, at(HOUR + 1, 30)), 15);
    let notes = ledger.snapshot(0).notes;
    assert!(notes.iter().any(|note| note.contains("is damaged after 1 whole minutes")), "{notes:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn hours_of_the_future_are_bounded() {
    let folder = folder("future");
    for hour in 0..40 {
        write(&folder, HOUR + hour, 1, "minutes", &[block((HOUR + hour) * 60, hour as u64, "/a", &[MS; 2])]);
    }
    let mut ledger = ledger(&folder);
    assert_eq!(requests(&mut ledger, at(HOUR, 0)), 80);
    assert!(ledger.open.len() <= MAX_OPEN_HOURS);
    assert_eq!(requests(&mut ledger, at(HOUR, 1)), 80);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn names_of_hours_are_read() {
    assert_eq!(hour_of("20260814T01"), Some(HOUR));
    for wrong in ["", "20260814T1", "20260230T01", "2026-08-14T", "20260814T99", "ééééé1"] {
        assert_eq!(hour_of(wrong), None, "{wrong}");
    }
}
