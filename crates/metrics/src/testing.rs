//! Directories of services, made by hand for tests: any hour, any process.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use stepscope_ground::utc::minute_text;
use stepscope_service::{
    Block, Exemplar, Gauges, KeptSpan, RegionStats, RouteStats, SCHEMA, Sketch, TargetCount,
};

/// An empty folder.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("stepscope-metrics-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// An address of this machine that only this process uses: a port that it gives back is not another test's a moment later.
/// Where only 127.0.0.1 is one, that has to do.
pub(crate) fn own_address() -> Ipv4Addr {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    let own = Ipv4Addr::new(127, a | 0x80, b, c);
    if std::net::UdpSocket::bind((own, 0)).is_ok() { own } else { Ipv4Addr::LOCALHOST }
}

/// The folder is one of a service.
pub(crate) fn mark(folder: &Path) {
    fs::write(folder.join("stepscope-production.json"), format!("{{\"schema\": {SCHEMA}}}")).unwrap();
}

/// The checksum of Ethernet and gzip, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    };
    !bytes.iter().fold(u32::MAX, step)
}

pub(crate) fn path(folder: &Path, hour: i64, process: u32, ending: &str) -> PathBuf {
    let moment = minute_text(hour * 60).replace('-', "");
    folder.join(format!("{}_host_{process}_0000000{process}.{ending}", &moment[..11]))
}

/// Writes the minutes of a process in an hour.
pub(crate) fn write(folder: &Path, hour: i64, process: u32, ending: &str, blocks: &[Block]) {
    mark(folder);
    let mut bytes = b"SSPROD".to_vec();
    bytes.extend_from_slice(&SCHEMA.to_le_bytes());
    for block in blocks {
        let payload = block.encode();
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&crc32(&payload).to_le_bytes());
        bytes.extend_from_slice(&payload);
    }
    fs::write(path(folder, hour, process, ending), bytes).unwrap();
}

/// Requests of a route, with a region in each that takes half of it and a target at 100 ms.
pub(crate) fn stats(latencies_ns: &[u64]) -> RouteStats {
    let mut stats = RouteStats { samples: 8, tokens: 3, cpu_ns: 500, cpu_requests: 1, ..RouteStats::default() };
    let mut duration = Sketch::default();
    for ns in latencies_ns {
        stats.latency.record(*ns);
        duration.record(ns / 2);
    }
    let missed = latencies_ns.iter().filter(|ns| **ns >= 100_000_000).count() as u64;
    let requests = latencies_ns.len() as u64;
    stats.errors = missed;
    stats.targets.insert("p95<100ms".to_owned(), TargetCount { requests, missed });
    stats.targets.insert("each<=2s".to_owned(), TargetCount { requests, missed: 0 });
    stats.regions.insert("inference".to_owned(), RegionStats { self_ns: duration.sum(), duration });
    stats
}

/// A minute with requests of one route.
pub(crate) fn block(minute: i64, sequence: u64, route: &str, latencies_ns: &[u64]) -> Block {
    Block {
        minute,
        sequence,
        gauges: Gauges { cpu_ns: 1_000_000, max_rss_bytes: 1 << 20, ..Gauges::default() },
        routes: BTreeMap::from([(route.to_owned(), stats(latencies_ns))]),
        exemplars: Vec::new(),
    }
}

/// A request that was kept whole.
pub(crate) fn exemplar(route: &str, id: &str, ended_ns: i64, latency_ns: u64) -> Exemplar {
    let span = |name: &str, parent, start_ns, duration_ns| KeptSpan {
        name: name.to_owned(),
        parent,
        start_ns,
        duration_ns,
    };
    Exemplar {
        route: route.to_owned(),
        id: id.to_owned(),
        ended_ns,
        latency_ns,
        failed: latency_ns >= 100_000_000,
        samples: 4,
        process: 17,
        spans: vec![
            span("inference", None, latency_ns / 10, latency_ns / 2),
            span("kernel", Some(0), latency_ns / 5, latency_ns / 4),
        ],
        stack: Vec::new(),
        profile: None,
        slow: true,
        key: latency_ns ^ 0x5bd1_e995,
        block: 0,
    }
}
