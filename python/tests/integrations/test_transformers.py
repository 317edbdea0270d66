"""The callback for transformers, in real trainings."""

from __future__ import annotations

import gzip
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="Transformers is not installed")
pytest.importorskip("accelerate", reason="Accelerate is not installed")

from stepscope.integrations.transformers import StepscopeCallback  # noqa: E402


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, labels=None):
        return {"loss": (self.layer(x).squeeze(-1) - labels).square().mean()}


DATA = [{"x": torch.ones(4), "labels": torch.tensor(1.0)} for _ in range(40)]


def train(folder, callback, **more):
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=2,
        max_steps=8,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        **more,
    )
    transformers.Trainer(model=Model(), args=arguments, train_dataset=DATA, callbacks=[callback]).train()


def count(path, text):
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    return sum(1 for event in events if event.get("ph") == "X" and text in str(event.get("name")))


def test_the_steps_of_the_schedule_are_recorded(tmp_path):
    callback = StepscopeCallback(wait=1, warmup=1, active=3, record_shapes=True)
    train(tmp_path, callback)
    (trace,) = callback.traces
    assert trace.startswith(str(tmp_path / "profiler_traces"))
    assert count(trace, "ProfilerStep#") == 3
    assert count(trace, "train_step") == 3
    assert count(trace, "aten::linear") == 3


def test_a_step_is_an_update_of_the_weights(tmp_path):
    callback = StepscopeCallback(wait=0, warmup=1, active=2)
    train(tmp_path, callback, gradient_accumulation_steps=2)
    assert count(callback.traces[0], "aten::linear") == 4


def test_a_second_training_has_its_own_trace(tmp_path):
    callback = StepscopeCallback(wait=0, warmup=1, active=1)
    train(tmp_path, callback)
    train(tmp_path, callback)
    assert len(set(callback.traces)) == 2
