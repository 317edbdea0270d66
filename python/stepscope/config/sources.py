"""``configure``: from a file, a mapping and a command line to a checked ``Profiling``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Union

from .._current_run import current_run
from .._step_times import wanted as step_times_wanted
from ..errors import StepscopeError
from .documents import Document, load
from .overrides import Overrides, split
from .problems import Place, Problems
from .profiling import ActiveProfiling, FollowingProfiling, Profiling
from .settings import CHECKS, Settings, check
from .values import shown

Source = Union[str, "os.PathLike[str]", Mapping[str, Any], object, None]

#: The folder of traces inside the run folder.
TRACES_FOLDER = "profiler_traces"
#: Top-level keys that name the run folder, the first that is there counts.
RUN_FOLDER_KEYS = ("run_dir", "output_dir", "log_dir")


def configure(
    source: Source = None,
    overrides: Overrides = None,
    *,
    run_dir: str | os.PathLike[str] | None = None,
    section: str = "profiling",
) -> Profiling:
    """Read the ``profiling`` section of a run and return the object that profiles by it.

    ``source`` is a YAML, JSON or TOML file, a mapping (a dict, an OmegaConf or Hydra config), an
    object with attributes (a dataclass, ``argparse.Namespace``), or None. ``overrides`` are the arguments of the
    program (``sys.argv`` as it is) or a mapping; ``--profiling.active 2``, ``--profiling.active=2``,
    ``profiling.active=2`` and a bare ``--profiling.with_stack`` are taken out, and ``.remaining`` holds the others.

    Without a section and without an override the result is off: a context manager that does nothing. So is
    ``profiling: null``, ``profiling: false`` and ``enabled: false``. An override alone switches profiling on,
    with defaults for the rest (wait 1, warmup 1, active 3, repeat 1).

    Traces go to the folder ``output`` if it is set, else to ``profiler_traces`` in the run folder. The run folder is
    ``run_dir``, else the key ``run_dir``, ``output_dir`` or ``log_dir`` at the top of the configuration (in this
    order), else the current folder.

    All problems are raised at once, as one :class:`stepscope.StepscopeError`.

    >>> profiling = configure({"profiling": {"active": 2, "enabled": False}}, ["--lr", "0.1"])
    >>> profiling.enabled, profiling.settings.active, profiling.remaining
    (False, 2, ['--lr', '0.1'])
    """
    problems = Problems(section)
    arguments = split(overrides, section, problems)
    document = read_document(source, section)
    written, values = read_section(document, section, problems)
    run = current_run()
    ours = arguments.ours + (run.overrides if run is not None else [])
    for name, raw, place in ours:
        check(name, raw, place, values, problems)
    problems.raise_if_any(list(CHECKS))
    if run is not None and run.output is not None:
        values["output"] = run.output
    settings = Settings(**values, given=frozenset(values))
    output = trace_folder(settings, document, run_dir)
    # A run whose steps are timed is to be as it is without a profiler.
    if settings.enabled and (written or ours) and not step_times_wanted():
        return ActiveProfiling(settings, arguments.remaining, output)
    if run is not None and settings.enabled:
        return FollowingProfiling(settings, arguments.remaining, output)
    return Profiling(settings, arguments.remaining, output)


def read_document(source: Source, section: str) -> Document:
    """The configuration behind ``source``, whatever kind it is."""
    if source is None:
        return Document("configuration", {})
    if isinstance(source, (str, os.PathLike)):
        return load(source, [section.split(".")[0], *RUN_FOLDER_KEYS])
    values = _as_mapping(source)
    if values is None:
        raise StepscopeError(
            f"a configuration cannot be a {type(source).__name__}",
            hint="pass the name of a YAML, JSON or TOML file, a mapping, or None",
        )
    return Document("configuration", values)


def read_section(document: Document, section: str, problems: Problems) -> tuple[bool, dict[str, Any]]:
    """Whether the section is there and not null, and its checked settings."""
    path = section.split(".")
    below: Any = document.values
    for name in path:
        holder = _as_mapping(below)
        if holder is None or name not in holder:
            return False, {}
        below = holder[name]
        if below is None:
            return False, {}
    if isinstance(below, bool):
        return True, {"enabled": below}
    content = _as_mapping(below)
    if content is None:
        place = Place(document.name, document.line(*path))
        problems.add(place, f"{section} must hold settings such as 'active: 3'; it is {shown(below)}")
        return True, {}
    values: dict[str, Any] = {}
    for name, raw in content.items():
        check(name, raw, Place(document.name, document.line(*path, str(name))), values, problems)
    return True, values


def trace_folder(settings: Settings, document: Document, run_dir: str | os.PathLike[str] | None) -> Path:
    """Where traces go; see :func:`configure` for the rule."""
    if settings.output is not None:
        return Path(settings.output).expanduser()
    if run_dir is not None:
        return Path(run_dir).expanduser() / TRACES_FOLDER
    for key in RUN_FOLDER_KEYS:
        named = document.values.get(key)
        if isinstance(named, (str, os.PathLike)) and os.fspath(named) and "${" not in str(named):
            return Path(named).expanduser() / TRACES_FOLDER
    return Path(TRACES_FOLDER)


def _as_mapping(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, (str, bytes, int, float, list, tuple, set, type)) or value is None:
        return None
    attributes: Mapping[str, Any] | None = getattr(value, "__dict__", None)
    return attributes
