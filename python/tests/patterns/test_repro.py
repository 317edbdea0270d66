"""`stepscope repro` writes scripts that run: operators are recorded here and timed again from the trace alone."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

OPS = {
    "aten::addmm": [[16], [8, 32], [32, 16]],
    "aten::convolution": [[2, 3, 16, 16], [4, 3, 3, 3], [4]],
    "aten::scaled_dot_product_attention": [[2, 4, 16, 8], [2, 4, 16, 8], [2, 4, 16, 8]],
    "aten::layer_norm": [[8, 16], [16], [16]],
    "aten::gelu": [[8, 16]],
    "aten::embedding": [[100, 16], [2, 5]],
    "aten::cat": [[[8, 16], [8, 16]]],
}


def record(path: pathlib.Path, *, shapes: bool) -> pathlib.Path:
    linear, norm = torch.nn.Linear(32, 16), torch.nn.LayerNorm(16)
    convolution, table = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Embedding(100, 16)
    # Transposed: their strides are part of what is recorded.
    query = torch.randn(2, 16, 4, 8).transpose(1, 2)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=shapes) as prof:
        hidden = torch.nn.functional.gelu(norm(linear(torch.randn(8, 32))))
        torch.cat([hidden, hidden])
        convolution(torch.randn(2, 3, 16, 16))
        torch.nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True)
        table(torch.randint(0, 100, (2, 5)))
    prof.export_chrome_trace(str(path))
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return record(tmp_path_factory.mktemp("repro") / "trace.json", shapes=True)


def repro(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "stepscope", "repro", *words], capture_output=True, text=True)


#: The others import PyTorch twice each to prove the same.
EVERY_TIME = ("aten::addmm",)


@pytest.mark.parametrize("op", [op if op in EVERY_TIME else pytest.param(op, marks=pytest.mark.nightly) for op in OPS])
def test_a_script_times_the_recorded_inputs(op: str, trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    done = repro(str(trace), "--op", op, "--top", "1", "-o", str(script))
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([sys.executable, str(script), "--json"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (result,) = json.loads(ran.stdout)["results"]
    assert [sizes for sizes in result["shapes"] if sizes] == OPS[op]
    assert result["here_ns"] > 0 and result["recorded_ns"] > 0
    # What people see has the same two numbers.
    shown = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    assert "in the trace" in shown and "us on the host, here" in shown


def test_a_trace_without_shapes_says_how_to_get_them(tmp_path: pathlib.Path) -> None:
    bare = record(tmp_path / "bare.json", shapes=False)
    done = repro(str(bare), "--op", "aten::addmm")
    assert done.returncode == 2
    assert "record_shapes=True" in done.stderr


def test_an_unknown_operator_gets_a_suggestion(trace: pathlib.Path) -> None:
    done = repro(str(trace), "--op", "aten::admm")
    assert done.returncode == 2
    assert "aten::addmm" in done.stderr
