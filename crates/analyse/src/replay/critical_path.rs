//! The critical path: the one chain of work and waiting, from the start of the first step to the end of the last,
//! that decided how long the run took. To shorten the run, shorten what is on it.
//!
//! It is found by walking back through the replay graph from the last moment, each time along the tie that was
//! binding. The chain has no holes, so its parts add up to the wall time. Time not on the path is hidden behind it.

mod pieces;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, Order, SliceId, Trace};

use crate::causes::cause::Cause;
use crate::names::comm::{Comm, CommRule};
use crate::replay::{EdgeWork, Replay};
use crate::scope::definition::{Definition, definitions};
use crate::steps::Steps;
use crate::threads::activity::Activity;

pub use pieces::PieceRow;

/// The name of pieces of the path that are not slices.
const NOTHING_RECORDED: &str = "(nothing recorded)";

pub const DEFINITIONS: &[Definition] = definitions! {
    "wall_ns", "Wall" => "From the start of the first step to the end of the last; the classes add up to it.";
    "on_path_ns", "On the path" =>
        "Time the critical path spends here. Over all rows it adds up to the wall time from the start of the first step to \
         the end of the last.";
    "share", "Share" =>
        "Time on the path / wall time, as a fraction. It is an upper bound on what making this free would save: another \
         chain may become critical before that.";
    "pieces", "Pieces" => "How many pieces of the path have this name and class.";
    "class", "Class" =>
        "host: the host worked (operators, Python); launch: launch calls and work on its way to the device; kernel, copy, \
         communication: the device worked; data_loading; synchronization: the host returning from a wait; idle: gaps \
         between queued kernels, streams waiting for each other, nothing recorded.";
    "start_ns", "Start" =>
        "When a piece of the path begins, counted from the trace's first event. It begins where the one before it ends.";
    "dur_ns", "Length" =>
        "How long a piece is: the part of its slice that is on the path, or the time until its slice began.";
    "lane", "Where" => "The thread, or the device and stream, of a piece's slice.";
    "slice", "Slice" =>
        "The number of the piece's slice in this file: the kernel, copy or memset (even while it is on its way or waits), \
         or the innermost slice of the host. Empty where nothing was recorded.";
};

/// Where time on the path was spent.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathClass {
    Host,
    /// Launch calls, and work on its way.
    Launch,
    Kernel,
    /// A copy or fill.
    Copy,
    /// Communication on a device or the host.
    Communication,
    /// Fetching the next batch.
    DataLoading,
    /// The host returning from a wait.
    Synchronization,
    Allocation,
    /// Nothing that is known to work.
    Idle,
}

impl PathClass {
    pub const ALL: [PathClass; 9] = [
        PathClass::Host,
        PathClass::Launch,
        PathClass::Kernel,
        PathClass::Copy,
        PathClass::Communication,
        PathClass::DataLoading,
        PathClass::Synchronization,
        PathClass::Allocation,
        PathClass::Idle,
    ];
    const COUNT: usize = PathClass::ALL.len();

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

#[derive(Copy, Clone, Debug)]
pub struct PathPiece {
    pub start: Ns,
    pub end: Ns,
    pub class: PathClass,
    /// The slice: a kernel, or the innermost host slice.
    pub slice: Option<SliceId>,
}

/// Time of a class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathClassRow {
    pub class: PathClass,
    pub on_path_ns: i64,
    /// Its part of the path.
    pub share: f64,
}

/// Time of one name on the path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathRow {
    /// A kernel, operator, range or call; what kind of gap, where there is no slice.
    pub name: String,
    pub class: PathClass,
    pub pieces: u64,
    pub on_path_ns: i64,
    /// Its part of the path.
    pub share: f64,
}

#[derive(Clone, Debug, Default)]
pub struct CriticalPath {
    /// Its pieces in order of time, without holes.
    pub pieces: Vec<PathPiece>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PathReport {
    /// From the start of the first step to the end of the last.
    pub wall_ns: i64,
    /// By class, largest first.
    pub classes: Vec<PathClassRow>,
    /// By name, largest first.
    pub rows: Vec<PathRow>,
}

pub fn critical_path(trace: &Trace, steps: &Steps, replay: &Replay) -> CriticalPath {
    let Some((last, from)) = replay.ends() else { return CriticalPath::default() };
    let to = steps.window().map_or(Ns::MAX, |w| w.1);
    let mut comm = Comm::new(trace, CommRule::ByName);
    let mut pieces = Vec::new();
    let mut node = last;
    let mut at = replay.graph.time(last);
    let mut piece = |start: Ns, end: Ns, class: PathClass, slice: Option<SliceId>| {
        let (start, end) = (start.max(from), end.min(to));
        if start < end {
            pieces.push(PathPiece { start, end, class, slice });
        }
    };
    piece(at, to, PathClass::Idle, None);
    while at > from {
        let Some(edge) = replay.graph.binding(node) else { break };
        let start = replay.graph.time(edge.from).min(at);
        let slice = edge.slice();
        let class = match (edge.what, slice) {
            (EdgeWork::Thread, _) => {
                let segments = replay.graph.pieces(edge).rev();
                segments.for_each(|s| piece(s.start, s.end, of_activity(s.activity), s.slice));
                (node, at) = (edge.from, start);
                continue;
            }
            (EdgeWork::Device | EdgeWork::Beside, Some(work)) => match trace.slices().kind(work) {
                Kind::Kernel if comm.kernel(work) => PathClass::Communication,
                Kind::Kernel => PathClass::Kernel,
                _ => PathClass::Copy,
            },
            (EdgeWork::Host(activity), _) => of_activity(activity),
            (EdgeWork::Idle(Cause::LaunchLatency), _) => PathClass::Launch,
            (EdgeWork::Return, _) => PathClass::Synchronization,
            _ => PathClass::Idle,
        };
        piece(start, at, class, slice);
        (node, at) = (edge.from, start);
    }
    piece(from, at, PathClass::Idle, None);
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
        Activity::Unrecorded | Activity::DeviceUnrecorded | Activity::Profiler => PathClass::Idle,
        Activity::Operator
        | Activity::Python
        | Activity::Runtime
        | Activity::Compilation
        | Activity::FirstUse
        | Activity::GarbageCollection => PathClass::Host,
    }
}

impl CriticalPath {
    pub fn report(&self, trace: &Trace) -> PathReport {
        let mut classes = [0i64; PathClass::COUNT];
        // One row per class and name, found by position: a path has as many pieces as a trace has slices.
        let mut row_of = vec![0u32; (trace.strings().len() + 1) * PathClass::COUNT];
        let mut report = PathReport::default();
        for piece in &self.pieces {
            let ns = (piece.end - piece.start).0;
            report.wall_ns = report.wall_ns.saturating_add(ns);
            classes[piece.class as usize] = classes[piece.class as usize].saturating_add(ns);
            let name = piece.slice.map(|s| trace.slices().name(s));
            let place = name.map_or(0, |n| n.index() + 1) * PathClass::COUNT + piece.class as usize;
            if row_of[place] == 0 {
                let name = name.map_or(NOTHING_RECORDED, |n| trace.text(n)).to_owned();
                report.rows.push(PathRow { name, class: piece.class, pieces: 0, on_path_ns: 0, share: 0.0 });
                row_of[place] = report.rows.len() as u32;
            }
            let row = &mut report.rows[row_of[place] as usize - 1];
            row.pieces += 1;
            row.on_path_ns = row.on_path_ns.saturating_add(ns);
        }
        let wall_ns = report.wall_ns;
        let share = |ns: i64| if wall_ns == 0 { 0.0 } else { ns as f64 / wall_ns as f64 };
        report.rows.iter_mut().for_each(|row| row.share = share(row.on_path_ns));
        for class in PathClass::ALL {
            let on_path_ns = classes[class as usize];
            if on_path_ns > 0 {
                report.classes.push(PathClassRow { class, on_path_ns, share: share(on_path_ns) });
            }
        }
        report.classes.order_by_key(|r| (std::cmp::Reverse(r.on_path_ns), r.class));
        report.rows.order_by(|a, b| {
            b.on_path_ns.cmp(&a.on_path_ns).then_with(|| (&a.name, a.class).cmp(&(&b.name, b.class)))
        });
        report
    }
}
