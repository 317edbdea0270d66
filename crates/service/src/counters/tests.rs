use std::fs;
use std::path::{Path, PathBuf};

use stepscope_ground::utc::MINUTE_NS;

use super::*;
use crate::period::Period;
use crate::retention::Retention;
use crate::segment;

/// 2026-11-17T01:00Z.
const START: i64 = 1_794_877_200_000_000_000;
const MINUTE: i64 = START / MINUTE_NS;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-counters-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("host.cpu_percent", "%"),
        Column::new("gpu.1.power_w", "W"),
        Column::new("process.rss_bytes", "bytes"),
    ]
}

fn writer(folder: &Path) -> CounterWriter {
    CounterWriter::open(folder, columns(), Some(77), Retention::default(), START).unwrap()
}

fn period(minutes: i64) -> Period {
    Period { from: MINUTE, until: MINUTE + minutes }
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    segment::list_beside(folder, ending).unwrap().into_iter().map(|(_, _, path)| path).collect()
}

/// One sample per second from the start on.
fn fill(writer: &mut CounterWriter, seconds: std::ops::Range<i64>) {
    for second in seconds {
        let at = START + second * 1_000_000_000;
        let power = (second % 2 == 0).then_some(second as f64);
        let said = writer.add(at, (second * 1_000_000_000) as u64, &[Some(second as f64), power, Some(5.0)]);
        assert_eq!(said, None);
    }
}

fn points(found: &Counters, name: &str) -> Vec<(i64, f64, f64, f64, f64)> {
    let series = found.series.iter().find(|series| series.name == name).unwrap();
    series.points.iter().map(|p| (p.minute - MINUTE, p.mean, p.min, p.max, p.last)).collect()
}

#[test]
fn names_of_gpus_lose_their_numbers() {
    assert_eq!(
        Column::new("gpu.12.power_w", "W"),
        Column { name: "gpu.power_w".into(), unit: "W".into(), device: Some(12) }
    );
    assert_eq!(Column::new("gpu.power", "W").device, None);
    assert_eq!(counter_label("gpu.power_w", Some(12)), "GPU 12 power");
    assert_eq!(counter_text("bytes", 2_147_483_648.0), "2.00 GiB");
    assert_eq!(counter_text("%", 93.14), "93.1%");
    assert_eq!(counter_text("W", 350.4), "350 W");
}

#[test]
fn minutes_hold_mean_least_largest_and_last() {
    let folder = folder("minutes");
    let mut writer = writer(&folder);
    fill(&mut writer, 0..150);
    // The third minute is open: it comes from the samples.
    let found = counters(&folder, period(60)).unwrap();
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    assert_eq!(found.step_minutes, 1);
    assert_eq!(
        points(&found, "host.cpu_percent"),
        [(0, 29.5, 0.0, 59.0, 59.0), (1, 89.5, 60.0, 119.0, 119.0), (2, 134.5, 120.0, 149.0, 149.0)]
    );
    // Only even seconds had one: what is unknown is not 0.
    assert_eq!(points(&found, "gpu.power_w")[0], (0, 29.0, 0.0, 58.0, 58.0));
    let power = found.series.iter().find(|series| series.name == "gpu.power_w").unwrap();
    assert_eq!((power.device, power.unit.as_str(), power.process), (Some(1), "W", None));
    let rss = found.series.iter().find(|series| series.name == "process.rss_bytes").unwrap();
    assert_eq!((rss.device, rss.process), (None, Some(77)));
    // Ended, nothing changes and nothing counts twice.
    assert_eq!(writer.finish(), None);
    let ended = counters(&folder, period(60)).unwrap();
    assert_eq!(points(&ended, "host.cpu_percent"), points(&found, "host.cpu_percent"));
    // Two minutes per point.
    let coarse = counters_by(&folder, period(60), 2).unwrap();
    assert_eq!(
        points(&coarse, "host.cpu_percent"),
        [(0, 59.5, 0.0, 119.0, 119.0), (2, 134.5, 120.0, 149.0, 149.0)]
    );
    // A stretch of time that has nothing.
    assert!(counters(&folder, Period { from: MINUTE + 600, until: MINUTE + 660 }).unwrap().series.is_empty());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_killed_process_loses_no_sample() {
    let folder = folder("killed");
    let mut writer = writer(&folder);
    fill(&mut writer, 0..90);
    // Nothing is finished: as if it were killed.
    std::mem::forget(writer);
    let found = counters(&folder, period(60)).unwrap();
    assert_eq!(points(&found, "host.cpu_percent")[1], (1, 74.5, 60.0, 89.0, 89.0));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_torn_file_keeps_what_came_before() {
    let folder = folder("torn");
    let mut writer = writer(&folder);
    fill(&mut writer, 0..200);
    drop(writer);
    let whole = counters(&folder, period(60)).unwrap();
    for ending in [segment::COUNTERS, segment::SAMPLES] {
        let path = files(&folder, ending).pop().unwrap();
        let bytes = fs::read(&path).unwrap();
        // Cut anywhere, and with any byte turned: never a panic, never a value that was not there.
        for cut in (0..bytes.len()).step_by(7) {
            fs::write(&path, &bytes[..cut]).unwrap();
            let found = counters(&folder, period(60)).unwrap();
            let highest = found.series.iter().flat_map(|s| &s.points).map(|p| p.max).fold(0.0, f64::max);
            assert!(highest <= 199.0, "{cut}");
        }
        for at in (0..bytes.len()).step_by(41) {
            let mut turned = bytes.clone();
            turned[at] ^= 0x55;
            fs::write(&path, &turned).unwrap();
            let found = counters(&folder, period(60)).unwrap();
            assert!(!found.notes.is_empty(), "byte {at} of {ending}");
        }
        fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        let found = counters(&folder, period(60)).unwrap();
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
        assert_eq!(points(&found, "host.cpu_percent")[0], points(&whole, "host.cpu_percent")[0]);
        fs::write(&path, &bytes).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_last_ten_minutes_are_there_at_full_rate_and_no_more_than_twenty_on_disk() {
    let folder = folder("recent");
    let mut writer = writer(&folder);
    // From 01:00 to 02:05, so that the hour changes.
    fill(&mut writer, 0..3_900);
    let now = START + 3_899 * 1_000_000_000;
    let recent = recent_counters(&folder, now).unwrap();
    let cpu = recent.iter().find(|counter| counter.name == "host.cpu_percent").unwrap();
    assert_eq!((cpu.values.first(), cpu.values.last()), (Some(&3_299.0), Some(&3_899.0)));
    assert_eq!(cpu.values.len(), 601);
    assert!(cpu.at_ns.is_sorted());
    let logs = files(&folder, segment::SAMPLES);
    assert_eq!(logs.len(), 1, "{logs:?}");
    assert!(logs[0].display().to_string().contains("20261117T02_"), "{logs:?}");
    // 1,201 samples of 3 values, a byte for which are there, and 30 more.
    assert!(fs::metadata(&logs[0]).unwrap().len() < 1_300 * 60);
    assert_eq!(files(&folder, segment::COUNTERS).len(), 2);
    let found = counters(&folder, Period { from: MINUTE, until: MINUTE + 120 }).unwrap();
    assert_eq!(points(&found, "host.cpu_percent").len(), 65);
    // An hour alone: the samples that are open belong to the other.
    assert_eq!(points(&counters(&folder, period(60)).unwrap(), "host.cpu_percent").len(), 60);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_long_time_has_few_points_and_many_counters_are_cut() {
    let folder = folder("bounds");
    let mut writer = writer(&folder);
    fill(&mut writer, 0..10);
    let month = Period { from: MINUTE - 43_200, until: MINUTE + 60 };
    let found = counters(&folder, month).unwrap();
    assert!(
        found.step_minutes >= 28 && month.minutes() / found.step_minutes <= 1_500,
        "{}",
        found.step_minutes
    );
    let cut = history::read(&folder, period(60), 1, 2).unwrap();
    assert_eq!(cut.series.len(), 2);
    assert!(cut.notes[0].contains("only 2 counters"), "{:?}", cut.notes);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn counters_go_with_their_hour() {
    let folder = folder("retention");
    let mut writer = writer(&folder);
    fill(&mut writer, 0..130);
    writer.finish();
    let hour = START / (60 * MINUTE_NS);
    let rule = Retention { max_age_hours: 3, max_bytes: u64::MAX };
    assert_eq!(crate::retention::apply(&folder, rule, hour + 1).unwrap(), 0);
    assert_eq!(crate::retention::apply(&folder, rule, hour + 3).unwrap(), 2);
    assert!(counters(&folder, period(60)).unwrap().series.is_empty());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_goes_away_is_said_once_and_made_again() {
    let folder = folder("gone");
    let mut writer = writer(&folder);
    fill(&mut writer, 0..5);
    fs::remove_dir_all(&folder).unwrap();
    // A file in its place: nothing can be written for three minutes.
    fs::write(&folder, "in the way").unwrap();
    let mut said = Vec::new();
    for second in 5..180 {
        let at = START + second * 1_000_000_000;
        said.extend(writer.add(at, (second * 1_000_000_000) as u64, &[Some(1.0), None, None]));
    }
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("counters are measured but not kept: cannot write to "), "{said:?}");
    fs::remove_file(&folder).unwrap();
    // The first sample finds the folder gone and makes it, the second is written.
    for second in 180..185 {
        writer.add(START + second * 1_000_000_000, (second * 1_000_000_000) as u64, &[Some(1.0), None, None]);
    }
    assert_eq!(writer.finish(), None);
    assert_eq!(points(&counters(&folder, period(60)).unwrap(), "host.cpu_percent").len(), 4);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_of_a_newer_version_is_refused() {
    let folder = folder("newer");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(segment::MARK_FILE), "{\"schema\": 9}").unwrap();
    let error = CounterWriter::open(&folder, columns(), None, Retention::default(), START).unwrap_err();
    assert!(error.what.contains("newer version (schema 9)") && error.hint.contains("update"), "{error}");
    assert!(counters(&folder, period(60)).is_err());
    fs::remove_dir_all(folder).unwrap();
}
