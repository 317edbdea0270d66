//! What groups and rows are called.

use stepscope_model::{Domain, LaneId, Tag, Trace};

use super::Timeline;
use super::build::{Group, GroupKind, Members};
use super::spans::Content;
use crate::tables::stacks::Frame;

impl Timeline {
    /// A group's name, and a word about where it belongs.
    pub(super) fn group_label(&self, trace: &Trace, group: &Group) -> (String, String) {
        match (&group.members, group.kind) {
            (Members::Lane(lane), _) => lane_label(trace, *lane),
            (_, GroupKind::Steps) => ("Steps".to_owned(), String::new()),
            (_, GroupKind::Modules) => ("Modules".to_owned(), "calls of nn.Module".to_owned()),
            (Members::Listed { .. }, _) | (Members::Steps, _) => {
                let number = self.built.groups.len() as u32 - 1;
                let lanes = self.built.group_of_lane.iter().filter(|&&g| g == number).count();
                ("Other lanes".to_owned(), format!("{lanes} threads and streams together"))
            }
        }
    }
}

/// A row's name in its group.
pub(super) fn row_label(content: &Content, depth: u32, overlaps: bool) -> String {
    match content {
        Content::Points(_) => "instants".to_owned(),
        Content::Steps => "steps".to_owned(),
        Content::Slices(_) if overlaps => format!("depth {depth} and deeper: slices may overlap"),
        Content::Slices(_) => format!("depth {depth}"),
    }
}

/// A lane's name, and its device's or its process's.
pub(super) fn lane_label(trace: &Trace, lane: LaneId) -> (String, String) {
    let info = trace.lanes().get(lane);
    let name = trace.text(info.thread_name).trim();
    let process = tag(trace, info.key.process);
    if info.key.domain == Domain::Device {
        let stream =
            if name.is_empty() { format!("stream {}", tag(trace, info.key.thread)) } else { name.to_owned() };
        let device = trace.meta().device_name(info.key.process.as_int()).unwrap_or_default().to_owned();
        return (format!("GPU {process} · {stream}"), device);
    }
    // Lanes of the profiler itself: its instants have no thread, its spans a word for a process.
    let label = match info.key.thread {
        Tag::None => "Whole trace".to_owned(),
        Tag::Str(text) if name.is_empty() && trace.text(text).trim().is_empty() => "Whole trace".to_owned(),
        _ => Frame::Thread(lane).text(trace).into_owned(),
    };
    let process_name = trace.text(info.process_name).trim();
    let detail = match (process_name.is_empty(), process.is_empty()) {
        (true, true) => String::new(),
        (true, false) if info.key.process.as_int().is_none() => process,
        (true, false) => format!("pid {process}"),
        (false, true) => process_name.to_owned(),
        (false, false) => format!("{process_name} · pid {process}"),
    };
    (label, detail)
}

fn tag(trace: &Trace, tag: Tag) -> String {
    match tag {
        Tag::Int(number) => number.to_string(),
        Tag::Str(text) => trace.text(text).to_owned(),
        Tag::None => String::new(),
    }
}
