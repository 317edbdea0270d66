"""``stepscope run`` without options, of programs that use JAX, TensorFlow or Keras: steps, operators and samples in
one file."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import sys
from typing import Any

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from profiles import ENVIRONMENT, PACKAGE_PARENT, command

import stepscope

PROGRAMS = pathlib.Path(__file__).parents[1] / "launch/programs"
JAX_CALLS, TENSORFLOW_CALLS = "calls of a compiled function", "calls of a tf.function"


class Recorded:
    """The trace of a program, which has to run as it does without us."""

    def __init__(self, done: Any, folder: pathlib.Path) -> None:
        assert done.returncode == 0, done.stderr
        self.out, self.notes = (
            done.stdout,
            [line for line in done.stderr.splitlines() if line.startswith("stepscope: ")],
        )
        # One result, and nothing beside it; a second window where a machine that others use became slower or faster.
        files = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: len(path.name))
        self.path, others = files[0], files[1:]
        assert all(path.name.endswith(".pt.trace.json.gz") for path in files) and len(others) <= 2, files
        self.trace = stepscope.open(self.path)
        with gzip.open(self.path) as text:
            self.document = json.load(text)

    def named(self, name: str) -> list[dict[str, Any]]:
        events = self.document["traceEvents"]
        return [event for event in events if event.get("name") == name and event.get("ph") == "X"]

    @property
    def operators(self) -> list[dict[str, Any]]:
        return [event for event in self.document["traceEvents"] if event.get("cat") == "cpu_op"]

    @property
    def lanes(self) -> set[str]:
        events = self.document["traceEvents"]
        return {event["args"]["name"] for event in events if event.get("name") == "thread_name"}


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    # What is recorded does not depend on how busy the machine is.
    places = os.pathsep.join([str(PROGRAMS.parent / "steady_machine"), PACKAGE_PARENT])
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", places)

    def record(program: str, *arguments: str, options: tuple[str, ...] = (), **variables: str) -> Recorded:
        for name, value in variables.items():
            monkeypatch.setitem(ENVIRONMENT, name, value)
        if "\n" in program:
            (tmp_path / "script.py").write_text(program)
            program = "script.py"
        else:
            program = str(PROGRAMS / program)
        return Recorded(
            command("run", "-o", "traces", *options, program, *arguments, cwd=tmp_path), tmp_path / "traces"
        )

    return record


def bounds(run: Recorded) -> list[tuple[float, float]]:
    """The steps, as they are marked."""
    marks = [event for event in run.document["traceEvents"] if str(event.get("name")).startswith("ProfilerStep#")]
    return sorted((mark["ts"], mark["ts"] + mark["dur"]) for mark in marks)


def test_a_window_of_a_jax_program(recorded):
    pytest.importorskip("jax", reason="JAX is not installed")
    run = recorded("train_jax.py", "300")
    assert json.loads(run.out)["iterations"] == 300
    assert len(run.trace.steps()) == 10 == len(bounds(run))
    assert run.document["stepscope_iterations"]["found_by"] == JAX_CALLS
    bare = run.document["stepscope_bare_steps"]
    assert len(bare["host_ns"]) >= 10 and bare["device_ns"] > 0
    # A step begins with its call, and holds what was computed for it.
    calls = sorted({event["ts"] for event in run.named("PjitFunction(step)")})
    assert {start for start, _ in bounds(run)} <= set(calls)
    for start, end in bounds(run):
        programs = {op["args"].get("hlo_module") for op in run.operators if start <= op["ts"] < end}
        assert programs == {"jit_step"}
    # Stacks were sampled on the thread that has the calls, on the same clock.
    (call,) = {(event["pid"], event["tid"]) for event in run.named("PjitFunction(step)")}
    samples = [event for event in run.document["traceEvents"] if event.get("tid") == f"samples of {call[1]}"]
    seen = [event for event in samples if event.get("ph") == "X" and "train_jax.py" in event["name"]]
    assert seen and all(event["pid"] == call[0] for event in seen)
    first, last = bounds(run)[0][0], bounds(run)[-1][1]
    assert any(event["ts"] < last and first < event["ts"] + event["dur"] for event in seen)
    info = run.trace.ask("info")["info"]
    assert info["framework"] == "JAX" and info["framework_version"]
    # What the compiler knows is there too.
    assert "jit_step" in run.trace.ask("memory", by="program")["programs"][0]["program"]


def test_a_short_jax_program_is_recorded_whole(recorded):
    pytest.importorskip("jax", reason="JAX is not installed")
    run = recorded("train_jax.py", "8")
    runs = {op["args"]["run_id"] for op in run.operators if op["args"].get("hlo_module") == "jit_step"}
    assert len(runs) == 8
    assert "stepscope_bare_steps" not in run.document


SEVERAL = """\
import jax, jax.numpy as jnp
double, add, update = jax.jit(lambda x: 2 * x), jax.jit(lambda x, y: x + y), jax.jit(lambda x: x / 5)
x = jnp.ones((64, 64))
for number in range(200):
    y = double(x)
    for _ in range(3):
        y = add(y, x)
    x = update(y).block_until_ready()
    jnp.sin(x)
"""


def test_several_calls_are_one_iteration(recorded):
    pytest.importorskip("jax", reason="JAX is not installed")
    run = recorded(SEVERAL)
    assert len(run.trace.steps()) == 10
    for start, end in bounds(run):
        programs = [op["args"].get("run_id") for op in run.operators if start <= op["ts"] < end]
        assert len(set(programs)) == 6


MARKED = """\
import jax, jax.numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x))
x = jnp.ones((64, 64))
for number in range(100):
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        for _ in range(2):
            x = step(x)
        x.block_until_ready()
"""


def test_steps_that_the_program_marks_are_its_iterations(recorded):
    pytest.importorskip("jax", reason="JAX is not installed")
    run = recorded(MARKED)
    assert run.document["stepscope_iterations"]["found_by"] == "steps that the program marks"
    assert len(run.trace.steps()) == 10 and not [note for note in run.notes if "Error" in note]
    # They are ranges now: a step is one thing.
    marks = run.named("train")
    assert len(marks) == 10 and all("step_num" in mark["args"] for mark in marks)


AHEAD = """\
import jax, jax.numpy as jnp
step = jax.jit(lambda x: jax.lax.fori_loop(0, 40, lambda _, y: jnp.tanh(y @ x), x))
x = jnp.ones((400, 400)) / 400
for number in range(120):
    result = step(x)
print(float(result[0, 0]) > -1)
"""


def test_the_bare_step_is_the_devices_where_the_host_runs_ahead(recorded):
    """A call returns before anything is computed: its time on the host says nothing."""
    pytest.importorskip("jax", reason="JAX is not installed")
    run = recorded(AHEAD)
    # Five billion additions and multiplications in each, however fast the machine and whatever else it does.
    assert run.document["stepscope_bare_steps"]["device_ns"] > 1e6


def test_a_program_that_checks_its_results_keeps_its_hook(recorded):
    pytest.importorskip("jax", reason="JAX is not installed")
    text = "import jax\njax.config.update('jax_debug_nans', True)\n" + SEVERAL + "print(jax.config.jax_debug_nans)\n"
    run = recorded(text + "try:\n    jnp.log(-x)\nexcept FloatingPointError:\n    print('found')\n")
    assert run.out.startswith("True\n") and run.out.endswith("found\n")


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_batches_of_keras(backend, recorded):
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    run = recorded("fit_keras.py", KERAS_BACKEND=backend)
    assert json.loads(run.out) == {"batches": 200, "losses": 1}
    assert run.document["stepscope_iterations"]["found_by"] == "batches of Keras's fit"
    assert len(run.trace.steps()) == 10 and run.operators
    assert run.trace.ask("info")["info"]["framework"] == {"tensorflow": "TensorFlow", "jax": "JAX"}[backend]


def test_a_loop_of_a_tf_function(recorded):
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    run = recorded("train_tensorflow.py")
    assert json.loads(run.out)["iterations"] == 200
    assert run.document["stepscope_iterations"]["found_by"] == TENSORFLOW_CALLS
    assert len(run.trace.steps()) == 10 and run.trace.ask("info")["info"]["framework"] == "TensorFlow"
    for start, end in bounds(run):
        inside = [op for op in run.operators if start <= op["ts"] < end and "SparseSoftmax" in op["name"]]
        assert inside
