//! What a hostile file costs as it grows: twice the text takes about twice the time and memory, never four times, and
//! what is bounded stays where it is. Every case runs in a process of its own, so that its peak is its own too.

use std::io::Read;
use std::process::Command;

use stepscope_formats::OpenOptions;
use stepscope_model::Document;

/// A file made of a head, some pieces and a tail. It is written while it is read, so it costs nothing itself.
struct Made {
    case: &'static Case,
    n: usize,
    /// The next piece; 0 is the head.
    next: usize,
    piece: Vec<u8>,
    done: usize,
}

impl Read for Made {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        while self.done == self.piece.len() {
            self.piece = match self.next {
                // `\u{80}` stands for the byte of this number, which no text has.
                0 => self.case.head.chars().map(|c| u8::try_from(c).unwrap()).collect(),
                i if i <= self.n => (self.case.piece)(i).into_bytes(),
                i if i == self.n + 1 => (self.case.tail)(self.n).into_bytes(),
                _ => return Ok(0),
            };
            self.done = 0;
            self.next += 1;
        }
        let n = buf.len().min(self.piece.len() - self.done);
        buf[..n].copy_from_slice(&self.piece[self.done..self.done + n]);
        self.done += n;
        Ok(n)
    }
}

struct Case {
    name: &'static str,
    /// Pieces of the smaller file.
    n: usize,
    head: &'static str,
    piece: fn(usize) -> String,
    tail: fn(usize) -> String,
    /// Most bytes of memory for one more piece. 0: memory does not depend on the pieces.
    bytes_per_piece: u64,
}

const EVENTS: &str = r#"{"traceEvents": ["#;
const CLOSED: fn(usize) -> String = |_| "]}".to_owned();
/// What memory may differ by without meaning anything: buffers under way, the allocator's own.
const NOISE_BYTES: u64 = 6 << 20;

const CASES: &[Case] = &[
    Case {
        name: "one key over and over",
        n: 500_000,
        head: "{",
        piece: |_| r#""a":1,"#.to_owned(),
        tail: |_| r#""traceEvents":[]}"#.to_owned(),
        bytes_per_piece: 0,
    },
    Case {
        name: "ever new keys",
        n: 300_000,
        head: "{",
        piece: |i| format!(r#""k{i}":1,"#),
        tail: |_| r#""traceEvents":[]}"#.to_owned(),
        bytes_per_piece: 0,
    },
    Case {
        name: "long values",
        n: 1500,
        head: "{",
        piece: |i| format!(r#""k{i}":"{}","#, "x".repeat(50_000)),
        tail: |_| r#""traceEvents":[]}"#.to_owned(),
        bytes_per_piece: 0,
    },
    Case {
        name: "devices that are none",
        n: 400_000,
        head: r#"{"deviceProperties":["#,
        piece: |_| "0,".to_owned(),
        tail: |_| r#"0],"traceEvents":[]}"#.to_owned(),
        bytes_per_piece: 100,
    },
    Case {
        name: "begins without an end",
        n: 200_000,
        head: EVENTS,
        piece: |_| r#"{"ph":"B","ts":1},"#.to_owned(),
        tail: CLOSED,
        bytes_per_piece: 120,
    },
    Case {
        name: "begins on lanes of their own",
        n: 100_000,
        head: EVENTS,
        piece: |i| format!(r#"{{"ph":"B","ts":1,"tid":{i}}},"#),
        tail: CLOSED,
        bytes_per_piece: 400,
    },
    Case {
        name: "equal slices",
        n: 200_000,
        head: EVENTS,
        piece: |_| r#"{"ph":"X","name":"a","ts":1,"dur":1,"pid":1},"#.to_owned(),
        tail: CLOSED,
        bytes_per_piece: 120,
    },
    Case {
        name: "lanes",
        n: 100_000,
        head: EVENTS,
        piece: |i| format!(r#"{{"ph":"X","name":"a","pid":{},"tid":{i},"ts":1,"dur":-1}},"#, i % 7),
        tail: CLOSED,
        bytes_per_piece: 400,
    },
    Case {
        name: "broken events",
        n: 100_000,
        head: EVENTS,
        piece: |_| {
            r#"{"ph":"X","name":"a,"pid":1,"tid":1,"ts":5,"dur":1,"args":{"x":[[[1,"y":"z"}},"#.to_owned()
        },
        tail: CLOSED,
        bytes_per_piece: 120,
    },
    Case {
        name: "open lists in one event",
        n: 200_000,
        head: r#"{"traceEvents": [{"ph":"X","name":"a"b","ts":1,"dur":1,"args":{"#,
        piece: |_| r#""a":[[],"#.to_owned(),
        tail: |_| r#""z":1}}]}"#.to_owned(),
        bytes_per_piece: 120,
    },
    Case {
        name: "open events",
        n: 200_000,
        head: EVENTS,
        piece: |_| r#"{"ph":"X","ts":1,"args":[[[[ "#.to_owned(),
        tail: CLOSED,
        bytes_per_piece: 60,
    },
    Case {
        name: "events closed over and over",
        n: 200_000,
        head: EVENTS,
        piece: |_| r#"{"ph":"X","ts":1,"dur":1}] "#.to_owned(),
        tail: CLOSED,
        bytes_per_piece: 120,
    },
    Case {
        name: "arrows at one place",
        n: 150_000,
        head: EVENTS,
        piece: |_| r#"{"ph":"X","ts":1,"dur":1},{"ph":"s","cat":"fwdbwd","ts":1},"#.to_owned(),
        tail: CLOSED,
        bytes_per_piece: 300,
    },
    Case {
        name: "brackets left open",
        n: 40_000,
        head: EVENTS,
        piece: |_| r#"{"ph":"X","a":["#.to_owned(),
        tail: |n| format!("{}x", "]".repeat(2 * n)),
        bytes_per_piece: 300,
    },
    Case {
        name: "brackets in brackets",
        n: 150_000,
        head: r#"[{"ph":"X","ts":1,"dur":1,"k":"#,
        piece: |_| r#"[[],"k":"#.to_owned(),
        tail: |n| format!("1{} x}}]", "]".repeat(n)),
        bytes_per_piece: 120,
    },
    Case {
        name: "deep nesting",
        n: 1_000_000,
        head: r#"{"traceEvents": [{"ph":"X","name":"d","ts":5,"dur":1,"args":{"a":"#,
        piece: |_| "[".to_owned(),
        tail: |n| format!("1{}}}}}]}}", "]".repeat(n)),
        bytes_per_piece: 60,
    },
    Case {
        name: "folded stacks",
        n: 200_000,
        head: "a 1\n",
        piece: |i| format!("main;f{};g{} {i}\n", i % 100, i % 7),
        tail: |_| String::new(),
        bytes_per_piece: 80,
    },
    Case {
        name: "a deep folded stack",
        n: 200_000,
        head: "main",
        piece: |_| ";f".to_owned(),
        tail: |_| " 1\n".to_owned(),
        bytes_per_piece: 80,
    },
    Case {
        name: "ends of calls that never began",
        n: 50_000,
        head: r#"{"shared":{"frames":[]},"profiles":[{"type":"evented","events":["#,
        piece: |_| r#"{"type":"O","frame":0,"at":1},{"type":"C","frame":9,"at":1},"#.to_owned(),
        tail: |_| r#"{"type":"C","frame":0,"at":2}]}]}"#.to_owned(),
        bytes_per_piece: 400,
    },
    Case {
        name: "samples of one frame",
        n: 300_000,
        head: r#"{"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","samples":["#,
        piece: |_| "[0],".to_owned(),
        tail: |_| r#"[0]]}]}"#.to_owned(),
        bytes_per_piece: 100,
    },
    Case {
        name: "functions of a pstats file",
        n: 100_000,
        head: "{",
        piece: |i| {
            let key = format!("(\x03\0\0\0u\x04\0\0\0a.pyi\x07\0\0\0u\x08\0\0\0f{i:07}");
            let row = "i\x01\0\0\0i\x01\0\0\0i\0\0\0\0i\0\0\0\0";
            format!("{key}(\x05\0\0\0{row}{{{key}(\x04\0\0\0{row}0")
        },
        tail: |_| "0".to_owned(),
        bytes_per_piece: 1500,
    },
    Case {
        name: "tuples of a pstats file that never end",
        n: 500_000,
        head: "{",
        piece: |_| "(\x01\0\0\0".to_owned(),
        tail: |_| "N".to_owned(),
        bytes_per_piece: 30,
    },
    Case {
        name: "marks of a line_profiler file",
        n: 500_000,
        // The file is no text, so its first byte is made of one that is: see `Made`.
        head: "\u{80}\x02cline_profiler\nLineStats\n",
        piece: |_| "(]2ea".to_owned(),
        tail: |_| ".".to_owned(),
        bytes_per_piece: 120,
    },
    Case {
        name: "profiles without anything",
        n: 200_000,
        head: r#"{"shared":{"frames":[]},"profiles":["#,
        piece: |_| r#"{"type":"x"},"#.to_owned(),
        tail: |_| r#"{"type":"x"}]}"#.to_owned(),
        bytes_per_piece: 120,
    },
];

/// What reading one file took.
#[derive(Clone, Copy, Debug)]
struct Cost {
    cpu_ms: u64,
    peak_bytes: u64,
}

/// Runs [`child`] on a case in another process.
fn cost(case: &Case, n: usize) -> Cost {
    let output = start(case, n, None);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{} × {n}: {text}", case.name);
    let words = text.lines().find_map(|line| line.split("cost: ").nth(1)).expect("a line with the cost");
    let numbers: Vec<u64> = words.split(' ').map(|word| word.parse().unwrap()).collect();
    Cost { cpu_ms: numbers[0], peak_bytes: numbers[1] }
}

fn start(case: &Case, n: usize, most_kib: Option<u64>) -> std::process::Output {
    let limit = most_kib.map_or("unlimited".to_owned(), |kib| kib.to_string());
    Command::new("sh")
        .args([
            "-c",
            r#"ulimit -v "$1" && exec "$2" --exact growth::child --ignored --nocapture"#,
            "sh",
            &limit,
        ])
        .arg(std::env::current_exe().unwrap())
        .env("STEPSCOPE_GROWTH", format!("{n} {}", case.name))
        .output()
        .unwrap()
}

/// Not a test of its own: what the others start.
#[test]
#[ignore = "started by the other tests of this file"]
fn child() {
    let Ok(words) = std::env::var("STEPSCOPE_GROWTH") else { return };
    let (n, name) = words.split_once(' ').unwrap();
    let case = CASES.iter().find(|case| case.name == name).unwrap();
    let made = Made { case, n: n.parse().unwrap(), next: 0, piece: Vec::new(), done: 0 };
    // Some of these are refused, which may cost no more than reading them.
    if let Ok(Document::Trace(trace)) = stepscope_formats::read(made, name, &OpenOptions::default()) {
        crate::assert_ledger_closes(&trace);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // User and system time in hundredths of a second, the 12th and 13th field after the name.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let line = format!("\ncost: {} {}\n", ticks * 10, kib << 10);
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn twice_the_file_costs_twice_as_much() {
    for case in CASES {
        let base = cost(case, 0);
        let (one, two) = (cost(case, case.n), cost(case, 2 * case.n));
        let (small, large) = (one.peak_bytes - base.peak_bytes, two.peak_bytes.saturating_sub(base.peak_bytes));
        let (name, n) = (case.name, case.n as u64);
        if std::env::var_os("STEPSCOPE_SHOW_COST").is_some() {
            let line = format!("{name}: {one:?} {two:?}, {} bytes per piece\n", large / 2 / n);
            std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
        }
        let room = NOISE_BYTES + case.bytes_per_piece * 2 * n;
        if case.bytes_per_piece > 0 {
            assert!(large < room, "{name}: {large} bytes for {} pieces", 2 * n);
            assert!(large < small * 5 / 2 + NOISE_BYTES, "{name}: {small} bytes, then {large}");
        } else {
            assert!(large < small + NOISE_BYTES, "{name}: {small} bytes, then {large}, though it is bounded");
        }
        // A busy machine may slow one of the two down: only what is slow again and again counts.
        let grows = |one: Cost, two: Cost| two.cpu_ms > one.cpu_ms * 3 + 60;
        let again = || grows(cost(case, case.n), cost(case, 2 * case.n));
        assert!(!(grows(one, two) && again() && again()), "{name}: {one:?}, then {two:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn small_files_with_many_keys_fit_a_small_memory() {
    for (name, n) in [("one key over and over", 4_000_000), ("ever new keys", 3_000_000)] {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        let output = start(case, n, Some(300 << 10));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "large: a minute of processor time"]
fn twenty_million_begins_fit_into_a_gigabyte_and_a_half() {
    let case = CASES.iter().find(|case| case.name == "begins without an end").unwrap();
    let output = start(case, 20_000_000, Some(3 << 19));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
