"""The machine, the contenders' packages, and the synthetic traces."""

import hashlib
import os
import platform
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VENV = os.path.join(ROOT, ".venv", "bench")
REQUIREMENTS = os.path.join(HERE, "requirements.txt")


def say(words):
    """Progress, to stderr."""
    print(words, file=sys.stderr, flush=True)


def python():
    """The interpreter of the contenders."""
    return os.path.join(VENV, "bin", "python3")


def pinned():
    """The lines of requirements.txt that name a package."""
    with open(REQUIREMENTS) as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def prepare():
    """Makes .venv/bench once and installs the contenders; gives {package: why it is missing}."""
    with open(REQUIREMENTS, "rb") as file:
        wanted = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()
    stamp = os.path.join(VENV, "installed")
    if os.path.exists(stamp):
        with open(stamp) as file:
            if file.read() == wanted:
                return {}
    say("making .venv/bench and installing the contenders")
    venv.create(VENV, with_pip=True, clear=True)
    problem = pip("-r", REQUIREMENTS)
    if problem is None:
        with open(stamp, "w") as file:
            file.write(wanted)
        return {}
    say("not all of it could be installed (%s); trying one package at a time" % problem)
    missing = {}
    for line in pinned():
        problem = pip("-c", REQUIREMENTS, line)
        if problem is not None:
            missing[line.split("==")[0]] = problem
    return missing


def pip(*arguments):
    """Installs; gives the last words of a failure."""
    command = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return None
    lines = done.stdout.decode("utf-8", "replace").strip().split("\n")
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines)[-1].replace("ERROR: ", "")


def synthetic(sizes):
    """Traces of these numbers of events in bench-data/, made if they are not there yet."""
    folder = os.path.join(ROOT, "bench-data")
    os.makedirs(folder, exist_ok=True)
    paths = []
    for size in sizes:
        path = os.path.join(folder, "synthetic-%d.pt.trace.json.gz" % size)
        if not os.path.exists(path):
            say("making %s" % os.path.basename(path))
            part = path.replace(".pt.trace", ".part.pt.trace")
            make = ["cargo", "run", "--release", "--quiet", "-p", "stepscope-testkit", "--bin", "synth-trace", "--"]
            subprocess.run(make + ["--events", str(size), "--seed", "1", "--out", part], cwd=ROOT, check=True)
            os.replace(part, path)
        paths.append(path)
    return paths


def total_memory():
    """Bytes of memory in this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def free_memory():
    """Bytes of memory that can be had without swapping."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return total_memory()


def processor():
    """The processor's name."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(stepscope):
    """What was compared: {name: version}."""
    found = {"Python": platform.python_version()}
    try:
        told = subprocess.run([stepscope, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found["stepscope"] = told.stdout.decode().strip().split("\n")[0].replace("stepscope ", "") or "?"
    except OSError:
        found["stepscope"] = "not built"
    found.update(line.split("==") for line in pinned())
    return found


def machine(stepscope):
    """The machine in words and numbers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": processor(),
        "cores": cores,
        "memory_bytes": total_memory(),
        "system": "%s %s" % (platform.system(), platform.machine()),
        "versions": versions(stepscope),
    }
