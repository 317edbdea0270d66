//! Which trace of a folder is shown: one rule, whatever the files are called.

use std::path::{Path, PathBuf};

use stepscope_formats::{ChosenTrace, Look, OpenOptions, ReadError, choose, open, rank_of};

fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-choose-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

fn of_rank(rank: i64) -> String {
    format!(r#"{{"distributedInfo": {{"rank": {rank}}}, "traceEvents": [{{"ph":"X","ts":1,"dur":1}}]}}"#)
}

fn chosen(path: &Path, rank: Option<i64>, look: Look) -> (Result<ChosenTrace, ReadError>, Vec<String>) {
    let mut opened = Vec::new();
    let result = choose(path, rank, look, &mut |file| {
        opened.push(file.path.file_name().unwrap().to_string_lossy().into_owned());
        open(&file.path, &OpenOptions::default())
    });
    (result, opened)
}

#[test]
fn the_lowest_rank_is_shown_whatever_the_files_are_called() {
    // As TensorBoard names them: by host and process, not by rank.
    let files = [
        ("a_9.pt.trace.json", of_rank(2)),
        ("b_7.pt.trace.json", of_rank(0)),
        ("c_8.pt.trace.json", of_rank(1)),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let path = folder("ranks", &files);
    let (result, opened) = chosen(&path, None, Look::UntilClear);
    let found = result.unwrap();
    assert_eq!((rank_of(&found.document), found.found, found.other_ranks), (Some(0), 3, vec![2]));
    assert_eq!(found.file.path, path.join("b_7.pt.trace.json"));
    assert_eq!(opened, ["a_9.pt.trace.json", "b_7.pt.trace.json"], "rank 0 is as low as it gets");
    let (result, opened) = chosen(&path, None, Look::AtAll);
    assert_eq!((result.unwrap().other_ranks, opened.len()), (vec![1, 2], 3));
    let (result, _) = chosen(&path, Some(1), Look::UntilClear);
    assert_eq!(result.unwrap().file.path, path.join("c_8.pt.trace.json"));
    let (result, _) = chosen(&path, Some(5), Look::UntilClear);
    let error = result.unwrap_err();
    assert!(error.to_string().starts_with("there is no trace of rank 5"), "{error}");
    assert_eq!(error.hint(), "ranks here: 0, 1, 2");
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn files_that_cannot_be_read_are_passed_over_as_long_as_another_can() {
    let good = of_rank(3);
    let path =
        folder("unreadable", &[("a.trace.json", "\u{89}PNG"), ("b.trace.json", &good), ("c.trace.json", "")]);
    let (result, _) = chosen(&path, None, Look::UntilClear);
    let found = result.unwrap();
    assert_eq!((found.file.path, found.skipped.len()), (path.join("b.trace.json"), 2));
    assert!(found.skipped[0].to_string().contains("a.trace.json"));
    let (result, _) = chosen(&path, Some(1), Look::UntilClear);
    assert!(matches!(result, Err(ReadError::NoSuchRank { ranks, .. }) if ranks == [3]));
    std::fs::remove_file(path.join("b.trace.json")).unwrap();
    let (result, _) = chosen(&path, None, Look::UntilClear);
    assert!(result.unwrap_err().to_string().contains("a.trace.json"), "the first failure is the answer");
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn traces_without_a_rank_come_last_and_the_first_of_equals_wins() {
    let plain = r#"{"traceEvents": [{"ph":"X","ts":1,"dur":1}]}"#;
    let below = of_rank(-4);
    let path = folder("norank", &[("a.trace.json", plain), ("b.trace.json", plain), ("c.trace.json", &below)]);
    assert_eq!(chosen(&path, None, Look::UntilClear).0.unwrap().file.path, path.join("a.trace.json"));
    std::fs::write(path.join("d.trace.json"), of_rank(6)).unwrap();
    assert_eq!(chosen(&path, None, Look::UntilClear).0.unwrap().file.path, path.join("d.trace.json"));
    let alone = path.join("a.trace.json");
    assert_eq!(chosen(&alone, None, Look::UntilClear).0.unwrap().found, 1);
    std::fs::remove_dir_all(path).unwrap();
}
