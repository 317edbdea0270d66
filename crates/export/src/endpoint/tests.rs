use std::io::{Read, Write};

use super::*;
use crate::testing::{block, folder, write};

fn options() -> Options {
    Options { retry: Duration::from_millis(50), connections: 2 }
}

fn started(name: &str) -> (Endpoint, SocketAddr, std::path::PathBuf) {
    let folder = folder(name);
    let minute = stepscope_production::now_ns() / 60_000_000_000;
    write(&folder, minute / 60, 1, "open", &[block(minute, 0, "/a", &[5_000_000; 3])]);
    let exporter = Arc::new(Exporter::new(&folder));
    let endpoint = Endpoint::start(exporter, "127.0.0.1:0", options()).unwrap();
    let address = endpoint.serving_at().unwrap();
    (endpoint, address, folder)
}

/// The status, the head and the body of an answer.
fn ask(address: SocketAddr, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
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
    let (_endpoint, address, folder) = started("odd");
    assert_eq!(ask(address, "nonsense\r\n\r\n").0, 400);
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(40_000));
    assert!(matches!(ask(address, &long).0, 431 | 0));
    // Two that say nothing take both places; a third one is told so, and soon there is room again.
    // On a busy machine they may be gone again before anybody asks.
    let refused = (0..20).any(|_| {
        let silent: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(address).unwrap()).collect();
        std::thread::sleep(Duration::from_millis(300));
        let (status, _, _) = ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
        drop(silent);
        status == 503
    });
    assert!(refused);
    let begun = Instant::now();
    while ask(address, "GET /metrics HTTP/1.1\r\n\r\n").0 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn another_one_takes_over_the_port() {
    let (first, address, folder) = started("over");
    let exporter = Arc::new(Exporter::new(&folder));
    let second = Endpoint::start(exporter, &address.to_string(), options()).unwrap();
    assert_eq!(second.serving_at(), None);
    assert_eq!(second.socket(), None);
    let before = ask(address, "GET /metrics HTTP/1.1\r\n\r\n").2;
    drop(first);
    let begun = Instant::now();
    while second.serving_at().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
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
    let begun = Instant::now();
    let words = loop {
        assert!(begun.elapsed() < Duration::from_secs(30));
        match ask(address, "GET /metrics HTTP/1.1\r\n\r\n") {
            (503, _, words) => break words,
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    assert!(words.contains("there is no directory of a service"), "{words}");
}

#[test]
fn a_place_that_is_none_is_an_error() {
    let exporter = Arc::new(Exporter::new(std::path::Path::new("nowhere")));
    for wrong in ["", "nonsense", "127.0.0.1", "192.0.2.1:9464", "127.0.0.1:99999"] {
        let error = Endpoint::start(exporter.clone(), wrong, options()).unwrap_err();
        assert!(error.message.starts_with("cannot listen at") && error.hint.contains("9464"), "{error}");
    }
}
