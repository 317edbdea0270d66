"""Findings about plain Python in programs that ran: faults are named with their place, healthy programs left alone."""

from __future__ import annotations

import copy
import cProfile
import heapq
import io
import json
import logging
import re
import time
from datetime import datetime

import pytest

import stepscope

ROWS = [{"id": number, "name": f"row {number}", "tags": ["a", "b", "c"]} for number in range(200)]


def encode(turns):
    for _ in range(turns):
        json.loads(json.dumps(ROWS))


def duplicate(turns):
    for _ in range(turns):
        copy.deepcopy(ROWS)


def chatter(turns):
    log = logging.getLogger("stepscope.test_findings")
    log.propagate = False
    handler = logging.StreamHandler(io.StringIO())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    for turn in range(turns * 500):
        log.info("row %d", turn)
    log.removeHandler(handler)


def compile_patterns(turns):
    for turn in range(turns * 20):
        re.compile(f"(a|b)*{turn}[xyz]+")


def parse_dates(turns):
    for day in range(turns * 1000):
        datetime.strptime(f"2024-01-{day % 28 + 1:02}", "%Y-%m-%d")


def pause(turns):
    time.sleep(0.05 * turns)


def loop(turns):
    total = 0
    for number in range(turns * 200_000):
        total += number * number % 7
    return total


FAULTS = [
    (encode, "json"),
    (duplicate, "deep_copy"),
    (chatter, "logging"),
    (compile_patterns, "regex_compile"),
    (parse_dates, "text_formatting"),
    (pause, "waiting"),
    (loop, "python_loop"),
]


def recorded(tmp_path, work, turns):
    path = tmp_path / "out.pstats"
    # Processor time, so that what else the machine does is no one's loop; only sleeping is seen on the wall alone.
    profiler = cProfile.Profile(time.perf_counter if work is pause else time.process_time)
    profiler.runcall(work, turns)
    profiler.dump_stats(path)
    return stepscope.open(path).findings()


@pytest.mark.parametrize(("work", "rule"), FAULTS, ids=[rule for _, rule in FAULTS])
def test_a_fault_is_found_with_its_place(tmp_path, work, rule):
    found = [finding for finding in recorded(tmp_path, work, 5) if finding["rule"] == rule]
    assert len(found) == 1
    finding = found[0]
    assert finding["source"].endswith(f"test_findings.py({work.__code__.co_firstlineno}): {work.__name__}")
    assert finding["estimate"] == "upper_bound" and 0.2 < finding["saves_share"] <= 1
    assert finding["code"] and finding["evidence"] and finding["fix"]


def words(count):
    """Counts words: many kinds of small work."""
    counts: dict[str, int] = {}
    for number in range(count):
        for word in WORD.findall(f"the quick brown fox {number} jumps over the lazy dog {number % 7}"):
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))[:10]


WORD = re.compile(r"\w+")


def shortest_ways(count):
    """Dijkstra's algorithm on a grid."""
    best = {(0, 0): 0}
    heap = [(0, (0, 0))]
    while heap:
        cost, (x, y) = heapq.heappop(heap)
        for place in ((x + 1, y), (x, y + 1)):
            if place[0] < count and place[1] < count and cost + 1 < best.get(place, count * count):
                best[place] = cost + 1
                heapq.heappush(heap, (cost + 1, place))
    return len(best)


class Tree:
    def __init__(self):
        self.left = self.right = None
        self.value = 0

    def insert(self, value):
        node = self
        while True:
            side = "left" if value < node.value else "right"
            below = getattr(node, side)
            if below is None:
                child = Tree()
                child.value = value
                setattr(node, side, child)
                return
            node = below


def build_tree(count):
    tree = Tree()
    for number in range(count):
        tree.insert(number * 7919 % 10007)
    return tree


def primes(count):
    sieve = bytearray([1]) * count
    for number in range(2, int(count**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, count, number)))
    return sum(sieve)


def sort_rows(count):
    rows = [(number * 7919 % 10007, str(number)) for number in range(count)]
    return sorted(rows)[:5], sorted(rows, key=lambda row: row[1])[:5]


@pytest.mark.parametrize(
    ("work", "size"),
    [(words, 400), (shortest_ways, 60), (build_tree, 300), (primes, 20_000), (sort_rows, 3_000)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_healthy_programs_are_left_alone(tmp_path, work, size):
    assert [finding["rule"] for finding in recorded(tmp_path, work, size)] == []
