"""Settings given on the command line, beside the user's own arguments.

Four spellings mean the same: ``--profiling.active 2``, ``--profiling.active=2``,
``profiling.active=2`` (as Hydra writes it, also with ``+`` or ``++`` before it), and for
yes/no settings a bare ``--profiling.with_stack``. Everything else is left alone, in its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from ..errors import StepscopeError
from .problems import Place, Problems
from .settings import FLAGS
from .values import is_boolean_word

Overrides = Union[Sequence[str], Mapping[str, Any], None]


@dataclass
class Split:
    """Arguments, split into ours and the user's."""

    #: (name, raw value, where it was written)
    ours: list[tuple[str, Any, Place]]
    #: The arguments without ours.
    remaining: list[str]


def split(overrides: Overrides, section: str, problems: Problems) -> Split:
    """Take the settings of ``section`` out of ``overrides``.

    >>> found = split(["--lr", "0.1", "--profiling.active", "2"], "profiling", Problems("profiling"))
    >>> [(name, raw) for name, raw, _ in found.ours], found.remaining
    ([('active', '2')], ['--lr', '0.1'])
    """
    if overrides is None:
        return Split([], [])
    if isinstance(overrides, Mapping):
        return Split([_from_mapping(key, raw, section) for key, raw in overrides.items()], [])
    if isinstance(overrides, (str, bytes)):
        raise StepscopeError(
            "overrides must be a list of arguments or a mapping, not one text",
            hint=f"pass sys.argv, or for example ['--{section}.active', '2']",
        )
    return _from_arguments([str(argument) for argument in overrides], section, problems)


def _from_mapping(key: Any, raw: Any, section: str) -> tuple[str, Any, Place]:
    name = str(key)
    if name.startswith(section + "."):
        name = name[len(section) + 1 :]
    return name, raw, Place(f"override {section}.{name}")


def _from_arguments(arguments: list[str], section: str, problems: Problems) -> Split:
    ours: list[tuple[str, Any, Place]] = []
    remaining: list[str] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        if argument == "--":
            remaining += [argument, *arguments[at:]]
            break
        written = _name_and_value(argument, section)
        if written is None:
            remaining.append(argument)
            continue
        name, value, dashed = written
        place = Place(f"--{section}.{name}" if dashed else f"{section}.{name}")
        if value is None:
            following = arguments[at] if at < len(arguments) else None
            value, taken = _following(name, following)
            if value is None:
                problems.add(place, f"{name} needs a value, for example {place}=…")
                continue
            at += taken
        ours.append((name, value, place))
    return Split(ours, remaining)


def _name_and_value(argument: str, section: str) -> tuple[str, str | None, bool] | None:
    """(name, value or None, whether it began with dashes), or None for an argument of the user's."""
    name, equals, value = argument.partition("=")
    dashed = name.startswith("--")
    if dashed:
        name = name[2:]
    elif equals:
        name = name[min(2, len(name) - len(name.lstrip("+"))) :]
    else:
        return None
    if not name.startswith(section + "."):
        return None
    name = name[len(section) + 1 :].replace("-", "_")
    return name, (value if equals else None), dashed


def _following(name: str, following: str | None) -> tuple[str | None, int]:
    """The value of ``--profiling.NAME`` from the argument after it, and how many arguments that takes."""
    if name in FLAGS:
        if following is not None and (is_boolean_word(following) or (name == "monitor" and _is_number(following))):
            return following, 1
        return "true", 0
    if following is None or following.startswith("--"):
        return None, 0
    return following, 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
