//! Python programs that end, fork, become others, or may not be read while `dump` and `record` look at them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::processes::{
    SEEN, STEADY, STILL, cpu_ticks, looked, python, start, start_still, state, wait_for_looks, wait_until_still,
};
use crate::{Program, run, skip, stdout, stepscope, temp_folder, wait_until};

/// Something that is no Python and ends when the sampler has waited as often as it is asked to.
const UNTIL_SEEN: &str =
    "until [ $(grep ^voluntary /proc/$PPID/status | tr -dc 0-9) -ge $0 ]; do sleep 0.1; done; exit 5";

/// Runs the program as `run` does, but waits for it alone: were it to end before what it started, `run` would wait for that
/// to close what it writes to, and no one would learn why.
fn run_alone(args: &[&str], folder: &Path) -> Output {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let file = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
    let status = stepscope(args).stdout(file(&out)).stderr(file(&err)).status().unwrap();
    Output { status, stdout: std::fs::read(out).unwrap(), stderr: std::fs::read(err).unwrap() }
}

#[test]
fn a_process_that_becomes_another_program_is_followed() {
    let (python, folder) = (python(), temp_folder("exec"));
    // Another Python program in its place.
    let (first, second) = (folder.join("first.py"), folder.join("second.py"));
    std::fs::write(&second, format!("{SEEN}def second():\n    until_seen(times=50)\nsecond()\n")).unwrap();
    let replaced = format!(
        "{SEEN}until_seen(times=50)\nimport sys\nos.execv(sys.executable, [sys.executable, '-I', '-S', {:?}])\n",
        second.to_str().unwrap()
    );
    std::fs::write(&first, replaced).unwrap();
    let file = folder.join("out.folded");
    let path = file.to_str().unwrap();
    for mode in ["--nonblocking", "--blocking", "--native"] {
        let output = run_alone(&["record", mode, "-o", path, "--", &python, first.to_str().unwrap()], &folder);
        assert!(output.status.success(), "{mode}: {}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("first.py:") && text.contains("second ("), "{mode}: {text}");
    }
    // Something that is no Python: what was seen is kept, and its exit code is passed on.
    // 200 looks take 2 s: of a program that ends within one, no one knows whether there was a Python.
    let replaced = format!(
        "{SEEN}until_seen(times=50)\nos.execv('/bin/sh', ['sh', '-c', '{UNTIL_SEEN}', str(waits() + 200)])\n"
    );
    std::fs::write(&first, replaced).unwrap();
    for mode in ["--nonblocking", "--native"] {
        let output = run_alone(&["record", mode, "-o", path, "--", &python, first.to_str().unwrap()], &folder);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{mode}: {said}");
        assert!(std::fs::read_to_string(&file).unwrap().contains("first.py:"), "{mode}");
        assert!(said.contains("there is no Python in process"), "{mode}: {said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_process_that_forks_all_the_time_is_sampled() {
    let (python, folder) = (python(), temp_folder("forks"));
    let file = folder.join("out.folded");
    let code = "
def once():
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitpid(child, 0)
def parent():
    until_seen(once, times=50)
parent()
raise SystemExit(7)
";
    let code = format!("{SEEN}{code}");
    for mode in ["--nonblocking", "--blocking", "--native"] {
        let path = file.to_str().unwrap();
        let output = run(&["record", mode, "-s", "-i", "-o", path, "--", &python, "-c", &code]);
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
        let file = folder.join("out.folded");
        let words = ["record", mode, "--pid", &program.pid(), "-o", file.to_str().unwrap()];
        let mut recording = Program::start(&mut stepscope(&words));
        wait_for_looks(&mut recording, 50);
        program.0.kill().unwrap();
        program.0.wait().unwrap();
        let output = recording.ended();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains("the process ended"), "{mode}: {said}");
        assert!(std::fs::read_to_string(&file).unwrap().contains("spin ("), "{mode}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Whether this process may do what the program under test is not to be allowed.
fn may_trace() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0");
    // The number of CAP_SYS_PTRACE is 19.
    u64::from_str_radix(line.trim(), 16).is_ok_and(|allowed| allowed >> 19 & 1 == 1)
}

#[test]
fn without_permission_the_command_that_helps_is_named() {
    let (other, without) =
        (["--reuid=65534", "--clear-groups"], ["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]);
    let can = |who: &[&str]| {
        Command::new("setpriv").args(who).arg("true").output().is_ok_and(|done| done.status.success())
    };
    if !may_trace() || !can(&other) || !can(&without) {
        skip("needs root, CAP_SYS_PTRACE and setpriv");
        return;
    }
    let Some(program) = start_still(STILL) else { return };
    // Anybody may run the program from here.
    let folder = temp_folder("copy");
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let own = folder.join("stepscope");
    std::fs::copy(env!("CARGO_BIN_EXE_stepscope"), &own).unwrap();
    let tried = |who: &[&str], options: &[&str]| {
        let mut command = Command::new("setpriv");
        let output = command.args(who).arg(&own).args(["dump", &program.pid()]).args(options).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for options in [&[][..], &["--native"]] {
        let said = tried(&other, options);
        assert!(said.contains("belongs to another user") && said.contains("sudo"), "{said}");
        let said = tried(&without, options);
        assert!(said.contains("--cap-add=SYS_PTRACE"), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
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
    let python = python();
    let words = ["--pid", "--mount", "--fork", "--kill-child", "--mount-proc", &python, "-u", "-c", STILL];
    let started = Command::new("unshare").args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(child) = started else {
        skip("there is no unshare here");
        return;
    };
    let mut program = Program(child);
    if program.first_line() != "ready" {
        skip("no namespaces may be made here");
        return;
    }
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", program.0.id())).unwrap();
    let inside = children.split_ascii_whitespace().next().unwrap().to_owned();
    wait_until_still(&inside, 0);
    let text = stdout(&["dump", &inside]);
    let native = stdout(&["dump", &inside, "--native"]);
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
    looked(&["record", "-r", "500", "--pid", &program.pid(), "-o", link.to_str().unwrap()]);
    assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap().contains("main ("));
    // The same to the standard output.
    let output = looked(&["record", "-r", "500", "--pid", &program.pid(), "-q", "-f", "raw", "-o", "-"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("main ("), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Three threads, one after the other: Python gives the next one the number of the last. Each says how often it was seen.
const ONE_AFTER_THE_OTHER: &str = "
import threading
def spin(name):
    print(name, until_seen(times=60))
for name in ('alpha', 'beta', 'gamma'):
    thread = threading.Thread(target=spin, name=name, args=(name,))
    thread.start()
    thread.join()
";

#[test]
fn threads_that_follow_each_other_are_not_one() {
    let folder = temp_folder("one-after-the-other");
    let file = folder.join("out.folded");
    let code = format!("{SEEN}{ONE_AFTER_THE_OTHER}");
    let output =
        run(&["record", "-t", "-r", "200", "-o", file.to_str().unwrap(), "--", &python(), "-c", &code]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    let truth = String::from_utf8(output.stdout).unwrap();
    assert_eq!(truth.lines().count(), 3, "{truth}");
    for (name, seen) in truth.lines().filter_map(|line| line.split_once(' ')) {
        let lines =
            text.lines().filter(|line| line.contains(&format!("): {name};")) && line.contains("spin ("));
        let looks: u64 = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
        let seen: u64 = seen.parse().unwrap();
        // Not all of them: stacks that change while they are read are left out. One of all three would have thrice as many.
        assert!((seen / 3..=seen * 3 / 2).contains(&looks), "{name}: {looks} of {seen}\n{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_request_to_end_goes_to_the_program_and_saves() {
    let folder = temp_folder("request");
    let file = folder.join("out.folded");
    let words = ["record", "-r", "500", "-o", file.to_str().unwrap(), "--", &python(), "-u", "-c", STEADY];
    let mut recording = Program::start(&mut stepscope(&words));
    assert_eq!(recording.first_line(), "ready");
    wait_for_looks(&mut recording, 100);
    recording.signal("-TERM");
    // As a shell says it: ended by a signal.
    assert_eq!(recording.ended().status.code(), Some(128 + 15));
    assert!(std::fs::read_to_string(&file).unwrap().contains("main ("));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_starts_python_is_recorded_with_its_subprocesses() {
    let (python, folder) = (python(), temp_folder("launcher"));
    let file = folder.join("out.folded");
    let path = file.to_str().unwrap();
    // New processes are searched for once per second at the least, which is 200 looks.
    let one = |name: &str| format!("{SEEN}def {name}():\n until_seen(times=300)\n{name}()");
    let shell = "export SAMPLER=$PPID; \"$0\" -c \"$1\"; \"$0\" -c \"$2\"; exit 4";
    let words = ["--", "sh", "-c", shell, &python, &one("first"), &one("second")];
    let output = run(&[&["record", "-r", "200", "-s", "-o", path], &words[..]].concat());
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
    let words = ["record", "-r", "200", "--pid", &program.pid(), "-o", file.to_str().unwrap()];
    let mut recording = Program::start(&mut stepscope(&words));
    wait_for_looks(&mut recording, 50);
    recording.signal("-STOP");
    wait_until("the sampler to stop", || state(Path::new(&format!("/proc/{}", recording.pid()))) == Some('T'));
    let before = cpu_ticks(&program.pid());
    wait_until("the program to run without being seen", || cpu_ticks(&program.pid()) > before + 50);
    recording.signal("-CONT");
    wait_for_looks(&mut recording, 50);
    recording.signal("-INT");
    let output = recording.ended();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("was suspended for"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}
