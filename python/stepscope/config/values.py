"""Turning what a file or a command line says into a checked value.

Each function takes the raw value and returns the value, or raises ``ValueError`` with the
part of a sentence that says what was expected ("true or false").
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

TRUE_WORDS = frozenset({"true", "yes", "on", "1"})
FALSE_WORDS = frozenset({"false", "no", "off", "0"})


_short = reprlib.Repr()
_short.maxlevel = 2
_short.maxstring = _short.maxother = 80


def shown(raw: Any) -> str:
    """A value as an error shows it: short, whatever it holds. YAML's aliases can make a small file hold a lot.

    >>> shown(-1), len(shown(["x"] * 1000)) < 50
    ('-1', True)
    """
    return _short.repr(raw)


def is_boolean_word(text: str) -> bool:
    """Whether a word of the command line can be the value of a yes/no setting."""
    return text.strip().lower() in TRUE_WORDS | FALSE_WORDS


def boolean(raw: Any) -> bool:
    """true/false, yes/no, on/off or 1/0, in any case."""
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, (str, int)):
        word = str(raw).strip().lower()
        if word in TRUE_WORDS:
            return True
        if word in FALSE_WORDS:
            return False
    raise ValueError("true or false")


def whole_number(raw: Any, least: int) -> int:
    """A whole number that is not below ``least``; ``3.0`` counts as whole, ``true`` does not."""
    expected = f"a whole number, at least {least}"
    if isinstance(raw, bool):
        raise ValueError(expected)
    if isinstance(raw, float):
        if not raw.is_integer():
            raise ValueError(expected)
        number = int(raw)
    elif isinstance(raw, int):
        number = raw
    elif isinstance(raw, str):
        try:
            number = int(raw.strip())
        except ValueError:
            raise ValueError(expected) from None
    else:
        raise ValueError(expected)
    if number < least:
        raise ValueError(expected)
    return number


def switch_or_seconds(raw: Any) -> bool | float:
    """true or false, or the seconds between two samples; ``1`` is true, ``1.0`` is one second."""
    if isinstance(raw, (bool, int, str)):
        try:
            return boolean(raw)
        except ValueError:
            pass
    if isinstance(raw, (int, float, str)):
        try:
            seconds = float(raw)
        except ValueError:
            seconds = -1.0
        if 0 < seconds < float("inf"):
            return seconds
    raise ValueError("true, false, or the seconds between two samples")


def words(raw: Any, allowed: Sequence[str]) -> list[str]:
    """A list of names, written as a list, ``a,b`` or ``[a, b]``; case does not matter."""
    expected = "a list of " + ", ".join(allowed)
    if isinstance(raw, str):
        text = raw.strip()
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1]
        parts: list[Any] = [part.strip().strip("'\"") for part in text.split(",")]
    elif isinstance(raw, Sequence) and not isinstance(raw, (bytes, bytearray)):
        parts = list(raw)
    else:
        raise ValueError(expected)
    names: list[str] = []
    for part in parts:
        if isinstance(part, (Mapping, list, tuple, set)):
            raise ValueError(expected)
        # An enum member of torch or of ours prints as "ProfilerActivity.CPU".
        name = str(part).rsplit(".", 1)[-1].lower()
        if name not in allowed:
            raise ValueError(f"{expected}; {shown(str(part))} is none of them")
        if name not in names:
            names.append(name)
    return names


def choice(raw: Any, allowed: Sequence[str]) -> str:
    """One word of a few."""
    name = raw.strip().lower() if isinstance(raw, str) else ""
    if name not in allowed:
        raise ValueError(" or ".join(allowed))
    return name


def folder(raw: Any) -> str:
    """The name of a folder."""
    if hasattr(raw, "__fspath__"):
        raw = raw.__fspath__()
    if not isinstance(raw, str) or not raw.strip():
        raise ValueError("the name of a folder")
    if "${" in raw:
        raise ValueError("a plain name (OmegaConf resolves ${…}: pass its config object instead of the file)")
    return raw
