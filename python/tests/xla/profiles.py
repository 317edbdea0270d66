"""Reading XPlane files with the readers of the frameworks themselves, and servers to capture from."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import stepscope

PACKAGE_PARENT = str(pathlib.Path(stepscope.__file__).resolve().parent.parent)
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": PACKAGE_PARENT,
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass
class Event:
    """One event of a profile."""

    plane: str
    line: str
    name: str
    duration_ns: float
    stats: dict[str, Any] = field(default_factory=dict)


def events(path: str | os.PathLike[str]) -> list[Event]:
    """All events, by JAX's reader where it is installed, else by the message that TensorFlow brings."""
    try:
        from jax.profiler import ProfileData
    except ImportError:
        return _by_tensorflow(path)
    found = []
    for plane in ProfileData.from_file(os.fspath(path)).planes:
        for line in plane.lines:
            for event in line.events:
                stats = {name: value for name, value in event.stats if name is not None}
                found.append(Event(plane.name, line.name, event.name, event.duration_ns, stats))
    return found


def _by_tensorflow(path: str | os.PathLike[str]) -> list[Event]:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(pathlib.Path(path).read_bytes())
    found = []
    for plane in space.planes:
        names = {key: meta.name for key, meta in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                stats = {names[stat.metadata_id]: getattr(stat, stat.WhichOneof("value")) for stat in event.stats}
                name = plane.event_metadata[event.metadata_id].name
                found.append(Event(plane.name, line.name, name, event.duration_ps / 1000, stats))
    return found


def steps(path: str | os.PathLike[str]) -> list[int]:
    """The numbers of the steps, of which each is marked as one."""
    marked = [event for event in events(path) if "step_num" in event.stats]
    assert all(int(event.stats["_r"]) == 1 and event.duration_ns > 0 for event in marked)
    return sorted(int(event.stats["step_num"]) for event in marked)


def named(path: str | os.PathLike[str], name: str) -> list[Event]:
    """The events of this name."""
    return [event for event in events(path) if event.name == name]


def only(folder: pathlib.Path) -> pathlib.Path:
    """The one profile below a folder, at the place where TensorBoard looks for it."""
    (path,) = folder.rglob("*.xplane.pb")
    assert path.parent.parent == folder / "plugins" / "profile"
    return path


def opened(path: str | os.PathLike[str]) -> stepscope.Trace:
    """The profile as we read it."""
    return stepscope.open(path)


def documented(heading: str) -> str:
    """The first block of Python below a heading of the page about TensorFlow and JAX."""
    page = pathlib.Path(__file__).resolve().parents[3] / "docs/tensorflow-and-jax.md"
    section = page.read_text(encoding="utf-8").split(f"# {heading}\n")[1]
    return section.split("```python\n")[1].split("```")[0]


def command(*words: str, cwd: pathlib.Path, timeout: float = 180) -> subprocess.CompletedProcess[str]:
    """``stepscope WORDS``."""
    line = [sys.executable, "-m", "stepscope", *words]
    return subprocess.run(line, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout)


def free_port() -> int:
    """One that stays free: none of those that programs get that ask for any, which are from 32,768 on."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as found:
            found.bind(("localhost", port))
            return port


def is_asked(port: int) -> bool:
    """Whether anybody has a connection to this port now."""
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in pathlib.Path("/proc/net", name).read_text().splitlines()[1:]:
                local, _, state = line.split()[1:4]
                if state == "01" and int(local.rsplit(":", 1)[1], 16) == port:
                    return True
    return False


@contextlib.contextmanager
def serving(script: str, tmp_path: pathlib.Path) -> Iterator[int]:
    """A program that serves its profiler at a port and says ``ready``; the port."""
    port = free_port()
    path = tmp_path / f"serve_{port}.py"
    path.write_text(script)
    with open(tmp_path / f"serve_{port}.log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, str(path), str(port)],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line == "ready\n", (line, (tmp_path / f"serve_{port}.log").read_text())
            yield port
        finally:
            process.kill()
            process.wait()


def interrupted(*words: str, cwd: pathlib.Path, port: int, after_s: float) -> subprocess.CompletedProcess[str]:
    """``stepscope WORDS``, with Ctrl-C a while after it has asked this port."""
    line = [sys.executable, "-m", "stepscope", *words]
    process = subprocess.Popen(
        line, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    give_up = time.monotonic() + 60
    while not is_asked(port) and process.poll() is None and time.monotonic() < give_up:
        time.sleep(0.05)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(line, process.returncode, out, err)


def check_captures(script: str, tmp_path: pathlib.Path) -> None:
    """What ``stepscope capture`` does with a real server: all of it with one program, which takes long to start."""
    with serving(script, tmp_path) as port:
        at = f"localhost:{port}"
        done = command("capture", at, "-d", "500ms", "-o", "logs", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        path = only(tmp_path / "logs")
        assert done.stdout == f"{path.relative_to(tmp_path)}\n"
        assert path.name == f"localhost_{port}.xplane.pb"
        assert f"view {path.relative_to(tmp_path)}" in done.stderr
        seen = events(path)
        assert len(seen) > 10 and {"/host:CPU"} <= {event.plane for event in seen}
        # Half a second was asked for, and that is what is there.
        assert 0 < max(event.duration_ns for event in seen) < 5e9

        early = interrupted("capture", at, "-d", "60s", "-o", "early", cwd=tmp_path, port=port, after_s=3)
        assert early.returncode == 0 and "ended early" in early.stderr, early.stderr
        assert len(events(only(tmp_path / "early"))) > 10

        again = command("capture", at, "--snapshot", "-o", "none", cwd=tmp_path)
        assert again.returncode == 2 and "no continuous profiling runs" in again.stderr, again.stderr
        started = command("capture", at, "--continuous", cwd=tmp_path)
        assert started.returncode == 0, started.stderr
        busy = command("capture", at, "-d", "100ms", "-o", "none", cwd=tmp_path)
        assert busy.returncode == 2 and "another profiling session is active" in busy.stderr, busy.stderr
        time.sleep(0.5)
        snapshot = command("capture", at, "--snapshot", "-o", "snapshot", cwd=tmp_path)
        assert snapshot.returncode == 0, snapshot.stderr
        assert len(events(only(tmp_path / "snapshot"))) > 10
        assert command("capture", at, "--stop", cwd=tmp_path).returncode == 0
        assert not (tmp_path / "none").exists()

        with serving(script, tmp_path) as other:
            both = command("capture", at, "--hosts", f"localhost:{other}", "-d", "300ms", "-o", "both", cwd=tmp_path)
            assert both.returncode == 0, both.stderr
            paths = sorted((tmp_path / "both").rglob("*.xplane.pb"))
            assert [path.name for path in paths] == [f"localhost_{p}.xplane.pb" for p in sorted((port, other))]
            assert len({path.parent for path in paths}) == 1
            assert all(len(events(path)) > 10 for path in paths)
