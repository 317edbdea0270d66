//! Where each row of a lane ends so far, ready to be asked which row holds a slice and which is free.

/// Ends by row, as a tree over them: both questions take the logarithm of the rows. A file may make every slice
/// overlap every other, and walking all rows for each slice would take minutes.
pub(super) struct RowEnds {
    /// Leaves; a power of two.
    leaves: usize,
    /// Latest end below each node; the children of node `n` are `2n` and `2n + 1`.
    latest: Vec<i64>,
    /// Earliest end below each node.
    earliest: Vec<i64>,
}

/// A row that holds nothing yet is free from the beginning of time.
const EMPTY: i64 = i64::MIN;

impl RowEnds {
    pub(super) fn new() -> RowEnds {
        RowEnds::with_leaves(8)
    }

    fn with_leaves(leaves: usize) -> RowEnds {
        RowEnds { leaves, latest: vec![EMPTY; 2 * leaves], earliest: vec![EMPTY; 2 * leaves] }
    }

    /// The deepest row that ends at this time or later.
    pub(super) fn deepest_reaching(&self, at: i64) -> Option<usize> {
        let mut node = 1;
        if self.latest[node] < at {
            return None;
        }
        while node < self.leaves {
            node = if self.latest[2 * node + 1] >= at { 2 * node + 1 } else { 2 * node };
        }
        Some(node - self.leaves)
    }

    /// The first row from `from` on that has ended by this time.
    pub(super) fn first_free(&self, from: usize, at: i64) -> usize {
        let mut node = self.leaves + from;
        if from >= self.leaves {
            return from;
        }
        while self.earliest[node] > at {
            // On to the next subtree to the right; behind the last one rows have never been used.
            while node & 1 == 1 {
                if node == 1 {
                    return self.leaves;
                }
                node >>= 1;
            }
            node += 1;
        }
        while node < self.leaves {
            node = if self.earliest[2 * node] <= at { 2 * node } else { 2 * node + 1 };
        }
        node - self.leaves
    }

    pub(super) fn end(&self, row: usize) -> i64 {
        self.latest.get(self.leaves + row).copied().unwrap_or(EMPTY)
    }

    pub(super) fn set(&mut self, row: usize, end: i64) {
        if row >= self.leaves {
            self.grow(row);
        }
        let mut node = self.leaves + row;
        (self.latest[node], self.earliest[node]) = (end, end);
        while node > 1 {
            node /= 2;
            let latest = self.latest[2 * node].max(self.latest[2 * node + 1]);
            let earliest = self.earliest[2 * node].min(self.earliest[2 * node + 1]);
            if (self.latest[node], self.earliest[node]) == (latest, earliest) {
                break;
            }
            (self.latest[node], self.earliest[node]) = (latest, earliest);
        }
    }

    fn grow(&mut self, row: usize) {
        let mut larger = RowEnds::with_leaves((row + 1).next_power_of_two());
        for old in 0..self.leaves {
            larger.set(old, self.end(old));
        }
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_list(writes in prop::collection::vec((0..40usize, 0..30i64), 0..60), from in 0..45usize, at in 0..30i64) {
            let mut tree = RowEnds::new();
            let mut list = vec![EMPTY; 64];
            for (row, end) in writes {
                tree.set(row, end);
                list[row] = end;
            }
            prop_assert_eq!(tree.deepest_reaching(at), list.iter().rposition(|&end| end >= at));
            let free = (from..64).find(|&row| list[row] <= at).unwrap();
            prop_assert_eq!(tree.first_free(from, at), free);
        }
    }
}
