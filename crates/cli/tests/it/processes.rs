//! `dump`, `record` and `top` on Python programs that run while the test does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::{Program, root, run, skip, stdout, stepscope, temp_folder, wait_until};

/// The Python of the machine. README.md asks for one: without it these tests fail.
pub(crate) fn python() -> String {
    let names = ["/usr/bin/python3", "python3"];
    let works =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    names.into_iter().find(works).expect("there is no python3 here").to_owned()
}

/// Starts a Python program that prints `ready`; none where the system does not let one process read another.
pub(crate) fn start(code: &str) -> Option<Program> {
    start_with(code, &[])
}

fn start_with(code: &str, environment: &[(&str, &str)]) -> Option<Program> {
    let mut command = Command::new(python());
    command.args(["-u", "-c", code]).envs(environment.iter().copied()).stdout(Stdio::piped());
    let mut program = Program(command.spawn().unwrap());
    let said = program.first_line();
    let memory = format!(": < /proc/{}/mem", program.pid());
    // The shell plays the program under test: neither is the parent, which may always look.
    let may_read = Command::new("sh").args(["-c", &memory]).stderr(Stdio::null()).status().unwrap().success();
    if !may_read || said == "not allowed" {
        skip("a process may not look at another one here (ptrace)");
        return None;
    }
    assert_eq!(said, "ready");
    Some(program)
}

/// The same, once all of its threads wait.
pub(crate) fn start_still(code: &str) -> Option<Program> {
    let program = start(code)?;
    wait_until_still(&program.pid(), 0);
    Some(program)
}

/// What a process or thread does now, by the system's letter: R runs, S sleeps, T is stopped.
pub(crate) fn state(folder: &Path) -> Option<char> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// Waits until all threads of a process but so many have slept for a while: on a busy machine it takes long to fall asleep.
pub(crate) fn wait_until_still(pid: &str, busy: usize) {
    let awake = || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        threads.filter(|thread| state(&thread.path()) != Some('S')).count()
    };
    let mut in_a_row = 0;
    wait_until("a process to fall asleep", || {
        in_a_row = if awake() <= busy { in_a_row + 1 } else { 0 };
        in_a_row >= 10
    });
}

/// Processor time of a process, in hundredths of a second.
pub(crate) fn cpu_ticks(pid: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// How often the first thread of a process has waited for something.
fn waits(pid: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// Waits until a sampler has waited so often, which it does before a sample. Where it stops threads it waits for each of them
/// too; where looks take longer than the time between them it does not, so let it look rarely. No clock says how often it got
/// to look: on a busy machine that may be a tenth of what was asked for.
pub(crate) fn wait_for_looks(sampler: &mut Program, times: u64) {
    let enough = waits(&sampler.pid()) + times;
    wait_until("the sampler to look", || sampler.has_ended() || waits(&sampler.pid()) >= enough);
}

/// What a sampler of a process that runs says when Ctrl-C ends it after a good many looks.
pub(crate) fn looked(args: &[&str]) -> Output {
    let mut sampler = Program::start(&mut stepscope(args));
    wait_for_looks(&mut sampler, 150);
    sampler.signal("-INT");
    let output = sampler.ended();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The first ten lines of a program that is started to be sampled: it works until its sampler, which is the process in
/// `SAMPLER` or else the one that started it, has looked at it so often.
pub(crate) const SEEN: &str = "
import os
sampler = int(os.environ.get('SAMPLER', os.getppid()))
def waits():
    with open(f'/proc/{sampler}/status') as status:
        return int(status.read().split('voluntary_ctxt_switches:')[1].split()[0])
def until_seen(work=lambda: sum(range(10_000)), times=100):
    enough = waits() + times
    while waits() < enough: work()
    return waits() - enough + times
";

/// NVIDIA's library, as the tests of the recorder have it: 75% busy, 350.5 W, energy of the first device only.
pub(crate) fn fake_nvml(folder: &Path) -> PathBuf {
    let library = folder.join("libnvidia-ml.so.1");
    let source = root().join("crates/record/tests/it/fake_nvml.c");
    // Rust links with it: it is there.
    let made = Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(source).status();
    assert!(made.unwrap().success());
    library
}

pub(crate) const STILL: &str = "
import threading, time
def waits(event):
    event.wait()
def inner(number):
    text = 'seven'
    print('ready')
    time.sleep(600)
threading.Thread(target=waits, args=(threading.Event(),), name='helper', daemon=True).start()
inner(7)
";

/// Works all the time, and has a thread that waits.
pub(crate) const STEADY: &str = "
import threading, time
def spin(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
def half(): spin(0.005)
def main():
    print('ready')
    while True:
        half()
threading.Thread(target=threading.Event().wait, daemon=True).start()
main()
";

#[test]
fn a_dump_shows_threads_lines_and_locals() {
    let Some(program) = start_still(STILL) else { return };
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
    let lines = stdout(&["dump", "--format", "csv", &program.pid()]);
    assert!(lines.lines().nth(1).unwrap().ends_with("false,inner,<string>,8"), "{lines}");
    let table = stdout(&["dump", "--format", "md", &program.pid()]);
    assert!(table.contains("| inner (&lt;string&gt;:8) |") && table.lines().count() == 4, "{table}");
}

#[test]
fn ranks_are_grouped_by_where_they_are() {
    let code =
        |name: &str| format!("import time\ndef {name}():\n    print('ready')\n    time.sleep(600)\n{name}()");
    let mut programs = Vec::new();
    for (rank, name) in ["reduce_all", "load_batch", "reduce_all"].into_iter().enumerate() {
        let Some(program) = start_with(&code(name), &[("RANK", &rank.to_string())]) else { return };
        wait_until_still(&program.pid(), 0);
        programs.push(program);
    }
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

/// Writes what share of the time each function took by its own clock: on a busy machine that is not what it asks for. It
/// ends when it has had a processor for so long, however long that takes.
const TIMED: &str = "
import sys, time
took = {}
def timed(function, seconds):
    began = time.perf_counter()
    function(time.thread_time() + seconds)
    took[function.__name__] = took.get(function.__name__, 0) + time.perf_counter() - began
def half(until):
    while time.thread_time() < until: pass
def three_tenths(until):
    while time.thread_time() < until: pass
def two_tenths(until):
    while time.thread_time() < until: pass
while time.thread_time() < 3:
    timed(half, 0.025)
    timed(three_tenths, 0.015)
    timed(two_tenths, 0.010)
with open(sys.argv[1], 'w') as file:
    for name, seconds in took.items():
        print(name, seconds / sum(took.values()), file=file)
";

#[test]
fn shares_of_a_steady_program_are_right() {
    let folder = temp_folder("steady");
    let (file, truth) = (folder.join("out.folded"), folder.join("truth"));
    let (path, truth_path) = (file.to_str().unwrap(), truth.to_str().unwrap());
    let output = run(&["record", "-r", "1000", "-q", "-o", path, "--", &python(), "-c", TIMED, truth_path]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let truth = std::fs::read_to_string(&truth).unwrap();
    let truth: BTreeMap<&str, f64> = truth
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, share)| (name, share.parse().unwrap()))
        .collect();
    let shares = shares(&std::fs::read_to_string(&file).unwrap(), &["half", "three_tenths", "two_tenths"]);
    // How long Python takes to start is none of the shares.
    let sum: f64 = shares.values().sum();
    assert!(truth.len() == 3 && sum > 0.5, "{shares:?} {truth:?}");
    for (name, share) in &truth {
        let seen = shares.get(*name).copied().unwrap_or(0.0) / sum;
        // Within 0.3 points beside two endless loops on two processors. What runs while the sampler is held up is left out.
        assert!((seen - share).abs() < 0.05, "{name}: {seen} is not {share}; {shares:?} {truth:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_kind_of_file_is_written_and_read_again() {
    let Some(program) = start(STEADY) else { return };
    let folder = temp_folder("kinds");
    for name in ["t.json.gz", "p.svg", "p.folded", "p.speedscope.json", "p.pprof"] {
        let file = folder.join(name);
        let path = file.to_str().unwrap();
        looked(&["record", "--nonblocking", "-r", "500", "--pid", &program.pid(), "-o", path]);
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
    let folder = temp_folder("started");
    let file = folder.join("out.folded");
    let code = format!("{SEEN}def busy():\n    until_seen()\nbusy()\nraise SystemExit(3)");
    let output = run(&["record", "-r", "500", "-o", file.to_str().unwrap(), "--", &python(), "-c", &code]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("exit code 3"), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("busy (<string>:12)"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn workers_are_followed_and_a_killed_process_loses_nothing() {
    let folder = temp_folder("workers");
    let file = folder.join("out.folded");
    let script = folder.join("pool.py");
    // New processes are searched for once per second at the least: 2 s are 400 looks at the most.
    let code = "
import multiprocessing, signal
def work(_): until_seen(times=400)
if __name__ == '__main__':
    multiprocessing.set_start_method('fork')
    with multiprocessing.Pool(2) as pool:
        pool.map(work, range(2))
    os.kill(os.getpid(), signal.SIGKILL)
";
    std::fs::write(&script, format!("{SEEN}{code}")).unwrap();
    let path = file.to_str().unwrap();
    let output = run(&["record", "-s", "-r", "200", "-o", path, "--", &python(), script.to_str().unwrap()]);
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
    let top = |words: &[&str]| {
        let forever = ["top", &program.pid(), "-r", "200", "-d", "1h"];
        String::from_utf8(looked(&[&forever, words].concat()).stdout).unwrap()
    };
    let text = top(&["--once"]);
    assert!(text.contains("spin") && text.contains("GIL held"), "{text}");
    let rows: Value = serde_json::from_str(&top(&["--format", "json"])).unwrap();
    let first = &rows.as_array().unwrap()[0];
    assert_eq!(first["function"], "spin");
    assert!(first["own"].as_f64().unwrap() > 0.8, "{first}");
}

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
    subprocess.Popen(['cat'], stdin=subprocess.PIPE).wait()
def sleeps():
    time.sleep(600)
for target in (locks, receives, child, sleeps, queue.Queue().get, threading.Event().wait):
    threading.Thread(target=target, name=target.__name__, daemon=True).start()
print('ready')
threading.Event().wait()
";

/// The names of the programs that the threads of a process have started.
fn names_of_children(pid: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children = children.collect::<Vec<_>>().concat();
    let name = |child: &str| std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
    children.split_ascii_whitespace().map(|child| name(child).trim().to_owned()).collect()
}

#[test]
fn a_dump_says_what_each_thread_waits_for() {
    let Some(program) = start(WAITING) else { return };
    // Until its child runs, the thread that starts it waits for that.
    wait_until("the child to run", || names_of_children(&program.pid()) == ["cat"]);
    wait_until_still(&program.pid(), 0);
    let threads = dumped_threads(&program.pid(), &[]);
    let waits = |name: &str| {
        let waits = &threads[name]["waits_for"];
        (waits["kind"].as_str().unwrap_or_default(), waits["words"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(waits("locks").0, "lock");
    let (kind, words) = waits("receives");
    assert_eq!(kind, "network");
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
    wait_until("a thread to wait for the GIL", || {
        let text = stdout(&["dump", &program.pid()]);
        text.lines().any(|line| line.contains("waits for the GIL, which thread ") && line.ends_with(" holds"))
    });
}

#[test]
fn native_frames_are_in_dumps_and_recordings() {
    let Some(program) = start_still(STILL) else { return };
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
        let output =
            looked(&["record", "--native", "--idle", "-r", "500", "--pid", &program.pid(), "-o", path]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("its Python threads were stopped for"), "{said}");
    }
    let folded = std::fs::read_to_string(folder.join("p.folded")).unwrap();
    assert!(
        folded.lines().any(|line| line.contains("inner (<string>:8);") && line.contains("libc")),
        "{folded}"
    );
    let functions = stdout(&["functions", folder.join("t.json.gz").to_str().unwrap()]);
    // A thread that sleeps waits in the innermost function there is.
    assert!(functions.contains("nanosleep") || functions.contains("select"), "{functions}");
    let top = looked(&["top", &program.pid(), "--native", "--idle", "-r", "200", "-d", "1h"]);
    let top = String::from_utf8(top.stdout).unwrap();
    assert!(top.contains("nanosleep") || top.contains("select"), "{top}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_gpu_is_in_top_where_there_is_one() {
    let Some(program) = start(STEADY) else { return };
    let top = ["top", &program.pid(), "--once", "-d", "50ms"];
    let plain = stdout(&top);
    let folder = temp_folder("gpu");
    fake_nvml(&folder);
    let output = stepscope(&top)
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
    time.sleep(600)
allowed = ctypes.CDLL(None).ptrace(0, 0, None, None) == 0
print('ready' if allowed else 'not allowed')
waits()
";
    let Some(program) = start_still(code) else { return };
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
    wait_until_still(&program.pid(), 1);
    let switches = || {
        let threads = std::fs::read_dir(format!("/proc/{}/task", program.pid())).unwrap();
        let mut all: Vec<u64> =
            threads.map(|thread| waits(thread.unwrap().file_name().to_str().unwrap())).collect();
        all.sort_unstable();
        // That of the thread that moves is the highest.
        all.pop();
        all.iter().sum::<u64>()
    };
    let file = temp_folder("asleep").join("p.folded");
    let before = switches();
    let mut sampler = Program::start(&mut stepscope(&[
        "record",
        "-n",
        "--idle",
        "-r",
        "200",
        "--pid",
        &program.pid(),
        "-o",
        file.to_str().unwrap(),
    ]));
    wait_for_looks(&mut sampler, 1000);
    sampler.signal("-INT");
    assert!(sampler.ended().status.success());
    let woken = switches() - before;
    let folded = std::fs::read_to_string(&file).unwrap();
    let looks = |what: &[&str]| -> u64 {
        let has = |line: &&str| what.iter().all(|part| line.contains(part));
        let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        folded.lines().filter(has).map(count).sum()
    };
    let (asleep, of_them) = (looks(&["sleeps ("]), looks(&["sleeps (", "/libc"]));
    assert!(asleep > 20 * 10 && of_them == asleep, "{of_them} of {asleep}\n{folded}");
    // Each of 21 threads is woken for the first look at it, which is twice; all of them at every sample would be twice as often
    // as they were looked at.
    assert!(woken < 21 * 4 + asleep / 10, "{woken} for {asleep}");
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
