//! Bytes to text: unwraps compression on a thread of its own and hands the text over in chunks.
//!
//! Inflating and parsing each take about half of the time of a load, so they run side by side. Buffers go
//! round in a circle: memory stays a few megabytes whatever the size of the file.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flate2::bufread::MultiGzDecoder;

use stepscope_model::Source;

use crate::error::{Limit, ReadError};
use crate::sniff::{Packing, SNIFF_BYTES, packing};
use crate::{OpenOptions, Progress};

/// Large enough to make hand-overs rare, small enough to stay in the cache on its way to the parser.
const CHUNK_BYTES: usize = 512 << 10;
/// Free room before a chunk's text, so that the unfinished event before it can be put there.
const HEADROOM_BYTES: usize = 64 << 10;
/// Text of this length is taken however well it was packed.
const ANY_EXPANSION_BYTES: u64 = 16 << 20;
/// Chunks under way at once.
const MAX_CHUNKS: usize = 4;

#[derive(Debug)]
pub(crate) enum End {
    /// At the end of the file.
    Complete,
    /// The compressed stream is damaged.
    Damaged(String),
    /// A limit was passed.
    Limit(Limit),
}

enum Message {
    Chunk(Vec<u8>),
    End(End),
}

/// The text of a file, chunk by chunk.
pub(crate) struct Text {
    messages: Receiver<Message>,
    empties: SyncSender<Vec<u8>>,
    /// The window: bytes from `begin` on have not been consumed.
    buf: Vec<u8>,
    begin: usize,
    /// Offset in the text of `buf[begin]`.
    offset: u64,
    end: Option<End>,
    /// The layers of compression around it, in words.
    packing: String,
    stored: Arc<AtomicU64>,
}

impl Text {
    /// The bytes at hand.
    pub(crate) fn window(&self) -> &[u8] {
        &self.buf[self.begin..]
    }

    /// Where the window starts in the text.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the window is the last.
    pub(crate) fn is_last(&self) -> bool {
        self.end.is_some()
    }

    /// How the text ended, once it has.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Where the text came from, as far as it was read.
    pub(crate) fn source(&self, name: &str, format: &str) -> Source {
        Source {
            path: name.to_owned(),
            format: format!("{format}{}", self.packing),
            stored_bytes: self.stored.load(Ordering::Relaxed),
            text_bytes: self.offset + self.window().len() as u64,
            ..Source::default()
        }
    }

    /// Makes all of the text the window; false, and not all of it, if it is longer than this.
    pub(crate) fn take_whole(&mut self, most: usize) -> bool {
        while !self.is_last() && self.window().len() <= most {
            self.more();
        }
        self.window().len() <= most
    }

    /// Drops bytes from the front of the window.
    pub(crate) fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.buf.len() - self.begin);
        self.begin += bytes;
        self.offset += bytes as u64;
    }

    /// Grows the window by a chunk, or marks it as the last.
    pub(crate) fn more(&mut self) {
        if self.end.is_some() {
            return;
        }
        match self.messages.recv() {
            Ok(Message::Chunk(mut chunk)) => {
                let rest = self.buf.len() - self.begin;
                if rest <= HEADROOM_BYTES {
                    let begin = HEADROOM_BYTES - rest;
                    chunk[begin..HEADROOM_BYTES].copy_from_slice(&self.buf[self.begin..]);
                    let empty = std::mem::replace(&mut self.buf, chunk);
                    self.begin = begin;
                    // The producer is gone once it has sent its last chunk: then no one needs the buffer.
                    let _ = self.empties.try_send(empty);
                } else {
                    self.buf.drain(..self.begin);
                    self.begin = 0;
                    self.buf.extend_from_slice(&chunk[HEADROOM_BYTES..]);
                    let _ = self.empties.try_send(chunk);
                }
            }
            Ok(Message::End(end)) => self.end = Some(end),
            Err(_) => self.end = Some(End::Damaged("the reading thread stopped".to_owned())),
        }
    }
}

/// Runs `parse` on the first bytes of `input` and on its text, which is read and unwrapped on another thread meanwhile.
pub(crate) fn with_text<T: Send>(
    input: impl Read + Send,
    name: &str,
    options: &OpenOptions,
    parse: impl FnOnce(&[u8], Text) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let stored = Arc::new(AtomicU64::new(0));
    let counted = CountingReader { input, stored: stored.clone(), progress: options.progress.clone() };
    let (head, decoder, packing) = unwrap_layers(counted, name, options)?;
    std::thread::scope(|scope| {
        let (send, messages) = sync_channel(MAX_CHUNKS);
        let (empties, free) = sync_channel(MAX_CHUNKS);
        let counter = stored.clone();
        scope.spawn(move || produce(decoder, &send, &free, options, &counter));
        let buf = Vec::new();
        parse(&head, Text { messages, empties, buf, begin: 0, offset: 0, end: None, packing, stored })
    })
}

fn produce(
    mut decoder: Layer<'_>,
    send: &SyncSender<Message>,
    free: &Receiver<Vec<u8>>,
    options: &OpenOptions,
    stored: &AtomicU64,
) {
    let mut total = 0u64;
    loop {
        let mut chunk = free.try_recv().unwrap_or_default();
        chunk.resize(HEADROOM_BYTES + CHUNK_BYTES, 0);
        let mut filled = HEADROOM_BYTES;
        let mut end = None;
        while filled < chunk.len() {
            match decoder.read(&mut chunk[filled..]) {
                Ok(0) => {
                    end = Some(End::Complete);
                    break;
                }
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    end = Some(End::Damaged(e.to_string()));
                    break;
                }
            }
        }
        total += (filled - HEADROOM_BYTES) as u64;
        let expansion = total / stored.load(Ordering::Relaxed).max(1);
        if total > options.max_text_bytes {
            end = Some(End::Limit(Limit::TextBytes(options.max_text_bytes)));
        } else if total > ANY_EXPANSION_BYTES && expansion > options.max_expansion {
            end = Some(End::Limit(Limit::Expansion(options.max_expansion)));
        }
        chunk.truncate(filled);
        // A closed channel means that the parser has seen enough.
        if filled > HEADROOM_BYTES && send.send(Message::Chunk(chunk)).is_err() {
            return;
        }
        if let Some(end) = end {
            let _ = send.send(Message::End(end));
            return;
        }
    }
}

/// The first bytes of the text below all layers of compression, the text, and the layers in words.
pub(crate) fn unwrap_layers<'a>(
    input: impl Read + Send + 'a,
    name: &str,
    options: &OpenOptions,
) -> Result<(Vec<u8>, Layer<'a>, String), ReadError> {
    let mut words = String::new();
    let mut layer: Layer<'a> = Box::new(BufReader::with_capacity(256 << 10, input));
    let mut layers = 0;
    loop {
        let (head, rest) = peek(layer, name, layers > 0)?;
        if head.is_empty() {
            return Err(ReadError::Empty { path: name.to_owned() });
        }
        let inner: Layer<'a> = Box::new(io::Cursor::new(head.clone()).chain(rest));
        let Some(packing) = packing(&head) else { return Ok((head, inner, words)) };
        layers += 1;
        if layers > options.max_layers {
            return Err(ReadError::Limit { limit: Limit::Layers(options.max_layers), path: name.to_owned() });
        }
        layer = match packing {
            Packing::Gzip => {
                words.push_str(", gzip");
                Box::new(BufReader::with_capacity(64 << 10, MultiGzDecoder::new(inner)))
            }
            Packing::Zstd => {
                words.push_str(", zstd");
                let decoder = zstd::stream::read::Decoder::with_buffer(inner)
                    .map_err(|source| ReadError::Io { source, path: name.to_owned() })?;
                Box::new(BufReader::with_capacity(64 << 10, decoder))
            }
        };
    }
}

type Layer<'a> = Box<dyn BufRead + Send + 'a>;

/// The first bytes of a layer, and the layer that follows them.
fn peek<'a>(mut layer: Layer<'a>, name: &str, compressed: bool) -> Result<(Vec<u8>, Layer<'a>), ReadError> {
    let mut head = Vec::new();
    let result = layer.by_ref().take(SNIFF_BYTES as u64).read_to_end(&mut head);
    match result {
        // A damaged stream that gave something is left to the parser: it reads what there is and notes the rest.
        Err(e) if !head.is_empty() => Ok((head, Box::new(BufReader::new(FailedStream(Some(e)))))),
        Err(e) if compressed => Err(ReadError::damaged("compressed file", name, e.to_string())),
        Err(e) => Err(ReadError::open(name, e)),
        Ok(_) => Ok((head, layer)),
    }
}

/// What is left of a stream that failed while it was looked at: its failure.
struct FailedStream(Option<io::Error>);

impl Read for FailedStream {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Counts the stored bytes as they are read.
struct CountingReader<R> {
    input: R,
    stored: Arc<AtomicU64>,
    progress: Option<Arc<Progress>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buf)?;
        self.stored.fetch_add(n as u64, Ordering::Relaxed);
        if let Some(progress) = &self.progress {
            progress.read.fetch_add(n as u64, Ordering::Relaxed);
        }
        Ok(n)
    }
}
