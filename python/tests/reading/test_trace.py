"""Reading: what the program prints, as tables that other tools take."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import urllib.request

import pytest

import stepscope


@pytest.fixture(scope="module")
def trace() -> stepscope.Trace:
    root = pathlib.Path(__file__).resolve().parents[3]
    return stepscope.open(root / "fixtures/pytorch/2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz")


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


def test_pandas_takes_it(trace):
    pandas = pytest.importorskip("pandas")
    frame = trace.ops().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["calls"].sum() == sum(trace.ops().column("calls"))


def test_arrow_takes_it_without_a_copy(trace):
    pyarrow = pytest.importorskip("pyarrow")
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
    polars = pytest.importorskip("polars")
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


def test_columns_slices_and_rows(trace):
    ops = trace.ops()
    assert isinstance(ops[:2], stepscope.Table) and len(ops[:2]) == 2
    assert ops[0]["name"] == ops.column("name")[0]
    with pytest.raises(KeyError):
        ops.column("colour")
