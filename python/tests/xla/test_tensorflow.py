"""Around TensorFlow its own profiler records, and its documented ways to profile work under our names."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


sys.path.insert(0, str(pathlib.Path(__file__).parent))
from profiles import check_captures, command, documented, events, named, only, opened, steps  # noqa: E402

import stepscope  # noqa: E402
from stepscope import profile, record_function, schedule, tensorboard_trace_handler  # noqa: E402
from stepscope import tensorflow as profiler  # noqa: E402


@tf.function
def train_step(x):
    return tf.matmul(tf.tanh(tf.matmul(x, x, transpose_b=True)), x)


@pytest.fixture(scope="module")
def x():
    x = tf.ones((64, 64))
    train_step(x)
    return x


@pytest.fixture(autouse=True)
def _without_jax(monkeypatch):
    # Whatever else this process has imported: here it is TensorFlow that computes.
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def test_scheduled_steps_regions_and_operators_are_in_the_file(tmp_path, x):
    plan = schedule(wait=1, warmup=1, active=3, repeat=1)
    with profile(schedule=plan, on_trace_ready=tensorboard_trace_handler(tmp_path), monitor=False) as prof:
        for _ in range(7):
            with record_function("forward"):
                train_step(x)
            prof.step()
    path = only(tmp_path)
    assert steps(path) == [2, 3, 4]
    assert len(named(path, "forward")) == 3
    assert any("MatMul" in event.name for event in events(path))
    assert {event.key: event.count for event in prof.key_averages()} == {"forward": 3, "ProfilerStep*": 3}


def test_the_programs_own_profiler_goes_first(tmp_path, x):
    with pytest.warns(stepscope.StepscopeWarning, match="TensorFlow's own profiler was started while this one ran"):
        with profile(monitor=False) as prof:
            train_step(x)
            prof.step()
            tf.profiler.experimental.start(str(tmp_path / "theirs"))
            train_step(x)
            tf.profiler.experimental.stop()
    assert steps(prof.export_xplane(tmp_path / "ours")) == [0]
    assert len(events(only(tmp_path / "theirs"))) > 0


def test_start_and_stop_as_documented(tmp_path, monkeypatch, x):
    """The program of TensorFlow's page: a second start in the middle is taken for a wish, and so is a second stop."""
    monkeypatch.chdir(tmp_path)
    model, optimizer, loss_fn, train_dataset = readers_things()
    profiler.start("logs/profiler")
    with pytest.warns(stepscope.StepscopeWarning) as warned:
        for epoch in range(5):
            for step, (x, y) in enumerate(train_dataset):
                with tf.GradientTape() as tape:
                    predictions = model(x, training=True)
                    loss = loss_fn(y, predictions)

                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))

                # Profile specific steps
                if epoch == 2 and step == 10:
                    profiler.start("logs/profiler_step10")

                if epoch == 2 and step == 20:
                    profiler.stop()
        profiler.stop()
    told = [str(one.message) for one in warned]
    assert "recorded already, into logs/profiler: it ends here" in told[0] and "stop() has no effect" in told[-1]
    for folder in ("logs/profiler", "logs/profiler_step10"):
        assert any("MatMul" in event.name for event in events(only(tmp_path / folder)))


def test_the_context_manager_as_documented(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, optimizer, loss_fn, train_dataset = readers_things()
    with profiler.Profile("logs/profiler") as recorded:
        for step, (x, y) in enumerate(train_dataset):
            with profiler.Trace("train", step_num=step, _r=1):
                with tf.GradientTape() as tape:
                    loss = loss_fn(y, model(x, training=True))
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            if step == 4:
                break
    assert os.path.abspath(recorded.path) == str(only(tmp_path / "logs/profiler"))
    assert steps(recorded.path) == [0, 1, 2, 3, 4]
    trace = opened(recorded.path)
    assert trace.steps().column("step") == [0, 1, 2, 3, 4]


def test_an_error_in_the_block_is_the_programs(tmp_path, x):
    with pytest.raises(ZeroDivisionError):
        with profiler.Profile(tmp_path):
            train_step(x)
            1 / 0
    assert len(events(only(tmp_path))) > 0


def test_the_page_is_right(tmp_path, monkeypatch, x):
    monkeypatch.chdir(tmp_path)
    exec(documented("Record from inside the program"), {"loader": [x] * 6, "model": train_step})
    assert steps(only(tmp_path / "logs")) == [2, 3, 4]
    names = {"loader": [x] * 3, "batch": x, "train_step": train_step}
    exec(documented("As TensorFlow's own functions").replace('"logs"', '"others"'), names)
    found = sorted((steps(path) for path in (tmp_path / "others").rglob("*.xplane.pb")), key=len)
    assert found == [[], [0, 1, 2]]


def readers_things():
    """What the page leaves to the reader."""
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3)])
    data = tf.data.Dataset.from_tensor_slices((tf.ones((60, 4)), tf.zeros((60,), tf.int32))).batch(2)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return model, tf.keras.optimizers.SGD(0.01), loss, data


SCRIPT = """\
import tensorflow as tf
step = tf.function(lambda x: tf.matmul(tf.tanh(x), x))
x = tf.ones((64, 64))
for _ in range(200):
    y = step(x)
print("done", float(y[0, 0]) > 0)
"""


def test_a_whole_run_has_operators(tmp_path):
    (tmp_path / "train_tf.py").write_text(SCRIPT)
    traced = command("run", "--whole", "-o", "traced", "train_tf.py", cwd=tmp_path)
    assert (traced.returncode, traced.stdout) == (0, "done True\n"), traced.stderr
    (path,) = (tmp_path / "traced").iterdir()
    operators = stepscope.open(path).ops(top=0)
    assert any("MatMul" in name for name in operators.column("name")), operators


SERVER = """\
import sys, time
import tensorflow as tf
step = tf.function(lambda x: tf.matmul(tf.tanh(x), x))
x = tf.ones((128, 128))
step(x)
tf.profiler.experimental.server.start(int(sys.argv[1]))
print("ready", flush=True)
for number in range(10**9):
    with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
        step(x)
        time.sleep(0.002)
"""


def test_a_server_is_captured(tmp_path: pathlib.Path) -> None:
    check_captures(SERVER, tmp_path)
