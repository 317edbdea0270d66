//! `stepscope roofline`: how close operators come to what the device can do.

mod tables;

use std::io::Write;

use serde_json::json;
use stepscope_analyse::roofline::{self, RooflineBy, RooflineQuery, roofline};

use super::{TOP, by, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::Format;
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

/// Operators without a model shown.
const FEW: usize = 5;

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[roofline::DEFINITIONS]);
    }
    let by = match by(common, &["shape", "name"])? {
        "name" => RooflineBy::Name,
        _ => RooflineBy::NameAndShape,
    };
    let input = Input::load(common)?;
    let mut report = roofline(&input.trace, &RooflineQuery { selection: input.selection.clone(), by });
    let rows = arrange(std::mem::take(&mut report.rows), common, Some("device_ns"), TOP, |r| &r.name)?;
    let unmodelled = report.unmodelled.clone();
    let extra = vec![
        ("devices", json!(report.devices)),
        ("mean_mfu", json!(report.mean_mfu)),
        (
            "totals",
            json!({
                "device_ns": report.device_ns,
                "modelled_ns": report.modelled_ns,
                "modelled_share": report.modelled_share,
                "flops": report.flops,
                "bytes": report.bytes,
                "ideal_ns": report.ideal_ns,
            }),
        ),
    ];
    let mut parts = vec![
        Part::new("roofline", tables::rows(&rows, &report), json!(rows.rows)),
        Part::new("unmodelled", tables::unmodelled(&unmodelled, FEW), json!(unmodelled)),
        Part::new("steps", tables::steps(&report), json!(report.steps)),
    ];
    if common.format != Format::Json {
        let has_rows = |part: &Part| part.data.as_array().is_some_and(|rows| !rows.is_empty());
        let arithmetic = report.steps.iter().any(|s| s.model_flops > 0);
        parts.retain(|part| part.key == "roofline" || has_rows(part) && (part.key != "steps" || arithmetic));
    }
    answer(out, common, parts, extra, &[roofline::DEFINITIONS])
}
