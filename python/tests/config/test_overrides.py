"""Settings on the command line: every spelling, and the user's arguments left as they were."""

from __future__ import annotations

import sys

import pytest

from stepscope.config import configure
from stepscope.errors import StepscopeError


@pytest.mark.parametrize(
    "arguments",
    [
        ["--profiling.active", "2"],
        ["--profiling.active=2"],
        ["profiling.active=2"],
        ["+profiling.active=2"],
        ["++profiling.active=2"],
        ["--profiling.active", "7", "--profiling.active", "2"],
        {"active": 2},
        {"profiling.active": "2"},
    ],
)
def test_every_spelling_means_the_same(arguments):
    profiling = configure(None, arguments)
    assert profiling.enabled
    assert profiling.settings.active == 2
    assert profiling.settings.wait == 1


def test_the_users_arguments_keep_their_order_and_the_program_name():
    arguments = ["train.py", "cfg", "--lr", "0.1", "--profiling.wait", "0", "x=1", "--profiling", "--other.active", "9"]
    profiling = configure(None, arguments)
    assert profiling.remaining == ["train.py", "cfg", "--lr", "0.1", "x=1", "--profiling", "--other.active", "9"]
    assert profiling.settings.wait == 0


@pytest.mark.parametrize(
    "arguments, value, remaining",
    [
        (["--profiling.with_stack"], True, []),
        (["--profiling.with-stack"], True, []),
        (["--profiling.with_stack", "data.csv"], True, ["data.csv"]),
        (["--profiling.with_stack", "--lr", "1"], True, ["--lr", "1"]),
        (["--profiling.with_stack", "False"], False, []),
        (["--profiling.with_stack", "OFF", "x"], False, ["x"]),
        (["--profiling.with_stack=no"], False, []),
        (["--profiling.with_stack", "1"], True, []),
    ],
)
def test_a_bare_flag_is_true_and_takes_only_yes_or_no(arguments, value, remaining):
    profiling = configure(None, arguments)
    assert profiling.settings.with_stack is value
    assert profiling.remaining == remaining


def test_after_two_dashes_everything_is_the_users():
    profiling = configure(None, ["--profiling.active=2", "--", "--profiling.active=9"])
    assert profiling.settings.active == 2
    assert profiling.remaining == ["--", "--profiling.active=9"]


def test_a_list_is_split_at_commas():
    for text in ("cpu,cuda", "[CPU, cuda]", "ProfilerActivity.CPU,cuda"):
        assert configure(None, ["--profiling.activities", text]).settings.activities == ["cpu", "cuda"]


def test_overrides_win_over_the_section():
    profiling = configure({"profiling": {"active": 5, "repeat": 2}}, ["--profiling.active", "1"])
    assert (profiling.settings.active, profiling.settings.repeat) == (1, 2)


def test_a_value_that_is_missing_is_told():
    with pytest.raises(StepscopeError, match="active needs a value"):
        configure(None, ["--profiling.active", "--lr", "1"])
    with pytest.raises(StepscopeError, match="output needs a value"):
        configure(None, ["--profiling.output"])


def test_one_text_is_refused_with_a_hint():
    with pytest.raises(StepscopeError) as caught:
        configure(None, "--profiling.active 2")
    assert "sys.argv" in caught.value.hint


def test_sys_argv_itself_is_not_changed(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--profiling.active", "2"])
    configure(None, sys.argv)
    assert sys.argv == ["train.py", "--profiling.active", "2"]
