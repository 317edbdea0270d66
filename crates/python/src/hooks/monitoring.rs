//! A place among the tools of `sys.monitoring` (CPython 3.12 and later).

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

use super::event::{self, Handler};
use crate::errors;

/// Places that are no one's by convention come first; then the profilers' own, which `cProfile` takes.
const TOOL_IDS: [u8; 3] = [4, 3, 2];
const TOOL_NAME: &str = "stepscope";

/// `sys.monitoring`, where there is one.
pub(super) fn api(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    py.import("sys").ok()?.getattr("monitoring").ok()
}

static IS_THERE: AtomicBool = AtomicBool::new(false);

/// Whether a place was ever taken: events come from `sys.monitoring`.
pub(super) fn is_there() -> bool {
    IS_THERE.load(Ordering::Relaxed)
}

/// The place, and who listens there.
pub(super) struct Tool {
    place: u8,
    handlers: Vec<(u32, Py<PyAny>)>,
}

impl Tool {
    pub(super) fn take(api: &Bound<'_, PyAny>) -> PyResult<Tool> {
        for place in TOOL_IDS {
            if api.call_method1("get_tool", (place,))?.is_none() {
                api.call_method1("use_tool_id", (place, TOOL_NAME))?;
                IS_THERE.store(true, Ordering::Relaxed);
                return Ok(Tool { place, handlers: Vec::new() });
            }
        }
        let names = TOOL_IDS.map(|place| {
            let name = api.call_method1("get_tool", (place,)).and_then(|name| name.extract::<String>());
            name.unwrap_or_default()
        });
        Err(errors::stepscope(
            format!("all places of sys.monitoring are taken by other tools: {}", names.join(", ")),
            Some("run one profiler at a time".to_owned()),
        ))
    }

    pub(super) fn place(&self) -> u8 {
        self.place
    }

    /// Has `handler` called at the events of this name; their number.
    pub(super) fn listen(
        &mut self,
        api: &Bound<'_, PyAny>,
        name: &str,
        handler: Handler,
        state: *mut c_void,
    ) -> PyResult<u32> {
        let number: u32 = api.getattr("events")?.getattr(name)?.extract()?;
        let event = event::event(api.py(), handler, state)?;
        api.call_method1("register_callback", (self.place, number, &event))?;
        self.handlers.push((number, event.unbind()));
        Ok(number)
    }

    /// Which events come from everywhere.
    pub(super) fn set_events(&self, api: &Bound<'_, PyAny>, events: u32) -> PyResult<()> {
        api.call_method1("set_events", (self.place, events)).map(drop)
    }

    /// Which events come from one code object too.
    pub(super) fn set_local_events(
        &self,
        api: &Bound<'_, PyAny>,
        code: &Bound<'_, PyAny>,
        events: u32,
    ) -> PyResult<()> {
        api.call_method1("set_local_events", (self.place, code, events)).map(drop)
    }

    /// Gives the place back. Whether it was still ours: a program can take any.
    pub(super) fn release(self, py: Python<'_>) -> PyResult<bool> {
        for (_, handler) in &self.handlers {
            event::forget(handler.bind(py));
        }
        let Some(api) = api(py) else { return Ok(false) };
        let name = api.call_method1("get_tool", (self.place,))?;
        if !name.extract::<String>().is_ok_and(|name| name == TOOL_NAME) {
            return Ok(false);
        }
        self.set_events(&api, 0)?;
        for (number, _) in &self.handlers {
            api.call_method1("register_callback", (self.place, *number, py.None()))?;
        }
        api.call_method1("free_tool_id", (self.place,))?;
        Ok(true)
    }
}
