//! `stepscope diff`: which runs are compared, and the comparison as one HTML file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_ask::Ask;
use stepscope_serve::{ComparedSides, comparison_report};

use super::export::{label_of, made, report_options};
use super::whole_file::write_whole;
use crate::args::{Html, QuestionArgs};
use crate::failure::Failure;
use crate::input::{all, remark, warn};

/// The runs of all sides, the earliest first. Two paths are two sides, more are one each; `--after` begins the second side.
pub(super) fn load(asking: &QuestionArgs, ask: &mut Ask) -> Result<Vec<Arc<Run>>, Failure> {
    let paths: Vec<&Path> = asking.common.path.iter().chain(&asking.more).map(PathBuf::as_path).collect();
    let after: Vec<&Path> = asking.after.iter().map(PathBuf::as_path).collect();
    let sides: Vec<Vec<&Path>> = match (paths.len(), after.is_empty()) {
        (2.., true) => paths.iter().map(|path| vec![*path]).collect(),
        (1.., false) => vec![paths, after],
        _ => {
            return Err(Failure::wrong_use(
                "a comparison needs two runs, and one was given",
                "use: stepscope diff BEFORE AFTER; for several files per side, put --after before the later ones",
            ));
        }
    };
    let load = |path: &Path| all(path, asking.common.rank, asking.common.max_text_bytes);
    let load_side = |side: Vec<&Path>| Ok(side.into_iter().map(load).collect::<Result<Vec<_>, _>>()?.concat());
    let sides = sides.into_iter().map(load_side).collect::<Result<Vec<_>, Failure>>()?;
    let runs = ask.take_sides(&sides);
    runs.iter().for_each(|run| warn(run.trace()));
    Ok(runs)
}

/// Writes the Compare page with its data into one file.
pub(super) fn write_page(html: &Html, ask: &Ask, runs: &[Arc<Run>]) -> Result<(), Failure> {
    let [before, _] = ask.sides[..] else {
        return Err(Failure::wrong_use(
            "--html compares two sides",
            "give two runs; for several recordings per side, put --after before the later ones",
        ));
    };
    // The page sorts, filters and cuts by itself.
    let whole = ask.clone().every_row();
    let (a, b) = names(&runs[0], &runs[before]);
    let options = report_options(format!("{a} and {b}"), html.max_size, html.redact)?;
    let compared = ComparedSides { ask: &whole, runs, labels: [&a, &b] };
    let report = made(comparison_report(&compared, &options))?;
    write_whole(&html.path, |mut file| Ok(file.write_all(&report.html)?))?;
    remark(&format!("the comparison is in {}", html.path.display()));
    Ok(())
}

/// What two runs are called: by their files, with their folders where those are called alike.
fn names(a: &Run, b: &Run) -> (String, String) {
    let (one, other) = (label_of(a), label_of(b));
    if one != other {
        return (one, other);
    }
    let folder = |run: &Run| {
        let parent = Path::new(&run.trace().meta().source.path).parent().and_then(Path::file_name);
        parent.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    (format!("{}/{one}", folder(a)), format!("{}/{other}", folder(b)))
}
