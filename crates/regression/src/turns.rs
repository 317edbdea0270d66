//! The order in which two versions run: in turns, so that what changes with time (heat, other programs) hits both alike.

/// Whose turn it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The baseline runs.
    Baseline,
    /// The current version runs.
    Current,
}

/// The turns of so many repeats per side. Pairs change their order, so that neither side always goes first.
pub fn turns(repeats: usize) -> impl Iterator<Item = Turn> {
    use Turn::{Baseline, Current};
    (0..repeats).flat_map(|pair| if pair % 2 == 0 { [Baseline, Current] } else { [Current, Baseline] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_go_first_equally_often() {
        use Turn::{Baseline as A, Current as B};
        assert_eq!(turns(3).collect::<Vec<_>>(), [A, B, B, A, A, B]);
    }
}
