"""Functions by name, as they are typed after ``stepscope run --lines``."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from types import CodeType
from typing import Callable

from .._user_code import is_user_code


def named(patterns: list[str]) -> Callable[[CodeType], bool]:
    """Whether a function is called so: ``train_step``, ``Model.forward``, ``Model.*``, ``loader.py:read``.

    Without a file only the user's own code is meant. A name without a dot is that of a function in any class; Python
    before 3.11 does not tell which class a function is in, so there the class is not looked at.

    >>> import textwrap
    >>> [named([name])(textwrap.dedent.__code__) for name in ("dedent", "textwrap.py:ded*", "textwrap.py:indent")]
    [False, True, False]
    """
    wanted = [_parsed(pattern) for pattern in patterns]

    def accepts(code: CodeType) -> bool:
        return any(_fits(code, file, name) for file, name in wanted)

    return accepts


def _parsed(pattern: str) -> tuple[str | None, str]:
    file, colon, name = pattern.rpartition(":")
    return (file if colon else None), name or "*"


def _fits(code: CodeType, file: str | None, name: str) -> bool:
    if code.co_name.startswith("<") and not name.startswith("<"):
        return False  # A module, a lambda or a comprehension.
    qualified: str | None = getattr(code, "co_qualname", None)
    if qualified is None or "." not in name:
        fits = fnmatchcase(code.co_name, name.rpartition(".")[2])
    else:
        fits = fnmatchcase(qualified, name) or fnmatchcase(qualified, f"*.{name}")
    if not fits:
        return False
    if file is None:
        return is_user_code(code.co_filename)
    path = code.co_filename.replace(os.sep, "/")
    return fnmatchcase(path, file) or fnmatchcase(path, f"*/{file}")
