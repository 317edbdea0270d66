"""What sampling a Python process from outside costs, next to py-spy and Austin. See BENCHMARKS.md.

Runs each program alone and under each sampler, in turns, and prints medians: how much slower the program gets, how much
processor time the sampler takes, how many system calls it makes to read memory, and how long it takes to attach.

A machine that does something else meanwhile makes all of this noise: the load before and after is printed with it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

PROGRAMS = {
    "call-heavy": """
def add(a, b): return a + b
def work(n):
    s = 0
    for i in range(n):
        s = add(s, i)
    return s
unit = lambda: work(200_000)
""",
    "numpy": """
import numpy as np
a = np.random.rand(300, 300)
def unit():
    b = a
    for _ in range(4):
        b = np.tanh(b @ a * 1e-2)
    return b.sum()
""",
    "DataLoader": """
import numpy as np
try:
    import torch
except ImportError:
    raise SystemExit("needs PyTorch")
torch.set_num_threads(1)
class Images(torch.utils.data.Dataset):
    def __len__(self): return 1_000_000
    def __getitem__(self, index):
        image = np.random.default_rng(index).random((3, 64, 64), dtype=np.float32)
        return torch.from_numpy((image - image.mean()) / image.std())
batches = iter(torch.utils.data.DataLoader(Images(), batch_size=16, num_workers=1))
net = torch.nn.Conv2d(3, 8, 3)
unit = lambda: net(next(batches)).sum().backward()
""",
    "100 idle threads": """
import threading
def waits(event): event.wait()
for _ in range(100):
    threading.Thread(target=waits, args=(threading.Event(),), daemon=True).start()
def add(a, b): return a + b
def unit():
    s = 0
    for i in range(200_000):
        s = add(s, i)
    return s
""",
}

#: Does units of work for some seconds; prints how many per second, by the wall clock.
LOOP = """
import sys, time
unit()
print("ready", flush=True)
sys.stdin.readline()
began, done, until = time.perf_counter(), 0, time.perf_counter() + float(sys.argv[1])
while time.perf_counter() < until:
    unit()
    done += 1
print(done / (time.perf_counter() - began), flush=True)
"""

IDLE = """
import threading, time
for _ in range(49):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
def deep(n):
    if n:
        return deep(n - 1)
    print("ready", flush=True)
    time.sleep(1000)
deep(30)
"""


class Sampler:
    """A tool and how it is called."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.command = command

    def of(self, pid: int, hz: int, seconds: float, output: str) -> list[str]:
        """The command line."""
        values = {"pid": pid, "hz": hz, "us": round(1e6 / hz), "s": max(1, round(seconds)), "out": output}
        return [word.format(**values) for word in self.command]


def samplers(stepscope: str, py_spy: str | None, austin: str | None) -> list[Sampler]:
    """Those that are here."""
    found = [
        Sampler(
            "stepscope",
            [stepscope, "record", "-q", "--pid", "{pid}", "-r", "{hz}", "-d", "{s}", "-o", "{out}.folded"],
        )
    ]
    if py_spy:
        common = [py_spy, "record", "--pid", "{pid}", "-r", "{hz}", "-d", "{s}", "-f", "raw", "-o", "{out}"]
        found += [Sampler("py-spy", common), Sampler("py-spy --nonblocking", [*common, "--nonblocking"])]
    if austin:
        found.append(Sampler("Austin", [austin, "-i", "{us}", "-x", "{s}", "-o", "{out}", "-p", "{pid}"]))
    return found


def start(code: str, python: str, *arguments: str) -> subprocess.Popen[str]:
    """A program that is ready to begin."""
    program = subprocess.Popen(
        [python, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline().strip() == "ready"
    return program


def speed(name: str, python: str, sampler: Sampler | None, hz: int, seconds: float) -> tuple[float, float]:
    """Units per second, and the sampler's processor time per second."""
    program = start(PROGRAMS[name] + LOOP, python, str(seconds))
    assert program.stdin is not None and program.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        running = None
        if sampler is not None:
            command = sampler.of(program.pid, hz, seconds + 4, os.path.join(folder, "out"))
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1.0)
        before = cpu_of(running.pid) if running else 0.0
        program.stdin.write("\n")
        program.stdin.flush()
        found = float(program.stdout.readline())
        used = (cpu_of(running.pid) - before) / seconds if running else 0.0
        program.kill()
        program.wait()
        if running is not None:
            end(running)
    return found, used


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a sampler as Ctrl-C would."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_of(pid: int) -> float:
    """Processor time of a process so far, in seconds; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu(sampler: Sampler, python: str, hz: int, seconds: float) -> float | None:
    """The sampler's share of one processor on 50 idle threads, attaching and writing left out."""
    program = start(IDLE, python)
    try:
        with tempfile.TemporaryDirectory() as folder:
            command = sampler.of(program.pid, hz, seconds + 5, os.path.join(folder, "out"))
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1.5)
            before = cpu_of(running.pid)
            time.sleep(seconds)
            used = cpu_of(running.pid) - before
            ended = running.poll()
            end(running)
        return None if ended is not None else used / seconds
    finally:
        program.kill()
        program.wait()


def reads_per_sample(sampler: Sampler, python: str, hz: int, seconds: float) -> float | None:
    """Calls of process_vm_readv per sample of one thread of 30 frames that do not change; strace counts them."""
    if not shutil.which("strace"):
        return None
    program = start(IDLE.replace("range(49)", "range(0)"), python)
    try:
        with tempfile.TemporaryDirectory() as folder:
            counted = os.path.join(folder, "calls")
            command = sampler.of(program.pid, hz, seconds, os.path.join(folder, "out"))
            subprocess.run(
                ["strace", "-f", "-c", "-e", "trace=process_vm_readv,pread64", "-o", counted, *command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=seconds * 20 + 60,
                check=False,
            )
            # % of time, seconds, µs per call, calls.
            match = re.search(r"^\s*\S+\s+\S+\s+\S+\s+(\d+)\s.*process_vm_readv$", Path(counted).read_text(), re.M)
            return int(match[1]) / (hz * seconds) if match else None
    finally:
        program.kill()
        program.wait()


def attach_ms(command: list[str], python: str) -> float:
    """From start to end of a dump of one process."""
    program = start(IDLE, python)
    try:
        began = time.perf_counter()
        subprocess.run([*command, str(program.pid)], stdout=subprocess.DEVNULL, check=False)
        return (time.perf_counter() - began) * 1e3
    finally:
        program.kill()
        program.wait()


def top_cpu(stepscope: str, python: str, seconds: float) -> float:
    """What `top` takes of one processor, on a terminal of 120 by 40, watching 50 threads."""
    program = start(IDLE, python)
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    running = subprocess.Popen([stepscope, "top", str(program.pid)], stdin=terminal, stdout=terminal, stderr=terminal)
    reader = threading.Thread(target=drain, args=(shown,), daemon=True)
    reader.start()
    try:
        time.sleep(2.0)
        before = cpu_of(running.pid)
        time.sleep(seconds)
        return (cpu_of(running.pid) - before) / seconds
    finally:
        running.kill()
        running.wait()
        program.kill()
        program.wait()


def drain(terminal: int) -> None:
    """Reads what a program draws, as a terminal would."""
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        return


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", default="target/release/stepscope")
    parser.add_argument("--py-spy", default=shutil.which("py-spy"))
    parser.add_argument("--austin", default=shutil.which("austin"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--hz", type=int, default=1000)
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="this one alone; can be repeated")
    parser.add_argument("--json", help="write all measurements here")
    options = parser.parse_args()
    tools = samplers(options.stepscope, options.py_spy, options.austin)
    results: dict[str, object] = {"load before": os.getloadavg(), "python": options.python}
    print(f"load before: {os.getloadavg()[0]:.1f}")

    print(f"\nSlowdown of the program at {options.hz} Hz, median of {options.rounds} interleaved pairs (quartiles):")
    for name in options.program or PROGRAMS:
        ratios: dict[str, list[float]] = {tool.name: [] for tool in tools}
        used: dict[str, list[float]] = {tool.name: [] for tool in tools}
        try:
            for _ in range(options.rounds):
                for tool in tools:
                    alone, _ = speed(name, options.python, None, options.hz, options.seconds)
                    under, cpu = speed(name, options.python, tool, options.hz, options.seconds)
                    ratios[tool.name].append(alone / under)
                    used[tool.name].append(cpu)
        except (AssertionError, ValueError) as error:
            print(f"  {name}: skipped ({error or 'the program did not start'})")
            continue
        for tool in tools:
            low, middle, high = quartiles(ratios[tool.name])
            cpu = statistics.median(used[tool.name])
            print(f"  {name:18} {tool.name:22} {middle:5.2f}x ({low:.2f} to {high:.2f})   sampler's CPU {cpu:6.1%}")
        results[f"slowdown, {name}"] = ratios

    print("\nSampler's CPU at 100 Hz on 50 idle threads; reads of memory per sample (one thread, 30 still frames):")
    for tool in tools:
        shares = [own_cpu(tool, options.python, 100, options.seconds) for _ in range(min(options.rounds, 3))]
        known = [share for share in shares if share is not None]
        reads = reads_per_sample(tool, options.python, 100, 3)
        shown = f"{statistics.median(known):6.1%}" if known else "ended early"
        print(f"  {tool.name:22} {shown}   {'unknown' if reads is None else f'{reads:.1f} reads'}")
        results[f"own CPU and reads, {tool.name}"] = [known, reads]

    print("\nOne dump of one process, start to end:")
    dumps = {"stepscope": [options.stepscope, "dump"]}
    if options.py_spy:
        dumps["py-spy"] = [options.py_spy, "dump", "--pid"]
    for name, command in dumps.items():
        times = [attach_ms(command, options.python) for _ in range(options.rounds)]
        print(f"  {name:22} {statistics.median(times):6.1f} ms")
        results[f"dump, {name}"] = times

    share = statistics.median(top_cpu(options.stepscope, options.python, 4.0) for _ in range(3))
    print(f"\n`stepscope top` on 50 threads: {share:.1%} of a processor")
    results["top"] = share

    print(f"\nload after: {os.getloadavg()[0]:.1f}")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Low, middle, high."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


if __name__ == "__main__":
    main()
