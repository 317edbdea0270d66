"""The stages of the tests: what runs, in which Python environment, and in which order."""

from __future__ import annotations

import glob
import os
import pathlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

FOLDER = "target/test-report"
CARGO = os.environ.get("CARGO", "cargo")
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
# What each environment holds. In this order: those that are needed first are made first.
ENVIRONMENTS = {
    "build": "python/requirements-build.txt",
    "plain": "python/tests/requirements.txt",
    "frameworks": "python/tests/requirements-frameworks.txt",
    "services": "python/tests/requirements-services.txt",
    "jax": "python/tests/requirements-jax.txt",
    "xprof": "python/tests/requirements-xprof.txt",
}
WHEELS = "target/python/wheels"
OF_THIS_THREAD = threading.local()


@dataclass
class Stage:
    """Something that runs, and that is named and timed in the report."""

    name: str
    work: Callable[[IO[str] | None], int]
    # Python environments that it waits for.
    needs: tuple[str, ...] = ()
    # Nothing after it makes sense if it fails.
    is_build: bool = False
    # For processes and clocks, most of the time: it runs beside one that keeps every core busy.
    waits: bool = False


def environment(name: str, niceness: int = 0) -> str:
    """The folder of an environment; made if it is not there yet."""
    command = ["nice", "-n", str(niceness), "scripts/python-environment.sh", name, ENVIRONMENTS[name]]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return os.path.abspath(made.stdout.strip())


def call(command: list[str], log: IO[str] | None = None, cwd: str = ".", **variables: str) -> int:
    # Importing PyTorch without its bytecode takes four times as long, and the tests start hundreds of programs that do.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=log, stderr=log and subprocess.STDOUT, cwd=cwd, env={**kept, **variables})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    OF_THIS_THREAD.processor_seconds = processor_seconds() + used.ru_utime + used.ru_stime
    return process.returncode


def processor_seconds() -> float:
    """What the commands that this thread has called have used of the processors, with all that they waited for."""
    return getattr(OF_THIS_THREAD, "processor_seconds", 0.0)


def node_folder(*options: str) -> str:
    return subprocess.run(["scripts/setup-ui.sh", *options], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def with_node(command: list[str], log: IO[str] | None, *options: str, **variables: str) -> int:
    path = f"{node_folder(*options)}:{os.environ['PATH']}"
    return call(command, log, "ui", PATH=path, **variables)


def nextest(*options: str) -> list[str]:
    return [CARGO, "nextest", "run", "--workspace", "--tests", "--locked", *options]


def second_tries() -> int:
    """For what watches a clock. Beside busy loops there are none: that is what they are for."""
    return 0 if "STEPSCOPE_BUSY" in os.environ else 1


def build_rust(log: IO[str] | None) -> int:
    return call(["scripts/setup-nextest.sh"], log) or call(nextest("--no-run", "--timings"), log)


def run_rust(log: IO[str] | None, *options: str) -> int:
    # Which tests have a second try is in .config/nextest.toml. Random input comes in more shapes at night.
    cases = "1000" if os.environ.get("STEPSCOPE_NIGHTLY") else "100"
    return call(nextest(*options, *(() if second_tries() else ("--retries", "0"))), log, PROPTEST_CASES=cases)


def test_rust(log: IO[str] | None) -> int:
    nightly = bool(os.environ.get("STEPSCOPE_NIGHTLY"))
    code = run_rust(log, "--profile", "quiet", *(("--run-ignored", "all") if nightly else ()))
    shutil.copy("target/nextest/quiet/junit.xml", f"{FOLDER}/rust.xml")
    if not nightly:
        # Those that are left out are not among the results.
        left_out = [*nextest("--run-ignored", "only", "--message-format", "oneline")]
        left_out[2] = "list"
        with open(f"{FOLDER}/rust-nightly.txt", "w") as names:
            call(left_out, names)
    return code


def test_clocks(log: IO[str] | None) -> int:
    code = run_rust(log, "--profile", "clocks")
    number = len(list(pathlib.Path(FOLDER).glob("rust-clocks-*.xml"))) + 1
    shutil.copy("target/nextest/clocks/junit.xml", f"{FOLDER}/rust-clocks-{number}.xml")
    return code


def test_docs(log: IO[str] | None) -> int:
    return call([CARGO, "test", "--doc", "--workspace", "--locked", "--quiet"], log)


def test_ui_logic(log: IO[str] | None) -> int:
    reporters = ["--reporter=default", "--reporter=junit", f"--outputFile.junit=../{FOLDER}/vitest.xml"]
    # None of them touches what others share: one process for all takes a third of the time.
    together = ["--no-isolate", "--pool=threads"]
    return with_node(["npx", "vitest", "run", "--dir", "tests", *together, *reporters], log)


def test_browser(log: IO[str] | None) -> int:
    output = f"../{FOLDER}/playwright.xml"
    return with_node(["npx", "playwright", "test"], log, "--browser", PLAYWRIGHT_JUNIT_OUTPUT_NAME=output)


def wheel() -> str:
    return os.path.abspath(glob.glob(f"{WHEELS}/*.whl")[0])


def build_wheel(log: IO[str] | None) -> int:
    """The package as users get it, but for the profile: `cargo nextest` has built most of this one."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    maturin = f"{environment('build')}/bin/maturin"
    return call([maturin, "build", "--profile", "dev", "--locked", "--quiet", "--compression-method", "stored", "--out", WHEELS], log)


def install_wheel(log: IO[str] | None) -> int:
    """Into every environment, once: tests that run side by side share one."""
    for name in ("plain", "frameworks", "services", "jax"):
        python = f"{environment(name)}/bin/python"
        if code := call(["scripts/python-install.sh", python, "--force-reinstall", "--no-deps", wheel()], log):
            return code
    return 0


def build_module(log: IO[str] | None) -> int:
    """The native module in the working tree, for tests while you work."""
    code = call([CARGO, "build", "--quiet", "--locked", "--workspace"], log)
    if code == 0:
        shutil.copy("target/debug/lib_native.so", "python/stepscope/_native.abi3.so")
    return code


def pytest(name: str, where: str, *options: str, in_place: bool = False, **variables: str) -> Callable[[IO[str] | None], int]:
    """One call of pytest in an environment, with its results in <name>.xml."""

    def work(log: IO[str] | None) -> int:
        python = f"{environment(where)}/bin/python"
        which = {"PYTHONPATH": os.path.abspath("python")} if in_place else {"STEPSCOPE_WHEEL": wheel()}
        command = [python, "-m", "pytest", f"--junitxml={FOLDER}/{name}.xml", *options]
        return call(command, log, STEPSCOPE_ENVIRONMENT=where, **which, **variables)

    return work


def smoke(log: IO[str] | None) -> int:
    """Every Python on this machine that the package promises to work with. A wheel is a zip file and the package needs
    nothing else, so it is unpacked once instead of being installed for each."""
    unpacked = "target/python/unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    shutil.unpack_archive(wheel(), unpacked, "zip")
    code = 0
    for version in PYTHONS:
        # A name on the path may be a stand-in for a Python that is not chosen.
        places = [f"python{version}", *glob.glob(f"{pathlib.Path.home()}/.pyenv/versions/{version}.*/bin/python")]
        python = next((place for place in places if is_python(place)), None)
        if python is None:
            print(f"skipped: Python {version} is not installed", file=log or sys.stdout, flush=True)
            continue
        # Without site-packages: nothing else is there.
        code |= call([python, "-S", "python/tests/smoke.py"], log, PYTHONPATH=unpacked)
    return code


def is_python(place: str) -> bool:
    try:
        return subprocess.run([place, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def test_xprof(log: IO[str] | None) -> int:
    # XProf is a program of its own here, and reads what JAX and TensorFlow record in theirs.
    xprof = f"{environment('xprof')}/bin/python"
    return pytest("xprof", "jax", "python/tests/xla/test_xprof.py", STEPSCOPE_XPROF_PYTHON=xprof)(log)


TESTS = "python/tests"
LONGEST = (f"{TESTS}/trial", f"{TESTS}/launch", f"{TESTS}/patterns")
TWO_AT_A_TIME = ("-n", "2", "--dist", "loadfile")
# What pytest ends with where it finds none.
NO_TESTS = 5


def package(where: str, tests: str = TESTS, *, in_place: bool = False, waits: bool = False) -> Stage:
    """The tests of an environment: two files at a time, then what watches a clock."""
    # A file is run by one process: the longest come first, so that none is left for the end.
    first = [path for path in LONGEST if path.startswith(tests)]
    together = pytest(where, where, *first, tests, *TWO_AT_A_TIME, "-m", "not clock", in_place=in_place)
    alone = clocks(where, tests, in_place=in_place)

    def work(log: IO[str] | None) -> int:
        first, second = together(log), alone.work(log)
        return first or second

    return Stage(f"Python, {where}", work, (where,), waits=waits)


def clocks(where: str, tests: str = TESTS, *, in_place: bool = False) -> Stage:
    """What watches a clock has the machine to itself, and a second try that is named."""

    def work(log: IO[str] | None) -> int:
        tries = ("--reruns", str(second_tries()))
        code = pytest(f"{where}-clock", where, tests, "-m", "clock", *tries, in_place=in_place)(log)
        return 0 if code == NO_TESTS else code

    return Stage(f"Python clocks, {where}", work, (where,), waits=True)


def xla(name: str, file: str, *options: str, **variables: str) -> Stage:
    """One framework per process, as programs of it have."""
    return Stage(f"Python, {name}", pytest(name, "jax", f"{TESTS}/{file}", *options, **variables), ("jax",), waits=True)


BUILD_RUST = Stage("build Rust tests", build_rust, is_build=True)
RUST = Stage("Rust", test_rust)
CLOCKS = Stage("Rust clocks", test_clocks, waits=True)
EXAMPLES = Stage("Rust documentation examples", test_docs, waits=True)
UI = Stage("UI logic", test_ui_logic, waits=True)
BROWSER = Stage("browser", test_browser)
WHEEL = [
    Stage("build the wheel", build_wheel, ("build",), is_build=True),
    Stage("install the wheel", install_wheel, ("plain", "frameworks", "services", "jax", "xprof"), is_build=True),
]
VERDICTS = clocks("jax", f"{TESTS}/xla/test_verdicts.py")
PLAIN, FRAMEWORKS, SERVICES = package("plain"), package("frameworks"), package("services", f"{TESTS}/production", waits=True)
EVERY_PYTHON = Stage("every Python", smoke, waits=True)
XLA = [
    xla("jax", "xla/test_jax.py"),
    xla("tensorflow", "xla/test_tensorflow.py"),
    xla("keras-tensorflow", "xla/test_keras.py", KERAS_BACKEND="tensorflow"),
    xla("keras-jax", "xla/test_keras.py", KERAS_BACKEND="jax"),
    xla("run-xla", "xla/test_run.py"),
    xla("performance-jax", "performance/test_jax.py"),
    Stage("Python, xprof", test_xprof, ("jax", "xprof"), waits=True),
    VERDICTS,
]
# What watches a clock passes beside busy loops, too (`make test-busy`).
ALL = [BUILD_RUST, *WHEEL, RUST, BROWSER, FRAMEWORKS, PLAIN, CLOCKS, SERVICES, *XLA, EVERY_PYTHON, UI, EXAMPLES]
GROUPS: dict[str, list[Stage]] = {
    "all": ALL,
    "fast": [
        BUILD_RUST,
        Stage("build the module", build_module, is_build=True),
        RUST,
        package("plain", in_place=True),
        CLOCKS,
        UI,
        EXAMPLES,
    ],
    "python": [*WHEEL, FRAMEWORKS, PLAIN, SERVICES, *XLA, EVERY_PYTHON],
    "nightly": ALL,
    "clocks": [BUILD_RUST, CLOCKS],
    "python-clocks": [
        *WHEEL,
        clocks("plain"),
        clocks("frameworks"),
        clocks("services", f"{TESTS}/production"),
        VERDICTS,
    ],
}
