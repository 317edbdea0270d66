"""Steps that a schedule waits for are timed, so that a trace says what a step takes without the profiler."""

from __future__ import annotations

import json
import time

import stepscope
from stepscope import profile, schedule
from stepscope.profiler.bare_steps import BareSteps


def record(path, wait):
    plan = schedule(wait=wait, warmup=1, active=2, repeat=1)
    with profile(schedule=plan, on_trace_ready=lambda prof: prof.export_chrome_trace(str(path))) as prof:
        for _ in range(wait + 3):
            time.sleep(0.01)
            prof.step()
    return json.loads(path.read_text())


def test_steps_that_wait_are_timed(tmp_path):
    document = record(tmp_path / "trace.json", wait=6)
    times = document["stepscope_bare_steps"]["host_ns"]
    assert len(times) == 6 and min(times) >= 10_000_000
    shown = stepscope.open(tmp_path / "trace.json").ask("findings")["step_text"]
    assert "measured without the profiler" in shown


def test_two_steps_are_no_measurement(tmp_path):
    assert "stepscope_bare_steps" not in record(tmp_path / "trace.json", wait=2)


class FakeDevice:
    """A device whose clock shows a second for each event that was recorded."""

    def __init__(self):
        self.recorded = 0
        self.cuda = self

    def is_initialized(self):
        return True

    def Event(self, enable_timing):
        return FakeEvent(self)


class FakeEvent:
    def __init__(self, device):
        self._device = device

    def record(self):
        self._device.recorded += 1
        self.at_s = self._device.recorded

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.at_s - self.at_s) * 1000.0


def test_a_device_is_timed_by_its_own_events():
    bare = BareSteps(FakeDevice())
    for _ in range(20):
        bare.step_ended()
    bare.step_ended(was_bare=False, goes_on=False)
    known = json.loads(bare.metadata()["stepscope_bare_steps"])
    # After 1, 2, 4, 8 and 16 steps, and at the end: two events lie between 8 steps and 20.
    assert (known["device_ns"], known["device_steps"]) == (round(2_000_000_000 / 12), 12)
