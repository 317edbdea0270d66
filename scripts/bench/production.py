#!/usr/bin/env python3
"""What counting a request with three regions costs, next to Prometheus's client and OpenTelemetry's spans.

All contenders run in one process, one after the other in many short rounds, so that whatever else the machine does
befalls each of them alike. The numbers are medians of rounds, in processor time of the whole process, threads that write
or export included; what an empty loop costs is subtracted. A `with` statement of a lock is the yardstick.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import threading
import time
from importlib import metadata


def nothing():
    """The loop itself."""

    def requests(count):
        for _ in range(count):
            pass

    return requests


def ours(folder):
    """stepscope.ServiceMonitor: a route with two targets, kept on disk by its thread meanwhile."""
    import stepscope

    monitor = stepscope.ServiceMonitor(folder, sla={"/predict": "p95<100ms, error_rate<1%"})

    def requests(count):
        for number in range(count):
            with monitor.request("/predict", id=number, batch=8) as request:
                with request.region("preprocess"):
                    pass
                with request.region("inference"):
                    pass
                with request.region("postprocess"):
                    pass

    return requests


def a_lock():
    """The cheapest `with` statement that Python comes with."""
    lock = threading.Lock()

    def requests(count):
        for _ in range(count):
            with lock:
                pass

    return requests


def prometheus():
    """A Histogram of requests, one of regions, and a Counter: the usual three metrics."""
    from prometheus_client import CollectorRegistry, Counter, Histogram

    registry = CollectorRegistry()
    latency = Histogram("latency_seconds", "latency", ["route"], registry=registry)
    parts = Histogram("region_seconds", "regions", ["route", "region"], registry=registry)
    total = Counter("requests", "requests", ["route"], registry=registry)

    def requests(count):
        for _ in range(count):
            with latency.labels("/predict").time():
                with parts.labels("/predict", "preprocess").time():
                    pass
                with parts.labels("/predict", "inference").time():
                    pass
                with parts.labels("/predict", "postprocess").time():
                    pass
            total.labels("/predict").inc()

    return requests


def opentelemetry():
    """Four spans per request, in batches to an exporter that drops them."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Dropped(SpanExporter):
        def export(self, spans):
            return SpanExportResult.SUCCESS

        def shutdown(self):
            pass

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Dropped()))
    tracer = provider.get_tracer("bench")

    def requests(count):
        for _ in range(count):
            with tracer.start_as_current_span("/predict"):
                with tracer.start_as_current_span("preprocess"):
                    pass
                with tracer.start_as_current_span("inference"):
                    pass
                with tracer.start_as_current_span("postprocess"):
                    pass

    return requests


def both(*several):
    """What one needs to know both how many and why."""

    def requests(count):
        for each in several:
            each(count)

    return requests


def measure(contenders, rounds, count):
    """Nanoseconds per request, by contender and round."""
    for requests in contenders.values():
        requests(count)
    times = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, requests in contenders.items():
            start = time.process_time_ns()
            requests(count)
            times[name].append((time.process_time_ns() - start) / count)
    return times


def throughput(requests, threads, count):
    """Requests per second of several threads at once."""
    gate = threading.Barrier(threads + 1)

    def run():
        gate.wait()
        requests(count)

    all_of_them = [threading.Thread(target=run) for _ in range(threads)]
    for thread in all_of_them:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    for thread in all_of_them:
        thread.join()
    return threads * count / (time.perf_counter() - start)


def spin(seconds):
    """Works for so long."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def share_of_a_request(folder, rounds):
    """What a request of 1 ms takes longer when it is counted, as a share: medians of rounds in turns."""
    import stepscope

    monitor = stepscope.ServiceMonitor(folder, sla={"/predict": "p95<100ms, error_rate<1%"})

    def bare():
        for _ in range(3):
            spin(0.001 / 3)

    def counted():
        with monitor.request("/predict") as request:
            for name in ("preprocess", "inference", "postprocess"):
                with request.region(name):
                    spin(0.001 / 3)

    times = {bare: [], counted: []}
    for number in range(rounds):
        for work in (bare, counted) if number % 2 else (counted, bare):
            start = time.perf_counter_ns()
            work()
            times[work].append(time.perf_counter_ns() - start)
    return statistics.median(times[counted]) / statistics.median(times[bare]) - 1


def resident_bytes():
    """Memory that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(folder, count):
    """Memory after a hundredth of so many requests, and after all of them."""
    requests = ours(folder)
    requests(count // 100)
    first = resident_bytes()
    requests(count - count // 100)
    return first, resident_bytes()


def histograms():
    """The largest error of a quantile, as a share, and nanoseconds to merge the histograms of 64 workers."""
    import random

    from stepscope.production import LatencyHistogram

    random.seed(7)
    worst = 0.0
    for shape in (lambda: random.lognormvariate(16, 1), lambda: random.expovariate(1e-7), lambda: random.uniform(1e6, 2e6)):
        values = sorted(int(shape()) + 1 for _ in range(200_000))
        histogram = LatencyHistogram()
        for value in values:
            histogram.record_ns(value)
        for share in (0.5, 0.9, 0.95, 0.99, 0.999):
            exact = values[math.ceil(share * len(values)) - 1] / 1e9
            worst = max(worst, abs(histogram.quantile(share) / exact - 1))
    workers = []
    for _ in range(64):
        worker = LatencyHistogram()
        for _ in range(5_000):
            worker.record_ns(int(random.lognormvariate(16, 1)) + 1)
        workers.append(worker)
    merges = []
    for _ in range(21):
        total = LatencyHistogram()
        start = time.perf_counter_ns()
        for worker in workers:
            total.merge(worker)
        merges.append(time.perf_counter_ns() - start)
        assert total.count == 64 * 5_000
    return worst, statistics.median(merges)


def main():
    """Prints a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--requests", type=int, default=500, help="requests per round")
    parser.add_argument("--many", type=int, default=10_000_000, help="requests for the growth of memory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        contenders = {"nothing": nothing(), "with lock": a_lock(), "stepscope": ours(folder)}
        missing = []
        for name, make in (("prometheus_client", prometheus), ("opentelemetry spans", opentelemetry)):
            try:
                contenders[name] = make()
            except ImportError as error:
                missing.append(f"{name}: {error}")
        if not missing:
            contenders["both peers"] = both(contenders["prometheus_client"], contenders["opentelemetry spans"])
        times = measure(contenders, options.rounds, options.requests)
        rate = throughput(contenders["stepscope"], 8, 20_000)

        import stepscope

        asked = (options.rounds + 1) * options.requests + 8 * 20_000
        (monitor,) = stepscope.production.monitor._alive
        kept = monitor.report()["total"]["requests"]
    with tempfile.TemporaryDirectory() as folder:
        share = share_of_a_request(folder, 2_000)
    with tempfile.TemporaryDirectory() as folder:
        memory = growth(folder, options.many)
    error, merge_ns = histograms()
    empty = statistics.median(times.pop("nothing"))
    rows = []
    for name, values in times.items():
        quarter = statistics.quantiles(values, n=4)
        rows.append({"name": name, "ns": statistics.median(values) - empty, "low": quarter[0] - empty, "high": quarter[2] - empty})
    found = {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("stepscope", "prometheus_client", "opentelemetry-sdk")},
        "load": os.getloadavg(),
        "rows": rows,
        "threads_8_per_second": rate,
        "asked": asked,
        "kept": kept,
        "share_of_1_ms": share,
        "many": options.many,
        "memory_bytes": memory,
        "quantile_error": error,
        "merge_64_ns": merge_ns,
        "missing": missing,
    }
    if options.json:
        json.dump(found, sys.stdout, indent=1)
        print()
        return
    print(f"One request with three regions, median of {options.rounds} interleaved rounds (Python {found['python']}):")
    for row in rows:
        print(f"  {row['name']:22}{row['ns'] / 1e3:9.2f} µs   ({row['low'] / 1e3:.2f} to {row['high'] / 1e3:.2f})")
    print(f"8 threads: {rate:,.0f} requests per second; {kept:,} of {asked:,} kept")
    print(f"a request of 1 ms takes {share:.2%} longer")
    first, last = (size / (1 << 20) for size in memory)
    print(f"memory: {first:.1f} MiB after {options.many // 100:,} requests, {last:.1f} MiB after {options.many:,}")
    print(f"quantiles are off by {error:.2%} at most; merging 64 workers takes {merge_ns / 1e6:.3f} ms")
    print(f"load of the machine: {found['load'][0]:.1f}")
    for words in missing:
        print(f"left out: {words}")


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
