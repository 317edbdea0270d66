"""Profiles of other tools, opened like traces and compared with what Python's own ``pstats`` says."""

from __future__ import annotations

import cProfile
import pathlib
import pstats

import pytest

import stepscope

FIXTURES = pathlib.Path(__file__).parents[3] / "fixtures" / "profiles"


def recurse(n):
    return n if n < 2 else recurse(n - 1) + recurse(n - 2)


def work():
    return sorted(str(recurse(12)) for _ in range(3))


def test_functions_of_cprofile_are_those_of_pstats(tmp_path):
    path = tmp_path / "out.pstats"
    profiler = cProfile.Profile()
    profiler.runcall(work)
    profiler.dump_stats(path)
    want = {key: value[:4] for key, value in pstats.Stats(str(path)).stats.items()}
    rows = stepscope.open(path).functions()
    assert len(rows) == len(want)
    for row in rows:
        primitive, calls, own, total = want[(row["file"] or "~", row["line"] or 0, row["name"])]
        assert (row["calls"], row["primitive_calls"]) == (calls, primitive)
        assert row["self_ns"] == pytest.approx(own * 1e9, abs=1)
        assert row["total_ns"] == pytest.approx(total * 1e9, abs=1)


def test_callers_are_those_of_pstats():
    path = FIXTURES / "demo-3.11.pstats"
    stats = pstats.Stats(str(path)).stats
    rows = stepscope.open(path).functions(callers="13.fib")
    want = stats[("demo.py", 13, "fib")][4]
    got = {row["caller"]: (row["calls"], row["primitive_calls"]) for row in rows}
    assert got == {key[2]: value[:2] for key, value in want.items()}


def test_a_profile_says_what_it_is():
    profile = stepscope.open(FIXTURES / "hot-5.1.lprof")
    assert profile.lines().column("line")[:2] == [9, 10]
    assert "work (hot.py:8)" in profile.verdict()
    assert "LINES" in profile.summary()
    with pytest.raises(stepscope.StepscopeError, match="needs a timeline, and this is a profile"):
        profile.kernels()
