"""Running scripts under plain Python and under ``stepscope run``."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest

import stepscope

PACKAGE_PARENT = str(Path(stepscope.__file__).resolve().parent.parent)
STEPSCOPE_RUN = [sys.executable, "-c", "import sys; from stepscope._run import main; sys.exit(main(sys.argv[1:]))"]


_NOT_OWN = re.compile(
    r"stepscope: "
    r"|(USDT|INFO|WARNING|ERROR):\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ "
)


@dataclass
class Finished:
    """How a process ended."""

    code: int
    out: str
    err: str
    screen: str = ""
    """What follows the line that names the trace."""

    @property
    def own_err(self) -> str:
        """What the script itself wrote to stderr, without the log of PyTorch's collector."""
        return "".join(line for line in self.err.splitlines(True) if not _NOT_OWN.match(line))

    @property
    def err_of_program(self) -> str:
        """What is on stderr besides what stepscope says."""
        return "".join(line for line in self.err.splitlines(True) if not line.startswith("stepscope: "))

    @property
    def notes(self) -> list[str]:
        """What stepscope wrote to stderr."""
        return [line for line in self.err.splitlines() if line.startswith("stepscope: ")]


ENVIRONMENT = {**os.environ, "PYTHONPATH": PACKAGE_PARENT, "PYTHONDONTWRITEBYTECODE": "1"}


def _run(command: list[str], folder: Path) -> Finished:
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(folder / "sites"), PACKAGE_PARENT])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return Finished(done.returncode, done.stdout, *without_screen(done.stderr))


def without_screen(err: str) -> tuple[str, str]:
    """What was said, and the first screen about the trace, which follows the line that names it."""
    lines = err.splitlines(True)
    named = [
        at for at, line in enumerate(lines, 1) if line.startswith("stepscope: ") and "(open: stepscope view" in line
    ]
    end = named[-1] if named else len(lines)
    return "".join(lines[:end]), "".join(lines[end:])


@pytest.fixture
def python(tmp_path) -> Callable[..., Finished]:
    """``python ARGUMENTS`` in the test's folder."""
    return lambda *arguments: _run([sys.executable, *arguments], tmp_path)


@pytest.fixture
def stepscope_run(tmp_path) -> Callable[..., Finished]:
    """``stepscope run ARGUMENTS`` in the test's folder; a ``sites/sitecustomize.py`` there runs first."""
    return lambda *arguments: _run([*STEPSCOPE_RUN, *arguments], tmp_path)


@pytest.fixture(scope="module")
def _said_by_python() -> dict[Any, Finished]:
    return {}


@pytest.fixture
def steady_machine(script) -> None:
    """See `steady_machine/sitecustomize.py`."""
    script((Path(__file__).parent / "steady_machine/sitecustomize.py").read_text(), "sites/sitecustomize.py")


@pytest.fixture
def as_python(tmp_path, python, _said_by_python) -> Callable[..., Finished]:
    """``python ARGUMENTS``, started once for all tests of a file that ask under the same name.

    How a script ends under plain Python does not depend on what it is compared with."""

    def ask(name: Any, *arguments: str) -> Finished:
        if name not in _said_by_python:
            done = python(*arguments)
            _said_by_python[name] = Finished(
                done.code, done.out.replace(str(tmp_path), "FOLDER"), done.err.replace(str(tmp_path), "FOLDER")
            )
        done = _said_by_python[name]
        return Finished(done.code, done.out.replace("FOLDER", str(tmp_path)), done.err.replace("FOLDER", str(tmp_path)))

    return ask


@pytest.fixture
def script(tmp_path) -> Callable[[str], str]:
    """Writes a script into the test's folder and returns its name."""

    def write(text: str, name: str = "script.py") -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return name

    return write


@pytest.fixture
def popen(tmp_path) -> Callable[..., subprocess.Popen[str]]:
    """Starts ``python ARGUMENTS`` or, with ``profiled=True``, ``stepscope run ARGUMENTS`` in the test's folder."""

    def start(*arguments: str, profiled: bool) -> subprocess.Popen[str]:
        command = [*(STEPSCOPE_RUN if profiled else [sys.executable]), *arguments]
        pipe = subprocess.PIPE
        # A shell that starts the tests in the background has them ignore Ctrl-C, and what they start too.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True)

    return start
