use std::process::Command;

use super::*;
use crate::measurement::{How, Repeat};

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-columnar-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn measured(value: f64) -> Measurement {
    let mut measurement = Measurement::new(How::Bare);
    let mut repeat = Repeat::default();
    repeat.put("wall_time", [value]);
    measurement.repeats.push(repeat);
    measurement
}

fn values(records: &[Record]) -> Vec<f64> {
    let mut values: Vec<f64> =
        records.iter().map(|r| r.measurement.repeats[0].values["wall_time"][0]).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Eight writers at once, three measurements each: all 24 are there afterwards.
fn nothing_is_lost(store: &Baselines) {
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                for turn in 0..3 {
                    store.add("main", &measured(f64::from(writer * 3 + turn))).unwrap();
                }
            });
        }
    });
    assert_eq!(values(&store.history("main").unwrap()), (0..24).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn writers_of_a_folder_lose_nothing() {
    let folder = scratch("folder");
    let store = Baselines::open(Some("b"), &folder).unwrap();
    nothing_is_lost(&store);
    store.add("h200-bf16", &measured(7.0)).unwrap();
    assert_eq!(store.names().unwrap(), ["h200-bf16", "main"]);
    assert!(store.has("main").unwrap() && !store.has("other").unwrap());
    // What a killed writer leaves is not read.
    std::fs::write(folder.join("b/main/9999.json.part"), "{").unwrap();
    assert_eq!(store.history("main").unwrap().len(), 24);
    // A damaged file is an error that names it, and the others stay.
    std::fs::write(folder.join("b/main/9999.json"), "{").unwrap();
    let error = store.history("main").unwrap_err();
    assert!(error.what.contains("damaged") && error.what.ends_with("9999.json"), "{error:?}");
    assert_eq!(std::fs::read_dir(folder.join("b/main")).unwrap().count(), 26);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn writers_of_a_branch_lose_nothing_and_leave_the_work_tree_alone() {
    let folder = scratch("branch");
    git(&folder, &["init", "-q", "-b", "main"]);
    std::fs::write(folder.join("a.txt"), "a").unwrap();
    git(&folder, &["add", "a.txt"]);
    git(&folder, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "first"]);
    std::fs::write(folder.join("a.txt"), "changed").unwrap();
    std::fs::write(folder.join("b.txt"), "new").unwrap();
    git(&folder, &["add", "b.txt"]);
    let before = git(&folder, &["status", "--porcelain"]);
    let store = Baselines::open(Some("git:perf/baselines"), &folder).unwrap();
    nothing_is_lost(&store);
    assert_eq!(store.names().unwrap(), ["main"]);
    assert_eq!(git(&folder, &["status", "--porcelain"]), before);
    assert_eq!(git(&folder, &["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(git(&folder, &["rev-list", "--count", "perf/baselines"]), "24");
    // A clone that has the branch only as origin's goes on from there.
    let clone = scratch("clone");
    git(&clone, &["clone", "-q", folder.to_str().unwrap(), "."]);
    let store = Baselines::open(Some("git:perf/baselines"), &clone).unwrap();
    assert_eq!(store.history("main").unwrap().len(), 24);
    store.add("main", &measured(99.0)).unwrap();
    assert_eq!(git(&clone, &["rev-list", "--count", "perf/baselines"]), "25");
    assert_eq!(store.history("main").unwrap().len(), 25);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::remove_dir_all(&clone).unwrap();
}

#[test]
fn wrong_places_and_names_get_a_hint() {
    let folder = scratch("wrong");
    let store = Baselines::open(None, &folder).unwrap();
    assert!(store.newest("main").unwrap_err().hint.contains("stepscope baseline save main"));
    store.add("main", &measured(1.0)).unwrap();
    assert!(store.newest("mian").unwrap_err().hint.contains("there are: main"));
    for name in ["", "../x", "a/b", ".hidden", "-x", "é", &"x".repeat(101)] {
        assert!(
            store.add(name, &measured(1.0)).unwrap_err().what.contains("not a valid baseline name"),
            "{name}"
        );
    }
    assert!(Baselines::open(Some("s3://bucket/x"), &folder).unwrap_err().hint.contains("mount"));
    assert!(Baselines::open(Some("git:"), &folder).is_err());
    assert!(Baselines::open(Some("git:x"), &folder).unwrap_err().what.contains("no git repository"));
    std::fs::write(folder.join("file"), "").unwrap();
    let blocked = Baselines::open(Some("file"), &folder).unwrap();
    assert!(blocked.add("main", &measured(1.0)).unwrap_err().what.contains("cannot make the folder"));
    std::fs::remove_dir_all(&folder).unwrap();
}
