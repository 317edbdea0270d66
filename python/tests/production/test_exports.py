"""Metrics of a service for other tools: one endpoint for all workers, StatsD, JSON lines, and the page about them."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

import stepscope
from stepscope import ServiceMonitor, StepscopeError, StepscopeWarning

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = [sys.executable, "-m", "stepscope"]


def free_port() -> int:
    """One that stays free: none of those that programs get that ask for any, which are from 32,768 on."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            return port


def samples(text: str) -> dict[str, float]:
    """Each series with its value."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def scraped(port: int) -> dict[str, float] | None:
    """What an endpoint says; None if no one is there, or whoever is gets killed while it answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return samples(answer.read().decode())
    except (OSError, http.client.HTTPException):
        return None


def until(condition, seconds: float = 60.0):
    deadline = time.time() + seconds
    while not (found := condition()):
        assert time.time() < deadline, "it took too long"
        time.sleep(0.05)
    return found


def test_metrics_are_what_was_recorded(tmp_path: pathlib.Path) -> None:
    monitor = ServiceMonitor(tmp_path, sla={"/a": "p90<100ms, error_rate<10%", "*": 2.0})
    assert "stepscope_build_info" in monitor.metrics()
    for number in range(100):
        latency = 0.0101 if number < 80 else 0.1501
        monitor.record("/a", latency, failed=number < 7, batch=8, tokens=3, regions={"inference": 0.005})
    monitor.record('/b "quoted"\\', 3.0)
    found = samples(monitor.metrics())
    expected = {
        'stepscope_requests_total{route="/a"}': 100,
        'stepscope_requests_total{route="/b \\"quoted\\"\\\\"}': 1,
        'stepscope_request_errors_total{route="/a"}': 7,
        'stepscope_samples_total{route="/a"}': 800,
        'stepscope_tokens_total{route="/a"}': 300,
        'stepscope_sla_requests_total{route="/a",target="p90<100ms"}': 100,
        'stepscope_sla_missed_total{route="/a",target="p90<100ms"}': 20,
        'stepscope_sla_missed_total{route="/a",target="error_rate<10%"}': 7,
        'stepscope_sla_allowed_ratio{route="/a",target="p90<100ms"}': 0.1,
        'stepscope_sla_missed_total{route="/b \\"quoted\\"\\\\",target="each<=2s"}': 1,
        'stepscope_request_duration_seconds_bucket{route="/a",le="0.01"}': 0,
        'stepscope_request_duration_seconds_bucket{route="/a",le="0.025"}': 80,
        'stepscope_request_duration_seconds_bucket{route="/a",le="0.1"}': 80,
        'stepscope_request_duration_seconds_bucket{route="/a",le="0.25"}': 100,
        'stepscope_request_duration_seconds_bucket{route="/a",le="+Inf"}': 100,
        'stepscope_request_duration_seconds_sum{route="/a"}': pytest.approx(80 * 0.0101 + 20 * 0.1501),
        'stepscope_region_duration_seconds_count{route="/a",region="inference"}': 100,
        'stepscope_region_self_seconds_total{route="/a",region="inference"}': pytest.approx(0.5),
        "stepscope_processes": 1,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert found["stepscope_process_resident_memory_bytes"] > 1 << 20
    # The next look has the next requests, and one that no one waits for costs nothing.
    monitor.record("/a", 0.01)
    assert samples(monitor.metrics())['stepscope_requests_total{route="/a"}'] == 101
    assert monitor.metrics(openmetrics=True).endswith("# EOF\n")


WORKER = """
import sys, time, stepscope
monitor = stepscope.ServiceMonitor(sys.argv[1], sla={"*": "p95<100ms"})
endpoint = monitor.serve_metrics(port=int(sys.argv[2]))
for line in sys.stdin:
    if line.startswith("record"):
        for number in range(int(line.split()[1])):
            with monitor.request("/a", id=number, batch=2) as request:
                with request.region("work"): pass
        monitor.flush()
    print(endpoint.url, flush=True)
"""


class Worker:
    """A process of a service, which does as it is told."""

    def __init__(self, folder: pathlib.Path, port: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, line: str) -> str:
        """What it answers: where it serves."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def test_workers_come_go_and_are_killed_and_no_counter_falls(tmp_path: pathlib.Path) -> None:
    port = free_port()
    workers = [Worker(tmp_path, port) for _ in range(3)]
    looks: list[dict[str, float]] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            if (found := scraped(port)) is not None:
                looks.append(found)
            time.sleep(0.02)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        requests = 0
        for round_ in range(5):
            for at, worker in enumerate(workers):
                count = 7 * (round_ + 1) + at
                worker.say(f"record {count}")
                requests += count
        serving = until(lambda: [worker for worker in workers if worker.say("where") != "None"])
        assert len(serving) == 1, "one worker has the port"
        until(lambda: looks and looks[-1].get('stepscope_requests_total{route="/a"}') == requests)
        # The one that serves is killed; another one takes over, and knows what the dead one had counted.
        serving[0].kill()
        workers.remove(serving[0])
        before = len(looks)
        for worker in workers:
            worker.say("record 11")
            requests += 11
        until(lambda: len(looks) > before and looks[-1].get('stepscope_requests_total{route="/a"}') == requests)
        late = Worker(tmp_path, port)
        workers.append(late)
        late.say("record 5")
        requests += 5
        until(lambda: looks[-1]['stepscope_requests_total{route="/a"}'] == requests)
    finally:
        over.set()
        watching.join()
        for worker in workers:
            worker.kill()
    last: dict[str, float] = {}
    for found in looks:
        for name, value in found.items():
            if re.search("_(total|count|sum|bucket)({|$)", name):
                assert value >= last.get(name, 0), name
                last[name] = value
    assert last['stepscope_samples_total{route="/a"}'] == 2 * requests
    assert last['stepscope_region_duration_seconds_count{route="/a",region="work"}'] == requests
    assert last['stepscope_request_duration_seconds_bucket{route="/a",le="+Inf"}'] == requests


FORKED = """
import os, sys, time, stepscope
monitor = stepscope.ServiceMonitor(sys.argv[1])
endpoint = monitor.serve_metrics(port=int(sys.argv[2]))
assert endpoint.url is not None
if os.fork() == 0:
    with monitor.request("/child"): pass
    monitor.flush()
    deadline = time.time() + 60
    while endpoint.url is None and time.time() < deadline:
        time.sleep(0.05)
    print(endpoint.url, flush=True)
    sys.stdin.readline()
    os._exit(0)
time.sleep(0.5)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_lets_go_of_the_port_and_takes_it_over(tmp_path: pathlib.Path) -> None:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", FORKED, str(tmp_path), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == f"http://127.0.0.1:{port}/metrics"
    found = until(lambda: scraped(port))
    assert found['stepscope_requests_total{route="/child"}'] == 1
    process.communicate("\n", timeout=60)


def test_a_port_that_is_wrong_breaks_no_service(tmp_path: pathlib.Path) -> None:
    monitor = ServiceMonitor(tmp_path)
    with pytest.raises(StepscopeError, match="port is a number"):
        monitor.serve_metrics(port="9464")  # type: ignore[arg-type]
    with pytest.raises(StepscopeError, match="port is a number"):
        monitor.serve_metrics(port=70_000)
    with pytest.warns(StepscopeWarning, match="metrics are not served: cannot listen at 192.0.2.1"):
        endpoint = monitor.serve_metrics(host="192.0.2.1")
    assert endpoint.url is None
    # A port that someone else has is waited for.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert monitor.serve_metrics(port=port).url is None
    until(lambda: endpoint.url)
    with monitor.request("/a"):
        pass
    monitor.flush()
    until(lambda: (scraped(port) or {}).get('stepscope_requests_total{route="/a"}') == 1)
    endpoint.close()
    assert endpoint.url is None and scraped(port) is None
    # A directory that is gone is no reason to fail either.
    shutil.rmtree(tmp_path)
    assert monitor.serve_metrics(port=0).url is not None
    endpoint.close()


def exported(folder: pathlib.Path, *words: str, **more) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, "production", "export", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)


@pytest.fixture
def recorded(tmp_path: pathlib.Path) -> pathlib.Path:
    """A directory with 30 requests of two routes."""
    folder = tmp_path / "service"
    with ServiceMonitor(folder, sla={"/a": "p95<100ms"}) as monitor:
        for number in range(20):
            monitor.record("/a", 0.02 if number < 15 else 0.2, id=number, regions={"work": 0.01})
        for _ in range(10):
            monitor.record("/b", 0.005, failed=True)
    return folder


def test_the_program_serves_and_prints(recorded: pathlib.Path) -> None:
    printed = exported(recorded, "--to", "prometheus", "--once")
    assert printed.returncode == 0 and printed.stderr == ""
    found = samples(printed.stdout)
    assert found['stepscope_requests_total{route="/a"}'] == 20
    # Printing leaves no file behind.
    assert not (recorded / "stepscope-exported.json").exists()
    command = [*PROGRAM, "production", "export", str(recorded), "--to", "prometheus", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    port = int(url.split(":")[2].split("/")[0])
    served = until(lambda: scraped(port))
    served.pop("stepscope_processes", None)
    assert served.items() <= found.items()
    taken = exported(recorded, "--to", "prometheus", "--listen", f"127.0.0.1:{port}")
    assert taken.returncode == 2 and "already in use" in taken.stderr and "hint:" in taken.stderr
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0


def test_wrong_use_is_said(tmp_path: pathlib.Path, recorded: pathlib.Path) -> None:
    for words, message in [
        ([str(tmp_path / "nowhere"), "--to", "prometheus", "--once"], "no directory of a service"),
        ([str(recorded), "--to", "otlp", "--endpoint", "ftp://collector"], "not a collector URL"),
        ([str(recorded), "--to", "otlp", "--endpoint", "collector:4318"], "not a collector URL"),
        ([str(recorded), "--to", "otlp", "--header", "x"], "not a header"),
        ([str(recorded), "--to", "statsd", "--endpoint", "nonsense"], "cannot send to a StatsD server"),
        ([str(recorded), "--to", "json", "--last", "soon"], "not a time range"),
    ]:
        done = subprocess.run([*PROGRAM, "production", "export", *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and message in done.stderr and "hint:" in done.stderr, done.stderr


def test_json_lines_are_minutes_of_routes(recorded: pathlib.Path) -> None:
    done = exported(recorded, "--to", "json", "--once")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["route"] for line in lines} == {"/a", "/b"}
    assert sum(line["requests"] for line in lines) == 30
    assert sum(line["errors"] for line in lines) == 10
    assert sum(line["latency"]["sum_ns"] for line in lines if line["route"] == "/a") == 1_300_000_000
    assert sum(line["targets"]["p95<100ms"]["missed"] for line in lines if line["route"] == "/a") == 5
    file = recorded.parent / "lines.jsonl"
    for _ in range(2):
        assert exported(recorded, "--to", "json", "--once", "--output", str(file)).returncode == 0
    assert file.read_text() == 2 * done.stdout


def test_statsd_gets_datagrams_that_fit(recorded: pathlib.Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(2)
        place = f"127.0.0.1:{server.getsockname()[1]}"
        assert exported(recorded, "--to", "statsd", "--endpoint", place, "--tags", "--once").returncode == 0
        lines: list[str] = []
        try:
            while True:
                datagram = server.recv(65_536)
                assert len(datagram) <= 1_432
                lines += datagram.decode().splitlines()
        except TimeoutError:
            pass
    assert "stepscope.requests:20|c|#route:/a" in lines and "stepscope.request.errors:10|c|#route:/b" in lines
    timers = [line for line in lines if line.startswith("stepscope.request.duration:") and "route:/a" in line]
    total = 0.0
    for line in timers:
        value, kind, rate, _ = line.split(":", 1)[1].split("|")
        assert kind == "ms"
        total += float(value) / float(rate[1:])
    assert total == pytest.approx(1_300, rel=0.0125)


class Taker(http.server.BaseHTTPRequestHandler):
    """A collector that takes everything."""

    taken = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        Taker.taken += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def blocks(kind: str) -> list[str]:
    text = (ROOT / "docs/production-exports.md").read_text()
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def test_every_block_of_the_page_is_of_a_known_kind() -> None:
    text = (ROOT / "docs/production-exports.md").read_text()
    assert set(re.findall(r"```(\w+)\n", text)) == {"python", "sh", "yaml"}
    assert len(blocks("python")) == 2 and len(blocks("sh")) == 4 and len(blocks("yaml")) == 2


def test_the_code_on_the_page_runs(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    for block in blocks("python"):
        exec(block.replace("9464", str(free_port())), space)
    said = capsys.readouterr().out
    assert 'stepscope_requests_total{route="/predict"} 1' in said and said.rstrip().endswith("# EOF")
    endpoint = space["endpoint"]
    assert isinstance(endpoint, stepscope.production.MetricsEndpoint) and endpoint.url is not None
    endpoint.close()

    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    statsd = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    statsd.bind(("127.0.0.1", 0))
    ports = {"9464": free_port(), "4318": collector.server_port, "8125": statsd.getsockname()[1]}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    try:
        for line in "".join(blocks("sh")).splitlines():
            assert line.startswith("stepscope "), line
            for usual, port in ports.items():
                line = line.replace(f":{usual}", f":{port}")
            command = [*PROGRAM, *line.split()[1:]]
            if "--once" in command:
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
                assert done.returncode == 0 and done.stderr == "", f"{line}: {done.stderr}"
                continue
            # These go on until they are stopped, here once they have done something.
            taken = Taker.taken
            at_work = {
                "prometheus": lambda: scraped(ports["9464"]) is not None,
                "otlp": lambda taken=taken: Taker.taken > taken,
                "statsd": lambda: select.select([statsd], [], [], 0)[0],
                "json": (tmp_path / "minutes.jsonl").exists,
            }[command[command.index("--to") + 1]]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
            )
            until(lambda at_work=at_work, process=process: at_work() or process.poll() is not None)
            assert process.poll() is None, f"{line}: {process.communicate()}"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 0 and errors == "", f"{line}: {errors}"
    finally:
        collector.shutdown()
        statsd.close()


def test_the_settings_on_the_page_are_prometheus_own(tmp_path: pathlib.Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    together: dict[str, object] = {}
    for block in blocks("yaml"):
        together.update(yaml.safe_load(block))
    assert together["rule_files"] == ["prometheus-alerts.yml"]
    assert (ROOT / "docs/prometheus-alerts.yml").exists()
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: apt install prometheus)")
    (tmp_path / "prometheus.yml").write_text("\n".join(blocks("yaml")))
    shutil.copy(ROOT / "docs/prometheus-alerts.yml", tmp_path)
    done = subprocess.run(
        ["promtool", "check", "config", str(tmp_path / "prometheus.yml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
