//! What `stepscope TRACE` shows fits one screen, whatever the trace, and says its parts in one order.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{fixture, gpt, is_typed, root, stdout, stepscope};

/// Lines of a screen of 100 columns.
const MOST_LINES: usize = 40;
const LABELS: [&str; 6] = ["WHY", "FIX", "TIME", "TOP", "NOTE", "MORE"];

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files(&path, into),
            false => into.push(path),
        }
    }
}

fn labels(shown: &str) -> Vec<&str> {
    let first = |line: &'_ str| LABELS.iter().copied().find(|label| line.split(' ').next() == Some(label));
    shown.lines().filter_map(first).collect()
}

/// What is wrong with the first screen of a file; nothing where it is no trace.
fn complaint(path: &Path) -> Option<String> {
    let output = stepscope(&[&path.display().to_string()]).output().unwrap();
    if !output.status.success() {
        return None;
    }
    let shown = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    let wide = lines.iter().find(|line| line.chars().count() > 100 && !is_typed(line));
    let found = labels(&shown);
    let mut ordered = found.clone();
    ordered.sort_by_key(|label| LABELS.iter().position(|known| known == label));
    ordered.dedup();
    let wrong = match () {
        () if lines.len() > MOST_LINES => format!("{} lines", lines.len()),
        () if wide.is_some() => "a line is too wide".to_owned(),
        () if found != ordered => format!("labels are {found:?}"),
        () if !found.contains(&"MORE") => "nowhere to go next".to_owned(),
        () if shown.contains("\n\n\n") || shown.lines().any(|line| line.ends_with(' ')) => "spaces".to_owned(),
        () => return None,
    };
    Some(format!("{}: {wrong}\n{shown}", path.display()))
}

fn complaints(paths: &[PathBuf]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(complaint(path));
        }
        found
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn every_trace_fits_one_screen() {
    let mut paths = Vec::new();
    files(&root().join("fixtures"), &mut paths);
    assert!(paths.len() > 200);
    match std::env::var_os("STEPSCOPE_PEER_DATA") {
        Some(peers) => files(Path::new(&peers), &mut paths),
        None => println!("skipped: other projects' traces, because STEPSCOPE_PEER_DATA is not set"),
    }
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        [".json", ".json.gz", ".json.zst", ".pb"].iter().any(|end| name.ends_with(end))
    };
    paths.retain(named);
    let wrong = complaints(&paths);
    assert!(wrong.is_empty(), "{} of {} traces:\n{}", wrong.len(), paths.len(), wrong.join("\n\n"));
}

#[test]
fn the_screen_says_why_and_what_to_change_first() {
    let shown = stdout(&[&fixture("conv_slow_loader/conv_slow_loader.pt.trace.json.gz")]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("conv_slow_loader.pt.trace.json.gz  PyTorch"), "{shown}");
    assert!(lines[0].contains("H200") && lines[0].contains("steps"), "{shown}");
    assert!(lines[2].starts_with("WHY   Bound by data loading: the GPU is idle"), "{shown}");
    assert!(lines[3].contains("per step"), "{shown}");
    assert!(lines[5].starts_with("FIX   high    Data loading: "), "{shown}");
    assert!(lines[6].trim_start().starts_with("saves "), "{shown}");
    assert!(lines[7].trim_start().starts_with("loader = DataLoader(dataset, ..., num_workers="), "{shown}");
    assert!(shown.contains("data loading") && shown.contains("steps: median"), "{shown}");
}

#[test]
fn the_rows_of_the_top_are_those_of_the_roofline() {
    let shown = stdout(&[&gpt()]);
    let top: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("TOP")).skip(1).take(5).collect();
    let of_gpt = crate::json(&["roofline", &gpt(), "--by", "name"]);
    let summary = crate::json(&[&gpt()]);
    let steps = of_gpt["steps"].as_array().unwrap().len() as i64;
    let names: Vec<&str> = top.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.len(), 5, "{shown}");
    for row in of_gpt["roofline"].as_array().unwrap() {
        let same = |top: &&serde_json::Value| top["name"] == row["name"];
        let Some(found) = summary["top"].as_array().unwrap().iter().find(same) else { continue };
        assert_eq!(found["per_step_ns"].as_i64().unwrap(), row["device_ns"].as_i64().unwrap() / steps, "{row}");
        assert_eq!(found["of_roofline"], row["of_roofline"]);
    }
    // The causes of the bar are those of the account and make up the whole step.
    let causes = summary["causes"].as_array().unwrap();
    let sum: f64 = causes.iter().map(|cause| cause["of_step"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn all_tables_are_one_option_away() {
    let short = stdout(&[&gpt()]);
    let long = stdout(&[&gpt(), "--all"]);
    for title in ["Operators", "Kernels", "Copies and memsets", "Memory"] {
        let is_title = |text: &str| text.lines().any(|line| line.starts_with(title));
        assert!(!is_title(&short) && is_title(&long), "{title}: {long}");
    }
    assert!(short.contains(" --all ") && !long.contains(" --all "), "{long}");
    // What is asked about rows is asked about the tables.
    assert!(stdout(&[&gpt(), "--filter", "mm"]).lines().any(|line| line.starts_with("Kernels")));
    assert_eq!(long.lines().next(), short.lines().next());
}

#[test]
fn without_findings_there_is_still_a_screen() {
    let shown = stdout(&[&gpt(), "--no-findings"]);
    assert_eq!(labels(&shown), ["TIME", "TOP", "NOTE", "MORE"], "{shown}");
}
