use std::cell::Cell;
use std::net::TcpListener;
use std::sync::mpsc;

use super::*;
use crate::testing::own_address;

fn quick() -> Retry {
    Retry {
        attempts: 4,
        first: Duration::from_millis(1),
        longest: Duration::from_millis(20),
        attempt: Duration::from_secs(60),
    }
}

/// A collector that gives these answers, one per connection, and hands out what it got.
fn collector(answers: &'static [&'static str]) -> (u16, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            let mut part = [0; 4096];
            loop {
                let read = stream.read(&mut part).unwrap();
                bytes.extend_from_slice(&part[..read]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let length = text.split("Content-Length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
                let length: usize = length.map_or(0, |length| length.parse().unwrap());
                if text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.len() >= length) || read == 0 {
                    break;
                }
            }
            sender.send(bytes).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (port, receiver)
}

fn to(port: u16) -> Destination {
    let headers = vec![("x-token".to_owned(), "a b".to_owned())];
    Destination::parse(&format!("http://127.0.0.1:{port}/v1/metrics"), headers).unwrap()
}

/// A place where nobody listens.
fn nobody() -> Destination {
    let free = TcpListener::bind((own_address(), 0)).unwrap().local_addr().unwrap();
    Destination::parse(&format!("http://{free}/"), Vec::new()).unwrap()
}

#[test]
fn urls_are_read() {
    let parse = |url: &str| Destination::parse(url, Vec::new()).map(|found| found.to_string());
    assert_eq!(parse("http://127.0.0.1:4318/v1/metrics").unwrap(), "http://127.0.0.1:4318/v1/metrics");
    assert_eq!(parse("HTTP://collector").unwrap(), "http://collector:80/");
    assert_eq!(parse("http://[::1]:4318/x").unwrap(), "http://[::1]:4318/x");
    assert_eq!(parse("http://[::1]").unwrap(), "http://[::1]:80/");
    for wrong in ["", "127.0.0.1:4318", "http://", "http://a:port/", "http://u@h/", "http://a/b c", "ftp://a"] {
        assert!(parse(wrong).unwrap_err().what.contains("not a collector URL"), "{wrong}");
    }
    let tls = parse("https://collector:4318").unwrap_err();
    assert!(tls.what.contains("only plain http") && tls.hint.contains("TLS"), "{tls}");
    for (name, value) in [("", "x"), ("a b", "x"), ("a", "x\r\ny: z")] {
        let headers = vec![(name.to_owned(), value.to_owned())];
        assert!(Destination::parse("http://a", headers).is_err(), "{name}: {value}");
    }
}

#[test]
fn a_message_arrives_as_it_is() {
    let (port, got) = collector(&["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]);
    assert_eq!(to(port).send(&[1, 2, 3], quick(), &|| false), Sent::Taken(None));
    let got = got.recv().unwrap();
    let text = String::from_utf8_lossy(&got);
    assert!(text.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{text}");
    assert!(text.contains("Content-Type: application/x-protobuf\r\n") && text.contains("x-token: a b\r\n"));
    assert!(got.ends_with(b"\r\n\r\n\x01\x02\x03"));
}

#[test]
fn a_collector_that_is_busy_is_tried_again_and_one_that_refuses_is_not() {
    let (port, got) = collector(&[
        "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 429 Slow\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\x0a\x04\x08\x02\x12\x00",
    ]);
    let sent = to(port).send(b"x", quick(), &|| false);
    assert_eq!(sent, Sent::Taken(Some("the collector refused 2 of them: ".to_owned())));
    assert_eq!(got.iter().take(3).count(), 3);

    let (port, _got) = collector(&["HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n"]);
    assert!(
        matches!(to(port).send(b"x", quick(), &|| false), Sent::Refused(words) if words.contains("status 400"))
    );

    let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    let (port, _got) = collector(&["HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"; 4]);
    assert!(
        matches!(to(port).send(b"x", quick(), &|| false), Sent::NotNow(words) if words.contains("503")),
        "{busy}"
    );
}

#[test]
fn nobody_there_and_nonsense_are_said() {
    let sent = nobody().send(b"x", quick(), &|| false);
    assert!(matches!(sent, Sent::NotNow(words) if words.contains("cannot be reached")));
    let (port, _got) = collector(&["what?"; 4]);
    assert!(
        matches!(to(port).send(b"x", quick(), &|| false), Sent::NotNow(words) if words.contains("not HTTP"))
    );
    // A wish to stop ends the waiting: it is asked for before anybody waits, and nobody asks again or sends again.
    let slow = Retry { first: Duration::from_secs(600), longest: Duration::from_secs(600), ..quick() };
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        true
    };
    assert!(matches!(nobody().send(b"x", slow, &stop), Sent::NotNow(_)));
    assert_eq!(asked.get(), 1);
}

#[test]
fn answers_that_are_damaged_are_nothing() {
    for bytes in [
        &b""[..],
        b"\x0a",
        b"\x0a\x05\x08",
        b"\x0a\x02\x12\x7f",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        assert_eq!(partial_success(bytes), None, "{bytes:?}");
    }
    assert_eq!(parse(b"HTTP/1.1 2000000 OK\r\n\r\n"), None);
}
