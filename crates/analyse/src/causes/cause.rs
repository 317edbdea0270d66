//! Why a moment of a device was spent as it was: the causes that the account of time and the gaps share.

use std::borrow::Cow;
use stepscope_model::Order;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::threads::activity::Activity;

/// Why a moment of a device was spent as it was.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    Kernel,
    /// A communication kernel ran and nothing computed.
    Communication,
    /// A copy ran and no kernel.
    Copy,
    /// A fill ran and nothing else.
    Fill,
    /// Idle: the next work was not launched yet, because the host was doing this.
    Host(Activity),
    /// Idle: the next work was launched and on its way to the device.
    LaunchLatency,
    /// Idle: the next work was queued on the stream whose work had just ended.
    QueuedGap,
    /// Idle: the next work was launched but waited for something else: another stream, an event, another device.
    Dependency,
    /// Idle: the call that launched the next work was not recorded.
    Unlinked,
}

pub const CAUSES: usize = 4 + Activity::ALL.len() + 4;

impl Cause {
    /// Unknown: nothing recorded ran, yet work had been launched long before or the host waited for the device.
    pub const DEVICE_UNRECORDED: Cause = Cause::Host(Activity::DeviceUnrecorded);

    /// All of them, in a fixed order.
    pub fn all() -> impl Iterator<Item = Cause> {
        let busy = [Cause::Kernel, Cause::Communication, Cause::Copy, Cause::Fill];
        let late = [Cause::LaunchLatency, Cause::QueuedGap, Cause::Dependency, Cause::Unlinked];
        busy.into_iter().chain(Activity::ALL.into_iter().map(Cause::Host)).chain(late)
    }

    /// Its place in [`Cause::all`].
    pub fn index(self) -> usize {
        match self {
            Cause::Kernel => 0,
            Cause::Communication => 1,
            Cause::Copy => 2,
            Cause::Fill => 3,
            Cause::Host(activity) => 4 + activity as usize,
            Cause::LaunchLatency => 4 + Activity::ALL.len(),
            Cause::QueuedGap => 5 + Activity::ALL.len(),
            Cause::Dependency => 6 + Activity::ALL.len(),
            Cause::Unlinked => 7 + Activity::ALL.len(),
        }
    }

    pub fn is_busy(self) -> bool {
        self.index() < 4
    }

    /// Its name in machine output.
    pub fn key(self) -> &'static str {
        match self {
            Cause::Kernel => "kernel",
            Cause::Communication => "communication",
            Cause::Copy => "copy",
            Cause::Fill => "fill",
            Cause::Host(Activity::DataLoading) => "host_data_loading",
            Cause::Host(Activity::Operator) => "host_operator",
            Cause::Host(Activity::Python) => "host_python",
            Cause::Host(Activity::Launch) => "host_launch",
            Cause::Host(Activity::Synchronization) => "host_synchronization",
            Cause::Host(Activity::Allocation) => "host_allocation",
            Cause::Host(Activity::Runtime) => "host_runtime",
            Cause::Host(Activity::Communication) => "host_communication",
            Cause::Host(Activity::Compilation) => "host_compilation",
            Cause::Host(Activity::FirstUse) => "host_first_use",
            Cause::Host(Activity::GarbageCollection) => "host_garbage_collection",
            Cause::Host(Activity::Profiler) => "host_profiler",
            Cause::Host(Activity::DeviceUnrecorded) => "device_unrecorded",
            Cause::Host(Activity::Unrecorded) => "host_unrecorded",
            Cause::LaunchLatency => "launch_latency",
            Cause::QueuedGap => "queued_gap",
            Cause::Dependency => "dependency",
            Cause::Unlinked => "unlinked",
        }
    }

    /// What it is called in tables.
    pub fn label(self) -> &'static str {
        match self {
            Cause::Kernel => "kernels",
            Cause::Communication => "communication",
            Cause::Copy => "copies",
            Cause::Fill => "memsets",
            Cause::Host(Activity::DataLoading) => "idle: data loading",
            Cause::Host(Activity::Operator) => "idle: host in operators",
            Cause::Host(Activity::Python) => "idle: Python between operators",
            Cause::Host(Activity::Launch) => "idle: host in launch calls",
            Cause::Host(Activity::Synchronization) => "idle: host returning from a wait",
            Cause::Host(Activity::Allocation) => "idle: memory allocation",
            Cause::Host(Activity::Runtime) => "idle: other runtime calls",
            Cause::Host(Activity::Communication) => "idle: communication on the host",
            Cause::Host(Activity::Compilation) => "idle: compilation",
            Cause::Host(Activity::FirstUse) => "idle: first use (contexts, loading code)",
            Cause::Host(Activity::GarbageCollection) => "idle: garbage collection",
            Cause::Host(Activity::Profiler) => "idle: profiler",
            Cause::Host(Activity::DeviceUnrecorded) => "unknown: device work not recorded",
            Cause::Host(Activity::Unrecorded) => "idle: nothing recorded on the host",
            Cause::LaunchLatency => "idle: launch latency",
            Cause::QueuedGap => "idle: between queued kernels",
            Cause::Dependency => "idle: waiting for another stream",
            Cause::Unlinked => "idle: launch not recorded",
        }
    }

    /// The same where it is clear that idle time is meant.
    pub fn label_of_idle(self) -> &'static str {
        self.label().strip_prefix(IDLE).unwrap_or(self.label())
    }
}

/// What comes before the label of a cause of idle time.
const IDLE: &str = "idle: ";

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl JsonSchema for Cause {
    fn schema_name() -> Cow<'static, str> {
        "Cause".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let keys: Vec<&str> = Cause::all().map(Cause::key).collect();
        json_schema!({ "type": "string", "enum": keys })
    }
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ByCause(pub [i64; CAUSES]);

impl ByCause {
    /// The time of one cause.
    pub fn get(&self, cause: Cause) -> i64 {
        self.0[cause.index()]
    }

    pub fn add(&mut self, cause: Cause, ns: i64) {
        let all = &mut self.0[cause.index()];
        *all = all.saturating_add(ns);
    }

    pub fn total(&self) -> i64 {
        sum(&self.0)
    }

    /// The time the device was idle.
    pub fn idle(&self) -> i64 {
        sum(&self.0[4..]).saturating_sub(self.unknown())
    }

    /// The time for which no one can say whether the device was busy.
    pub fn unknown(&self) -> i64 {
        self.get(Cause::DEVICE_UNRECORDED)
    }

    /// The time the device was busy.
    pub fn busy(&self) -> i64 {
        sum(&self.0[..4])
    }

    /// Causes with any time, largest first.
    pub fn by_size(&self) -> Vec<(Cause, i64)> {
        let mut all: Vec<_> = Cause::all().map(|c| (c, self.get(c))).filter(|c| c.1 != 0).collect();
        all.order_by_key(|c| std::cmp::Reverse(c.1));
        all
    }
}

/// Hostile times may add up to more than there is room for.
fn sum(ns: &[i64]) -> i64 {
    ns.iter().fold(0, |all, ns| all.saturating_add(*ns))
}

impl Serialize for ByCause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(CAUSES))?;
        for cause in Cause::all() {
            map.serialize_entry(&format!("{}_ns", cause.key()), &self.get(cause))?;
        }
        map.end()
    }
}

impl JsonSchema for ByCause {
    fn schema_name() -> Cow<'static, str> {
        "ByCause".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys: Vec<String> = Cause::all().map(|cause| format!("{}_ns", cause.key())).collect();
        let number = generator.subschema_for::<i64>();
        let fields: serde_json::Map<_, _> =
            keys.iter().map(|key| (key.clone(), number.clone().to_value())).collect();
        json_schema!({ "type": "object", "properties": fields, "required": keys })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_own_place_and_name() {
        let all: Vec<Cause> = Cause::all().collect();
        assert_eq!(all.len(), CAUSES);
        assert!(all.iter().enumerate().all(|(i, c)| c.index() == i));
        let mut keys: Vec<_> = all.iter().map(|c| c.key()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), CAUSES);
    }
}
