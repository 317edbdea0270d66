//! The text of the file.

use std::fmt::Write as _;
use std::io::{self, Write};

use stepscope_ground::markup::escaped;
use stepscope_model::{Profile, ValueUnit};

use super::layout::{BarKind, Layout};
use super::{Bar, SvgOptions};

/// Height of a bar, and of the lines above and below the picture.
const ROW_PX: usize = 18;
const HEAD_PX: usize = 44;
const FOOT_PX: usize = 30;
/// Widest picture where nothing says how wide the window is.
const WIDTH_PX: usize = 1200;
/// Width of a letter: the font has one for all.
const LETTER_PX: f64 = 6.7;

/// What the script does: places bars, zooms, searches.
const SCRIPT: &str = include_str!("flame.js");
const STYLE: &str = include_str!("flame.css");

pub(super) fn write(
    profile: &Profile,
    layout: &Layout,
    unit: ValueUnit,
    options: &SvgOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let height = HEAD_PX + (layout.depth + 1) * ROW_PX + FOOT_PX;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"flame\" width=\"100%\" height=\"{height}\" \
         data-letter=\"{LETTER_PX}\">"
    )?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>")?;
    let title = if options.title.is_empty() { "Flame graph" } else { &options.title };
    writeln!(out, "<text class=\"title\" x=\"12\" y=\"20\">{}</text>", escaped(title))?;
    let mut words = amount(layout.total, unit);
    if layout.left_out > 0 {
        let _ = write!(words, "; {} smaller frames are not drawn", layout.left_out);
    }
    if options.before.is_some() {
        words.push_str("; red: a larger share than before, blue: a smaller one");
    }
    writeln!(out, "<text class=\"words\" x=\"12\" y=\"37\">{}</text>", escaped(&words))?;
    writeln!(out, "<text id=\"search\" class=\"button\" x=\"100%\" dx=\"-12\" y=\"20\">Search</text>")?;
    writeln!(
        out,
        "<text id=\"reset\" class=\"button\" x=\"100%\" dx=\"-12\" y=\"37\" visibility=\"hidden\">Reset zoom</text>"
    )?;
    writeln!(
        out,
        "<svg id=\"bars\" x=\"12\" y=\"{HEAD_PX}\" width=\"100%\" height=\"{}\">",
        (layout.depth + 1) * ROW_PX
    )?;
    for bar in &layout.bars {
        draw(profile, layout, unit, bar, options.before.is_some(), out)?;
    }
    writeln!(out, "</svg>")?;
    let foot = height - 10;
    writeln!(out, "<text id=\"details\" class=\"words\" x=\"12\" y=\"{foot}\"> </text>")?;
    writeln!(out, "<text id=\"found\" class=\"button\" x=\"100%\" dx=\"-12\" y=\"{foot}\"> </text>")?;
    writeln!(out, "<script>//<![CDATA[\n{SCRIPT}//]]></script>")?;
    writeln!(out, "</svg>")
}

fn draw(
    profile: &Profile,
    layout: &Layout,
    unit: ValueUnit,
    bar: &Bar,
    compared: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let of = |amount: u64| amount as f64 / layout.total.max(1) as f64;
    let (start, share) = (of(bar.start), of(bar.amount));
    let (name, place, mut class) = described(profile, bar.what);
    let whole = if place.is_empty() { name.clone() } else { format!("{name} ({place})") };
    let mut title = format!("{whole}: {}, {:.2}%", amount(bar.amount, unit), share * 100.0);
    if compared {
        let before = bar.before as f64 / layout.before.max(1) as f64;
        let _ = write!(title, " ({:.2}% before)", before * 100.0);
        class = changed(share - before).to_owned();
    }
    let y = bar.depth * ROW_PX;
    // What fits while no one has placed it: the script knows the real width.
    let room = ((share * WIDTH_PX as f64 - 6.0) / LETTER_PX).max(0.0) as usize;
    writeln!(
        out,
        "<g class=\"{class}\" data-x=\"{start:.9}\" data-w=\"{share:.9}\" data-n=\"{}\"><title>{}</title>\
         <rect x=\"{:.4}%\" y=\"{y}\" width=\"{:.4}%\" height=\"{}\" rx=\"2\"/>\
         <text x=\"{:.4}%\" dx=\"4\" y=\"{}\">{}</text></g>",
        escaped(&name),
        escaped(&title),
        start * 100.0,
        share * 100.0,
        ROW_PX - 1,
        start * 100.0,
        y + 13,
        escaped(&shortened(&name, room)),
    )
}

/// The class of a bar whose share has changed by this much.
fn changed(by: f64) -> &'static str {
    match by {
        by if by >= 0.1 => "up3",
        by if by >= 0.02 => "up2",
        by if by >= 0.002 => "up1",
        by if by > -0.002 => "same",
        by if by > -0.02 => "down1",
        by if by > -0.1 => "down2",
        _ => "down3",
    }
}

/// A bar's name, its place and its color's class.
fn described(profile: &Profile, what: BarKind) -> (String, String, String) {
    match what {
        BarKind::All => ("all".to_owned(), String::new(), "all".to_owned()),
        BarKind::Part(part) => {
            let name = profile.parts.get(part).map_or("", String::as_str);
            (
                if name.is_empty() { "(no thread)".to_owned() } else { name.to_owned() },
                String::new(),
                "all".to_owned(),
            )
        }
        BarKind::Frame(id) => {
            let frame = profile.stacks.get(id);
            let (name, file) = (profile.stacks.text(frame.name), profile.stacks.text(frame.file));
            let class = format!("{} s{}", kind(name, file), shade(name));
            (name.to_owned(), file.to_owned(), class)
        }
    }
}

/// Whose code it is: the program's, a library's, not Python's, or no one's while a thread waits.
fn kind(name: &str, file: &str) -> &'static str {
    let library = ["site-packages", "dist-packages", "lib/python", "<frozen"];
    if name == "(waiting)" {
        "idle"
    } else if file.is_empty() {
        "native"
    } else if library.iter().any(|part| file.contains(part)) {
        "library"
    } else {
        "own"
    }
}

/// One of four shades, the same for a name wherever it is.
fn shade(name: &str) -> u32 {
    name.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())) % 4
}

/// An amount in three digits with its unit.
fn amount(amount: u64, unit: ValueUnit) -> String {
    let scaled = |names: &[(&str, f64)]| {
        let value = amount as f64;
        let (name, size) = names.iter().rev().find(|(_, size)| value >= *size).unwrap_or(&names[0]);
        let number = value / size;
        let decimals = if *size == 1.0 || number >= 100.0 {
            0
        } else if number >= 10.0 {
            1
        } else {
            2
        };
        format!("{number:.decimals$} {name}")
    };
    match unit {
        ValueUnit::Nanoseconds => scaled(&[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]),
        ValueUnit::Bytes => {
            scaled(&[("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0)])
        }
        ValueUnit::Plain if amount == 1 => "1 sample".to_owned(),
        ValueUnit::Plain => format!("{amount} samples"),
    }
}

fn shortened(text: &str, letters: usize) -> String {
    match text.chars().count() <= letters {
        true => text.to_owned(),
        false if letters < 3 => String::new(),
        false => text.chars().take(letters - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short() {
        assert_eq!(shortened("forward", 7), "forward");
        assert_eq!(shortened("forward", 4), "for…");
        assert_eq!(shortened("forward", 2), "");
    }

    #[test]
    fn a_change_has_a_color_and_too_small_a_one_has_none() {
        assert_eq!([0.3, 0.05, 0.01, 0.001, 0.0].map(changed), ["up3", "up2", "up1", "same", "same"]);
        assert_eq!([-0.001, -0.01, -0.05, -1.0].map(changed), ["same", "down1", "down2", "down3"]);
    }

    #[test]
    fn amounts_have_three_digits() {
        assert_eq!(amount(1_234_567, ValueUnit::Nanoseconds), "1.23 ms");
        assert_eq!(amount(812, ValueUnit::Nanoseconds), "812 ns");
        assert_eq!(amount(40 << 20, ValueUnit::Bytes), "40.0 MiB");
        assert_eq!(amount(1, ValueUnit::Plain), "1 sample");
    }
}
