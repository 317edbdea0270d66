"""Regions side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

from .._html_table import html_table
from ..errors import StepscopeError
from .metrics import Metrics
from .text_table import aligned, number, seconds
from .unknown import Metric, Unknown, is_unknown, plain

Samples = Union[None, float, Mapping[str, float]]

COLUMNS = (
    "count", "mean_s", "p95_s", "total_s", "cpu_time_s", "gpu_time_s", "throughput", "peak_ram_mb", "peak_gpu_mb",
    "gpu_utilization_percent", "estimated_flops", "flops_per_second", "energy_j", "carbon_g",
)  # fmt: skip
_MORE_IS_BETTER = frozenset({"throughput", "flops_per_second", "gpu_utilization_percent", "count"})
_TIMES = frozenset({"mean_s", "p95_s", "total_s", "cpu_time_s", "gpu_time_s"})


class Comparison(Sequence[dict[str, Any]]):
    """A table with a row for each region. ``pandas.DataFrame(comparison.rows)`` works, and so does printing it."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            for row in self.rows:
                if row["name"] == at:
                    return row
            raise KeyError(at)
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> list[str]:
        """The columns in which something is known."""
        return ["name", *(name for name in COLUMNS if any(not is_unknown(row[name]) for row in self.rows))]

    def best(self, column: str) -> str:
        """The name of the region with the best value: the highest throughput, the lowest time or memory."""
        if column not in COLUMNS:
            raise StepscopeError(f"there is no column {column!r} to compare by", hint=f"one of: {', '.join(COLUMNS)}")
        known = [row for row in self.rows if not is_unknown(row[column])]
        if not known:
            reasons = {str(getattr(row[column], "reason", "")) for row in self.rows}
            raise StepscopeError(f"{column} is not known of any region", hint="; ".join(sorted(reasons)))
        pick = max if column in _MORE_IS_BETTER else min
        return str(pick(known, key=lambda row: row[column])["name"])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values by region name; what is unknown is ``None``."""
        return {row["name"]: {name: plain(row[name]) for name in COLUMNS} for row in self.rows}

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the names as its index."""
        import pandas

        return pandas.DataFrame(self.rows).set_index("name")[[name for name in self.columns if name != "name"]]

    def _cells(self) -> list[list[str]]:
        return [[_cell(name, row[name]) for name in self.columns] for row in self.rows]

    def __str__(self) -> str:
        return aligned(self._heads(), self._cells())

    def _repr_html_(self) -> str:
        return html_table(self._heads(), [name != "name" for name in self.columns], self._cells())

    def _heads(self) -> list[str]:
        """Times are shown with their units."""
        return [name[: -len("_s")] if name in _TIMES else name for name in self.columns]


def _cell(column: str, value: Any) -> str:
    return seconds(value) if column in _TIMES else number(value)


def compare(metrics: Sequence[Metrics], samples: Samples = None) -> Comparison:
    """Rows out of metrics over all occurrences. ``samples``: how many each occurrence worked through."""
    return Comparison([_row(each, _given(samples, each.name)) for each in metrics])


def _given(samples: Samples, name: str) -> float | None:
    return samples.get(name) if isinstance(samples, Mapping) else samples


def _row(metrics: Metrics, samples: float | None) -> dict[str, Any]:
    timing = metrics.timing
    throughput: Metric = metrics.throughput
    if samples is not None:
        throughput = samples * metrics.count / timing.total_s if timing.total_s else Unknown("it took no time")
    return {
        "name": metrics.name,
        "count": metrics.count,
        "mean_s": timing.mean_s,
        "p95_s": timing.p95_s,
        "total_s": timing.total_s,
        "cpu_time_s": timing.cpu_time_s,
        "gpu_time_s": timing.gpu_time_s,
        "throughput": throughput,
        "peak_ram_mb": metrics.memory.peak_ram_mb,
        "peak_gpu_mb": metrics.memory.peak_gpu_mb,
        "gpu_utilization_percent": metrics.compute.gpu_utilization_percent,
        "estimated_flops": metrics.compute.estimated_flops,
        "flops_per_second": metrics.compute.flops_per_second,
        "energy_j": metrics.energy.total_j,
        "carbon_g": metrics.carbon.grams,
    }
