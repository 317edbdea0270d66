"""Quantiles: exact while all is held, within 1.1% for ever after."""

from __future__ import annotations

import random

import pytest

from stepscope.performance.aggregate import Aggregate
from stepscope.performance.fork_lock import ForkLock


def _aggregate(walls: list[int], keep: int) -> Aggregate:
    aggregate = Aggregate(ForkLock(), "x", keep)
    for wall_ns in walls:
        aggregate.pending.append((wall_ns, 0, 0, None))
    aggregate.fold()
    return aggregate


def test_exact_while_all_occurrences_are_held() -> None:
    aggregate = _aggregate([10, 20, 30, 40], keep=10)
    assert aggregate.quantile_s(0.5) == pytest.approx(25e-9)
    assert aggregate.quantile_s(1.0) == pytest.approx(40e-9)


def test_within_one_percent_when_more_ran_than_are_held() -> None:
    chance = random.Random(7)
    walls = [int(chance.lognormvariate(14, 0.8)) * (20 if chance.random() < 0.01 else 1) for _ in range(20_000)]
    aggregate = _aggregate(walls, keep=50)
    ordered = sorted(walls)
    for share in (0.5, 0.95, 0.99):
        true_s = ordered[int(share * len(ordered))] / 1e9
        assert aggregate.quantile_s(share) == pytest.approx(true_s, rel=0.012)
    assert aggregate.count == 20_000 and len(aggregate.recent) == 50
    assert aggregate.wall_ns == sum(walls)


def test_names_that_are_folded_into_one_lose_nothing() -> None:
    chance = random.Random(3)
    parts = [[chance.randrange(1, 10**9) for _ in range(500)] for _ in range(4)]
    whole = _aggregate([wall for part in parts for wall in part], keep=10)
    merged = _aggregate(parts[0], keep=10)
    for part in parts[1:]:
        merged.absorb(_aggregate(part, keep=10))
    shares = [at / 20 for at in range(21)]
    assert [merged.quantile_s(share) for share in shares] == [whole.quantile_s(share) for share in shares]
    assert merged.count == merged.histogram.count == 2000


def test_no_time_at_all_is_a_time() -> None:
    assert _aggregate([0] * 20, keep=10).quantile_s(0.5) == 0.0
