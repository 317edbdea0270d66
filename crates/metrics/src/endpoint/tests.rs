use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use super::*;
use crate::testing::{block, folder, own_address, write};

/// How long a test waits for something that a busy machine may be late with.
const LIMIT: Duration = Duration::from_secs(60);

fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < LIMIT, "waited {} s for this: {what}", LIMIT.as_secs());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// More places than a test asks for: one is given back a moment after its answer is read.
fn options() -> Options {
    Options { retry: Duration::from_millis(50), connections: 64 }
}

fn started(name: &str) -> (Endpoint, SocketAddr, std::path::PathBuf) {
    started_with(name, options())
}

fn started_with(name: &str, options: Options) -> (Endpoint, SocketAddr, std::path::PathBuf) {
    let folder = folder(name);
    let minute = stepscope_ground::utc::now_ns() / 60_000_000_000;
    write(&folder, minute / 60, 1, "open", &[block(minute, 0, "/a", &[5_000_000; 3])]);
    let reader = Arc::new(SnapshotReader::new(&folder));
    let endpoint = Endpoint::start(reader, &format!("{}:0", own_address()), options).unwrap();
    let address = endpoint.serving_at().unwrap();
    (endpoint, address, folder)
}

/// The status, the head and the body of an answer.
fn ask(address: SocketAddr, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head.to_owned(), body.to_owned())
}

#[test]
fn metrics_are_served_in_the_format_asked_for() {
    let (endpoint, address, folder) = started("served");
    let (status, head, body) = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status, 200);
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(body.contains("stepscope_requests_total{route=\"/a\"} 3\n"), "{body}");
    let (_, head, body) = ask(address, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0") && body.ends_with("# EOF\n")
    );
    let (_, head, _) = ask(address, "GET /metrics HTTP/1.1\r\nAccept: application/vnd.google.protobuf\r\n\r\n");
    assert!(head.contains("encoding=delimited"), "{head}");
    let (status, _, body) = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert_eq!((status, body.as_str()), (200, ""));
    assert_eq!(ask(address, "GET / HTTP/1.1\r\n\r\n").0, 200);
    assert_eq!(ask(address, "GET /other HTTP/1.1\r\n\r\n").0, 404);
    assert_eq!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").0, 405);
    drop(endpoint);
    assert!(TcpStream::connect(address).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn odd_clients_get_an_answer_and_harm_nobody() {
    let (endpoint, address, folder) = started_with("odd", Options { connections: 2, ..options() });
    let free = || endpoint.shared.places.available_permits();
    let all_free = || until("all places are free", || (free() == 2).then_some(()));
    assert_eq!(ask(address, "nonsense\r\n\r\n").0, 400);
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(40_000));
    assert!(matches!(ask(address, &long).0, 431 | 0));
    // Two that say nothing take both places, for 5 s at most; a third one is refused with a message.
    until("the third one is refused", || {
        all_free();
        let _silent = [(); 2].map(|()| TcpStream::connect(address).unwrap());
        until("both places are taken", || (free() == 0).then_some(()));
        (ask(address, "GET /metrics HTTP/1.1\r\n\r\n").0 == 503).then_some(())
    });
    // They are gone: there is room again.
    all_free();
    assert_eq!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").0, 200);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn another_one_takes_over_the_port() {
    let (first, address, folder) = started("over");
    let reader = Arc::new(SnapshotReader::new(&folder));
    let second = Endpoint::start(reader, &address.to_string(), options()).unwrap();
    assert_eq!(second.serving_at(), None);
    assert_eq!(second.socket(), None);
    let before = ask(address, "GET /metrics HTTP/1.1\r\n\r\n").2;
    drop(first);
    until("the second one serves", || second.serving_at());
    let after = ask(address, "GET /metrics HTTP/1.1\r\n\r\n").2;
    assert_eq!(before, after);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_directory_that_cannot_be_read_is_said() {
    let (_endpoint, address, folder) = started("gone");
    assert_eq!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").0, 200);
    std::fs::remove_dir_all(&folder).unwrap();
    // Numbers that were just read are served for a moment.
    let words = until("old numbers are served no more", || {
        let (status, _, words) = ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
        (status == 503).then_some(words)
    });
    assert!(words.contains("there is no directory of a service"), "{words}");
}

#[test]
fn a_place_that_is_none_is_an_error() {
    let reader = Arc::new(SnapshotReader::new(std::path::Path::new("nowhere")));
    for wrong in ["", "nonsense", "127.0.0.1", "192.0.2.1:9464", "127.0.0.1:99999"] {
        let error = Endpoint::start(reader.clone(), wrong, options()).unwrap_err();
        assert!(error.what.starts_with("cannot listen at") && error.hint.contains("9464"), "{error}");
    }
}
