//! What a hostile file costs as it grows: twice the text takes about twice the time and memory, never four times, and
//! what is bounded stays where it is. Every case runs in a process of its own, so that its peak is its own too.

use std::io::Read;
use std::process::Command;

use stepscope_formats::OpenOptions;
use stepscope_model::Document;
use stepscope_testkit::damage;

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
                // `\u{80}` represents the byte of this number, which no text has.
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
        name: "entries of a snapshot",
        n: 200_000,
        head: concat!("\u{80}\x02}(X\x08\0\0\0segments]", "X\x0d\0\0\0device_traces]]("),
        piece: snapshot_entry,
        tail: |_| "eau.".to_owned(),
        bytes_per_piece: 60,
    },
    Case {
        name: "one list of a snapshot for every device",
        n: 100_000,
        head: concat!("\u{80}\x02}(X\x08\0\0\0segments]", "X\x0d\0\0\0device_traces]q\x01(]q\0"),
        // The list gets one more entry and is there once more.
        piece: |i| format!("h\0{}a", snapshot_entry(i)),
        tail: |_| "eu.".to_owned(),
        bytes_per_piece: 120,
    },
    Case {
        name: "one segment of a snapshot over and over",
        n: 100_000,
        head: concat!(
            "\u{80}\x02}(X\x08\0\0\0segments](}q\0(X\x07\0\0\0addressK\x01X\x0a\0\0\0total_sizeK\x01",
            "X\x06\0\0\0blocks]q\x01u"
        ),
        // Its blocks get one more, and it is there once more.
        piece: |_| "h\x01}(X\x04\0\0\0sizeK\x01ua0h\0".to_owned(),
        tail: |_| "eu.".to_owned(),
        bytes_per_piece: 250,
    },
    Case {
        name: "one key of a snapshot over and over",
        n: 300_000,
        head: "\u{80}\x02}(X\x08\0\0\0segments]",
        piece: |_| "X\x01\0\0\0aK\x01".to_owned(),
        tail: |_| "u.".to_owned(),
        bytes_per_piece: 120,
    },
    Case {
        name: "dictionaries of a snapshot in each other",
        n: 200_000,
        head: "\u{80}\x02}(X\x08\0\0\0segments]",
        piece: |_| "K\x01}(".to_owned(),
        tail: |n| format!("{}.", "u".repeat(n + 1)),
        bytes_per_piece: 200,
    },
    Case {
        name: "places of a snapshot in no order",
        n: 200_000,
        head: "\u{80}\x02}(X\x08\0\0\0segments]X\x01\0\0\0a](",
        piece: |i| format!("Nr{}", four(i.wrapping_mul(2_654_435_761) + 9)),
        tail: |_| "eu.".to_owned(),
        bytes_per_piece: 200,
    },
    Case {
        name: "stacks of a snapshot that are all new",
        n: 100_000,
        head: concat!(
            "\u{80}\x02}(X\x08\0\0\0segments]X\x01\0\0\0a](",
            "}(X\x04\0\0\0nameX\x01\0\0\0fX\x08\0\0\0filenameX\x01\0\0\0pX\x04\0\0\0lineK\x01uq\0",
            "}(X\x04\0\0\0nameX\x01\0\0\0gX\x08\0\0\0filenameX\x01\0\0\0pX\x04\0\0\0lineK\x02uq\x01",
        ),
        piece: |i| {
            let frames: String = (0..18).map(|bit| if i >> bit & 1 == 0 { "h\0" } else { "h\x01" }).collect();
            format!("]({frames}e")
        },
        tail: |_| "eu.".to_owned(),
        bytes_per_piece: 500,
    },
    Case {
        name: "a text of a snapshot that never ends",
        n: 100_000,
        head: "\u{80}\x02}(X\x08\0\0\0segmentsX\x7f\x7f\x7f\x7f",
        piece: |_| "x".repeat(100),
        tail: |_| String::new(),
        bytes_per_piece: 400,
    },
    Case {
        name: "planes of devices",
        n: 60_000,
        head: "",
        piece: |i| {
            let named = |name: &str| field('\x12', &format!("\x08\x01{}", field('\x12', name)));
            let event = field('"', "\x08\x01\x18\x7f");
            let line = field('\x1a', &format!("\x12\x09Stream #1{event}"));
            let event_names = field('"', &format!("\x08\x01{}", named("k")));
            let stat_names = field('*', &format!("\x08\x01{}", named("core_count")));
            let name = field('\x12', &format!("/device:GPU:{i}"));
            field('\n', &format!("{name}{line}{event_names}{stat_names}{}", field('2', "\x08\x01\x18\x05")))
        },
        tail: |_| String::new(),
        bytes_per_piece: 2_000,
    },
    Case {
        name: "lines of threads and of calls",
        n: 60_000,
        // One plane that never ends: its name, then a module and a call by their numbers.
        head: concat!(
            "\x0a\u{80}\u{80}\u{80}\u{80}\u{80}\u{80}\x40\x12\x09/host:CPU",
            "\"\x19\x08\x01\x12\x15\x08\x01\x12\x11jm:XLA GPU module",
            "\"\x16\x08\x02\x12\x12\x08\x02\x12\x0ehipMemcpyAsync",
        ),
        piece: |i| {
            let (is, name) = if i % 2 == 0 { ('\x01', "python") } else { ('\x02', "Host Threads/") };
            let event = field('"', &format!("\x08{is}\x18\x7f"));
            let name = field('\x12', &format!("{name}{i}"));
            // The line's number in eight bytes.
            field('\x1a', &format!("\x09{}\0\0\0\0{name}{event}", four(i)))
        },
        tail: |_| String::new(),
        bytes_per_piece: 2_000,
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

/// A field of a protocol buffer that is shorter than 128 bytes.
fn field(tag: char, message: &str) -> String {
    assert!(message.len() < 128, "{message:?}");
    format!("{tag}{}{message}", char::from(message.len() as u8))
}

fn four(number: usize) -> String {
    (0..4).map(|at| char::from((number >> (7 * at) & 0x7f) as u8)).collect()
}

/// An allocation in protocol 2.
fn snapshot_entry(at: usize) -> String {
    let address = four(at * 512);
    format!("}}(X\x06\0\0\0actionX\x05\0\0\0allocX\x04\0\0\0addrJ{address}X\x04\0\0\0sizeM\0\x02u")
}

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
    let Ok(words) = std::env::var("STEPSCOPE_GROWTH") else {
        println!("skipped: STEPSCOPE_GROWTH is not set, which the other tests of this file do");
        return;
    };
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
    for case in damage::cases(CASES) {
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
