"""Schedules: which step does what."""

from __future__ import annotations

import enum
import itertools
import warnings

import pytest

from stepscope import StepscopeError, StepscopeWarning
from stepscope.profiler import ProfilerAction, schedule
from stepscope.profiler.actions import StepPlan, as_action

LETTERS = {"NONE": "-", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}


def letters(plan, steps):
    return "".join(LETTERS[plan(step).name] for step in range(steps))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 3, "repeat": 2}, "-wrrS-wrrS----"),
        ({"wait": 0, "warmup": 1, "active": 1}, "wSwSwSwSwS"),
        ({"wait": 2, "warmup": 2, "active": 1, "repeat": 1}, "--wwS------"),
        ({"wait": 1, "warmup": 1, "active": 2, "skip_first": 3, "repeat": 1}, "----wrS-----"),
        ({"wait": 4, "warmup": 1, "active": 2, "skip_first": 1, "skip_first_wait": 1}, "-wrS----wrS----wrS"),
        ({"wait": 4, "warmup": 1, "active": 2, "skip_first_wait": 1, "repeat": 1}, "wrS---------"),
        ({"wait": 3, "warmup": 2, "active": 4}, "---wwrrrS---wwrrrS---"),
    ],
)
def test_a_plan_gives_the_expected_actions(options, expected):
    assert letters(schedule(**options), len(expected)) == expected


@pytest.mark.frameworks
def test_every_plan_equals_torchs():
    torch_profiler = pytest.importorskip("torch.profiler", reason="PyTorch is not installed")
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wait, warmup, active, repeat, skip, skip_wait in itertools.product(
            (0, 1, 3), (0, 1, 2), (1, 2, 5), (0, 1, 2), (0, 1, 4), (0, 1)
        ):
            options = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip}
            if skip_wait:
                options["skip_first_wait"] = skip_wait
            try:
                theirs = torch_profiler.schedule(**options)
            except TypeError:
                continue  # an older version without skip_first_wait
            assert letters(schedule(**options), 40) == letters(theirs, 40), options
            compared += 1
    assert compared >= 243


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -2}])
def test_impossible_plans_say_what_is_wrong(wrong):
    with pytest.raises(StepscopeError, match=next(iter(wrong))) as caught:
        schedule(**{"wait": 1, "warmup": 1, "active": 1, **wrong})
    assert "or more" in caught.value.hint


def test_no_warm_up_warns_and_works():
    with pytest.warns(StepscopeWarning, match="warm-up"):
        plan = schedule(wait=1, warmup=0, active=2)
    assert letters(plan, 6) == "-rS-rS"


def test_actions_equal_those_of_the_same_name_elsewhere():
    class Theirs(enum.Enum):
        NONE = 0
        WARMUP = 1
        RECORD = 2
        RECORD_AND_SAVE = 3
        DEVICE_STOPPED = 4

    Theirs.__name__ = "ProfilerAction"
    for ours in ProfilerAction:
        other = Theirs[ours.name]
        assert ours == other and other == ours and hash(ours) == hash(other)
        assert {(other, None): 1}[(ours, None)] == 1
        assert as_action(other) is ours
    assert ProfilerAction.RECORD != Theirs.NONE
    assert ProfilerAction.RECORD != 2
    with pytest.raises(StepscopeError, match="not a ProfilerAction"):
        as_action(2)


def test_a_plan_is_asked_once_a_step():
    asked = []

    def plan(step):
        asked.append(step)
        return ProfilerAction.NONE

    once = StepPlan(plan)
    for step in (0, 0, 1, 1, 1, 2):
        once(step)
    assert asked == [0, 1, 2]


def test_nonsense_from_a_plan_is_an_error_at_first_and_a_warning_later():
    for nonsense in ("later", 2, ProfilerAction.DEVICE_STOPPED):
        with pytest.raises(StepscopeError, match=str(nonsense)):
            StepPlan(lambda step, value=nonsense: value)
    plan = StepPlan(lambda step: ProfilerAction.RECORD if step == 0 else None)
    with pytest.warns(StepscopeWarning, match="None"):
        assert plan(1) is ProfilerAction.NONE


def test_errors_of_a_users_plan_are_the_users():
    def plan(step):
        if step == 1:
            raise KeyError("mine")
        return ProfilerAction.NONE

    once = StepPlan(plan)
    with pytest.raises(KeyError, match="mine"):
        once(1)
