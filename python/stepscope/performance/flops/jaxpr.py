"""How much arithmetic a function of JAX does, read off the program that JAX traced (its jaxpr).

The convention is PyTorch's: two operations for a multiply and add, products and convolutions only, nothing for
element-wise work. XLA's own ``cost_analysis()`` counts the body of a loop once, however often it turns; here a ``scan``
counts as often as it turns. What no output depends on does not count: the compiler drops it.

Over all devices: a traced program is of whole arrays, and what is traced for one device of many counts for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Callable

Live = list[bool]
"""For each value, whether anything depends on it."""

# They move or make numbers and work none out, so that they are not missing from a count.
_NO_ARITHMETIC = frozenset(
    (
        "broadcast_in_dim reshape transpose slice dynamic_slice dynamic_update_slice squeeze expand_dims concatenate"
        " pad gather scatter iota copy copy_p convert_element_type bitcast_convert_type select_n rev split"
        " stop_gradient device_put sharding_constraint optimization_barrier reduce_precision random_bits random_seed"
        " random_wrap random_unwrap random_fold_in random_split threefry2x32 pvary pbroadcast reshard mesh_cast empty"
        " create_token eq ne lt le gt ge and or not is_finite name debug_callback layout_constraint"
        " all_gather all_to_all ppermute"
    ).split()
)
# They run one inner program with their own inputs and outputs, by the parameter that holds it.
_CALLS: dict[str, str] = {
    "pjit": "jaxpr",
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}


class Work:
    """The arithmetic of a program."""

    __slots__ = ("flops", "operations", "uncounted", "not_whole")

    def __init__(self) -> None:
        self.flops = 0
        self.operations = 0
        self.uncounted: dict[str, int] = {}
        self.not_whole: list[str] = []
        """Of what is uncounted, that which may hold products."""

    def add(self, other: Work, times: int = 1) -> None:
        """What runs ``times`` as well."""
        self.flops += other.flops * times
        self.operations += other.operations * times
        for name, each in other.uncounted.items():
            self.uncounted[name] = self.uncounted.get(name, 0) + each * times
        self.not_whole += [name for name in other.not_whole if name not in self.not_whole]

    def leave_out(self, name: str, may_hold_products: bool = False) -> None:
        """Something ran whose operations are not known."""
        self.uncounted[name] = self.uncounted.get(name, 0) + 1
        if may_hold_products and name not in self.not_whole:
            self.not_whole.append(name)


def work_of(closed: Any, is_float: Callable[[Any], bool]) -> Work:
    """The arithmetic of a traced program; ``is_float`` tells whether a dtype is of floating-point numbers."""
    outputs = getattr(closed, "jaxpr", closed).outvars
    return _Reader(is_float).program(closed, [True] * len(outputs))[0]


def product_flops(first: Sequence[int], out: Sequence[int], summed: Sequence[int]) -> int:
    """Each number of the result is a sum over the axes ``summed`` of the first operand.

    >>> product_flops((4, 5), (4, 6), [1])
    240
    """
    return 2 * prod(out) * prod(first[axis] for axis in summed)


def convolution_flops(image: Sequence[int], kernel: Sequence[int], out: Sequence[int], numbers: Any) -> int:
    """Each position takes one product with each place of the kernel.

    Positions are those of the result; of a convolution that spreads its input out (a transposed one, and the gradient
    of one with a stride) those of the input, since the rest are zeros.
    """
    positions: int = prod(
        min(image[here], out[there]) for here, there in zip(numbers.lhs_spec[2:], numbers.out_spec[2:])
    )
    batch_and_features: int = out[numbers.out_spec[0]] * out[numbers.out_spec[1]]
    places: int = prod(kernel[axis] for axis in numbers.rhs_spec[1:])
    return 2 * batch_and_features * positions * places


class _Reader:
    """Goes through a program from its end, so that what nothing depends on is left out."""

    def __init__(self, is_float: Callable[[Any], bool]) -> None:
        self._is_float = is_float

    def program(self, closed: Any, outputs: Live) -> tuple[Work, Live]:
        """The work behind the outputs that are live, and which inputs they depend on."""
        jaxpr = getattr(closed, "jaxpr", closed)
        # By identity: constants among the values cannot be hashed.
        live = {id(value) for value, used in zip(jaxpr.outvars, outputs) if used}
        work = Work()
        for equation in reversed(jaxpr.eqns):
            needed = [id(value) in live for value in equation.outvars]
            if not any(needed) and not equation.effects:
                continue
            found, inputs = self._equation(equation, needed)
            work.add(found)
            live.update(id(value) for value, used in zip(equation.invars, inputs) if used)
        return work, [id(value) in live for value in jaxpr.invars]

    def _equation(self, equation: Any, needed: Live) -> tuple[Work, Live]:
        name, parameters = str(equation.primitive.name), equation.params
        if name in _CALLS and _CALLS[name] in parameters:
            return self.program(parameters[_CALLS[name]], needed)
        if name == "scan":
            return self._scan(parameters, needed)
        if name == "cond":
            return self._cond(parameters, needed)
        work = Work()
        all_inputs = [True] * len(equation.invars)
        if name == "shard_map":
            inner = parameters["jaxpr"]
            work.add(self.program(inner, [True] * len(inner.outvars))[0], _shards(parameters))
        elif name == "while":
            # How often it turns is decided by its values.
            body = self.program(parameters["body_jaxpr"], needed)[0]
            if body.operations or body.uncounted:
                work.leave_out("jax.while", may_hold_products=bool(body.operations or body.not_whole))
        elif name in ("dot_general", "conv_general_dilated") and self._is_float(equation.outvars[0].aval.dtype):
            work.operations = 1
            work.flops = _flops_of(name, equation)
        elif name not in _NO_ARITHMETIC:
            holds_a_program = any(hasattr(value, "eqns") for value in parameters.values())
            work.leave_out(f"jax.{name}", holds_a_program or name in ("ffi_call", "ragged_dot_general", "ragged_dot"))
        return work, all_inputs

    def _scan(self, parameters: Any, needed: Live) -> tuple[Work, Live]:
        constants, carried = parameters["num_consts"], parameters["num_carry"]
        carry, collected = list(needed[:carried]), needed[carried:]
        while True:
            work, inputs = self.program(parameters["jaxpr"], carry + collected)
            # What a turn needs of the turn before is live too.
            wider = [now or before for now, before in zip(carry, inputs[constants : constants + carried])]
            if wider == carry:
                break
            carry = wider
        whole = Work()
        whole.add(work, int(parameters["length"]))
        return whole, [*inputs[:constants], *carry, *inputs[constants + carried :]]

    def _cond(self, parameters: Any, needed: Live) -> tuple[Work, Live]:
        branches = [self.program(branch, needed) for branch in parameters["branches"]]
        works = [work for work, _ in branches]
        cheapest = min(works, key=lambda work: work.flops)
        found = Work()
        found.add(cheapest)
        if any(work.flops != cheapest.flops for work in works):
            # Which branch runs is decided by its values; so much ran at least.
            found.leave_out("jax.cond", may_hold_products=True)
        return found, [True, *(any(used) for used in zip(*(inputs for _, inputs in branches)))]


def _flops_of(name: str, equation: Any) -> int:
    first, second = (value.aval.shape for value in equation.invars[:2])
    out, numbers = equation.outvars[0].aval.shape, equation.params["dimension_numbers"]
    if name == "dot_general":
        return product_flops(first, out, numbers[0][0])
    return convolution_flops(first, second, out, numbers)


def _shards(parameters: Any) -> int:
    """How many devices run the inner program of a ``shard_map``."""
    sizes: dict[Any, int] = dict(parameters["mesh"].shape)
    split = parameters.get("manual_axes")
    if split is None:
        split = set(sizes) - set(parameters.get("auto", ()))
    return prod(sizes[axis] for axis in split)
