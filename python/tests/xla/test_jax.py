"""Around JAX its own profiler records: what is in its files, by its own reader."""

from __future__ import annotations

import pathlib
import sys
import warnings
from collections import Counter

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_platforms", "cpu")


sys.path.insert(0, str(pathlib.Path(__file__).parent))
from profiles import check_captures, command, documented, events, free_port, named, only, opened, steps  # noqa: E402

import stepscope  # noqa: E402
from stepscope import profile, record_function, schedule, tensorboard_trace_handler  # noqa: E402

jnp = jax.numpy


@jax.jit
def train_step(x):
    return jnp.tanh(x @ x.T) @ x


@pytest.fixture(scope="module")
def x():
    x = jnp.ones((64, 64))
    train_step(x).block_until_ready()
    return x


def train(prof, x, count):
    for _ in range(count):
        with record_function("forward"):
            x = train_step(x)
        prof.step()


def test_scheduled_steps_regions_and_operators_are_in_the_file(tmp_path, x):
    plan = schedule(wait=1, warmup=1, active=3, repeat=1)
    with profile(schedule=plan, on_trace_ready=tensorboard_trace_handler(tmp_path), monitor=False) as prof:
        train(prof, x, 7)
    path = only(tmp_path)
    assert steps(path) == [2, 3, 4]
    assert len(named(path, "forward")) == 3
    assert any("hlo_op" in event.stats for event in events(path))
    # Regions are ours too.
    counts = {event.key: event.count for event in prof.key_averages()}
    assert counts == {"forward": 3, "ProfilerStep*": 3}


def test_each_cycle_has_a_file(tmp_path, x):
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with profile(schedule=plan, on_trace_ready=tensorboard_trace_handler(tmp_path), monitor=False) as prof:
        train(prof, x, 6)
    found = sorted(steps(path) for path in tmp_path.rglob("*.xplane.pb"))
    assert found == [[1], [3]]


def test_without_a_schedule_a_step_that_nobody_ended_is_none(tmp_path, x):
    with profile(monitor=False) as prof:
        with record_function("all of it"):
            train_step(x)
    path = prof.export_xplane(tmp_path)
    assert steps(path) == [] and len(named(path, "all of it")) == 1
    with profile(monitor=False) as prof:
        train(prof, x, 3)
        train_step(x)
    assert steps(prof.export_xplane(tmp_path)) == [0, 1, 2]
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 2


def test_work_that_was_launched_is_waited_for(tmp_path):
    big = jnp.ones((700, 700))
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y @ x), x))
    slow(big).block_until_ready()
    plan = schedule(wait=0, warmup=1, active=1, repeat=1)
    with profile(schedule=plan, monitor=False) as prof:
        prof.step()
        result = slow(big)  # returns before it is done
        prof.step()
    assert result.is_ready()
    path = prof.export_xplane(tmp_path)
    # Each turn of the loop takes milliseconds, and all of them are there.
    counts = Counter(event.name for event in events(path) if "hlo_op" in event.stats)
    assert counts.most_common(1)[0][1] == 20


def test_with_stack_records_calls_of_python(tmp_path, x):
    def a_function_of_ours():
        return train_step(x)

    for with_stack in (False, True):
        with profile(monitor=False, with_stack=with_stack) as prof:
            a_function_of_ours()
        names = {event.name for event in events(prof.export_xplane(tmp_path / str(with_stack)))}
        assert any("a_function_of_ours" in name for name in names) is with_stack


def test_a_framework_can_be_named(tmp_path, x):
    with profile(monitor=False, framework="none") as prof:
        train(prof, x, 2)
    with pytest.raises(stepscope.StepscopeError, match="there is no XPlane profile"):
        prof.export_xplane(tmp_path)
    prof.export_chrome_trace(tmp_path / "trace.json")
    assert len(stepscope.open(tmp_path / "trace.json").steps()) == 2
    with profile(monitor=False, framework="jax") as prof:
        train(prof, x, 1)
    assert steps(prof.export_xplane(tmp_path)) == [0]
    with pytest.raises(stepscope.StepscopeError, match="there is no framework 'jaxx'; did you mean 'jax'"):
        profile(framework="jaxx")


def test_the_programs_own_profiler_goes_first(tmp_path, x):
    with pytest.warns(stepscope.StepscopeWarning, match="JAX's own profiler was started while this one ran"):
        with profile(monitor=False) as prof:
            train(prof, x, 2)
            with jax.profiler.trace(str(tmp_path / "theirs")):
                with record_function("late"):
                    train_step(x).block_until_ready()
    ours = prof.export_xplane(tmp_path / "ours")
    assert steps(ours) == [0, 1] and named(ours, "late") == []
    assert len(events(only(tmp_path / "theirs"))) > 0
    assert {event.key for event in prof.key_averages()} >= {"forward", "late"}
    # Nothing of ours is left in its place.
    assert jax.profiler.start_trace.__module__ == "jax._src.profiler"


def test_a_profiler_that_runs_is_left_alone(tmp_path, x):
    with jax.profiler.trace(str(tmp_path)):
        with pytest.warns(stepscope.StepscopeWarning, match="recording without JAX's profiler"):
            with profile(monitor=False) as prof:
                train(prof, x, 2)
    assert len(events(only(tmp_path))) > 0
    assert {event.key: event.count for event in prof.key_averages()} == {"forward": 2, "ProfilerStep*": 2}


def test_an_error_of_the_program_is_its_own(tmp_path, x):
    with pytest.raises(ZeroDivisionError):
        with profile(monitor=False, on_trace_ready=tensorboard_trace_handler(tmp_path, "worker-3")) as prof:
            train(prof, x, 2)
            1 / 0
    assert only(tmp_path).name == "worker-3.xplane.pb"
    assert steps(only(tmp_path)) == [0, 1]


def test_the_configuration_drives_it_too(tmp_path, x):
    section = {"wait": 1, "warmup": 1, "active": 2, "output": str(tmp_path / "traces"), "monitor": False}
    with stepscope.configure({"profiling": section}) as profiling:
        for _ in range(6):
            train_step(x)
            profiling.step()
    assert profiling.traces == [only(tmp_path / "traces")]
    assert steps(profiling.traces[0]) == [2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with stepscope.configure({"profiling": {**section, "framework": "none"}}) as profiling:
            for _ in range(6):
                profiling.step()
    assert profiling.traces[0].name.endswith(".pt.trace.json.gz")


def test_our_reader_finds_steps_and_operators(tmp_path, x):
    plan = schedule(wait=0, warmup=1, active=3, repeat=1)
    with profile(schedule=plan, on_trace_ready=tensorboard_trace_handler(tmp_path), monitor=False) as prof:
        train(prof, x, 5)
    trace = opened(only(tmp_path))
    assert trace.steps().column("step") == [1, 2, 3]
    assert prof.trace().steps().column("step") == [1, 2, 3]


def test_the_page_is_right(tmp_path, monkeypatch, x):
    monkeypatch.chdir(tmp_path)
    exec(documented("Record from inside the program"), {"loader": [x] * 6, "model": train_step})
    assert steps(only(tmp_path / "logs")) == [2, 3, 4] and len(named(only(tmp_path / "logs"), "forward")) == 3
    exec(documented("Capture a running program").replace("9999", str(free_port())), {})
    jax.profiler.stop_server()


SCRIPT = """\
import jax, jax.numpy as jnp
import stepscope
step = jax.jit(lambda x: jnp.tanh(x @ x.T) @ x)
x = jnp.ones((64, 64))
with stepscope.record_function("outer"):
    for _ in range(200):
        x = step(x).block_until_ready()
print("done", float(x[0, 0]) != 0)
"""


def recorded_by_run(tmp_path, *options):
    (tmp_path / "train_jax.py").write_text(SCRIPT)
    done = command("run", *options, "-o", "traced", "train_jax.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done True\n"), done.stderr
    # One file.
    (path,) = (path for path in (tmp_path / "traced").rglob("*") if path.is_file())
    return stepscope.open(path)


def test_a_whole_run_has_regions_and_operators_in_one_file(tmp_path):
    trace = recorded_by_run(tmp_path, "--whole")
    assert "outer" in trace.ops(kind="annotations").column("name")
    rows = trace.ask("hlo", by="program", top=0)["instructions"]
    assert any(row["name"].startswith("jit__lambda") for row in rows), rows


def test_run_leaves_out_a_framework_that_is_not_asked_for(tmp_path):
    trace = recorded_by_run(tmp_path, "--profiling.framework", "none")
    assert trace.ask("info")["info"]["framework"] is None


def test_run_gives_way_to_the_scripts_own_profiler(tmp_path):
    own = SCRIPT + "with jax.profiler.trace('own'):\n    step(x).block_until_ready()\nprint('own')\n"
    (tmp_path / "train_jax.py").write_text(own)
    traced = command("run", "--whole", "-o", "traced", "train_jax.py", cwd=tmp_path)
    assert (traced.returncode, traced.stdout) == (0, "done True\nown\n"), traced.stderr
    assert "JAX's own profiler was started" in traced.stderr
    (path,) = (tmp_path / "traced").iterdir()
    assert stepscope.open(path).ask("info")["info"]["framework"] == "JAX" and len(events(only(tmp_path / "own"))) > 0


def test_run_starts_nothing_before_the_script_uses_jax(tmp_path):
    late = "import jax, time\ntime.sleep(0.3)\njax.config.update('jax_num_cpu_devices', 3)\nprint(len(jax.devices()))\n"
    (tmp_path / "late.py").write_text(late)
    done = command("run", "-o", "traced", "late.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


SERVER = """\
import sys, time
import jax, jax.numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x.T) @ x)
x = jnp.ones((128, 128))
step(x).block_until_ready()
jax.profiler.start_server(int(sys.argv[1]))
print("ready", flush=True)
for number in range(10**9):
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        step(x).block_until_ready()
        time.sleep(0.002)
"""


def test_a_server_is_captured(tmp_path: pathlib.Path) -> None:
    check_captures(SERVER, tmp_path)


def test_the_compilers_plan_is_what_jax_says(tmp_path):
    def update(weights, batch):
        def loss(weights):
            hidden = batch
            for weight in weights:
                hidden = jnp.tanh(hidden @ weight)
            return (hidden**2).sum()

        gradients = jax.grad(loss)(weights)
        return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], loss(weights)

    # The weights are donated: their memory is that of the results.
    update = jax.jit(update, donate_argnums=0)
    weights, batch = [jnp.ones((256, 256)) for _ in range(3)], jnp.ones((64, 256))
    told = update.lower(weights, batch).compile().memory_analysis()
    weights, _ = update(weights, batch)
    with profile(monitor=False) as prof:
        jax.block_until_ready(update(weights, batch))
    trace = stepscope.open(prof.export_xplane(tmp_path))
    [plan] = [row for row in trace.ask("memory", by="program")["programs"] if row["program"] == "jit_update"]
    assert plan["ran"]
    assert plan["argument_bytes"] == told.argument_size_in_bytes
    assert plan["aliased_bytes"] == told.alias_size_in_bytes > 0
    assert plan["result_bytes"] + plan["aliased_bytes"] == told.output_size_in_bytes
    assert plan["temporary_bytes"] == told.temp_size_in_bytes > 0
    assert plan["argument_bytes"] < plan["program_peak_bytes"] <= plan["planned_bytes"]
    # What is live then is named, and adds up to the peak.
    buffers = trace.ask("memory", by="buffer", program="jit_update", top=0)["buffers"]
    assert sum(row["buffer_bytes"] for row in buffers) == plan["program_peak_bytes"]
    assert {"argument", "temporary"} <= {row["kind"] for row in buffers}
    # And every instruction that ran is one of the program's.
    ran = trace.ask("hlo", by="instruction", program="jit_update", top=0)["instructions"]
    assert ran and all(row["category"] is not None for row in ran)
