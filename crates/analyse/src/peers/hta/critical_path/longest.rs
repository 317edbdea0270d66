//! The longest way through the graph.
//!
//! Ties are broken as networkx breaks them, on which HTA builds: nodes in breadth-first order of their
//! dependencies, of several ways into a node the edge added first, of several ends the node met first.

use stepscope_model::Ns;

use super::graph::{Edge, Graph};

/// Edges grouped by one of their nodes, in the order they were added.
struct EdgesByNode {
    begin: Vec<u32>,
    edges: Vec<u32>,
}

impl EdgesByNode {
    fn new(graph: &Graph, node: fn(&Edge) -> u32) -> EdgesByNode {
        let mut begin = vec![0u32; graph.nodes.len() + 1];
        for edge in &graph.edges {
            begin[node(edge) as usize + 1] += 1;
        }
        for i in 1..begin.len() {
            begin[i] += begin[i - 1];
        }
        let mut next = begin.clone();
        let mut edges = vec![0u32; graph.edges.len()];
        for (i, edge) in graph.edges.iter().enumerate() {
            let slot = &mut next[node(edge) as usize];
            edges[*slot as usize] = i as u32;
            *slot += 1;
        }
        EdgesByNode { begin, edges }
    }

    fn edges_of(&self, node: u32) -> &[u32] {
        &self.edges[self.begin[node as usize] as usize..self.begin[node as usize + 1] as usize]
    }
}

/// The edges of the longest way, first to last; `None` if the dependencies run in a circle.
pub(super) fn longest(graph: &Graph) -> Option<Vec<u32>> {
    let (into, out) = (EdgesByNode::new(graph, |e| e.to), EdgesByNode::new(graph, |e| e.from));
    let mut waits_for: Vec<u32> =
        (0..graph.nodes.len()).map(|n| into.edges_of(n as u32).len() as u32).collect();
    let mut order = Vec::with_capacity(graph.touched.len());
    order.extend(graph.touched.iter().copied().filter(|&n| waits_for[n as usize] == 0));
    let mut done = 0;
    // How long the longest way to a node is, and by which edge it comes.
    let mut length = vec![Ns::ZERO; graph.nodes.len()];
    let mut by: Vec<Option<u32>> = vec![None; graph.nodes.len()];
    let mut last: Option<(Ns, u32)> = None;
    while let Some(&node) = order.get(done) {
        done += 1;
        let mut best: Option<(Ns, u32)> = None;
        for &e in into.edges_of(node) {
            let edge = &graph.edges[e as usize];
            let reached = length[edge.from as usize] + edge.weight.max(Ns::ZERO);
            if best.is_none_or(|b| b.0 < reached) {
                best = Some((reached, e));
            }
        }
        if let Some((reached, edge)) = best {
            (length[node as usize], by[node as usize]) = (reached, Some(edge));
        }
        if last.is_none_or(|l| l.0 < length[node as usize]) {
            last = Some((length[node as usize], node));
        }
        for &e in out.edges_of(node) {
            let next = graph.edges[e as usize].to as usize;
            waits_for[next] -= 1;
            if waits_for[next] == 0 {
                order.push(next as u32);
            }
        }
    }
    if order.len() < graph.touched.len() {
        return None;
    }
    let end = last.map(|l| l.1);
    let back =
        std::iter::successors(end.and_then(|n| by[n as usize]), |&e| by[graph.edges[e as usize].from as usize]);
    let mut path: Vec<u32> = back.collect();
    path.reverse();
    Some(path)
}

#[cfg(test)]
mod tests {
    use stepscope_model::SliceId;

    use super::super::graph::EdgeKind;
    use super::*;

    fn graph(edges: &[(u32, u32, i64)]) -> Graph {
        let mut graph = Graph::new(8, 8);
        for i in 0..8 {
            graph.add_slice(SliceId::from_index(i), Ns(0), Ns(0));
        }
        for &(from, to, weight) in edges {
            graph.add(Edge { from, to, kind: EdgeKind::OperatorKernel, weight: Ns(weight), slice: None });
        }
        graph
    }

    #[test]
    fn the_longer_way_wins_and_of_equals_the_first() {
        let g = graph(&[(0, 1, 5), (0, 2, 3), (1, 3, 1), (2, 3, 4), (3, 4, 0)]);
        // Both 0-2-3 and 0-2-3-4 last 7: the way ends at the node met first.
        assert_eq!(longest(&g), Some(vec![1, 3]));
        let g = graph(&[(0, 2, 2), (1, 2, 2), (2, 3, 1)]);
        assert_eq!(longest(&g), Some(vec![0, 2]));
    }

    #[test]
    fn circles_are_refused_and_negative_weights_are_nothing() {
        assert_eq!(longest(&graph(&[(0, 1, 1), (1, 2, 1), (2, 1, 1)])), None);
        assert_eq!(longest(&graph(&[(0, 1, -5), (1, 2, 1)])), Some(vec![0, 1]));
        assert_eq!(longest(&graph(&[])), Some(vec![]));
    }
}
