//! Calls of a gRPC server: one HTTP/2 connection, a message there, a message back.

use std::io::ErrorKind;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::Ping;
use h2::client::SendRequest;
use http::{HeaderMap, Method as Verb, Request};
use stepscope_ground::Problem;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::error;
use crate::target::Target;

/// How much of an answer may be on its way. It is what an answer takes of memory, whatever its size.
const WINDOW_BYTES: u32 = 4 << 20;
/// How much a frame may hold; a larger one saves work.
const FRAME_BYTES: u32 = 1 << 18;
/// How much of a server's own words is shown.
const MAX_WORDS: usize = 300;

/// What can be asked of the profiler service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Profile,
    Terminate,
    StartContinuous,
    StopContinuous,
    Snapshot,
}

impl Method {
    fn path(self) -> &'static str {
        match self {
            Method::Profile => "/tensorflow.ProfilerService/Profile",
            Method::Terminate => "/tensorflow.ProfilerService/Terminate",
            Method::StartContinuous => "/tensorflow.ProfilerService/StartContinuousProfiling",
            Method::StopContinuous => "/tensorflow.ProfilerService/StopContinuousProfiling",
            Method::Snapshot => "/tensorflow.ProfilerService/GetSnapshot",
        }
    }
}

/// A connection to one server. Clones share it.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) target: Target,
    sender: SendRequest<Bytes>,
}

impl Connection {
    /// Connects, and makes sure that the other side speaks HTTP/2.
    pub(crate) async fn open(target: Target, within: Duration) -> Result<Connection, Problem> {
        let stream = connect(&target, within).await?;
        // Requests are small and wait for nothing.
        let _ = stream.set_nodelay(true);
        let foreign = |why: &str| error::not_a_profiler(&target, why);
        let handshake = h2::client::Builder::new()
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .handshake::<_, Bytes>(stream);
        let (sender, mut connection) =
            handshake.await.map_err(|_| foreign("what listens there does not speak HTTP/2"))?;
        let ping = connection.ping_pong();
        // It ends with the last sender.
        tokio::spawn(connection);
        if let Some(mut ping) = ping {
            // Otherwise a server of another kind would be noticed when the whole recording is over.
            match timeout(within, ping.ping(Ping::opaque())).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) => return Err(foreign("what listens there does not speak HTTP/2")),
                Err(_) => return Err(foreign("what listens there does not answer in HTTP/2")),
            }
        }
        Ok(Connection { target, sender })
    }

    /// Sends a message; each piece of the answer's body goes to `take`, in order. `within` is how long to wait for the first
    /// piece, `stall` for each later one.
    pub(crate) async fn call(
        &self,
        method: Method,
        message: &[u8],
        within: Duration,
        stall: Duration,
        mut take: impl FnMut(&[u8]) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let lost = |error: h2::Error| error::lost(&self.target, &short_text(&error));
        let silent = || {
            Problem::new(
                format!("{} does not answer any more", self.target),
                "check that the program still runs; a large profile takes a while to be put together, which --timeout allows for",
            )
        };
        let mut sender = self.sender.clone().ready().await.map_err(lost)?;
        let (response, mut body) = sender.send_request(self.request(method)?, false).map_err(lost)?;
        body.send_data(framed(message), true).map_err(lost)?;
        let response = timeout(within, response).await.map_err(|_| silent())?.map_err(lost)?;
        let (head, mut body) = response.into_parts();
        let kind = head.headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !head.status.is_success() || !kind.starts_with("application/grpc") {
            let why = format!("what listens there is a web server (status {})", head.status.as_u16());
            return Err(error::not_a_profiler(&self.target, &why));
        }
        while let Some(piece) = timeout(stall, body.data()).await.map_err(|_| silent())? {
            let piece = piece.map_err(lost)?;
            take(&piece)?;
            // What was taken makes room for more.
            body.flow_control().release_capacity(piece.len()).map_err(lost)?;
        }
        let trailers = timeout(stall, body.trailers()).await.map_err(|_| silent())?.map_err(lost)?;
        // A server that refuses says so in the head.
        let status =
            trailers.as_ref().and_then(Status::from_headers).or_else(|| Status::from_headers(&head.headers));
        match status {
            Some(Status { code: 0, .. }) => Ok(()),
            Some(status) => Err(refused(&self.target, method, &status)),
            None => Err(error::lost(&self.target, "the answer has no end")),
        }
    }

    fn request(&self, method: Method) -> Result<Request<()>, Problem> {
        Request::builder()
            .method(Verb::POST)
            .uri(format!("http://{}{}", self.target, method.path()))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("user-agent", concat!("stepscope/", env!("CARGO_PKG_VERSION")))
            .body(())
            .map_err(|error| {
                Problem::new(format!("{} is not an address: {error}", self.target), "give HOST:PORT")
            })
    }
}

async fn connect(target: &Target, within: Duration) -> Result<TcpStream, Problem> {
    let found = timeout(within, lookup_host((target.host.as_str(), target.port))).await;
    let unknown = |why: &str| {
        Problem::new(
            format!("the host {} is not known: {why}", target.host),
            "check the spelling; an address such as 10.0.0.7 works too",
        )
    };
    let addresses = match found {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Err(unknown(&error.to_string())),
        Err(_) => return Err(unknown("the name lookup timed out")),
    };
    let mut failure = unknown("it has no address");
    for address in addresses {
        failure = match timeout(within, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => error::closed(target),
            Ok(Err(error)) => unreachable(target, &error.to_string()),
            Err(_) => unreachable(target, &format!("no answer within {} s", within.as_secs_f64())),
        };
    }
    Err(failure)
}

fn unreachable(target: &Target, why: &str) -> Problem {
    Problem::new(
        format!("{target} cannot be reached: {why}"),
        format!(
            "if a firewall is in between, use a tunnel: ssh -L {port}:localhost:{port} {host}, then capture localhost:{port}",
            port = target.port,
            host = target.host
        ),
    )
}

fn framed(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(5 + message.len());
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    bytes.put_slice(message);
    bytes.freeze()
}

/// How a call ended: gRPC's own code and the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u32,
    pub(crate) words: String,
}

const UNIMPLEMENTED: u32 = 12;
const NOT_FOUND: u32 = 5;
const ALREADY_EXISTS: u32 = 6;

impl Status {
    fn from_headers(headers: &HeaderMap) -> Option<Status> {
        let code = headers.get("grpc-status")?.to_str().ok()?.trim().parse().unwrap_or(2);
        let words = headers.get("grpc-message").map(|words| unescaped(words.as_bytes())).unwrap_or_default();
        Some(Status { code, words })
    }
}

/// gRPC writes `%20` for what a header cannot hold.
fn unescaped(bytes: &[u8]) -> String {
    let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
    let mut plain = Vec::with_capacity(bytes.len().min(MAX_WORDS));
    let mut at = 0;
    while at < bytes.len() && plain.len() < MAX_WORDS {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).trim().trim_end_matches('.').to_owned()
}

/// A refusal in our words where its meaning is known.
fn refused(target: &Target, method: Method, status: &Status) -> Problem {
    let said = status.words.to_lowercase();
    let taken = status.code == ALREADY_EXISTS || (said.contains("session") && said.contains("active"));
    match (status.code, method) {
        (UNIMPLEMENTED, Method::StartContinuous | Method::StopContinuous | Method::Snapshot) => Problem::new(
            format!("the profiler server at {target} is too old for continuous profiling"),
            "leave --continuous and --snapshot out to record for a while, or update JAX or TensorFlow in the program",
        ),
        (UNIMPLEMENTED, _) => {
            error::not_a_profiler(target, "what listens there speaks gRPC but has no profiler service")
        }
        (NOT_FOUND, Method::Snapshot | Method::StopContinuous) => Problem::new(
            format!("no continuous profiling runs at {target}"),
            format!("start it: stepscope capture {target} --continuous"),
        ),
        (_, Method::StartContinuous) if status.code == ALREADY_EXISTS => Problem::new(
            format!("continuous profiling runs at {target} already"),
            format!("get what it has: stepscope capture {target} --snapshot; or end it with --stop"),
        ),
        _ if taken => Problem::new(
            format!(
                "another profiling session is active in the program at {target}, and there can be one at a time"
            ),
            format!(
                "wait until it ends, or end it there (jax.profiler.stop_trace(), tf.profiler.experimental.stop()); \
                 continuous profiling ends with: stepscope capture {target} --stop"
            ),
        ),
        (code, _) => {
            let said = if status.words.is_empty() { "without a reason" } else { status.words.as_str() };
            Problem::new(
                format!("the profiler server at {target} refused (gRPC status {code}): {said}"),
                "look at the log of the program for more",
            )
        }
    }
}

fn short_text(error: &h2::Error) -> String {
    match error.get_io() {
        Some(error) if error.kind() == ErrorKind::UnexpectedEof => "it was closed".to_owned(),
        Some(error) => error.to_string(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_servers_are_unescaped_and_bounded() {
        assert_eq!(unescaped(b"Another%20profiling session active."), "Another profiling session active");
        assert_eq!(unescaped(b"100%, %zz %e"), "100%, %zz %e");
        assert_eq!(unescaped(b"%ff"), "\u{fffd}");
        assert_eq!(unescaped(&[b'a'; 5000]).len(), MAX_WORDS);
    }

    #[test]
    fn a_refusal_is_explained() {
        let target = Target { host: "h".to_owned(), port: 1 };
        let of = |code, method, words: &str| {
            refused(&target, method, &Status { code, words: words.to_owned() }).what
        };
        assert!(
            of(13, Method::Profile, "Another profiling session active")
                .contains("another profiling session is active")
        );
        assert!(
            of(6, Method::Profile, "A profiling session is already running")
                .contains("another profiling session")
        );
        assert!(of(6, Method::StartContinuous, "").contains("runs at h:1 already"));
        assert!(of(12, Method::Profile, "").contains("has no profiler service"));
        assert!(of(12, Method::Snapshot, "").contains("too old for continuous profiling"));
        assert!(of(5, Method::Snapshot, "").contains("no continuous profiling runs"));
        assert_eq!(
            of(7, Method::Profile, ""),
            "the profiler server at h:1 refused (gRPC status 7): without a reason"
        );
    }
}
