//! The server as a browser meets it, spoken to over a plain socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::{Program, gpt, run, skip, stepscope, temp_folder, wait_for, wait_until};

/// A running `stepscope view`, ended with the test.
pub(crate) struct View {
    program: Program,
    pub(crate) host: String,
    /// `/token/`.
    pub(crate) path: String,
}

impl View {
    pub(crate) fn start(paths: &[&str]) -> View {
        View::of(&[&["view", "--no-open"], paths].concat())
    }

    fn of(args: &[&str]) -> View {
        let child = stepscope(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut program = Program(child.unwrap());
        let line = program.first_line();
        let (host, path) = line.strip_prefix("http://").unwrap().split_once('/').unwrap();
        View { program, host: host.to_owned(), path: format!("/{path}") }
    }

    /// Status, head and body of a request with these headers beside `Host`.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        let mut socket = TcpStream::connect(&self.host).unwrap();
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.host) };
        write!(socket, "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), answer[end + 4..].to_vec())
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let (status, _, body) = self.request("GET", &format!("{}{path}", self.path), "");
        (status, body)
    }

    /// The JSON at a path, once the trace is read.
    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, body) =
            wait_for("a trace to be read", || Some(self.get(path)).filter(|(status, _)| *status != 202));
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }
}

/// Time in `spin`, by an answer about functions; none where it was not seen yet.
#[cfg(target_os = "linux")]
fn time_in_spin(answer: &Value) -> Option<u64> {
    let rows = answer["functions"].as_array().unwrap();
    let spin = rows.iter().find(|row| row["name"] == "spin")?;
    Some(spin["total_ns"].as_u64().unwrap_or_else(|| panic!("{spin}")))
}

#[cfg(target_os = "linux")]
#[test]
fn a_recording_grows_in_the_browser() {
    use crate::processes::{cpu_ticks, start};
    let code = "def spin():\n    while True:\n        sum(range(1000))\nprint('ready')\nspin()";
    let Some(program) = start(code) else { return };
    let folder = temp_folder("live");
    let file = folder.join("live.json.gz");
    let pid = program.pid();
    let view = View::of(&["record", "--view", "--no-open", "--pid", &pid, "-o", file.to_str().unwrap()]);
    let shown = |fresh: &str| view.json(&format!("api/runs{fresh}"))["runs"][0].clone();
    // As the page shows it.
    let time = |run: &Value| time_in_spin(&view.json(&format!("api/r/{}/ask/functions", run["id"])));
    let (first, before) = wait_for("the program to be seen", || {
        let run = shown("?fresh=1");
        time(&run).map(|time| (run, time))
    });
    assert_eq!((&first["recording"], &first["label"]), (&Value::Bool(true), &Value::from("live")));
    // There is something newer every two seconds, …
    let ran = cpu_ticks(&pid);
    wait_until("the program to run for 2.5 s", || cpu_ticks(&pid) > ran + 250);
    assert_eq!(shown("")["id"], first["id"], "it grows only for those who ask");
    // … or somewhat later, where it takes long to make.
    let second = wait_for("a second more in spin", || {
        let run = shown("?fresh=1");
        (time(&run)? > before + 1_000_000_000).then_some(run)
    });
    assert_ne!(second["id"], first["id"]);
    assert_eq!(time(&first), Some(before), "a page that is held still keeps what it shows");
    // The program ends: what was recorded is saved and stays on the page.
    drop(program);
    wait_until("the recording to end", || shown("?fresh=1")["recording"] == false);
    let in_total = time(&shown(""));
    assert!(in_total > Some(before + 1_000_000_000), "{in_total:?}");
    let saved = run(&["functions", "--format", "json", file.to_str().unwrap()]);
    assert_eq!(time_in_spin(&serde_json::from_slice(&saved.stdout).unwrap()), in_total);
    view.program.signal("-INT");
    assert!(view.program.ended().status.success());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Every question of the registry, as it is and grouped by each of its words.
fn every_question() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let about_one = stepscope_ask::QUESTIONS.iter().filter(|question| !question.compares());
    about_one.flat_map(|question| question.variants().map(|by| (question.name, by)))
}

#[test]
fn answers_are_those_of_the_terminal() {
    let path = crate::fixture("gpt_stack/gpt_stack.pt.trace.json.gz");
    let view = View::start(&[&path]);
    let layout = view.json("api/r/0/timeline");
    let said = |args: &[&str]| -> Value {
        let args = [args, &[path.as_str(), "--format", "json", "--explain"]].concat();
        serde_json::from_slice(&run(&args).stdout).unwrap()
    };
    for (question, by) in every_question() {
        match by {
            None => assert_eq!(view.json(&format!("api/r/0/ask/{question}")), said(&[question]), "{question}"),
            Some(by) => {
                let asked = format!("{question}?by={by}");
                assert_eq!(
                    view.json(&format!("api/r/0/ask/{asked}")),
                    said(&[question, "--by", by]),
                    "{asked}"
                );
            }
        }
    }
    let changed = view.json("api/r/0/ask/what-if?free-launches=1&op=aten::mm&speedup=2");
    assert_eq!(changed, said(&["what-if", "--free-launches", "--op", "aten::mm", "--speedup", "2"]));
    // Moments count from the first event.
    let said: Value = serde_json::from_slice(&run(&["info", &path, "--format", "json"]).stdout).unwrap();
    let steps: Value = serde_json::from_slice(&run(&["steps", &path, "--format", "json"]).stdout).unwrap();
    let shown = view.json("api/r/0/ask/steps");
    let first = shown["steps"][0]["start_ns"].as_i64().unwrap();
    let second = shown["steps"][1]["start_ns"].as_i64().unwrap();
    let want = |at: usize| steps["steps"][at]["start_ns"].as_i64().unwrap();
    assert_eq!(second - first, want(1) - want(0));
    assert_eq!(layout["steps"][0]["start_ns"], first);
    assert_eq!(layout["ledger"]["events_in_file"], said["info"]["ledger"]["events_in_file"]);
}

#[test]
fn pages_of_a_table_and_its_csv() {
    let view = View::start(&[&gpt()]);
    let all = view.json("api/r/0/ask/ops?top=0");
    let rows = all["ops"].as_array().unwrap();
    let page = view.json("api/r/0/ask/ops?top=0&part=ops&offset=3&limit=2");
    assert_eq!(page["ops"].as_array().unwrap()[..], rows[3..5]);
    assert_eq!(page["ops_total"], rows.len());
    let (status, head, body) = view.request("GET", &format!("{}api/r/0/csv/ops", view.path), "");
    assert_eq!((status, String::from_utf8(body).unwrap().lines().count()), (200, rows.len() + 1));
    assert!(head.contains("attachment"), "{head}");
}

#[test]
fn only_the_printed_address_is_answered() {
    let view = View::start(&[&gpt()]);
    let home = view.path.clone();
    let status = |method: &str, path: &str, headers: &str| view.request(method, path, headers).0;
    let (code, head, _) = view.request("GET", &home, "");
    assert_eq!(code, 200);
    assert!(
        head.contains("content-security-policy: default-src 'none';") && !head.contains("access-control"),
        "{head}"
    );
    assert_eq!(status("GET", "/", ""), 404);
    assert_eq!(status("GET", "/api/runs", ""), 404);
    assert_eq!(status("GET", "/aaaaaaaaaaaaaaaaaaaaaaaa/api/runs", ""), 404);
    assert_eq!(status("GET", &format!("{home}api/runs"), "Host: evil.example\r\n"), 403);
    assert_eq!(status("GET", &format!("{home}api/runs"), "Sec-Fetch-Site: cross-site\r\n"), 403);
    assert_eq!(status("GET", &format!("{home}api/runs"), "Origin: http://evil.example\r\n"), 403);
    assert_eq!(status("POST", &format!("{home}api/runs"), "Content-Length: 0\r\n"), 405);
    assert_eq!(status("GET", &format!("{home}..%2fCargo.toml"), ""), 404);
    assert_eq!(status("GET", &format!("{home}api/r/99/timeline"), ""), 404);
}

#[test]
fn wrong_questions_get_a_sentence() {
    let view = View::start(&[&gpt()]);
    view.json("api/r/0/timeline");
    for asked in [
        "ask/export?output=x",
        "ask/ops?by=nonsense",
        "ask/ops?filter=%28",
        "tiles?t=1.2",
        "slice/x",
        "names?ids=a",
    ] {
        let (status, body) = view.get(&format!("api/r/0/{asked}"));
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(status, 400, "{asked}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{asked}");
    }
}

#[test]
fn new_and_broken_traces_of_a_folder() {
    let folder = temp_folder("view-folder");
    let view = View::start(&[&folder.display().to_string()]);
    let runs = |view: &View| view.json("api/runs")["runs"].as_array().unwrap().clone();
    assert!(runs(&view).is_empty());
    std::fs::copy(gpt(), folder.join("a.pt.trace.json.gz")).unwrap();
    std::fs::write(folder.join("b.pt.trace.json"), "no JSON at all").unwrap();
    wait_until("the new traces to appear", || runs(&view).len() == 2);
    let all = runs(&view);
    assert_eq!(all[0]["label"], "a");
    let id = |at: usize| all[at]["id"].as_u64().unwrap();
    assert!(view.json(&format!("api/r/{}/timeline", id(0)))["extent_ns"].as_i64().unwrap() > 0);
    let broken = wait_for("the broken trace to be read", || {
        Some(view.get(&format!("api/r/{}/timeline", id(1)))).filter(|(status, _)| *status != 202)
    });
    let answer: Value = serde_json::from_slice(&broken.1).unwrap();
    assert_eq!(broken.0, 422);
    assert!(answer["error"]["hint"].is_string(), "{answer}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_served_is_said() {
    let nowhere = run(&["view", "--no-open", "no/such/trace.json"]);
    assert_eq!(nowhere.status.code(), Some(2));
    let view = View::start(&[&gpt()]);
    let port = view.host.rsplit_once(':').unwrap().1;
    let taken = run(&["view", "--no-open", "--port", port, &gpt()]);
    let said = String::from_utf8(taken.stderr).unwrap();
    assert_eq!(taken.status.code(), Some(2));
    assert!(said.contains("cannot listen") && said.contains("leave --port out"), "{said}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_it_well() {
    let view = View::start(&[&gpt()]);
    view.program.signal("-INT");
    assert_eq!(view.program.ended().status.code(), Some(0));
}

#[test]
fn a_report_is_one_file_within_its_size() {
    let folder = temp_folder("report");
    let file = folder.join("report.html");
    let name = file.display().to_string();
    let made = run(&["export", "--to", "html", "-o", &name, &gpt()]);
    if !stepscope_serve::has_ui() {
        assert!(String::from_utf8_lossy(&made.stderr).contains("make ui"));
        skip("this build has no browser UI (make ui)");
        return;
    }
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("id=\"pack:rows\""));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!html.contains(outside), "the report wants {outside}");
    }
    let small = run(&["export", "--to", "html", "--max-size", "1200k", "-o", &name, &gpt()]);
    assert!(small.status.success(), "{}", String::from_utf8_lossy(&small.stderr));
    assert!(std::fs::metadata(&file).unwrap().len() <= 1_200_000);
    assert!(String::from_utf8_lossy(&small.stderr).contains("left out of the report"));
    let tiny = run(&["export", "--to", "html", "--max-size", "10k", "-o", &name, &gpt()]);
    assert_eq!(tiny.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&tiny.stderr).contains("--max-size"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Linux allows names of files that are no Unicode.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_unicode_is_listed_and_read() {
    use std::os::unix::ffi::OsStrExt;
    let folder = temp_folder("odd-names");
    let odd = folder.join(std::ffi::OsStr::from_bytes(b"caf\xe9.pt.trace.json.gz"));
    std::fs::copy(gpt(), &odd).unwrap();
    let view = View::start(&[folder.to_str().unwrap()]);
    let list = view.json("api/runs");
    let path = list["runs"][0]["path"].as_str().unwrap();
    assert!(path.ends_with("caf\u{fffd}.pt.trace.json.gz"), "{path}");
    assert!(view.json("api/r/0/ask/gpu")["gpu"].is_array());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_link_to_the_page_may_stand_anywhere() {
    let view = View::start(&[&gpt()]);
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    let status = |path: &str, headers: &str| view.request("GET", path, headers).0;
    // Without the browser UI in the build the page says how to get it.
    assert_ne!(status(&view.path, link), 403);
    assert_eq!(status(&format!("{}api/runs", view.path), link), 403);
    assert_eq!(status(&view.path, &link.replace("document", "iframe")), 403);
    assert_eq!(status(&view.path, &link.replace("navigate", "cors")), 403);
    assert_eq!(status(&view.path, &format!("Host: evil.example\r\n{link}")), 403);
}

/// Connections that ask for nothing do not keep out the one that does.
#[test]
fn half_open_connections_do_not_lock_the_page() {
    let view = View::start(&[&gpt()]);
    let open = || {
        let mut socket = TcpStream::connect(&view.host).unwrap();
        write!(socket, "GET {}api/runs HTTP/1.1\r\nHost: {}\r\n", view.path, view.host).unwrap();
        socket
    };
    let mut strangers: Vec<TcpStream> = (0..300).map(|_| open()).collect();
    assert_eq!(view.get("api/runs").0, 200);
    // The oldest was let go to make room; the newest is still heard out.
    let first = &mut strangers[0];
    first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut rest = Vec::new();
    let ended = first.read_to_end(&mut rest);
    assert!(ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset) || rest.is_empty());
    let last = strangers.last_mut().unwrap();
    write!(last, "Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    last.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn a_profile_offers_its_own_pages_and_the_source_that_it_names() {
    let folder = temp_folder("source");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles");
    std::fs::copy(fixtures.join("demo-3.11.pstats"), folder.join("demo.pstats")).unwrap();
    std::fs::copy(fixtures.join("src/demo.py"), folder.join("demo.py")).unwrap();
    std::fs::write(folder.join("secret.py"), "password = 1").unwrap();
    let view = View::start(&[folder.to_str().unwrap()]);
    assert_eq!(view.json("api/r/0/shown")["pages"], serde_json::json!(["overview", "flame", "functions"]));
    let source = view.json("api/r/0/source?file=demo.py");
    assert!(source["text"].as_str().unwrap().contains("def fib(n):"), "{source}");
    let fib = source["functions"].as_array().unwrap().iter().find(|row| row["name"] == "fib").unwrap().clone();
    // As the file's own table says.
    assert_eq!((fib["line"].as_u64(), fib["calls"].as_u64()), (Some(13), Some(8361)));
    // Files that the profile does not name, whatever they are.
    for file in ["secret.py", "%2Fetc%2Fpasswd", "..%2Fdemo.py", ""] {
        let (status, body) = view.get(&format!("api/r/0/source?file={file}"));
        assert_eq!(status, 400, "{file}: {}", String::from_utf8_lossy(&body));
    }
    drop(view);
    std::fs::remove_dir_all(&folder).unwrap();
}
