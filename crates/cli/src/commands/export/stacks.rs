//! The weighted stacks and calls that formats of profiles hold: those of a profile, or those of a trace.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use stepscope_analyse::names::python_frame::{WAITING, python_frame};
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::functions::{NoCalls, calls, value_of};
use stepscope_analyse::tables::stacks::{Options, Stacks, Weight};
use stepscope_formats::write_pstats;
use stepscope_model::{DocumentKind, Frame, Profile, Sample, StackId, ValueKind, ValueUnit};

use super::{asked, options};
use crate::args::Export;
use crate::failure::Failure;
use crate::input::remark;

/// The stacks of a profile, or of the threads of a trace.
pub(super) fn profile<'r>(export: &Export, run: &'r Arc<Run>) -> Result<Cow<'r, Profile>, Failure> {
    // The functions of a program without operators are all there is on its stacks.
    let functions_only = || run.hot().is_some() && options(export).next().is_none();
    if run.kind() == DocumentKind::Trace
        && functions_only()
        && let Some(profile) = run.profile()
    {
        return Ok(Cow::Borrowed(profile));
    }
    match run.profile().filter(|_| run.kind() == DocumentKind::Profile) {
        Some(profile) => {
            if let Some((name, _)) = options(export).find(|(name, _)| *name != "value") {
                return Err(Failure::wrong_use(
                    format!("--{name} does not apply to a profile"),
                    "leave it out: a profile has no steps and no devices",
                ));
            }
            if profile.samples().is_empty() {
                return Err(Failure::wrong_use(
                    "this profile has no stacks, only functions or lines",
                    "use --to pstats, csv or json; a sampling profiler writes stacks",
                ));
            }
            Ok(Cow::Borrowed(profile))
        }
        None => Ok(Cow::Owned(of_trace(export, run)?)),
    }
}

/// The same without threads that wait, which the functions' table leaves out as well; all of it if nothing else is there.
pub(super) fn working<'r>(profile: Cow<'r, Profile>) -> Cow<'r, Profile> {
    let waits = |sample: &Sample<'_>| {
        let innermost = profile.stacks.pop(sample.stack);
        innermost.is_some_and(|(_, frame)| profile.stacks.name(frame) == WAITING)
    };
    let (all, waiting) = (profile.samples().len(), profile.samples().iter().filter(waits).count());
    if waiting == 0 || waiting == all {
        return profile;
    }
    let mut kept = Profile::new(profile.values().to_vec());
    (kept.source, kept.name) = (profile.source.clone(), profile.name.clone());
    (kept.stacks, kept.parts) = (profile.stacks.clone(), profile.parts.clone());
    for sample in profile.samples().iter().filter(|sample| !waits(sample)) {
        kept.add(sample);
    }
    remark("threads that wait are left out of the picture; --to speedscope and --to folded keep them");
    Cow::Owned(kept)
}

/// The value that is asked for, or the one that says most.
pub(super) fn value(export: &Export, profile: &Profile) -> Result<usize, Failure> {
    value_of(profile, export.value.as_deref()).ok_or_else(|| {
        let names: Vec<&str> = profile.values().iter().map(|value| value.name.as_str()).collect();
        Failure::wrong_use(
            format!("this profile has no value '{}'", export.value.as_deref().unwrap_or_default()),
            format!("it has {}", names.join(", ")),
        )
    })
}

fn of_trace(export: &Export, run: &Arc<Run>) -> Result<Profile, Failure> {
    let ask = asked("stacks", export)?;
    let (weight, side) = match export.by.as_deref() {
        Some(by) if by.eq_ignore_ascii_case("device") => (Weight::DeviceSelf, "device self time"),
        _ => (Weight::HostSelf, "host self time"),
    };
    let folded =
        Stacks::build(run.trace(), &Options { weight, selection: ask.selection(run)?, ..Options::default() });
    let mut profile = Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
    profile.name = format!("{} ({side})", run.trace().meta().source.path);
    for (frames, value) in folded.iter() {
        let mut stack = StackId::EMPTY;
        for frame in frames {
            let text = frame.text(run.trace());
            let found = python_frame(&text);
            let (name, file) = (profile.stacks.intern(found.name), profile.stacks.intern(found.file));
            let frame = Frame { name, file, line: found.line };
            let frame = profile.stacks.frame(frame);
            stack = profile.stacks.push(stack, frame);
        }
        profile.add(Sample::new(0, stack, &[value.0]));
    }
    Ok(profile)
}

/// Functions with their callers; those of a trace are its Python calls or samples.
pub(super) fn pstats(export: &Export, run: &Arc<Run>, mut out: &mut dyn Write) -> Result<(), Failure> {
    let Some(profile) = run.profile() else {
        return Err(Failure::wrong_use(
            "this trace has no Python functions",
            "record with `stepscope run`, or with PyTorch's profiler and with_stack=True",
        ));
    };
    let rows = calls(profile, value(export, profile)?).map_err(|why| match why {
        NoCalls::NoTimes => Failure::wrong_use(
            "pstats holds times, and this profile counts samples",
            "use --to folded, speedscope, svg or pprof, which keep counts",
        ),
        NoCalls::NoStacks => Failure::wrong_use(
            "this profile has lines, and pstats holds functions",
            "use --to csv --table lines, or json",
        ),
    })?;
    Ok(write_pstats(profile, &rows, &mut out)?)
}
