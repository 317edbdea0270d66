"""Reading: what the program prints, as tables that other tools take."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.error
import urllib.request

import pytest

import stepscope
from stepscope import _native
from stepscope._viewer import Viewer

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "fixtures/pytorch/2.11-h200"


@pytest.fixture(scope="module")
def trace() -> stepscope.Trace:
    return stepscope.open(FIXTURES / "gpt_bf16/gpt_bf16.pt.trace.json.gz")


def printed(*words: str) -> dict:
    done = subprocess.run([sys.executable, "-m", "stepscope", *words], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("method", "key", "words"),
    [
        ("ops", "ops", ["ops", "--top", "0"]),
        ("kernels", "kernels", ["kernels", "--top", "0"]),
        ("steps", "steps", ["steps"]),
        ("memory", "operators", ["memory", "--top", "0"]),
        ("findings", "findings", ["findings"]),
    ],
)
def test_tables_are_what_the_program_prints(trace, method, key, words):
    table = getattr(trace, method)()
    assert len(table) > 0
    assert list(table) == printed(*words, "--format", "json", trace.path)[key]


def test_options_are_the_commands(trace):
    by_shape = trace.ops(by="shape")
    assert len(by_shape) > len(trace.ops())
    assert any(by_shape.column("input_shapes"))
    assert len(trace.ops(top=3)) == 3
    assert len(trace.ops(kind="annotations")) > 0


def test_a_mistake_is_explained(trace):
    with pytest.raises(stepscope.StepscopeError) as caught:
        trace.ops(by="colour")
    assert "--by takes" in caught.value.hint
    with pytest.raises(stepscope.StepscopeError):
        trace.ask("nonsense")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        stepscope.open(tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_text("not a trace")
    with pytest.raises(stepscope.StepscopeError) as caught:
        stepscope.open(broken)
    assert caught.value.hint
    with pytest.raises(stepscope.StepscopeError):
        stepscope.open(tmp_path / "..", rank=99)


AS_NOBODY = """
    import os, sys
    from stepscope import open as read
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        read(sys.argv[1])
    except PermissionError as error:
        print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="this system has no such permissions")
def test_a_file_that_may_not_be_read(example):
    # A folder of pytest's own would be closed itself.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder) / "t.json.gz"
        path.write_bytes(example.read_bytes())
        path.chmod(0)
        words = [sys.executable, "-c", textwrap.dedent(AS_NOBODY), str(path)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("PermissionError: permission denied"), done.stdout + done.stderr
    assert "hint: make the file readable" in done.stdout


FORKED = """
    import multiprocessing, os, signal, sys
    import stepscope

    trace = stepscope.open(sys.argv[1])
    expected = list(trace.memory())

    def asked() -> list:
        signal.alarm(50)
        assert list(stepscope.open(sys.argv[1]).memory()) == expected
        return list(trace.memory())

    def once(_number: int) -> list:
        return asked()

    child = os.fork()
    if child == 0:
        os._exit(7 if asked() == expected else 1)
    print(os.waitpid(child, 0)[1] >> 8)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print([found == expected for found in pool.map_async(once, range(2)).get(60)])
    print(asked() == expected)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_can_ask_too(example):
    program = textwrap.dedent(FORKED)
    words = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program, str(example)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["7", "[True, True]", "True"], done.stdout + done.stderr


def test_pandas_takes_it(trace):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = trace.ops().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["calls"].sum() == sum(trace.ops().column("calls"))


def test_arrow_takes_it_without_a_copy(trace):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    kernels = trace.kernels()
    table = pyarrow.table(kernels)
    assert table.num_rows == len(kernels)
    assert table["total_ns"].to_pylist() == kernels.column("total_ns")
    assert pyarrow.types.is_integer(table.schema.field("total_ns").type)
    assert pyarrow.types.is_string(table.schema.field("name").type)
    # Lists and objects stay what they are.
    findings = pyarrow.table(trace.findings())
    assert findings["rule"].to_pylist() == trace.findings().column("rule")


def test_polars_takes_it(trace):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame(trace.steps())
    assert frame["wall_ns"].to_list() == trace.steps().column("wall_ns")


def test_an_empty_table(trace):
    empty = trace.ops(filter="no_such_operator")
    assert len(empty) == 0
    assert str(empty) == "no rows"
    assert empty.column("calls") == []


def test_definitions_come_with_it(trace):
    assert "PyTorch" in trace.ops().definitions["calls"]


def test_text_lines_up(trace):
    lines = str(trace.steps()).splitlines()
    assert len({len(line) for line in lines[:2]}) <= 2
    assert "wall" in lines[0] and "ms" in lines[1]


def test_a_notebook_shows_it(trace):
    page = trace._repr_html_()
    assert page.count("<rect") >= 3 and "Bound by" in page and "mean step" in page
    assert "<table>" in trace.ops()._repr_html_()


def test_names_are_escaped_in_a_notebook():
    table = stepscope.Table([{"name": "<script>alert(1)</script>"}])
    assert "<script>" not in table._repr_html_()


def test_the_summary_is_the_programs(trace):
    text = trace.summary()
    assert "Bound by the host" in text


def test_the_browser_pages(trace):
    with trace.view(open_browser=False) as viewer:
        with urllib.request.urlopen(viewer.url + "api/runs") as answer:
            assert json.load(answer)["runs"]


def test_a_path_that_begins_with_a_dash(example, tmp_path, monkeypatch):
    shutil.copy(example, tmp_path / "-h.pt.trace.json.gz")
    monkeypatch.chdir(tmp_path)
    with stepscope.open("-h.pt.trace.json.gz").view(open_browser=False) as viewer:
        with urllib.request.urlopen(viewer.url + "api/runs") as answer:
            assert [run["label"] for run in json.load(answer)["runs"]] == ["-h"]


def test_pages_that_cannot_be_shown_say_why(tmp_path):
    with pytest.raises(stepscope.StepscopeError, match="there is no file or folder"):
        Viewer([str(tmp_path / "none.json")], open_browser=False)


KILLED = """
    import os, signal, sys
    import stepscope
    viewer = stepscope.open(sys.argv[1]).view(open_browser=False)
    print(viewer.url, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_the_pages_end_with_a_program_that_is_killed(example):
    words = [sys.executable, "-c", textwrap.dedent(KILLED), str(example)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60)
    url = done.stdout.strip()
    assert url.startswith("http") and done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, ConnectionError):
            return
        time.sleep(0.1)
    pytest.fail("the server is still there")


def test_columns_slices_and_rows(trace):
    ops = trace.ops()
    assert isinstance(ops[:2], stepscope.Table) and len(ops[:2]) == 2
    assert ops[0]["name"] == ops.column("name")[0]
    with pytest.raises(KeyError):
        ops.column("colour")


SETTINGS = """
[findings]
off = ["{rule}"]
[findings.thresholds]
severity.high = 0.0
"""


@pytest.mark.parametrize("recording", ["multi_stream", pytest.param("gpt_bf16", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("settings", [SETTINGS, ""], ids=["with settings", "without"])
def test_every_question_has_one_answer(
    recording: str,
    settings: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The terminal, the browser and Python give the same, for every question there is, by the same settings.

    The commands read the trace each time, and 93 times the larger one take half a minute."""
    trace = stepscope.open(FIXTURES / recording / f"{recording}.pt.trace.json.gz")
    monkeypatch.chdir(tmp_path)
    asked = [(name, by) for name, words in _native.questions() for by in [None, *words]]
    assert len(asked) > 40
    if settings:
        before = list(trace.findings())
        (tmp_path / "stepscope.toml").write_text(settings.format(rule=before[0]["rule"]))
        assert before[0]["rule"] not in trace.findings().column("rule") and list(trace.findings()) != before[1:]
        # Nothing else depends on them.
        asked = [("findings", None), ("summary", None)]
    with Viewer([trace.path], open_browser=False) as viewer:
        for name, by in asked:
            here = trace.ask(name, by=by)
            # In this process: that the program prints the same is seen above, and each start reads the trace again.
            words = [name, trace.path, "--format", "json", "--explain", *(["--by", by] if by else [])]
            assert _native.main(words) == 0, (name, by)
            assert here == json.loads(capfd.readouterr().out), (name, by)
            query = f"?by={by}" if by else ""
            assert here == over_http(f"{viewer.url}api/r/0/ask/{name}{query}"), (name, by)


def test_settings_that_are_wrong_are_said(trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stepscope.toml").write_text("[findings]\nof = []")
    with pytest.raises(stepscope.StepscopeError, match="stepscope.toml: there is no setting 'findings.of'"):
        trace.findings()
    assert len(trace.ops()) > 0


def over_http(url: str) -> dict:
    """The JSON at a URL, once the trace is read."""
    for _ in range(600):
        with urllib.request.urlopen(url) as answer:
            if answer.status == 200:
                return json.loads(answer.read())
        time.sleep(0.1)
    raise AssertionError(f"no answer at {url}")
