//! One request of HTTP/1.1, read within bounds of size and time, and its answer. A scrape needs no more.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bounds on one connection.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bounds {
    /// Bytes before the body.
    pub head: usize,
    /// Time for all of it to arrive.
    pub arrive: Duration,
    /// Time that writing may stand still.
    pub write: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { head: 16 << 10, arrive: Duration::from_secs(5), write: Duration::from_secs(10) }
    }
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub method: String,
    /// Without what comes behind a question mark.
    pub path: String,
    /// What it accepts, all headers of the name together.
    pub accept: String,
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

impl Answer {
    pub(crate) fn words(status: u16, words: impl Into<String>) -> Self {
        let body = format!("{}\n", words.into()).into_bytes();
        Self { status, content_type: "text/plain; charset=utf-8", body }
    }
}

/// Reads until the empty line. `Err` holds the status of the answer, or nothing if nobody is there to get one.
pub(crate) fn read(stream: &mut TcpStream, bounds: Bounds) -> Result<Asked, Option<u16>> {
    let deadline = Instant::now() + bounds.arrive;
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            return parse(&bytes[..end]).ok_or(Some(400));
        }
        if bytes.len() > bounds.head {
            return Err(Some(431));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Some(408));
        }
        stream.set_read_timeout(Some(left)).map_err(|_| None)?;
        match stream.read(&mut part) {
            Ok(0) => return Err(None),
            Ok(read) => bytes.extend_from_slice(&part[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(Some(408));
            }
            Err(_) => return Err(None),
        }
    }
}

fn parse(head: &[u8]) -> Option<Asked> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    if first.next().is_some() || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return None;
    }
    let path = target.split(['?', '#']).next()?;
    let mut accept = String::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("accept") {
            if !accept.is_empty() {
                accept.push(',');
            }
            accept.push_str(value.trim());
        }
    }
    Some(Asked { method: method.to_owned(), path: path.to_owned(), accept })
}

/// Writes an answer and ends the connection.
pub(crate) fn write(
    stream: &mut TcpStream,
    answer: &Answer,
    without_body: bool,
    bounds: Bounds,
) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    };
    let allow = if answer.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    );
    stream.set_write_timeout(Some(bounds.write))?;
    stream.write_all(head.as_bytes())?;
    if !without_body {
        stream.write_all(&answer.body)?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let asked =
            parse(b"GET /metrics?name=x HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\naccept:  */*").unwrap();
        let expected = Asked { method: "GET".into(), path: "/metrics".into(), accept: "text/plain,*/*".into() };
        assert_eq!(asked, expected);
        for wrong in [
            &b""[..],
            b"GET",
            b"GET /",
            b"GET / HTTP/2",
            b"GET / HTTP/1.1 x",
            b"GET http://a/ HTTP/1.1",
            b"GET / HTTP/1.1\r\nno colon",
            b"GET /\xff HTTP/1.1",
        ] {
            assert_eq!(parse(wrong), None, "{}", String::from_utf8_lossy(wrong));
        }
    }
}
