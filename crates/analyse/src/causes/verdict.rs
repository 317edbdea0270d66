//! What a run is bound by, in a sentence: the first thing a reader wants to know.

use crate::causes::account::{Account, AccountRow};
use crate::causes::cause::Cause;
use crate::threads::activity::Activity;

use schemars::JsonSchema;
use serde::Serialize;

/// A device that is idle for less than this is not held up by anything.
const LITTLE: f64 = 0.10;
/// A device that is idle for more than this is bound by what it waits for.
const MUCH: f64 = 0.30;

/// A device that copies or communicates for more than this without computing is bound by that.
const MOVING: f64 = 0.20;

/// How well a device is used.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It works nearly all of the time.
    Good,
    /// Something is lost.
    Fair,
    /// It is held up by something else.
    Poor,
}

/// A sentence on what a run is bound by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// How bad it is.
    pub grade: Grade,
}

/// What holds a device up, as people call it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Holder {
    Loading,
    Host,
    Compilation,
    Garbage,
    Waiting,
    Allocation,
    Communication,
    Streams,
    Unknown,
}

impl Holder {
    const ALL: [Holder; 9] = [
        Holder::Loading,
        Holder::Host,
        Holder::Compilation,
        Holder::Garbage,
        Holder::Waiting,
        Holder::Allocation,
        Holder::Communication,
        Holder::Streams,
        Holder::Unknown,
    ];

    fn of(cause: Cause) -> Option<Holder> {
        match cause {
            Cause::Kernel | Cause::Copy | Cause::Fill | Cause::Communication => None,
            Cause::Host(Activity::DataLoading) => Some(Holder::Loading),
            Cause::Host(Activity::Compilation) => Some(Holder::Compilation),
            Cause::Host(Activity::GarbageCollection) => Some(Holder::Garbage),
            Cause::Host(Activity::Synchronization) => Some(Holder::Waiting),
            Cause::Host(Activity::Allocation) => Some(Holder::Allocation),
            Cause::Host(Activity::Communication) => Some(Holder::Communication),
            Cause::Host(Activity::Unrecorded | Activity::Profiler) | Cause::Unlinked => Some(Holder::Unknown),
            Cause::Host(_) | Cause::LaunchLatency => Some(Holder::Host),
            Cause::QueuedGap | Cause::Dependency => Some(Holder::Streams),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Holder::Loading => "data loading",
            Holder::Host => "the host",
            Holder::Compilation => "compilation",
            Holder::Garbage => "garbage collection",
            Holder::Waiting => "synchronization",
            Holder::Allocation => "memory allocation",
            Holder::Communication => "communication on the host",
            Holder::Streams => "gaps between kernels",
            Holder::Unknown => "something that was not recorded",
        }
    }

    fn because(self) -> &'static str {
        match self {
            Holder::Loading => "waiting for the next batch",
            Holder::Host => "because Python, operators and launches cannot keep it busy",
            Holder::Compilation => "while code is compiled",
            Holder::Garbage => "while Python collects garbage",
            Holder::Waiting => "while the host returns from waits",
            Holder::Allocation => "while memory is allocated or freed",
            Holder::Communication => "while ranks talk through the host",
            Holder::Streams => "between queued kernels or waiting for another stream",
            Holder::Unknown => "while nothing was recorded on the host",
        }
    }
}

/// The verdict on the busiest account there is; none for a trace without time.
pub fn verdict(account: &Account) -> Option<Verdict> {
    let row =
        account.devices.iter().max_by_key(|d| (d.wall_ns - d.causes.idle(), std::cmp::Reverse(d.device)))?;
    if row.wall_ns == 0 {
        return None;
    }
    if row.device.is_none() {
        return Some(host_only(row));
    }
    let part = |ns: i64| ns as f64 / row.wall_ns as f64;
    let busy = part(row.wall_ns - row.causes.idle());
    let idle = part(row.causes.idle());
    let held = |holder: Holder| -> i64 {
        Cause::all()
            .filter(|c| Holder::of(*c) == Some(holder))
            .map(|c| row.causes.get(c))
            .fold(0, i64::saturating_add)
    };
    let most = Holder::ALL.into_iter().max_by_key(|h| held(*h))?;
    let most_share = part(held(most));
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let verdict = |text: String, grade: Grade| Some(Verdict { text, grade });
    let copies = row.causes.get(Cause::Copy).saturating_add(row.causes.get(Cause::Fill));
    let moving = [
        (part(row.causes.get(Cause::Communication)), "communication", "communicating"),
        (part(copies), "copies", "copying"),
    ];
    for (share, name, doing) in moving {
        if share > MOVING && share >= most_share {
            let text = format!(
                "Bound by {name}: the GPU spends {} of the time {doing} instead of computing",
                percent(share)
            );
            return verdict(text, Grade::Poor);
        }
    }
    if idle >= MUCH {
        let text = format!(
            "Bound by {}: the GPU is idle {} of the time, {} {}",
            most.name(),
            percent(idle),
            percent(most_share),
            most.because()
        );
        return verdict(text, Grade::Poor);
    }
    if idle >= LITTLE {
        let text = format!(
            "The GPU is busy {} of the time; {} is lost to {}",
            percent(busy),
            percent(most_share),
            most.name()
        );
        return verdict(text, Grade::Fair);
    }
    let text = format!(
        "Bound by the GPU: it is busy {} of the time, so faster or fewer kernels help most",
        percent(busy)
    );
    verdict(text, Grade::Good)
}

/// Without a device, what the main thread did most.
fn host_only(row: &AccountRow) -> Verdict {
    let (cause, ns) = row.causes.by_size().first().copied().unwrap_or((Cause::Host(Activity::Unrecorded), 0));
    let share = format!("{:.0}%", ns as f64 / row.wall_ns as f64 * 100.0);
    let text = format!(
        "No device work was recorded: the main thread spent {share} of the time in {}",
        match cause {
            Cause::Host(Activity::Operator) => "operators",
            Cause::Host(Activity::Unrecorded) => "code that was not recorded",
            Cause::Host(activity) => activity.label(),
            other => other.label(),
        }
    );
    Verdict { text, grade: Grade::Fair }
}

#[cfg(test)]
mod tests {
    use crate::causes::cause::ByCause;

    use super::*;

    fn says(device: Option<i64>, causes: &[(Cause, i64)]) -> String {
        let mut by = ByCause::default();
        causes.iter().for_each(|(cause, ns)| by.add(*cause, *ns));
        let row = AccountRow { step: -1, device, wall_ns: by.total(), partial: false, causes: by };
        let account = Account::of_sums(vec![row]);
        verdict(&account).map(|v| v.text).unwrap_or_default()
    }

    #[test]
    fn the_largest_loss_decides() {
        let loading = Cause::Host(Activity::DataLoading);
        let python = Cause::Host(Activity::Python);
        let text = says(Some(0), &[(Cause::Kernel, 10), (loading, 80), (python, 10)]);
        assert_eq!(
            text,
            "Bound by data loading: the GPU is idle 90% of the time, 80% waiting for the next batch"
        );
        assert!(says(Some(0), &[(Cause::Kernel, 95), (loading, 5)]).starts_with("Bound by the GPU"));
        assert!(says(Some(0), &[(Cause::Kernel, 80), (python, 20)]).contains("; 20% is lost to the host"));
        assert!(says(Some(0), &[(Cause::Kernel, 40), (Cause::Communication, 60)]).contains("by communication"));
        assert!(
            says(Some(0), &[(Cause::Kernel, 60), (Cause::Copy, 40)])
                .starts_with("Bound by copies: the GPU spends 40%")
        );
        let garbage = Cause::Host(Activity::GarbageCollection);
        assert!(
            says(Some(0), &[(Cause::Kernel, 50), (garbage, 50)]).starts_with("Bound by garbage collection")
        );
        assert!(says(None, &[(python, 20)]).starts_with("No device work was recorded"));
        assert_eq!(says(Some(0), &[]), "");
    }
}
