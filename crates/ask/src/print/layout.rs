//! How wide each column of a table becomes, and which columns stay out.

use super::table::USUAL_PRIORITY;

/// Columns between two columns.
pub(super) const COLUMN_GAP: usize = 2;
/// A shorter bar says nothing.
const SMALLEST_BAR: usize = 4;
/// The screen for which the least widths are given; they grow with wider ones.
const USUAL_ROOM: usize = 80;

/// What the layout has to know about a column.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnWidth<'t> {
    /// The width of the widest text.
    pub(super) natural: usize,
    /// The least width on a screen of 80 columns, if the texts may be shortened.
    pub(super) least: Option<usize>,
    /// Whether there are bars beside the texts.
    pub(super) bar: bool,
    pub(super) priority: u8,
    pub(super) group: Option<&'t str>,
}

impl ColumnWidth<'_> {
    fn least(&self, room: usize) -> usize {
        let Some(least) = self.least else { return self.natural };
        let grown = least.saturating_mul(room.max(USUAL_ROOM)) / USUAL_ROOM;
        grown.min(self.natural)
    }
}

/// The width of the text of a column that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) column: usize,
    pub(super) text: usize,
    /// The width of the bar; zero for none.
    pub(super) bar: usize,
}

impl Slot {
    pub(super) fn width(&self) -> usize {
        self.text + if self.bar > 0 { self.bar + 1 } else { 0 }
    }
}

/// The slots from left to right, for a screen of `room` columns or one without limits.
///
/// In this order until it fits: names get shorter, bars get shorter, columns below the usual priority go,
/// bars go, other columns go.
pub(super) fn fit(wishes: &[ColumnWidth<'_>], room: Option<usize>) -> Vec<Slot> {
    let mut kept: Vec<usize> = (0..wishes.len()).collect();
    let Some(room) = room else {
        return slots(wishes, &kept, 12, usize::MAX);
    };
    let usual_bar = match room {
        160.. => 12,
        120.. => 10,
        100.. => 8,
        _ => 6,
    };
    let mut smallest_bar = SMALLEST_BAR;
    loop {
        for bar in [usual_bar, SMALLEST_BAR, 0] {
            if bar >= smallest_bar && least_width(wishes, &kept, bar, room) <= room {
                return slots(wishes, &kept, bar, room);
            }
        }
        let limit = if smallest_bar > 0 { USUAL_PRIORITY } else { u8::MAX };
        let droppable = kept.iter().copied().filter(|&column| column > 0 && wishes[column].priority < limit);
        let Some(worst) = droppable.min_by_key(|&column| (wishes[column].priority, usize::MAX - column)) else {
            if smallest_bar == 0 {
                return slots(wishes, &kept, 0, room);
            }
            smallest_bar = 0;
            continue;
        };
        let group = wishes[worst].group;
        kept.retain(|&column| {
            let related = group.is_some() && wishes[column].group == group;
            column == 0 || !(column == worst || related)
        });
    }
}

fn bar_width(wish: &ColumnWidth<'_>, bar: usize) -> usize {
    if wish.bar && bar > 0 { bar + 1 } else { 0 }
}

fn least_width(wishes: &[ColumnWidth<'_>], kept: &[usize], bar: usize, room: usize) -> usize {
    let columns: usize =
        kept.iter().map(|&column| wishes[column].least(room) + bar_width(&wishes[column], bar)).sum();
    columns + COLUMN_GAP * kept.len().saturating_sub(1)
}

fn slots(wishes: &[ColumnWidth<'_>], kept: &[usize], bar: usize, room: usize) -> Vec<Slot> {
    let slot = |&column: &usize| {
        let wish = &wishes[column];
        // A text wider than the whole screen is shortened in any case.
        let text =
            if wish.least.is_some() { wish.natural.min(room.max(wish.least(room))) } else { wish.natural };
        Slot { column, text, bar: if wish.bar { bar } else { 0 } }
    };
    let mut slots: Vec<Slot> = kept.iter().map(slot).collect();
    let spare = |slot: &Slot| slot.text - wishes[slot.column].least(room);
    let full = slots.iter().map(Slot::width).sum::<usize>() + COLUMN_GAP * slots.len().saturating_sub(1);
    for _ in room..full {
        match slots.iter_mut().filter(|slot| spare(slot) > 0).max_by_key(|slot| spare(slot)) {
            Some(slot) => slot.text -= 1,
            None => break,
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(natural: usize) -> ColumnWidth<'static> {
        ColumnWidth { natural, least: Some(24), priority: u8::MAX, ..ColumnWidth::default() }
    }

    fn number(natural: usize, priority: u8) -> ColumnWidth<'static> {
        ColumnWidth { natural, priority, ..ColumnWidth::default() }
    }

    fn columns(slots: &[Slot]) -> Vec<usize> {
        slots.iter().map(|slot| slot.column).collect()
    }

    fn total(slots: &[Slot]) -> usize {
        slots.iter().map(Slot::width).sum::<usize>() + COLUMN_GAP * (slots.len() - 1)
    }

    #[test]
    fn the_name_gives_way_first() {
        let wishes = [name(300), number(8, 100), number(8, 1)];
        let fitted = fit(&wishes, Some(60));
        assert_eq!(columns(&fitted), [0, 1, 2]);
        assert_eq!(total(&fitted), 60);
        assert_eq!(fitted[0].text, 40);
    }

    #[test]
    fn then_the_least_important_column_goes() {
        let wishes = [name(300), number(10, 100), number(10, 1), number(10, 100)];
        let fitted = fit(&wishes, Some(50));
        assert_eq!(columns(&fitted), [0, 1, 3]);
        assert_eq!(total(&fitted), 50);
        let fitted = fit(&wishes, Some(40));
        assert_eq!(columns(&fitted), [0, 1]);
    }

    fn bars(slots: &[Slot]) -> Vec<usize> {
        slots.iter().map(|slot| slot.bar).collect()
    }

    #[test]
    fn bars_shrink_then_minor_columns_go_then_bars_then_the_rest() {
        let wishes = [name(30), ColumnWidth { bar: true, ..number(8, 150) }, number(8, 1), number(8, 120)];
        assert_eq!(bars(&fit(&wishes, Some(61))), [0, 6, 0, 0]);
        assert_eq!(bars(&fit(&wishes, Some(60))), [0, 4, 0, 0]);
        assert_eq!(bars(&fit(&wishes, Some(58))), [0, 6, 0]);
        assert_eq!(bars(&fit(&wishes, Some(49))), [0, 4, 0]);
        assert_eq!(bars(&fit(&wishes, Some(48))), [0, 0, 0]);
        assert_eq!(columns(&fit(&wishes, Some(48))), [0, 1, 3]);
        assert_eq!(columns(&fit(&wishes, Some(43))), [0, 1]);
    }

    #[test]
    fn a_wider_screen_keeps_more_of_the_name() {
        let wishes = [name(300), number(60, 100), number(30, 1)];
        let fitted = fit(&wishes, Some(120));
        assert_eq!(columns(&fitted), [0, 1]);
        assert_eq!(fitted[0].text, 58);
    }

    #[test]
    fn groups_go_together() {
        let pair = |priority| ColumnWidth { group: Some("memory"), ..number(8, priority) };
        let wishes = [name(24), pair(1), number(8, 50), pair(90)];
        assert_eq!(columns(&fit(&wishes, Some(50))), [0, 2]);
    }

    #[test]
    fn the_name_is_never_under_its_least() {
        let fitted = fit(&[name(300), number(8, 100)], Some(10));
        assert_eq!(columns(&fitted), [0]);
        assert_eq!(fitted[0].text, 24);
    }

    #[test]
    fn without_limits_everything_stays() {
        let wishes = [name(300), number(8, 0)];
        assert_eq!(fit(&wishes, None)[0].text, 300);
        assert!(fit(&[], Some(80)).is_empty());
    }

    #[test]
    fn a_monstrous_name_costs_no_time() {
        let fitted = fit(&[name(usize::MAX / 4), number(8, 100)], Some(100));
        assert_eq!(total(&fitted), 100);
    }
}
