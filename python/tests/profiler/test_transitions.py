"""What is done between two steps."""

from __future__ import annotations

import pytest

from stepscope import StepscopeWarning
from stepscope.profiler import ProfilerAction
from stepscope.profiler.transitions import moves_between

NONE, WARMUP, RECORD, SAVE, _STOPPED = ProfilerAction

EXPECTED = {
    (NONE, NONE): "",
    (NONE, WARMUP): "prepare",
    (NONE, RECORD): "start",
    (NONE, SAVE): "start",
    (NONE, None): "",
    (WARMUP, WARMUP): "",
    (WARMUP, RECORD): "start",
    (WARMUP, SAVE): "start",
    (WARMUP, None): "",
    (RECORD, RECORD): "",
    (RECORD, SAVE): "",
    (RECORD, None): "stop,hand over",
    (SAVE, NONE): "stop,hand over",
    (SAVE, WARMUP): "stop,hand over,prepare",
    (SAVE, RECORD): "stop,hand over,start",
    (SAVE, SAVE): "stop,hand over,start",
    (SAVE, None): "stop,hand over",
}
INCORRECT = {(WARMUP, NONE): "", (RECORD, NONE): "stop", (RECORD, WARMUP): "stop,prepare"}


def named(before, after):
    return ",".join(move.value for move in moves_between(before, after))


@pytest.mark.parametrize("pair", EXPECTED)
def test_moves(pair):
    assert named(*pair) == EXPECTED[pair]


@pytest.mark.parametrize("pair", INCORRECT)
def test_incorrect_schedules_warn(pair):
    with pytest.warns(StepscopeWarning, match="incorrect"):
        assert named(*pair) == INCORRECT[pair]


@pytest.mark.frameworks
def test_torch_starts_stops_and_hands_over_at_the_same_places():
    torch_profiler = pytest.importorskip("torch.profiler", reason="PyTorch is not installed")
    inner = torch_profiler.profile()
    names = {"start_trace": "start", "stop_trace": "stop", "_trace_ready": "hand over"}
    for (before, after), actions in inner.action_map.items():
        if "DEVICE_STOPPED" in (before.name, getattr(after, "name", None)):
            continue  # a device that gives up is PyTorch's affair
        theirs = [names[a.__name__] for a in actions if getattr(a, "__name__", None) in names]
        if before.name == "WARMUP" and (after is None or after.name == "NONE"):
            # PyTorch must start what it prepared in order to end it; nothing is kept.
            assert theirs == ["start", "stop"]
            continue
        ours = (ProfilerAction[before.name], None if after is None else ProfilerAction[after.name])
        expected = {**EXPECTED, **INCORRECT}[ours]
        assert theirs == [move for move in expected.split(",") if move in names.values()], ours
