"""What a recording of ``stepscope run`` says about slow programs: real runs, read back."""

from __future__ import annotations

import importlib.util

import pytest

from stepscope import open as open_trace


@pytest.fixture
def found(script, stepscope_run, tmp_path):
    """Runs a program and returns its verdict and its findings by rule."""

    def look(text):
        got = stepscope_run("-q", "-o", "out", script(text, "program.py"))
        assert got.code == 0, got.err
        (path,) = (tmp_path / "out").glob("*.pt.trace.json*")
        trace = open_trace(path)
        return trace.verdict(), {row["rule"]: row for row in trace.findings()}

    return look


JSON = """\
import json

def load(count):
    return [json.dumps({"id": i, "values": list(range(60))}) for i in range(count)]

for _ in range(8):
    load(5000)
"""


def test_json_is_named_with_the_line_that_asks_for_it(found):
    verdict, rules = found(JSON)
    assert "json" in rules, (verdict, rules)
    assert rules["json"]["source"] in ("program.py(4): <listcomp>", "program.py(4): load"), rules["json"]
    assert rules["json"]["saves_share"] > 0.5


LOGGING = """\
import logging

logging.basicConfig(filename="log.txt", level=logging.DEBUG)

def step(number):
    logging.debug("step %d of %s", number, "many")

for number in range(60_000):
    step(number)
"""


def test_logging_is_named(found):
    verdict, rules = found(LOGGING)
    assert "logging" in rules, (verdict, rules)
    assert "program.py" in rules["logging"]["source"]


WAITING = """\
import time

def fetch():
    time.sleep(0.2)

def work():
    return sum(value * value for value in range(200_000))

for _ in range(5):
    fetch()
    work()
"""


def test_waiting_is_named_and_work_is_not_blamed_for_it(found):
    verdict, rules = found(WAITING)
    assert "waiting" in rules, (verdict, rules)
    assert "fetch" in verdict, verdict


HEALTHY = """\
import hashlib

data = bytes(1 << 20)
for _ in range(400):
    hashlib.sha256(data).hexdigest()
"""


def test_a_program_that_computes_in_c_gets_no_advice(found):
    _, rules = found(HEALTHY)
    assert not rules, rules


TRAIN = """\
import torch

torch.set_num_threads(1)
model = torch.nn.Linear(256, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def augment(batch):
    rows = []
    for row in batch.tolist():
        rows.append([value * 1.01 for value in row])
    return torch.tensor(rows)

def step(batch, labels):
    loss = torch.nn.functional.cross_entropy(model(augment(batch)), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

for _ in range(60):
    step(torch.randn(256, 256), torch.randint(0, 10, (256,)))
"""


@pytest.mark.frameworks
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.usefixtures("steady_machine")
def test_python_that_holds_training_up_is_named(found):
    verdict, rules = found(TRAIN)
    assert "augment (program.py:7)" in verdict, verdict
    assert "hot_function" in rules and "growing_memory" not in rules, (verdict, rules)
    assert rules["hot_function"]["source"] == "program.py(7): augment"
