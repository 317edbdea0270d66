"""JAX and PyTorch in one program: whatever works is recorded, into one trace on one clock."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import subprocess
import sys

import pytest

import stepscope

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("jax", reason="JAX is not installed")

PROGRAMS = pathlib.Path(__file__).parent / "programs"
TESTS = pathlib.Path(__file__).parents[1]


def trace_in(folder):
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    text = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    return stepscope.open(path), json.loads(text)


def events(document, name):
    return [event for event in document["traceEvents"] if event.get("name") == name and event.get("ph") == "X"]


def programs(document):
    return {event["args"].get("hlo_module") for event in document["traceEvents"] if event.get("cat") == "cpu_op"}


def check_both_are_there(trace, document, steps):
    assert len(trace.steps()) == steps
    assert trace.ask("info")["info"]["framework"] == "JAX" and "jit_train_step" in programs(document)
    marks = [event for event in document["traceEvents"] if str(event.get("name")).startswith("ProfilerStep#")]
    assert len(marks) == steps
    # On one clock: each step has its call and what PyTorch did for its batch, on one thread.
    for mark in marks:
        start, end = mark["ts"], mark["ts"] + mark["dur"]
        for name in ("PjitFunction(train_step)", "aten::sin"):
            inside = [event for event in events(document, name) if start <= event["ts"] < end]
            assert inside and {event["tid"] for event in inside} == {mark["tid"]}, name


def test_a_loader_of_pytorch_feeds_jax(tmp_path, stepscope_run, steady_machine):
    got = stepscope_run("-o", "traces", str(PROGRAMS / "train_jax_loader.py"))
    assert (got.code, json.loads(got.out)["iterations"], got.err_of_program) == (0, 200, ""), got.err
    trace, document = trace_in(tmp_path / "traces")
    check_both_are_there(trace, document, 10)
    assert document["stepscope_iterations"]["found_by"] == "calls of a compiled function"
    findings = {finding["rule"]: finding for finding in trace.findings()}
    assert "data_loading" in findings


PROFILED = """
import sys
import jax, jax.numpy as jnp, torch
import stepscope
data = torch.utils.data.DataLoader([torch.ones(64) * number for number in range(40)], batch_size=4)
@jax.jit
def train_step(x):
    return jnp.tanh(x @ x.T).sum()
train_step(jnp.ones((4, 64)))
plan = stepscope.schedule(wait=3, warmup=1, active=4, repeat=1)
with stepscope.profile(schedule=plan, on_trace_ready=stepscope.tensorboard_trace_handler("logs")) as prof:
    for batch in data:
        with stepscope.record_function("sine"):
            batch = torch.sin(batch)
        train_step(batch.numpy()).block_until_ready()
        prof.step()
names = {event.key: event.count for event in prof.key_averages()}
assert names["aten::sin"] == names["sine"] == 4, names
prof.export_xplane("xplane")
"""


def test_a_profiler_records_both(tmp_path, script, python):
    got = python(script(PROFILED))
    assert got.code == 0, got.err
    trace, document = trace_in(tmp_path / "logs")
    check_both_are_there(trace, document, 4)
    assert len(events(document, "sine")) == 4
    assert len(document["stepscope_bare_steps"]["host_ns"]) == 3
    assert len(list((tmp_path / "xplane").rglob("*.xplane.pb"))) == 1


@pytest.mark.nightly
def test_what_is_imported_and_not_used_is_left_alone(tmp_path, script, stepscope_run, steady_machine):
    file = script("""
import jax, torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(100):
    model(torch.ones(2, 64)).sum().backward()
    optimizer.step()
print(jax._src.xla_bridge.backends_are_initialized())
""")
    got = stepscope_run("-o", "traces", file)
    assert (got.code, got.out, got.err_of_program) == (0, "False\n", ""), got.err
    trace, document = trace_in(tmp_path / "traces")
    assert len(trace.steps()) == 10 and trace.ask("info")["info"]["framework"] == "PyTorch"


def test_what_pytorch_trains_is_its_run(tmp_path, script, stepscope_run, steady_machine):
    file = script("""
import jax, torch
augment = jax.jit(lambda x: x + 1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(100):
    batch = torch.from_dlpack(augment(jax.numpy.ones((2, 64))))
    model(batch).sum().backward()
    optimizer.step()
""")
    got = stepscope_run("-o", "traces", file)
    assert (got.code, got.err_of_program) == (0, ""), got.err
    trace, document = trace_in(tmp_path / "traces")
    assert document["stepscope_iterations"]["found_by"] == "optimizer steps"
    assert trace.ask("info")["info"]["framework"] == "PyTorch" and any(
        str(name).startswith("jit__lambda") for name in programs(document)
    )
    assert len(trace.steps()) == 10


@pytest.mark.nightly
def test_jax_is_recorded_as_ever_where_pytorch_is_imported_first():
    run = "import sys, torch, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    options = ["-q", "-x", "-p", "no:cacheprovider", "-k", "not server", str(TESTS / "xla/test_jax.py")]
    variables = {**os.environ, "STEPSCOPE_ENVIRONMENT": "jax", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", run, *options], env=variables, cwd=TESTS, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
