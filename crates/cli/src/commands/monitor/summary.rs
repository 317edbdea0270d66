//! What a monitor shows: one line while it runs, a table when it is done.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use stepscope_ask::print::{Cell, Column as TableColumn, Columns, Screen, end_ellipsis, heading, note, units};
use stepscope_ground::utc::moment_text;
use stepscope_service::{AlertEvent, AlertState, Column, Totals, counter_label, counter_text};

use crate::failure::Failure;
use crate::terminal;

/// Counters that the summary shows, in this order; all are kept.
const SHOWN_COUNTERS: &[&str] = &[
    "process.cpu_percent",
    "process.rss_bytes",
    "process.count",
    "host.cpu_percent",
    "host.memory_used_bytes",
    "host.disk_read_bytes_per_s",
    "host.disk_write_bytes_per_s",
    "host.network_receive_bytes_per_s",
    "host.network_send_bytes_per_s",
    "host.cpu_energy_j",
    "gpu.utilization_percent",
    "gpu.memory_used_bytes",
    "gpu.power_w",
    "gpu.temperature_c",
    "gpu.sm_clock_mhz",
    "gpu.energy_j",
];
/// Alerts that the summary lists.
const MAX_LISTED: usize = 20;

/// The line that is drawn again and again.
pub(super) struct StatusLine {
    is_on: bool,
    is_drawn: bool,
}

impl StatusLine {
    /// Only a terminal has one.
    pub(super) fn new(wanted: bool) -> StatusLine {
        StatusLine { is_on: wanted && io::stderr().is_terminal(), is_drawn: false }
    }

    pub(super) fn clear(&mut self) {
        if std::mem::replace(&mut self.is_drawn, false) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }

    pub(super) fn draw(
        &mut self,
        columns: &[Column],
        values: &[Option<f64>],
        elapsed: Duration,
        firing: usize,
    ) {
        if !self.is_on {
            return;
        }
        let screen = terminal::detect(&io::stderr());
        let text = status(columns, values, elapsed, firing);
        let text = end_ellipsis(&screen.text(&text), screen.width.saturating_sub(1));
        let _ = write!(io::stderr(), "\r{text}\u{1b}[K");
        self.is_drawn = true;
    }
}

fn time(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        _ => units::time(i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX)),
    }
}

/// `65 s · CPU 12.0% · program 98.0%, 1.20 GiB · GPU 0 75.0%, 20.0 GiB, 350 W · 1 alert`.
fn status(columns: &[Column], values: &[Option<f64>], elapsed: Duration, firing: usize) -> String {
    let mut groups: BTreeMap<(u8, Option<u32>), Vec<String>> = BTreeMap::new();
    for (column, value) in columns.iter().zip(values) {
        let group = match column.name.as_str() {
            "host.cpu_percent" | "host.memory_used_bytes" => 0,
            "process.cpu_percent" | "process.rss_bytes" => 1,
            "gpu.utilization_percent" | "gpu.memory_used_bytes" | "gpu.power_w" => 2,
            _ => continue,
        };
        let shown = value.map(|value| counter_text(&column.unit, value));
        groups.entry((group, column.device)).or_default().extend(shown);
    }
    let mut parts = vec![time(elapsed)];
    for ((group, device), shown) in groups.into_iter().filter(|(_, shown)| !shown.is_empty()) {
        let name = match (group, device) {
            (0, _) => "machine".to_owned(),
            (1, _) => "program".to_owned(),
            (_, device) => format!("GPU {}", device.unwrap_or_default()),
        };
        parts.push(format!("{name} {}", shown.join(", ")));
    }
    match firing {
        0 => {}
        1 => parts.push("1 alert".to_owned()),
        many => parts.push(format!("{many} alerts")),
    }
    parts.push("Ctrl-C ends".to_owned());
    parts.join(" · ")
}
pub(super) struct MonitorTotals<'a> {
    pub(super) columns: &'a [Column],
    pub(super) totals: &'a [Option<Totals>],
    pub(super) elapsed: Duration,
    /// Processes that were too many.
    pub(super) left_out: usize,
    pub(super) fired: &'a [AlertEvent],
    pub(super) folder: &'a Path,
}

/// The table at the end.
pub(super) fn write(
    seen: &MonitorTotals<'_>,
    to: &impl IsTerminal,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let screen = terminal::detect(to);
    let of_name = |name: &'static str| {
        seen.columns.iter().zip(seen.totals).filter(move |(column, _)| column.name == name)
    };
    let rows = SHOWN_COUNTERS.iter().flat_map(|name| of_name(name));
    let rows = rows.filter_map(|(column, totals)| Some((column, totals.as_ref()?)));
    // What a count has grown by is known from two values on.
    let rows = rows.filter(|(column, totals)| !is_energy(column) || totals.samples > 1);
    let table = Columns::of(rows)
        .add(TableColumn::name("Counter"), |(column, _)| Cell::text(counter_label(&column.name, column.device)))
        .add(TableColumn::number("Mean"), |(column, totals)| match is_energy(column) {
            true => Cell::text(format!("{} in total", counter_text("J", totals.last - totals.first))),
            false => Cell::text(counter_text(&column.unit, totals.mean())),
        })
        .add(TableColumn::number("Max"), |(column, totals)| match is_energy(column) {
            true => Cell::nothing(),
            false => Cell::text(counter_text(&column.unit, totals.max)),
        })
        .table()
        .title("Monitor", format!("{}, kept in {}", time(seen.elapsed), seen.folder.display()))
        .when_empty("no counter had a value");
    table.write(out, &screen)?;
    if seen.left_out > 0 {
        note(out, &screen, &format!("{} processes were too many to be counted", seen.left_out))?;
    }
    if !seen.fired.is_empty() {
        alerts_on(seen.fired, &screen, out)?;
    }
    Ok(())
}

/// Energy is a count that grows: what was used meanwhile is its growth.
fn is_energy(column: &Column) -> bool {
    column.unit == "J"
}

pub(super) fn alerts(fired: &[AlertEvent], to: &impl IsTerminal, out: &mut dyn Write) -> Result<(), Failure> {
    Ok(alerts_on(fired, &terminal::detect(to), out)?)
}

fn alerts_on(fired: &[AlertEvent], screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    let began = fired.iter().filter(|event| event.state == AlertState::Firing).count();
    let subtitle = match began {
        0 => "none".to_owned(),
        1 => "1 fired".to_owned(),
        many => format!("{many} fired"),
    };
    writeln!(out)?;
    heading(out, screen, "Alerts", &subtitle)?;
    for event in fired.iter().take(MAX_LISTED) {
        let at = moment_text(event.at_ns);
        let at = at.split('.').next().unwrap_or(&at).replace('T', " ");
        writeln!(out, "  {at}  {:<6}  {}", event.state.word(), screen.text(&event.message))?;
    }
    if fired.len() > MAX_LISTED {
        note(out, screen, &format!("{} more are in alerts.jsonl", fired.len() - MAX_LISTED))?;
    }
    Ok(())
}
