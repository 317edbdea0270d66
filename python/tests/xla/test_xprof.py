"""XProf's tables to its digits: PyPI's ``xprof`` and ``stepscope xprof`` read the same profiles, recorded here and now.

``STEPSCOPE_XPROF_PYTHON`` names a Python that has ``xprof``; ``STEPSCOPE_XPLANE_DATA`` a folder of other profiles.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from profiles import ENVIRONMENT, command, events

PYTHON = os.environ.get("STEPSCOPE_XPROF_PYTHON")
DATA = os.environ.get("STEPSCOPE_XPLANE_DATA")
if not PYTHON:
    pytest.skip("STEPSCOPE_XPROF_PYTHON names no Python with xprof", allow_module_level=True)

TOOLS = ("framework_op_stats", "kernel_stats", "hlo_stats", "memory_profile", "overview_page")
CONVERT = f"""
import json, sys
from xprof.convert import raw_to_tool_data
for tool in {TOOLS!r}:
    data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], tool, {{}})
    text = data.decode() if isinstance(data, bytes) else data
    print(json.dumps({{tool: json.loads(text)}}))
"""

JAX = """
import sys
import jax, jax.numpy as jnp

@jax.jit
def train_step(w, x):
    loss = lambda w: jnp.mean(jnp.tanh(x @ w) ** 2)
    return w - 0.1 * jax.grad(loss)(w)

w, x = jnp.ones((256, 256)), jnp.ones((512, 256))
w = train_step(w, x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    for step in range(8):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            w = train_step(w, x).block_until_ready()
"""

TENSORFLOW = """
import sys
import tensorflow as tf

data = tf.data.Dataset.range(10_000).map(lambda n: tf.cast(n, tf.float32) * tf.ones((64, 64)), num_parallel_calls=2)
data = iter(data.batch(4).prefetch(2))

@tf.function
def train_step(x):
    return tf.reduce_sum(tf.matmul(tf.tanh(tf.matmul(x, x)), x))

train_step(next(data))
tf.profiler.experimental.start(sys.argv[1])
for step in range(7):
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        train_step(next(data)).numpy()
tf.profiler.experimental.stop()
"""


def converted(path: pathlib.Path, folder: pathlib.Path) -> dict[str, Any]:
    """XProf's tables. It writes caches beside a profile, so that it gets a copy."""
    copy = folder / "plugins" / "profile" / "run" / "host.xplane.pb"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    assert PYTHON
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [PYTHON, "-c", CONVERT, str(copy)], env=environment, capture_output=True, text=True, timeout=300
    )
    tables: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            tables.update(json.loads(line))
    assert tables.keys() == set(TOOLS), done.stderr[-2000:]
    return tables


def rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table of Google's charts."""
    names = [column["id"] for column in table["cols"]]
    return [dict(zip(names, (cell["v"] for cell in row["c"]), strict=True)) for row in table["rows"]]


def ours(path: pathlib.Path, by: str) -> dict[str, Any]:
    done = command("xprof", str(path), "--by", by, "--top", "0", "--format", "json", cwd=path.parent)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def recorded(script: str, folder: pathlib.Path) -> pathlib.Path:
    path = folder / "record.py"
    path.write_text(script)
    done = subprocess.run(
        [sys.executable, str(path), str(folder / "logs")], env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (found,) = (folder / "logs").rglob("*.xplane.pb")
    return found


@pytest.fixture(scope="module", params=["JAX", "TensorFlow"])
def live(request, tmp_path_factory):
    """A profile recorded now, and XProf's tables of it."""
    folder = tmp_path_factory.mktemp(request.param)
    path = recorded({"JAX": JAX, "TensorFlow": TENSORFLOW}[request.param], folder)
    return request.param, path, converted(path, folder / "xprof")


def close(ns: float, us: float) -> bool:
    """Nanoseconds of ours, microseconds of theirs: the same to the digits of a float."""
    return math.isclose(ns / 1000, us, rel_tol=1e-12, abs_tol=1e-9)


def compare_ops(path: pathlib.Path, tables: dict[str, Any]) -> int:
    with_idle, without_idle = (rows(table) for table in tables["framework_op_stats"])
    mine = ours(path, "ops")["ops"]
    # The order among equals is XProf's own affair.
    theirs = sorted(with_idle, key=lambda row: (row["host_or_device"], -row["total_self_time"], row["operation"]))
    assert len(mine) == len(theirs)
    for row, their in zip(
        sorted(mine, key=lambda row: (row["side"], -row["self_ns"], row["operation"])), theirs, strict=True
    ):
        assert (row["side"], row["type"], row["operation"]) == (
            their["host_or_device"].lower(),
            their["type"],
            their["operation"],
        )
        assert row["occurrences"] == their["occurrences"], row
        assert close(row["total_ns"], their["total_time"]), (row, their)
        assert close(row["mean_ns"], their["avg_time"]), (row, their)
        assert close(row["self_ns"], their["total_self_time"]), (row, their)
        share = f"{row['side']}_total_self_time_percent"
        assert math.isclose(row["share"], their[share], rel_tol=1e-12), (row, their)
    busy = {(row["host_or_device"].lower(), row["operation"]): row for row in without_idle}
    for row in mine:
        if row["operation"] != "IDLE":
            their = busy[row["side"], row["operation"]]
            assert math.isclose(row["busy_share"], their[f"{row['side']}_total_self_time_percent"], rel_tol=1e-12)
    return len(mine)


def compare_steps(path: pathlib.Path, tables: dict[str, Any]) -> int:
    overview = tables["overview_page"]
    theirs, about = rows(overview[1]), overview[1]["p"]
    answer = ours(path, "steps")
    mine = answer["steps"]
    assert [row["step"] for row in mine] == [row["stepnum"] for row in theirs]
    columns = {
        "time_ns": "stepTimeMs",
        "all_others_ns": "otherTimeMs",
        "compilation_ns": "compileTimeMs",
        "output_ns": "outfeedTimeMs",
        "input_ns": "infeedTimeMs",
        "kernel_launch_ns": "kernelLaunchTimeMs",
        "host_compute_ns": "hostComputeTimeMs",
        "device_collectives_ns": "deviceCollectivesTimeMs",
        "device_to_device_ns": "deviceToDeviceTimeMs",
    }
    for row, their in zip(mine, theirs, strict=True):
        for column, name in columns.items():
            assert math.isclose(row[column] / 1e6, their[name], rel_tol=1e-12, abs_tol=1e-12), (column, row, their)
        compute = row["device_compute_32_ns"] + row["device_compute_16_ns"]
        assert math.isclose(compute / 1e6, their["deviceComputeTimeMs"], rel_tol=1e-12, abs_tol=1e-12), (row, their)
    summary = answer["summary"]
    if mine:
        for column, name in {
            "mean_ns": "steptime_ms_average",
            "sd_ns": "steptime_ms_standard_deviation",
            "min_ns": "steptime_ms_minimum",
            "max_ns": "steptime_ms_maximum",
        }.items():
            assert f"{summary[column] / 1e6:.1f}" == about[name], (column, summary, about)
        share = summary["all_others_share" if summary["input_bound"] == "potentially" else "input_share"]
        assert f"{summary['input_bound'].upper()} input-bound" in about["input_conclusion"]
        assert f"{100 * share:.1f}%" in about["input_conclusion"], (summary, about["input_conclusion"])
    else:
        assert summary["input_bound"] == "unknown" and "No step" in about["input_conclusion"]
    return len(mine)


def compare_kernels(path: pathlib.Path, tables: dict[str, Any]) -> int:
    theirs, mine = rows(tables["kernel_stats"]), ours(path, "kernels")["kernels"]

    def dims(row, grid, block):
        return row[grid], row[block]

    def mine_key(row):
        return (-row["total_ns"], row["kernel"], dims(row, "grid", "block"), row["op"])

    def their_key(row):
        return (
            -round(row["total_duration_us"] * 1000),
            row["kernel_name"],
            dims(row, "grid_dim", "block_dim"),
            row["op_name"],
        )

    assert len(mine) == len(theirs)
    for row, their in zip(sorted(mine, key=mine_key), sorted(theirs, key=their_key), strict=True):
        assert mine_key(row) == their_key(their)
        for column, name in {
            "tensor_core_eligible": "is_op_tensor_core_eligible",
            "uses_tensor_cores": "is_kernel_using_tensor_core",
            "occurrences": "occurrences",
        }.items():
            assert row[column] == their[name], (column, row, their)
        # What a profiler does not say is unknown, not 0; and no device has thousands of registers per thread.
        if their["registers_per_thread"] <= 1024:
            assert (row["registers"] or 0) == their["registers_per_thread"], (row, their)
            assert (row["shared_bytes"] or 0) == their["shmem_bytes"], (row, their)
        else:
            assert row["registers"] is None and row["shared_bytes"] is None
        assert math.isclose(100 * (row["occupancy"] or 0), their["occupancy_pct"], rel_tol=1e-6), (row, their)
        for column, name in {
            "total_ns": "total_duration_us",
            "mean_ns": "avg_duration_us",
            "min_ns": "min_duration_us",
            "max_ns": "max_duration_us",
        }.items():
            assert close(row[column], their[name]), (column, row, their)
    return len(mine)


def compare_hlo(path: pathlib.Path, tables: dict[str, Any]) -> int:
    mine = {(str(row["program"]), row["hlo"]): row for row in ours(path, "hlo")["hlo"]}
    theirs = {(row["program_id"], row["hlo_op_name"]): row for row in rows(tables["hlo_stats"])}
    assert mine.keys() == theirs.keys()
    for key, their in theirs.items():
        row = mine[key]
        assert (row["category"], row["framework_op"]) == (their["category"], their["tf_op_name"]), (row, their)
        assert row["occurrences"] == their["occurrences"]
        assert close(row["total_ns"], their["total_time"]), (row, their)
        assert close(row["mean_ns"], their["avg_time"])
        assert close(row["self_ns"], their["total_self_time"])
        assert math.isclose(100 * row["share"], their["total_self_time_percent"], rel_tol=1e-12)
    return len(mine)


def compare_memory(path: pathlib.Path, tables: dict[str, Any]) -> int:
    theirs = tables["memory_profile"].get("memoryProfilePerAllocator", {})
    mine = {row["allocator"]: row for row in ours(path, "memory")["memory"]}
    assert mine.keys() == theirs.keys()
    for name, row in mine.items():
        summary = theirs[name]["profileSummary"]
        peak = summary["peakStats"]
        assert row["lifetime_peak_bytes"] == int(summary["peakBytesUsageLifetime"])
        assert row["capacity_bytes"] == int(summary["memoryCapacity"])
        assert row["peak_bytes"] == int(peak["peakBytesInUse"])
        assert row["heap_bytes"] == int(peak["heapAllocatedBytes"])
        assert row["stack_bytes"] == int(peak["stackReservedBytes"])
        assert row["free_bytes"] == int(peak["freeMemoryBytes"])
        # Not a number where an allocator has no free memory.
        if peak["fragmentation"] == "NaN":
            assert row["fragmentation"] is None
        else:
            assert math.isclose(row["fragmentation"] or 0, peak["fragmentation"], rel_tol=1e-5), (row, peak)
    return len(mine)


COMPARE = {
    "ops": compare_ops,
    "steps": compare_steps,
    "kernels": compare_kernels,
    "hlo": compare_hlo,
    "memory": compare_memory,
}


@pytest.mark.parametrize("by", COMPARE)
def test_a_profile_recorded_now_has_the_tables_that_xprof_shows(live, by):
    framework, path, tables = live
    compared = COMPARE[by](path, tables)
    if by == "steps":
        # More than five steps: the first and the last are left out.
        assert compared == {"JAX": 6, "TensorFlow": 5}[framework]
    if (framework, by) == ("TensorFlow", "ops"):
        assert compared > 10


@pytest.mark.skipif(not DATA, reason="STEPSCOPE_XPLANE_DATA names no folder of profiles")
def test_other_profiles_have_the_tables_that_xprof_shows(tmp_path):
    seen = dict.fromkeys(COMPARE, 0)
    found = sorted(pathlib.Path(DATA or "").rglob("*.xplane.pb"))
    assert found
    for number, path in enumerate(found):
        tables = converted(path, tmp_path / str(number))
        for by, compare in COMPARE.items():
            try:
                seen[by] += compare(path, tables)
            except AssertionError as error:
                raise AssertionError(f"{by} of {path.name}: {error}") from error
    assert all(seen.values()), seen


def test_what_xprof_leaves_out_is_counted_from_the_events(live):
    """Work on XLA's threads is in no step of XProf's; ours is the union of its events, by JAX's own reader."""
    framework, path, _ = live
    if framework != "JAX":
        pytest.skip("TensorFlow's operators are in XProf's steps")
    from jax.profiler import ProfileData

    steps, work = [], []
    for plane in ProfileData.from_file(str(path)).planes:
        for line in plane.lines:
            for event in line.events:
                stats = dict(event.stats)
                span = (event.start_ns, event.start_ns + event.duration_ns)
                if "step_num" in stats:
                    steps.append(span)
                elif "hlo_op" in stats and not event.name.startswith("end: "):
                    work.append(span)
    busy, last = 0.0, 0.0
    kept = sorted(steps)[1:-1]
    for begin, end in sorted(work):
        begin, last = max(begin, last), max(last, end)
        busy += sum(max(0.0, min(end, to) - max(begin, start)) for start, to in kept)
    assert busy > 0
    shown = command("xprof", str(path), cwd=path.parent).stdout
    (sentence,) = (line for line in " ".join(shown.split()).split(". ") if "worker threads" in line)
    words = sentence.split("busy for ")[1].split(" of ")[0].split()
    factor = {"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9}[words[1]]
    assert math.isclose(float(words[0].replace(",", "")) * factor, busy, rel_tol=1e-3), (sentence, busy)


@pytest.mark.skipif(not DATA, reason="STEPSCOPE_XPLANE_DATA names no folder of profiles")
def test_steps_of_keras_are_found_where_xprof_finds_none():
    (path,) = (pathlib.Path(DATA or "") / "tf-cpu-keras").rglob("*.xplane.pb")
    batches = [event for event in events(path) if event.name.startswith("Profiled batch")]
    assert ours(path, "steps")["steps"] == []
    assert f"`stepscope steps` finds {len(batches)}" in " ".join(
        command("xprof", str(path), cwd=pathlib.Path.cwd()).stdout.split()
    )
