"""Two runs compared from Python: the same answer as the command's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope

ROOT = Path(__file__).resolve().parents[2] / "fixtures/pytorch/2.11-h200"
SLOW = ROOT / "conv_slow_loader/conv_slow_loader.pt.trace.json.gz"
FAST = ROOT / "conv_fast_loader/conv_fast_loader.pt.trace.json.gz"


def test_a_comparison_is_the_commands() -> None:
    found = stepscope.diff(SLOW, stepscope.open(FAST))
    assert found.verdict == "faster" and found.ratio is not None and found.ratio < 0.7
    assert "data loading" in (found.because or "")
    low, high = found.interval or (0.0, 0.0)
    assert low < found.ratio < high < 1
    command = [sys.executable, "-m", "stepscope", "diff", str(SLOW), str(FAST), "--format", "json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told["delta_ns"] == found.delta_ns
    assert told["judged"] == found.as_dict()["judged"]
    assert "What made the difference" in str(found) and "faster" in repr(found)


def test_tables_add_up() -> None:
    found = stepscope.diff(SLOW, FAST)
    assert sum(found.rows().column("delta_ns")) == found.delta_ns
    assert sum(found.causes().column("delta_ns")) == found.delta_ns
    assert len(found.metrics()) > 5 and len(found.findings()) > 0


def test_sides_may_have_several_recordings() -> None:
    found = stepscope.diff([SLOW, SLOW], [str(FAST), FAST])
    assert found.as_dict()["before"]["recordings"] == 2
    assert found.as_dict()["after"]["steps"] == 6


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(stepscope.StepscopeError, match="two runs"):
        stepscope.diff([], FAST)
    with pytest.raises(FileNotFoundError, match="nowhere.json"):
        stepscope.diff("nowhere.json", FAST)


def test_more_than_two_are_set_side_by_side() -> None:
    found = stepscope.diff(SLOW, FAST, [SLOW, SLOW])
    assert found.runs().column("verdict")[:2] == [None, "faster"]
    assert stepscope.diff(SLOW, FAST, SLOW).runs().column("verdict") == [None, "faster", "no_difference"]
    assert found.runs().column("recordings") == [1, 1, 2]
    assert found.runs().column("samples_per_s") == [None, None, None]
    assert len(found.pairs()) == 3 and "conv_fast_loader" in repr(found)
    with pytest.raises(stepscope.StepscopeError, match="more than two"):
        stepscope.diff(SLOW, FAST, SLOW, filter="gemm").runs()
