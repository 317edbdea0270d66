//! `dump`, `record` and `top` on Python programs that run while the test does.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{run, stdout, temp_folder};

/// A program that is ended with the test.
pub(crate) struct Program(pub(crate) Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

/// The first Python of the machine that can be read; none where there is none.
pub(crate) fn python() -> Option<String> {
    let names = ["/usr/bin/python3", "python3"];
    let works =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    names.into_iter().find(works).map(str::to_owned)
}

pub(crate) fn start(code: &str) -> Option<Program> {
    let mut child = Command::new(python()?).args(["-u", "-c", code]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready");
    std::thread::sleep(Duration::from_millis(100));
    Some(Program(child))
}

pub(crate) const STILL: &str = "
import threading, time
def waits(event):
    event.wait()
def inner(number):
    text = 'seven'
    print('ready')
    time.sleep(60)
threading.Thread(target=waits, args=(threading.Event(),), name='helper', daemon=True).start()
inner(7)
";

/// Half of the time in `half`, three tenths in `three_tenths`, two in `two_tenths`; and a thread that waits.
pub(crate) const STEADY: &str = "
import threading, time
def spin(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
def half(): spin(0.005)
def three_tenths(): spin(0.003)
def two_tenths(): spin(0.002)
def main():
    print('ready')
    while True:
        half()
        three_tenths()
        two_tenths()
threading.Thread(target=threading.Event().wait, daemon=True).start()
main()
";

#[test]
fn a_dump_shows_threads_lines_and_locals() {
    let Some(program) = start(STILL) else { return };
    let text = stdout(&["dump", &program.pid(), "--locals"]);
    assert!(text.contains("inner (<string>:8)"), "{text}");
    assert!(text.contains("number = 7") && text.contains("text = \"seven\""), "{text}");
    assert!(text.contains("\"helper\"") && text.contains("\"MainThread\""), "{text}");
    let value: Value = serde_json::from_str(&stdout(&["dump", "--json", "--pid", &program.pid()])).unwrap();
    let threads = value["processes"][0]["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    let frames = threads[0]["frames"].as_array().unwrap();
    assert_eq!((frames[0]["function"].as_str(), frames[0]["line"].as_u64()), (Some("inner"), Some(8)));
    assert_eq!((frames[1]["function"].as_str(), frames[1]["line"].as_u64()), (Some("<module>"), Some(10)));
    assert_eq!(threads[0]["state"], "waiting");
    assert_eq!(threads[0]["holds_gil"], false);
    assert_eq!(threads[1]["name"], "helper");
}

#[test]
fn ranks_are_grouped_by_where_they_are() {
    let Some(python) = python() else { return };
    let code =
        |name: &str| format!("import time\ndef {name}():\n    print('ready')\n    time.sleep(60)\n{name}()");
    let mut programs = Vec::new();
    for (rank, name) in ["reduce_all", "load_batch", "reduce_all"].into_iter().enumerate() {
        let mut child = Command::new(&python)
            .args(["-u", "-c", &code(name)])
            .env("RANK", rank.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        programs.push(Program(child));
    }
    std::thread::sleep(Duration::from_millis(100));
    let value: Value = serde_json::from_str(&stdout(&["dump", "--all", "--json"])).unwrap();
    let pids: Vec<u64> = programs.iter().map(|program| u64::from(program.0.id())).collect();
    let group = |name: &str| {
        let groups = value["standing"].as_array().unwrap().iter();
        let mut found = groups.filter(|group| group["function"] == name);
        found
            .find(|group| {
                group["pids"].as_array().unwrap().iter().any(|pid| pids.contains(&pid.as_u64().unwrap()))
            })
            .unwrap()["ranks"]
            .clone()
    };
    assert_eq!(group("reduce_all"), serde_json::json!([0, 2]));
    assert_eq!(group("load_batch"), serde_json::json!([1]));
    let text = stdout(&["dump", "--all"]);
    assert!(text.contains("2 ranks (0, 2) in reduce_all"), "{text}");
    assert!(text.contains("2 ranks (0, 2) are in reduce_all, but rank 1 is in load_batch"), "{text}");
}

/// Weights of stacks by whether a function is on them.
fn shares(folded: &str, functions: &[&str]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut all = 0.0;
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let count: f64 = count.parse().unwrap();
        all += count;
        for function in functions {
            if stack.split(';').any(|frame| frame.starts_with(&format!("{function} ("))) {
                *sums.entry((*function).to_owned()).or_default() += count;
            }
        }
    }
    sums.into_iter().map(|(name, sum)| (name, sum / all)).collect()
}

/// Times its own functions and writes their shares: on a busy machine they are not what the program asks for.
const TIMED: &str = "
import sys, time
took = {}
def timed(function, seconds):
    began = time.perf_counter()
    function(began + seconds)
    took[function.__name__] = took.get(function.__name__, 0) + time.perf_counter() - began
def half(until):
    while time.perf_counter() < until: pass
def three_tenths(until):
    while time.perf_counter() < until: pass
def two_tenths(until):
    while time.perf_counter() < until: pass
end = time.perf_counter() + 4
while time.perf_counter() < end:
    timed(half, 0.005)
    timed(three_tenths, 0.003)
    timed(two_tenths, 0.002)
with open(sys.argv[1], 'w') as file:
    for name, seconds in took.items():
        print(name, seconds / sum(took.values()), file=file)
";

#[test]
fn shares_of_a_steady_program_are_right() {
    let Some(python) = python() else { return };
    let folder = temp_folder("steady");
    let (file, truth) = (folder.join("out.folded"), folder.join("truth"));
    let (path, truth_path) = (file.to_str().unwrap(), truth.to_str().unwrap());
    // Another try is for a machine that was busy: chance alone stays within 2 points of 4,000 looks.
    let close = (0..3).any(|_| {
        let output = run(&["record", "-r", "1000", "-q", "-o", path, "--", &python, "-c", TIMED, truth_path]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shares = shares(&std::fs::read_to_string(&file).unwrap(), &["half", "three_tenths", "two_tenths"]);
        let truth = std::fs::read_to_string(&truth).unwrap();
        eprintln!("{shares:?}\n{truth}");
        truth.lines().filter_map(|line| line.split_once(' ')).all(|(name, share)| {
            (shares.get(name).copied().unwrap_or(0.0) - share.parse::<f64>().unwrap()).abs() < 0.02
        })
    });
    assert!(close);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_kind_of_file_is_written_and_read_again() {
    let Some(program) = start(STEADY) else { return };
    let folder = temp_folder("kinds");
    for name in ["t.json.gz", "p.svg", "p.folded", "p.speedscope.json", "p.pprof"] {
        let file = folder.join(name);
        let path = file.to_str().unwrap();
        let output = run(&["record", "--nonblocking", "--pid", &program.pid(), "-d", "300ms", "-o", path]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        if name.ends_with("svg") {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("<?xml") || text.contains("<svg"), "{}", &text[..100]);
            assert!(text.contains("half"));
            continue;
        }
        let functions = stdout(&["functions", path]);
        assert!(functions.contains("spin"), "{name}: {functions}");
    }
    let lines = stdout(&["lines", folder.join("t.json.gz").to_str().unwrap(), "--format", "json"]);
    let lines: Value = serde_json::from_str(&lines).unwrap();
    let rows = lines["lines"].as_array().unwrap();
    // `spin` is at its loop, lines 5 and 6 of the program.
    let of_spin: Vec<u64> =
        rows.iter().filter(|row| row["function"] == "spin").map(|row| row["line"].as_u64().unwrap()).collect();
    assert!(!of_spin.is_empty() && of_spin.iter().all(|line| (4..=6).contains(line)), "{rows:?}");
    assert!(rows.iter().all(|row| row["hits"].is_null()));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_is_started_is_sampled_to_its_end() {
    let Some(python) = python() else { return };
    let folder = temp_folder("started");
    let file = folder.join("out.folded");
    let code = "import time\ndef busy():\n    until = time.time() + 0.6\n    while time.time() < until: pass\nbusy()\nraise SystemExit(3)";
    let output = run(&["record", "-r", "500", "-o", file.to_str().unwrap(), "--", &python, "-c", code]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("exit code 3"), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("busy (<string>:4)"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn workers_are_followed_and_a_killed_process_loses_nothing() {
    let Some(python) = python() else { return };
    let folder = temp_folder("workers");
    let file = folder.join("out.folded");
    let script = folder.join("pool.py");
    std::fs::write(
        &script,
        "import multiprocessing, os, signal, time\ndef work(_):\n    until = time.time() + 1.5\n    while time.time() < until: pass\n\
         if __name__ == '__main__':\n    multiprocessing.set_start_method('fork')\n    with multiprocessing.Pool(2) as pool:\n        pool.map(work, range(2))\n    \
         os.kill(os.getpid(), signal.SIGKILL)\n",
    )
    .unwrap();
    let path = file.to_str().unwrap();
    let output = run(&["record", "-s", "-o", path, "--", &python, script.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(128 + 9), "{said}");
    assert!(said.contains("killed by a signal"), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().any(|line| line.contains("PoolWorker-") && line.contains("work (")), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn top_prints_one_table_without_a_terminal() {
    let Some(program) = start(STEADY) else { return };
    let text = stdout(&["top", &program.pid(), "--once"]);
    assert!(text.contains("spin") && text.contains("GIL held"), "{text}");
    let rows: Value = serde_json::from_str(&stdout(&["top", &program.pid(), "--format", "json"])).unwrap();
    let first = &rows.as_array().unwrap()[0];
    assert_eq!(first["function"], "spin");
    assert!(first["own"].as_f64().unwrap() > 0.8, "{first}");
}

/// The threads of a dump, by name.
fn dumped_threads(pid: &str, options: &[&str]) -> BTreeMap<String, Value> {
    let mut words = vec!["dump", pid, "--json"];
    words.extend_from_slice(options);
    let value: Value = serde_json::from_str(&stdout(&words)).unwrap();
    let threads = value["processes"][0]["threads"].as_array().unwrap().iter();
    threads.map(|thread| (thread["name"].as_str().unwrap().to_owned(), thread.clone())).collect()
}

const WAITING: &str = "
import queue, socket, subprocess, threading, time
lock = threading.Lock()
lock.acquire()
listener = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(listener.getsockname())
def locks():
    lock.acquire()
def receives():
    client.recv(1)
def child():
    subprocess.run(['sleep', '30'])
def sleeps():
    time.sleep(60)
for target in (locks, receives, child, sleeps, queue.Queue().get, threading.Event().wait):
    threading.Thread(target=target, name=target.__name__, daemon=True).start()
time.sleep(0.5)
print('ready')
threading.Event().wait()
";

#[test]
fn a_dump_says_what_each_thread_waits_for() {
    let Some(program) = start(WAITING) else { return };
    let threads = dumped_threads(&program.pid(), &[]);
    let waits = |name: &str| {
        let waits = &threads[name]["waits_for"];
        (waits["kind"].as_str().unwrap_or_default(), waits["words"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(waits("locks").0, "lock");
    let (kind, words) = waits("receives");
    assert_eq!(kind, "file");
    assert!(words.starts_with("to read a socket to 127.0.0.1:"), "{words}");
    assert_eq!(waits("child"), ("child", "for a child process to end".to_owned()));
    assert_eq!(waits("sleeps").0, "sleep");
    assert_eq!(waits("get"), ("lock", "for something in a queue.Queue".to_owned()));
    assert_eq!(waits("wait").0, "lock");
    let text = stdout(&["dump", &program.pid()]);
    assert!(text.contains("\"get\"  waits for something in a queue.Queue"), "{text}");
}

#[test]
fn a_thread_that_waits_for_the_interpreter_is_told_who_holds_it() {
    let busy = "
import threading
def spin():
    while True: pass
for n in range(3): threading.Thread(target=spin, name=f'spin-{n}', daemon=True).start()
print('ready')
spin()
";
    let Some(program) = start(busy) else { return };
    let found = (0..40).any(|_| {
        let text = stdout(&["dump", &program.pid()]);
        std::thread::sleep(Duration::from_millis(20));
        text.lines().any(|line| line.contains("waits for the GIL, which thread ") && line.ends_with(" holds"))
    });
    assert!(found, "{}", stdout(&["dump", &program.pid()]));
}

#[test]
fn native_frames_are_in_dumps_and_recordings() {
    let Some(program) = start(STILL) else { return };
    let text = stdout(&["dump", &program.pid(), "--native"]);
    let inner = text.find("    inner (<string>:8)").unwrap();
    let sleeps = text.find("nanosleep (libc").or_else(|| text.find("select (libc")).unwrap();
    assert!(sleeps < inner, "{text}");
    let threads = dumped_threads(&program.pid(), &["--native"]);
    let frames = threads["MainThread"]["frames"].as_array().unwrap();
    assert_eq!(frames[0]["native"], true);
    assert!(frames[0]["file"].as_str().unwrap().contains("libc"), "{frames:?}");
    let folder = temp_folder("native");
    for name in ["p.folded", "t.json.gz", "p.svg"] {
        let path = folder.join(name);
        let path = path.to_str().unwrap();
        let output = run(&["record", "--native", "--idle", "--pid", &program.pid(), "-d", "300ms", "-o", path]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains("its Python threads were stopped for"), "{said}");
    }
    let folded = std::fs::read_to_string(folder.join("p.folded")).unwrap();
    assert!(
        folded.lines().any(|line| line.contains("inner (<string>:8);") && line.contains("libc")),
        "{folded}"
    );
    let functions = stdout(&["functions", folder.join("t.json.gz").to_str().unwrap()]);
    // A thread that sleeps waits in the innermost function there is.
    assert!(functions.contains("nanosleep") || functions.contains("select"), "{functions}");
    let top = stdout(&["top", &program.pid(), "--once", "--native", "--idle"]);
    assert!(top.contains("nanosleep") || top.contains("select"), "{top}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_gpu_is_in_top_where_there_is_one() {
    let Some(program) = start(STEADY) else { return };
    let plain = stdout(&["top", &program.pid(), "--once"]);
    let folder = temp_folder("gpu");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/it/fake_nvml.c");
    let library = folder.join("libnvidia-ml.so.1");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no C compiler here");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_stepscope"))
        .args(["top", &program.pid(), "--once"])
        .env("LD_LIBRARY_PATH", &folder)
        .env("FAKE_NVML_PID", program.pid())
        .env("COLUMNS", "200")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for device in ["GPU 0", "GPU 1"] {
        let expected = format!("{device} busy 75.0% · memory of this process 3.00 GiB · 350 W");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&expected), "{text}");
    }
    // Another process uses them.
    assert!(!plain.contains("GPU 0"), "{plain}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The test itself becomes the one who traces the program.
#[test]
fn a_process_that_is_traced_already_can_be_read_but_not_stopped() {
    let code = "
import ctypes, time
def waits():
    time.sleep(60)
assert ctypes.CDLL(None).ptrace(0, 0, None, None) == 0
print('ready')
waits()
";
    let Some(program) = start(code) else { return };
    for mode in ["--native", "--blocking"] {
        let output = run(&["dump", mode, &program.pid()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("is traced by process "), "{said}");
        assert!(said.contains("leave --native and --blocking out"), "{said}");
    }
    assert!(stdout(&["dump", &program.pid()]).contains("waits (<string>:4)"));
}

/// Native frames of threads that sleep are read once; a thread that wakes up is looked at again.
#[test]
fn threads_that_sleep_are_not_woken_for_their_native_frames() {
    let code = "
import threading, time
def sleeps():
    threading.Event().wait()
def moves():
    while True:
        time.sleep(0.01)
        sum(range(400_000))
for _ in range(20):
    threading.Thread(target=sleeps, daemon=True).start()
threading.Thread(target=moves, daemon=True).start()
print('ready')
threading.Event().wait()
";
    let Some(program) = start(code) else { return };
    let switches = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", program.pid())).unwrap();
        let of = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.map_or(0, |count| count.trim().parse::<u64>().unwrap())
        };
        let mut all: Vec<u64> = tasks.map(|task| of(task.unwrap())).collect();
        all.sort_unstable();
        // That of the thread that moves is the highest.
        all.pop();
        all.iter().sum::<u64>()
    };
    let file = temp_folder("asleep").join("p.folded");
    let path = file.to_str().unwrap();
    let before = switches();
    let output = run(&["record", "-n", "--idle", "-r", "200", "--pid", &program.pid(), "-d", "2s", "-o", path]);
    assert!(output.status.success());
    let woken = switches() - before;
    // 21 threads, 400 looks: each would be woken twice per look.
    assert!(woken < 21 * 40, "{woken}");
    let folded = std::fs::read_to_string(&file).unwrap();
    let looks = |what: &[&str]| -> u64 {
        let has = |line: &&str| what.iter().all(|part| line.contains(part));
        let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        folded.lines().filter(has).map(count).sum()
    };
    let (asleep, of_them) = (looks(&["sleeps ("]), looks(&["sleeps (", "/libc"]));
    assert!(asleep > 4000 && of_them == asleep, "{of_them} of {asleep}\n{folded}");
    assert!(looks(&["moves (<string>:7)"]) > 0 && looks(&["moves (<string>:8)"]) > 0, "{folded}");
}

#[test]
fn what_cannot_be_read_is_said_with_what_to_do() {
    let failed = |args: &[&str]| {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(failed(&["dump", "4194303"]).contains("there is no process with this number"));
    assert!(failed(&["record", "--pid", "4194303"]).contains("there is no process"));
    let own = std::process::id().to_string();
    let said = failed(&["dump", &own]);
    assert!(said.contains("no Python in process") && said.contains("dump --all"), "{said}");
    assert!(failed(&["record", "--pid", &own, "-o", "a.exe"]).contains("does not say what to write"));
    assert!(failed(&["record"]).contains("no process given"));
    assert!(failed(&["record", "--", "/nowhere/python"]).contains("cannot start"));
    assert!(failed(&["record", "--native", "--nonblocking", "--pid", &own]).contains("--nonblocking"));
    assert!(failed(&["top"]).contains("PID"));
}
