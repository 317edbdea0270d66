//! A profiler server with a script: it speaks the real protocol, and does what a test tells it to.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use http::{HeaderMap, Response};
use tokio::net::{TcpListener, TcpStream};

/// How a server answers a request for a profile.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// With this profile, when the time is over or someone ends it.
    Profile(Vec<u8>),
    Empty,
    /// As servers did before they could send: with nothing, after writing this to the folder in the request, if it is given.
    Old(Option<Vec<u8>>),
    Refuse(u32, &'static str),
    /// With a part of an answer, and then with the end of the connection.
    Break,
    Raw(Vec<u8>),
    Web,
    /// Never.
    Silence,
}

/// A request that came: the method and its message.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) message: Vec<u8>,
    /// Since 1970.
    pub(crate) at: Duration,
}

impl ReceivedRequest {
    pub(crate) fn fields(&self) -> BTreeMap<u64, Field> {
        fields(&self.message)
    }
}

#[derive(Default)]
struct FakeState {
    asked: Mutex<Vec<ReceivedRequest>>,
    stopped: Mutex<Vec<String>>,
    continuous: Mutex<bool>,
}

pub(crate) struct Fake {
    address: SocketAddr,
    state: Arc<FakeState>,
}

impl Fake {
    pub(crate) fn start(answer: Answer) -> Fake {
        let (send, receive) = std::sync::mpsc::channel();
        let state = Arc::new(FakeState::default());
        let shared = state.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                send.send(listener.local_addr().unwrap()).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, answer.clone(), shared.clone()));
                }
            });
        });
        Fake { address: receive.recv().unwrap(), state }
    }

    pub(crate) fn at(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn asked(&self, method: &str) -> Vec<ReceivedRequest> {
        self.state.asked.lock().unwrap().iter().filter(|asked| asked.method == method).cloned().collect()
    }
}

async fn serve(stream: TcpStream, answer: Answer, state: Arc<FakeState>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let (close, closed) = tokio::sync::watch::channel(false);
    let close = Arc::new(close);
    loop {
        let mut closed = closed.clone();
        let next = tokio::time::timeout(Duration::from_millis(20), connection.accept()).await;
        if *closed.borrow_and_update() {
            return;
        }
        match next {
            Err(_) => continue,
            Ok(Some(Ok((request, respond)))) => {
                let (answer, state, close) = (answer.clone(), state.clone(), close.clone());
                tokio::spawn(async move {
                    let method =
                        request.uri().path().trim_start_matches("/tensorflow.ProfilerService/").to_owned();
                    assert_eq!(request.headers()["te"], "trailers");
                    let mut body = request.into_body();
                    let mut bytes = Vec::new();
                    while let Some(Ok(piece)) = body.data().await {
                        let _ = body.flow_control().release_capacity(piece.len());
                        bytes.extend_from_slice(&piece);
                    }
                    let message = bytes[5..].to_vec();
                    assert_eq!(bytes[..5], framed(&message)[..5]);
                    let at = std::time::UNIX_EPOCH.elapsed().unwrap();
                    state.asked.lock().unwrap().push(ReceivedRequest {
                        method: method.clone(),
                        message: message.clone(),
                        at,
                    });
                    if reply(&method, &message, answer, &state, respond).await.is_none() {
                        let _ = close.send(true);
                    }
                });
            }
            Ok(_) => return,
        }
    }
}

/// None: the connection is to end.
async fn reply(
    method: &str,
    message: &[u8],
    answer: Answer,
    state: &FakeState,
    mut respond: SendResponse<Bytes>,
) -> Option<()> {
    let asked = fields(message);
    match (method, answer) {
        (_, Answer::Web) => {
            let response =
                Response::builder().status(404).header("content-type", "text/html").body(()).unwrap();
            let _ = respond.send_response(response, true);
        }
        (_, Answer::Silence) => std::future::pending::<()>().await,
        ("Terminate", _) => {
            state.stopped.lock().unwrap().push(asked[&1].text());
            whole(&mut respond, b"").await;
        }
        (_, Answer::Refuse(code, words)) => status_only(&mut respond, code, words),
        ("StartContinuousProfiling", _) => {
            let was = std::mem::replace(&mut *state.continuous.lock().unwrap(), true);
            match was {
                true => status_only(&mut respond, 6, "A profiling session is already running."),
                false => whole(&mut respond, b"").await,
            }
        }
        ("StopContinuousProfiling", _) => {
            let was = std::mem::take(&mut *state.continuous.lock().unwrap());
            match was {
                true => whole(&mut respond, b"").await,
                false => status_only(&mut respond, 5, "No continuous profiling session found."),
            }
        }
        ("GetSnapshot", answer) => {
            let runs = *state.continuous.lock().unwrap();
            match answer {
                Answer::Profile(profile) if runs => whole(&mut respond, &with_profile(&profile)).await,
                _ => status_only(&mut respond, 5, "No continuous profiling session found."),
            }
        }
        ("Profile", answer) => {
            wait(&asked, state).await;
            match answer {
                Answer::Profile(profile) => whole(&mut respond, &with_profile(&profile)).await,
                Answer::Empty => whole(&mut respond, b"\x38\x01\x42\x04\x0a\x02\x12\x00").await,
                Answer::Raw(message) => whole(&mut respond, &message).await,
                Answer::Old(content) => {
                    if let Some(content) = content {
                        let folder = format!("{}/{}", asked[&5].text(), asked[&6].text());
                        std::fs::create_dir_all(&folder).unwrap();
                        std::fs::write(format!("{folder}/{}.xplane.pb", asked[&7].text()), content).unwrap();
                    }
                    whole(&mut respond, b"").await;
                }
                _ => {
                    let mut stream = respond.send_response(head(), false).ok()?;
                    let mut part = framed(&with_profile(&[7; 100])).to_vec();
                    part.truncate(50);
                    let _ = stream.send_data(part.into(), false);
                    return None;
                }
            }
        }
        (other, _) => status_only(&mut respond, 12, &format!("no method {other}")),
    }
    Some(())
}

/// As long as the options say, beginning when they say, or until someone ends it.
async fn wait(asked: &BTreeMap<u64, Field>, state: &FakeState) {
    let options = fields(&asked[&4].bytes());
    let start_ns = options.get(&8).map_or(0, Field::number);
    let now_ns = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let delay = Duration::from_nanos(start_ns.saturating_sub(now_ns));
    tokio::time::sleep(delay).await;
    let until = Instant::now() + Duration::from_millis(options[&9].number());
    while Instant::now() < until && !state.stopped.lock().unwrap().contains(&asked[&6].text()) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn head() -> Response<()> {
    Response::builder().status(200).header("content-type", "application/grpc").body(()).unwrap()
}

fn status_only(respond: &mut SendResponse<Bytes>, code: u32, words: &str) {
    let head = Response::builder().status(200).header("content-type", "application/grpc");
    let head = head.header("grpc-status", code.to_string()).header("grpc-message", words.replace(' ', "%20"));
    let _ = respond.send_response(head.body(()).unwrap(), true);
}

/// A whole answer: head, message in pieces as there is room, and the status.
async fn whole(respond: &mut SendResponse<Bytes>, message: &[u8]) {
    let mut stream = respond.send_response(head(), false).unwrap();
    let mut bytes = framed(message);
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let Some(Ok(room)) = std::future::poll_fn(|context| stream.poll_capacity(context)).await else {
            return;
        };
        let piece = bytes.split_to(room.min(bytes.len()));
        if stream.send_data(piece, false).is_err() {
            return;
        }
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    let _ = stream.send_trailers(trailers);
}

fn framed(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(message.len() as u32);
    bytes.put_slice(message);
    bytes.freeze()
}

/// A `ProfileResponse` with a tool that no one asked for and this profile.
fn with_profile(profile: &[u8]) -> Vec<u8> {
    let mut message = b"\x32\x03\x0a\x01t\x42".to_vec();
    let mut length = profile.len();
    while length >= 0x80 {
        message.push(length as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(profile);
    message
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Field {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(bytes) => panic!("{bytes:?} is no number"),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Field::Bytes(bytes) => bytes.clone(),
            Field::Number(number) => panic!("{number} is no text"),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }
}

/// The fields of a message whose fields are numbers, texts and messages.
pub(crate) fn fields(mut bytes: &[u8]) -> BTreeMap<u64, Field> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut found = BTreeMap::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(number(&mut bytes)),
            2 => {
                let length = number(&mut bytes) as usize;
                let (text, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(text.to_vec())
            }
            kind => panic!("a field of kind {kind}"),
        };
        found.insert(tag >> 3, field);
    }
    found
}
