//! Profiles as files: what is shown of them, in the words and numbers of the tools that wrote them, and what they become.

use std::process::Command;

use crate::{json, root, run, stdout, stepscope, temp_folder};

fn fixture(name: &str) -> String {
    root().join("fixtures/profiles").join(name).display().to_string()
}

const ALL: [&str; 12] = [
    "austin.pprof",
    "austin.txt",
    "demo-2.7.pstats",
    "demo-3.8.pstats",
    "demo-3.11.pstats",
    "demo-3.13.pstats",
    "hot-3.5.lprof",
    "hot-4.1.lprof",
    "hot-5.1.lprof",
    "pyinstrument.pstats",
    "pyspy.raw",
    "pyspy.speedscope.json",
];

#[test]
fn every_profile_has_a_first_screen() {
    for name in ALL {
        let shown = stdout(&[&fixture(name)]);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.len() <= 40, "{name}: {} lines", lines.len());
        assert!(lines[0].starts_with(name) && lines[0].contains("profile"), "{name}: {shown}");
        assert!(lines[2].starts_with("WHY   ") && lines[2].contains("% of the "), "{name}: {shown}");
        assert!(shown.contains("\nTOP   Function") && shown.contains("\nMORE  "), "{name}: {shown}");
        assert!(lines.iter().all(|line| !line.ends_with(' ')), "{name}: {shown}");
    }
}

#[test]
fn questions_about_a_profile_answer_in_every_format() {
    for name in ALL {
        for question in ["summary", "functions", "lines", "stacks", "info"] {
            assert!(json(&[question, &fixture(name)]).is_object(), "{name}: {question}");
            assert!(run(&[question, &fixture(name), "--format", "csv"]).status.success(), "{name}: {question}");
            assert!(run(&[question, &fixture(name), "--format", "md"]).status.success(), "{name}: {question}");
        }
        let functions = stdout(&["functions", &fixture(name), "--format", "md"]);
        assert!(functions.contains("| --- |"), "{name}: {functions}");
    }
}

#[test]
fn functions_sort_as_pstats_does() {
    let text = std::fs::read_to_string(fixture("demo-3.11.pstats.txt")).unwrap();
    for (key, heading) in
        [("cumulative", "cumulative time"), ("time", "internal time"), ("calls", "call count")]
    {
        let mut printed = text.lines().skip_while(|line| !line.contains(heading)).skip(3);
        let rows = json(&["functions", &fixture("demo-3.11.pstats"), "--sort", key, "--top", "10"]);
        let rows = rows["functions"].as_array().unwrap();
        assert_eq!(rows.len(), 10);
        for row in rows {
            // pstats does not say how it orders equal numbers: the numbers must be in its order, not the names.
            let words: Vec<&str> = printed.next().unwrap().split_whitespace().collect();
            let seconds = |field: &str| format!("{:.3}", row[field].as_f64().unwrap() / 1e9);
            match key {
                "calls" => assert_eq!(words[0].split('/').next(), Some(row["calls"].to_string().as_str())),
                "time" => assert_eq!(words[1], seconds("self_ns")),
                _ => assert_eq!(words[3], seconds("total_ns")),
            }
        }
    }
}

#[test]
fn callers_are_those_of_pstats() {
    let rows = json(&["functions", &fixture("demo-3.11.pstats"), "--callers", "13\\(fib"]);
    let rows = rows["callers"].as_array().unwrap();
    let seen: Vec<_> =
        rows.iter().map(|row| (row["caller"].as_str().unwrap(), row["calls"].as_u64().unwrap())).collect();
    assert_eq!(seen, [("main", 1), ("fib", 8360)]);
    let rows = json(&["functions", &fixture("demo-3.11.pstats"), "--callees", "main"]);
    let called: Vec<&str> =
        rows["callees"].as_array().unwrap().iter().filter_map(|row| row["callee"].as_str()).collect();
    assert!(called.contains(&"encode") && called.contains(&"fib") && !called.contains(&"odd"), "{called:?}");
}

#[test]
fn lines_are_shown_with_their_source_as_line_profiler_does() {
    let folder = root().join("fixtures/profiles/src");
    let output = stepscope(&["lines", &fixture("hot-5.1.lprof")]).current_dir(folder).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let text = std::fs::read_to_string(fixture("hot-5.1.lprof.txt")).unwrap();
    let contents = text.lines().find_map(|line| line.find("Line Contents")).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(number) = words.first().and_then(|word| word.parse::<u32>().ok()) else { continue };
        let ours = shown.lines().find(|ours| ours.split_whitespace().next() == Some(words[0]));
        let ours = ours.unwrap_or_else(|| panic!("line {number} is missing:\n{shown}"));
        if let Ok(hits) = words[1].parse::<u64>() {
            let share: f64 = words[4].parse().unwrap();
            let ours: Vec<&str> = ours.split_whitespace().collect();
            assert_eq!(ours[1], hits.to_string(), "line {number}");
            assert!(ours.contains(&format!("{share:.1}%").as_str()), "line {number}: {share} in {ours:?}");
        }
        // The text of the line is the rest: both keep its indent.
        let source = line.get(contents..).unwrap_or_default().trim();
        assert!(ours.ends_with(source), "line {number}: {ours}");
        compared += 1;
    }
    assert!(compared >= 14, "{compared}");
    let one = stdout(&["lines", &fixture("hot-5.1.lprof"), "--function", "^square$", "--format", "csv"]);
    assert_eq!(one.lines().count(), 2, "{one}");
}

#[test]
fn a_trace_of_samples_names_its_functions() {
    let shown = stdout(&[&fixture("pyspy.chrometrace.json.gz")]);
    assert!(shown.contains("WHY   loop takes "), "{shown}");
    assert!(!shown.contains("not recorded") && shown.lines().count() <= 40, "{shown}");
    let viztracer = stdout(&[&fixture("viztracer.json.gz")]);
    assert!(viztracer.contains("demo.py:") && !viztracer.contains("not recorded"), "{viztracer}");
    let rows = json(&["functions", &fixture("viztracer.json.gz"), "--filter", "^fib$"]);
    assert_eq!(
        (&rows["functions"][0]["calls"], &rows["functions"][0]["primitive_calls"]),
        (&67.into(), &1.into())
    );
}

fn written(args: &[&str], name: &str) -> Vec<u8> {
    let folder = temp_folder("profiles");
    let path = folder.join(name);
    let output = run(&[&["export"], args, &["-o", &path.display().to_string()]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> stepscope_model::Profile {
    match stepscope_formats::read(bytes, "export", &Default::default()) {
        Ok(stepscope_model::Document::Profile(profile)) => profile,
        other => panic!("{other:?}"),
    }
}

#[test]
fn stacks_are_the_same_in_every_format() {
    let path = fixture("austin.txt");
    let first = read(&std::fs::read(&path).unwrap());
    for format in ["folded", "speedscope", "pprof"] {
        let again = read(&written(&["--to", format, &path], format));
        assert_eq!(again.total(0), first.total(0), "{format}");
        let functions = |profile: &stepscope_model::Profile| {
            let report = stepscope_analyse::tables::functions::functions(profile, 0);
            report.rows.iter().map(|row| (row.name.clone(), row.own(), row.total())).collect::<Vec<_>>()
        };
        assert_eq!(functions(&again), functions(&first), "{format}");
    }
    let firefox: serde_json::Value =
        serde_json::from_slice(&written(&["--to", "firefox", &path], "firefox.json")).unwrap();
    let threads = firefox["threads"].as_array().unwrap();
    let weights = threads.iter().flat_map(|thread| thread["samples"]["weight"].as_array().unwrap());
    let ms: f64 = weights.map(|weight| weight.as_f64().unwrap()).sum();
    assert!((ms * 1e6 - first.total(0) as f64).abs() < 10.0, "{ms}");
    let compressed = written(&["--to", "pprof", &path], "cpu.pb.gz");
    assert!(compressed.starts_with(b"\x1f\x8b"));
    assert_eq!(read(&compressed).total(0), first.total(0));
}

#[test]
fn pstats_of_a_trace_and_of_stacks_opens_in_python() {
    for (name, function) in [("austin.txt", "loop"), ("viztracer.json.gz", "fib"), ("demo-3.8.pstats", "fib")] {
        let bytes = written(&["--to", "pstats", &fixture(name)], "out.pstats");
        let again = read(&bytes);
        assert!(again.calls.iter().any(|row| again.stacks.name(row.frame) == function), "{name}");
        let folder = temp_folder("pstats");
        let path = folder.join(format!("{name}.pstats"));
        std::fs::write(&path, &bytes).unwrap();
        let script = "import pstats, sys; s = pstats.Stats(sys.argv[1]); s.sort_stats('time').print_stats(); s.print_callers()";
        // Where there is no Python, the reader above has looked at it.
        if let Ok(output) = Command::new("python3").args(["-c", script, &path.display().to_string()]).output() {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains(&format!("({function})")), "{name}: {output:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
    let counts = run(&["export", "--to", "pstats", &fixture("pyspy.raw"), "-o", "-"]);
    let said = String::from_utf8_lossy(&counts.stderr);
    assert!(said.contains("counts samples") && said.contains("hint:"), "{said}");
}

#[test]
fn a_flame_graph_is_one_file_of_its_own() {
    let svg = String::from_utf8(written(&["--to", "svg", &fixture("austin.txt")], "flame.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.trim_end().ends_with("</svg>"));
    let bars: Vec<&str> = svg.lines().filter(|line| line.starts_with("<g ")).collect();
    let width =
        |line: &str| line.split("data-w=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
    let of = |name: &str| {
        bars.iter().find(|line| line.contains(&format!("data-n=\"{name}\""))).map(|line| width(line))
    };
    assert_eq!(of("all"), Some(1.0));
    let rows = json(&["functions", &fixture("austin.txt"), "--filter", "^loop$"]);
    let share = rows["functions"][0]["total_share"].as_f64().unwrap();
    assert!((of("loop").unwrap() - share).abs() < 1e-6, "{:?} {share}", of("loop"));
    assert!(!svg.contains("http://") || svg.matches("http").count() == 1, "nothing is fetched");
    let refused = run(&["export", "--to", "svg", &fixture("demo-3.11.pstats")]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("has no stacks"));
}

#[test]
fn what_only_a_timeline_has_is_refused() {
    for args in [["--to", "chrome"].as_slice(), &["--to", "parquet", "-o", "x.parquet"]] {
        let output = run(&[&["export"], args, &[&fixture("pyspy.raw")]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("needs a timeline, and this is a profile"), "{args:?}: {said}");
        assert_eq!(output.status.code(), Some(2));
    }
}
