//! `stepscope capture`, from servers that speak the real protocol.

use std::net::TcpListener;
use std::process::Output;

use crate::{Program, root, stepscope, temp_folder, wait_until};

#[allow(dead_code, reason = "the tests of the crate that captures use the rest of it")]
#[path = "../../../remote_profiler/tests/it/fake.rs"]
mod fake;

use fake::{Answer, Fake};

fn captured(args: &[&str], folder: &std::path::Path) -> Output {
    stepscope(&[&["capture"], args].concat()).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_path_goes_to_stdout_and_the_next_command_to_stderr() {
    let folder = temp_folder("capture");
    let fake = Fake::start(Answer::Profile(vec![7; 3000]));
    let output = captured(&[&fake.at(), "-d", "50ms"], &folder);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let path = String::from_utf8(output.stdout.clone()).unwrap();
    let path = path.trim_end();
    assert!(path.starts_with("profiler_traces/plugins/profile/"), "{path}");
    assert!(path.ends_with(&format!("/{}.xplane.pb", fake.at().replace(':', "_"))), "{path}");
    assert_eq!(std::fs::read(folder.join(path)).unwrap(), vec![7; 3000]);
    assert!(said(&output).contains(&format!("view {path}")), "{}", said(&output));
    let quiet = captured(&[&fake.at(), "-d", "50ms", "-q", "-o", "logs"], &folder);
    assert_eq!((quiet.status.code(), said(&quiet).as_str()), (Some(0), ""));
    assert!(String::from_utf8_lossy(&quiet.stdout).starts_with("logs/plugins/profile/"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn several_hosts_are_one_run() {
    let folder = temp_folder("capture-hosts");
    let fakes: Vec<Fake> = (0..2).map(|_| Fake::start(Answer::Profile(vec![7; 30]))).collect();
    let bad = Fake::start(Answer::Empty);
    let hosts = format!("{},{}", fakes[1].at(), bad.at());
    let output = captured(&[&fakes[0].at(), "--hosts", &hosts, "-d", "50ms", "--delay", "200ms"], &folder);
    // What could be captured is there; the exit code says that not all could.
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains(&format!("error: nothing was recorded at {}", bad.at())),
        "{}",
        said(&output)
    );
    let paths = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(paths.lines().count(), 2, "{paths}");
    let run = std::path::Path::new(paths.lines().next().unwrap()).parent().unwrap();
    assert!(paths.lines().all(|path| std::path::Path::new(path).parent() == Some(run)));
    assert!(said(&output).contains("from 2 hosts; open it: "), "{}", said(&output));
    assert!(said(&output).contains(&format!("view {}", run.display())), "{}", said(&output));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn ctrl_c_keeps_what_was_recorded() {
    let folder = temp_folder("capture-interrupted");
    let fake = Fake::start(Answer::Profile(vec![7; 30]));
    // Longer than the test waits for its end.
    let mut command = stepscope(&["capture", &fake.at(), "--duration", "1h"]);
    let capture = Program::start(command.current_dir(&folder));
    wait_until("the server to be asked", || !fake.asked("Profile").is_empty());
    capture.signal("-INT");
    let output = capture.ended();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("ended early"), "{}", said(&output));
    let path = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(std::fs::read(folder.join(path.trim_end())).unwrap(), vec![7; 30]);
    assert_eq!(fake.asked("Terminate").len(), 1);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn continuous_profiling_is_started_looked_at_and_ended() {
    let folder = temp_folder("capture-continuous");
    let fake = Fake::start(Answer::Profile(vec![7; 30]));
    let started = captured(&[&fake.at(), "--continuous", "--python-tracer", "1"], &folder);
    assert!(said(&started).contains(&format!("capture {} --snapshot", fake.at())), "{}", said(&started));
    let snapshot = captured(&[&fake.at(), "--snapshot"], &folder);
    assert_eq!(snapshot.status.code(), Some(0), "{}", said(&snapshot));
    assert!(folder.join(String::from_utf8_lossy(&snapshot.stdout).trim_end()).is_file());
    assert_eq!(captured(&[&fake.at(), "--stop"], &folder).status.code(), Some(0));
    assert_eq!(captured(&[&fake.at(), "--stop"], &folder).status.code(), Some(2));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_old_server_says_where_it_wrote() {
    let folder = temp_folder("capture-old");
    let fake = Fake::start(Answer::Old(None));
    let output = captured(&[&fake.at(), "-d", "50ms", "--remote-folder", "gs://bucket/logs"], &folder);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"".as_slice()));
    let words = said(&output);
    assert!(words.contains("too old to send a profile"), "{words}");
    assert!(words.contains("gs://bucket/logs/plugins/profile/"), "{words}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_captured_has_a_hint_and_exit_code_2() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let busy = Fake::start(Answer::Refuse(13, "Another profiling session active."));
    let other = Fake::start(Answer::Refuse(12, ""));
    let empty = Fake::start(Answer::Empty);
    let (busy, other, empty) = (busy.at(), other.at(), empty.at());
    for (args, what) in [
        (vec![closed.as_str()], "nothing listens at"),
        (vec!["localhost"], "there is no port: localhost"),
        (vec!["localhost:0"], "the port must be a number"),
        (vec![busy.as_str(), "-d", "50ms"], "another profiling session is active"),
        (vec![other.as_str(), "-d", "50ms"], "there is no profiler server at"),
        (vec![empty.as_str(), "-d", "50ms"], "nothing was recorded at"),
        (vec![empty.as_str(), empty.as_str()], "would be written to the same file"),
    ] {
        let output = captured(&args, &root());
        let words = said(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {words}");
        assert!(words.starts_with("error: ") && words.contains(what) && words.contains("\nhint: "), "{words}");
        assert!(!root().join("profiler_traces").exists());
    }
}
