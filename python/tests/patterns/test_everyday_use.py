"""What people do with a profiler, start to end: once with PyTorch where it is installed, once without it.

Each pattern is written as a user would, with ``stepscope`` in the place of ``torch.profiler``."""

from __future__ import annotations

import mmap
import pathlib
import subprocess
import sys
import time

import pytest

import stepscope
import stepscope as profiler
from stepscope import PerformanceProfiler, ProfilerActivity, profile, record_function

# A program that does not use PyTorch may live where it is installed.
pytestmark = pytest.mark.either


class Work:
    """A model and its training, in PyTorch or in plain Python."""

    def __init__(self, torch) -> None:
        self.torch = torch
        if torch is not None:
            self.model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def forward(self, size: int = 8):
        if self.torch is None:
            return sum(i * i for i in range(size * 500))
        return self.model(self.torch.randn(size, 64))

    def step(self, size: int = 8) -> None:
        if self.torch is None:
            self.forward(size)
            return
        self.optimizer.zero_grad()
        self.forward(size).sum().backward()
        self.optimizer.step()


@pytest.fixture(params=[pytest.param("with PyTorch", marks=pytest.mark.frameworks), "without PyTorch"])
def work(request):
    if request.param == "without PyTorch":
        request.getfixturevalue("without_frameworks")
        return Work(None)
    return Work(pytest.importorskip("torch", reason="PyTorch is not installed"))


BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def keys(prof) -> set:
    return {event.key for event in prof.key_averages()}


@pytest.mark.filterwarnings("ignore")
def test_a_basic_profile(work, tmp_path):
    with profile(activities=BOTH, record_shapes=True) as prof:
        with record_function("model_inference"):
            work.forward()
    table = prof.key_averages().table(sort_by="cuda_time_total", row_limit=10)
    assert "model_inference" in table
    assert "model_inference" in keys(prof)
    if work.torch is not None:
        assert "aten::linear" in keys(prof)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "model_inference" in stepscope.open(tmp_path / "trace.json").ops(kind="annotations").column("name")


@pytest.mark.filterwarnings("ignore")
def test_a_schedule_writes_a_file_for_each_cycle(work, tmp_path):
    with profiler.profile(
        activities=BOTH,
        schedule=profiler.schedule(wait=1, warmup=1, active=3, repeat=2),
        on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path)),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_flops=True,
    ) as prof:
        for _ in range(12):
            work.step()
            prof.step()
    files = sorted(tmp_path.glob("*.pt.trace.json*"))
    assert len(files) == 2
    assert stepscope.open(files[0]).steps().column("step") == [2, 3, 4]
    assert stepscope.open(files[1]).steps().column("step") == [7, 8, 9]


@pytest.mark.filterwarnings("ignore")
def test_inference(work, tmp_path):
    with profiler.profile(activities=BOTH, on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path))) as prof:
        for _ in range(20):
            work.forward(1)
            prof.step()
    assert len(list(tmp_path.glob("*.pt.trace.json*"))) == 1


@pytest.mark.filterwarnings("ignore")
def test_memory_of_operators(work):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        with record_function("step"):
            work.step()
    for key in ("self_cpu_memory_usage", "self_cuda_memory_usage"):
        assert prof.key_averages().table(sort_by=key, row_limit=10)


@pytest.mark.filterwarnings("ignore")
def test_ranges_by_hand_and_grouping(work, tmp_path):
    took_us = 0.0
    with profile(activities=BOTH, record_shapes=True, with_stack=True) as prof:
        for _ in range(3):
            began = time.perf_counter()
            with record_function("data_loading"):
                time.sleep(0.002)
            took_us += (time.perf_counter() - began) * 1e6
            with record_function("forward"):
                work.forward()
    loading = next(event for event in prof.key_averages() if event.key == "data_loading")
    assert loading.count == 3
    assert 6_000 <= loading.cpu_time_total <= 1.01 * took_us
    assert sum(event.cuda_time for event in prof.key_averages()) == 0
    assert prof.key_averages(group_by_input_shape=True).table(row_limit=5)
    assert prof.key_averages(group_by_stack_n=5).table(sort_by="cpu_time_total", row_limit=5)
    prof.export_stacks(str(tmp_path / "stacks.txt"), "self_cpu_time_total")
    assert (tmp_path / "stacks.txt").exists()


def test_batch_sizes_are_compared(work):
    measure = PerformanceProfiler()
    rates = {}
    for size in (4, 8, 16):
        with measure.profile(f"batch_size_{size}"):
            for _ in range(10):
                work.forward(size)
        metrics = measure.get_metrics()
        assert metrics.name == f"batch_size_{size}"
        rates[size] = 10 * size / metrics.timing.wall_time_s
    assert max(rates, key=rates.get) in rates
    table = measure.compare(samples={f"batch_size_{size}": 10 * size for size in rates})
    assert table.best("throughput") == f"batch_size_{max(rates, key=rates.get)}"


def test_architectures_are_compared(work):
    measure = PerformanceProfiler(estimate_flops=True)
    results = {}
    for name, size in {"small": 2, "large": 200}.items():
        with measure.profile(f"{name}_training"):
            for _ in range(3):
                work.step(size)
        metrics = measure.get_metrics()
        results[name] = {
            "memory": metrics.memory.peak_ram_mb,
            "time": metrics.timing.wall_time_s,
            "flops": metrics.compute.estimated_flops,
        }
    assert results["large"]["time"] > 0 and results["small"]["memory"] > 0
    if work.torch is not None:
        assert results["large"]["flops"] == 100 * results["small"]["flops"]
    else:
        assert stepscope.is_unknown(results["large"]["flops"]) or results["large"]["flops"] == 0


def test_a_leak_is_told_from_none():
    def block() -> mmap.mmap:
        # From the system itself: the heap may have room left from tests before.
        made = mmap.mmap(-1, 4 << 20)
        made.write(b"x" * len(made))
        return made

    kept = []
    measure = PerformanceProfiler(detailed_memory=True)
    first = measure.get_current_memory()
    for _ in range(12):
        with measure.profile("does not"):
            block().close()
    for _ in range(12):
        with measure.profile("leaks"):
            kept.append(block())
    assert measure.get_current_memory() - first > 40
    grows = {growth.what: growth for growth in measure.get_leak_report("leaks").growths}["process memory (RSS)"]
    assert grows.verdict == "leak" and 3.5 < grows.low <= grows.slope <= grows.high < 4.5
    stays = {growth.what: growth for growth in measure.get_leak_report("does not").growths}["process memory (RSS)"]
    assert stays.verdict != "leak", stays


@pytest.mark.clock
def test_the_parts_of_a_pipeline_add_up():
    measure = PerformanceProfiler()
    took_s = {}
    with measure.profile("complete_pipeline"):
        for part, seconds in {"data_loading": 0.02, "training": 0.06}.items():
            with measure.profile(part):
                began = time.perf_counter()
                time.sleep(seconds)
                took_s[part] = time.perf_counter() - began
    report = measure.get_timing_breakdown()
    shares = {name: timing / sum(report.values()) for name, timing in report.items()}
    assert sum(shares.values()) == pytest.approx(1)
    for part, least_s in took_s.items():
        # As long as the clock inside says, and what is measured at its edges is no one's.
        assert report[part] == pytest.approx(measure.get_metrics(part).timing.wall_time_s)
        assert report[part] >= least_s
    whole_s = measure.get_metrics("complete_pipeline").timing.wall_time_s
    assert sum(took_s.values()) <= sum(report.values()) <= whole_s + 1e-6
    assert whole_s <= sum(report.values()) + report.overhead_s + 1e-6


def test_the_slow_line_is_named():
    def slow():
        quick = list(range(10))
        time.sleep(0.05)  # this line
        return quick

    measure = PerformanceProfiler(enable_line_profiling=True)
    with measure.profile("bottleneck_detection"):
        slow()
    (named,) = [line for line in measure.get_line_profile() if "this line" in line.source]
    assert named.time_s >= 0.05 and named.time_percent > 0


def test_the_machine_is_watched(monkeypatch):
    # However long a sample takes on a busy machine: there is one at the end.
    monkeypatch.setattr("stepscope.performance.monitor_session.EDGE_SHARE", 0)
    measure = PerformanceProfiler(track_system=True, system_interval=0.1)
    with measure.profile("resource_monitoring"):
        for _ in range(3):
            sum(range(500_000))
            time.sleep(0.1)
            stats = measure.get_current_system_stats()
            assert 0 <= stats.memory_percent <= 100
            assert stats.cpu_percent >= 0 or stepscope.is_unknown(stats.cpu_percent)
    report = measure.get_system_report()
    assert 0 < report.peak_memory_percent <= 100
    assert report.avg_cpu_percent >= 0


def test_numbers_that_are_not_there_do_not_break_a_program():
    measure = PerformanceProfiler(track_gpu=True)
    with measure.profile("training"):
        sum(range(1000))
    metrics = measure.get_metrics()
    assert f"{metrics.compute.gpu_utilization_percent:.1f}%"
    assert f"{metrics.memory.peak_gpu_mb:.1f} MB"
    issues = []
    if metrics.compute.gpu_utilization_percent < 70:
        issues.append("under-used")
    if metrics.system.disk_io_wait_percent > 20:
        issues.append("I/O")
    gpu_memory = measure.get_current_gpu_memory()
    assert not gpu_memory > 0.9
    assert isinstance(measure.diagnose(), list)


def test_a_configuration_and_an_override(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "run.yaml").write_text("training:\n  epochs: 2\nprofiling:\n  wait: 1\n  warmup: 1\n  active: 3\n")
    with stepscope.configure(
        tmp_path / "run.yaml", overrides=["--profiling.active", "2", "--training.epochs", "5"], run_dir=tmp_path
    ) as profiling:
        for _ in range(6):
            profiling.step()
    traces = list((tmp_path / "profiler_traces").glob("*.pt.trace.json.gz"))
    assert len(traces) == 1
    assert stepscope.open(traces[0]).steps().column("step") == [2, 3]


def test_a_script_that_knows_nothing_of_it(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys, time\ntime.sleep(0.2)\nprint(sys.argv[1])\nsys.exit(3)\n")
    words = [sys.executable, "-m", "stepscope", "run", "-o", str(tmp_path / "out"), str(script), "hello"]
    done = subprocess.run(words, capture_output=True, cwd=pathlib.Path(stepscope.__file__).parents[1])
    assert (done.returncode, done.stdout) == (3, b"hello\n")
    assert b"stepscope view" in done.stderr
    assert list((tmp_path / "out").rglob("*.pt.trace.json.gz"))
