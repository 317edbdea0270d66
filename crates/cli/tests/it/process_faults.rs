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
    std::fs::write(&first, format!("{spin}import os\nos.execv('/bin/sh', ['sh', '-c', 'sleep 1; exit 5'])\n"))
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
