//! What launching cost, launch by launch, by HTA's rule: the call's time, the work's time, and the delay between.
//!
//! HTA looks at five calls by name; what others launched (graphs, drivers, HIP) is counted as left out.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Ns, SliceId, Trace};

use super::launch_calls::in_statistics;
use super::loading::{HtaTrace, Loading};
use crate::names::by_name::ByName;
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "cpu_ns", "CPU duration (HTA)" => "How long the launching call took.";
    "gpu_ns", "GPU duration (HTA)" => "How long the launched work took.";
    "delay_ns", "Launch delay (HTA)" =>
        "From the end of the launching call to the start of the work; zero if the work started before. Work that waits \
         behind other work on its stream has a long delay too.";
    "short", "Short kernels (HTA)" => "Launches whose work took less time than the call that launched it.";
    "short_in_chart", "Short kernels charted (HTA)" =>
        "Those of them whose call is not an outlier, which are the ones HTA's histogram shows.";
    "cpu_outliers", "Runtime outliers (HTA)" =>
        "Launches whose call took longer than the limit (50 microseconds by default).";
    "delay_outliers", "Launch delay outliers (HTA)" =>
        "Launches delayed longer than the limit (100 microseconds by default).";
};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LaunchOptions {
    /// What is done to the slices first.
    pub loading: Loading,
    /// Count copies and memsets beside kernels.
    pub with_memory: bool,
    /// Calls longer than this are outliers.
    pub cpu_limit: Ns,
    /// Delays longer than this are outliers.
    pub delay_limit: Ns,
}

impl Default for LaunchOptions {
    fn default() -> LaunchOptions {
        LaunchOptions {
            loading: Loading::default(),
            with_memory: true,
            cpu_limit: Ns(50_000),
            delay_limit: Ns(100_000),
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Launch {
    #[serde(skip)]
    pub call: SliceId,
    #[serde(skip)]
    pub work: SliceId,
    /// The correlation both carry, if the file gives it.
    pub correlation: Option<i64>,
    pub cpu_ns: i64,
    pub gpu_ns: i64,
    /// From the call's end to the work's start, at least zero.
    pub delay_ns: i64,
}

/// All launches, in order of their calls: thread by thread, then by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaunchStats {
    pub launches: Vec<Launch>,
    /// Work shorter than its call.
    pub short: u64,
    /// The same without calls that are outliers.
    pub short_in_chart: u64,
    /// Calls over the limit.
    pub cpu_outliers: u64,
    /// Delays over the limit.
    pub delay_outliers: u64,
    /// Device work that no counted call launched.
    pub uncounted: u64,
}

pub fn launch_stats(trace: &Trace, options: &LaunchOptions) -> LaunchStats {
    let loaded = HtaTrace::new(trace, options.loading);
    let slices = trace.slices();
    let mut counted = ByName::new(trace, |name: &str| in_statistics(name, options.with_memory));
    let mut stats = LaunchStats::default();
    for work in slices.ids().filter(|&id| slices.kind(id).is_device_work() && loaded.keeps(id)) {
        let Some(call) = loaded.launch(work).filter(|&call| counted.get(slices.name(call))) else {
            stats.uncounted += 1;
            continue;
        };
        let launch = Launch {
            call,
            work,
            correlation: trace.args(work).int(Attr::Correlation),
            cpu_ns: loaded.dur(call).0,
            gpu_ns: loaded.dur(work).0,
            delay_ns: (loaded.start(work) - loaded.end(call)).0.max(0),
        };
        let (short, slow_call) = (launch.gpu_ns < launch.cpu_ns, launch.cpu_ns > options.cpu_limit.0);
        stats.short += u64::from(short);
        stats.short_in_chart += u64::from(short && !slow_call);
        stats.cpu_outliers += u64::from(slow_call);
        stats.delay_outliers += u64::from(launch.delay_ns > options.delay_limit.0);
        stats.launches.push(launch);
    }
    stats.launches.sort_unstable_by_key(|l| (l.call, l.work));
    stats
}
