"""The profiler for Lightning, in real trainings."""

from __future__ import annotations

import gzip
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
try:
    import lightning.pytorch as pl
except ImportError:
    pl = pytest.importorskip("pytorch_lightning", reason="Lightning is not installed")

from stepscope.errors import StepscopeError  # noqa: E402
from stepscope.integrations.lightning import StepscopeProfiler  # noqa: E402


class Model(pl.LightningModule):
    def __init__(self, fail_at=None):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.fail_at = fail_at

    def training_step(self, batch, index):
        if index == self.fail_at:
            raise ValueError("planted")
        return self.layer(batch).sum()

    def test_step(self, batch, index):
        self.layer(batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def loader():
    return torch.utils.data.DataLoader(torch.ones(20, 4), batch_size=2)


def trainer(folder, profiler):
    return pl.Trainer(
        max_epochs=1,
        profiler=profiler,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        accelerator="cpu",
    )


def events(path):
    with gzip.open(path, "rt") as file:
        return json.load(file)["traceEvents"]


def count(path, text):
    return sum(1 for event in events(path) if event.get("ph") == "X" and text in str(event.get("name")))


def test_fit_records_the_steps_of_the_schedule(tmp_path):
    profiler = StepscopeProfiler(dirpath=tmp_path / "traces", wait=1, warmup=1, active=3)
    trainer(tmp_path, profiler).fit(Model(), loader())
    (trace,) = profiler.traces
    assert str(tmp_path / "traces") in trace
    assert count(trace, "ProfilerStep#") == 3
    assert count(trace, "run_training_batch") == 3
    assert count(trace, ".optimizer_step") >= 3
    assert count(trace, "aten::linear") == 3
    assert "stepscope view" in profiler.summary()


def test_fit_then_test_write_traces_of_their_own(tmp_path):
    profiler = StepscopeProfiler(dirpath=tmp_path, wait=0, warmup=1, active=2)
    model, made = Model(), trainer(tmp_path, profiler)
    made.fit(model, loader())
    made.test(model, loader())
    first, second = profiler.traces
    assert count(first, "run_training_batch") == 2
    assert count(second, ".test_step") >= 2 and count(second, "run_training_batch") == 0


def test_epochs(tmp_path):
    profiler = StepscopeProfiler(dirpath=tmp_path, wait=0, warmup=1, active=1, unit="epochs")
    made = trainer(tmp_path, profiler)
    made.fit_loop.max_epochs = 3
    made.fit(Model(), loader())
    (trace,) = profiler.traces
    assert count(trace, "aten::linear") == 10


def test_a_failing_training_raises_its_own_error_and_the_next_one_works(tmp_path):
    failed = StepscopeProfiler(dirpath=tmp_path / "a", wait=0, warmup=1, active=50)
    with pytest.raises(ValueError, match="planted"):
        trainer(tmp_path, failed).fit(Model(fail_at=4), loader())
    again = StepscopeProfiler(dirpath=tmp_path / "b", wait=0, warmup=1, active=2)
    trainer(tmp_path, again).fit(Model(), loader())
    assert count(again.traces[0], "aten::linear") == 2
    assert len(list((tmp_path / "a").iterdir())) == 1


def test_wrong_settings_are_told_at_once():
    with pytest.raises(StepscopeError, match="did you mean 'active'"):
        StepscopeProfiler(actve=3)
