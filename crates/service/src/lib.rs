//! Requests of a running service: counted while it runs, kept in a folder, reported over any stretch of time.

mod alert;
mod block;
mod counters;
mod crc;
mod exemplar;
mod hours;
mod period;
mod recorder;
pub mod report;
mod request_recorder;
mod retention;
mod segment;
mod service_dir;
mod sketch;
mod sla;
mod stacks;
mod stats;
pub mod thresholds;
mod wire;
mod writer;

pub use alert::{
    AlertCommand, AlertEvent, AlertMoment, AlertRule, AlertState, COMMAND_LIMIT, MachineRules, ServiceRules,
    Subject, alerts, keep_alert,
};
pub use block::{Block, Gauges};
pub use counters::{
    Column, CounterHistory, CounterPoint, CounterWriter, Counters, RECENT_MINUTES, RecentCounter, Totals, Tree,
    TreeUse, counter_label, counter_text, counters, counters_by, recent_counters,
};
pub use exemplar::{Exemplar, ExemplarLimits, ExemplarsByHour, KeptSpan, MAX_ID, RouteExemplars};
pub use hours::Hours;
pub use period::Period;
pub use recorder::{
    ExemplarCandidate, Limits, MAX_NAME, NO_PARENT, Recorder, RegionId, Request, RequestDetails,
    RequestOutcome, RouteId, Span,
};
pub use report::dashboard::{self, verdict};
pub use request_recorder::{RecorderOptions, RequestRecorder, ServiceNotice, rss_bytes, thread_cpu_ns};
pub use retention::Retention;
pub use segment::{Process, SCHEMA};
pub use service_dir::{Hour, Minute, ServiceDir};
pub use sketch::{DEFAULT_SCALE, MAX_BUCKETS, Sketch};
pub use sla::{Goal, MAX_TARGETS, Target, parse as parse_targets};
pub use stacks::{CountedStack, StackFrame, StackWriter, Stacks, stack_hours, stacks};
pub use stats::{OTHER, RegionStats, RouteStats, TargetCount};
