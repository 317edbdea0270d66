//! What to type next: commands on the same trace, ready to be pasted.

use std::io::Write;
use std::path::{Path, PathBuf};

use stepscope_ask::Next;
use stepscope_ask::print::{self, Role, Screen};

use crate::args::Common;

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// How to call this program again: by its name, or the way it was called where a shell would not find that.
fn program() -> String {
    const NAME: &str = "stepscope";
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let by_path = called.file_stem().is_some_and(|stem| stem == NAME) && called.components().count() > 1;
    match by_path && !std::env::split_paths(&folders).any(|folder| folder.join(NAME).is_file()) {
        true => quoted(&called),
        false => NAME.to_owned(),
    }
}

/// Commands to type next on the same trace, each with what it shows.
pub(crate) fn next(
    out: &mut dyn Write,
    screen: &Screen,
    common: &Common,
    commands: &[Next],
) -> std::io::Result<()> {
    let path = common.path.as_deref().map_or_else(|| "TRACE".to_owned(), quoted);
    let program = program();
    let rank = common.rank.map(|rank| format!(" --rank {rank}")).unwrap_or_default();
    let lines: Vec<String> =
        commands.iter().map(|c| format!("{program} {} {path}{rank}", c.question)).collect();
    let widest = lines.iter().map(|line| print::width(&screen.text(line))).max().unwrap_or(0);
    for (line, Next { about, .. }) in lines.iter().zip(commands) {
        let line = screen.text(line);
        let gap = " ".repeat(widest.saturating_sub(print::width(&line)) + 3);
        write!(out, "  {}", screen.paint(Role::Accent, &line))?;
        // What does not fit beside the commands stands below them.
        let about = screen.paint(Role::Dim, &screen.text(about));
        let beside = commands.iter().all(|c| 2 + widest + 3 + print::width(c.about) <= screen.width);
        writeln!(out, "{}{about}", if beside { gap } else { "\n      ".to_owned() })?;
    }
    Ok(())
}
