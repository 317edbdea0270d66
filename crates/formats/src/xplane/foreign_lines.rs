//! Calls that were recorded on a line of their own, and the thread that made them.
//!
//! ROCm's profiler names threads by the system's numbers (`Host Threads/7`), XLA's by hashes (`python3`). Calls that hand
//! a module's operators to a device lie inside of the range that XLA opens around them, so that the ranges tell which
//! thread made them.

use stepscope_model::Ns;

use super::line::line;
use super::names::NameKind;
use super::plane_names::PlaneNames;

/// Calls may stick out by the difference of two clocks.
const CLOCK_SLACK: Ns = Ns(2_000);
/// No program launches from more threads; with more, nothing is moved, because every call is looked for in each of them.
const MAX_HOSTS: usize = 256;
/// This share of a line's calls has to lie in one thread's ranges.
const MIN_SHARE: f64 = 0.9;

/// Whether a line is named by the system's number of its thread.
pub(super) fn is_foreign(name: &str) -> bool {
    name.starts_with("Host Threads/")
}

/// For each line the one that its events belong to, where that is another and clear.
pub(super) fn homes(lines: &[Vec<u8>], known: &PlaneNames<'_>, most_events: u64) -> Vec<Option<usize>> {
    let mut homes = vec![None; lines.len()];
    let mut guests: Vec<(usize, Vec<Ns>)> = Vec::new();
    let mut hosts: Vec<(usize, Vec<(Ns, Ns)>)> = Vec::new();
    let any_guest = lines.iter().any(|message| memchr::memmem::find(message, b"Host Threads/").is_some());
    if !any_guest {
        return homes;
    }
    for (at, message) in lines.iter().enumerate() {
        let line = line(message, most_events);
        if is_foreign(&line.name) {
            let calls = line.events.iter().filter(|e| known.named(e.is) == Some(NameKind::Call));
            let calls: Vec<Ns> = calls.map(|e| e.start).collect();
            if !calls.is_empty() && calls.len() == line.events.len() {
                guests.push((at, calls));
            }
        } else {
            let modules = line.events.iter().filter(|e| known.named(e.is) == Some(NameKind::Module));
            let modules: Vec<(Ns, Ns)> = modules.map(|e| (e.start, e.end())).collect();
            if !modules.is_empty() {
                hosts.push((at, modules));
            }
        }
    }
    if hosts.len() > MAX_HOSTS {
        return homes;
    }
    for (guest, calls) in guests {
        let inside = |modules: &[(Ns, Ns)]| calls.iter().filter(|&&call| holds(modules, call)).count();
        let mut found: Vec<(usize, usize)> = hosts.iter().map(|(at, m)| (inside(m), *at)).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        let best = found.first().copied().unwrap_or_default();
        let second = found.get(1).map_or(0, |second| second.0);
        if best.0 as f64 >= MIN_SHARE * calls.len() as f64 && best.0 > second {
            homes[guest] = Some(best.1);
        }
    }
    homes
}

/// Whether one of these ranges, which come in order, holds a moment.
fn holds(ranges: &[(Ns, Ns)], at: Ns) -> bool {
    let next = ranges.partition_point(|range| range.0 - CLOCK_SLACK <= at);
    next > 0 && at <= ranges[next - 1].1 + CLOCK_SLACK
}
