"""``torch.compile`` put into a small program on a CPU."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

COMPILED = """
import copy
import io
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        inner = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 1))
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 8), inner)
    def forward(self, value):
        {extra}
        return self.layers(value)
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for number in range(8):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
torch.save(model, io.BytesIO())
twin = copy.deepcopy(model)
with torch.no_grad():
    twin_is_alike = torch.equal(twin(torch.ones(4, 8)), model(torch.ones(4, 8)))
counters = getattr(getattr(getattr(torch, "_dynamo", None), "utils", None), "counters", None)
seen = dict(
    losses=losses,
    kind=type(model).__name__,
    keys=sorted(model.state_dict()),
    hooks=len(model._forward_hooks) + len(model._forward_pre_hooks),
    twin=twin_is_alike,
)
graphs = dict(counters["stats"]).get("unique_graphs", 0) if counters else 0
"""
EAGER = {"options": {"backend": "eager"}}


def compiled(model: str = "Net()", extra: str = "pass") -> str:
    return COMPILED.format(model=model, extra=extra)


@pytest.mark.parametrize(
    "model", ["Net()", pytest.param("torch.nn.Sequential(Net(), torch.nn.Identity())", marks=pytest.mark.nightly)]
)
def test_a_model_is_compiled_and_the_program_does_not_notice(model, tried):
    program = compiled(model)
    plain = tried(program)
    got = tried(program + "seen['graphs'] = graphs\n", "compile", compile=EAGER)
    # Its copy is a model of its own, and is called without gradients.
    assert got.took and got.evidence.startswith("2 graphs of"), got.evidence
    assert "graph break" not in got.evidence and got.seen.pop("graphs") == 2
    assert got.seen == plain.seen


def test_breaks_in_the_graph_are_named(tried):
    got = tried(compiled(extra="torch._dynamo.graph_break()"), "compile", compile=EAGER)
    assert got.took and "graph break" in got.evidence


@pytest.mark.parametrize(
    ("program", "options", "why"),
    [
        (compiled("torch.compile(Net(), backend='eager')"), EAGER, "compiles its model itself"),
        (
            compiled().replace(
                "class Net",
                """
import torch._dynamo
@torch._dynamo.register_backend(name="fails")
def fails(graph, inputs):
    raise ValueError("no compiler here")
class Net""",
            ),
            {"options": {"backend": "fails"}},
            "Net cannot be compiled",
        ),
    ],
    ids=["the program does", "the compiler fails"],
)
def test_a_model_stays_uncompiled(program, options, why, tried):
    plain, got = tried(program), tried(program, "compile", compile=options)
    assert not got.took and why in got.evidence
    assert got.seen == plain.seen


def test_a_program_that_compiles_is_compiled_as_it_is_without_us(tried):
    """``fullgraph=True`` makes an error of whatever the compiler meets and cannot compile."""
    program = """
import torch
inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 8)))
whole = torch.compile(inner, backend="eager", fullgraph=True)
part = torch.compile(lambda value: inner(value).sum(), backend="eager", fullgraph=True)
with torch.no_grad():
    for _ in range(12):
        inner(torch.ones(2, 8))
        whole(torch.ones(2, 8))
        part(torch.ones(2, 8))
from torch._dynamo.utils import counters
seen = counters["stats"]["unique_graphs"]
"""
    got = tried(program, "keep-cache", "channels-last")
    assert got.seen == tried(program).seen
