//! StatsD over UDP: what was added since the last time, in datagrams that fit one packet.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{ToSocketAddrs, UdpSocket};

use stepscope_ground::Problem;

use crate::families::{Family, Kind, Series, Value};

/// An Ethernet frame of 1500 bytes, less what IPv6, UDP and a tunnel need: the size that StatsD's own documentation names.
pub const MAX_DATAGRAM: usize = 1_432;

/// Sends to a StatsD server.
#[derive(Debug)]
pub struct StatsD {
    socket: UdpSocket,
    /// Labels as tags (`|#route:/predict`), as DogStatsD and most others read them; else they are parts of the name.
    tags: bool,
    last: HashMap<(String, Vec<String>), LastValue>,
    started: bool,
}

#[derive(Clone, Debug)]
enum LastValue {
    Number(f64),
    Buckets(BTreeMap<i32, u64>, u64),
}

impl StatsD {
    /// Sends to `host:port`.
    pub fn new(address: &str, tags: bool) -> Result<Self, Problem> {
        let open = || -> io::Result<UdpSocket> {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
            for to in address.to_socket_addrs()? {
                let from = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
                match UdpSocket::bind(from).and_then(|socket| socket.connect(to).map(|()| socket)) {
                    Ok(socket) => return Ok(socket),
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        let socket = open().map_err(|error| {
            let words = format!("cannot send to a StatsD server at {address}: {error}");
            Problem::new(words, "give a host and a port: 127.0.0.1:8125")
        })?;
        Ok(Self { socket, tags, last: HashMap::new(), started: false })
    }

    /// Sends what was added since the last time; the first time only remembers, unless all of it is `wanted`. Returns how
    /// many datagrams could not be sent.
    pub fn push(&mut self, families: &[Family], wanted: bool) -> usize {
        let lines = self.lines(families, wanted);
        // Who listens is not known in UDP: a server that is down costs what was sent meanwhile.
        datagrams(&lines).iter().filter(|datagram| self.socket.send(datagram.as_bytes()).is_err()).count()
    }

    /// One line for each thing to say.
    fn lines(&mut self, families: &[Family], wanted: bool) -> Vec<String> {
        let silent = !std::mem::replace(&mut self.started, true) && !wanted;
        let mut lines = Vec::new();
        for family in families.iter().filter(|family| family.about.kind != Kind::Info) {
            for series in &family.series {
                let labels: Vec<String> = series.labels.iter().map(|(_, value)| value.clone()).collect();
                let key = (family.about.otlp.to_owned(), labels);
                let (now, found) = self.lines_of(family, series, self.last.get(&key));
                self.last.insert(key, now);
                if !silent {
                    lines.extend(found);
                }
            }
        }
        lines
    }

    fn lines_of(&self, family: &Family, series: &Series, last: Option<&LastValue>) -> (LastValue, Vec<String>) {
        let number = match &series.value {
            Value::Count(count) => *count as f64,
            Value::Real(value) => *value,
            Value::Histogram(histogram) => {
                let spread = &histogram.spread;
                let none = BTreeMap::new();
                let (before, zeros) = match last {
                    Some(LastValue::Buckets(buckets, zeros)) => (buckets, *zeros),
                    _ => (&none, 0),
                };
                let mut lines = Vec::new();
                let middle = |bucket: i32| ((f64::from(bucket) + 0.5) / 256.0).exp2() * 1e3;
                let each = spread.buckets.iter().map(|(bucket, count)| {
                    (middle(*bucket), count.saturating_sub(before.get(bucket).copied().unwrap_or(0)))
                });
                for (ms, more) in each.chain([(0.0, spread.zeros.saturating_sub(zeros))]) {
                    if more > 0 {
                        lines.push(self.line(family, series, &format!("{ms:.6}"), "ms", more));
                    }
                }
                return (LastValue::Buckets(spread.buckets.clone(), spread.zeros), lines);
            }
        };
        let line = match (family.about.kind, last) {
            (Kind::Counter, Some(LastValue::Number(before))) if number <= *before => None,
            (Kind::Counter, _) if number == 0.0 => None,
            (Kind::Counter, before) => {
                let before = if let Some(LastValue::Number(before)) = before { *before } else { 0.0 };
                Some(self.line(family, series, &format!("{}", rounded(number - before)), "c", 1))
            }
            _ => Some(self.line(family, series, &format!("{number}"), "g", 1)),
        };
        (LastValue::Number(number), line.into_iter().collect())
    }

    /// `name:value|kind|@rate|#tags`. A rate says that the line counts for several.
    fn line(&self, family: &Family, series: &Series, value: &str, kind: &str, times: u64) -> String {
        let mut line = family.about.otlp.to_owned();
        if !self.tags {
            for (_, label) in &series.labels {
                line.push('.');
                line.extend(label.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }));
            }
        }
        line.push_str(&format!(":{value}|{kind}"));
        if times > 1 {
            line.push_str(&format!("|@{}", 1.0 / times as f64));
        }
        if self.tags && !series.labels.is_empty() {
            let tag = |(name, value): &(&str, String)| {
                let value: String = value
                    .chars()
                    .map(|c| if c.is_control() || matches!(c, ',' | '|' | '#') { '_' } else { c })
                    .collect();
                format!("{name}:{value}")
            };
            line.push_str(&format!("|#{}", series.labels.iter().map(tag).collect::<Vec<_>>().join(",")));
        }
        line
    }
}

/// Nanoseconds are the smallest that was measured; what subtracting leaves below is noise.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// Lines together, as many as fit; one that fits nowhere is left out.
fn datagrams(lines: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in lines.iter().filter(|line| line.len() <= MAX_DATAGRAM) {
        match found.last_mut() {
            Some(last) if last.len() + 1 + line.len() <= MAX_DATAGRAM => {
                last.push('\n');
                last.push_str(line);
            }
            _ => found.push(line.clone()),
        }
    }
    found
}

#[cfg(test)]
mod tests;
