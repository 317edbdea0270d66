"""The callback for Keras with the backends that XLA is behind, without TensorBoard. ``KERAS_BACKEND`` says which."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
numpy = pytest.importorskip("numpy", reason="numpy is not installed")
BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")
if BACKEND not in ("tensorflow", "jax"):
    pytest.skip("this is about the other backends", allow_module_level=True)
if importlib.util.find_spec("keras") is None or importlib.util.find_spec(BACKEND) is None:
    pytest.skip(f"keras or {BACKEND} is not installed", allow_module_level=True)

import keras  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from profiles import documented, events, named, only, opened, steps  # noqa: E402

from stepscope.integrations.keras import StepscopeCallback  # noqa: E402


def fit(callback, batches=10, epochs=2, **more):
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer="sgd")
    x, y = numpy.ones((batches * 2, 4)), numpy.ones((batches * 2, 1))
    model.fit(x, y, batch_size=2, epochs=epochs, verbose=0, callbacks=[callback], **more)


def test_the_backend_is_the_one_that_is_meant():
    assert keras.backend.backend() == BACKEND


# Batches count from 1, steps from 0.
@pytest.mark.parametrize(
    "batches, expected",
    [((3, 5), [2, 3, 4]), ("3,5", [2, 3, 4]), (4, [3]), ((1, 2), [0, 1]), ((9, 12), [8, 9, 10, 11])],
)
def test_the_batches_asked_for_are_steps(tmp_path, batches, expected):
    callback = StepscopeCallback(tmp_path, profile_batch=batches, monitor=False)
    fit(callback)
    path = only(tmp_path / "profiler_traces")
    assert callback.traces == [str(path)]
    assert steps(path) == expected
    assert len(named(path, "train_batch")) == len(expected)
    computed = "hlo_op" if BACKEND == "jax" else "MatMul"
    assert any(computed in event.stats or computed in event.name for event in events(path))


def test_the_page_is_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer="sgd")
    exec(documented("Keras"), {"model": model, "x": numpy.ones((700, 4)), "y": numpy.ones((700, 1))})
    assert steps(only(tmp_path / "logs/profiler_traces")) == list(range(9, 20))


def test_zero_is_off(tmp_path):
    callback = StepscopeCallback(tmp_path, profile_batch=0)
    fit(callback)
    assert callback.traces == [] and list(tmp_path.iterdir()) == []


def test_validation_is_a_region(tmp_path):
    x, y = numpy.ones((20, 4)), numpy.ones((20, 1))
    callback = StepscopeCallback(tmp_path, profile_batch=(2, 11), monitor=False)
    fit(callback, validation_data=(x, y), validation_batch_size=10)
    assert len(named(callback.traces[0], "test_batch")) == 2


def test_our_reader_finds_the_steps(tmp_path):
    callback = StepscopeCallback(tmp_path, profile_batch="2,5", monitor=False)
    fit(callback)
    assert opened(callback.traces[0]).steps().column("step") == [1, 2, 3, 4]
