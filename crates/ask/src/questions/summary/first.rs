//! The first screen: what was recorded, why it takes as long as it does, what to change, where the time goes and what
//! takes most of it, with a word for each in the left column.

use std::io::{self, Write};

use super::fix::Fix;
use super::head::Head;
use super::hot::HotSpots;
use super::remarks::Remarks;
use super::time::Time;
use super::top::Top;
use super::why::Why;
use crate::print::{self, LABEL_COLUMNS, Screen};

/// A screen of 100 columns shows everything in this many lines.
const MAX_LINES: usize = 40;
/// Lines longer than this are hard to read.
const MAX_LINE_COLUMNS: usize = 110;
pub(super) struct First {
    pub(super) head: Head,
    pub(super) why: Option<Why>,
    pub(super) fix: Option<Fix>,
    pub(super) time: Option<Time>,
    pub(super) top: Top,
    /// The functions of a program without operators, above its regions.
    pub(super) spots: Option<HotSpots>,
    pub(super) remarks: Remarks,
    /// How many commands to type next follow.
    pub(super) next: usize,
}

impl First {
    /// Everything above the tables, if there are any.
    pub(super) fn write(&self, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
        let inner = beside_labels(screen);
        let head = print::lines_of(|out| self.head.write(out, screen))?;
        let why = self.why.as_ref().map(|why| why.lines(&inner)).unwrap_or_default();
        let time = self.time.as_ref().map_or_else(|| Ok(Vec::new()), |time| time.lines(&inner))?;
        let top = match &self.spots {
            Some(spots) => {
                let mut lines = spots.function_lines(&inner)?;
                // The regions that the program names.
                let regions = self.top.lines(&inner)?;
                if !regions.is_empty() {
                    lines.push(String::new());
                    lines.extend(regions);
                }
                lines
            }
            None => self.top.lines(&inner)?,
        };
        let tall = |lines: usize| if lines == 0 { 0 } else { lines + 1 };
        // Commands have a line each, and one for the path where it is long.
        let others = [why.len(), time.len(), top.len(), self.remarks.lines(&inner).len(), self.next + 1];
        let used = head.len() + others.into_iter().map(tall).sum::<usize>();
        let room = MAX_LINES.saturating_sub(used + 1);
        let fix = self.fix.as_ref().map(|fix| fix.lines(&inner, room)).unwrap_or_default();
        head.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        for (label, lines) in [("WHY", why), ("FIX", fix), ("TIME", time), ("TOP", top)] {
            section(out, screen, label, &lines)?;
        }
        Ok(())
    }

    /// What is left to say, below everything else.
    pub(super) fn write_remarks(&self, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
        section(out, screen, "NOTE", &self.remarks.lines(&beside_labels(screen)))
    }
}

pub(super) fn section(out: &mut dyn Write, screen: &Screen, label: &str, lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    print::labelled(out, screen, label, lines)
}

/// The screen that is left beside the labels.
pub(super) fn beside_labels(screen: &Screen) -> Screen {
    Screen { width: screen.width.saturating_sub(LABEL_COLUMNS).clamp(20, MAX_LINE_COLUMNS), ..*screen }
}
