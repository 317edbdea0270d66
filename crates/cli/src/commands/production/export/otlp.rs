//! `--to otlp`: metrics and traces for an OpenTelemetry collector.

use std::sync::Arc;

use stepscope_ground::Problem;
use stepscope_metrics::{Otlp, OtlpSettings, repeat_every};
use stepscope_record::clock::now_ns;
use stepscope_record::spy::interrupted;
use stepscope_service::ServiceDir;

use super::{OnceRemarks, exporter};
use crate::args::ServiceExport;
use crate::failure::Failure;

/// Requests that ended this long ago are sent with --once.
const RECENT_NS: i64 = 3_600_000_000_000;

pub(super) fn run(args: &ServiceExport, store: &ServiceDir) -> Result<(), Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let (endpoint, service) = (args.endpoint.as_deref(), args.service.as_deref());
    let settings = OtlpSettings::new(endpoint, &args.header, service, &store.name(), &variable)?;
    let since = now_ns() - if args.once { RECENT_NS } else { 0 };
    let mut otlp = Otlp::new(Arc::new(exporter(args)), settings, since);
    if args.once {
        return otlp.push(&interrupted)?.into_iter().next().map_or(Ok(()), |problem| Err(problem.into()));
    }
    let mut said = OnceRemarks::default();
    let words = |problem: Problem| format!("{}; {}", problem.what, problem.hint);
    repeat_every(args.interval, &interrupted, || {
        match otlp.push(&interrupted) {
            Ok(problems) => said.say(problems.into_iter().map(words)),
            // A directory that is away for a moment comes back.
            Err(error) => said.say([error.what]),
        }
        Ok::<_, Failure>(())
    })?;
    // What ended since the last time.
    if let Ok(problems) = otlp.push(&|| true) {
        said.say(problems.into_iter().map(words));
    }
    Ok(())
}
