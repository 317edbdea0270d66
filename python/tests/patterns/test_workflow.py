"""The GitHub Actions example of docs/performance-gate.md, as it is written, with nothing but the built wheel.

The runner of the tests builds the wheel and names it in ``STEPSCOPE_WHEEL``. The steps with ``run:`` run in their
order in a repository of the test's own; those with ``uses:`` are GitHub's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WHEEL = os.environ.get("STEPSCOPE_WHEEL", "")

pytestmark = [
    pytest.mark.skipif(not WHEEL, reason="STEPSCOPE_WHEEL names no wheel"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed (Debian: apt install git)"),
]

# Its steps take as long as it says, whatever else the machine does: the clock is its own. Runs differ by a little.
TRAIN = """
import argparse
import os
import random
import time

import stepscope

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=10)
steps = parser.parse_args().steps
now = 0
time.perf_counter_ns = lambda: now
speed = random.Random(os.getpid()).gauss(1, 0.01)
with stepscope.configure({}) as profiling:
    for _ in range(steps):
        now += int(STEP * speed * 1e9)
        profiling.step(samples=32)
"""


def documented() -> list[list[str]]:
    """The ``run:`` steps of each YAML block of the page, as a shell gets them."""
    text = (ROOT / "docs/performance-gate.md").read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        commands: list[str] = []
        folded = None
        for line in block.splitlines():
            indent = len(line) - len(line.lstrip())
            step = re.match(r"\s*- run: (.*)", line)
            if step:
                # `>` folds the lines below it into one.
                folded = indent if step[1] == ">" else None
                commands.append("" if step[1] == ">" else step[1])
            elif folded is not None and indent > folded:
                commands[-1] = f"{commands[-1]} {line.strip()}".strip()
            else:
                folded = None
        found.append(commands)
    return found


class Runner:
    """What a job has: a checkout, a Python of its own, and GitHub's variables."""

    def __init__(self, folder: Path, origin: Path, branch: str) -> None:
        self.checkout = folder / "checkout"
        self.summary = folder / "summary.md"
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        git(folder, "clone", "--quiet", "--branch", branch, str(origin), "checkout")
        shutil.copy(WHEEL, self.checkout)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STEPSCOPE"))},
            "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **IDENTITY,
        }

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """One step, as GitHub runs it."""
        command = command.replace("${{ github.base_ref }}", "main")
        return subprocess.run(
            ["bash", "-e", "-c", command], cwd=self.checkout, env=self.environment, capture_output=True, text=True
        )


IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **IDENTITY})


def repository(folder: Path, slower: str = "0.0065") -> Path:
    """A repository with three branches: main, one that changes nothing about the time, and a slower one (by 30%)."""
    origin = folder / "origin"
    origin.mkdir(parents=True)
    git(origin, "init", "--quiet", "--initial-branch", "main")
    (origin / "requirements.txt").write_text("")

    def commit(seconds: str, subject: str) -> None:
        (origin / "train.py").write_text(TRAIN.replace("STEP", seconds))
        git(origin, "add", "--all")
        git(origin, "commit", "--quiet", "--allow-empty", "-m", subject)

    commit("0.005", "train")
    for branch, seconds in (("harmless", "0.005"), ("slower", slower)):
        git(origin, "checkout", "--quiet", "-b", branch, "main")
        commit(seconds, branch)
    git(origin, "checkout", "--quiet", "main")
    return origin


def test_the_page_has_the_steps_that_are_tested() -> None:
    pull_request, own_machine = documented()
    assert [command.split()[0] for command in pull_request] == ["pip", "git", "stepscope"]
    assert all(command.startswith(("stepscope", "git")) for command in own_machine) and len(own_machine) >= 3


def test_a_harmless_change_is_green_and_a_slower_one_is_red(tmp_path: Path) -> None:
    origin = repository(tmp_path)
    *before, check = documented()[0]
    for branch in ("harmless", "slower"):
        folder = tmp_path / branch
        folder.mkdir()
        job = Runner(folder, origin, branch)
        for command in before:
            done = job.run(command)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
        done = job.run(check)
        said = done.stdout + done.stderr
        report = (job.checkout / "performance.xml").read_text()
        summary = job.summary.read_text()
        if branch == "harmless":
            assert done.returncode == 0, said
            assert "pass: 1 condition kept" in said and "::error" not in said
            assert 'failures="0"' in report and "✅" in summary
        else:
            assert done.returncode == 1, said
            assert "::error title=step_time>+5%25%3A fail::" in said
            assert 'failures="1"' in report and "❌" in summary and "fail: 1 of 1 condition broken" in summary


@pytest.mark.nightly
def test_baselines_on_a_branch_outlive_the_machine(tmp_path: Path) -> None:
    # So much slower that a busy machine, which slows the gate's fixed task, is no excuse.
    origin = repository(tmp_path, slower="0.025")
    install = documented()[0][0]
    check, *on_main = documented()[1]
    for name, branch in (("first", "main"), ("second", "slower")):
        folder = tmp_path / name
        folder.mkdir()
        job = Runner(folder, origin, branch)
        assert job.run(install).returncode == 0
        if branch == "main":
            for command in on_main:
                done = job.run(command)
                assert done.returncode == 0, (command, done.stdout, done.stderr)
        else:
            # Another checkout, which has the baselines as a branch of the origin only.
            done = job.run(check)
            assert done.returncode == 1, done.stdout + done.stderr
            assert "::error title=step_time>+5%25%3A fail::" in done.stdout
