use std::cell::Cell;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, mpsc};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::testing::own_address;

const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/certificates");

fn quick() -> Retry {
    Retry { attempts: 4, first: Duration::from_millis(1), longest: Duration::from_millis(20) }
}

fn destination(
    url: &str,
    headers: &[(&str, &str)],
    certificate: Option<&str>,
    variables: &[(&str, &str)],
) -> Result<Destination, Problem> {
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Destination::new(url, &headers, Duration::from_secs(60), certificate, &variable)
}

/// Reads a request: its head in small letters, and its body.
fn request(stream: &mut impl Read) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).unwrap_or(0);
        bytes.extend_from_slice(&part[..read]);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let head = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).to_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        let body = end.map_or(&[][..], |end| &bytes[end + 4..]);
        if read == 0 || (end.is_some() && body.len() >= length) {
            return (head, body.to_vec());
        }
    }
}

type Requests = mpsc::Receiver<(String, Vec<u8>)>;

/// A collector that gives these answers, one per connection, and hands out what it got.
fn collector(answers: &'static [&'static str]) -> (u16, Requests) {
    collector_at(Ipv4Addr::LOCALHOST, answers, None)
}

fn collector_at(
    address: Ipv4Addr,
    answers: &'static [&'static str],
    tls: Option<Arc<ServerConfig>>,
) -> (u16, Requests) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            match &tls {
                Some(config) => {
                    let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
                    let got = request(&mut stream);
                    let _ = sender.send(got);
                    // A client that does not trust it is gone.
                    let _ = stream.write_all(answer.as_bytes());
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
                None => {
                    let got = request(&mut stream);
                    sender.send(got).unwrap();
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            }
        }
    });
    (port, receiver)
}

fn to(port: u16) -> Destination {
    destination(&format!("http://127.0.0.1:{port}/v1/metrics"), &[("x-token", "a b")], None, &[]).unwrap()
}

fn unreachable_server() -> Destination {
    let free = TcpListener::bind((own_address(), 0)).unwrap().local_addr().unwrap();
    destination(&format!("http://{free}/"), &[], None, &[]).unwrap()
}

#[test]
fn urls_and_headers_are_read() {
    let parse = |url: &str| destination(url, &[], None, &[]).map(|found| found.to_string());
    assert_eq!(parse("http://127.0.0.1:4318/v1/metrics").unwrap(), "http://127.0.0.1:4318/v1/metrics");
    assert_eq!(parse("HTTP://collector").unwrap(), "http://collector/");
    assert_eq!(parse("http://[::1]:4318/x").unwrap(), "http://[::1]:4318/x");
    assert_eq!(parse("https://collector:4318").unwrap(), "https://collector:4318/");
    for wrong in ["", "127.0.0.1:4318", "http://", "http://a:port/", "http://u@h/", "http://a/b c", "ftp://a"] {
        let error = parse(wrong).unwrap_err();
        assert!(error.what.contains("not a collector URL") && error.hint.contains("https://"), "{wrong}");
    }
    for header in [("", "x"), ("a b", "x"), ("a", "x\r\ny: z")] {
        let error = destination("http://a", &[header], None, &[]).unwrap_err();
        assert!(error.what.contains("not an HTTP header"), "{header:?}");
    }
}

#[test]
fn a_message_arrives_as_it_is() {
    let (port, got) = collector(&["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]);
    assert_eq!(to(port).send(&[1, 2, 3], quick(), &|| false), SendOutcome::Taken(None));
    let (head, body) = got.recv().unwrap();
    assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
    for header in ["content-type: application/x-protobuf", "x-token: a b", "connection: close"] {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert_eq!(body, [1, 2, 3]);
}

#[test]
fn a_collector_that_is_busy_is_tried_again_and_one_that_refuses_is_not() {
    let (port, got) = collector(&[
        "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 429 Slow\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\x0a\x04\x08\x02\x12\x00",
    ]);
    let sent = to(port).send(b"x", quick(), &|| false);
    assert!(
        matches!(sent, SendOutcome::Taken(Some(problem)) if problem.what == "the collector refused 2 of them: ")
    );
    assert_eq!(got.iter().take(3).count(), 3);

    for (answer, hint) in [
        (&["HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n"; 1], "--endpoint"),
        (&["HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n"; 1], "--header authorization"),
        // No one follows it with an access token.
        (
            &["HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"; 1],
            "--endpoint",
        ),
    ] {
        let (port, _got) = collector(answer);
        let sent = to(port).send(b"x", quick(), &|| false);
        let SendOutcome::Refused(problem) = sent else { panic!("{sent:?}") };
        assert!(problem.what.contains(&answer[0][9..12]) && problem.hint.contains(hint), "{problem:?}");
    }

    let (port, _got) = collector(&["HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"; 4]);
    let sent = to(port).send(b"x", quick(), &|| false);
    assert!(matches!(sent, SendOutcome::NotNow(problem) if problem.what.contains("503")));
}

#[test]
fn nobody_there_and_nonsense_are_said() {
    let sent = unreachable_server().send(b"x", quick(), &|| false);
    assert!(matches!(sent, SendOutcome::NotNow(problem) if problem.what.contains("cannot be reached")));
    let (port, _got) = collector(&["what?\r\n\r\n"; 4]);
    let sent = to(port).send(b"x", quick(), &|| false);
    assert!(matches!(&sent, SendOutcome::NotNow(problem) if problem.what.contains("not HTTP")), "{sent:?}");
    // A wish to stop ends the waiting: it is asked for before anybody waits, and no one asks again or sends again.
    let slow = Retry { first: Duration::from_secs(600), longest: Duration::from_secs(600), ..quick() };
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        true
    };
    assert!(matches!(unreachable_server().send(b"x", slow, &stop), SendOutcome::NotNow(_)));
    assert_eq!(asked.get(), 1);
}

#[test]
fn a_collector_that_says_nothing_is_left_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let within = Duration::from_millis(50);
    let destination = Destination::new(&url, &[], within, None, &|_| None).unwrap();
    let sent = destination.send(b"x", Retry { attempts: 1, ..quick() }, &|| false);
    assert!(
        matches!(&sent, SendOutcome::NotNow(problem) if problem.what.contains("takes too long")),
        "{sent:?}"
    );
}

#[test]
fn https_needs_a_certificate_that_is_trusted() {
    let pem = |name: &str| std::fs::read(format!("{CERTIFICATES}/{name}")).unwrap();
    let certificates = vec![CertificateDer::from_pem_slice(&pem("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(&pem("server-key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(certificates, key).unwrap());
    let fine = &["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"];
    let authority = format!("{CERTIFICATES}/authority.pem");
    let sent = |address: Ipv4Addr, certificate: Option<&str>| {
        let (port, got) = collector_at(address, fine, Some(config.clone()));
        let to = destination(&format!("https://{address}:{port}/v1/traces"), &[], certificate, &[]).unwrap();
        (to.send(b"secret", quick(), &|| false), got)
    };
    let (taken, got) = sent(Ipv4Addr::LOCALHOST, Some(&authority));
    assert_eq!(taken, SendOutcome::Taken(None));
    let (head, body) = got.recv().unwrap();
    assert!(head.starts_with("post /v1/traces ") && body == b"secret", "{head}");

    // Once is enough, and nothing was said to it.
    let (refused, got) = sent(Ipv4Addr::LOCALHOST, None);
    let SendOutcome::Refused(problem) = refused else { panic!("{refused:?}") };
    assert!(problem.what.contains("is not trusted: it is not signed by an authority"), "{problem}");
    assert!(problem.hint.contains("OTEL_EXPORTER_OTLP_CERTIFICATE"), "{}", problem.hint);
    assert_eq!(got.recv().unwrap().1, b"");
    if own_address() != Ipv4Addr::LOCALHOST {
        let (other, _) = sent(own_address(), Some(&authority));
        assert!(
            matches!(&other, SendOutcome::Refused(problem) if problem.what.ends_with("another name")),
            "{other:?}"
        );
    }

    // Plain HTTP where TLS was expected.
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let to = destination(&url, &[], Some(&authority), &[]).unwrap();
    let sent = to.send(b"x", Retry { attempts: 1, ..quick() }, &|| false);
    assert!(
        matches!(&sent, SendOutcome::NotNow(problem) if problem.hint.contains("begins with http://")),
        "{sent:?}"
    );

    for wrong in ["nowhere.pem", &format!("{CERTIFICATES}/README.md")] {
        let error = destination("https://a/", &[], Some(wrong), &[]).unwrap_err();
        assert!(error.what.ends_with(wrong) && error.hint.contains("PEM"), "{error}");
    }
}

#[test]
fn proxies_are_those_of_the_environment() {
    let (port, got) = collector(&["HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n"]);
    let proxy = format!("http://127.0.0.1:{port}");
    let to = destination("https://collector.example/", &[], None, &[("HTTPS_PROXY", &proxy)]).unwrap();
    let sent = to.send(b"x", Retry { attempts: 1, ..quick() }, &|| false);
    assert!(matches!(&sent, SendOutcome::NotNow(problem) if problem.what.contains("407")), "{sent:?}");
    assert!(got.recv().unwrap().0.starts_with("connect collector.example:443 http/1.1"));

    let through = |url: &str, variables: &[(&str, &str)]| {
        let found = destination(url, &[], None, variables).unwrap();
        found.agent.config().proxy().map(|proxy| proxy.host().to_owned())
    };
    let both =
        [("http_proxy", "http://one:1"), ("HTTPS_PROXY", "two:2"), ("NO_PROXY", "x.example, .y.example")];
    assert_eq!(through("http://collector:4318", &both).as_deref(), Some("one"));
    assert_eq!(through("https://collector", &both).as_deref(), Some("two"));
    assert_eq!(through("http://collector", &[("ALL_PROXY", "http://all")]).as_deref(), Some("all"));
    for direct in [
        "http://localhost:4318",
        "http://127.0.0.7",
        "http://[::1]:4318",
        "https://x.example",
        "https://a.x.example",
        "https://a.y.example",
    ] {
        assert_eq!(through(direct, &both), None, "{direct}");
    }
    assert_eq!(through("http://a", &[("HTTP_PROXY", "http://one"), ("no_proxy", "*")]), None);
    let error = destination("http://a", &[], None, &[("HTTP_PROXY", "socks5://one")]).unwrap_err();
    assert!(error.what.contains("HTTP_PROXY") && error.hint.contains("NO_PROXY"), "{error}");
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
}
