//! Writes chunks.

use std::io::{self, Write};

use super::{
    CALLS_TAG, DONE_TAG, FUNCTIONS_TAG, MAGIC, MAX_CHUNK_BYTES, MAX_NAME_BYTES, PROCESS_TAG, THREAD_TAG,
};

/// Calls of one thread, to be written.
#[derive(Copy, Clone, Debug)]
pub struct ThreadCalls<'a> {
    /// The thread's number in the file.
    pub thread: u32,
    /// What the first word counts from, in nanoseconds since 1970.
    pub base_ns: i64,
    /// Nanoseconds per tick, times 2 to the 32nd.
    pub ns_per_tick: u64,
    pub words: &'a [u32],
}

/// A file that grows by chunks, each written at once.
#[derive(Debug)]
pub struct CallStream<W> {
    out: W,
    chunk: Vec<u8>,
    bytes: u64,
}

impl<W: Write> CallStream<W> {
    /// Begins with the process: its number, its parent's, when recording began in nanoseconds since 1970, its name, and
    /// what recording one call costs in nanoseconds, 0 if no one measured it.
    pub fn new(
        out: W,
        process: u32,
        parent: u32,
        start_ns: i64,
        cost_ns: u32,
        name: &str,
    ) -> io::Result<CallStream<W>> {
        let mut stream = CallStream { out, chunk: Vec::new(), bytes: MAGIC.len() as u64 };
        stream.out.write_all(&MAGIC)?;
        stream.begin(PROCESS_TAG);
        stream.number(process);
        stream.number(parent);
        stream.long(u64::from(cost_ns));
        stream.long(start_ns as u64);
        stream.chunk.extend_from_slice(clipped(name).as_bytes());
        stream.end()?;
        Ok(stream)
    }

    /// How many bytes were written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A thread: its number in the file, the system's, and its name, which may come later again.
    pub fn thread(&mut self, thread: u32, system: u64, name: &str) -> io::Result<()> {
        self.begin(THREAD_TAG);
        self.number(thread);
        self.long(system);
        self.chunk.extend_from_slice(clipped(name).as_bytes());
        self.end()
    }

    /// Functions, before the calls of them: number, file, line, name.
    pub fn functions(&mut self, functions: impl Iterator<Item = (u32, String, u32, String)>) -> io::Result<()> {
        self.begin(FUNCTIONS_TAG);
        for (number, file, line, name) in functions {
            let (file, name) = (clipped(&file), clipped(&name));
            if self.chunk.len() + file.len() + name.len() + 64 > MAX_CHUNK_BYTES / 2 {
                self.end()?;
                self.begin(FUNCTIONS_TAG);
            }
            for part in [number, line, file.len() as u32, name.len() as u32] {
                self.number(part);
            }
            self.chunk.extend_from_slice(file.as_bytes());
            self.chunk.extend_from_slice(name.as_bytes());
        }
        self.end()
    }

    /// Calls of a thread, at most a quarter of a million bytes of them.
    pub fn calls(&mut self, calls: ThreadCalls<'_>) -> io::Result<()> {
        for words in calls.words.chunks(MAX_CHUNK_BYTES / 16) {
            // All of them count from one base, so there is one piece unless someone kept more than they should.
            debug_assert_eq!(words.len(), calls.words.len());
            self.begin(CALLS_TAG);
            self.number(calls.thread);
            self.long(calls.base_ns as u64);
            self.long(calls.ns_per_tick);
            let at = self.chunk.len();
            self.chunk.resize(at + 4 * words.len(), 0);
            for (place, word) in self.chunk[at..].chunks_exact_mut(4).zip(words) {
                place.copy_from_slice(&word.to_le_bytes());
            }
            self.end()?;
        }
        Ok(())
    }

    /// Recording ended: when, after how many calls, and why if the program went on.
    pub fn done(&mut self, end_ns: i64, calls: u64, why: &str) -> io::Result<()> {
        self.begin(DONE_TAG);
        self.long(end_ns as u64);
        self.long(calls);
        self.chunk.extend_from_slice(clipped(why).as_bytes());
        self.end()?;
        self.out.flush()
    }

    pub fn into_inner(self) -> W {
        self.out
    }

    fn begin(&mut self, kind: [u8; 4]) {
        self.chunk.clear();
        self.chunk.extend_from_slice(&kind);
        self.chunk.extend_from_slice(&[0; 4]);
    }

    fn number(&mut self, number: u32) {
        self.chunk.extend_from_slice(&number.to_le_bytes());
    }

    fn long(&mut self, number: u64) {
        self.chunk.extend_from_slice(&number.to_le_bytes());
    }

    /// One write for each chunk: whoever is killed leaves whole ones.
    fn end(&mut self) -> io::Result<()> {
        let length = (self.chunk.len() - 8) as u32;
        self.chunk[4..8].copy_from_slice(&length.to_le_bytes());
        self.bytes += self.chunk.len() as u64;
        self.out.write_all(&self.chunk)
    }
}

fn clipped(text: &str) -> &str {
    let end = (0..=MAX_NAME_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
