"""How long all operators of a program are recorded."""

from __future__ import annotations

import time

import pytest

from stepscope._launch import recording_limits
from stepscope._launch.recording_limits import RecordingLimits


def reasons_of(seconds, is_beginning, join):
    """Why recording ended."""
    reasons = []
    limits = RecordingLimits(seconds, 0.0, is_beginning, reasons.append)
    limits.start()
    join(limits)
    deadline = time.monotonic() + 60
    while not reasons and time.monotonic() < deadline:
        time.sleep(0.01)
    limits.stop()
    return reasons


@pytest.mark.parametrize("is_beginning", [True, False])
def test_seconds_that_were_asked_for_count_from_the_start(is_beginning):
    assert reasons_of(0.02, is_beginning, lambda limits: None) == ["0.02 s were over (--seconds)"]


@pytest.mark.parametrize(("is_beginning", "reason"), [(True, None), (False, "0.02 s were over (--seconds)")])
@pytest.mark.parametrize("framework", ["torch", "another"])
def test_usual_seconds_count_from_the_first_profiler(framework, is_beginning, reason, monkeypatch):
    monkeypatch.setattr(recording_limits, "TORCH_SECONDS", 0.02)
    monkeypatch.setattr(recording_limits, "BEGINNING_SECONDS", 0.02)
    join = RecordingLimits.torch_joined if framework == "torch" else RecordingLimits.framework_joined
    assert reasons_of(None, is_beginning, join) == [reason]
