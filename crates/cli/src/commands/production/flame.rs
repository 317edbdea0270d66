//! `stepscope production flame`: where the time of an hour went, and what another hour spent more of it on.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::slice;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::functions::{FunctionRow, functions};
use stepscope_ask::print::{Cell, Column, Columns, Role, middle_ellipsis, units};
use stepscope_ask::{Ask, answer, write as write_answer};
use stepscope_formats::{SvgOptions, write_pprof, write_speedscope, write_svg};
use stepscope_ground::utc::{minute_text, now_ns};
use stepscope_model::{Document, Frame, LineIs, Profile, Sample, StackId, StackTable, ValueKind, ValueUnit};
use stepscope_serve::report;
use stepscope_service::{Period, StackFrame, Stacks, stack_hours, stacks};

use crate::args::Flame;
use crate::commands::export::{made, report_options};
use crate::commands::whole_file::write_whole;
use crate::failure::Failure;
use crate::input::remark;
use crate::terminal;

/// Which of a profile's values is the time, and which the time that it is compared with.
const TIME_VALUE: usize = 1;
const BEFORE_VALUE: usize = 2;
/// The largest page.
const MAX_PAGE: usize = 20_000_000;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Svg,
    Folded,
    Pprof,
    Speedscope,
}

impl Kind {
    fn from_path(path: &Path) -> Result<Kind, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        match () {
            () if ends(&[".html", ".htm"]) => Ok(Kind::Html),
            () if ends(&[".svg"]) => Ok(Kind::Svg),
            () if ends(&[".speedscope.json", ".speedscope"]) => Ok(Kind::Speedscope),
            () if ends(&[".folded", ".collapsed", ".txt"]) || name == "folded" => Ok(Kind::Folded),
            () if ends(&[".pprof", ".pb"]) || name == "pprof" => Ok(Kind::Pprof),
            () => Err(Failure::wrong_use(
                format!("the name does not say what to write: {}", path.display()),
                "end it in .html, .svg, .folded, .pprof or .speedscope.json",
            )),
        }
    }
}

pub(super) fn run(args: &Flame, out: &mut dyn Write) -> Result<(), Failure> {
    let kind = args.output.as_deref().map(Kind::from_path).transpose()?;
    let now = now_ns();
    let period = Period::parse(args.hour.as_deref().unwrap_or(&args.last), now)?;
    let (found, name) = read(&args.directory, period)?;
    let before = match &args.against {
        Some(text) => Some(read(&args.directory, Period::parse(text, now)?)?),
        None => None,
    };
    let title = match &before {
        Some((_, before)) => format!("{name} against {before}"),
        None => name.clone(),
    };
    let compared = before.as_ref().map(|(stacks, _)| stacks);
    if let (Some(path), Some(kind)) = (&args.output, kind) {
        if compared.is_some() && matches!(kind, Kind::Pprof | Kind::Speedscope) {
            return Err(Failure::wrong_use(
                "this format holds one profile, not a comparison",
                "write each hour to a file of its own (go tool pprof -diff_base compares them), or write .svg or .html",
            ));
        }
        write_whole(path, |file| {
            let mut file = BufWriter::with_capacity(1 << 18, file);
            if path.extension().is_some_and(|end| end == "gz") {
                let mut gz = GzEncoder::new(&mut file, Compression::new(6));
                write(kind, &found, compared, &title, &mut gz)?;
                gz.finish()?;
            } else {
                write(kind, &found, compared, &title, &mut file)?;
            }
            Ok(file.flush()?)
        })?;
        remark(&format!("{title}: {} samples, in {}", units::count(found.samples()), path.display()));
        return Ok(());
    }
    match &before {
        Some((before, _)) => difference(&found, before, &title, args.top, out),
        None => table(&found, &title, args.top, out),
    }
}

fn read(folder: &Path, period: Period) -> Result<(Stacks, String), Failure> {
    let found = stacks(folder, period)?;
    found.notes.iter().for_each(|note| remark(note));
    let hour = |hour: i64| minute_text(hour * 60).trim_end_matches(":00Z").to_owned();
    let (Some(first), Some(last)) = (found.hours.first(), found.hours.last()) else {
        let known = stack_hours(folder)?;
        let hint = match (known.first(), known.last()) {
            (Some(first), Some(last)) if first == last => format!("there are some of --hour {}", hour(*last)),
            (Some(first), Some(last)) => {
                format!("there are some from --hour {} to --hour {}", hour(*first), hour(*last))
            }
            _ => "`stepscope monitor --sample --pid PID -o DIR` counts them".to_owned(),
        };
        return Err(Failure::wrong_use(format!("no stacks of this time in {}", folder.display()), hint));
    };
    let name = if first == last { hour(*first) } else { format!("{} to {}", hour(*first), hour(*last)) };
    Ok((found, name))
}

/// Stacks as a profile: samples and time, and the time of those they are compared with.
fn profile(found: &Stacks, before: Option<&Stacks>, title: &str) -> Profile {
    let value = |name: &str, unit| ValueKind { name: name.to_owned(), unit };
    let mut values = vec![value("samples", ValueUnit::Plain), value("time", ValueUnit::Nanoseconds)];
    if before.is_some() {
        values.push(value("before", ValueUnit::Nanoseconds));
    }
    let mut profile = Profile::new(values);
    profile.name = title.to_owned();
    profile.source.path = title.to_owned();
    profile.line_is = LineIs::Start;
    let amount = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
    for stack in &found.stacks {
        let id = placed(&mut profile.stacks, &stack.frames);
        profile.add(Sample::new(
            0,
            id,
            &[amount(stack.samples), amount(stack.ns), 0][..profile_values(before)],
        ));
    }
    for stack in before.iter().flat_map(|before| &before.stacks) {
        let id = placed(&mut profile.stacks, &stack.frames);
        profile.add(Sample::new(0, id, &[0, 0, amount(stack.ns)]));
    }
    profile
}

fn profile_values(before: Option<&Stacks>) -> usize {
    if before.is_some() { BEFORE_VALUE + 1 } else { BEFORE_VALUE }
}

fn placed(stacks: &mut StackTable, frames: &[StackFrame]) -> StackId {
    frames.iter().fold(StackId::EMPTY, |stack, frame| {
        let (name, file) = (stacks.intern(&frame.name), stacks.intern(&frame.file));
        let frame = stacks.frame(Frame { name, file, line: frame.line });
        stacks.push(stack, frame)
    })
}

fn write(
    kind: Kind,
    found: &Stacks,
    before: Option<&Stacks>,
    title: &str,
    mut out: &mut dyn Write,
) -> Result<(), Failure> {
    let profile = profile(found, before, title);
    let svg = |mut out: &mut dyn Write| {
        let options = SvgOptions {
            title: title.to_owned(),
            before: before.map(|_| BEFORE_VALUE),
            ..SvgOptions::default()
        };
        write_svg(&profile, TIME_VALUE, &options, &mut out)
    };
    match kind {
        Kind::Folded => folded(found, before, out)?,
        Kind::Svg => svg(out)?,
        Kind::Html if before.is_some() => {
            let name = title.replace(['&', '<', '>'], " ");
            writeln!(out, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{name}</title>")?;
            writeln!(out, "<body style=\"margin:0\">")?;
            svg(out)?;
            writeln!(out, "</body></html>")?;
        }
        Kind::Html => {
            let run = Arc::new(Run::from_document(Document::Profile(profile)));
            let report = made(report(run, &report_options(title.to_owned(), MAX_PAGE, false)?))?;
            out.write_all(&report.html)?;
        }
        Kind::Pprof => write_pprof(&profile, &mut out)?,
        Kind::Speedscope => write_speedscope(&profile, &mut out)?,
    }
    Ok(())
}

/// `outer (file:1);inner (file:2) 12`; of a comparison the samples before and after, as difffolded.pl writes them.
fn folded(found: &Stacks, before: Option<&Stacks>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (at, stacks) in [before, Some(found)].into_iter().enumerate() {
        for stack in stacks.iter().flat_map(|stacks| &stacks.stacks) {
            let frames: Vec<String> = stack.frames.iter().map(frame_text).collect();
            lines.entry(frames.join(";")).or_default()[at] += stack.samples;
        }
    }
    for (stack, [first, second]) in lines {
        match before {
            Some(_) => writeln!(out, "{stack} {first} {second}")?,
            None => writeln!(out, "{stack} {second}")?,
        }
    }
    Ok(())
}

fn frame_text(frame: &StackFrame) -> String {
    let text = match (frame.file.is_empty(), frame.line) {
        (true, _) => frame.name.clone(),
        (false, 0) => format!("{} ({})", frame.name, frame.file),
        (false, line) => format!("{} ({}:{line})", frame.name, frame.file),
    };
    text.replace([';', '\n'], ",")
}

/// The functions of an hour, as of any other profile.
fn table(found: &Stacks, title: &str, top: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let run = Arc::new(Run::from_document(Document::Profile(profile(found, None, title))));
    let top = top.to_string();
    let answer = answer(&Ask::with("functions", [("top", top.as_str())])?, slice::from_ref(&run))?;
    Ok(write_answer::screen(out, &answer, &terminal::detect(&io::stdout()), false)?)
}

/// Functions whose share of the time has changed, the largest change first.
fn difference(
    found: &Stacks,
    before: &Stacks,
    title: &str,
    top: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut rows: BTreeMap<(String, String), [f64; 4]> = BTreeMap::new();
    for (at, stacks) in [before, found].into_iter().enumerate() {
        let rows_of = functions(&profile(stacks, None, title), TIME_VALUE).rows;
        for row in rows_of.iter().filter(|row: &&FunctionRow| row.total_share > 0.0) {
            let known = rows.entry((row.name.clone(), row.place())).or_default();
            (known[at], known[2 + at]) = (row.self_share, row.total_share);
        }
    }
    let mut rows: Vec<((String, String), [f64; 4])> = rows.into_iter().collect();
    let change = |row: &[f64; 4]| row[1] - row[0];
    rows.sort_by(|a, b| change(&b.1).abs().total_cmp(&change(&a.1).abs()).then_with(|| a.0.cmp(&b.0)));
    let points = |by: f64| {
        let shown = Cell::text(format!("{:+.1}", by * 100.0));
        match by {
            by if by.abs() < 0.0005 => shown,
            by => shown.role(if by > 0.0 { Role::Warn } else { Role::Good }),
        }
    };
    let table = Columns::of(rows.iter().take(if top == 0 { usize::MAX } else { top }))
        .add(Column::name("Function").flexible(20, middle_ellipsis), |((name, _), _)| Cell::text(name))
        .add(Column::number("Own before"), |(_, shares)| Cell::percent(shares[0]))
        .add(Column::number("Own after"), |(_, shares)| Cell::percent(shares[1]))
        .add(Column::number("Change (points)"), |(_, shares)| points(change(shares)))
        .add(Column::number("Total before"), |(_, shares)| Cell::percent(shares[2]))
        .add(Column::number("Total after"), |(_, shares)| Cell::percent(shares[3]))
        .add(Column::text("Place").flexible(12, middle_ellipsis), |((_, place), _)| Cell::text(place))
        .table()
        .title(title, "shares of the time in which Python ran, by what changed most")
        .when_empty("no functions");
    Ok(table.write(out, &terminal::detect(&io::stdout()))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_service::CountedStack;

    fn found(stacks: &[(&str, u64)]) -> Stacks {
        let frame = |name: &str| StackFrame { name: name.to_owned(), file: "a.py".to_owned(), line: 1 };
        let stack = |(text, samples): &(&str, u64)| CountedStack {
            frames: text.split(';').map(frame).collect(),
            samples: *samples,
            ns: samples * 50_000_000,
        };
        Stacks { stacks: stacks.iter().map(stack).collect(), hours: vec![1], notes: Vec::new() }
    }

    #[test]
    fn two_hours_are_one_profile_with_two_times() {
        let (after, before) = (found(&[("main;new", 3), ("main", 1)]), found(&[("main;old", 2), ("main", 2)]));
        let made = profile(&after, Some(&before), "t");
        assert_eq!([0, TIME_VALUE, BEFORE_VALUE].map(|value| made.total(value)), [4, 200_000_000, 200_000_000]);
        let mut text = Vec::new();
        folded(&after, Some(&before), &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "main (a.py:1) 2 1\nmain (a.py:1);new (a.py:1) 0 3\nmain (a.py:1);old (a.py:1) 2 0\n"
        );
        let mut text = Vec::new();
        difference(&after, &before, "t", 20, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(line("new").contains("+75.0") && line("old").contains("-50.0"), "{text}");
        let mut svg = Vec::new();
        write(Kind::Svg, &after, Some(&before), "t", &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.contains("class=\"up3\"") && svg.contains("(0.00% before)"), "{svg}");
    }

    #[test]
    fn a_frame_cannot_break_a_line() {
        let frame = StackFrame { name: "a;b\nc".to_owned(), file: String::new(), line: 0 };
        assert_eq!(frame_text(&frame), "a,b,c");
    }
}
