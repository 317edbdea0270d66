"""PyTorch's operations, beside PyTorch's own counter."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from stepscope import PerformanceProfiler
from stepscope.performance import is_unknown

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
nn = torch.nn


@pytest.fixture
def profiler() -> PerformanceProfiler:
    return PerformanceProfiler(track_gpu=False, track_system=False, estimate_flops=True)


def test_a_perceptron_worked_out_by_hand(profiler: PerformanceProfiler) -> None:
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    with profiler.profile("model_complexity"):
        model(torch.randn(32, 784))
    compute = profiler.get_metrics().compute
    assert compute.estimated_flops == 2 * 32 * (784 * 512 + 512 * 10) == 26_017_792
    assert compute.parameters == 784 * 512 + 512 + 512 * 10 + 10 == 407_050
    assert f"{compute.flops_per_param:.1f}" == "63.9"
    assert f"{compute.estimated_flops:,}" == "26,017,792"
    assert compute.uncounted["torch.relu"] == 1


class Small(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        x = self.norm(self.conv(x)).flatten(2)
        x, _ = self.attention(x[..., :16], x[..., :16], x[..., :16], need_weights=False)
        return torch.einsum("bsd,de->bse", x, self.head.weight.T)


@pytest.mark.parametrize("training", [True, False])
def test_the_same_as_pytorchs_own_counter(profiler: PerformanceProfiler, training: bool) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    model = Small().train(training)
    x = torch.randn(2, 3, 8, 8)

    def work() -> Any:
        with torch.enable_grad() if training else torch.inference_mode():
            out = model(x)
            if training:
                out.square().mean().backward()
            return out

    with FlopCounterMode(display=False) as own:
        expected = work()
    with profiler.profile("x"):
        result = work()
    assert profiler.get_metrics().compute.estimated_flops == own.get_total_flops() > 0
    if not training:
        assert torch.allclose(result, expected)


def test_regions_inside_one_another_and_the_backward_pass(profiler: PerformanceProfiler) -> None:
    model = nn.Linear(10, 20)
    with profiler.profile("step"):
        with profiler.profile("forward"):
            loss = model(torch.randn(5, 10)).sum()
        with profiler.profile("backward"):
            loss.backward()
    forward = 2 * 5 * 10 * 20
    assert profiler.get_metrics("forward").compute.estimated_flops == forward
    assert profiler.get_metrics("backward").compute.estimated_flops == forward  # of the weight alone
    assert profiler.get_metrics("step").compute.estimated_flops == 2 * forward
    assert is_unknown(profiler.get_metrics("backward").compute.flops_per_param)


def test_shared_parameters_count_once_and_unused_ones_not(profiler: PerformanceProfiler) -> None:
    model = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4), "unused": nn.Linear(100, 100)})
    model["b"].weight = model["a"].weight
    with profiler.profile("x"):
        for _ in range(3):
            model["b"](model["a"](torch.ones(1, 4)))
    assert profiler.get_metrics().compute.parameters == 16 + 4 + 4


def test_nothing_of_it_stays(profiler: PerformanceProfiler) -> None:
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    with pytest.raises(RuntimeError):
        with profiler.profile("x"):
            assert len(_get_current_dispatch_mode_stack()) == 1
            nn.Linear(3, 3)(torch.ones(1, 4))
    assert len(_get_current_dispatch_mode_stack()) == 0
    assert profiler.get_metrics("x").failed == 1


def test_each_thread_has_its_own_count(profiler: PerformanceProfiler) -> None:
    def work(size: int) -> None:
        with profiler.profile(f"size {size}"):
            for _ in range(5):
                torch.ones(size, size) @ torch.ones(size, size)

    threads = [threading.Thread(target=work, args=(size,)) for size in (8, 16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for size in (8, 16):
        assert profiler.get_metrics(f"size {size}").compute.estimated_flops == 5 * 2 * size**3


def test_operations_over_operations_run_as_they_are(profiler: PerformanceProfiler) -> None:
    """torch.cond runs one branch, not both; what is inside is not counted, and said so."""
    cond = pytest.importorskip("torch._higher_order_ops.cond", reason="this version of PyTorch has no torch.cond")
    ran = []

    def yes(x: Any) -> Any:
        ran.append("yes")
        return x @ x

    def no(x: Any) -> Any:
        ran.append("no")
        return x @ x @ x

    x = torch.ones(4, 4)
    with profiler.profile("x"):
        try:
            result = cond.cond_op(torch.tensor(True), yes, no, (x,))
        except Exception as error:  # what PyTorch itself says without a compiler is not ours to test
            pytest.skip(f"cond_op does not run here: {type(error).__name__}")
    assert torch.equal(result, x @ x)
    assert ran == ["yes"]
