//! The clock of the hooks. It is read at every event, so where the processor has a counter that the system itself trusts
//! as its clock, that is read directly: a third of the cost of asking the system.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use stepscope_model::Ns;
use stepscope_record::clock::{now_ns, steady_ns};

static COUNTER: AtomicBool = AtomicBool::new(false);
/// When this was loaded, on both clocks.
static START: OnceLock<(u64, i64)> = OnceLock::new();
/// Of several readings of both clocks the one that took least is kept: the thread may lose the processor in between.
const TRY_COUNT: usize = 5;

pub(super) fn start() {
    START.get_or_init(|| {
        COUNTER.store(has_counter(), Ordering::Relaxed);
        both()
    });
}

/// Now, in ticks.
#[inline]
pub(super) fn now() -> u64 {
    if COUNTER.load(Ordering::Relaxed) { counter() } else { steady_ns() as u64 }
}

/// How ticks become nanoseconds: both clocks were read at the start and are read again.
pub(super) fn scale() -> impl Fn(u64) -> Ns {
    let (ticks, ns) = both();
    let (first_ticks, first_ns) = START.get().copied().unwrap_or((0, 0));
    let ns = u128::try_from(ns - first_ns).unwrap_or(1).max(1);
    let ticks = u128::from(ticks.saturating_sub(first_ticks)).max(1);
    let counts = COUNTER.load(Ordering::Relaxed);
    move |took| {
        let took = if counts { u128::from(took) * ns / ticks } else { u128::from(took) };
        Ns(i64::try_from(took).unwrap_or(i64::MAX))
    }
}

/// Lays ticks beside the clock of everything else that is recorded.
pub(super) struct Clock {
    ticks: u64,
    unix_ns: i64,
}

impl Clock {
    pub(super) fn start() -> Clock {
        let (ticks, steady) = both();
        Clock { ticks, unix_ns: now_ns() - (steady_ns() - steady) }
    }

    /// When it was started, in nanoseconds since 1970.
    pub(super) fn start_ns(&self) -> i64 {
        self.unix_ns
    }

    /// A tick in nanoseconds since 1970, and how many nanoseconds a tick has, times 2 to the 32nd. The longer ago this
    /// was loaded, the better that is known.
    pub(super) fn at(&self, tick: u64) -> (i64, u64) {
        let ns_per_tick = if COUNTER.load(Ordering::Relaxed) {
            let (ticks, ns) = both();
            let (first_ticks, first_ns) = START.get().copied().unwrap_or((0, 0));
            let ns = u128::try_from(ns - first_ns).unwrap_or(1).max(1);
            let ticks = u128::from(ticks.saturating_sub(first_ticks)).max(1);
            u64::try_from((ns << 32) / ticks).unwrap_or(u64::MAX)
        } else {
            1 << 32
        };
        let since = i128::from(tick) - i128::from(self.ticks);
        let since = (since * i128::from(ns_per_tick)) >> 32;
        (self.unix_ns.saturating_add(i64::try_from(since).unwrap_or(0)), ns_per_tick)
    }
}

pub(super) fn from_ns(ns: u64) -> u64 {
    const MANY: u64 = 1 << 40;
    let per_many = scale()(MANY).0.max(1) as u128;
    u64::try_from(u128::from(ns) * u128::from(MANY) / per_many).unwrap_or(u64::MAX)
}

fn both() -> (u64, i64) {
    let read = || {
        let before = now();
        let ns = steady_ns();
        (now().saturating_sub(before), before, ns)
    };
    let (gap, before, ns) =
        (0..TRY_COUNT).map(|_| read()).min_by_key(|reading| reading.0).unwrap_or((0, now(), steady_ns()));
    (before + gap / 2, ns)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn has_counter() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[inline]
fn counter() -> u64 {
    // SAFETY: every processor of this kind has it, and the system reads it as its own clock.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn has_counter() -> bool {
    false
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn counter() -> u64 {
    steady_ns() as u64
}
