//! Every question, on files made to be slow: time and memory grow like the file.
//!
//! The questions are read off the program's own help, so that a new one is asked by existing. Each is asked about each
//! hostile shape at two sizes; what is quadratic in the shape takes sixteen times as long for a file four times as large.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stepscope_testkit::hostile::SHAPES;

use crate::{questions, temp_folder};

const SMALL: usize = 1_000;
/// How many times as large the larger one is.
const TIMES: usize = 4;
/// Time and memory may grow by this much more than the file: sorting, caches, chance.
const MORE: f64 = 1.6;
/// What a file of the smaller size may cost without anybody asking how it grows: a build for tests is slow, and the system
/// counts in hundredths of a second.
const LITTLE: Cost = Cost { seconds: 0.12, bytes: 6 << 20 };
/// Memory that the program must do with, in KiB of address space: threads reserve some that they never use.
const ROOM: usize = 1 << 20;
/// A question that failed to grow as it should is asked again: another program may have been in its way.
const TRIES: usize = 3;

#[derive(Copy, Clone, Debug)]
struct Cost {
    seconds: f64,
    /// At the most at once.
    bytes: u64,
}

#[test]
#[ignore = "nightly: starts the program nearly a thousand times"]
fn every_question_grows_like_the_file() {
    let folder = temp_folder("growth");
    let files: Vec<(&str, [PathBuf; 2])> =
        SHAPES.iter().map(|shape| (shape.name, files(&folder, shape))).collect();
    let nothing = folder.join("nothing.json");
    fs::write(&nothing, "{\"traceEvents\": []}").unwrap();
    let questions = questions();
    let asked: Vec<(&str, &str, &[PathBuf; 2])> = questions
        .iter()
        .flat_map(|q| files.iter().map(move |(shape, files)| (q.as_str(), *shape, files)))
        .collect();
    let bare = cost("info", &nothing).unwrap().bytes;
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((question, shape, files)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = grows_like_the_file(question, files, bare) {
                        failed.lock().unwrap().push(format!("{question}, {shape}: {why}"));
                    }
                }
            });
        }
    });
    fs::remove_dir_all(folder).unwrap();
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), asked.len(), failed.join("\n"));
}

fn files(folder: &Path, shape: &stepscope_testkit::hostile::Shape) -> [PathBuf; 2] {
    [SMALL, SMALL * TIMES].map(|n| {
        let path = folder.join(format!("{} {n}.json", shape.name));
        fs::write(&path, shape.text(n)).unwrap();
        path
    })
}

fn grows_like_the_file(question: &str, files: &[PathBuf; 2], bare: u64) -> Result<(), String> {
    let mut why = String::new();
    for _ in 0..TRIES {
        let large = cost(question, &files[1])?;
        let own = large.bytes.saturating_sub(bare);
        if large.seconds <= LITTLE.seconds && own <= LITTLE.bytes {
            return Ok(());
        }
        let small = cost(question, &files[0])?;
        let most = TIMES as f64 * MORE;
        let seconds = small.seconds.max(LITTLE.seconds) * most;
        let bytes = small.bytes.saturating_sub(bare).max(LITTLE.bytes) as f64 * most;
        if large.seconds <= seconds && own as f64 <= bytes {
            return Ok(());
        }
        why = format!("from {small:?} to {large:?}, {bare} bytes of them for nothing");
    }
    Err(why)
}

fn cost(question: &str, file: &Path) -> Result<Cost, String> {
    let limited = format!("ulimit -v {ROOM}; exec \"$0\" \"$@\"");
    let child = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_stepscope"), question])
        .arg(file)
        // Reserving less for each thread, so that the limit is about memory in use.
        .env("MALLOC_ARENA_MAX", "2")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let mut bytes = 0;
    // A process that ended keeps its times until it is waited for, but not its memory: that is looked at on the way.
    let seconds = loop {
        let stat = fs::read_to_string(process.join("stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        bytes = peak(&process).unwrap_or(0).max(bytes);
        if fields[0] == "Z" {
            let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
            break ticks / 100.0;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let output = child.wait_with_output().unwrap();
    match output.status.success() {
        true => Ok(Cost { seconds, bytes }),
        false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// The most memory that a process had at once so far.
fn peak(process: &Path) -> Option<u64> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
