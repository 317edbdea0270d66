"""Functions by name, as they are typed after ``stepscope run --lines``."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
from fnmatch import fnmatchcase
from functools import lru_cache
from types import CodeType
from typing import Callable

from .._user_code import is_user_code


def named(patterns: list[str]) -> Callable[[CodeType], bool]:
    """Whether a function is called so: ``train_step``, ``Model.forward``, ``Model.*``, ``loader.py:read``.

    Without a file only the user's own code is meant. A name without a dot is that of a function in any class.

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
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return False  # The body of a module or a class.
    if code.co_name.startswith("<") and not name.startswith("<"):
        return False  # A lambda or a comprehension.
    if "." in name:
        qualified = _qualified_name(code)
        if not fnmatchcase(qualified, name) and not fnmatchcase(qualified, f"*.{name}"):
            return False
    elif not fnmatchcase(code.co_name, name):
        return False
    if file is None:
        return is_user_code(code.co_filename)
    path = code.co_filename.replace(os.sep, "/")
    return fnmatchcase(path, file) or fnmatchcase(path, f"*/{file}")


def _qualified_name(code: CodeType) -> str:
    """Code knows the name of its class from Python 3.11 on; before, it is looked up in the text."""
    found: str | None = getattr(code, "co_qualname", None)
    if found is None:
        found = _names_in(code.co_filename).get((code.co_firstlineno, code.co_name), code.co_name)
    return found


@lru_cache(maxsize=1000)
def _names_in(file: str) -> dict[tuple[int, str], str]:
    """The qualified names of functions by first line and name."""
    found: dict[tuple[int, str], str] = {}
    try:
        waiting: list[tuple[ast.AST, str]] = [(ast.parse("".join(linecache.getlines(file))), "")]
    except (SyntaxError, ValueError, RecursionError):
        return found
    while waiting:
        node, before = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[first, node.name] = before + node.name
            before += f"{node.name}.<locals>."
        elif isinstance(node, ast.ClassDef):
            before += f"{node.name}."
        waiting += [(child, before) for child in ast.iter_child_nodes(node)]
    return found
