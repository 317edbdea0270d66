"""Runs the tests in stages, and says at the end what they did and how long each took.

    run.py all         what `make test` runs
    run.py fast        Rust, UI logic and Python in place: no browser, no frameworks
    run.py python      the Python package alone, as users get it
    run.py nightly     everything, with what is too slow for every change
    run.py clocks      what watches processes and clocks in Rust; python-clocks: in Python

With --busy an endless loop runs beside them on every core, and nothing is tried twice: what fails then depends on luck.
Every runner writes JUnit into target/test-report, next to the table (report.txt) and the times of this run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

import report
from stages import ENVIRONMENTS, GROUPS, Stage, environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/test-report"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--busy", action="store_true", help="beside an endless loop on every core, without second tries")
    parser.add_argument("--times", type=int, default=1, help="how often to run what is not a build")
    chosen = parser.parse_args()
    group = chosen.group
    os.chdir(ROOT)
    if group == "nightly":
        os.environ["STEPSCOPE_NIGHTLY"] = "1"
    if chosen.busy:
        os.environ["STEPSCOPE_BUSY"] = "1"
    stages = in_rounds(GROUPS[group], chosen.times)
    print_plan(group, stages)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    os.environ["STEPSCOPE_RETRIED"] = str(FOLDER / "retried.txt")

    # Downloads take minutes and hardly any processor time: they run while Rust compiles.
    needed = {name for stage in stages for name in stage.needs}
    threading.Thread(target=make_environments, args=([name for name in ENVIRONMENTS if name in needed],), daemon=True).start()
    done = run(stages)
    (FOLDER / "stages.json").write_text(json.dumps(done, indent=1))
    if not chosen.busy and chosen.times == 1:
        (FOLDER.parent / f"test-times-{group}.json").write_text(json.dumps(done, indent=1))
    sys.argv = ["report.py", str(FOLDER)]
    return report.main()


def make_environments(names: list[str]) -> None:
    for name in names:
        environment(name, niceness=10)


def in_rounds(stages: list[Stage], times: int) -> list[Stage]:
    """What is not a build, so many times."""
    if times == 1:
        return stages
    builds = [stage for stage in stages if stage.is_build]
    tests = [stage for stage in stages if not stage.is_build]
    rounds = range(1, times + 1)
    return builds + [replace(stage, name=f"{stage.name}, {at} of {times}", beside="") for at in rounds for stage in tests]


@contextlib.contextmanager
def beside_loops(stage: Stage) -> Iterator[None]:
    """If that is asked for, an endless loop on every core. What is built needs no such proof."""
    wanted = "STEPSCOPE_BUSY" in os.environ and not stage.is_build
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1) if wanted]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def print_plan(group: str, stages: list[Stage]) -> None:
    before = FOLDER.parent / f"test-times-{group}.json"
    if before.exists():
        last = {stage["name"]: stage["seconds"] for stage in json.loads(before.read_text())}
        total = f"{report.clock(sum(last.values()))} last time here"
    else:
        last, total = {}, "not timed here yet"
    print(f"{len(stages)} stages, {total}:")
    for at, stage in enumerate(stages, 1):
        print(f"  {at:2}. {stage.name}" + (f" ({report.clock(last[stage.name])})" if stage.name in last else ""))
    print(flush=True)


def run(stages: list[Stage]) -> list[dict]:
    """Runs the stages in order; those that share `beside` run two at a time. A failed build ends the run."""
    done: list[dict] = []
    at = 0
    while at < len(stages):
        together = [stages[at]]
        while stages[at].beside and at + len(together) < len(stages) and stages[at + len(together)].beside == stages[at].beside:
            together.append(stages[at + len(together)])
        with beside_loops(stages[at]):
            alone = len(together) == 1
            results = run_one(stages[at], at + 1, len(stages)) if alone else run_beside(together, at + 1, len(stages))
        done += results
        if any(result["code"] and stage.is_build for stage, result in zip(together, results)):
            break
        at += len(together)
    return done


def outcome(stage: Stage, log: IO[str] | None) -> int:
    try:
        return stage.work(log)
    except subprocess.CalledProcessError as error:
        # What it needs could not be made; why has been printed.
        print(f"{shlex.join(error.cmd)} failed", file=log or sys.stderr)
        return error.returncode


def run_one(stage: Stage, number: int, count: int) -> list[dict]:
    print(f"── {number}/{count} {stage.name} ──", flush=True)
    start, processor = time.monotonic(), processor_seconds()
    code = outcome(stage, None)
    seconds = time.monotonic() - start
    print(f"── {stage.name}: {'done' if code == 0 else f'FAILED (exit code {code})'} in {report.clock(seconds)} ──\n", flush=True)
    return [{"name": stage.name, "seconds": seconds, "processor": processor_seconds() - processor, "code": code}]


def processor_seconds() -> float:
    """What the processes that have ended have used of the processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_beside(stages: list[Stage], first: int, count: int) -> list[dict]:
    """Two at a time; what they print comes when each is done."""
    names = ", ".join(stage.name for stage in stages)
    print(f"── {first}-{first + len(stages) - 1}/{count} {names}, two at a time ──", flush=True)
    free = threading.Semaphore(2)
    printing = threading.Lock()
    codes = [0] * len(stages)
    seconds = [0.0] * len(stages)

    def work(at: int) -> None:
        with free:
            start = time.monotonic()
            path = FOLDER / f"{stages[at].name.replace(' ', '-')}.log"
            with path.open("w") as log:
                codes[at] = outcome(stages[at], log)
            seconds[at] = time.monotonic() - start
            with printing:
                print(path.read_text())
                word = "done" if codes[at] == 0 else f"FAILED (exit code {codes[at]})"
                print(f"── {stages[at].name}: {word} in {report.clock(seconds[at])} ──", flush=True)

    start, processor = time.monotonic(), processor_seconds()
    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(stages))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # What the whole took is divided among them.
    whole, used, sum_seconds = time.monotonic() - start, processor_seconds() - processor, sum(seconds) or 1
    return [
        {
            "name": stage.name,
            "seconds": whole * took / sum_seconds,
            "processor": used * took / sum_seconds,
            "code": code,
        }
        for stage, took, code in zip(stages, seconds, codes)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
