"""The package as a whole: what it exports, how it is typed, what importing it costs."""

from __future__ import annotations

import ast
import inspect
import pathlib
import subprocess
import sys

import pytest

import stepscope
from stepscope import _native

PACKAGE = pathlib.Path(stepscope.__file__).parent


def test_every_name_is_there():
    for name in stepscope.__all__:
        assert getattr(stepscope, name) is not None
    with pytest.raises(AttributeError):
        stepscope.no_such_name


def test_a_star_leaves_pythons_own_names_alone():
    import builtins

    names: dict = {}
    exec("from stepscope import *", names)
    assert "profile" in names
    assert not {name for name in names if not name.startswith("__")} & set(vars(builtins))
    assert callable(stepscope.open) and "open" in dir(stepscope)


def test_a_mistyped_name_is_told_what_was_meant():
    with pytest.raises(AttributeError, match="has no attribute 'opne'. Did you mean 'open'?"):
        stepscope.opne
    with pytest.raises(ImportError, match="PerformanceProfiller"):
        from stepscope import PerformanceProfiller  # noqa: F401


def test_a_type_checker_sees_the_names_and_nothing_that_answers_to_any():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    seen, hidden = set(), set()
    for node in tree.body:
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            assert test in ("TYPE_CHECKING", "not TYPE_CHECKING")
            if test == "TYPE_CHECKING":
                seen |= {alias.asname or alias.name for line in node.body for alias in line.names}
            else:
                hidden |= {line.name for line in node.body}
        elif isinstance(node, ast.FunctionDef):
            assert node.name != "__getattr__"
    assert hidden == {"__getattr__"} and seen == set(stepscope._WHERE)


def test_everything_of_a_monitor_says_what_it_is():
    for name in vars(stepscope.Monitor):
        if not name.startswith("__"):
            assert inspect.getdoc(getattr(stepscope.Monitor, name)), name


def test_importing_takes_nothing_along():
    code = (
        "import sys, stepscope\n"
        "heavy = {'torch', 'numpy', 'jax', 'yaml', 'pandas', 'IPython', 'asyncio', 'json'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, check=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == b"[]"


def stubs() -> dict:
    tree = ast.parse((PACKAGE / "_native.pyi").read_text())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign) and not node.target.id.startswith("__"):
            found[node.target.id] = None
        elif isinstance(node, ast.ClassDef):
            members = {
                n.name if isinstance(n, ast.FunctionDef) else n.target.id
                for n in node.body
                if isinstance(n, (ast.FunctionDef, ast.AnnAssign))
            }
            found[node.name] = members
    return found


def test_the_stubs_are_the_module():
    written = stubs()
    public = {n for n in dir(_native) if not n.startswith("__") and not inspect.ismodule(getattr(_native, n))}
    assert set(written) == public
    for name, members in written.items():
        if members is not None:
            real = {n for n in vars(getattr(_native, name)) if not n.startswith("__")}
            named = {n for n in members if not n.startswith("__")}
            assert named == real, name


def test_the_program_runs_and_its_exit_codes_are_kept(example):
    run = lambda *words: subprocess.run([sys.executable, "-m", "stepscope", *words], capture_output=True)
    assert run("--version").returncode == 0
    assert b"Bound by the host" in run("summary", str(example)).stdout
    missing = run("ops", "no/such/file.json")
    assert missing.returncode == 2 and b"hint:" in missing.stderr
    assert run("findings", "--fail-on", "low", str(example)).returncode == 1


def test_the_doctor_lists_what_is_missing():
    table = stepscope.doctor()
    assert {"area", "what", "state", "detail", "fix"} <= set(table.columns)
    assert "ready" in table.column("state")
