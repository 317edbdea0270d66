"""The page that walks from a laptop to production runs as it stands there, from its first command to its last."""

from __future__ import annotations

import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time

import pytest

import stepscope

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "from-laptop-to-production.md"
BLOCK = re.compile(r"(?:`(\S+\.py)`:\n\n)?^```(python|sh &|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def wait_until_ready(process: subprocess.Popen[str], code: str) -> None:
    """Until a server answers at its port, or says where it does."""
    assert process.stdout is not None
    deadline = time.monotonic() + 120
    port = re.search(r"--port (\d+)", code)
    while time.monotonic() < deadline and process.poll() is None:
        if port is None and select.select([process.stdout], [], [], 0.1)[0]:
            return
        if port is not None:
            try:
                socket.create_connection(("127.0.0.1", int(port[1])), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
    raise AssertionError(f"it is not ready: {code}\n{process.stdout.read() if process.poll() is not None else ''}")


# It has a port of its own, finds processes by their names and has a gate on times: not beside others.
@pytest.mark.clock
@pytest.mark.skipif(not shutil.which("pgrep"), reason="pgrep is not installed (Debian: apt install procps)")
def test_every_command_runs(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == PAGE.read_text(encoding="utf-8").count("```") // 2 >= 12
    root = str(pathlib.Path(stepscope.__file__).parents[1])
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.path.dirname(sys.executable), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([root, str(tmp_path)]),
        "COLUMNS": "160",
    }
    said: dict[str, str] = {}
    background = []
    try:
        for name, kind, code in blocks:
            if kind == "python":
                assert name, code
                (tmp_path / name).write_text(code)
                continue
            started = subprocess.Popen(
                ["bash", "-ec", code],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            if kind == "sh &":
                background.append(started)
                wait_until_ready(started, code)
                continue
            output, _ = started.communicate(timeout=240)
            assert started.returncode == 0, f"{code}\n{output}"
            said[code] = output
    finally:
        for process in background:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=30)

    def of(words: str) -> str:
        return next(output for code, output in said.items() if words in code)

    assert "infer" in of("stepscope functions laptop")
    report = of("production report service --last 1h")
    assert "/predict" in report and "200" in report and "inference" in report and "p95<50ms" in report
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert "| /predict |" in (tmp_path / "report.md").read_text()
    assert "/predict" in of("production report service --last 30m")
