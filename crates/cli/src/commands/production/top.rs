//! `stepscope production top`: what each route of a service does right now.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use stepscope_ask::print::{Cell, Column, Columns, Role, Screen, Table, middle_ellipsis, sparkline, units};
use stepscope_record::clock::now_ns;
use stepscope_record::spy::{interrupted, notice_interrupts};
use stepscope_service::dashboard::{RouteRow, ServiceDashboard};
use stepscope_service::report::{change, rate};
use stepscope_service::{Hours, Period, ServiceDir, verdict};

use crate::args::ServiceTop;
use crate::commands::top::keys::{Key, Keys};
use crate::commands::top::screen;
use crate::failure::Failure;
use crate::format::{Format, emit};
use crate::terminal;

const REDRAW_PERIOD: Duration = Duration::from_secs(1);
const POLL_PERIOD: Duration = Duration::from_millis(100);
/// Points of the small chart in each row.
const CHART_COLUMNS: usize = 20;
/// A terminal that does not say how high it is.
const USUAL_HEIGHT: usize = 24;

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum SortBy {
    #[default]
    P95,
    Requests,
    Errors,
    Time,
}

impl SortBy {
    fn next(self) -> Self {
        match self {
            Self::P95 => Self::Requests,
            Self::Requests => Self::Errors,
            Self::Errors => Self::Time,
            Self::Time => Self::P95,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::P95 => "p95",
            Self::Requests => "requests",
            Self::Errors => "errors",
            Self::Time => "total time",
        }
    }
}

pub(super) fn run(args: &ServiceTop, out: &mut dyn Write) -> Result<(), Failure> {
    let hours = Hours::new(ServiceDir::open(&args.directory)?);
    let live = !args.once && io::stdout().is_terminal() && io::stdin().is_terminal();
    if live {
        return watch(args, &hours, out);
    }
    let now = dashboard_now(args, &hours)?;
    let screen = terminal::detect(&io::stdout());
    if args.format == Format::Table {
        verdict::text(&now.verdict, out, &screen)?;
        writeln!(out)?;
    }
    let table = table(&now, &args.last, SortBy::default(), &screen, usize::MAX);
    Ok(emit(out, &screen, args.format, &table, &sorted(&now, SortBy::default()))?)
}

fn dashboard_now(args: &ServiceTop, hours: &Hours) -> Result<ServiceDashboard, Failure> {
    let period = Period::parse(&args.last, now_ns())?;
    Ok(ServiceDashboard::make(hours, period, None)?)
}

fn watch(args: &ServiceTop, hours: &Hours, out: &mut dyn Write) -> Result<(), Failure> {
    // What is wrong with the directory is said before the screen changes.
    let mut now = dashboard_now(args, hours)?;
    notice_interrupts();
    let keys = Keys::listen()?;
    screen::begin(out)?;
    let mut sort = SortBy::default();
    let ended = loop {
        if let Err(error) = draw(&now, &args.last, sort, out) {
            break Err(Failure::from(error));
        }
        let drawn = Instant::now();
        let pressed = loop {
            match keys.pressed.recv_timeout(POLL_PERIOD) {
                Ok(key) => break Some(key),
                Err(RecvTimeoutError::Disconnected) => break Some(Key::End),
                Err(RecvTimeoutError::Timeout) if interrupted() => break Some(Key::End),
                Err(RecvTimeoutError::Timeout) if drawn.elapsed() >= REDRAW_PERIOD => break None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        match pressed {
            Some(Key::Char('q') | Key::End) => break Ok(()),
            Some(Key::Char('s')) => sort = sort.next(),
            Some(_) => {}
            None => match dashboard_now(args, hours) {
                Ok(fresh) => now = fresh,
                Err(error) => break Err(error),
            },
        }
    };
    screen::end(out)?;
    ended
}

fn draw(now: &ServiceDashboard, last: &str, sort: SortBy, out: &mut dyn Write) -> io::Result<()> {
    let screen = terminal::detect(&io::stdout());
    let height = terminal_size::terminal_size().map_or(USUAL_HEIGHT, |(_, height)| usize::from(height.0));
    let mut text = Vec::new();
    verdict::text(&now.verdict, &mut text, &screen)?;
    writeln!(text)?;
    let above = text.iter().filter(|byte| **byte == b'\n').count();
    // Title, head, line and the help below take five lines.
    table(now, last, sort, &screen, height.saturating_sub(7 + above).max(1)).write(&mut text, &screen)?;
    let text = String::from_utf8_lossy(&text);
    write!(out, "\u{1b}[H")?;
    for line in text.lines().take(height.saturating_sub(2)) {
        write!(out, "{line}\u{1b}[K\r\n")?;
    }
    let help = format!("s sorts by: {} · q quits", sort.words());
    write!(out, "\u{1b}[J\u{1b}[{height};1H{}\u{1b}[K", screen.paint(Role::Dim, &help))?;
    out.flush()
}

fn sorted(now: &ServiceDashboard, sort: SortBy) -> Vec<&RouteRow> {
    let mut rows: Vec<&RouteRow> = now.routes.iter().collect();
    rows.sort_by(|a, b| {
        let by = match sort {
            SortBy::P95 => b.now.p95_ns.cmp(&a.now.p95_ns),
            SortBy::Requests => b.now.requests.cmp(&a.now.requests),
            SortBy::Errors => b.now.error_rate.total_cmp(&a.now.error_rate),
            SortBy::Time => b.time_share.total_cmp(&a.time_share),
        };
        by.then_with(|| a.route.cmp(&b.route))
    });
    rows
}

/// What is true of all routes together.
fn facts(now: &ServiceDashboard) -> Vec<String> {
    let total = &now.total;
    vec![
        rate(total.per_second, now.counted_seconds),
        format!("{} failed", units::percent(total.error_rate)),
        format!("p95 {}", units::time(total.p95_ns as i64)),
        match now.processes {
            1 => "1 process".to_owned(),
            more => format!("{} processes", units::count(more)),
        },
    ]
}

fn table(now: &ServiceDashboard, last: &str, sort: SortBy, screen: &Screen, most: usize) -> Table {
    let total = &now.total;
    let missed = now.targets.iter().filter(|target| !target.target.kept).count();
    let mut facts = match total.requests {
        0 => Vec::new(),
        _ => facts(now),
    };
    if !now.targets.is_empty() {
        facts.push(match missed {
            0 => "all targets kept".to_owned(),
            1 => "1 target missed".to_owned(),
            more => format!("{more} targets missed"),
        });
    }
    let misses = |route: &str| now.targets.iter().any(|t| t.target.route == route && !t.target.kept);
    let chart_screen = Screen { palette: screen.palette, ..Screen::plain(CHART_COLUMNS) };
    let rows = sorted(now, sort);
    let mut table = Columns::of(rows.iter().copied().take(most))
        .add(Column::name("Route").flexible(12, middle_ellipsis), |r| {
            let name = Cell::text(&r.route);
            if misses(&r.route) { name.role(Role::Bad) } else { name }
        })
        .add(Column::number("Per second"), |r| Cell::text(units::rate(r.now.per_second)))
        .add(Column::number("Errors"), |r| {
            let errors = Cell::percent(r.now.error_rate);
            if r.now.errors > 0 { errors.role(Role::Warn) } else { errors }
        })
        .add(Column::number("p50"), |r| Cell::time(r.now.p50_ns as i64))
        .add(Column::number("p95").keep(), |r| Cell::time(r.now.p95_ns as i64))
        .add(Column::number("Change"), |r| change(r.before.as_ref().map(|before| before.p95_ns), r.now.p95_ns))
        .add(Column::number("p99").priority(60), |r| Cell::time(r.now.p99_ns as i64))
        .add(Column::text("p95 over time").priority(50), |r| {
            let chart: Vec<i64> = r.p95_ns.iter().map(|ns| ns.unwrap_or(0) as i64).collect();
            Cell::text(sparkline(&chart_screen, &chart, CHART_COLUMNS))
        })
        .add(Column::text("What grew").priority(40), |r| {
            Cell::maybe(r.grew.as_ref(), |grew| {
                let more = grew.after_ns.saturating_sub(grew.before_ns) as i64;
                Cell::text(format!("{} {}", grew.region, units::delta_time(more)))
            })
        })
        .table()
        .title(format!("{}, last {last}", now.name), facts.join(" · "))
        .when_empty("no requests yet");
    if rows.len() > most {
        table.note(format!("{} more routes", rows.len() - most));
    }
    table
}
