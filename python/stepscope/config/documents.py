"""Reading the part of a configuration file that profiling needs, with the line of each key."""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

from ..errors import StepscopeError

_KEYS_HINT = "put the settings under a key, such as `profiling:`"
_FIX_LINE = "correct the file at that place"

KeyPath = tuple[str, ...]
FindLine = Callable[[KeyPath], Optional[int]]


def _unknown_line(_path: KeyPath) -> int | None:
    return None


@dataclass
class Document:
    """A configuration: its values, the name to show for it, and how to find the line of a key."""

    name: str
    values: Mapping[str, Any]
    find_line: FindLine = _unknown_line

    def line(self, *path: str) -> int | None:
        """The line of a key, or None where it is not known."""
        return self.find_line(path)


def load(path: str | os.PathLike[str], wanted: Iterable[str]) -> Document:
    """Read the ``wanted`` top-level keys of a YAML, JSON or TOML file; the ending decides which it is."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StepscopeError(
            f"no such configuration file: {file}", hint=f"check the path; the current folder is {Path.cwd()}"
        ) from None
    except (OSError, UnicodeDecodeError) as reason:
        raise StepscopeError(f"cannot read {file}: {reason}", hint="it must be a readable text file in UTF-8") from None
    ending = file.suffix.lower()
    if ending == ".json":
        return _json(text, str(file))
    if ending == ".toml":
        return _toml(text, str(file))
    if ending in (".yaml", ".yml"):
        return _yaml(text, str(file), list(wanted))
    raise StepscopeError(f"{file} is not a supported configuration file", hint="use a .yaml, .yml, .json or .toml file")


def _mapping(values: Any, file: str) -> Mapping[str, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise StepscopeError(f"{file} must hold keys at its top level, not a {type(values).__name__}", hint=_KEYS_HINT)
    return values


def _json(text: str, file: str) -> Document:
    try:
        values = _mapping(json.loads(text), file)
    except json.JSONDecodeError as reason:
        raise StepscopeError(f"{file}:{reason.lineno}: invalid JSON: {reason.msg}", hint=_FIX_LINE) from None
    return Document(file, values, _find_lines(text, values, r'"{key}"\s*:').get)


def _toml(text: str, file: str) -> Document:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise StepscopeError(
                f"{file} is TOML, which this Python cannot read",
                hint="use Python 3.11 or newer, pip install tomli, or write the configuration as YAML or JSON",
            ) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise StepscopeError(f"{file}: invalid TOML: {reason}", hint=_FIX_LINE) from None
    return Document(file, values, _find_lines(text, values, r"""^\s*["']?{key}["']?\s*=""").get)


def _find_lines(text: str, values: Mapping[str, Any], pattern: str) -> dict[KeyPath, int]:
    """The lines of keys two levels deep, only where the text leaves no doubt (the key occurs once)."""
    lines: dict[KeyPath, int] = {}
    for key, below in values.items():
        for name in below if isinstance(below, Mapping) else ():
            found = list(re.finditer(pattern.replace("{key}", re.escape(str(name))), text, re.MULTILINE))
            if len(found) == 1:
                # The match may begin with blank lines: count up to the key itself.
                lines[(str(key), str(name))] = text.count("\n", 0, found[0].end()) + 1
    return lines


def _yaml(text: str, file: str, wanted: list[str]) -> Document:
    try:
        import yaml
    except ImportError:
        raise StepscopeError(
            f"{file} is YAML, and PyYAML is not installed",
            hint="pip install 'stepscope[yaml]', or write the configuration as JSON or TOML",
        ) from None
    try:
        return _yaml_nodes(yaml, text, file, wanted)
    except yaml.YAMLError as reason:
        mark = getattr(reason, "problem_mark", None)
        place = file if mark is None else f"{file}:{mark.line + 1}"
        problem = getattr(reason, "problem", None) or reason
        raise StepscopeError(f"{place}: invalid YAML: {problem}", hint=_FIX_LINE) from None


def _yaml_nodes(yaml: Any, text: str, file: str, wanted: list[str]) -> Document:
    # Only the wanted keys are turned into values: the user's own sections may hold tags
    # (!include, !python/object…) that only the user's own loader knows, or may run.
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return Document(file, {})
        if not isinstance(root, yaml.MappingNode):
            raise StepscopeError(f"{file} must hold keys at its top level", hint=_KEYS_HINT)
        values: dict[str, Any] = {}
        for key, node in root.value:
            name = getattr(key, "value", None)
            if name in wanted:
                values[name] = loader.construct_document(node)
        return Document(file, values, functools.partial(_yaml_line, yaml, root))
    finally:
        loader.dispose()


def _yaml_line(yaml: Any, node: Any, path: KeyPath) -> int | None:
    """The line of a key. Only the way to it is walked: an alias may stand for far more than the file holds."""
    line = None
    for name in path:
        found = None
        for key, below in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and str(key.value) == name:
                found = key, below
        if found is None:
            return None
        line, node = found[0].start_mark.line + 1, found[1]
    return line
