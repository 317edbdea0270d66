"""What ``stepscope run`` says about a program's start-up, warm-up, pauses and changes."""

from __future__ import annotations

import gzip
import json
import re
from textwrap import dedent

import pytest

import stepscope
from stepscope._launch.later_iterations import LaterIterations
from stepscope._launch.phases import Phases
from stepscope._launch.rounds import Rounds
from stepscope._native import phases_text

pytest.importorskip("torch", reason="PyTorch is not installed")

#: Iterations that change their ways once a trace of the first ones is there: how soon that is depends on the machine.
SETUP = """
import glob
import time
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(1500, 1500) for _ in range(6)])
small = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(small.parameters(), lr=0.1)
def iterate(number):
    small(torch.ones(2, 64)).sum().backward()
    optimizer.step()
def traces():
    return len(glob.glob("traces/*.gz"))
"""


@pytest.fixture
def recorded(tmp_path, script, stepscope_run, steady_machine):
    def record(loop, *options):
        """What was said about a program, its traces, and how many iterations it had."""
        got = stepscope_run("-o", "traces", *options, script(dedent(SETUP) + dedent(loop) + "print(number + 1)\n"))
        assert (got.code, got.err_of_program) == (0, ""), got.err
        traces = {}
        for path in sorted((tmp_path / "traces").glob("*.json.gz"), key=lambda path: len(path.name)):
            with gzip.open(path) as text:
                traces[path] = json.load(text)
        return got.notes, traces, int(got.out)

    return record


def of_phases(notes):
    """The one note about phases."""
    (found,) = [note for note in notes if note.startswith("stepscope: Start-up ")]
    return found


def counted(words):
    """Iterations that a sentence speaks of, the first one included."""
    return 1 + sum(int(count) for count in re.findall(r"(\d+) (?:warm-up iteration|iteration|pause)s?\b", words))


def test_a_trace_says_what_came_before_it(recorded):
    notes, traces, count = recorded("""
        for number in range(2000):
            iterate(number)
            if number >= 150 and traces():
                break
    """)
    ((path, document),) = traces.items()
    phases = document["stepscope_phases"]
    parts = phases["start_up"]
    assert parts["imports_ns"] > 0 and parts["weights_ns"] > 0
    longest = parts["longest_imports"]
    assert longest[0]["package"] == "torch" and 0 < longest[0]["import_ns"] <= parts["imports_ns"]
    assert sum(ns for name, ns in parts.items() if name.endswith("_ns")) <= phases["start_up_ns"]
    # The beginning is recorded too, and then iterations are timed until they are steady.
    timed = len(document["stepscope_bare_steps"]["host_ns"])
    before = 1 + phases["warm_up_iterations"] + phases["steady"][0]["iterations"] + phases["pauses"]
    assert before == document["stepscope_iterations"]["before"] > timed
    answer = stepscope.open(path).ask("summary")
    assert answer["phases_text"] == phases_text(json.dumps(phases))
    assert answer["phases_text"].startswith("Start-up ") and "imports" in answer["phases_text"]
    assert answer["phases"]["start_up"] == parts
    assert "Start-up " in stepscope.open(path).summary(200)
    # At its end the run says it once more, of the whole program.
    assert counted(of_phases(notes)) == count, notes


def test_a_short_program_has_its_start_up_and_its_end(recorded):
    notes, traces, _ = recorded("for number in range(8):\n    iterate(number)\ntime.sleep(0.6)\n")
    (document,) = traces.values()
    phases = document["stepscope_phases"]
    assert phases["steady"] == [{"iterations": 7}] and phases["warm_up_iterations"] == 0
    assert phases["after_last_ns"] >= 600_000_000
    assert "then 7 iterations" in of_phases(notes) and "after the last iteration" in of_phases(notes)


def test_a_validation_is_a_pause_and_in_no_average(recorded):
    notes, _, count = recorded("""
        since = 0
        for number in range(2000):
            since += traces() > 0
            time.sleep(4.0 if since == 20 else 0.05)
            iterate(number)
            if since == 40:
                break
    """)
    words = of_phases(notes)
    assert re.search(r"; \d+ pauses? \(\d", words), words
    assert counted(words) == count


def test_iterations_that_change_are_recorded_again(recorded):
    # Much slower than before, also where something else has slowed the machine down.
    notes, traces, count = recorded("""
        quick_s = []
        for number in range(2000):
            began = time.perf_counter()
            time.sleep(4 * sorted(quick_s)[len(quick_s) // 2] if traces() else 0.005)
            iterate(number)
            if not traces():
                quick_s.append(time.perf_counter() - began)
            if traces() == 2:
                break
    """)
    first, second = traces
    assert second.name == first.name.replace(".pt.trace", "-2.pt.trace")
    assert any("iterations changed from" in note and second.name in note for note in notes), notes
    for path, document in traces.items():
        assert 5 <= len(stepscope.open(path).steps()) <= 10 and document["stepscope_bare_steps"]["host_ns"]
    quick, slow = traces[second]["stepscope_phases"]["steady"]
    assert slow["iteration_ns"] > 2 * quick["iteration_ns"]
    assert counted(of_phases(notes)) == count


@pytest.mark.nightly
def test_a_window_of_many_operators_is_shorter(recorded, tmp_path):
    with open(tmp_path / "sites/sitecustomize.py", "a") as site:
        site.write("from stepscope._launch import iteration_clock\niteration_clock.WINDOW_BYTES = 1 << 20\n")
    # Usually five of them are recorded.
    _, traces, _ = recorded("""
        for number in range(200):
            for _ in range(2000):
                torch.ones(3).add_(1)
            time.sleep(0.2)
            iterate(number)
            if traces():
                break
    """)
    ((path, document),) = traces.items()
    # A search of all objects took some 80 ms: more than a sample or two of a busy machine.
    looks = [event for event in document["traceEvents"] if "operator_memory" in event.get("name", "")]
    assert len(looks) < 5, "looking took time"
    steps = stepscope.open(path).steps()
    assert 2 <= len(steps) < 5 and all(step["wall_ns"] > 200_000_000 for step in steps)


def test_updates_between_rollouts_are_one_iteration(recorded):
    notes, traces, count = recorded("""
        updates_s = [0.0]
        for number in range(8 * 400):
            time.sleep(max(0.1, 10 * sorted(updates_s)[len(updates_s) // 2]) if number % 8 == 3 else 0)
            began = time.perf_counter()
            iterate(number)
            if not traces():
                updates_s.append(time.perf_counter() - began)
            if number % 8 == 7 and traces() == 2:
                break
    """)
    _, document = traces.values()
    assert any("rounds of 8" in note for note in notes), notes
    assert document["stepscope_iterations"]["found_by"] == "rounds of 8 optimizer steps"
    assert min(document["stepscope_bare_steps"]["host_ns"][1:]) > 100_000_000
    steps = stepscope.open(list(traces)[-1]).steps()
    assert len(steps) >= 3 and all(step["wall_ns"] > 100_000_000 for step in steps)
    assert count / 8 - 5 <= counted(of_phases(notes)) <= count / 8


@pytest.mark.nightly
def test_iterations_that_were_asked_for_are_recorded_once(recorded):
    notes, traces, _ = recorded(
        """
        for number in range(160):
            time.sleep(0.005 if number < 60 else 0.04)
            iterate(number)
        """,
        "--after",
        "30",
    )
    assert len(traces) == 1 and not any("changed" in note for note in notes)


MS = 1_000_000


def told(times_ms):
    """After how many iterations a change was told, from 10 ms on; None: never."""
    added = []
    later = LaterIterations(10 * MS, added.extend)
    at_ns = later.last_ns
    for number, ms in enumerate(times_ms):
        at_ns += ms * MS
        if later.iteration_ended(at_ns):
            return number + 1
    later.close()
    assert added == [ms * MS for ms in times_ms]
    return None


@pytest.mark.parametrize(
    ("times_ms", "after"),
    [
        ([10] * 500, None),
        ([14] * 500, None),
        ([16] * 500, 150),
        ([6] * 500, 360),
        # A pause here and there, and a while that is slow.
        (([10] * 29 + [400]) * 20, None),
        (([10] * 90 + [20] * 30) * 5, None),
        # Long ones are judged by fewer.
        ([5_000] * 40, 10),
    ],
)
def test_a_change_has_to_last(times_ms, after):
    assert told(times_ms) == after


@pytest.mark.parametrize(
    ("times_ms", "length"),
    [
        # The first long one is the first that is known to begin a round.
        ([5] * 3 + [60, 5, 5, 5] * 9, 4),
        ([5] + [60, 5] * 9, 2),
        ([100, 5, 5, 20, 5, 5] + [100, 5, 5, 5, 16, 5] * 8, 6),
        # Too little of the time, too few, at no regular distance, and too long to be recorded.
        (([60] + [5] * 30) * 20, None),
        ([60, 5, 5, 5] * 8, None),
        (([60, 5, 5, 5] * 4 + [60, 5, 5]) * 6, None),
        ([16, 5, 5] * 20, None),
        ([4_000, 5] * 20, None),
        ([60] * 40, None),
        ([5] * 100, None),
    ],
)
def test_rounds_are_regular_and_mostly_long(times_ms, length):
    rounds = Rounds(5 * MS)
    ends = [rounds.iteration_ended(ms * MS) for ms in times_ms]
    assert (rounds.length if any(ends) else None) == length
    assert not any(ends[:-1]), "an end is told at the end of a round"


def test_iterations_that_are_all_long_are_no_rounds():
    rounds = Rounds(5 * MS)
    for _ in range(100):
        rounds.iteration_ended(60 * MS)
        assert not rounds.are_likely
    for ms in (5, 5, 60) * 3:
        rounds.iteration_ended(ms * MS)
    assert rounds.are_likely


def test_our_own_time_is_no_part_of_the_start_up():
    phases = Phases()
    phases.began_ns, phases.first_ended_ns, phases.own = 100, 1_100, [(50, 150), (300, 500), (1_050, 1_400)]
    assert json.loads(phases.text())["start_up_ns"] == 1_000 - 50 - 200 - 50
    assert Phases().text() is None


def test_what_changed_is_kept_for_those_who_record_it_again():
    added = []
    later = LaterIterations(10 * MS, added.extend)
    at_ns = later.last_ns
    for number in range(400):
        at_ns += (10 if number < 60 else 40) * MS
        later.iteration_ended(at_ns)
        # However long they go on, and no one records them again.
        assert len(later.changed_ns) <= 90
        if number == 119:
            assert added == [10 * MS] * 60 and later.changed_ns == [40 * MS] * 60
    later.close()
    assert added == [10 * MS] * 60 + [40 * MS] * 340
