"""The callback for Keras, in real trainings with whichever backend is there."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="numpy is not installed")
if importlib.util.find_spec("keras") is None:
    pytest.skip("keras is not installed", allow_module_level=True)
if "keras" not in sys.modules and "KERAS_BACKEND" not in os.environ:
    for backend in ("torch", "jax", "tensorflow"):
        if importlib.util.find_spec(backend) is not None:
            os.environ["KERAS_BACKEND"] = backend
            break
    else:
        pytest.skip("no backend of keras is installed", allow_module_level=True)

import keras  # noqa: E402

from stepscope.errors import StepscopeError  # noqa: E402
from stepscope.integrations.keras import StepscopeCallback, batch_range, batch_schedule  # noqa: E402


def fit(callback, batches=10, epochs=2):
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer="sgd")
    x, y = numpy.ones((batches * 2, 4)), numpy.ones((batches * 2, 1))
    model.fit(x, y, batch_size=2, epochs=epochs, verbose=0, callbacks=[callback])


def count(path, text):
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    return sum(1 for event in events if event.get("ph") == "X" and text in str(event.get("name")))


@pytest.mark.parametrize("batches, expected", [((3, 5), 3), ("3,5", 3), (4, 1), ((1, 2), 2), ((9, 12), 4)])
def test_the_batches_asked_for_are_recorded(tmp_path, batches, expected):
    callback = StepscopeCallback(tmp_path, profile_batch=batches)
    fit(callback)
    (trace,) = callback.traces
    assert trace.startswith(str(tmp_path / "profiler_traces"))
    assert count(trace, "train_batch") == expected
    assert count(trace, "ProfilerStep#") == expected
    if keras.backend.backend() == "torch":
        assert count(trace, "aten::") > 0


def test_zero_is_off(tmp_path):
    callback = StepscopeCallback(tmp_path, profile_batch=0)
    fit(callback)
    assert callback.traces == [] and list(tmp_path.iterdir()) == []


def test_validation_is_a_region(tmp_path):
    callback = StepscopeCallback(tmp_path, profile_batch=(2, 11))
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer="sgd")
    x, y = numpy.ones((20, 4)), numpy.ones((20, 1))
    validation = {"validation_data": (x, y), "validation_batch_size": 10}
    model.fit(x, y, batch_size=2, epochs=2, verbose=0, callbacks=[callback], **validation)
    assert count(callback.traces[0], "test_batch") == 2


@pytest.mark.parametrize("wrong", ["a,b", (3, 2), -1, (1, 2, 3), None, (0, 5)])
def test_wrong_batches_are_told(wrong):
    with pytest.raises(StepscopeError, match="profile_batch cannot be"):
        batch_range(wrong)


def test_a_setting_that_the_batches_decide_is_refused(tmp_path):
    with pytest.raises(StepscopeError, match="profile_batch decides wait"):
        StepscopeCallback(tmp_path, wait=3)


def test_the_schedule_of_batches():
    assert batch_schedule(1, 1) == {"skip_first": 0, "wait": 0, "warmup": 0, "active": 1}
    assert batch_schedule(2, 3) == {"skip_first": 0, "wait": 0, "warmup": 1, "active": 2}
