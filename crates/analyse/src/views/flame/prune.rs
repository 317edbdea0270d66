//! From a whole tree to one small enough to draw, without losing a nanosecond.

use std::cmp::Reverse;

use crate::tables::stacks::tree::NONE;

/// A tree in columns. A parent comes before its children.
#[derive(Default)]
pub(super) struct Columns {
    /// The node around each; [`NONE`] outermost.
    pub(super) parent: Vec<u32>,
    /// Its own time, never below zero.
    pub(super) own: Vec<i64>,
    pub(super) count: Vec<u64>,
    /// Whether the count of a node shows those below it as well.
    pub(super) count_below: bool,
}

/// What a node of the result represents.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Node(u32),
    /// So many children of its parent, each with all below it.
    Smaller(u64),
}

/// A node of the result.
#[derive(Copy, Clone, Debug)]
pub(super) struct FlameNode {
    pub(super) item: Item,
    /// Place in the result, or -1.
    pub(super) parent: i32,
    pub(super) self_ns: i64,
    pub(super) total_ns: i64,
    pub(super) count: u64,
}

#[derive(Debug, Default)]
pub(super) struct Pruned {
    /// Depth first, siblings by falling total; what is put together comes last.
    pub(super) nodes: Vec<FlameNode>,
    pub(super) total_ns: i64,
    pub(super) pruned_nodes: u64,
    pub(super) pruned_ns: i64,
}

/// Children of one parent that are not kept.
#[derive(Copy, Clone, Default)]
struct PrunedChildren {
    children: u64,
    ns: i64,
    count: u64,
}

/// Keeps the nodes with at least a share of the total, the largest `most` of them. Nodes without any time or count
/// are not part of what was asked and leave no trace.
pub(super) fn prune(tree: &Columns, min_share: f64, most: usize) -> Pruned {
    let mut total = tree.own.clone();
    let mut below = tree.count.clone();
    let mut grand = 0i64;
    for i in (0..tree.parent.len()).rev() {
        match tree.parent[i] {
            NONE => grand = grand.saturating_add(total[i]),
            parent => {
                total[parent as usize] = total[parent as usize].saturating_add(total[i]);
                below[parent as usize] = below[parent as usize].saturating_add(below[i]);
            }
        }
    }
    let count = if tree.count_below { &below } else { &tree.count };
    let floor = ((grand as f64 * min_share).ceil() as i64).max(1);
    let mut kept: Vec<u32> = (0..total.len() as u32).filter(|&i| total[i as usize] >= floor).collect();
    if kept.len() > most {
        // A parent has at least its child's total and comes before it, so it is never dropped before its child.
        kept.sort_unstable_by_key(|&i| (Reverse(total[i as usize]), i));
        kept.truncate(most);
        kept.sort_unstable();
    }
    // Slot 0 is above the roots; the rest are the kept nodes.
    let mut slot = vec![NONE; total.len()];
    for (at, &node) in kept.iter().enumerate() {
        slot[node as usize] = at as u32 + 1;
    }
    let around = |node: usize| match tree.parent[node] {
        NONE => 0,
        parent => slot[parent as usize],
    };
    let mut pruned = Pruned { total_ns: grand, ..Pruned::default() };
    let mut rest = vec![PrunedChildren::default(); kept.len() + 1];
    for node in 0..total.len() {
        if slot[node] != NONE || (total[node] == 0 && below[node] == 0) {
            continue;
        }
        pruned.pruned_nodes += 1;
        pruned.pruned_ns = pruned.pruned_ns.saturating_add(tree.own[node]);
        if let Some(rest) = rest.get_mut(around(node) as usize) {
            rest.children += 1;
            rest.ns = rest.ns.saturating_add(total[node]);
            rest.count = rest.count.saturating_add(count[node]);
        }
    }
    kept.sort_unstable_by_key(|&i| (around(i as usize), Reverse(total[i as usize]), i));
    let children = |of: u32| {
        let from = kept.partition_point(|&i| around(i as usize) < of);
        let to = kept.partition_point(|&i| around(i as usize) <= of);
        &kept[from..to]
    };
    // Nodes still to be written with the place of their parent, the next on top.
    let mut open: Vec<(Item, u32, i32)> = Vec::new();
    let enter = |open: &mut Vec<(Item, u32, i32)>, of: u32, place: i32| {
        let smaller = rest[of as usize].children;
        if smaller > 0 {
            open.push((Item::Smaller(smaller), of, place));
        }
        open.extend(children(of).iter().rev().map(|&node| (Item::Node(node), of, place)));
    };
    enter(&mut open, 0, -1);
    while let Some((item, of, parent)) = open.pop() {
        let (self_ns, total_ns, count) = match item {
            Item::Node(node) => (tree.own[node as usize], total[node as usize], count[node as usize]),
            Item::Smaller(_) => (rest[of as usize].ns, rest[of as usize].ns, rest[of as usize].count),
        };
        let place = pruned.nodes.len() as i32;
        pruned.nodes.push(FlameNode { item, parent, self_ns, total_ns, count });
        if let Item::Node(node) = item {
            enter(&mut open, slot[node as usize], place);
        }
    }
    pruned
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two roots: 0 (own 10) with children 1 (own 50, with child 3 of 1), 2 (own 5); 4 (own 0) with child 5 (own 4).
    fn tree() -> Columns {
        Columns {
            parent: vec![NONE, 0, 0, 1, NONE, 4, 0],
            own: vec![10, 50, 5, 1, 0, 4, 0],
            count: vec![1, 2, 3, 1, 1, 7, 0],
            count_below: false,
        }
    }

    fn shown(pruned: &Pruned) -> Vec<(Item, i32, i64, i64, u64)> {
        pruned.nodes.iter().map(|n| (n.item, n.parent, n.self_ns, n.total_ns, n.count)).collect()
    }

    #[test]
    fn nothing_is_put_together_without_a_limit() {
        let pruned = prune(&tree(), 0.0, 100);
        assert_eq!(
            shown(&pruned),
            [
                (Item::Node(0), -1, 10, 66, 1),
                (Item::Node(1), 0, 50, 51, 2),
                (Item::Node(3), 1, 1, 1, 1),
                (Item::Node(2), 0, 5, 5, 3),
                (Item::Node(4), -1, 0, 4, 1),
                (Item::Node(5), 4, 4, 4, 7),
            ]
        );
        // Node 6 has neither time nor count: it was not asked for.
        assert_eq!((pruned.total_ns, pruned.pruned_nodes, pruned.pruned_ns), (70, 0, 0));
    }

    #[test]
    fn what_is_below_the_share_stands_beside_its_siblings() {
        // 10% of 70 is 7: nodes 2, 3, 4 and 5 are smaller.
        let pruned = prune(&tree(), 0.1, 100);
        assert_eq!(
            shown(&pruned),
            [
                (Item::Node(0), -1, 10, 66, 1),
                (Item::Node(1), 0, 50, 51, 2),
                (Item::Smaller(1), 1, 1, 1, 1),
                (Item::Smaller(1), 0, 5, 5, 3),
                (Item::Smaller(1), -1, 4, 4, 1),
            ]
        );
        assert_eq!((pruned.total_ns, pruned.pruned_nodes, pruned.pruned_ns), (70, 4, 10));
    }

    #[test]
    fn the_largest_are_kept() {
        let pruned = prune(&Columns { count_below: true, ..tree() }, 0.0, 2);
        assert_eq!(
            shown(&pruned),
            [
                (Item::Node(0), -1, 10, 66, 7),
                (Item::Node(1), 0, 50, 51, 3),
                (Item::Smaller(1), 1, 1, 1, 1),
                (Item::Smaller(1), 0, 5, 5, 3),
                (Item::Smaller(1), -1, 4, 4, 8),
            ]
        );
        assert_eq!(prune(&tree(), 0.0, 0).nodes.len(), 1);
        assert!(prune(&Columns::default(), 0.5, 10).nodes.is_empty());
    }
}
