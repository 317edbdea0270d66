//! Where each frame of a flame graph is.

use std::collections::HashMap;

use stepscope_model::{FrameId, LineIs, Profile, StackId, StrId};

use super::SvgOptions;

/// What a bar represents.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum BarKind {
    All,
    /// A thread, or what else the profile keeps apart.
    Part(usize),
    /// A function, by one of its frames.
    Frame(FrameId),
}

/// One bar: from where to where, in units of the value, and how deep.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) what: BarKind,
    pub(super) depth: usize,
    pub(super) start: u64,
    pub(super) amount: u64,
    /// The value that it is compared with.
    pub(super) before: u64,
}

/// All bars, parents before their children.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) bars: Vec<Bar>,
    pub(super) total: u64,
    /// The sum of the value that is compared with.
    pub(super) before: u64,
    pub(super) depth: usize,
    /// Bars too small to be seen.
    pub(super) left_out: u64,
}

/// A node of the tree that stacks share.
struct Node {
    what: BarKind,
    depth: usize,
    parent: usize,
    total: u64,
    before: u64,
    children: Vec<usize>,
}

impl Layout {
    pub(super) fn new(profile: &Profile, value: usize, options: &SvgOptions) -> Layout {
        let nodes = tree(profile, value, options);
        let total = nodes[0].total;
        let mut sizes: Vec<u64> = nodes.iter().map(|node| node.total).collect();
        sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
        let smallest = ((total as f64 * options.min_share) as u64).max(1);
        let smallest = sizes.get(options.max_frames).map_or(smallest, |size| smallest.max(size + 1));
        let mut layout = Layout { bars: Vec::new(), total, before: nodes[0].before, depth: 0, left_out: 0 };
        // What is still to be placed, the next at the end.
        let mut waiting = vec![(0, 0)];
        while let Some((at, start)) = waiting.pop() {
            let node = &nodes[at];
            let Node { what, depth, total: amount, before, .. } = *node;
            layout.bars.push(Bar { what, depth, start, amount, before });
            layout.depth = layout.depth.max(node.depth);
            let mut children = node.children.clone();
            children.sort_by_key(|&child| name(profile, nodes[child].what));
            let mut from = start;
            let mut placed = Vec::new();
            for child in children {
                if nodes[child].total >= smallest {
                    placed.push((child, from));
                } else if nodes[child].total > 0 {
                    layout.left_out += 1;
                }
                from += nodes[child].total;
            }
            waiting.extend(placed.into_iter().rev());
        }
        layout
    }
}

fn name(profile: &Profile, what: BarKind) -> (String, BarKind) {
    let text = match what {
        BarKind::Frame(frame) => profile.stacks.name(frame).to_owned(),
        _ => String::new(),
    };
    (text, what)
}

/// The stacks as a tree of functions: frames of one function at other lines are one.
fn tree(profile: &Profile, value: usize, options: &SvgOptions) -> Vec<Node> {
    let mut nodes =
        vec![Node { what: BarKind::All, depth: 0, parent: 0, total: 0, before: 0, children: Vec::new() }];
    let mut known: HashMap<(usize, BarKind), usize> = HashMap::new();
    let mut functions: HashMap<(StrId, StrId, u32), FrameId> = HashMap::new();
    let starts = profile.line_is == LineIs::Start;
    let one_of: Vec<FrameId> = profile
        .stacks
        .frames()
        .map(|(id, frame)| {
            let line = if starts { frame.line } else { 0 };
            *functions.entry((frame.name, frame.file, line)).or_insert(id)
        })
        .collect();
    let mut child = |nodes: &mut Vec<Node>, around: usize, what: BarKind| {
        let next = nodes.len();
        let at = *known.entry((around, what)).or_insert(next);
        if at == next {
            let depth = nodes[around].depth + 1;
            nodes.push(Node { what, depth, parent: around, total: 0, before: 0, children: Vec::new() });
            nodes[around].children.push(at);
        }
        at
    };
    let mut place =
        |nodes: &mut Vec<Node>, places: &mut HashMap<(usize, StackId), usize>, part: usize, stack: StackId| {
            // Up to what is placed already, then down again: every stack is placed once, however deep it is.
            let mut above = Vec::new();
            let mut at = stack;
            let mut node = loop {
                if let Some(&node) = places.get(&(part, at)) {
                    break node;
                }
                match profile.stacks.pop(at) {
                    Some((below, frame)) => {
                        above.push((at, frame));
                        at = below;
                    }
                    None if profile.parts.len() > 1 => break child(nodes, 0, BarKind::Part(part)),
                    None => break 0,
                }
            };
            for (stack, frame) in above.into_iter().rev() {
                if nodes[node].depth < options.max_depth {
                    node = child(nodes, node, BarKind::Frame(one_of[frame.index()]));
                }
                places.insert((part, stack), node);
            }
            node
        };
    let mut places: HashMap<(usize, StackId), usize> = HashMap::new();
    for sample in profile.samples().iter() {
        let of =
            |value: usize| sample.amounts.get(value).copied().and_then(|amount| u64::try_from(amount).ok());
        let (amount, before) = (of(value).unwrap_or(0), options.before.and_then(of).unwrap_or(0));
        let part = if profile.parts.len() > 1 { sample.part } else { 0 };
        if amount > 0 || before > 0 {
            let at = place(&mut nodes, &mut places, part, sample.stack);
            nodes[at].total = nodes[at].total.saturating_add(amount);
            nodes[at].before = nodes[at].before.saturating_add(before);
        }
    }
    // Children come after their parents.
    for at in (1..nodes.len()).rev() {
        let Node { parent, total, before, .. } = nodes[at];
        nodes[parent].total = nodes[parent].total.saturating_add(total);
        nodes[parent].before = nodes[parent].before.saturating_add(before);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Frame, Sample, ValueKind, ValueUnit};

    use super::*;

    #[test]
    fn bars_stand_inside_of_their_callers() {
        let mut profile =
            Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
        let frames = ["main", "load", "step"].map(|name| {
            let name = profile.stacks.intern(name);
            profile.stacks.frame(Frame { name, ..Frame::default() })
        });
        let main = profile.stacks.push(StackId::EMPTY, frames[0]);
        let (load, step) = (profile.stacks.push(main, frames[1]), profile.stacks.push(main, frames[2]));
        for (stack, amount) in [(main, 10), (step, 60), (load, 25), (load, 5), (step, -9)] {
            profile.add(Sample::new(0, stack, &[amount]));
        }
        let layout = Layout::new(&profile, 0, &SvgOptions::default());
        let bars: Vec<_> = layout.bars.iter().map(|bar| (bar.what, bar.depth, bar.start, bar.amount)).collect();
        let frame = |at: usize| BarKind::Frame(frames[at]);
        assert_eq!(
            bars,
            [(BarKind::All, 0, 0, 100), (frame(0), 1, 0, 100), (frame(1), 2, 0, 30), (frame(2), 2, 30, 60)]
        );
        assert_eq!((layout.total, layout.depth, layout.left_out), (100, 2, 0));
        let few =
            Layout::new(&profile, 0, &SvgOptions { min_share: 0.5, max_depth: 1, ..SvgOptions::default() });
        assert_eq!((few.bars.len(), few.depth), (2, 1));
    }

    #[test]
    fn what_was_before_is_added_up_and_not_drawn() {
        let value = |name: &str| ValueKind { name: name.to_owned(), unit: ValueUnit::Plain };
        let mut profile = Profile::new(vec![value("after"), value("before")]);
        let frames = ["main", "gone", "new"].map(|name| {
            let name = profile.stacks.intern(name);
            profile.stacks.frame(Frame { name, ..Frame::default() })
        });
        let main = profile.stacks.push(StackId::EMPTY, frames[0]);
        let (gone, new) = (profile.stacks.push(main, frames[1]), profile.stacks.push(main, frames[2]));
        for (stack, amounts) in [(main, [10, 30]), (gone, [0, 70]), (new, [90, 0])] {
            profile.add(Sample::new(0, stack, &amounts));
        }
        let layout = Layout::new(&profile, 0, &SvgOptions { before: Some(1), ..SvgOptions::default() });
        let bars: Vec<_> = layout.bars.iter().map(|bar| (bar.what, bar.amount, bar.before)).collect();
        let frame = |at: usize| BarKind::Frame(frames[at]);
        assert_eq!(bars, [(BarKind::All, 100, 100), (frame(0), 100, 100), (frame(2), 90, 0)]);
        assert_eq!((layout.before, layout.left_out), (100, 0));
        // Without a comparison they are not there at all.
        let alone = Layout::new(&profile, 0, &SvgOptions::default());
        assert!(alone.before == 0 && alone.bars.iter().all(|bar| bar.before == 0));
    }
}
