//! Python programs that end, fork, become others, or may not be read while `dump` and `record` look at them.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::processes::{Program, STEADY, STILL, python, start};
use crate::{run, stdout, temp_folder};

const SECOND: &str = "
def second():
    import time
    until = time.time() + 2.5
    while time.time() < until: pass
second()
";

#[test]
fn a_process_that_becomes_another_program_is_followed() {
    let (Some(python), folder) = (python(), temp_folder("exec")) else { return };
    let spin = "import time\nuntil = time.time() + 1\nwhile time.time() < until: pass\n";
    // Another Python program in its place.
    let (first, second) = (folder.join("first.py"), folder.join("second.py"));
    std::fs::write(&second, SECOND).unwrap();
    let replaced = format!(
        "{spin}import os, sys\nos.execv(sys.executable, [sys.executable, {:?}])\n",
        second.to_str().unwrap()
    );
    std::fs::write(&first, replaced).unwrap();
    let file = folder.join("out.folded");
    let path = file.to_str().unwrap();
    for mode in ["--nonblocking", "--blocking", "--native"] {
        let output = run(&["record", mode, "-r", "200", "-o", path, "--", &python, first.to_str().unwrap()]);
        assert!(output.status.success(), "{mode}: {}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("first.py:") && text.contains("second ("), "{mode}: {text}");
    }
    // Something that is no Python: what was seen is kept, and its exit code is told.
    std::fs::write(&first, format!("{spin}import os\nos.execv('/bin/sh', ['sh', '-c', 'sleep 3; exit 5'])\n"))
        .unwrap();
    for mode in ["--nonblocking", "--native"] {
        let output = run(&["record", mode, "-r", "200", "-o", path, "--", &python, first.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{mode}: {said}");
        assert!(std::fs::read_to_string(&file).unwrap().contains("first.py:"), "{mode}");
        assert!(said.contains("there is no Python in process"), "{mode}: {said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_process_that_forks_all_the_time_is_sampled() {
    let Some(python) = python() else { return };
    let folder = temp_folder("forks");
    let file = folder.join("out.folded");
    let code = "
import os, time
def parent(until):
    while time.time() < until:
        child = os.fork()
        if child == 0: os._exit(0)
        os.waitpid(child, 0)
parent(time.time() + 1)
raise SystemExit(7)
";
    for mode in ["--nonblocking", "--blocking", "--native"] {
        let path = file.to_str().unwrap();
        let output = run(&["record", mode, "-s", "-i", "-r", "200", "-o", path, "--", &python, "-c", code]);
        assert_eq!(output.status.code(), Some(7), "{mode}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::read_to_string(&file).unwrap().contains("parent ("), "{mode}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_process_that_is_killed_leaves_what_was_seen() {
    let folder = temp_folder("killed");
    for mode in ["--nonblocking", "--blocking", "--native"] {
        let Some(mut program) = start(STEADY) else { return };
        let pid = program.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(700));
            program.0.kill().unwrap();
            program.0.wait().unwrap();
        });
        let file = folder.join("out.folded");
        let output = run(&["record", mode, "-r", "500", "--pid", &pid, "-o", file.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        killer.join().unwrap();
        assert!(output.status.success() && said.contains("the process ended"), "{mode}: {said}");
        assert!(std::fs::read_to_string(&file).unwrap().contains("spin ("), "{mode}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_permission_the_command_that_helps_is_named() {
    let Some(program) = start(STILL) else { return };
    // Anybody may run the program from here.
    let own = std::env::temp_dir().join(format!("stepscope-copy-{}", std::process::id()));
    std::fs::copy(env!("CARGO_BIN_EXE_stepscope"), &own).unwrap();
    let tried = |who: &[&str], options: &[&str]| {
        let output =
            Command::new("setpriv").args(who).arg(&own).args(["dump", &program.pid()]).args(options).output();
        let said = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
        said.unwrap_or_default()
    };
    let root =
        std::fs::metadata("/proc/self").is_ok_and(|info| std::os::unix::fs::MetadataExt::uid(&info) == 0);
    if !root || Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("skipped: needs root and setpriv");
        return;
    }
    for options in [&[][..], &["--native"]] {
        let said = tried(&["--reuid=65534", "--clear-groups"], options);
        assert!(said.contains("belongs to another user") && said.contains("sudo"), "{said}");
        let said = tried(&["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"], options);
        assert!(said.contains("--cap-add=SYS_PTRACE"), "{said}");
    }
    let _ = std::fs::remove_file(own);
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let Some(program) = start(STEADY) else { return };
    // A link, so that a mistake costs this folder and not the machine.
    let folder = temp_folder("device");
    let link = folder.join("null");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    let output =
        run(&["record", "--pid", &program.pid(), "-d", "100ms", "-f", "raw", "-o", link.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(link.is_symlink() && std::fs::metadata(&link).unwrap().file_type().is_char_device());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_process_in_other_namespaces_is_read() {
    let Some(python) = python() else { return };
    let words = ["--pid", "--mount", "--fork", "--mount-proc", &python, "-u", "-c", STILL];
    let started = Command::new("unshare").args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = started else {
        eprintln!("skipped: there is no unshare here");
        return;
    };
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let program = Program(child);
    if line.trim() != "ready" {
        eprintln!("skipped: no namespaces may be made here");
        return;
    }
    std::thread::sleep(Duration::from_millis(100));
    let folder = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", program.0.id())).unwrap();
    let inside = folder.split_ascii_whitespace().next().unwrap().to_owned();
    let text = stdout(&["dump", &inside]);
    let native = stdout(&["dump", &inside, "--native"]);
    let _ = Command::new("kill").args(["-9", &inside]).status();
    assert!(text.contains("inner (<string>:8)") && text.contains("MainThread"), "{text}");
    assert!(native.contains("(libc"), "{native}");
    // Threads have other numbers inside; their states are found all the same.
    assert!(text.contains(&format!("Thread {inside} \"MainThread\"  waits until it has slept")), "{text}");
}

#[test]
fn a_link_is_written_through_and_not_replaced() {
    let Some(program) = start(STEADY) else { return };
    let folder = temp_folder("link");
    let (file, link) = (folder.join("real.folded"), folder.join("link.folded"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let output = run(&["record", "--pid", &program.pid(), "-d", "300ms", "-o", link.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap().contains("main ("));
    // The same to the standard output.
    let said = stdout(&["record", "--pid", &program.pid(), "-d", "300ms", "-q", "-f", "raw", "-o", "-"]);
    assert!(said.contains("main ("), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Three threads, one after the other: Python gives the next one the number of the last.
const ONE_AFTER_THE_OTHER: &str = "
import threading, time
def spin():
    until = time.perf_counter() + 0.6
    while time.perf_counter() < until:
        pass
for name in ('alpha', 'beta', 'gamma'):
    thread = threading.Thread(target=spin, name=name)
    thread.start()
    thread.join()
";

#[test]
fn threads_that_follow_each_other_are_not_one() {
    let Some(python) = python() else { return };
    let folder = temp_folder("one-after-the-other");
    let file = folder.join("out.folded");
    let path = file.to_str().unwrap();
    let output = run(&["record", "-t", "-o", path, "--", &python, "-c", ONE_AFTER_THE_OTHER]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    for name in ["alpha", "beta", "gamma"] {
        let lines =
            text.lines().filter(|line| line.contains(&format!("): {name};")) && line.contains("spin ("));
        let looks: u64 = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
        // 60 where the machine has time.
        assert!((20..=90).contains(&looks), "{name}: {looks}\n{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_request_to_end_goes_to_the_program_and_saves() {
    let Some(python) = python() else { return };
    let folder = temp_folder("request");
    let file = folder.join("out.folded");
    let code = STEADY.replace("def main():", "def main():\n    import sys; sys.stdout.flush()");
    let mut recording =
        crate::stepscope(&["record", "-o", file.to_str().unwrap(), "--", &python, "-u", "-c", &code])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    let mut line = String::new();
    BufReader::new(recording.stdout.take().unwrap()).read_line(&mut line).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let told = Command::new("kill").args(["-TERM", &recording.id().to_string()]).status().unwrap();
    assert!(told.success());
    // As a shell says it: ended by a signal.
    assert_eq!(recording.wait().unwrap().code(), Some(128 + 15));
    assert!(std::fs::read_to_string(&file).unwrap().contains("main ("));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_starts_python_is_recorded_with_its_subprocesses() {
    let Some(python) = python() else { return };
    let folder = temp_folder("launcher");
    let file = folder.join("out.folded");
    let path = file.to_str().unwrap();
    let one = |name: &str| {
        format!(
            "def {name}():\n import time\n until = time.time() + 1\n while time.time() < until: pass\n{name}()"
        )
    };
    let shell = "\"$0\" -c \"$1\"; \"$0\" -c \"$2\"; exit 4";
    let words = ["--", "sh", "-c", shell, &python, &one("first"), &one("second")];
    let output = run(&[&["record", "-r", "100", "-s", "-o", path], &words[..]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("first (") && text.contains("second ("), "{said}{text}");
    // Without the option, the hint names it.
    let output = run(&[&["record", "-o", path], &words[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--subprocesses"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_runs_while_the_sampler_is_held_up_is_left_out() {
    let Some(program) = start(STEADY) else { return };
    let folder = temp_folder("held-up");
    let file = folder.join("out.folded");
    let recording =
        crate::stepscope(&["record", "--pid", &program.pid(), "-d", "2", "-o", file.to_str().unwrap()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let signal = |name: &str| Command::new("kill").args([name, &recording.id().to_string()]).status().unwrap();
    std::thread::sleep(Duration::from_millis(800));
    signal("-STOP");
    std::thread::sleep(Duration::from_millis(700));
    signal("-CONT");
    let output = recording.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("was held up for"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}
