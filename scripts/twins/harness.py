"""Runs the two programs of a pair in processes of their own, times them in turns, and records each.

A sceptic's measurement: without a profiler, the two programs alternate round by round, and so does which goes first, so
that a clock that drifts or a neighbor on the machine hits both alike. Every round's time is kept.
"""

import contextlib
import gc
import json
import math
import multiprocessing
import os
import platform
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch.profiler import ProfilerActivity, profile, schedule

ROUNDS = 8
# A cold program compiles anew in every round, for many seconds.
COLD_ROUNDS = 3
SECONDS_PER_TURN = 0.2
WARM_UP_SECONDS = 0.5
# With shapes, and as PyTorch records by default.
RECORDINGS = {"shapes": {"record_shapes": True}, "plain": {}}
SETS = {"seen": {}, "unseen": {}, "fresh": {}, "blind": {}, "traps": {}, "healthy": {}}


@dataclass
class Case:
    """Two programs: `build(True)` has the fault, `build(False)` has not; a healthy one has only the latter.

    Gives a step and the number of samples it takes in. `rules` are those that name the fault, any of them. `cold`
    programs are timed from their first step on, over as many steps as are recorded. `settings` are further arguments of
    `build`.
    """

    build: Callable
    rules: tuple = ()
    fault: str = ""
    fix: str = ""
    active: int = 3
    cold: bool = False
    options: dict = field(default_factory=dict)
    fixed_options: dict | None = None
    settings: dict = field(default_factory=dict)


def case(rules, unseen, **told):
    """Adds a pair to the half that may be looked at, and its counterpart to the other.

    The defaults of the function's arguments are those of the first; `unseen` has the other's, and the fields of `Case`
    that differ there.
    """
    fields = {name: value for name, value in unseen.items() if name in Case.__dataclass_fields__}
    settings = {name: value for name, value in unseen.items() if name not in fields}

    def register(build):
        name, rule = build.__name__, tuple(rules.split())
        SETS["seen"][name] = Case(build, rule, **told)
        SETS["unseen"][name] = Case(**({"build": build, "rules": rule} | told | fields), settings=settings)
        return build

    return register


def trap(**told):
    """Adds a pair whose fix looks right and gains nothing."""

    def register(build):
        SETS["traps"][build.__name__] = Case(build, **told)
        return build

    return register


def healthy(build):
    """Adds a program with nothing to find."""
    SETS["healthy"][build.__name__] = Case(lambda faulty: build())
    return build


# ------------------------------------------------------------------------------------------------ inside a process


@contextlib.contextmanager
def fresh_program(it, faulty):
    """Builds a program in the settings all cases share, and clears up after it."""
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    with contextlib.ExitStack() as stack:
        if it.cold:
            from torch._inductor.utils import fresh_cache

            torch.compiler.reset()
            stack.enter_context(fresh_cache())
        yield it.build(faulty, **it.settings)
    gc.unfreeze()
    gc.collect()
    torch.cuda.empty_cache()


def ms_per_step(step, count):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / count


def record(it, step, options, trace):
    """Records `active` steps into the file `trace`, after warm-up steps that a cold program goes without."""
    wait, warm = (0, 1) if it.cold else (1, 2)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=False, **options,
                 schedule=schedule(wait=wait, warmup=warm, active=it.active, repeat=1)) as prof:
        for number in range(wait + warm + it.active):
            if not it.cold or number >= wait + warm:
                step()
            prof.step()
    prof.export_chrome_trace(trace)


def options_of(it, faulty, how):
    own = it.options if faulty or it.fixed_options is None else it.fixed_options
    return RECORDINGS[how] | own


def serve(it, faulty, folder, pipe):
    """One program's process: does what it is asked until it is asked to end."""
    try:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):  # The profiler's own start.
            torch.ones(1, device="cuda")
        variant = "fault" if faulty else "fixed"
        with contextlib.ExitStack() as stack:
            if it.cold:
                count = it.active
            else:
                step, samples = stack.enter_context(fresh_program(it, faulty))
                ms_per_step(step, it.active)
                rough = ms_per_step(step, it.active)
                ms_per_step(step, math.ceil(1e3 * WARM_UP_SECONDS / rough))
                # Whole rounds of what a program does only every few steps.
                count = it.active * math.ceil(1e3 * SECONDS_PER_TURN / rough / it.active)
            pipe.send(("ready", count))
            while (asked := pipe.recv()) != "end":
                if asked == "turn" and it.cold:
                    with fresh_program(it, faulty) as (step, samples):
                        pipe.send(("ms", ms_per_step(step, count)))
                elif asked == "turn":
                    step()  # The other program may have emptied a cache.
                    pipe.send(("ms", ms_per_step(step, count)))
                elif asked == "samples":
                    pipe.send(("samples", samples))
                else:
                    trace = os.path.join(folder, f"{variant}.{asked}.json")
                    with fresh_program(it, faulty) if it.cold else contextlib.nullcontext((step, samples)) as (step, _):
                        record(it, step, options_of(it, faulty, asked), trace)
                    pipe.send(("size", os.path.getsize(trace)))
        pipe.send(("bye", 0))
    except BaseException:
        pipe.send(("failed", traceback.format_exc()))


# ---------------------------------------------------------------------------------------------- from the outside


class Program:
    """A program in a process of its own."""

    def __init__(self, it, faulty, folder):
        self.pipe, other = multiprocessing.Pipe()
        # Forked before anything here has touched the GPU: importing PyTorch once for all saves minutes.
        self.process = multiprocessing.get_context("fork").Process(target=serve, args=(it, faulty, folder, other))
        self.process.start()
        other.close()
        self.steps = self.answer()

    def answer(self):
        word, value = self.pipe.recv()
        if word == "failed":
            raise RuntimeError(value)
        return value

    def ask(self, what):
        self.pipe.send(what)
        return self.answer()

    def kill(self):
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


def quartiles(values):
    return [round(q, 4) for q in statistics.quantiles(values, n=4, method="inclusive")]


def run(kind, name, it, folder):
    """Times and records one case into `folder`; `answers.json` has every round."""
    os.makedirs(folder, exist_ok=True)
    answers = {
        "case": name, "set": kind, "rules": it.rules, "fault_is": it.fault, "fix_is": it.fix,
        "torch": torch.__version__, "cuda": torch.version.cuda, "python": platform.python_version(),
        "steps_recorded": it.active,
    }
    variants = ["fixed"] if kind == "healthy" else ["fault", "fixed"]
    programs = {}
    try:
        for variant in variants:
            programs[variant] = Program(it, variant == "fault", folder)
        rounds = {variant: [] for variant in variants}
        for number in range(COLD_ROUNDS if it.cold else ROUNDS):
            for variant in variants if number % 2 == 0 else variants[::-1]:
                rounds[variant].append(programs[variant].ask("turn"))
        for variant in variants:
            program = programs[variant]
            sizes = {how: program.ask(how) for how in RECORDINGS}
            samples = program.ask("samples")
            answers[variant] = {
                "step_ms": round(statistics.median(rounds[variant]), 4),
                "step_ms_rounds": [round(ms, 4) for ms in rounds[variant]],
                "steps_per_round": program.steps,
                "samples_per_step": samples,
                "profiler": {how: options_of(it, variant == "fault", how) for how in RECORDINGS},
                "bytes": sizes,
            }
            program.ask("end")
    finally:
        for program in programs.values():
            program.kill()
    if kind != "healthy":
        # What the fix saved, round by round: neighbors in time share the machine's mood.
        fault, fixed = answers["fault"], answers["fixed"]
        ratio = fault["samples_per_step"] / fixed["samples_per_step"]
        saved = [1 - b * ratio / a for a, b in zip(rounds["fault"], rounds["fixed"], strict=True)]
        answers["saved"] = round(statistics.median(saved), 4)
        answers["saved_rounds"] = [round(share, 4) for share in saved]
        answers["saved_quartiles"] = quartiles(saved)
    with open(os.path.join(folder, "answers.json"), "w") as file:
        json.dump(answers, file, indent=1)
        file.write("\n")
    return answers
