#!/usr/bin/env python3
"""Times one operator alone, with the inputs it had in a recorded run.

Tensors have the recorded shapes, types and strides and random values; integers stay below the smallest size of the
first floating-point tensor, so that they are valid as indices. Calls go over several copies of the inputs, so that a
cache holds none of them from the call before. On a GPU, times are of the device: many calls between two events, behind
a pause that lets the host get ahead.

    python THIS_FILE [--device cuda|cpu] [--json]
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import statistics
import sys
import time

import torch

# Written by `stepscope repro`:
OP = ""
TRACE = ""
CALLS: list[dict] = []

ROUNDS = 7
# Copies of the inputs are made until they fill this, which no cache holds.
CACHE_BYTES = 256 * 2**20
MAX_COPIES = 16

DTYPES = {
    "float": torch.float32,
    "double": torch.float64,
    "c10::Half": torch.float16,
    "c10::BFloat16": torch.bfloat16,
    "bool": torch.bool,
    "unsigned char": torch.uint8,
    "signed char": torch.int8,
    "short int": torch.int16,
    "short": torch.int16,
    "int": torch.int32,
    "long int": torch.int64,
    "long": torch.int64,
    "c10::complex<float>": torch.complex64,
    "c10::complex<double>": torch.complex128,
}
for kind, name in [
    ("c10::Float8_e4m3fn", "float8_e4m3fn"),
    ("c10::Float8_e5m2", "float8_e5m2"),
    ("unsigned long", "uint64"),
    ("unsigned int", "uint32"),
]:
    if hasattr(torch, name):
        DTYPES[kind] = getattr(torch, name)


class CannotRun(Exception):
    """These inputs cannot be made again."""


def entry(call: dict, key: str, at: int):
    entries = call[key] or []
    return entries[at] if at < len(entries) else None


def index_bound(call: dict) -> int:
    """What random integers stay below: valid for every dimension of the first floating-point tensor."""
    for at, kind in enumerate(call["types"] or []):
        sizes = entry(call, "shapes", at)
        if kind in DTYPES and DTYPES[kind].is_floating_point and sizes:
            # Rows of an embedding are what it is about.
            return sizes[0] if OP.startswith("aten::embedding") and at == 0 else max(1, min(sizes))
    return 2


def tensor(sizes, strides, dtype, device, bound):
    if not strides or len(strides) != len(sizes):
        strides = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
    room = 0 if 0 in sizes else 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if dtype == torch.bool:
        memory = torch.rand(room, device=device) < 0.5
    elif dtype.is_floating_point or dtype.is_complex:
        try:
            memory = torch.randn(room, dtype=dtype, device=device)
        except (RuntimeError, NotImplementedError):
            memory = torch.randn(room, device=device).to(dtype)
    else:
        limit = min(bound, 127) if dtype in (torch.int8, torch.uint8) else bound
        memory = torch.randint(0, max(1, limit), (room,), device=device).to(dtype)
    return memory.as_strided(sizes, strides)


def literal(text: str):
    """A recorded value: `1`, `0.`, `True`, `[1, 2]`, `inf`."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return float(text)
    except ValueError:
        return text


class Absent:
    """Nothing was recorded for this input."""


def inputs(call: dict, device: str, numbers_on: str) -> list:
    """One value for each recorded input."""
    kinds = call["types"]
    if not kinds:
        raise CannotRun("the trace has no types of its inputs")
    bound = index_bound(call)
    made = []
    for at, kind in enumerate(kinds):
        sizes, strides, text = entry(call, "shapes", at), entry(call, "strides", at), entry(call, "values", at)
        if kind in DTYPES:
            # Python's own numbers are recorded as tensors without dimensions, which stay on the host.
            place = device if sizes else numbers_on
            made.append(tensor(sizes or [], strides, DTYPES[kind], place, bound))
        elif kind == "TensorList" or kind.startswith("GenericList"):
            if not sizes or not isinstance(sizes[0], list):
                raise CannotRun(f"the trace has no shapes of the tensors in input {at}, a list")
            dtype = next((DTYPES[other] for other in kinds if other in DTYPES), torch.float32)
            steps = strides if strides and len(strides) == len(sizes) else [None] * len(sizes)
            made.append([tensor(each, step, dtype, device, bound) for each, step in zip(sizes, steps)])
        elif text:
            made.append(literal(text))
        else:
            made.append(Absent)
    return made


def fits(argument, value) -> bool:
    """Whether a value can be this argument of an overload."""
    wanted = str(argument.type)
    if value is Absent:
        return argument.has_default_value() or "Optional" in wanted or "?" in wanted
    if isinstance(value, torch.Tensor):
        return "Tensor" in wanted and "List" not in wanted
    if isinstance(value, list):
        return "List" in wanted and ("Tensor" in wanted) == any(isinstance(v, torch.Tensor) for v in value)
    return "Tensor" not in wanted and "List" not in wanted


def arguments(schema, values: list) -> tuple[list, dict]:
    """The values as positional and keyword arguments; absent ones are left to their defaults."""
    positional, named = [], {}
    for argument, value in zip(schema.arguments, values):
        if value is Absent and argument.has_default_value():
            continue
        value = None if value is Absent else value
        if argument.kwarg_only or len(positional) < schema.arguments.index(argument):
            named[argument.name] = value
        else:
            positional.append(value)
    return positional, named


def overloads(call: dict, values: list) -> list:
    """Overloads that take these values, the likeliest first."""
    library, name = OP.split("::")
    try:
        packet = getattr(getattr(torch.ops, library), name)
    except AttributeError:
        raise CannotRun(f"this PyTorch has no {OP}; import the library that registers it") from None
    names = [call["overload"]] if call["overload"] in packet.overloads() else packet.overloads()
    found = [getattr(packet, each) for each in names]
    found = [
        each
        for each in found
        if len(each._schema.arguments) == len(values)
        and all(fits(argument, value) for argument, value in zip(each._schema.arguments, values))
    ]
    if not found:
        raise CannotRun("no overload takes the recorded inputs")
    return sorted(found, key=lambda each: "out" in each._overloadname)


def prepare(call: dict, device: str):
    """The operator and copies of its arguments, tried once."""
    failure: Exception = CannotRun("nothing was tried")
    for numbers_on in dict.fromkeys(["cpu", device]):
        values = inputs(call, device, numbers_on)
        for overload in overloads(call, values):
            try:
                positional, named = arguments(overload._schema, values)
                overload(*positional, **named)
            except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
                failure = error
                continue
            bytes_of = sum(v.numel() * v.element_size() for v in flat(values))
            copies = max(1, min(MAX_COPIES, CACHE_BYTES // max(1, bytes_of)))
            made = [(positional, named)]
            for _ in range(copies - 1):
                made.append(arguments(overload._schema, inputs(call, device, numbers_on)))
            return overload, made
    raise CannotRun(str(failure).strip().split("\n")[0])


def flat(values: list):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list):
            yield from flat(value)


def time_on_device(overload, copies: list, expected_ns: float) -> float:
    """Nanoseconds of one call."""
    calls = max(10, min(200, int(20e6 / max(1.0, expected_ns))))
    rounds = []
    for _ in range(ROUNDS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        # The host fills the queue while the device does nothing: about 25 µs for each call.
        if hasattr(torch.cuda, "_sleep"):
            torch.cuda._sleep(int(calls * 50_000))
        start.record()
        for at in range(calls):
            positional, named = copies[at % len(copies)]
            overload(*positional, **named)
        end.record()
        torch.cuda.synchronize()
        rounds.append(start.elapsed_time(end) * 1e6 / calls)
    return statistics.median(rounds)


def time_on_host(overload, copies: list) -> float:
    times, begun = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - begun < 0.5 and len(times) < 1000):
        positional, named = copies[len(times) % len(copies)]
        start = time.perf_counter_ns()
        overload(*positional, **named)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times)


def microseconds(ns: float) -> str:
    return f"{ns / 1e3:.1f} us"


def main() -> int:
    parser = argparse.ArgumentParser(description=f"Times {OP} alone.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    on_gpu = options.device.startswith("cuda")
    where = torch.cuda.get_device_name(options.device) if on_gpu else "CPU"
    if not options.json:
        print(f"{OP} on {where}, PyTorch {torch.__version__}; recorded in {TRACE}")
    results = []
    for call in CALLS:
        recorded = call["device_ns"] or call["host_ns"]
        result = {"shapes": call["shapes"], "types": call["types"], "calls": call["calls"], "recorded_ns": recorded}
        try:
            with torch.no_grad():
                overload, copies = prepare(call, options.device)
                for _ in range(3):
                    for positional, named in copies:
                        overload(*positional, **named)
                here = time_on_device(overload, copies, recorded) if on_gpu else time_on_host(overload, copies)
            result.update({"here_ns": here, "overload": overload._overloadname})
        except (CannotRun, torch.cuda.OutOfMemoryError) as error:
            result["failure"] = str(error).split("\n")[0]
        results.append(result)
        if options.json:
            continue
        side = "" if call["device_ns"] else " on the host"
        times = f"here {microseconds(result['here_ns'])}" if "here_ns" in result else f"not here: {result['failure']}"
        print(f"  in the trace {microseconds(recorded)}{side}, {times}; {call['calls']} calls")
        print(f"    {' '.join(str(sizes) for sizes in call['shapes'] if sizes)}")
    if options.json:
        print(json.dumps({"op": OP, "device": where, "results": results}))
    return 0 if any("here_ns" in result for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
