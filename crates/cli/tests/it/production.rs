//! Reports, `top` and the dashboard of a service that runs inside the test.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use serde_json::Value;
use stepscope_ground::utc::minute_text;
use stepscope_service::{
    Block, NO_PARENT, RecorderOptions, RegionStats, Request, RequestRecorder, RouteStats, Span, parse_targets,
};

use crate::view::View;
use crate::{MAX_WAIT, run, skip, temp_folder};

const MS: u64 = 1_000_000;

fn service(name: &str) -> (Arc<RequestRecorder>, PathBuf) {
    let folder = temp_folder(name);
    let targets = HashMap::from([("/predict".to_owned(), parse_targets("p95<100ms, error_rate<5%").unwrap())]);
    (
        RequestRecorder::new(RecorderOptions { folder: folder.clone(), targets, ..RecorderOptions::default() }),
        folder,
    )
}

/// Requests of both routes; every tenth of `/predict` fails and takes 200 ms.
fn serve(monitor: &Arc<RequestRecorder>, requests: u64) {
    for n in 0..requests {
        let slow = n % 10 == 0;
        let latency_ns = if slow { 200 * MS } else { 10 * MS };
        let region = monitor.recorder.region("inference");
        let spans = [Span { region, parent: NO_PARENT, start_ns: MS, duration_ns: latency_ns - 2 * MS }];
        for (route, latency_ns, failed, spans) in
            [("/predict", latency_ns, slow, &spans[..]), ("/health", MS, false, &[])]
        {
            monitor.begin();
            let route = monitor.recorder.route(route);
            let request =
                Request { route, latency_ns, failed, samples: 1, tokens: 0, cpu_ns: None, spans, left_out: 0 };
            if let Some(candidate) = monitor.recorder.record(&request).candidate {
                let id = format!("request {n}");
                let about = stepscope_service::RequestDetails { id: &id, ..Default::default() };
                monitor.recorder.keep(candidate, &request, about, stepscope_ground::utc::now_ns());
            }
        }
    }
    monitor.flush();
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 },
        )
    })
}

/// Writes a minute of a process that counted it whenever that was.
pub(crate) fn write_minute(folder: &Path, process: usize, block: &Block) {
    let payload = block.encode();
    let time = minute_text(block.minute).replace(['-', ':'], "");
    let path = folder.join(format!("{}_h_{process}_00000001.minutes", &time[..11]));
    let mut bytes = std::fs::read(&path).unwrap_or_else(|_| b"SSPROD\x02\x00".to_vec());
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(crc32(&payload).to_le_bytes());
    bytes.extend(payload);
    std::fs::write(path, bytes).unwrap();
}

fn said(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_report_in_every_format() {
    let (monitor, folder) = service("report");
    serve(&monitor, 100);
    let path = folder.to_str().unwrap();
    let text = said(&["production", "report", path]);
    for words in ["/predict", "/health", "10.0%", "p95<100ms", "missed", "inference", "request "] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let value: Value =
        serde_json::from_str(&said(&["production", "report", path, "--format", "json"])).unwrap();
    assert_eq!((&value["total"]["requests"], &value["total"]["errors"]), (&200.into(), &10.into()));
    let markdown = said(&["production", "report", path, "--last", "24h", "--format", "md"]);
    assert!(markdown.contains("| /predict |"), "{markdown}");
    let explained = said(&["production", "report", path, "--explain"]);
    assert!(explained.contains("Burn rate") && explained.len() > text.len());
    let file = folder.join("report.html");
    let args = ["production", "report", path, "--format", "html", "-o", file.to_str().unwrap()];
    if stepscope_serve::has_ui() {
        assert_eq!(said(&args), "");
        let html = std::fs::read_to_string(&file).unwrap();
        assert!(html.contains("pack:services") && html.contains("pack:meta"));
    } else {
        skip("the report as a page: this build has no browser UI (make ui)");
    }

    let top = said(&["production", "top", path, "--once"]);
    assert_eq!(top.lines().next(), text.lines().next());
    assert!(top.contains("1 process · 2 targets missed") && top.contains("/s over "), "{top}");
    let rows: Value = serde_json::from_str(&said(&["production", "top", path, "--format", "json"])).unwrap();
    assert_eq!((&rows[0]["route"], &rows[0]["now"]["requests"]), (&"/predict".into(), &100.into()));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_way_to_ask_gets_the_same_first_sentence() {
    let folder = temp_folder("verdict");
    std::fs::write(folder.join("stepscope-production.json"), r#"{"schema": 1}"#).unwrap();
    // 2026-11-17, from 02:00 to 03:00 UTC: inference takes three times as long from 02:20 on.
    let from = 20_774 * 1_440 + 120;
    for minute in from..from + 60 {
        let latency_ns = if minute < from + 20 { 40 } else { 120 } * MS;
        let mut stats = RouteStats::default();
        let mut inference = RegionStats { self_ns: 50 * (latency_ns - 9 * MS), ..RegionStats::default() };
        (0..50).for_each(|_| stats.latency.record(latency_ns));
        (0..50).for_each(|_| inference.duration.record(latency_ns - 9 * MS));
        stats.regions.insert("inference".to_owned(), inference);
        let routes = BTreeMap::from([("/predict".to_owned(), stats)]);
        let sequence = minute as u64;
        write_minute(&folder, 1, &Block { minute, sequence, routes, ..Block::default() });
    }
    let path = folder.to_str().unwrap();
    let report =
        |format: &str| said(&["production", "report", path, "--at", "2026-11-17T02", "--format", format]);
    let json: Value = serde_json::from_str(&report("json")).unwrap();
    let sentence = json["verdict"]["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("/predict was slow from 02:20 UTC on: p95 rose from 40 ms to 1"),
        "{sentence}"
    );
    assert!(sentence.ends_with("; inference grew most."), "{sentence}");
    assert_eq!(report("table").lines().next(), Some(sentence));
    assert!(report("md").starts_with(&format!("### Verdict\n\n{sentence}\n")), "{}", report("md"));
    assert!(report("csv").lines().nth(1).unwrap().starts_with("/predict,"), "{}", report("csv"));
    let view = View::start(&[path]);
    let shown = view.json(&format!("api/service?from={from}&until={}", from + 60));
    assert_eq!(shown["verdict"], json["verdict"]);
    // A part of it is judged by what is in it; now there is only silence, wherever one looks.
    let calm = view.json(&format!("api/service?from={from}&until={}", from + 15));
    assert_eq!(calm["verdict"]["word"], "All fine");
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
    std::fs::File::open(&folder).unwrap().set_modified(hours_ago).unwrap();
    for words in [
        said(&["production", "report", path]),
        said(&["production", "top", path, "--once"]),
        view.json("api/service?last=1h")["verdict"]["sentence"].as_str().unwrap().to_owned(),
    ] {
        assert!(words.starts_with("Nothing has been written since "), "{words}");
        assert!(words.contains(", for 2 hours: the service gets no requests, or is down."), "{words}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_service_is_said_so() {
    let folder = temp_folder("no-service");
    let path = folder.to_str().unwrap();
    for (args, words) in [
        (vec!["production", "report", "nowhere"], "no directory of a service"),
        (vec!["production", "report", path, "--last", "5x"], "not a time range"),
        (vec!["production", "report", path, "--at", "2026-02-30"], "not a time range"),
        (vec!["production", "top", "nowhere", "--once"], "no directory of a service"),
    ] {
        let output = run(&args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(error.contains(words) && error.contains("hint:"), "{error}");
    }
    std::fs::write(folder.join("stepscope-production.json"), r#"{"schema": 99}"#).unwrap();
    for command in [&["production", "report", path][..], &["view", "--no-open", path]] {
        let output = run(command);
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("newer version (schema 99") && error.contains("update stepscope"), "{error}");
    }
    // A directory with nothing in it yet is a service that no one has asked.
    std::fs::write(folder.join("stepscope-production.json"), r#"{"schema": 1}"#).unwrap();
    assert!(said(&["production", "report", path]).contains("no requests"));
    assert!(said(&["production", "top", path, "--once"]).contains("no requests yet"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// What follows the head of a stream of events, line by line.
fn events(view: &View) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(&view.host).unwrap();
    socket.set_read_timeout(Some(MAX_WAIT)).unwrap();
    write!(socket, "GET {}api/service/events HTTP/1.1\r\nHost: {}\r\n\r\n", view.path, view.host).unwrap();
    let mut reader = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
    reader
}

/// Reads on until the page is given of something that is as new as this file or folder.
fn read_until_told(told: &mut BufReader<TcpStream>, changed: &Path) {
    let modified = std::fs::metadata(changed).unwrap().modified().unwrap();
    let wanted = modified.duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let began = Instant::now();
    let mut line = String::new();
    loop {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "the stream ended");
        let newest = line.trim().strip_prefix("data: ").map(|data| {
            let data: Value = serde_json::from_str(data).unwrap();
            data["newest_ns"].as_u64().unwrap()
        });
        if newest.is_some_and(|newest| u128::from(newest) >= wanted) {
            return;
        }
        // Every 15 s there is a line that says nothing.
        assert!(began.elapsed() < MAX_WAIT, "waited {MAX_WAIT:?} in vain for word of {}", changed.display());
    }
}

#[test]
fn the_dashboard_is_told_when_there_is_more() {
    let (monitor, folder) = service("dashboard");
    serve(&monitor, 10);
    let view = View::start(&[folder.to_str().unwrap()]);
    let runs = view.json("api/runs");
    assert_eq!(runs["service"]["name"], folder.file_name().unwrap().to_str().unwrap());
    assert_eq!(runs["runs"], Value::Array(Vec::new()));
    let shown = view.json("api/service?last=1h");
    assert_eq!((&shown["total"]["requests"], &shown["routes"][0]["route"]), (&20.into(), &"/predict".into()));
    assert_eq!(
        shown["minutes"].as_array().unwrap().len(),
        shown["series"]["requests"].as_array().unwrap().len()
    );
    let one = view.json("api/service?last=1h&route=%2Fhealth");
    assert_eq!((&one["total"]["requests"], &one["route"]), (&10.into(), &"/health".into()));

    let mut told = events(&view);
    serve(&monitor, 10);
    read_until_told(&mut told, &folder);
    assert_eq!(view.json("api/service?last=1h")["total"]["requests"], 40);

    // A machine without requests is described too.
    let alerts = folder.join("alerts.jsonl");
    std::fs::write(&alerts, "{}\n").unwrap();
    read_until_told(&mut told, &alerts);

    for (query, words) in [
        ("from=10&until=5", "empty or longer"),
        ("from=0&until=999999999999", "empty or longer"),
        ("from=x&until=5", "not a number"),
        ("last=forever", "not a time range"),
    ] {
        let (status, body) = view.get(&format!("api/service?{query}"));
        let body = String::from_utf8(body).unwrap();
        assert!(status == 400 && body.contains(words), "{status} {body}");
    }
    // Only who has the token.
    let (status, _, _) = view.request("GET", "/wrong/api/service/events", "");
    assert_eq!(status, 404);
    std::fs::remove_dir_all(folder).unwrap();
}
