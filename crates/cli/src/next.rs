//! What to type next: commands on the same trace, ready to be pasted.

use std::io::Write;
use std::path::{Path, PathBuf};

use stepscope_ask::Next;
use stepscope_ask::print::{self, LABEL_COLUMNS, Role, Screen};

use crate::args::Common;

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// How to call this program again: by its name, or the way it was called where a shell would not find that.
pub(crate) fn program() -> String {
    const NAME: &str = "stepscope";
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let by_path = called.file_stem().is_some_and(|stem| stem == NAME) && called.components().count() > 1;
    match by_path && !std::env::split_paths(&folders).any(|folder| folder.join(NAME).is_file()) {
        true => quoted(&called),
        false => NAME.to_owned(),
    }
}

/// A path longer than this is written once and not with every command.
const MAX_PATH_COLUMNS: usize = 36;

/// Commands to type next on the same trace, each with what it shows; beside a label if there is one.
pub(crate) fn next(
    out: &mut dyn Write,
    screen: &Screen,
    common: &Common,
    commands: &[Next],
    label: Option<&str>,
) -> std::io::Result<()> {
    let path = common.path.as_deref().map_or_else(|| "TRACE".to_owned(), quoted);
    let program = program();
    let rank = common.rank.map(|rank| format!(" --rank {rank}")).unwrap_or_default();
    let indent = if label.is_some() { LABEL_COLUMNS } else { 2 };
    let mut lines = Vec::new();
    let short = print::width(&screen.text(&path)) <= MAX_PATH_COLUMNS;
    let said = if short { path } else { "\"$TRACE\"".to_owned() };
    if !short {
        lines.push(screen.paint(Role::Accent, &screen.text(&format!("TRACE={}", quoted_path(common)))));
    }
    let typed: Vec<String> =
        commands.iter().map(|c| format!("{program} {} {said}{rank}", c.question)).collect();
    let widest = typed.iter().map(|line| print::width(&screen.text(line))).max().unwrap_or(0);
    let beside = commands.iter().all(|c| indent + widest + 3 + print::width(c.about) <= screen.width);
    for (line, Next { about, .. }) in typed.iter().zip(commands) {
        let line = screen.text(line);
        let gap = " ".repeat(widest.saturating_sub(print::width(&line)) + 3);
        let about = screen.paint(Role::Dim, &screen.text(about));
        let line = screen.paint(Role::Accent, &line);
        match beside {
            true => lines.push(format!("{line}{gap}{about}")),
            // Beside a label there is a line for each command and no more.
            false if label.is_some() => lines.push(line),
            // What does not fit beside the commands is below them.
            false => lines.extend([line, format!("    {about}")]),
        }
    }
    match label {
        Some(label) => {
            writeln!(out)?;
            print::labelled(out, screen, label, &lines)
        }
        None => lines.iter().try_for_each(|line| writeln!(out, "  {line}")),
    }
}

fn quoted_path(common: &Common) -> String {
    common.path.as_deref().map(quoted).unwrap_or_default()
}
