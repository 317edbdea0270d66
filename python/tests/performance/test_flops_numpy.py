"""numpy's products, counted by hand beside."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from stepscope import PerformanceProfiler
from stepscope.performance import is_unknown

np = pytest.importorskip("numpy", reason="numpy is not installed")

# PyTorch's operations are counted by something else once it is imported; those of numpy must not change.
pytestmark = pytest.mark.either


@pytest.fixture
def profiler() -> PerformanceProfiler:
    return PerformanceProfiler(track_gpu=False, track_system=False, estimate_flops=True)


@pytest.mark.parametrize(
    ("work", "flops"),
    [
        (lambda: np.dot(np.ones((4, 5)), np.ones((5, 6))), 2 * 4 * 5 * 6),
        (lambda: np.dot(np.ones(7), np.ones(7)), 2 * 7),
        (lambda: np.dot(np.ones((2, 3, 4)), np.ones((4, 5))), 2 * 2 * 3 * 4 * 5),
        (lambda: np.matmul(np.ones((10, 4, 5)), np.ones((10, 5, 6))), 10 * 2 * 4 * 5 * 6),
        (lambda: np.matmul(np.ones((10, 4, 5)), np.ones((5, 6))), 10 * 2 * 4 * 5 * 6),
        (lambda: np.inner(np.ones((3, 8)), np.ones((2, 8))), 2 * 3 * 2 * 8),
        (lambda: np.vdot(np.ones((3, 8)), np.ones((3, 8))), 2 * 24),
        (lambda: np.tensordot(np.ones((2, 3, 4)), np.ones((3, 4, 5)), axes=2), 2 * 2 * 12 * 5),
        (lambda: np.tensordot(np.ones((2, 3)), np.ones((4, 5)), axes=0), 2 * 6 * 20),
        (lambda: np.einsum("bij,bjk->bik", np.ones((2, 3, 4)), np.ones((2, 4, 5))), 2 * 2 * 3 * 4 * 5),
        (lambda: np.einsum("ij,jk", np.ones((3, 4)), np.ones((4, 5))), 2 * 3 * 4 * 5),
    ],
)
def test_products(profiler: PerformanceProfiler, work: Callable[[], Any], flops: int) -> None:
    expected = work()
    with profiler.profile("x"):
        result = work()
    assert profiler.get_metrics().compute.estimated_flops == flops
    assert np.array_equal(result, expected)


def test_numpy_is_itself_again_afterwards(profiler: PerformanceProfiler) -> None:
    before = {name: getattr(np, name) for name in ("dot", "matmul", "einsum")}
    with profiler.profile("x"):
        assert np.matmul is not before["matmul"]
        assert np.matmul.nin == 2 and "matmul" in repr(np.matmul)
        with profiler.profile("y"):
            pass
        assert np.matmul is not before["matmul"]
    assert {name: getattr(np, name) for name in before} == before


def test_errors_are_numpys_own(profiler: PerformanceProfiler) -> None:
    with profiler.profile("x"):
        with pytest.raises(ValueError, match="shapes|mismatch"):
            np.dot(np.ones((2, 3)), np.ones((2, 3)))


def test_what_cannot_be_counted_is_named(profiler: PerformanceProfiler) -> None:
    with profiler.profile("x"):
        np.ones((3, 3)) @ np.ones((3, 3))
    compute = profiler.get_metrics().compute
    assert is_unknown(compute.estimated_flops)
    assert any("a @ b" in name for name in compute.uncounted)
    with profiler.profile("three"):
        np.einsum("ij,jk,kl->il", np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)))
        np.dot(np.ones((2, 2), dtype=int), np.ones((2, 2), dtype=int))
    compute = profiler.get_metrics().compute
    assert is_unknown(compute.estimated_flops) and "uncounted" in compute.estimated_flops.reason
    assert compute.uncounted["numpy.einsum"] == 1 and compute.uncounted["numpy.dot"] == 1


def test_regions_inside_one_another(profiler: PerformanceProfiler) -> None:
    with profiler.profile("outer"):
        np.dot(np.ones(10), np.ones(10))
        with profiler.profile("inner"):
            np.dot(np.ones(100), np.ones(100))
    assert profiler.get_metrics("inner").compute.estimated_flops == 200
    assert profiler.get_metrics("outer").compute.estimated_flops == 220


def test_a_region_without_arithmetic_is_unknown(profiler: PerformanceProfiler) -> None:
    with profiler.profile("sort"):
        sorted(range(10))
    assert is_unknown(profiler.get_metrics().compute.estimated_flops)
    assert f"{profiler.get_metrics().compute.estimated_flops:,}" == "unknown"
