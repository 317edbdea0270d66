//! What a program prints: numbers that match an expression, and its last lines for the case that it fails.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use regex::Regex;
use stepscope_ground::lock;

/// So many lines are remembered.
const TAIL_LINES: usize = 12;
/// A longer line is cut there: no number comes after 64 KiB.
const MAX_LINE_BYTES: usize = 64 << 10;
/// More numbers than this are not kept.
const MAX_VALUES: usize = 1_000_000;

/// How long the rest of a program's output may take to arrive after its end.
const MAX_OUTPUT_WAIT: Duration = Duration::from_secs(1);

/// Reads what a child prints until it stops.
pub(super) struct Output {
    seen: Arc<Mutex<ParsedOutput>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(super) struct ParsedOutput {
    pub(super) found: BTreeMap<String, Vec<f64>>,
    tail: VecDeque<String>,
}

impl Output {
    pub(super) fn follow(child: &mut Child, expression: Option<Regex>, show: bool) -> Output {
        let seen = Arc::new(Mutex::new(ParsedOutput::default()));
        let streams: [Option<Box<dyn Read + Send>>; 2] =
            [child.stdout.take().map(|s| Box::new(s) as _), child.stderr.take().map(|s| Box::new(s) as _)];
        let follow = |mut stream: Box<dyn Read + Send>| {
            let (seen, expression) = (seen.clone(), expression.clone());
            std::thread::spawn(move || {
                let mut lines = Lines::default();
                let mut buffer = [0; 8192];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    if show {
                        // A closed stderr only means that it is not wanted.
                        let _ = std::io::stderr().lock().write_all(&buffer[..count]);
                    }
                    lines.feed(&buffer[..count], &mut |line| {
                        lock(&seen).line(line, expression.as_ref());
                    });
                }
                lines.end(&mut |line| {
                    lock(&seen).line(line, expression.as_ref());
                });
            })
        };
        let threads = streams.into_iter().flatten().map(follow).collect();
        Output { seen, threads }
    }

    /// Everything, once the streams are closed. Something that the program left running may hold them open: that is not
    /// waited for.
    pub(super) fn finish(self) -> ParsedOutput {
        let began = Instant::now();
        while began.elapsed() < MAX_OUTPUT_WAIT && !self.threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::mem::take(&mut *lock(&self.seen))
    }
}

/// Bytes cut into lines; a progress bar's carriage return ends one too.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
}

impl Lines {
    fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&str)) {
        for &byte in bytes {
            if byte == b'\n' || byte == b'\r' {
                self.end(each);
            } else if self.line.len() < MAX_LINE_BYTES {
                self.line.push(byte);
            }
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(&str)) {
        if !self.line.is_empty() {
            each(&String::from_utf8_lossy(&self.line));
            self.line.clear();
        }
    }
}

impl ParsedOutput {
    fn line(&mut self, line: &str, expression: Option<&Regex>) {
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line.chars().take(300).collect());
        let Some(expression) = expression else { return };
        for captures in expression.captures_iter(line) {
            for (number, name) in expression.capture_names().enumerate().skip(1) {
                let Some(text) = captures.get(number) else { continue };
                let Ok(value) = text.as_str().replace([',', '_'], "").parse::<f64>() else { continue };
                let (key, factor) = key_of(name, number);
                let Some(key) = key else { continue };
                let values = self.found.entry(key).or_default();
                if values.len() < MAX_VALUES {
                    values.push(value * factor);
                }
            }
        }
    }

    /// The last lines, indented, to end an error with.
    pub(super) fn tail_text(&self) -> String {
        self.tail.iter().map(|line| format!("\n  | {line}")).collect()
    }
}

/// Under which metric a group's values are kept, and their factor. Groups named by a unit of time are step times.
fn key_of(name: Option<&str>, number: usize) -> (Option<String>, f64) {
    match name {
        Some("s" | "seconds") => (Some("step_time".to_owned()), 1e9),
        Some("ms") => (Some("step_time".to_owned()), 1e6),
        Some("us") => (Some("step_time".to_owned()), 1e3),
        Some("value") => (Some("value".to_owned()), 1.0),
        Some(name) => (Some(format!("value:{name}")), 1.0),
        // Only the first group without a name counts; others are there to group.
        None => ((number == 1).then(|| "value".to_owned()), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expression: &str, text: &str) -> BTreeMap<String, Vec<f64>> {
        let expression = Regex::new(expression).unwrap();
        let mut seen = ParsedOutput::default();
        let mut lines = Lines::default();
        // Byte by byte: a line may come in pieces.
        let mut each = |line: &str| seen.line(line, Some(&expression));
        text.bytes().for_each(|byte| lines.feed(&[byte], &mut each));
        lines.end(&mut each);
        seen.found
    }

    #[test]
    fn groups_say_what_a_number_is() {
        let text = "loss 3 step 12.5 ms\rloss 2 step 13 ms\nnothing\nloss 1 step nan ms\ntokens/s: 1,234";
        assert_eq!(found(r"step (?P<ms>\S+) ms", text)["step_time"][..2], [12.5e6, 13e6]);
        assert_eq!(found(r"loss (\d+)", text)["value"], [3.0, 2.0, 1.0]);
        assert_eq!(found(r"tokens/s: (?P<tokens>[\d,]+)", text)["value:tokens"], [1234.0]);
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut lines = Lines::default();
        let mut longest = 0;
        for _ in 0..100 {
            lines.feed(&[b'x'; 8192], &mut |line| longest = longest.max(line.len()));
        }
        lines.end(&mut |line| longest = longest.max(line.len()));
        assert_eq!(longest, MAX_LINE_BYTES);
        let mut seen = ParsedOutput::default();
        (0..50).for_each(|n| seen.line(&format!("{n}"), None));
        assert_eq!(seen.tail_text().lines().count(), TAIL_LINES + 1);
    }
}
