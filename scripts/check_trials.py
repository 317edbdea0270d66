"""Whether `stepscope try` measures what a change made by hand saves, and claims nothing where nothing changed.

    python scripts/check_trials.py by-hand FOLDER/PROGRAM[=ARGUMENT]... [--rounds N]
    python scripts/check_trials.py nothing PROGRAM[=ARGUMENT]... [--times N] [--rounds N]

A program of `by-hand` is named after a fix (`fused_optimizer.py`), and makes that change itself if BY_HAND is set. Both ways
run in turns without us, and say at their end how long their iterations took; then `try` measures the fix from outside. They
agree if the interval of `try` meets what the rounds by hand span. `nothing` tries a fix that does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

NOTHING = """
import stepscope

class Nothing(stepscope.Fix):
    name, title, numbers, group, code = "nothing", "nothing at all", "same", None, "pass"

    def install(self):
        pass

    def effect(self):
        return stepscope.Effect(True, "nothing was asked of it")
"""


class Program:
    """A program, and perhaps its argument."""

    def __init__(self, asked: str) -> None:
        path, _, argument = asked.partition("=")
        self.path = Path(path).resolve()
        self._arguments = [argument] if argument else []

    def mean_ms(self, by_hand: bool) -> float:
        """What an iteration takes, as the program says."""
        environment = {**os.environ, **({"BY_HAND": "1"} if by_hand else {})}
        said = _out([sys.executable, str(self.path), *self._arguments], env=environment)
        return float(json.loads(said.splitlines()[-1])["mean_ms"])

    def tried(self, *options: str) -> dict[str, Any]:
        """What `stepscope try` says of the one fix."""
        command = [sys.executable, "-m", "stepscope", "try", "--format", "json", *options]
        with tempfile.TemporaryDirectory() as folder:
            (fix,) = json.loads(_out([*command, str(self.path), *self._arguments], cwd=folder))["fixes"]
        return fix


def _out(command: list[str], **how: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **how)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def check_by_hand(programs: list[Program], rounds: int) -> None:
    print(f"{'fix':<18}{'plain ms':>10}{'by hand':>10}{'saves':>18}{'try':>9}{'interval':>18}  verdict")
    agreed = 0
    for program in programs:
        times = [(program.mean_ms(False), program.mean_ms(True)) for _ in range(rounds)]
        saves = sorted(1 - fixed / plain for plain, fixed in times)
        fix = program.tried("--only", program.path.stem.replace("_", "-"), "--rounds", str(rounds))
        low, high = fix.get("saves_low"), fix.get("saves_high")
        agrees = low is not None and high is not None and low <= saves[-1] and saves[0] <= high
        agreed += agrees
        plain, fixed = (sum(column) / rounds for column in zip(*times))
        print(
            f"{program.path.stem:<18}{plain:>10.3f}{fixed:>10.3f}{share(saves[0]) + ' to ' + share(saves[-1]):>18}"
            f"{share(fix.get('saves')):>9}{share(low) + ' to ' + share(high):>18}"
            f"  {fix.get('verdict')}, {'agrees' if agrees else 'DISAGREES'}; {fix['evidence']}",
            flush=True,
        )
    print(f"{agreed} of {len(programs)} agree")


def check_nothing(programs: list[Program], times: int, rounds: int) -> None:
    claims = 0
    with tempfile.NamedTemporaryFile("w", suffix=".py") as own:
        own.write(NOTHING)
        own.flush()
        for number in range(times):
            program = programs[number % len(programs)]
            fix = program.tried("--only", "nothing", "--with", own.name, "--rounds", str(rounds))
            claims += fix["verdict"] == "faster"
            print(f"{number + 1:>3} {program.path.name:<20}{fix['verdict']:<14}{share(fix['saves'])}", flush=True)
    print(f"{claims} of {times} claim to save something")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("by-hand", "nothing"))
    parser.add_argument("programs", nargs="+", help="PROGRAM or PROGRAM=ARGUMENT")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=20)
    chosen = parser.parse_args()
    programs = [Program(asked) for asked in chosen.programs]
    if chosen.what == "by-hand":
        check_by_hand(programs, chosen.rounds)
    else:
        check_nothing(programs, chosen.times, chosen.rounds)


if __name__ == "__main__":
    main()
