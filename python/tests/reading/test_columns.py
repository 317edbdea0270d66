"""Columns: tables and events as Arrow, with the same types through every library and on every trace."""

from __future__ import annotations

import json
import pathlib

import pytest

import stepscope

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "fixtures/pytorch"
TABLES = ["ops", "kernels", "steps", "memory", "modules", "gaps", "findings", "events"]


@pytest.fixture(scope="module")
def trace() -> stepscope.Trace:
    return stepscope.open(FIXTURES / "2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz")


@pytest.fixture(scope="module")
def other() -> stepscope.Trace:
    return stepscope.open(FIXTURES / "2.11-h200-features/cuda_graph/cuda_graph.pt.trace.json.gz")


@pytest.mark.parametrize("method", TABLES)
def test_types_do_not_depend_on_the_trace(trace, other, method):
    some, more = (getattr(each, method)().to_arrow().schema for each in (trace, other))
    assert some.remove_metadata() == more.remove_metadata()
    assert not any(pyarrow.types.is_null(field.type) for field in some)


@pytest.mark.parametrize("method", ["ops", "kernels", "steps", "memory", "gaps"])
def test_columns_hold_what_the_rows_do(trace, method):
    table = getattr(trace, method)()
    columns = table.to_arrow()
    assert columns.num_rows == len(table) > 0
    assert columns.column_names == table.columns
    for name in table.columns:
        assert columns[name].to_pylist() == table.column(name), name


def test_no_rows_keep_their_types(trace):
    none = trace.ops(filter="no_such_operator")
    assert len(none) == 0
    assert none.to_arrow().schema == trace.ops().to_arrow().schema
    assert none.columns == trace.ops().columns
    with pytest.raises(KeyError):
        none.column("color")


def test_columns_carry_their_definitions(trace):
    field = trace.ops().to_arrow().schema.field("calls")
    assert field.metadata[b"definition"].decode() == trace.ops().definitions["calls"]


def test_slices_of_a_table(trace):
    ops = trace.ops()
    rows = list(ops)
    for part in [slice(2), slice(1, 4), slice(None, None, 3), slice(None, None, -1), slice(5, 1, -2), slice(9, 3)]:
        assert list(ops[part]) == rows[part]
        assert ops[part].to_arrow()["name"].to_pylist() == [row["name"] for row in rows[part]]
    assert list(ops[1:9][::2][1:]) == rows[1:9][::2][1:]
    assert ops[-1] == rows[-1]
    with pytest.raises(IndexError):
        ops[len(ops)]


def test_events_are_those_of_the_file(trace, tmp_path):
    events = trace.events()
    columns = events.to_arrow()
    assert columns.num_rows == len(events) > 1000
    assert columns["id"].to_pylist() == list(range(len(events)))
    assert min(columns["start_ns"].to_pylist()) >= 0
    kernels = [row for row in events if row["kind"] == "kernel"]
    for kernel in trace.kernels():
        same = [row["dur_ns"] for row in kernels if row["name"] == kernel["name"]]
        assert (len(same), sum(same)) == (kernel["calls"], kernel["total_ns"])
    linear = next(row for row in kernels if row["launch"] is not None)
    launch = events[linear["launch"]]
    assert launch["kind"] in ("runtime", "driver") and launch["correlation"] == linear["correlation"]
    assert json.loads(linear["args"])["correlation"] == linear["correlation"]
    assert int(columns.schema.metadata[b"origin_ns"]) == trace.ask("info")["origin_ns"]
    assert set(events.definitions) == set(events.columns)


def test_calls_of_operators_are_among_the_events(trace):
    rows = [row for row in trace.events() if row["kind"] == "host_op"]
    names = {row["id"]: row["name"] for row in rows}
    # PyTorch counts an operator that does nothing but call itself once.
    nested = {row["name"] for row in rows if names.get(row["parent"]) == row["name"]}
    ops = [row for row in trace.ops() if row["name"] not in nested]
    assert len(ops) > 50
    for op in ops:
        assert op["calls"] == sum(row["name"] == op["name"] for row in rows), op["name"]


def test_events_of_a_trace_that_is_gone():
    path = FIXTURES / "2.11-h200-features/cuda_graph/cuda_graph.pt.trace.json.gz"
    columns = stepscope.open(path).events().to_arrow()
    assert columns["dur_ns"].to_pylist() == [row["dur_ns"] for row in stepscope.open(path).events()]


@pytest.mark.parametrize("method", TABLES)
def test_pandas_and_polars_have_the_same_types(trace, method):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = getattr(trace, method)()
    frame, other = table.to_pandas(), table.to_polars()
    assert list(frame.columns) == other.columns == table.columns
    assert len(frame) == len(other) == len(table)
    for field in table.to_arrow().schema:
        if pyarrow.types.is_dictionary(field.type):
            assert isinstance(frame[field.name].dtype, pandas.CategoricalDtype), field
            assert other[field.name].dtype == polars.Categorical, field
            continue
        assert frame[field.name].dtype == pandas.ArrowDtype(field.type), field
        expected = polars.from_arrow(pyarrow.array([], field.type)).dtype
        assert other[field.name].dtype == expected, field


def test_pandas_groups_events(trace):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = trace.events().to_pandas()
    sums = frame[frame["kind"] == "kernel"].groupby("name", observed=True)["dur_ns"].sum()
    assert sums.to_dict() == {row["name"]: row["total_ns"] for row in trace.kernels()}


def test_polars_groups_events(trace):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    events = trace.events().to_polars()
    sums = events.filter(polars.col("kind") == "kernel").group_by("name").agg(polars.col("dur_ns").sum())
    assert dict(sums.cast({"name": polars.String}).iter_rows()) == {
        row["name"]: row["total_ns"] for row in trace.kernels()
    }


def test_a_table_of_rows_by_hand():
    table = stepscope.Table([{"name": "a", "calls": 1}, {"name": "b", "calls": None}])
    assert table.to_arrow().to_pylist() == list(table)


def test_what_is_no_table_is_explained(trace):
    with pytest.raises(stepscope.StepscopeError) as caught:
        trace.ops(kind="nonsense")
    assert "annotations" in caught.value.hint


def test_files_of_the_program_are_the_same_table(trace, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import feather

    from stepscope._native import main

    for table in ("events", "ops"):
        expected = getattr(trace, table)().to_arrow()
        for format, read in (("parquet", parquet.read_table), ("arrow", feather.read_table)):
            file = tmp_path / f"{table}.{format}"
            assert main(["export", "--to", format, "--table", table, "-o", str(file), trace.path]) == 0
            back = read(file)
            assert back.schema.remove_metadata() == expected.schema.remove_metadata()
            assert back.to_pylist() == expected.to_pylist()
