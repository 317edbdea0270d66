//! XPlane profiles made by hand: the protocol buffers that JAX and TensorFlow write, field by field.

/// A value of a stat.
#[derive(Clone, Debug)]
pub enum Stat {
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// A number with a point.
    Float(f64),
    /// A text.
    Text(String),
    /// A message.
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

    /// With another stat.
    pub fn with(mut self, name: &str, value: Stat) -> Event {
        self.stats.push((name.to_owned(), value));
        self
    }

    /// With a whole number.
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
    /// An empty plane.
    pub fn new(name: &str) -> Plane {
        Plane { name: name.to_owned(), ..Plane::default() }
    }

    /// With a line whose events count from `timestamp_ns`.
    pub fn line(mut self, id: i64, name: &str, timestamp_ns: u64, events: &[Event]) -> Plane {
        let mut line = Vec::new();
        number(&mut line, 1, id as u64);
        bytes(&mut line, 2, name.as_bytes());
        number(&mut line, 3, timestamp_ns);
        for event in events {
            let mut message = Vec::new();
            let described = self.event_number(&event.name);
            number(&mut message, 1, described);
            number(&mut message, 2, (event.start_ns - timestamp_ns) * 1000);
            number(&mut message, 3, event.dur_ns * 1000);
            for (name, value) in &event.stats {
                let stat = self.stat_message(name, value);
                bytes(&mut message, 4, &stat);
            }
            bytes(&mut line, 4, &message);
        }
        self.lines.push(line);
        self
    }

    /// With a stat of its own.
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
        number(&mut out, 1, name);
        match value {
            Stat::Float(value) => {
                varint(&mut out, 2 << 3 | 1);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Stat::Unsigned(value) => always(&mut out, 3, *value),
            Stat::Int(value) => always(&mut out, 4, *value as u64),
            Stat::Text(text) => bytes(&mut out, 5, text.as_bytes()),
            Stat::Bytes(message) => bytes(&mut out, 6, message),
            Stat::Shared(text) => {
                let text = self.stat_number(text);
                always(&mut out, 7, text);
            }
        }
        out
    }

    fn message(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        bytes(&mut out, 2, self.name.as_bytes());
        for line in &self.lines {
            bytes(&mut out, 3, line);
        }
        for (at, (name, stats)) in std::mem::take(&mut self.events).into_iter().enumerate() {
            let mut described = Vec::new();
            number(&mut described, 1, at as u64 + 1);
            bytes(&mut described, 2, name.as_bytes());
            for (name, value) in &stats {
                let stat = self.stat_message(name, value);
                bytes(&mut described, 5, &stat);
            }
            entry(&mut out, 4, at as u64 + 1, &described);
        }
        for (at, name) in self.stat_names.iter().enumerate() {
            let mut described = Vec::new();
            number(&mut described, 1, at as u64 + 1);
            bytes(&mut described, 2, name.as_bytes());
            entry(&mut out, 5, at as u64 + 1, &described);
        }
        for stat in &self.stats {
            bytes(&mut out, 6, stat);
        }
        out
    }
}

/// A whole profile of these planes.
pub fn space(planes: impl IntoIterator<Item = Plane>) -> Vec<u8> {
    let mut out = Vec::new();
    for plane in planes {
        bytes(&mut out, 1, &plane.message());
    }
    bytes(&mut out, 4, b"host");
    out
}

fn entry(out: &mut Vec<u8>, field: u64, key: u64, value: &[u8]) {
    let mut message = Vec::new();
    always(&mut message, 1, key);
    bytes(&mut message, 2, value);
    bytes(out, field, &message);
}

/// Puts a number of seven bits per byte.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Puts a number, unless it is 0, which is what a missing one means.
pub fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    if value != 0 {
        always(out, field, value);
    }
}

fn always(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

/// Puts a text or a message.
pub fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}
