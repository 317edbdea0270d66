//! What Python's profilers write, against what they print about it themselves.

use std::collections::BTreeSet;
use std::path::PathBuf;

use stepscope_formats::{OpenOptions, open, read, write_pprof, write_pstats};
use stepscope_model::{Document, FrameId, Kind, LineIs, Profile, Trace, ValueUnit};
use stepscope_testkit::damage;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles").join(name)
}

fn profile(name: &str) -> Profile {
    match open(&path(name), &OpenOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}")) {
        Document::Profile(profile) => profile,
        other => panic!("{name}: {:?}", other.kind()),
    }
}

fn from(bytes: &[u8]) -> Result<Document, stepscope_formats::ReadError> {
    read(bytes, "test", &OpenOptions::default())
}

fn trace(name: &str) -> Trace {
    match open(&path(name), &OpenOptions::default()).unwrap() {
        Document::Trace(trace) => trace,
        other => panic!("{name}: {:?}", other.kind()),
    }
}

fn place(profile: &Profile, id: FrameId) -> String {
    let frame = profile.stacks.get(id);
    let (name, file) = (profile.stacks.text(frame.name), profile.stacks.text(frame.file));
    match (file, name.strip_prefix('<').and_then(|name| name.strip_suffix('>'))) {
        ("", Some(inner)) => format!("{{{inner}}}"),
        ("", None) => name.to_owned(),
        _ => format!("{file}:{}({name})", frame.line),
    }
}

/// The lines of `print_stats`, as pstats formats them.
fn printed(profile: &Profile) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for row in &profile.calls {
        let calls = match row.calls == row.primitive_calls {
            true => row.calls.to_string(),
            false => format!("{}/{}", row.calls, row.primitive_calls),
        };
        let (own, total) = (row.self_ns.0 as f64 / 1e9, row.total_ns.0 as f64 / 1e9);
        let (each, whole) = (own / row.calls as f64, total / row.primitive_calls as f64);
        let name = place(profile, row.frame);
        lines.insert(format!("{calls:>9} {own:8.3} {each:8.3} {total:8.3} {whole:8.3} {name}"));
    }
    lines
}

/// Callers as `callee <- calls, own time, total time, caller`.
fn callers(profile: &Profile) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for row in &profile.calls {
        for caller in &row.callers {
            let calls = match caller.calls == caller.primitive_calls {
                true => caller.calls.to_string(),
                false => format!("{}/{}", caller.calls, caller.primitive_calls),
            };
            let (own, total) = (caller.self_ns.0 as f64 / 1e9, caller.total_ns.0 as f64 / 1e9);
            let (callee, name) = (place(profile, row.frame), place(profile, caller.frame));
            lines.insert(format!("{callee} <- {calls} {own:.3} {total:.3} {name}"));
        }
    }
    lines
}

/// What pstats printed below a line that begins like this, as a set of the lines with a number of calls.
fn table(text: &str, below: &str) -> BTreeSet<String> {
    let mut lines = text.lines().skip_while(|line| !line.contains(below));
    lines.find(|line| line.contains("filename:lineno(function)"));
    lines.take_while(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn functions_of_cprofile_are_as_pstats_prints_them() {
    for version in ["3.8", "3.11", "3.13"] {
        let name = format!("demo-{version}.pstats");
        let found = profile(&name);
        let text = std::fs::read_to_string(path(&format!("{name}.txt"))).unwrap();
        assert_eq!(printed(&found), table(&text, "Ordered by: cumulative time"), "{version}");
        let (calls, primitive): (u64, u64) =
            found.calls.iter().fold((0, 0), |sum, row| (sum.0 + row.calls, sum.1 + row.primitive_calls));
        let seconds = found.calls.iter().map(|row| row.self_ns.0).sum::<i64>() as f64 / 1e9;
        let head = format!("{calls} function calls ({primitive} primitive calls) in {seconds:.3} seconds");
        assert!(text.contains(&head), "{head}");
        assert_eq!((found.line_is, found.source.format.as_str()), (LineIs::Start, "pstats"));
        assert!(found.notes.is_empty());
    }
}

#[test]
fn callers_of_cprofile_are_as_pstats_prints_them() {
    let found = profile("demo-3.11.pstats");
    let text = std::fs::read_to_string(path("demo-3.11.pstats.txt")).unwrap();
    let mut want = BTreeSet::new();
    let mut callee = String::new();
    for line in text.lines().skip_while(|line| !line.contains("was called by...")).skip(2) {
        if line.contains("called...") {
            break;
        }
        let Some((left, right)) = line.split_once("<-").or_else(|| line.split_at_checked(callee_width(&text)))
        else {
            continue;
        };
        if !left.trim().is_empty() {
            callee = left.trim().to_owned();
        }
        let words: Vec<&str> = right.split_whitespace().collect();
        if let [calls, own, total, rest @ ..] = &words[..] {
            want.insert(format!("{callee} <- {calls} {own} {total} {}", rest.join(" ")));
        }
    }
    assert!(want.len() > 12, "{want:?}");
    assert_eq!(callers(&found), want);
}

/// Where the list of callers begins on a line.
fn callee_width(text: &str) -> usize {
    text.lines().find_map(|line| line.find("<-")).unwrap() + 2
}

#[test]
fn python_2_and_pyinstrument_write_pstats_too() {
    let old = profile("demo-2.7.pstats");
    let fib = old.calls.iter().find(|row| old.stacks.name(row.frame) == "fib").unwrap();
    assert_eq!((fib.calls, fib.primitive_calls), (8361, 1));
    let sampled = profile("pyinstrument.pstats");
    let find = sampled.calls.iter().find(|row| sampled.stacks.name(row.frame) == "Pattern.findall").unwrap();
    // The number of calls is not known to a sampler; the times are.
    assert_eq!((find.calls, find.self_ns.0, find.total_ns.0), (0, 101_605_178, 101_605_178));
}

#[test]
fn a_pstats_file_written_is_the_same() {
    for name in ["demo-3.13.pstats", "demo-2.7.pstats"] {
        let first = profile(name);
        let mut text = Vec::new();
        write_pstats(&first, &first.calls, &mut text).unwrap();
        let Document::Profile(again) = from(&text).unwrap() else { panic!() };
        assert_eq!(first.calls, again.calls, "{name}");
        assert_eq!(printed(&first), printed(&again));
    }
}

#[test]
fn lines_are_as_line_profiler_prints_them() {
    for version in ["3.5", "4.1", "5.1"] {
        let name = format!("hot-{version}.lprof");
        let found = profile(&name);
        let text = std::fs::read_to_string(path(&format!("{name}.txt"))).unwrap();
        let mut lines = 0;
        for of_function in found.lines.chunk_by(|a, b| a.function == b.function) {
            let frame = found.stacks.get(of_function[0].function);
            let head = format!("Function: {} at line {}", found.stacks.text(frame.name), frame.line);
            let below = text.split(&head).nth(1).unwrap_or_else(|| panic!("{version}: {head}"));
            let below = below.split("Total time").next().unwrap();
            for row in of_function {
                let want = below.lines().find_map(|line| {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    (words.first() == Some(&row.line.to_string().as_str())).then_some(words)
                });
                let words = want.unwrap();
                assert_eq!(words[1], row.hits.to_string(), "{version}: line {}", row.line);
                assert_eq!(
                    words[2].parse::<f64>().unwrap(),
                    (row.ns.0 as f64 / 100.0).round() / 10.0,
                    "{version}"
                );
                lines += 1;
            }
        }
        assert_eq!(lines, found.lines.len());
        assert!(lines >= 9 && found.notes.is_empty(), "{version}: {lines}");
    }
}

/// The sum of a value by the innermost frame.
fn leaves(profile: &Profile) -> Vec<(String, u32, i64)> {
    let mut sums: std::collections::BTreeMap<(String, u32), i64> = Default::default();
    for sample in profile.samples().iter() {
        let leaf = profile.stacks.pop(sample.stack).map(|(_, frame)| profile.stacks.get(frame));
        let leaf = leaf.map(|leaf| (profile.stacks.text(leaf.name).to_owned(), leaf.line)).unwrap_or_default();
        *sums.entry(leaf).or_default() += sample.amounts[0];
    }
    sums.into_iter().map(|((name, line), sum)| (name, line, sum)).collect()
}

#[test]
fn folded_stacks_of_py_spy_and_austin_keep_places_and_threads() {
    let py_spy = profile("pyspy.raw");
    assert!(py_spy.parts.iter().any(|part| part.ends_with(": MainThread")), "{:?}", py_spy.parts);
    assert!(leaves(&py_spy).iter().any(|(name, line, _)| name == "loop" && [9, 10].contains(line)));
    assert!(py_spy.stacks.frames().all(|(_, frame)| frame.line > 0));
    let austin = profile("austin.txt");
    assert_eq!(austin.values()[0].unit, ValueUnit::Nanoseconds);
    assert_eq!(austin.parts.len(), 2, "{:?}", austin.parts);
    assert!(austin.parts.iter().all(|part| part.starts_with("process ") && part.contains(", thread ")));
    // The file's own numbers, in microseconds.
    let text = std::fs::read_to_string(path("austin.txt")).unwrap();
    let weights = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    let micros: i64 = weights.map(|(_, weight)| weight.parse::<i64>().unwrap()).sum();
    assert_eq!(austin.total(0), micros * 1000);
    assert!(austin.notes.is_empty());
}

#[test]
fn pprof_says_the_same_as_what_it_was_made_of() {
    let (pprof, austin) = (profile("austin.pprof"), profile("austin.txt"));
    assert_eq!(pprof.values()[0].unit, ValueUnit::Nanoseconds);
    assert_eq!(pprof.total(0), austin.total(0));
    assert_eq!(leaves(&pprof), leaves(&austin));
    let mut text = Vec::new();
    write_pprof(&pprof, &mut text).unwrap();
    let Document::Profile(again) = from(&text).unwrap() else { panic!() };
    assert_eq!((leaves(&again), again.values()), (leaves(&pprof), pprof.values()));
}

#[test]
fn lines_in_speedscope_are_what_their_writer_means() {
    let (py_spy, pyinstrument) = (profile("pyspy.speedscope.json"), profile("pyinstrument.speedscope.json"));
    assert_eq!((py_spy.line_is, pyinstrument.line_is), (LineIs::Current, LineIs::Start));
    let line = |profile: &Profile, name: &str| {
        let frames = profile.stacks.frames().filter(|(id, _)| profile.stacks.name(*id) == name);
        frames.map(|(_, frame)| frame.line).collect::<Vec<_>>()
    };
    // `main` starts at line 25 of busy.py and calls what takes time at lines 30 and 31.
    assert_eq!(line(&pyinstrument, "main"), [25]);
    assert!(
        line(&py_spy, "main").iter().all(|line| [28, 30, 31].contains(line)),
        "{:?}",
        line(&py_spy, "main")
    );
}

#[test]
fn traces_of_python_tools_have_functions() {
    for (name, function) in [("viztracer.json.gz", "fib (demo.py:13)"), ("pyspy.chrometrace.json.gz", "loop")] {
        let trace = trace(name);
        let slices = trace.slices();
        let found = slices.ids().filter(|&id| trace.name(id) == function);
        assert!(found.map(|id| slices.kind(id)).all(|kind| kind == Kind::PythonFunction), "{name}");
        assert!(slices.ids().any(|id| trace.name(id) == function), "{name}");
    }
}

#[test]
fn damaged_files_end_in_a_sentence() {
    for name in ["demo-3.11.pstats", "hot-5.1.lprof", "austin.pprof"] {
        let bytes = std::fs::read(path(name)).unwrap();
        let cuts: Vec<usize> = damage::places(bytes.len(), 3).filter(|&cut| cut >= 2).collect();
        let refused = cuts.iter().filter(|&&cut| from(&bytes[..cut]).is_err()).count();
        assert!(refused > cuts.len() / 2, "{name}: {refused} of {}", cuts.len());
        let error = from(&bytes[..bytes.len() - 9]).unwrap_err();
        assert!(error.to_string().contains(" is damaged ("), "{error}");
        for at in damage::places(bytes.len(), 3) {
            for bit in damage::bits(at) {
                let mut copy = bytes.clone();
                copy[at] ^= bit;
                // Whatever comes of it, it ends.
                let _ = from(&copy);
            }
        }
    }
}

#[test]
fn one_list_for_every_function_is_refused() {
    // A row's callers are a list of 100 that every row refers to: 10,000 of those would be a million.
    let mut text = b"{".to_vec();
    let key = |i: u16| {
        let mut key = b"(\x03\0\0\0u\x01\0\0\0ai\x01\0\0\0u\x02\0\0\0".to_vec();
        key.extend_from_slice(&(i % 0x7f7f).to_le_bytes().map(|b| b & 0x7f | 0x20));
        key
    };
    for i in 0..10_000 {
        text.extend(key(i));
        text.extend_from_slice(b"(\x05\0\0\0i\x01\0\0\0i\x01\0\0\0g\0\0\0\0\0\0\0\0g\0\0\0\0\0\0\0\0");
        if i > 0 {
            text.extend_from_slice(b"r\0\0\0\0");
            continue;
        }
        text.push(b'{' | 0x80);
        for caller in 0..2000 {
            text.extend(key(caller));
            text.extend_from_slice(b"i\x01\0\0\0");
        }
        text.push(b'0');
    }
    text.push(b'0');
    let error = from(&text).unwrap_err();
    assert!(error.to_string().contains("used over and over"), "{error}");
}
