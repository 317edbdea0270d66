"""JAX's compiled functions, beside what XLA says of the same programs and what can be worked out by hand."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import threading
from typing import Any, Callable

import pytest

from stepscope import PerformanceProfiler, StepscopeError
from stepscope.performance import count_jax, is_unknown

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
lax = jax.lax


@pytest.fixture
def profiler() -> PerformanceProfiler:
    return PerformanceProfiler(track_gpu=False, track_system=False, estimate_flops=True)


def xla_flops(function: Callable[..., Any], *args: Any) -> float:
    found = jax.jit(function).lower(*args).cost_analysis()
    return float((found[0] if isinstance(found, list) else found)["flops"])


def convolve(x: Any, kernel: Any, stride: int = 1, padding: str = "VALID", groups: int = 1) -> Any:
    return lax.conv_general_dilated(x, kernel, (stride, stride), padding, feature_group_count=groups)


def ones(*shape: int) -> Any:
    return jnp.ones(shape)


def test_a_product_worked_out_by_hand(profiler: PerformanceProfiler) -> None:
    product = count_jax(jax.jit(lambda a, b: a @ b))
    a, b = ones(32, 64), ones(64, 16)
    with profiler.profile("product"):
        for _ in range(5):
            result = product(a, b)
    compute = profiler.get_metrics().compute
    assert compute.estimated_flops == 5 * 2 * 32 * 64 * 16
    assert compute.flops_per_second > 0
    assert bool((result == 64).all())


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda a, b: a @ b, [ones(32, 64), ones(64, 16)]),
        (lambda a, b: jnp.einsum("bij,bjk->bik", a, b), [ones(3, 4, 5), ones(3, 5, 6)]),
        (lambda a, b: jnp.dot(a, b), [ones(7), ones(7)]),
        (lambda a, b: jnp.dot(a, b), [ones(4, 5).astype("bfloat16"), ones(5, 6).astype("bfloat16")]),
        (lambda a, b: a @ b, [ones(4, 5).astype("complex64"), ones(5, 6).astype("complex64")]),
        (jax.grad(lambda a, b: (a @ b).sum(), argnums=(0, 1)), [ones(32, 64), ones(64, 16)]),
        (jax.vmap(lambda a, b: a @ b), [ones(10, 4, 5), ones(10, 5, 6)]),
        (convolve, [ones(2, 3, 8, 8), ones(4, 3, 3, 3)]),
        (lambda x, k: convolve(x, k, stride=2), [ones(2, 3, 9, 9), ones(4, 3, 3, 3)]),
        (lambda x, k: convolve(x, k, groups=2), [ones(2, 4, 8, 8), ones(6, 2, 3, 3)]),
        # Linear, so that no element-wise work gets in between: the two products of the gradient alone.
        (jax.grad(lambda x, k: convolve(x, k).sum(), argnums=(0, 1)), [ones(2, 3, 8, 8), ones(4, 3, 3, 3)]),
        (jax.grad(lambda x, k: convolve(x, k, 2).sum(), argnums=(0, 1)), [ones(2, 3, 9, 9), ones(4, 3, 3, 3)]),
        (jax.checkpoint(lambda a: a @ a @ a), [ones(8, 8)]),
    ],
)
def test_the_same_as_xla(profiler: PerformanceProfiler, function: Callable[..., Any], args: list[Any]) -> None:
    counted = count_jax(jax.jit(function))
    with profiler.profile("x"):
        counted(*args)
    flops = profiler.get_metrics().compute.estimated_flops
    assert flops == xla_flops(function, *args) > 0
    assert counted.flops(*args) == flops


@pytest.mark.parametrize("stride", [1, 2])
def test_a_padded_convolution_counts_as_in_pytorch(stride: int) -> None:
    """XLA leaves out products with the padding; PyTorch's formula, and so the one here, does not."""
    x, kernel = ones(2, 3, 8, 8), ones(4, 3, 3, 3)
    forward = 2 * (2 * 4 * (8 // stride) ** 2) * (3 * 3 * 3)
    padded = jax.jit(lambda x, kernel: convolve(x, kernel, stride, "SAME"))
    assert count_jax(padded).flops(x, kernel) == forward > xla_flops(padded, x, kernel)
    loss = jax.grad(lambda x, kernel: (padded(x, kernel) ** 2).sum(), argnums=(0, 1))
    assert count_jax(jax.jit(loss)).flops(x, kernel) == 3 * forward


def test_a_loop_counts_as_often_as_it_turns(profiler: PerformanceProfiler) -> None:
    """XLA counts a loop's body once; of a loop that is written out it counts all."""

    def turns(x: Any, unroll: int) -> Any:
        return lax.scan(lambda carry, _: (carry @ carry, None), x, None, length=10, unroll=unroll)[0]

    x = ones(16, 16)
    loop = count_jax(jax.jit(lambda x: turns(x, 1)))
    assert xla_flops(lambda x: turns(x, 1), x) < 10 * 2 * 16**3
    # Some versions of JAX keep the loop's counter, which XLA counts.
    assert loop.flops(x) == 10 * 2 * 16**3
    assert loop.flops(x) == pytest.approx(xla_flops(lambda x: turns(x, 10), x), abs=4)
    with_a_range = count_jax(jax.jit(lambda x: lax.fori_loop(0, 10, lambda _, carry: carry @ carry, x)))
    assert with_a_range.flops(x) == 10 * 2 * 16**3
    inside = count_jax(jax.jit(lambda x: lax.fori_loop(0, 3, lambda _, carry: turns(carry, 1), x)))
    assert inside.flops(x) == 3 * 10 * 2 * 16**3
    # Of each turn's gradient XLA adds up two halves, element by element; here the products alone count.
    gradient = count_jax(jax.jit(jax.grad(lambda x: turns(x, 1).sum())))
    by_xla = xla_flops(jax.grad(lambda x: turns(x, 10).sum()), x) - 10 * 16 * 16
    assert gradient.flops(x) == pytest.approx(by_xla, abs=20)


def test_what_nothing_depends_on_is_left_out() -> None:
    def half_used(x: Any) -> Any:
        unused = x @ x @ x
        # The second of what is carried feeds nothing but itself.
        kept, _ = lax.fori_loop(0, 5, lambda _, both: (both[0] @ x, both[1] @ unused), (x, x))
        return kept

    x = ones(8, 8)
    assert count_jax(jax.jit(half_used)).flops(x) == 5 * 2 * 8**3
    inner = jax.jit(lambda x: (x @ x, x @ x @ x))
    assert count_jax(jax.jit(lambda x: inner(x)[0])).flops(x) == 2 * 8**3


def test_what_the_values_decide_is_named(profiler: PerformanceProfiler) -> None:
    def until(x: Any) -> Any:
        return lax.while_loop(lambda both: both[0] < x[0, 0], lambda both: (both[0] + 1, both[1] @ x), (0.0, x))[1]

    def either(x: Any) -> Any:
        return lax.cond(x[0, 0] > 0, lambda y: y @ y, lambda y: y @ y @ y, x)

    x = ones(8, 8)
    for function, name in ((until, "jax.while"), (either, "jax.cond")):
        counted = count_jax(jax.jit(lambda x, function=function: function(x) @ x))
        with profiler.profile(name):
            counted(x)
        compute = profiler.get_metrics().compute
        assert compute.uncounted[name] == 1
        assert compute.estimated_flops == 2 * 8**3 * (2 if function is either else 1)
        assert is_unknown(counted.flops(x)) and name in counted.flops(x).reason
    same = count_jax(jax.jit(lambda x: lax.cond(x[0, 0] > 0, lambda y: y @ y, lambda y: y @ (y + 1), x)))
    assert same.flops(x) == 2 * 8**3


def test_elementwise_and_whole_numbers_are_named_and_not_counted(profiler: PerformanceProfiler) -> None:
    counted = count_jax(jax.jit(lambda a, n: (jnp.tanh(a), n @ n)))
    with profiler.profile("x"):
        counted(ones(4, 4), jnp.ones((4, 4), int))
    compute = profiler.get_metrics().compute
    assert is_unknown(compute.estimated_flops) and "uncounted" in compute.estimated_flops.reason
    assert compute.uncounted["jax.tanh"] == 1 and compute.uncounted["jax.dot_general"] == 1
    assert "jax.tanh" in counted.flops(ones(4, 4), jnp.ones((4, 4), int)).reason


def test_what_is_not_wrapped_is_unknown_and_says_what_to_do(profiler: PerformanceProfiler) -> None:
    product = jax.jit(lambda a: a @ a)
    with profiler.profile("x"):
        product(ones(8, 8))
    flops = profiler.get_metrics().compute.estimated_flops
    assert is_unknown(flops)
    assert "count_jax" in flops.reason
    assert "count_jax" in profiler.get_metrics().missing["compute.estimated_flops"]


def test_regions_inside_one_another_and_other_profilers(profiler: PerformanceProfiler) -> None:
    other = PerformanceProfiler(track_gpu=False, track_system=False, estimate_flops=True)
    without = PerformanceProfiler(track_gpu=False, track_system=False)
    product = count_jax(jax.jit(lambda a: a @ a))
    product(ones(4, 4))
    with profiler.profile("outer"), other.profile("also"), without.profile("times"):
        product(ones(4, 4))
        with profiler.profile("inner"):
            product(ones(8, 8))
    assert profiler.get_metrics("inner").compute.estimated_flops == 2 * 8**3
    both = 2 * 4**3 + 2 * 8**3
    assert profiler.get_metrics("outer").compute.estimated_flops == both
    assert other.get_metrics("also").compute.estimated_flops == both
    assert is_unknown(without.get_metrics("times").compute.estimated_flops)


def test_each_thread_has_its_own_count(profiler: PerformanceProfiler) -> None:
    product = count_jax(jax.jit(lambda a: a @ a))

    def work(size: int) -> None:
        with profiler.profile(f"size {size}"):
            for _ in range(5):
                product(ones(size, size))

    threads = [threading.Thread(target=work, args=(size,)) for size in (8, 16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for size in (8, 16):
        assert profiler.get_metrics(f"size {size}").compute.estimated_flops == 5 * 2 * size**3


def test_the_program_is_traced_no_more_often_than_without(profiler: PerformanceProfiler) -> None:
    traced: list[int] = []

    def power(x: Any, times: int, offset: float) -> Any:
        traced.append(times)
        for _ in range(times):
            x = x @ x
        return x + offset

    counted = count_jax(jax.jit(power, static_argnums=1, donate_argnums=0))
    with profiler.profile("x"):
        for times in (1, 2, 1, 2):
            # A new number each time: JAX does not trace again for it.
            counted(ones(4, 4), times, float(len(traced)))
    assert traced == [1, 2]
    assert profiler.get_metrics().compute.estimated_flops == (1 + 2 + 1 + 2) * 2 * 4**3


def test_inside_another_compiled_function_only_the_outer_counts(profiler: PerformanceProfiler) -> None:
    inner = count_jax(jax.jit(lambda a: a @ a))
    outer = count_jax(jax.jit(lambda a: inner(a) @ a))
    with profiler.profile("x"):
        outer(ones(4, 4))
    assert profiler.get_metrics().compute.estimated_flops == 2 * 2 * 4**3
    gradient = count_jax(jax.jit(jax.grad(lambda a: inner(a).sum())))
    assert gradient.flops(ones(4, 4)) == 2 * 2 * 4**3


def test_errors_are_jaxs_own(profiler: PerformanceProfiler) -> None:
    counted = count_jax(jax.jit(lambda a, b: a @ b))
    with pytest.raises(TypeError) as own:
        jax.jit(lambda a, b: a @ b)(ones(2, 3), ones(2, 3))
    with profiler.profile("x"):
        with pytest.raises(TypeError) as ours:
            counted(ones(2, 3), ones(2, 3))
    assert str(ours.value) == str(own.value)
    assert is_unknown(counted.flops(ones(2, 3), ones(2, 3)))
    assert "could not trace" in counted.flops(ones(2, 3), ones(2, 3)).reason


def test_it_stays_the_function_that_it_was() -> None:
    def double(x: Any) -> Any:
        """Twice as much."""
        return x * 2

    counted = count_jax(jax.jit(double))
    assert counted.__name__ == "double" and counted.__doc__ == "Twice as much."
    assert counted.lower(ones(2)).compile()(ones(2)).tolist() == [2.0, 2.0]
    assert count_jax(counted) is counted
    assert copy.copy(counted)(ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(AttributeError):
        counted.nothing_of_this_name
    with pytest.raises(StepscopeError, match="jax.jit"):
        count_jax(double)

    class Model:
        scale = 3.0

        @count_jax
        @jax.jit
        def __call__(self, x: Any) -> Any:
            return x * self.scale

    jax.tree_util.register_pytree_node(Model, lambda model: ((), None), lambda *_: Model())
    assert Model()(ones(2)).tolist() == [3.0, 3.0]


def test_shapes_are_enough(profiler: PerformanceProfiler) -> None:
    counted = count_jax(jax.jit(lambda a, b: a @ b))
    large = jax.ShapeDtypeStruct((100_000, 100_000), jnp.float32)
    assert counted.flops(large, large) == 2 * 100_000**3
    np = pytest.importorskip("numpy", reason="numpy is not installed")
    with profiler.profile("x"):
        counted(np.ones((3, 4), "float32"), b=np.ones((4, 5), "float32"))
    assert profiler.get_metrics().compute.estimated_flops == 2 * 3 * 4 * 5


def test_what_runs_on_each_of_several_devices_counts_for_each() -> None:
    """In a process of its own: JAX takes the number of devices when it starts."""
    program = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from stepscope.performance import count_jax
try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map
mesh = Mesh(np.array(jax.devices()), ("x",))
split = shard_map(lambda a, b: a @ b, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
print(len(jax.devices()), count_jax(jax.jit(split)).flops(jnp.ones((8, 16)), jnp.ones((16, 4))))
"""
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["4", str(2 * 8 * 16 * 4)], done.stderr
