//! Sending a message to a collector: one POST over plain HTTP, tried again where the collector asks for that.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use stepscope_ground::Problem;
use stepscope_ground::protobuf::{Field, Fields};

/// More of an answer is not read.
const MAX_ANSWER: usize = 64 << 10;
/// The longest that a header or a path may be.
const MAX_WORD: usize = 4096;

/// Where to send to: `http://host:port/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    host: String,
    port: u16,
    path: String,
    headers: Vec<(String, String)>,
}

/// How often and how long to try.
#[derive(Copy, Clone, Debug)]
pub struct Retry {
    /// How often at most.
    pub attempts: u32,
    /// The first wait; each later one is twice as long.
    pub first: Duration,
    /// The longest wait, whatever the collector asks for.
    pub longest: Duration,
    /// How long one attempt may take.
    pub attempt: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(8),
            attempt: Duration::from_secs(10),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It arrived. The words are the collector's, if it took only some of it.
    Taken(Option<String>),
    /// Nobody took it; it may be sent again later.
    NotNow(String),
    /// The collector will never take it.
    Refused(String),
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Answer {
    status: u16,
    retry_after: Option<u64>,
    body: Vec<u8>,
}

impl Destination {
    /// Reads a URL. A path that is missing is `/`.
    pub fn parse(url: &str, headers: Vec<(String, String)>) -> Result<Self, Problem> {
        let shown: String = url.chars().take(100).collect();
        if url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://")) {
            return Err(Problem::new(
                format!("only plain http is known here, not {shown}"),
                "run an OpenTelemetry Collector on this machine and let it send on with TLS",
            ));
        }
        let wrong =
            || Problem::new(format!("this is not a collector URL: {shown}"), "write http://127.0.0.1:4318");
        let rest = url.get(..7).filter(|start| start.eq_ignore_ascii_case("http://")).and(url.get(7..));
        let rest = rest.ok_or_else(wrong)?;
        let (place, path) = match rest.find('/') {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, "/"),
        };
        let (host, port) = match place.rsplit_once(':') {
            // An IPv6 address without a port ends in a bracket.
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
            _ => (place, 80),
        };
        let fine = |text: &str| text.len() <= MAX_WORD && text.bytes().all(|b| (0x21..0x7f).contains(&b));
        if host.is_empty() || host.contains('@') || !fine(host) || !fine(path) {
            return Err(wrong());
        }
        for (name, value) in &headers {
            let named =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            if !named || value.len() > MAX_WORD || value.bytes().any(|b| b < 0x20 || b == 0x7f) {
                return Err(Problem::new(
                    format!("this is not an HTTP header: {name}"),
                    "write NAME=VALUE, with letters, digits and dashes in the name",
                ));
            }
        }
        Ok(Self { host: host.to_owned(), port, path: path.to_owned(), headers })
    }

    /// Sends, and tries again where that may help. `stop` ends the waiting.
    pub fn send(&self, body: &[u8], retry: Retry, stop: &dyn Fn() -> bool) -> Sent {
        let mut wait = retry.first;
        let mut words = String::new();
        for attempt in 0..retry.attempts.max(1) {
            if attempt > 0 && !pause(wait.min(retry.longest), stop) {
                break;
            }
            match self.post(body, retry.attempt) {
                Ok(answer) if (200..300).contains(&answer.status) => {
                    return Sent::Taken(partial_success(&answer.body));
                }
                // These ask to try again (OTLP); a gateway that has no collector behind it, too.
                Ok(answer) if matches!(answer.status, 429 | 502 | 503 | 504) => {
                    words = format!("the collector at {self} answers with status {}", answer.status);
                    wait = answer.retry_after.map_or(wait * 2, Duration::from_secs);
                }
                Ok(answer) => {
                    return Sent::Refused(format!(
                        "the collector at {self} answers with status {}",
                        answer.status
                    ));
                }
                Err(error) => {
                    words = format!("the collector at {self} cannot be reached: {error}");
                    wait *= 2;
                }
            }
        }
        Sent::NotNow(words)
    }

    fn post(&self, body: &[u8], most: Duration) -> io::Result<Answer> {
        let deadline = Instant::now() + most;
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
        let mut connected = None;
        for address in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(error) => last = error,
            }
        }
        let mut stream = connected.ok_or(last)?;
        let mut head = format!(
            "POST {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: stepscope/{}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\nConnection: close\r\n",
            self.path,
            self.host,
            self.port,
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.set_write_timeout(Some(left(deadline)?))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        loop {
            if let Some(answer) = whole(&bytes) {
                return Ok(answer);
            }
            stream.set_read_timeout(Some(left(deadline)?))?;
            let read = stream.read(&mut part)?;
            if read == 0 || bytes.len() > MAX_ANSWER {
                return parse(&bytes)
                    .map(|(answer, _)| answer)
                    .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its answer is not HTTP"));
            }
            bytes.extend_from_slice(&part[..read]);
        }
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}:{}{}", self.host, self.port, self.path)
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::Error::new(io::ErrorKind::TimedOut, "it takes too long")) } else { Ok(left) }
}

/// Waits; false if somebody said stop.
fn pause(wait: Duration, stop: &dyn Fn() -> bool) -> bool {
    let until = Instant::now() + wait;
    while Instant::now() < until {
        if stop() {
            return false;
        }
        std::thread::sleep(wait.min(Duration::from_millis(50)));
    }
    !stop()
}

/// An answer that says how long it is and is all there.
fn whole(bytes: &[u8]) -> Option<Answer> {
    let (answer, length) = parse(bytes)?;
    (answer.body.len() >= length?).then_some(answer)
}

/// The head of an answer and as much of its body as there is, with the length that it should have.
fn parse(bytes: &[u8]) -> Option<(Answer, Option<usize>)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer { status, body: bytes[end + 4..].to_vec(), ..Answer::default() };
    let mut length = None;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        match name.to_ascii_lowercase().as_str() {
            "retry-after" => answer.retry_after = value.trim().parse().ok(),
            "content-length" => length = value.trim().parse().ok(),
            _ => {}
        }
    }
    Some((answer, length))
}

/// The words of `partial_success` in an answer of OTLP: field 1 with how many were refused, and why.
fn partial_success(body: &[u8]) -> Option<String> {
    let (_, Field::Bytes(body)) = Fields::new(body).next()?.ok().filter(|(field, _)| *field == 1)? else {
        return None;
    };
    let (mut refused, mut why) = (0, String::new());
    for field in Fields::new(body) {
        match field.ok()? {
            (1, Field::Number(count)) => refused = count,
            (2, Field::Bytes(text)) => why = String::from_utf8_lossy(text).chars().take(200).collect(),
            _ => return None,
        }
    }
    (refused > 0 || !why.is_empty()).then(|| format!("the collector refused {refused} of them: {why}"))
}

#[cfg(test)]
mod tests;
