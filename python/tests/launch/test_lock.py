"""What ``stepscope run`` says about the interpreter's lock and the tasks of ``asyncio``."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import stepscope

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the lock is read on Linux")

THREADS = dedent("""\
    import hashlib, threading, time

    def python():
        until = time.perf_counter() + 2
        while time.perf_counter() < until:
            pass

    def native():
        data = b"x" * 50_000_000
        until = time.perf_counter() + 2
        while time.perf_counter() < until:
            hashlib.sha256(data).digest()

    def idle():
        threading.Event().wait(2)

    threads = [
        threading.Thread(target=python, name="python-1"),
        threading.Thread(target=python, name="python-2"),
        threading.Thread(target=native, name="native"),
        threading.Thread(target=idle, name="idle"),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    """)


def the_answer(folder: Path) -> Any:
    (path,) = folder.rglob("*.pt.trace.json*")
    return stepscope.open(path).ask("threads", top=0)


def by_name(answer: Any) -> dict[str, Any]:
    return {row["thread"].split("(", 1)[1].rstrip(")"): row for row in answer["threads"]}


@pytest.mark.clock
def test_threads_share_the_lock(tmp_path, script, stepscope_run):
    got = stepscope_run("-q", "-o", "traces", script(THREADS))
    assert got.code == 0
    answer = the_answer(tmp_path / "traces")
    rows = by_name(answer)
    for name in ("python-1", "python-2"):
        # Two that compute take turns: the one that does not hold the lock waits for it.
        assert 0.25 < rows[name]["holds_share"] < 0.75
        # On a busy machine it is also ready for it, and waits for a processor.
        assert rows[name]["waits_share"] > 0.1 and rows[name]["idle_share"] < 0.1
    assert rows["native"]["without_share"] > 0.5 and rows["native"]["holds_share"] < 0.3
    assert rows["idle"]["idle_share"] > 0.95
    assert rows["MainThread"]["idle_share"] > 0.8
    (process,) = answer["processes"]
    assert process["held_share"] > 0.8 and process["threads"] == 5
    for row in rows.values():
        states = [row[f"{state}_ns"] for state in ("holds", "without", "waits", "idle")]
        assert sum(states) == row["seen_ns"]


TASKS = dedent("""\
    import asyncio, time

    def spin(seconds):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass

    async def heavy():
        for _ in range(20):
            spin(0.03)
            await asyncio.sleep(0)

    async def light():
        for _ in range(20):
            spin(0.01)
            await asyncio.sleep(0)

    async def main():
        named = asyncio.get_running_loop().create_task(heavy())
        if hasattr(named, "set_name"):
            named.set_name("the heavy one")
        await asyncio.gather(named, light())

    asyncio.run(main())
    """)


@pytest.mark.clock
def test_tasks_have_their_time(tmp_path, script, stepscope_run):
    got = stepscope_run("-q", "-o", "traces", script(TASKS))
    assert got.code == 0
    rows = {row["task"]: row for row in the_answer(tmp_path / "traces")["tasks"]}
    heavy = rows["the heavy one (heavy)"]
    (light,) = [row for name, row in rows.items() if name.endswith("(light)")]
    assert light["task"].startswith("Task-")
    # 0.6 s and 0.2 s.
    assert 0.4e9 < heavy["running_ns"] < 1.2e9
    assert 1.8 < heavy["running_ns"] / light["running_ns"] < 5
    assert heavy["share"] > 0.55
