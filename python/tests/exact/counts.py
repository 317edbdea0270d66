"""Counts of calls, ours and cProfile's, in one shape. Used without pytest too, on every Python."""

from __future__ import annotations

import cProfile
from typing import Any, Callable

import corpus

import stepscope

Label = tuple[str, int, str]
Counts = dict[Label, tuple[int, int, dict[Label, tuple[int, int]]]]

PARTS = [corpus.generators, corpus.exceptions, corpus.objects, corpus.builtins, corpus.work]
"""What is counted."""


def counts_of_ours(calls: stepscope.functions) -> Counts:
    return {
        label: (calls_, primitive, {by: row[:2] for by, row in callers.items()})
        for label, (primitive, calls_, _, _, callers) in calls.stats.items()
    }


def counts_of_cprofile(profile: cProfile.Profile) -> Counts:
    """By ``getstats``: the dict of cProfile loses all but one of the functions that have a name and place in common."""
    label: Callable[[Any], Label] = getattr(cProfile, "label")
    found: Counts = {}
    entries = profile.getstats()
    for entry in entries:
        calls, primitive, callers = found.get(label(entry.code), (0, 0, {}))
        more = entry.callcount
        found[label(entry.code)] = (calls + more, primitive + more - entry.reccallcount, callers)
    for entry in entries:
        for inner in entry.calls or ():
            callers = found[label(inner.code)][2]
            calls, primitive = callers.get(label(entry.code), (0, 0))
            more = inner.callcount
            callers[label(entry.code)] = (calls + more, primitive + more - inner.reccallcount)
    return found


def comparable(counts: Counts) -> Counts:
    """Without what starts and stops, and with one name for what cProfile calls after a subclass's method: it shows a C
    method as whatever the class of the first object has under that name, with its address."""

    def name(label: Label) -> Label:
        if label[2].startswith("<function socket.close"):
            return ("~", 0, "<method 'close' of '_socket.socket' objects>")
        return label

    return {
        name(label): (calls, primitive, {name(by): row for by, row in callers.items()})
        for label, (calls, primitive, callers) in counts.items()
        if "_lsprof" not in label[2]
    }


def check(part: Callable[[], Any]) -> None:
    """Calls are counted as cProfile counts them."""
    part()
    part()  # what is made once is made: caches of re, the type cache
    calls = stepscope.functions()
    calls.start()
    part()
    calls.stop()
    theirs = cProfile.Profile()
    theirs.enable()
    part()
    theirs.disable()
    mine, other = comparable(counts_of_ours(calls)), comparable(counts_of_cprofile(theirs))
    assert mine == other, {label: (mine.get(label), other.get(label)) for label in mine.keys() ^ other.keys()}
    assert not calls.displaced
