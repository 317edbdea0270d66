"""Reading the part of a configuration file that profiling needs, with the line of each key."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple

from ..errors import StepscopeError
from . import simple_yaml

Lines = Dict[Tuple[str, ...], int]


@dataclass
class Document:
    """A configuration: its values, the name to show for it, and the lines of its keys where known."""

    name: str
    values: Mapping[str, Any]
    lines: Lines = field(default_factory=dict)

    def line(self, *path: str) -> Optional[int]:
        """The line of a key, or None where it is not known."""
        return self.lines.get(path)


def load(path: "str | os.PathLike[str]", wanted: Iterable[str]) -> Document:
    """Read the ``wanted`` top-level keys of a YAML, JSON or TOML file; the ending decides which it is."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StepscopeError(
            f"there is no configuration file {file}", hint=f"the current folder is {Path.cwd()}"
        ) from None
    except (OSError, UnicodeDecodeError) as reason:
        raise StepscopeError(f"{file} cannot be read: {reason}") from None
    ending = file.suffix.lower()
    if ending == ".json":
        return _json(text, str(file))
    if ending == ".toml":
        return _toml(text, str(file))
    if ending in (".yaml", ".yml"):
        return _yaml(text, str(file), list(wanted))
    raise StepscopeError(
        f"{file} is not a configuration file that is understood", hint="use a .yaml, .yml, .json or .toml file"
    )


def _mapping(values: Any, file: str) -> Mapping[str, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise StepscopeError(f"{file} must hold keys at its top level, not a {type(values).__name__}")
    return values


def _json(text: str, file: str) -> Document:
    try:
        values = _mapping(json.loads(text), file)
    except json.JSONDecodeError as reason:
        raise StepscopeError(f"{file}:{reason.lineno}: this is not JSON: {reason.msg}") from None
    return Document(file, values, _find_lines(text, values, r'"{key}"\s*:'))


def _toml(text: str, file: str) -> Document:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise StepscopeError(
                f"{file} is TOML, which this Python cannot read",
                hint="use Python 3.11 or newer, pip install tomli, or write the file as YAML or JSON",
            ) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise StepscopeError(f"{file}: this is not TOML: {reason}") from None
    return Document(file, values, _find_lines(text, values, r"""^\s*["']?{key}["']?\s*="""))


def _find_lines(text: str, values: Mapping[str, Any], pattern: str) -> Lines:
    """The lines of keys two levels deep, only where the text leaves no doubt (the key stands there once)."""
    lines: Lines = {}
    for key, below in values.items():
        for name in below if isinstance(below, Mapping) else ():
            found = list(re.finditer(pattern.replace("{key}", re.escape(str(name))), text, re.MULTILINE))
            if len(found) == 1:
                # The match may begin with blank lines: count up to the key itself.
                lines[(str(key), str(name))] = text.count("\n", 0, found[0].end()) + 1
    return lines


def _yaml(text: str, file: str, wanted: "list[str]") -> Document:
    try:
        import yaml
    except ImportError:
        values, lines = simple_yaml.read(text, wanted, file)
        return Document(file, values, lines)
    try:
        return _yaml_nodes(yaml, text, file, wanted)
    except yaml.YAMLError as reason:
        mark = getattr(reason, "problem_mark", None)
        place = file if mark is None else f"{file}:{mark.line + 1}"
        raise StepscopeError(f"{place}: this is not YAML: {getattr(reason, 'problem', None) or reason}") from None


def _yaml_nodes(yaml: Any, text: str, file: str, wanted: "list[str]") -> Document:
    # Only the wanted keys are turned into values: the user's own sections may hold tags
    # (!include, !python/object…) that only the user's own loader knows, or may run.
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return Document(file, {})
        if not isinstance(root, yaml.MappingNode):
            raise StepscopeError(f"{file} must hold keys at its top level")
        values: Dict[str, Any] = {}
        lines: Lines = {}
        for key, node in root.value:
            name = getattr(key, "value", None)
            if name in wanted:
                _note_lines(yaml, node, (name,), key.start_mark.line + 1, lines)
                values[name] = loader.construct_document(node)
        return Document(file, values, lines)
    finally:
        loader.dispose()


def _note_lines(yaml: Any, node: Any, path: Tuple[str, ...], line: int, lines: Lines) -> None:
    lines[path] = line
    # An alias may point at what it stands in; nothing of ours lies deep.
    if isinstance(node, yaml.MappingNode) and len(path) < 8:
        for key, below in node.value:
            if isinstance(key, yaml.ScalarNode):
                _note_lines(yaml, below, (*path, str(key.value)), key.start_mark.line + 1, lines)
