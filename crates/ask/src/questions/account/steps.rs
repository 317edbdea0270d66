//! The account step by step.

use stepscope_analyse::causes::account::{Account, AccountRow};
use stepscope_analyse::causes::cause::{ByCause, Cause};
use stepscope_analyse::threads::activity::Activity;
use stepscope_ground::Problem;
use stepscope_model::Order;

use super::super::gpu_name;
use super::super::ops::ratio;
use super::QUESTION;
use crate::answer::Part;
use crate::ask::Ask;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

/// Causes with less than this share of the time have no column of their own.
const MIN_COLUMN_SHARE: f64 = 0.01;

/// Rows that are made however many devices and steps there are; beyond, only as many as there are devices and steps,
/// times this.
const MAX_ROWS: usize = 10_000;
const ROWS_EACH: usize = 8;

/// The rows, and what to say where some were left out.
pub(super) fn part(report: &Account, ask: &Ask, asked: bool) -> Result<(Part, Option<String>), Problem> {
    let wanted = ask.rows_if(asked);
    let all = report.row_count();
    let most = MAX_ROWS.max((report.devices.len() + report.step_count()) * ROWS_EACH);
    let most = wanted.top.unwrap_or(0).max(most);
    let listed: Vec<AccountRow> = match all <= most {
        // The order is that of the file unless asked for, so that nothing behind the cut is needed.
        true if wanted.sort.is_none() && wanted.top.is_some_and(|top| top > 0) => {
            report.rows().take(wanted.top.unwrap_or(all)).collect()
        }
        true => report.rows().collect(),
        false => report.rows_with_work().take(most).collect(),
    };
    let mut rows = arrange(listed, &wanted, None, 0, |_| "")?;
    let left_out = (all > most).then(|| {
        format!(
            "{} of {} rows: with this many GPUs and steps, only steps in which the GPU ran something are listed, and \
             at most {} of them; use `--device` and `--step` to choose others",
            units::count(rows.rows.len() as u64),
            units::count(all as u64),
            units::count(most as u64),
        )
    });
    if left_out.is_none() {
        (rows.matched, rows.all) = (all, all);
    }
    Ok((rows.into_part("steps", "nothing recorded", table), left_out))
}

fn table(rows: &[AccountRow]) -> Table {
    let mut sums = ByCause::default();
    rows.iter().for_each(|row| Cause::all().for_each(|cause| sums.add(cause, row.causes.get(cause))));
    let sized = sums.by_size();
    let large: Vec<Cause> = {
        let mut large = sized
            .iter()
            .filter(|c| ratio(c.1, sums.total()) >= MIN_COLUMN_SHARE)
            .map(|c| c.0)
            .collect::<Vec<_>>();
        large.order_by_key(|cause| !cause.is_busy());
        large
    };
    // What takes more time stays longer on a narrow screen.
    let column = |cause: Cause| {
        let rank = sized.iter().position(|c| c.0 == cause).unwrap_or(0);
        Column::number(header(cause)).priority(200u8.saturating_sub(rank as u8 * 5))
    };
    let rest = |row: &AccountRow| {
        let shown = large.iter().map(|&cause| row.causes.get(cause)).fold(0, i64::saturating_add);
        row.causes.total().saturating_sub(shown)
    };
    let several = rows.iter().any(|r| r.device != rows[0].device);
    let on_device = rows.iter().any(|r| r.device.is_some());
    let words = match on_device {
        true => "the columns after Idle add up to the wall time; `--explain` says what they mean",
        false => "the columns after Wall add up to it; `--explain` says what they mean",
    };
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Step").keep(), |r| Cell::text(name(r)))
        .add_if(several, Column::text("GPU").keep(), |r| Cell::text(gpu_name(r.device)))
        .metric("wall_ns", KEEP, |r| Cell::time(r.wall_ns))
        .add_if(on_device, Column::number("Busy").priority(240), |r| {
            Cell::share(ratio(r.causes.busy(), r.wall_ns)).role(Role::Device)
        })
        .add_if(on_device, Column::number("Idle").priority(235), |r| Cell::time(r.causes.idle()))
        .add_each(large.iter().copied(), column, |cause, r| Cell::time(r.causes.get(cause)))
        .add(Column::number("Rest").priority(50), |r| Cell::time(rest(r)))
        .table()
        .title("Step by step", words)
}

fn name(row: &AccountRow) -> String {
    let name = if row.step >= 0 { row.step.to_string() } else { "all".to_owned() };
    if row.partial { format!("{name} (left out)") } else { name }
}

/// A cause in a word, for the head of a column.
fn header(cause: Cause) -> &'static str {
    match cause {
        Cause::Kernel => "Kernels",
        Cause::Communication => "Comm",
        Cause::Copy => "Copies",
        Cause::Fill => "Memsets",
        Cause::Host(Activity::DataLoading) => "Loading",
        Cause::Host(Activity::Operator) => "Operators",
        Cause::Host(Activity::Python) => "Python",
        Cause::Host(Activity::Launch) => "Launch calls",
        Cause::Host(Activity::Synchronization) => "After waits",
        Cause::Host(Activity::Allocation) => "Allocation",
        Cause::Host(Activity::Runtime) => "Runtime",
        Cause::Host(Activity::Communication) => "Host comm",
        Cause::Host(Activity::Compilation) => "Compilation",
        Cause::Host(Activity::FirstUse) => "First use",
        Cause::Host(Activity::GarbageCollection) => "Garbage",
        Cause::Host(Activity::Profiler) => "Profiler",
        Cause::Host(Activity::DeviceUnrecorded) => "Unknown",
        Cause::Host(Activity::Unrecorded) => "Unrecorded",
        Cause::LaunchLatency => "Latency",
        Cause::QueuedGap => "Queued",
        Cause::Dependency => "Streams",
        Cause::Unlinked => "Unlinked",
    }
}
