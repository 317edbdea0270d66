//! What HTA does to a file before it analyses it, each step by name and off by default.
//!
//! None of it is needed to read a trace; without it HTA's published values cannot be reproduced.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, SliceId, Trace};

use crate::names::by_name::ByName;
use crate::names::ranges::step_number;
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "whole_us", "Whole microseconds" =>
        "Whether times are read as 64-bit floats of microseconds, starts then rounded up and ends rounded down to whole \
         microseconds, as HTA does. A slice may lose up to two microseconds and even get a negative length; what is lost \
         appears as idle time.";
    "drop_last_step", "Drop last step" =>
        "Whether host slices that start at or after the start of the last ProfilerStep, and the device work they launched, \
         are left out, as HTA does. With fewer than two different steps nothing is left out.";
    "drop_unlinked", "Drop unlinked" =>
        "Whether device work without a recorded launching call is left out. HTA does so in traces with two or more \
         different steps.";
};

/// What is done to the slices of a trace before an analysis of HTA's sees them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Loading {
    /// Read times as floats and shrink every slice to whole microseconds.
    pub whole_us: bool,
    /// Leave out the last step and what it launched.
    pub drop_last_step: bool,
    /// Leave out device work without a recorded launching call.
    pub drop_unlinked: bool,
}

impl Loading {
    /// Everything, exactly.
    pub fn exact() -> Loading {
        Loading::default()
    }

    pub fn hta(trace: &Trace) -> Loading {
        let several = last_step(trace).is_some();
        Loading { whole_us: true, drop_last_step: several, drop_unlinked: several }
    }
}

/// A trace as an analysis of HTA's sees it.
#[derive(Copy, Clone)]
pub(super) struct HtaTrace<'a> {
    pub(super) trace: &'a Trace,
    loading: Loading,
    /// Host slices that start from here on are left out.
    until: Ns,
}

impl<'a> HtaTrace<'a> {
    pub(super) fn new(trace: &'a Trace, loading: Loading) -> HtaTrace<'a> {
        let mut loaded = HtaTrace { trace, loading, until: Ns::MAX };
        if loading.drop_last_step
            && let Some(step) = last_step(trace)
        {
            loaded.until = loaded.start(step);
        }
        loaded
    }

    pub(super) fn start(&self, id: SliceId) -> Ns {
        let start = self.trace.slices().start(id);
        if self.loading.whole_us { self.whole(self.micros(start).ceil()) } else { start }
    }

    /// May lie before the start where times are rounded.
    pub(super) fn end(&self, id: SliceId) -> Ns {
        let slices = self.trace.slices();
        if self.loading.whole_us {
            self.whole((self.micros(slices.start(id)) + micros(slices.dur(id))).floor())
        } else {
            slices.end(id)
        }
    }

    /// What HTA reads: floats lose more the farther the producer's clock has run.
    fn micros(&self, at: Ns) -> f64 {
        micros(at + self.trace.origin())
    }

    fn whole(&self, micros: f64) -> Ns {
        whole(micros) - self.trace.origin()
    }

    pub(super) fn dur(&self, id: SliceId) -> Ns {
        self.end(id) - self.start(id)
    }

    /// The call that launched a device slice, if both are kept.
    pub(super) fn launch(&self, id: SliceId) -> Option<SliceId> {
        self.trace.links().launch(id).filter(|&call| self.keeps_host(call))
    }

    /// Whether a slice is kept.
    pub(super) fn keeps(&self, id: SliceId) -> bool {
        match self.trace.slices().kind(id) {
            Kind::Span => false,
            Kind::DeviceAnnotation => self.keeps_host(id),
            kind if kind.is_device() => match self.trace.links().launch(id) {
                Some(call) => self.keeps_host(call),
                None => !self.loading.drop_unlinked,
            },
            _ => self.keeps_host(id),
        }
    }

    fn keeps_host(&self, id: SliceId) -> bool {
        self.until == Ns::MAX || self.start(id) < self.until
    }
}

/// The step range that starts last, if there are two different ones. HTA does not tell the host's ranges from
/// their shadows on a device.
fn last_step(trace: &Trace) -> Option<SliceId> {
    let slices = trace.slices();
    let mut numbers = ByName::new(trace, step_number);
    let mut last: Option<SliceId> = None;
    let (mut any, mut several) = (None, false);
    for id in slices.ids() {
        let kind = slices.kind(id);
        if !matches!(kind, Kind::HostAnnotation | Kind::HostOp | Kind::DeviceAnnotation) {
            continue;
        }
        let Some(number) = numbers.get(slices.name(id)) else { continue };
        several |= any.is_some_and(|other| other != number);
        any = Some(number);
        if last.is_none_or(|l| slices.start(l) < slices.start(id)) {
            last = Some(id);
        }
    }
    last.filter(|_| several)
}

/// The float that reading a decimal text of microseconds gives: the integer part is exact, so the sum is rounded
/// once, as the text is.
fn micros(time: Ns) -> f64 {
    let (whole, rest) = (time.0 / 1000, time.0 % 1000);
    whole as f64 + rest as f64 / 1000.0
}

fn whole(micros: f64) -> Ns {
    Ns((micros as i64).saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_those_of_the_text() {
        for ns in [0, 1, 999, 1_250, -1, -1_750, 1_712_170_299_000_123_456, 1_712_170_299_000_123_999] {
            let sign = if ns < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{:03}", i64::abs(ns) / 1000, i64::abs(ns) % 1000);
            assert_eq!(micros(Ns(ns)), text.parse::<f64>().unwrap(), "{text}");
        }
    }
}
