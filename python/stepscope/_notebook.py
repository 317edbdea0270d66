"""A trace in a notebook: the verdict, its numbers, a chart of the steps, what to change. Plain HTML and SVG."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Protocol

from ._native import share_text, time_text


class NotebookTrace(Protocol):
    """What a trace is asked for here."""

    @property
    def path(self) -> str: ...
    def findings(self) -> Any: ...
    def verdict(self) -> str: ...
    def ask(self, command: str, /, *, top: int) -> dict[str, Any]: ...


# The parts of a step, in Okabe and Ito's colors, which people of every color vision can tell apart.
_PART_COLORS = {
    "kernel_ns": "#009e73",
    "memcpy_ns": "#d55e00",
    "memset_ns": "#5f8f87",
    "communication_ns": "#cc79a7",
    "runtime_ns": "#e69f00",
    "data_loading_ns": "#8c510a",
    "host_ns": "#56b4e9",
    "other_ns": "#999999",
}
_WIDTH, _HEIGHT, _MAX_STEPS = 640, 160, 80


def trace_html(trace: NotebookTrace) -> str:
    """All of it."""
    steps = trace.ask("steps", top=0)
    labels = {definition["field"]: definition["label"] for definition in steps["definitions"]}
    findings = list(trace.findings())[:5]
    parts = [_heading(trace.verdict(), trace.path), _metrics(steps, labels), _chart(steps["steps"], labels)]
    parts.append(_findings(findings))
    return f'<div style="font-family:system-ui,sans-serif;max-width:{_WIDTH + 40}px">{"".join(parts)}</div>'


def _heading(verdict: str, path: str) -> str:
    name = html.escape(path.replace("\\", "/").rsplit("/", 1)[-1])
    said = html.escape(verdict) if verdict else "A trace"
    return (
        f'<p style="font-size:1.15em;font-weight:600;margin:4px 0">{said}</p>'
        f'<p style="opacity:.7;margin:0 0 8px">{name}</p>'
    )


def _metrics(steps: dict[str, Any], labels: dict[str, str]) -> str:
    average: dict[str, Any] = steps.get("average") or {}
    metrics = []
    if average.get("wall_ns"):
        metrics.append(("mean step", time_text(average["wall_ns"])))
        if average.get("gpu_busy_ns") is not None:
            metrics.append((labels["gpu_busy_ns"], share_text(average["gpu_busy_ns"] / average["wall_ns"])))
    metrics.append(("steps", str(len(steps["steps"]))))
    cells = "".join(
        f'<div style="margin-right:28px"><div style="opacity:.7;font-size:.85em">{html.escape(label)}</div>'
        f'<div style="font-size:1.3em;font-weight:600">{html.escape(value)}</div></div>'
        for label, value in metrics
    )
    return f'<div style="display:flex;margin:6px 0">{cells}</div>'


def _chart(steps: Sequence[Any], labels: dict[str, str]) -> str:
    shown = steps[:_MAX_STEPS]
    longest = max((step["wall_ns"] for step in shown), default=0)
    if not longest:
        return ""
    pitch = min(_WIDTH / len(shown), 90)
    bars = []
    for at, step in enumerate(shown):
        bottom = float(_HEIGHT)
        for key, color in _PART_COLORS.items():
            length = _HEIGHT * (step.get(key) or 0) / longest
            if length <= 0:
                continue
            bottom -= length
            title = f"step {step['step']}: {labels[key]} {time_text(step[key])} of {time_text(step['wall_ns'])}"
            bars.append(
                f'<rect x="{at * pitch + 0.1 * pitch:.1f}" y="{bottom:.2f}" width="{0.8 * pitch:.1f}" '
                f'height="{length:.2f}" fill="{color}"><title>{html.escape(title)}</title></rect>'
            )
    used = [(labels[key], color) for key, color in _PART_COLORS.items() if any(step.get(key) for step in shown)]
    legend = "".join(
        f'<span style="margin-right:14px"><span style="display:inline-block;width:10px;height:10px;'
        f'background:{color};margin-right:5px"></span>{label}</span>'
        for label, color in used
    )
    more = f" (the first {len(shown)} of {len(steps)})" if len(steps) > len(shown) else ""
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="time of each step">{"".join(bars)}</svg>'
        f'<div style="font-size:.85em;margin:2px 0 8px">{legend}'
        f"time of each step, up to {time_text(longest)}{more}</div>"
    )


def _findings(findings: Sequence[Any]) -> str:
    if not findings:
        return ""
    items = []
    for one in findings:
        verb = "saves at most" if one.get("estimate") == "upper_bound" else "saves"
        saves = ""
        if one.get("saves_ns"):
            saves = f" · {verb} {time_text(one['saves_ns'])} per step ({share_text(one.get('saves_share') or 0)})"
        elif one.get("saves_unprofiled_ns"):
            share = share_text(one.get("saves_unprofiled_share") or 0)
            saves = f" · {verb} about {time_text(one['saves_unprofiled_ns'])} ({share}) without the profiler"
        fix = one.get("fix") or ""
        items.append(
            f'<li style="margin:4px 0"><b>{html.escape(str(one.get("title", "")))}</b>{html.escape(saves)}'
            f"<br><span style='opacity:.8'>{html.escape(str(fix))}</span></li>"
        )
    heading = '<p style="margin:8px 0 2px;font-weight:600">What to change</p>'
    return f'{heading}<ol style="margin-top:2px">{"".join(items)}</ol>'
