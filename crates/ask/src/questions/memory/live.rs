//! What a snapshot shows as in use at one moment.

use std::sync::Arc;

use stepscope_analyse::memory::history::{History, largest};
use stepscope_analyse::memory::live_at::{By, LiveRow, Moment, live_at};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;
use stepscope_model::{Ns, Snapshot};

use super::super::DEFAULT_TOP;
use super::QUESTION;
use super::of_snapshot::name;
use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::options::AtMoment;
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

/// Groupings that only snapshots have.
pub(super) const GROUPS: [&str; 4] = ["line", "module", "size", "category"];
const NONE: &str = "nothing was in use then";
const NO_SNAPSHOT: &str = "not a memory snapshot (torch.cuda.memory._dump_snapshot() writes those); here --by \
                           takes op, event, peak and stack";

/// Of a trace.
pub(super) fn nothing() -> Answer {
    Answer::new(vec![Part::new("live", Vec::<LiveRow>::new(), |rows| {
        let mut table = live_table(rows, "Name", false).title("What was in use", "");
        table.note(NO_SNAPSHOT.to_owned());
        table
    })])
}

pub(super) fn answer(
    ask: &Ask,
    run: &Arc<Run>,
    snapshot: &Snapshot,
    histories: &[History],
) -> Result<Answer, Problem> {
    ask.refuse(&["lines", "step", "from", "to"], "what was in use at one moment", "leave the option out")?;
    let (by, heading, about) = match ask.by {
        None | Some("line") => (By::Line, "Line", "by line"),
        Some("stack") => (By::Stack(ask.frames), "Stack", "by stack"),
        Some("module") => (By::Module, "Module", "by the innermost forward of a module"),
        Some("size") => (By::Size, "Asked for", "by size of the request"),
        Some("category") => (By::Category, "Category", "by what it was for, guessed from stacks"),
        Some(_) => {
            let hint = "--by takes line, stack, module, size and category here";
            return Err(Problem::new("what was in use at one moment is not grouped like this", hint));
        }
    };
    let moment = match ask.at.unwrap_or(AtMoment::Peak) {
        AtMoment::Peak => Moment::Peak,
        AtMoment::End => Moment::End,
        AtMoment::After(ns) => Moment::After(Ns(ns)),
    };
    let of_device: Vec<&History> =
        histories.iter().filter(|history| ask.device.is_none_or(|asked| asked == history.device)).collect();
    let at = largest(of_device.iter().copied()).and_then(|history| moment.at(history));
    let when = match moment {
        Moment::Peak => "at the peak".to_owned(),
        Moment::End => "at the end".to_owned(),
        Moment::After(after) => format!("{} after the first entry", units::time(after.0)),
    };
    let rows: Vec<LiveRow> =
        of_device.iter().flat_map(|history| live_at(snapshot, history, run.places(), moment, by)).collect();
    let several = of_device.len() > 1;
    let words = format!("{when}, {about}");
    let rows = arrange(rows, &ask.rows, Some("live_bytes_then"), DEFAULT_TOP, |row: &LiveRow| &row.name)?;
    let part = rows.into_part("live", NONE, move |rows| {
        live_table(rows, heading, several).title("What was in use", &words)
    });
    Ok(Answer::new(vec![part]).fact("moment_ns", &at.map(|at| at.0)))
}

fn live_table(rows: &[LiveRow], heading: &'static str, several: bool) -> Table {
    let size = |bytes: u64| Cell::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("live_bytes_then", KEEP, |r| size(r.live_bytes_then))
        .metric("live_share", 120, |r| Cell::share(r.live_share).role(Role::Device))
        .metric("live_count_then", 90, |r| Cell::count(r.live_count_then))
        .metric("requested_bytes", 80, |r| size(r.requested_bytes))
        .add_if(several, Column::text("Allocator").priority(110), |r| Cell::text(name(r.device)))
        .add(Column::name(heading).flexible(24, print::middle_ellipsis), |r| Cell::text(&r.name))
        .table()
}
