"""The machine: the real one here, and one with a GPU and energy counters that follows a script."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from stepscope import PerformanceProfiler, StepscopeError, StepscopeWarning
from stepscope.performance import is_unknown
from stepscope.performance.carbon import stated_intensity
from stepscope.performance.monitor_session import EDGE_SHARE

GIB = 1 << 30


def _gpu(sample: int) -> dict[str, float]:
    """Each sample: 60 % busy, 100 J more on the GPU, 20 J more on the processors."""
    return {
        "host.cpu_percent": 40.0 if sample else 99.0,
        "host.memory_percent": 50.0,
        "host.io_wait_percent": 3.0,
        "host.disk_busy_percent": 10.0,
        "process.rss_bytes": 2.0 * GIB,
        "gpu.0.utilization_percent": 60.0,
        "gpu.0.process_memory_bytes": 8.0 * GIB if sample else 1.0 * GIB,
        "gpu.0.memory_used_bytes": 20.0 * GIB,
        "gpu.0.memory_total_bytes": 80.0 * GIB,
        "gpu.0.temperature_c": 60.0 + sample,
        "gpu.0.throttled": 1.0 if sample else 0.0,
        "gpu.0.energy_j": 1000.0 + 100.0 * sample,
        "host.cpu_energy_j": 500.0 + 20.0 * sample,
        # A second GPU that others use.
        "gpu.1.utilization_percent": 100.0,
        "gpu.1.process_memory_bytes": 0.0,
        "gpu.1.memory_used_bytes": 10.0 * GIB,
        "gpu.1.memory_total_bytes": 80.0 * GIB,
        "gpu.1.energy_j": 77.0 * sample,
    }


def test_the_real_machine_is_watched() -> None:
    profiler = PerformanceProfiler(system_interval=0.02)
    cores = os.cpu_count() or 1
    with profiler.profile("spin"):
        # Until there is enough to see, whenever the machine gives it a processor.
        deadline = time.monotonic() + 60
        while profiler.get_system_report().samples < 15 and time.monotonic() < deadline:
            pass
    system = profiler.get_metrics().system
    assert 0 < system.cpu_percent <= 100
    assert 0 < system.process_cpu_percent <= 100 * cores + 50
    assert 0 < system.memory_percent <= system.peak_memory_percent <= 100
    assert system.samples >= 3
    report = profiler.get_system_report()
    assert report.samples >= 15 and report.duration_s > 0
    assert 0 < report.avg_cpu_percent <= report.peak_cpu_percent <= 100
    assert report.to_dict()["peak_memory_percent"] == report.peak_memory_percent
    assert "avg_cpu_percent" in str(report)


def test_the_machine_now(monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = PerformanceProfiler()
    stats = profiler.get_current_system_stats()
    assert 0 <= stats.cpu_percent <= 100 and 0 < stats.memory_percent < 100
    assert stats.process_ram_mb == pytest.approx(profiler.get_current_memory(), rel=0.2)
    with profiler.profile("busy"):
        deadline = time.monotonic() + 60
        while profiler.get_system_report().samples < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        # The samples are there: it does not wait for another.
        with monkeypatch.context() as patched:
            patched.setattr(
                "stepscope.performance.monitor_session.time.sleep", lambda _seconds: pytest.fail("it waited")
            )
            inside = profiler.get_current_system_stats()
    assert not is_unknown(inside.cpu_percent)


def test_a_short_region_is_judged_by_its_own_time(scripted: Any) -> None:
    """The sample at its start tells of the time before: 99 % there must not count for the region."""
    profiler, _ = scripted(_gpu)
    with profiler.profile("short"):
        time.sleep(0.02)
    system = profiler.get_metrics().system
    assert system.cpu_percent == pytest.approx(40.0)
    assert system.peak_cpu_percent == pytest.approx(40.0)


def test_gpu_numbers(scripted: Any) -> None:
    profiler, _ = scripted(_gpu)
    with profiler.profile("gpu"):
        time.sleep(0.02)
    metrics = profiler.get_metrics()
    assert metrics.compute.gpu_utilization_percent == pytest.approx(60.0)
    assert metrics.compute.gpu_utilization_by_device == {0: pytest.approx(60.0)}
    assert metrics.memory.peak_gpu_mb == pytest.approx(8192)
    assert "this process" in metrics.memory.gpus[0].source
    assert metrics.system.gpu_temperature_c == pytest.approx(61.0)
    assert profiler.get_current_gpu_memory() == pytest.approx(0.25)


def test_energy_is_the_growth_of_the_counters(scripted: Any) -> None:
    profiler, _ = scripted(_gpu, track_carbon=True, country="france", pue=1.2)
    with profiler.profile("work"):
        time.sleep(0.02)
    energy, carbon = profiler.get_metrics().energy, profiler.get_metrics().carbon
    assert (energy.gpu_j, energy.cpu_j, energy.total_j) == (100.0, 20.0, 120.0)
    assert is_unknown(energy.dram_j)
    assert "1 GPU (" in energy.source and "RAPL" in energy.source
    assert not energy.reliable
    assert carbon.grams == pytest.approx(120.0 / 3.6e6 * 1.2 * 56.0)
    assert carbon.source.startswith("estimate") and "France" in carbon.source and "2023" in carbon.source
    with profiler.profile("work"):
        time.sleep(0.02)
    assert profiler.get_metrics("work", over="all").energy.total_j == 240.0


def test_without_energy_there_is_no_carbon() -> None:
    profiler = PerformanceProfiler(track_carbon=True, track_gpu=False, country="world")
    with profiler.profile("work"):
        pass
    metrics = profiler.get_metrics()
    if not is_unknown(metrics.energy.total_j):
        pytest.skip("this machine has energy counters")
    assert is_unknown(metrics.carbon.grams)
    assert metrics.carbon.intensity == 475.0
    assert metrics.missing["carbon.grams"].startswith("no energy was measured: ")
    assert f"{metrics.carbon.grams:.3f} g" == "unknown g"


def test_without_a_stated_intensity_there_is_no_carbon(scripted: Any) -> None:
    profiler, _ = scripted(_gpu, track_carbon=True)
    with profiler.profile("work"):
        pass
    assert "country=" in profiler.get_metrics().missing["carbon.grams"]


def test_countries() -> None:
    france = stated_intensity(None, "FRA")
    assert france == stated_intensity(None, "fr") == stated_intensity(None, " France ")
    assert stated_intensity(12.5, "FRA") == (12.5, "stated by the user")
    with pytest.raises(StepscopeError, match="'Atlantis'"):
        PerformanceProfiler(country="Atlantis")
    with pytest.raises(StepscopeError, match="makes no sense"):
        PerformanceProfiler(carbon_intensity_g_per_kwh=-1)


def test_reasons_name_the_switch_or_the_sensor(scripted: Any) -> None:
    profiler, monitor = scripted(lambda sample: {"host.cpu_percent": 5.0}, track_network=True)
    monitor.lacking = [
        {"what": "NVIDIA GPU", "reason": "no driver", "fix": "install one"},
        {"what": "disk", "reason": "no disk in /sys/block", "fix": ""},
        {"what": "CPU energy", "reason": "no permission", "fix": "run as root"},
    ]
    with profiler.profile("work"):
        pass
    missing = profiler.get_metrics().missing
    assert missing["compute.gpu_utilization_percent"] == "NVIDIA GPU: no driver (install one)"
    assert missing["system.disk_io_percent"] == "disk: no disk in /sys/block"
    assert missing["energy.cpu_j"] == "CPU energy: no permission (run as root)"
    assert missing["system.cpu_temperature_c"].endswith("track_cpu_temp is off")
    assert "so short a time" in missing["system.network_send_mb_per_s"]


def _ends(monitor: Any) -> bool:
    until = time.monotonic() + 60
    while monitor.running and time.monotonic() < until:
        time.sleep(0.005)
    return not monitor.running


def test_one_monitor_that_runs_only_while_it_is_needed(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.performance.monitor_session.LINGER_S", 0.05)
    profiler, monitor = scripted(_gpu)
    with profiler.profile("outer"):
        with profiler.profile("inner"):
            time.sleep(0.1)
            assert monitor.running
    assert _ends(monitor)
    with profiler:
        for _ in range(3):
            with profiler.profile("again"):
                pass
        time.sleep(0.1)
        assert monitor.running
    assert (monitor.started, monitor.stopped) == (2, 2)
    assert profiler.get_system_report().samples >= 2


def test_profilers_that_want_the_same_share_one_sampler() -> None:
    first, second, other = PerformanceProfiler(), PerformanceProfiler(), PerformanceProfiler(track_network=True)
    with first.profile("x"), second.profile("y"), other.profile("z"):
        time.sleep(0.03)
    assert first._watch is not None and second._watch is not None and other._watch is not None
    assert first._watch.made is second._watch.made is not other._watch.made
    assert all(profiler.get_metrics().system.memory_percent > 0 for profiler in (first, second, other))


def test_regions_in_a_row_share_one_start(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.performance.monitor_session.LINGER_S", 0.0)
    profiler, monitor = scripted(_gpu)
    with profiler.profile("step"):
        pass
    assert _ends(monitor) and monitor.started == 1
    # So long that no pause of a busy machine is as long; the thread that waits for it ends with the program.
    monkeypatch.setattr("stepscope.performance.monitor_session.LINGER_S", 600.0)
    for _ in range(50):
        with profiler.profile("step"):
            pass
    assert monitor.started == 2 and monitor.running


def test_a_sample_that_takes_long_is_not_taken_at_every_edge(scripted: Any) -> None:
    def slow(sample: int) -> dict[str, float]:
        time.sleep(0.01)
        return _gpu(sample)

    profiler, monitor = scripted(slow, edge_share=EDGE_SHARE)
    began = time.perf_counter()
    for _ in range(20):
        with profiler.profile("step"):
            time.sleep(0.002)
    assert monitor.taken <= 2 + (time.perf_counter() - began) / 0.1
    with profiler.profile("long"):
        # Long enough for another one, whatever they took on a busy machine.
        time.sleep(max(0.5, 2 * EDGE_SHARE * profiler._watch._sample_takes_ns / 1e9))
    assert profiler.get_metrics().system.cpu_percent == pytest.approx(40.0)


def test_a_monitor_that_fails_does_not_stop_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise OSError("no more files")

    monkeypatch.setattr("stepscope._monitors.Monitor", broken)
    profiler = PerformanceProfiler()
    with pytest.warns(StepscopeWarning, match="no longer measures the machine: OSError: no more files"):
        with profiler.profile("work"):
            result = 6 * 7
    assert result == 42
    with profiler.profile("work"):
        pass
    metrics = profiler.get_metrics()
    assert metrics.count == 2 and metrics.memory.peak_ram_mb > 0
    assert "no more files" in metrics.missing["system.cpu_percent"]
    assert any("no more files" in note for note in profiler.notes)


def test_what_the_probes_take_is_nobodys_time(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.performance.monitor_session.EDGE_NS", 0)

    def slow(sample: int) -> dict[str, float]:
        time.sleep(0.1)
        return {"host.cpu_percent": 1.0}

    profiler, monitor = scripted(slow)
    began = time.perf_counter()
    with profiler.profile("outer"):
        entered = time.perf_counter()
        with profiler.profile("first"):
            time.sleep(0.01)
        first_s = time.perf_counter() - entered
        with profiler.profile("second"):
            time.sleep(0.01)
    took_s = time.perf_counter() - began
    breakdown = profiler.get_timing_breakdown()
    # Six edges of 100 ms each, two of them around the first.
    assert monitor.taken == 6 and breakdown.overhead_s >= 0.6
    assert sum(breakdown.values()) <= took_s - 0.6
    assert 0.01 <= breakdown.total("first") <= first_s - 0.2
