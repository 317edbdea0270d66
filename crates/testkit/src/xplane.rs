//! XPlane profiles made by hand: the protocol buffers that JAX and TensorFlow write, field by field.

use stepscope_ground::protobuf::Put;

#[derive(Clone, Debug)]
pub enum Stat {
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// A text that is written once, among the names of stats.
    Shared(String),
}

/// An event with its times in nanoseconds since the profiler started.
#[derive(Clone, Debug, Default)]
pub struct Event {
    name: String,
    start_ns: u64,
    dur_ns: u64,
    stats: Vec<(String, Stat)>,
}

impl Event {
    /// An event from one nanosecond to another.
    pub fn new(name: &str, (start_ns, end_ns): (u64, u64)) -> Event {
        Event { name: name.to_owned(), start_ns, dur_ns: end_ns - start_ns, stats: Vec::new() }
    }

    pub fn with(mut self, name: &str, value: Stat) -> Event {
        self.stats.push((name.to_owned(), value));
        self
    }

    pub fn int(self, name: &str, value: i64) -> Event {
        self.with(name, Stat::Int(value))
    }

    /// With a text that other events may share.
    pub fn text(self, name: &str, value: &str) -> Event {
        self.with(name, Stat::Shared(value.to_owned()))
    }
}

/// A plane: lines of events, names in the order in which they were first used.
#[derive(Clone, Debug, Default)]
pub struct Plane {
    name: String,
    lines: Vec<Vec<u8>>,
    events: Vec<(String, Vec<(String, Stat)>)>,
    stat_names: Vec<String>,
    stats: Vec<Vec<u8>>,
}

impl Plane {
    pub fn new(name: &str) -> Plane {
        Plane { name: name.to_owned(), ..Plane::default() }
    }

    /// With a line whose events count from `timestamp_ns`.
    pub fn line(mut self, id: i64, name: &str, timestamp_ns: u64, events: &[Event]) -> Plane {
        let mut line = Vec::new();
        line.nonzero(1, id as u64);
        line.bytes(2, name.as_bytes());
        line.nonzero(3, timestamp_ns);
        for event in events {
            let mut message = Vec::new();
            let described = self.event_number(&event.name);
            message.nonzero(1, described);
            message.nonzero(2, (event.start_ns - timestamp_ns) * 1000);
            message.nonzero(3, event.dur_ns * 1000);
            for (name, value) in &event.stats {
                let stat = self.stat_message(name, value);
                message.bytes(4, &stat);
            }
            line.bytes(4, &message);
        }
        self.lines.push(line);
        self
    }

    pub fn stat(mut self, name: &str, value: Stat) -> Plane {
        let stat = self.stat_message(name, &value);
        self.stats.push(stat);
        self
    }

    /// With a description that no event needs, and its stats: how compiled programs are kept.
    pub fn described(mut self, name: &str, stats: &[(&str, Stat)]) -> Plane {
        let stats = stats.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.events.push((name.to_owned(), stats));
        self
    }

    fn event_number(&mut self, name: &str) -> u64 {
        let known = self.events.iter().position(|(known, _)| known == name);
        let at = known.unwrap_or_else(|| {
            self.events.push((name.to_owned(), Vec::new()));
            self.events.len() - 1
        });
        at as u64 + 1
    }

    fn stat_number(&mut self, name: &str) -> u64 {
        let at = self.stat_names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.stat_names.push(name.to_owned());
            self.stat_names.len() - 1
        });
        at as u64 + 1
    }

    fn stat_message(&mut self, name: &str, value: &Stat) -> Vec<u8> {
        let mut out = Vec::new();
        let name = self.stat_number(name);
        out.nonzero(1, name);
        match value {
            Stat::Float(value) => {
                out.varint(2 << 3 | 1);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Stat::Unsigned(value) => out.number(3, *value),
            Stat::Int(value) => out.number(4, *value as u64),
            Stat::Text(text) => out.bytes(5, text.as_bytes()),
            Stat::Bytes(message) => out.bytes(6, message),
            Stat::Shared(text) => {
                let text = self.stat_number(text);
                out.number(7, text);
            }
        }
        out
    }

    fn message(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        out.bytes(2, self.name.as_bytes());
        for line in &self.lines {
            out.bytes(3, line);
        }
        for (at, (name, stats)) in std::mem::take(&mut self.events).into_iter().enumerate() {
            let mut described = Vec::new();
            described.nonzero(1, at as u64 + 1);
            described.bytes(2, name.as_bytes());
            for (name, value) in &stats {
                let stat = self.stat_message(name, value);
                described.bytes(5, &stat);
            }
            entry(&mut out, 4, at as u64 + 1, &described);
        }
        for (at, name) in self.stat_names.iter().enumerate() {
            let mut described = Vec::new();
            described.nonzero(1, at as u64 + 1);
            described.bytes(2, name.as_bytes());
            entry(&mut out, 5, at as u64 + 1, &described);
        }
        for stat in &self.stats {
            out.bytes(6, stat);
        }
        out
    }
}

pub fn space(planes: impl IntoIterator<Item = Plane>) -> Vec<u8> {
    let mut out = Vec::new();
    for plane in planes {
        out.bytes(1, plane.message());
    }
    out.bytes(4, b"host");
    out
}

fn entry(out: &mut Vec<u8>, field: u32, key: u64, value: &[u8]) {
    let mut message = Vec::new();
    message.number(1, key);
    message.bytes(2, value);
    out.bytes(field, &message);
}
