//! What a run is bound by, in a sentence: the first thing a reader wants to know.

use schemars::JsonSchema;
use serde::Serialize;

use crate::causes::account::{Account, AccountRow};
use crate::causes::cause::{ByCause, Cause};
use crate::scope::definition::{Definition, definitions};
use crate::scope::share::percent;
use crate::threads::activity::Activity;

/// A device that is idle for less than this is not held up by anything.
const MIN_IDLE_SHARE: f64 = 0.10;
/// A device that is idle for more than this is bound by what it waits for.
const BOUND_IDLE_SHARE: f64 = 0.30;

/// A device that copies or communicates for more than this without computing is bound by that.
const MOVING_SHARE: f64 = 0.20;

/// Unknown time below this is not worth a sentence.
const MIN_UNKNOWN_SHARE: f64 = 0.05;

/// What the number in a verdict means.
pub const DEFINITIONS: &[Definition] = definitions! {
    "unknown_share", "Unknown" =>
        "The share of the time for which it is unknown what the device did: nothing recorded ran there, and the host \
         waited for it.";
};

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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    pub text: String,
    pub grade: Grade,
    /// What the run is bound by: `gpu`, `host`, `data_loading`, `communication`, and so on.
    pub bound_by: &'static str,
    /// The share of the time for which no one can say what the device did.
    pub unknown_share: f64,
    /// Whether Python is the largest part of what it blames, so that a function could be named.
    #[serde(skip)]
    pub in_python: Option<InPython>,
}

/// How a sentence that blames Python goes on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum InPython {
    /// It has named Python last.
    Alone,
    AmongOthers,
    /// Another sentence has followed.
    Before,
}

impl InPython {
    /// The rest of the sentence.
    pub(crate) fn sentence(self, place: &str) -> String {
        match self {
            InPython::Alone => format!(", most of it in {place}"),
            InPython::AmongOthers => format!("; most of the Python is in {place}"),
            InPython::Before => format!(". Most of the Python is in {place}"),
        }
    }
}

/// What holds a device up, as people call it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Holder {
    Loading,
    Host,
    Compilation,
    FirstUse,
    Garbage,
    Waiting,
    Allocation,
    Communication,
    Streams,
    Unknown,
}

impl Holder {
    const ALL: [Holder; 10] = [
        Holder::Loading,
        Holder::Host,
        Holder::Compilation,
        Holder::FirstUse,
        Holder::Garbage,
        Holder::Waiting,
        Holder::Allocation,
        Holder::Communication,
        Holder::Streams,
        Holder::Unknown,
    ];

    fn for_cause(cause: Cause) -> Option<Holder> {
        match cause {
            Cause::Kernel | Cause::Copy | Cause::Fill | Cause::Communication => None,
            Cause::Host(Activity::DataLoading) => Some(Holder::Loading),
            Cause::Host(Activity::Compilation) => Some(Holder::Compilation),
            Cause::Host(Activity::FirstUse) => Some(Holder::FirstUse),
            Cause::Host(Activity::GarbageCollection) => Some(Holder::Garbage),
            Cause::Host(Activity::Synchronization) => Some(Holder::Waiting),
            Cause::Host(Activity::Allocation) => Some(Holder::Allocation),
            Cause::Host(Activity::Communication) => Some(Holder::Communication),
            Cause::DEVICE_UNRECORDED => None,
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
            Holder::FirstUse => "first use",
            Holder::Garbage => "garbage collection",
            Holder::Waiting => "synchronization",
            Holder::Allocation => "memory allocation",
            Holder::Communication => "communication on the host",
            Holder::Streams => "gaps between kernels",
            Holder::Unknown => "something that was not recorded",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Holder::Loading => "data_loading",
            Holder::Host => "host",
            Holder::Compilation => "compilation",
            Holder::FirstUse => "first_use",
            Holder::Garbage => "garbage_collection",
            Holder::Waiting => "synchronization",
            Holder::Allocation => "memory_allocation",
            Holder::Communication => "communication",
            Holder::Streams => "gaps_between_kernels",
            Holder::Unknown => "unknown",
        }
    }

    fn because(self) -> &'static str {
        match self {
            Holder::Loading => "waiting for the next batch",
            Holder::Host => "because Python, operators and launches cannot keep it busy",
            Holder::Compilation => "while code is compiled",
            Holder::FirstUse => {
                "while contexts are created and code is loaded: record after a few warm-up steps"
            }
            Holder::Garbage => "while Python collects garbage",
            Holder::Waiting => "while the host returns from waits",
            Holder::Allocation => "while memory is allocated or freed",
            Holder::Communication => "while ranks communicate through the host",
            Holder::Streams => "between queued kernels or waiting for another stream",
            Holder::Unknown => "while nothing was recorded on the host",
        }
    }
}

/// The account of the busiest device, as it would be without the profiler.
struct UnprofiledAccount {
    causes: ByCause,
    /// What shares are of: all of the time, or all that is known where most is not.
    of_ns: i64,
}

impl UnprofiledAccount {
    /// Takes the cost of recording out: first out of what the host did, in proportion. What is left of it hides other
    /// waiting, such as data loading, which then begins earlier and overlaps with more of the device's work.
    fn from_row(row: &AccountRow, share: f64) -> UnprofiledAccount {
        let mut causes = row.causes;
        let mut cut = row.wall_ns as f64 * (1.0 - share).max(0.0);
        let hidden = |cause: Cause| !cause.is_busy() && cause != Cause::DEVICE_UNRECORDED && !is_slowed(cause);
        for shortened in [is_slowed as fn(Cause) -> bool, hidden] {
            let all = Cause::all().filter(|&cause| shortened(cause));
            let all = all.map(|cause| causes.get(cause)).fold(0, i64::saturating_add).max(0) as f64;
            let shorter = cut.min(all);
            for cause in Cause::all().filter(|&cause| shortened(cause)) {
                let part = causes.get(cause) as f64 / all.max(1.0);
                causes.add(cause, -(shorter * part) as i64);
            }
            cut -= shorter;
        }
        let (all, unknown) = (causes.total(), causes.unknown());
        let of_ns = if unknown >= all / 2 { all.saturating_sub(unknown) } else { all };
        UnprofiledAccount { causes, of_ns: of_ns.max(1) }
    }

    fn part(&self, ns: i64) -> f64 {
        ns as f64 / self.of_ns as f64
    }

    fn held(&self, holder: Holder) -> i64 {
        let causes = Cause::all().filter(|c| Holder::for_cause(*c) == Some(holder));
        causes.map(|c| self.causes.get(c)).fold(0, i64::saturating_add)
    }
}

/// Whether recording lengthens idle time of this cause.
fn is_slowed(cause: Cause) -> bool {
    use Activity::{Allocation, Communication, Launch, Operator, Python, Runtime, Unrecorded};
    matches!(cause, Cause::Host(Operator | Python | Launch | Allocation | Runtime | Communication | Unrecorded))
}

/// What a verdict has to know besides the account.
#[derive(Copy, Clone, Debug)]
pub struct Circumstances {
    /// The step without the profiler as a share of the recorded one.
    pub unprofiled_share: f64,
    /// Calls that launched work of which nothing is in the trace; counted only without any device work.
    pub launches_without_work: u64,
}

impl Default for Circumstances {
    fn default() -> Self {
        Circumstances { unprofiled_share: 1.0, launches_without_work: 0 }
    }
}

/// The verdict on the busiest device there is; none for a trace without time.
pub fn verdict(account: &Account, circumstances: &Circumstances) -> Option<Verdict> {
    let row = account.devices.iter().max_by_key(|d| (d.causes.busy(), std::cmp::Reverse(d.device)))?;
    if row.wall_ns == 0 {
        return None;
    }
    if row.device.is_none() {
        return Some(host_only(row, circumstances));
    }
    let run = UnprofiledAccount::from_row(row, circumstances.unprofiled_share);
    let recorded = UnprofiledAccount::from_row(row, 1.0);
    let mut verdict = of_known(&run, &recorded);
    let unknown = row.causes.unknown() as f64 / row.wall_ns as f64;
    if unknown >= MIN_UNKNOWN_SHARE {
        let known = verdict.text;
        verdict.text = match unknown >= 0.5 {
            true => format!(
                "The trace does not show what the GPU did for {} of the time, while the host waited for it. The rest: {known}",
                percent(unknown)
            ),
            false => format!(
                "{known}. For the other {} of the time the trace does not show what it did",
                percent(unknown)
            ),
        };
        verdict.in_python = verdict.in_python.map(|_| InPython::Before);
        if verdict.grade == Grade::Good {
            verdict.grade = Grade::Fair;
        }
    }
    verdict.unknown_share = unknown;
    Some(verdict)
}

/// The verdict on the time that is known.
fn of_known(run: &UnprofiledAccount, recorded: &UnprofiledAccount) -> Verdict {
    let idle_here = recorded.part(recorded.causes.idle());
    // Said only where it makes a difference that someone would notice; otherwise the numbers are those of the account.
    let differs = (idle_here - run.part(run.causes.idle())).abs() >= 0.05;
    let run = if differs { run } else { recorded };
    let (idle, busy) = (run.part(run.causes.idle()), run.part(run.causes.busy()));
    let most = Holder::ALL.into_iter().max_by_key(|h| run.held(*h)).unwrap_or(Holder::Unknown);
    let most_share = run.part(run.held(most));
    let verdict = |bound_by: &'static str, text: String, grade: Grade| Verdict {
        text,
        grade,
        bound_by,
        unknown_share: 0.0,
        in_python: None,
    };
    let copies = run.causes.get(Cause::Copy).saturating_add(run.causes.get(Cause::Fill));
    let moving = [
        (run.part(run.causes.get(Cause::Communication)), "communication", "communicating"),
        (run.part(copies), "copies", "copying"),
    ];
    for (share, name, doing) in moving {
        if share > MOVING_SHARE && share >= most_share {
            let text = format!(
                "Bound by {name}: the GPU spends {} of the time {doing} instead of computing",
                percent(share)
            );
            return verdict(name, text, Grade::Poor);
        }
    }
    if idle >= BOUND_IDLE_SHARE {
        let about = match differs {
            true => {
                format!(
                    "about {} of the time without the profiler ({} here)",
                    percent(idle),
                    percent(idle_here)
                )
            }
            false => format!("{} of the time", percent(idle)),
        };
        let text = format!(
            "Bound by {}: the GPU is idle {about}, {} {}",
            most.name(),
            percent(most_share),
            most.because()
        );
        let in_python = (most == Holder::Host && mostly_python(&run.causes)).then_some(InPython::AmongOthers);
        return Verdict { in_python, ..verdict(most.key(), text, Grade::Poor) };
    }
    let here = match differs {
        true => format!(
            " without the profiler ({} here, because recording slows the host)",
            percent(recorded.part(recorded.causes.busy()))
        ),
        false => String::new(),
    };
    let about = if differs { "about " } else { "" };
    if idle >= MIN_IDLE_SHARE {
        let text = format!(
            "The GPU is busy {about}{} of the time{here}; {} is lost to {}",
            percent(busy),
            percent(most_share),
            most.name()
        );
        return verdict(most.key(), text, Grade::Fair);
    }
    let text = format!(
        "Bound by the GPU: it is busy {about}{} of the time{here}, so faster or fewer kernels help most",
        percent(busy)
    );
    verdict("gpu", text, Grade::Good)
}

/// Whether Python is the largest of the host's causes.
fn mostly_python(causes: &ByCause) -> bool {
    let of_host = Cause::all().filter(|&cause| Holder::for_cause(cause) == Some(Holder::Host));
    of_host.max_by_key(|&cause| causes.get(cause)) == Some(Cause::Host(Activity::Python))
}

/// Without a device, what the main thread did most.
fn host_only(row: &AccountRow, circumstances: &Circumstances) -> Verdict {
    let (cause, ns) = row.causes.by_size().first().copied().unwrap_or((Cause::Host(Activity::Unrecorded), 0));
    let share = percent(ns as f64 / row.wall_ns as f64);
    // That there is no device is above every first screen ("host only").
    let beginning = match circumstances.launches_without_work {
        0 => "The".to_owned(),
        n => format!("The program launched device work {n} times, but none of it was recorded: the"),
    };
    let text = format!(
        "{beginning} main thread spent {share} of the time in {}",
        match cause {
            Cause::Host(Activity::Operator) => "operators",
            Cause::Host(Activity::Unrecorded) => "code that was not recorded",
            Cause::Host(activity) => activity.label(),
            other => other.label(),
        }
    );
    let in_python = (cause == Cause::Host(Activity::Python)).then_some(InPython::Alone);
    Verdict { text, grade: Grade::Fair, bound_by: "host_only", unknown_share: 0.0, in_python }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(device: Option<i64>, causes: &[(Cause, i64)]) -> String {
        let mut by = ByCause::default();
        causes.iter().for_each(|(cause, ns)| by.add(*cause, *ns));
        let row = AccountRow { step: -1, device, wall_ns: by.total(), partial: false, causes: by };
        let account = Account::of_sums(vec![row]);
        verdict(&account, &Circumstances::default()).map(|v| v.text).unwrap_or_default()
    }

    #[test]
    fn recording_is_not_blamed_on_the_program() {
        let python = Cause::Host(Activity::Python);
        let mut causes = ByCause::default();
        [(Cause::Kernel, 90), (python, 60)].iter().for_each(|(cause, ns)| causes.add(*cause, *ns));
        let row = AccountRow { step: -1, device: Some(0), wall_ns: 150, partial: false, causes };
        let account = Account::of_sums(vec![row]);
        let says = |unprofiled_share: f64| {
            verdict(&account, &Circumstances { unprofiled_share, ..Circumstances::default() })
        };
        let recorded = says(1.0).map(|v| v.text).unwrap_or_default();
        assert!(recorded.starts_with("Bound by the host: the GPU is idle 40% of the time"), "{recorded}");
        let without = says(94.0 / 150.0).map(|v| v.text).unwrap_or_default();
        assert_eq!(
            without,
            "Bound by the GPU: it is busy about 95% of the time without the profiler (60% here, because \
             recording slows the host), so faster or fewer kernels help most"
        );
    }

    #[test]
    fn what_was_not_recorded_is_neither_busy_nor_idle() {
        let text =
            says(Some(0), &[(Cause::Kernel, 19), (Cause::DEVICE_UNRECORDED, 180), (Cause::LaunchLatency, 1)]);
        assert_eq!(
            text,
            "The trace does not show what the GPU did for 90% of the time, while the host waited for it. The rest: \
             Bound by the GPU: it is busy 95% of the time, so faster or fewer kernels help most"
        );
    }

    #[test]
    fn shares_are_of_all_the_time_where_most_of_it_is_known() {
        let python = Cause::Host(Activity::Python);
        let text = says(Some(0), &[(python, 84), (Cause::DEVICE_UNRECORDED, 16)]);
        assert_eq!(
            text,
            "Bound by the host: the GPU is idle 84% of the time, 84% because Python, operators and launches cannot keep it \
             busy. For the other 16% of the time the trace does not show what it did"
        );
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
        assert!(says(None, &[(python, 20)]).starts_with("The main thread spent 100% of the time"));
        assert_eq!(says(Some(0), &[]), "");
    }
}
