//! Captures from servers that speak the real protocol, and from what only looks like one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed; helpers are tests too"
)]

mod fake;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stepscope_ground::Problem;
use stepscope_remote_profiler::{
    CaptureMode, CaptureResult, Limits, Plan, Stage, Target, Tracers, Watch, capture, start_continuous,
    stop_continuous, targets,
};
use tokio::net::TcpSocket;

use fake::{Answer, Fake, Field, fields};

/// An empty folder of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("stepscope-remote-profiler-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Vec<String> {
        fn look(folder: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => look(&path, root, found),
                    false => found.push(path.strip_prefix(root).unwrap().display().to_string()),
                }
            }
        }
        let mut found = Vec::new();
        look(&self.0, &self.0, &mut found);
        found.sort();
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How long a test waits for something that a busy machine may be late with.
const LIMIT: Duration = Duration::from_secs(60);

/// Notes the stages and when it heard of them, and ends the recording when it is asked to.
#[derive(Default)]
struct Watcher {
    stages: Vec<(Instant, Stage)>,
    stop_after: Option<Duration>,
}

impl Watch for Watcher {
    fn stage(&mut self, stage: Stage) {
        self.stages.push((Instant::now(), stage));
    }

    fn wants_to_stop(&mut self) -> bool {
        let recorded = self.stages.last().map(|(_, stage)| match stage {
            Stage::Recording(recorded) => *recorded,
            _ => Duration::ZERO,
        });
        self.stop_after.zip(recorded).is_some_and(|(after, recorded)| recorded >= after)
    }
}

fn plan(addresses: &[String], folder: &Folder) -> Plan {
    Plan {
        targets: targets(addresses.iter().map(String::as_str)).unwrap(),
        folder: folder.0.clone(),
        remote_folder: None,
        want: CaptureMode::Record { duration: Duration::from_millis(60), delay: Duration::ZERO },
        tracers: Tracers::default(),
        limits: Limits { connect: LIMIT, silence: LIMIT, ..Limits::default() },
    }
}

fn captured(answer: Answer, name: &str) -> (Result<CaptureResult, Problem>, Folder, Fake) {
    let (folder, fake) = (Folder::new(name), Fake::start(answer));
    let result = capture(&plan(&[fake.at()], &folder), &mut Watcher::default());
    (result, folder, fake)
}

fn profile(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 251) as u8).collect()
}

#[test]
fn a_profile_is_written_byte_for_byte() {
    let (result, folder, fake) = captured(Answer::Profile(profile(100_000)), "exact");
    let captured = result.unwrap();
    let [file] = captured.files.as_slice() else { panic!("{captured:?}") };
    assert_eq!(std::fs::read(&file.path).unwrap(), profile(100_000));
    assert_eq!(file.bytes, Some(100_000));
    assert!(captured.failures.is_empty() && !captured.stopped_early);
    // plugins/profile/YYYY_MM_DD_HH_MM_SS/HOST_PORT.xplane.pb, and nothing beside it.
    let run = captured.folder.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(run.len() == 19 && run.bytes().all(|b| b.is_ascii_digit() || b == b'_'), "{run}");
    let stem = fake.at().replace(':', "_");
    assert_eq!(folder.files(), [format!("plugins/profile/{run}/{stem}.xplane.pb")]);

    let [asked] = fake.asked("Profile").try_into().unwrap();
    let request = asked.fields();
    assert_eq!(request[&6].text(), run);
    assert_eq!(request[&7].text(), stem);
    assert_eq!(request[&9], Field::Number(1));
    assert_eq!(request[&5].text(), folder.0.join("plugins/profile").display().to_string());
    let options = fields(&request[&4].bytes());
    let number = |field: u64| options.get(&field).map(Field::number);
    assert_eq!([number(2), number(3), number(4), number(5)], [Some(2), Some(1), None, Some(1)]);
    assert_eq!([number(7), number(8), number(9)], [Some(1), None, Some(60)]);
}

#[test]
fn large_answers_arrive_whole() {
    // More than any window and any default limit of a gRPC library (4 MiB).
    let (result, _folder, _fake) = captured(Answer::Profile(profile(20 << 20)), "large");
    let file = &result.unwrap().files[0];
    assert!(std::fs::read(&file.path).unwrap() == profile(20 << 20));
}

#[test]
fn a_profile_beyond_the_limit_is_refused() {
    let (folder, fake) = (Folder::new("limit"), Fake::start(Answer::Profile(profile(5000))));
    let mut plan = plan(&[fake.at()], &folder);
    plan.limits.max_bytes = 5000;
    let error = capture(&plan, &mut Watcher::default()).unwrap_err();
    assert!(error.what.contains("larger than the limit") && error.hint.contains("--max-size"), "{error:?}");
    assert_eq!(folder.files(), Vec::<String>::new());
}

#[test]
fn several_hosts_begin_at_one_moment_in_one_session() {
    let folder = Folder::new("hosts");
    let fakes: Vec<Fake> = (1..=3).map(|n| Fake::start(Answer::Profile(profile(n * 1000)))).collect();
    let addresses: Vec<String> = fakes.iter().map(Fake::at).collect();
    let mut plan = plan(&addresses, &folder);
    let delay = Duration::from_millis(300);
    plan.want = CaptureMode::Record { duration: Duration::from_millis(100), delay };
    let mut watcher = Watcher::default();
    let (before, began) = (std::time::UNIX_EPOCH.elapsed().unwrap(), Instant::now());
    let captured = capture(&plan, &mut watcher).unwrap();
    assert_eq!(captured.files.len(), 3);
    for (n, file) in (1..).zip(&captured.files) {
        assert_eq!(file.target.to_string(), addresses[n - 1]);
        assert_eq!(file.path.parent().unwrap(), captured.folder);
        assert_eq!(std::fs::read(&file.path).unwrap(), profile(n * 1000));
    }
    let asked: Vec<_> = fakes.iter().map(|fake| fake.asked("Profile").remove(0)).collect();
    let requests: Vec<_> = asked.iter().map(|asked| asked.fields()).collect();
    let starts: Vec<u64> = requests.iter().map(|request| fields(&request[&4].bytes())[&8].number()).collect();
    assert!(starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    // Counted from a moment between the call and the first request.
    let from = Duration::from_nanos(starts[0]) - delay;
    let first = asked.iter().map(|asked| asked.at).min().unwrap();
    assert!(before <= from && from <= first, "{before:?} {from:?} {first:?}");
    assert!(requests.iter().all(|request| request[&6] == requests[0][&6]));
    // Whoever hears of it before that time can only hear this.
    let early = watcher.stages.iter().filter(|(at, _)| at.duration_since(began) < delay);
    assert!(
        early.clone().all(|(_, stage)| matches!(stage, Stage::Waiting(left) if *left <= delay)),
        "{early:?}"
    );
}

#[test]
fn what_one_host_cannot_give_does_not_cost_the_others() {
    let folder = Folder::new("partly");
    let good = Fake::start(Answer::Profile(profile(10)));
    let bad = Fake::start(Answer::Refuse(13, "Another profiling session active."));
    let captured = capture(&plan(&[bad.at(), good.at()], &folder), &mut Watcher::default()).unwrap();
    assert_eq!(captured.files.iter().map(|file| file.target.to_string()).collect::<Vec<_>>(), [good.at()]);
    assert!(captured.failures[0].what.contains(&bad.at()), "{captured:?}");
}

#[test]
fn nothing_is_recorded_if_a_host_cannot_be_reached() {
    let folder = Folder::new("unreached");
    let good = Fake::start(Answer::Profile(profile(10)));
    let closed = ClosedPort::new();
    let error = capture(&plan(&[good.at(), closed.at()], &folder), &mut Watcher::default()).unwrap_err();
    assert!(error.what.starts_with("nothing listens at"), "{error:?}");
    assert!(good.asked("Profile").is_empty() && folder.files().is_empty());
}

#[test]
fn stopping_early_keeps_what_there_is() {
    let (folder, fake) = (Folder::new("early"), Fake::start(Answer::Profile(profile(77))));
    let mut plan = plan(&[fake.at()], &folder);
    plan.want = CaptureMode::Record { duration: LIMIT * 10, delay: Duration::ZERO };
    let mut watcher = Watcher { stop_after: Some(Duration::from_millis(200)), ..Watcher::default() };
    let captured = capture(&plan, &mut watcher).unwrap();
    assert!(captured.stopped_early);
    assert_eq!(std::fs::read(&captured.files[0].path).unwrap(), profile(77));
    let [asked] = fake.asked("Terminate").try_into().unwrap();
    assert_eq!(asked.fields()[&1].text(), captured.folder.file_name().unwrap().to_str().unwrap());
}

#[test]
fn an_old_server_says_where_it_wrote() {
    let (result, folder, _fake) = captured(Answer::Old(Some(profile(9))), "old");
    let file = &result.unwrap().files[0];
    // The folder is shared, so the file is here.
    assert_eq!((file.bytes, std::fs::read(&file.path).unwrap()), (Some(9), profile(9)));
    assert_eq!(folder.files().len(), 1);

    let (folder, fake) = (Folder::new("old-far"), Fake::start(Answer::Old(None)));
    let mut plan = plan(&[fake.at()], &folder);
    plan.remote_folder = Some("/data/logs/".to_owned());
    let captured = capture(&plan, &mut Watcher::default()).unwrap();
    let run = captured.folder.file_name().unwrap().to_str().unwrap();
    let there = format!("/data/logs/plugins/profile/{run}/{}.xplane.pb", fake.at().replace(':', "_"));
    assert_eq!((captured.files[0].bytes, captured.files[0].path.to_str()), (None, Some(there.as_str())));
    assert_eq!(folder.files(), Vec::<String>::new());
}

#[test]
fn continuous_profiling_gives_snapshots() {
    let (folder, fake) = (Folder::new("continuous"), Fake::start(Answer::Profile(profile(33))));
    let mut plan = plan(&[fake.at()], &folder);
    plan.want = CaptureMode::Snapshot;
    let error = capture(&plan, &mut Watcher::default()).unwrap_err();
    assert!(
        error.what.contains("no continuous profiling runs") && error.hint.contains("--continuous"),
        "{error:?}"
    );
    start_continuous(&plan.targets, Tracers { host: 1, device: 1, python: 1 }, &plan.limits).unwrap();
    let options = fields(&fake.asked("StartContinuousProfiling")[0].fields()[&4].bytes());
    assert_eq!((options[&2].number(), options[&4].number()), (1, 1));
    let again = start_continuous(&plan.targets, plan.tracers, &plan.limits).unwrap_err();
    assert!(again.what.contains("runs at") && again.hint.contains("--stop"), "{again:?}");
    let other = Fake::start(Answer::Profile(profile(1)));
    let both = targets([other.at().as_str(), fake.at().as_str()]).unwrap();
    assert!(start_continuous(&both, plan.tracers, &plan.limits).is_err());
    assert_eq!(other.asked("StopContinuousProfiling").len(), 1, "one that was started in vain is ended");
    for _ in 0..2 {
        let captured = capture(&plan, &mut Watcher::default()).unwrap();
        assert_eq!(std::fs::read(&captured.files[0].path).unwrap(), profile(33));
    }
    assert_eq!(folder.files().len(), 2);
    stop_continuous(&plan.targets, &plan.limits).unwrap();
    assert!(stop_continuous(&plan.targets, &plan.limits).unwrap_err().what.contains("no continuous profiling"));
}

#[test]
fn refusals_are_explained_and_leave_nothing() {
    for (answer, what, hint) in [
        (Answer::Empty, "nothing was recorded at", "--duration"),
        (
            Answer::Refuse(13, "Another profiling session active."),
            "another profiling session is active",
            "stop_trace",
        ),
        (Answer::Refuse(12, ""), "speaks gRPC but has no profiler service", "start_server"),
        (Answer::Refuse(7, "no such luck"), "refused (gRPC status 7): no such luck", "log of the program"),
        (Answer::Web, "is a web server (status 404)", "start_server"),
        (Answer::Break, "was lost before the profile had arrived", "still runs"),
        (
            Answer::Raw(b"\x42\x7fabc".to_vec()),
            "is damaged: a field is longer than the message",
            "capture again",
        ),
        (Answer::Raw(b"\x42\x00".to_vec()), "sent an empty profile", "capture again"),
    ] {
        let (result, folder, _fake) = captured(answer.clone(), "refused");
        let error = result.unwrap_err();
        assert!(error.what.contains(what) && error.hint.contains(hint), "{answer:?}: {error:?}");
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "{answer:?}");
    }
}

#[test]
fn a_server_that_falls_silent_is_given_up_and_leaves_nothing() {
    let (folder, fake) = (Folder::new("silent"), Fake::start(Answer::Silence));
    let mut plan = plan(&[fake.at()], &folder);
    plan.limits.silence = Duration::from_millis(200);
    let error = capture(&plan, &mut Watcher::default()).unwrap_err();
    assert!(error.what.contains("does not answer any more") && error.hint.contains("--timeout"), "{error:?}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

/// A port at which no one listens, and no one can begin to as long as this is there.
struct ClosedPort(TcpSocket);

impl ClosedPort {
    fn new() -> ClosedPort {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        ClosedPort(socket)
    }

    fn at(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }
}

/// What is said of a server that does this with a connection.
fn of_stranger(speak: fn(TcpStream), patience: Duration) -> Problem {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            speak(stream.unwrap());
        }
    });
    let folder = Folder::new("stranger");
    let mut plan = plan(&[address], &folder);
    plan.limits.connect = patience;
    let error = capture(&plan, &mut Watcher::default()).unwrap_err();
    assert_eq!(folder.files(), Vec::<String>::new());
    error
}

fn stay(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn what_is_no_profiler_server_is_told() {
    let folder = Folder::new("closed");
    let closed = ClosedPort::new();
    let error = capture(&plan(&[closed.at()], &folder), &mut Watcher::default()).unwrap_err();
    assert!(error.what.starts_with("nothing listens at 127.0.0.1:"), "{error:?}");
    assert!(error.hint.contains("jax.profiler.start_server"), "{error:?}");

    let strangers: [(fn(TcpStream), Duration); 3] = [
        (
            |mut stream| {
                let mut asked = [0; 24];
                let _ = stream.read(&mut asked);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                stay(stream);
            },
            LIMIT,
        ),
        (drop, LIMIT),
        (stay, Duration::from_millis(200)),
    ];
    for (stranger, patience) in strangers {
        let error = of_stranger(stranger, patience);
        assert!(error.what.contains("there is no profiler server at 127.0.0.1:"), "{error:?}");
        assert!(error.hint.contains("start_server"), "{error:?}");
    }
}

#[test]
fn a_host_that_is_not_known_is_told() {
    let folder = Folder::new("unknown");
    let mut plan = plan(&["localhost:1".to_owned()], &folder);
    plan.targets = vec![Target { host: "no-such-host.invalid".to_owned(), port: 1 }];
    // Where no name server answers, no one has to wait for that.
    plan.limits.connect = Duration::from_millis(800);
    let error = capture(&plan, &mut Watcher::default()).unwrap_err();
    assert!(error.what.contains("the host no-such-host.invalid is not known"), "{error:?}");
}
