"""Running a small program with fixes in it, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, Callable

import pytest

import stepscope

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(stepscope.__file__).resolve().parent.parent),
    "PYTHONDONTWRITEBYTECODE": "1",
}
#: Seconds that a program may take; the compiler is slow on a busy machine.
MAX_SECONDS = 240


class Tried:
    """What came of a program: what it saw itself, and what each fix says."""

    def __init__(self, seen: Any, effects: dict[str, tuple[bool, str]]) -> None:
        self.seen = seen
        self.effects = effects

    @property
    def took(self) -> bool:
        (effect,) = self.effects.values()
        return effect[0]

    @property
    def evidence(self) -> str:
        (effect,) = self.effects.values()
        return effect[1]


def in_new_process(request: dict[str, Any]) -> None:
    """Run a program in an interpreter that has imported nothing yet."""
    command = [sys.executable, str(HERE / "run_program.py"), json.dumps(request)]
    subprocess.run(command, env=ENVIRONMENT, timeout=MAX_SECONDS, check=False)


@pytest.fixture(scope="session")
def forks() -> Iterator[Callable[[dict[str, Any]], None]]:
    """Runs programs in forks of one process that has imported PyTorch: importing it takes most of the time."""
    pipe = subprocess.PIPE
    server = subprocess.Popen(
        [sys.executable, str(HERE / "run_program.py")], env=ENVIRONMENT, stdin=pipe, stdout=pipe, text=True
    )
    stdin, stdout = server.stdin, server.stdout
    assert stdin is not None and stdout is not None

    def fork(request: dict[str, Any]) -> None:
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        assert stdout.readline() == "done\n"

    yield fork
    stdin.close()
    server.wait(MAX_SECONDS)


@pytest.fixture(scope="session")
def unchanged() -> dict[str, Tried]:
    """What programs see without any fix; it does not depend on what they are compared with."""
    return {}


@pytest.fixture
def tried(tmp_path, forks, unchanged) -> Callable[..., Tried]:
    """``tried(program, names)``: the program leaves what it saw in a variable ``seen``. ``changes`` are attributes of
    fixes, by their names; ``fresh`` asks for an interpreter that has not imported PyTorch."""

    def run(program: str, *names: str, fresh: bool = False, **changes: dict[str, Any]) -> Tried:
        program = dedent(program)
        if not names and program in unchanged:
            return unchanged[program]
        (tmp_path / "program.py").write_text(program)
        given = {name.replace("_", "-"): attributes for name, attributes in changes.items()}
        environment = {name: value for name, value in os.environ.items() if "ALLOC_CONF" in name}
        request = {"folder": str(tmp_path), "names": names, "changes": given, "environment": environment}
        (in_new_process if fresh else forks)({**request, "seconds": MAX_SECONDS})
        result = json.loads((tmp_path / "result.json").read_text())
        assert "error" not in result, result["error"] + (tmp_path / "output.txt").read_text()
        for _, evidence in result["effects"].values():
            assert evidence and "\n" not in evidence and not evidence.endswith("."), evidence
        found = Tried(result["seen"], {name: (took, evidence) for name, (took, evidence) in result["effects"].items()})
        if not names:
            unchanged[program] = found
        return found

    return run
