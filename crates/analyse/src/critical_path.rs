//! The critical path: the one chain of work and waiting, from the start of the first step to the end of the last,
//! that decided how long the run took. To shorten the run, shorten what is on it.
//!
//! It is found by walking back through the replay graph from the last moment, each time along the tie that was
//! binding. The chain has no holes, so its parts add up to the wall time. Time not on the path is hidden behind it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::Serialize;
use stepscope_model::{Kind, Ns, SliceId, Trace};

use crate::activity::Activity;
use crate::cause::Cause;
use crate::comm::{Comm, CommRule};
use crate::define::Definition;
use crate::replay::{Replay, What};
use crate::steps::Steps;

/// What the figures mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "on_path_ns",
        label: "On the path",
        text: "Time the critical path spends here. Over all rows it adds up to the wall time from the start of the \
               first step to the end of the last.",
    },
    Definition {
        field: "share",
        label: "Share",
        text: "Part of the path. An upper bound for what making this free would save: another chain may become \
               critical before.",
    },
    Definition {
        field: "class",
        label: "Class",
        text: "host: the host worked (operators, Python); launch: launch calls and work on its way to the device; \
               kernel, copy, communication: the device worked; data_loading; synchronization: the host returning \
               from a wait; idle: gaps between queued kernels, streams waiting for each other, nothing recorded.",
    },
];

/// Where time on the path was spent.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathClass {
    /// The host worked.
    Host,
    /// Launch calls, and work on its way.
    Launch,
    /// A kernel.
    Kernel,
    /// A copy or fill.
    Copy,
    /// Communication on a device or the host.
    Communication,
    /// Fetching the next batch.
    DataLoading,
    /// The host returning from a wait.
    Synchronization,
    /// Allocation.
    Allocation,
    /// Nothing that is known to work.
    Idle,
}

impl PathClass {
    /// What it is called in tables.
    pub fn label(self) -> &'static str {
        match self {
            PathClass::Host => "host",
            PathClass::Launch => "launch",
            PathClass::Kernel => "kernel",
            PathClass::Copy => "copy",
            PathClass::Communication => "communication",
            PathClass::DataLoading => "data loading",
            PathClass::Synchronization => "synchronization",
            PathClass::Allocation => "allocation",
            PathClass::Idle => "idle",
        }
    }
}

/// A piece of the path.
#[derive(Copy, Clone, Debug)]
pub struct PathPiece {
    /// Where it begins.
    pub start: Ns,
    /// Where it ends.
    pub end: Ns,
    /// Where it was spent.
    pub class: PathClass,
    /// The slice: a kernel, or the innermost host slice.
    pub slice: Option<SliceId>,
}

/// Time of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassRow {
    /// The class.
    pub class: PathClass,
    /// Its time on the path.
    pub on_path_ns: i64,
    /// Its part of the path.
    pub share: f64,
}

/// Time of one name on the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathRow {
    /// A kernel, operator, range or call; what kind of gap, where there is no slice.
    pub name: String,
    /// Where it was spent.
    pub class: PathClass,
    /// How many pieces of the path.
    pub pieces: u64,
    /// Its time on the path.
    pub on_path_ns: i64,
    /// Its part of the path.
    pub share: f64,
}

/// The critical path.
#[derive(Clone, Debug, Default)]
pub struct CriticalPath {
    /// Its pieces in order of time, without holes.
    pub pieces: Vec<PathPiece>,
}

/// What is on the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathReport {
    /// From the start of the first step to the end of the last.
    pub wall_ns: i64,
    /// By class, largest first.
    pub classes: Vec<ClassRow>,
    /// By name, largest first.
    pub rows: Vec<PathRow>,
}

/// Finds it.
pub fn critical_path(trace: &Trace, steps: &Steps, replay: &Replay) -> CriticalPath {
    let Some((last, from)) = replay.ends() else { return CriticalPath::default() };
    let to = steps.window().map_or(Ns::MAX, |w| w.1);
    let mut comm = Comm::new(trace, CommRule::ByName);
    let mut pieces = Vec::new();
    let mut node = last;
    let mut at = replay.graph.time(last);
    if at < to {
        pieces.push(PathPiece { start: at, end: to, class: PathClass::Idle, slice: None });
    }
    while at > from {
        let Some(edge) = replay.graph.binding(node) else { break };
        let start = replay.graph.time(edge.from).max(from).min(at);
        let slice = edge.slice();
        let class = match (edge.what, slice) {
            (What::Device, Some(work)) => match trace.slices().kind(work) {
                Kind::Kernel if comm.kernel(work) => PathClass::Communication,
                Kind::Kernel => PathClass::Kernel,
                _ => PathClass::Copy,
            },
            (What::Host(activity), _) => of_activity(activity),
            (What::Idle(Cause::LaunchLatency), _) => PathClass::Launch,
            (What::Return, _) => PathClass::Synchronization,
            _ => PathClass::Idle,
        };
        if start < at {
            pieces.push(PathPiece { start, end: at.min(to), class, slice });
        }
        node = edge.from;
        at = start;
    }
    if at > from {
        pieces.push(PathPiece { start: from, end: at, class: PathClass::Idle, slice: None });
    }
    pieces.reverse();
    CriticalPath { pieces }
}

fn of_activity(activity: Activity) -> PathClass {
    match activity {
        Activity::DataLoading => PathClass::DataLoading,
        Activity::Launch => PathClass::Launch,
        Activity::Synchronization => PathClass::Synchronization,
        Activity::Allocation => PathClass::Allocation,
        Activity::Communication => PathClass::Communication,
        Activity::Unrecorded | Activity::Profiler => PathClass::Idle,
        Activity::Operator
        | Activity::Python
        | Activity::Runtime
        | Activity::Compilation
        | Activity::GarbageCollection => PathClass::Host,
    }
}

impl CriticalPath {
    /// Sums it up.
    pub fn report(&self, trace: &Trace) -> PathReport {
        let mut classes: HashMap<PathClass, i64, RandomState> = HashMap::default();
        let mut names: HashMap<_, (u64, i64), RandomState> = HashMap::default();
        let mut wall_ns = 0;
        for piece in &self.pieces {
            let ns = (piece.end - piece.start).0;
            wall_ns += ns;
            *classes.entry(piece.class).or_default() += ns;
            let row = names.entry((piece.class, piece.slice.map(|s| trace.slices().name(s)))).or_default();
            row.0 += 1;
            row.1 += ns;
        }
        let share = |ns: i64| if wall_ns == 0 { 0.0 } else { ns as f64 / wall_ns as f64 };
        let mut report = PathReport { wall_ns, ..PathReport::default() };
        report.classes = classes
            .into_iter()
            .map(|(class, on_path_ns)| ClassRow { class, on_path_ns, share: share(on_path_ns) })
            .collect();
        report.classes.sort_by_key(|r| (std::cmp::Reverse(r.on_path_ns), r.class));
        let name_of = |name: Option<_>| name.map_or("(nothing recorded)", |n| trace.text(n)).to_owned();
        report.rows = names
            .into_iter()
            .map(|((class, name), (pieces, on_path_ns))| PathRow {
                name: name_of(name),
                class,
                pieces,
                on_path_ns,
                share: share(on_path_ns),
            })
            .collect();
        report.rows.sort_by(|a, b| {
            b.on_path_ns.cmp(&a.on_path_ns).then_with(|| (&a.name, a.class).cmp(&(&b.name, b.class)))
        });
        report
    }
}
