use std::time::Duration;

use super::*;
use crate::families::families;
use crate::testing::stats;
use crate::{RouteTotals, Snapshot, Totals};

fn snapshot(latencies: &[u64]) -> Vec<Family> {
    let mut totals = Totals::default();
    totals.routes.insert("/a,b|c".to_owned(), RouteTotals::from_stats(&stats(latencies)));
    families(&Snapshot { totals, ..Snapshot::default() })
}

fn server() -> (UdpSocket, String) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let address = server.local_addr().unwrap().to_string();
    (server, address)
}

/// What has been sent so far: all that comes before a last word.
fn received(server: &UdpSocket, statsd: &StatsD) -> Vec<String> {
    const LAST: &str = "that is all";
    statsd.socket.send(LAST.as_bytes()).unwrap();
    let mut lines = Vec::new();
    let mut datagram = [0; 65_536];
    loop {
        let length = server.recv(&mut datagram).unwrap();
        assert!(length <= MAX_DATAGRAM, "{length}");
        match std::str::from_utf8(&datagram[..length]).unwrap() {
            LAST => return lines,
            text => lines.extend(text.lines().map(str::to_owned)),
        }
    }
}

#[test]
fn only_what_was_added_is_sent() {
    let (server, address) = server();
    let mut statsd = StatsD::new(&address, true).unwrap();
    assert_eq!(statsd.push(&snapshot(&[5_000_000; 10]), false), 0);
    assert_eq!(received(&server, &statsd), Vec::<String>::new());
    assert_eq!(statsd.push(&snapshot(&[&[5_000_000; 14][..], &[200_000_000; 3]].concat()), false), 0);
    let lines = received(&server, &statsd);
    for line in ["stepscope.requests:7|c|#route:/a_b_c", "stepscope.request.errors:3|c|#route:/a_b_c"] {
        assert!(lines.iter().any(|found| found == line), "no {line} in {lines:#?}");
    }
    // Timers say how many they count for; none is off by more than the histogram is.
    let timers: Vec<&String> =
        lines.iter().filter(|line| line.starts_with("stepscope.request.duration")).collect();
    assert_eq!(timers.len(), 2, "{timers:?}");
    for (timer, (ms, times)) in timers.iter().zip([(5.0, 4.0), (200.0, 3.0)]) {
        let value: f64 = timer.split([':', '|']).nth(1).unwrap().parse().unwrap();
        let rate: f64 = timer.split("|@").nth(1).unwrap().split('|').next().unwrap().parse().unwrap();
        assert!((value / ms - 1.0).abs() < 0.0125 && (1.0 / rate - times).abs() < 1e-6, "{timer}");
    }
    assert_eq!(statsd.push(&snapshot(&[&[5_000_000; 14][..], &[200_000_000; 3]].concat()), false), 0);
    // Nothing new: gauges alone.
    assert!(received(&server, &statsd).iter().all(|line| line.contains("|g")));
}

#[test]
fn without_tags_labels_are_parts_of_the_name() {
    let (server, address) = server();
    let mut statsd = StatsD::new(&address, false).unwrap();
    statsd.push(&snapshot(&[5_000_000; 2]), true);
    let lines = received(&server, &statsd);
    assert!(lines.iter().any(|line| line == "stepscope.requests._a_b_c:2|c"), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("stepscope.region.duration._a_b_c.inference:")),
        "{lines:#?}"
    );
}

#[test]
fn datagrams_fit_one_packet() {
    let lines: Vec<String> = (0..200).map(|n| format!("{n}:{}", "x".repeat(n * 9))).collect();
    let found = datagrams(&lines);
    assert!(found.iter().all(|datagram| datagram.len() <= MAX_DATAGRAM));
    let whole = lines.iter().filter(|line| line.len() <= MAX_DATAGRAM).count();
    assert_eq!(found.iter().map(|datagram| datagram.lines().count()).sum::<usize>(), whole);
    assert!(whole < 200);
}

#[test]
fn a_server_that_is_none_is_an_error() {
    assert!(StatsD::new("nonsense", true).unwrap_err().hint.contains("8125"));
}
