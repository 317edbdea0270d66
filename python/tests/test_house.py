"""How the package is cut: imports run one way, and what looks public is public."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path

import stepscope

ROOT = Path(stepscope.__file__).parent

FACADES = {"stepscope.config", "stepscope.performance", "stepscope.production", "stepscope.profiler"}
"""Packages whose ``__all__`` is what users may import from them; the modules inside are their own business."""

PUBLIC = {
    "stepscope",
    "stepscope.config",
    "stepscope.errors",
    "stepscope.integrations",
    "stepscope.integrations.ipython",
    "stepscope.integrations.keras",
    "stepscope.integrations.lightning",
    "stepscope.integrations.pytest_plugin",
    "stepscope.integrations.transformers",
    "stepscope.memory",
    "stepscope.performance",
    "stepscope.production",
    "stepscope.profiler",
    "stepscope.table",
    "stepscope.tensorflow",
    "stepscope.trace",
}
"""Modules users may import. Everything else has an underscore in its path, or is inside a facade."""


def modules() -> dict[str, Path]:
    """All modules of the package, by their dotted names."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("stepscope", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """A module's text as a tree; parsing all of them takes a while."""
    return ast.parse(path.read_text(encoding="utf-8"))


def targets(node: ast.stmt, module: str, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that one statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = module.split(".") if known[module].name == "__init__.py" else module.split(".")[:-1]
            base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            full = f"{base}.{alias.name}"
            # `from . import name` is the module of that name; only if there is none it is something of the package.
            target = full if full in known or full == "stepscope._native" else base
            if target in known:
                yield target


def arrows() -> dict[str, set[str]]:
    """Which module imports which, when it is imported or later."""
    known = modules()
    found: dict[str, set[str]] = {}
    for module, path in known.items():
        statements = (node for node in ast.walk(tree_of(path)) if isinstance(node, (ast.Import, ast.ImportFrom)))
        found[module] = {target for node in statements for target in targets(node, module, known)} - {module}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def test_imports_run_one_way() -> None:
    assert circles(arrows()) == []


def folder_of(module: str) -> str:
    """The folder that a module is in; none for those beside the folders."""
    first = module.split(".")[1] if "." in module else ""
    return first if (ROOT / first).is_dir() else ""


def test_folders_import_along_the_arrows_of_the_architecture() -> None:
    used: dict[str, set[str]] = {}
    for module, imported in arrows().items():
        home = folder_of(module)
        used.setdefault(home, set()).update(folder_of(each) for each in imported if folder_of(each) not in ("", home))
    used.pop("")
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("| folder of Python |")[1].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    allowed = {row[0].strip("`/"): set() if row[2] == "nothing" else set(row[2].split(", ")) for row in rows}
    assert allowed == used
    above: set[str] = set()
    for folder, may_use in allowed.items():
        assert may_use <= above, f"{folder} uses what is below it"
        above.add(folder)


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_what_looks_public_is_public() -> None:
    looks_public = {name for name in modules() if not any(part.startswith("_") for part in name.split("."))}
    inside = {name for name in looks_public if any(name.startswith(f"{facade}.") for facade in FACADES)}
    assert looks_public - inside == PUBLIC


def test_facades_say_what_they_offer() -> None:
    for facade in FACADES:
        package = importlib.import_module(facade)
        assert package.__all__ == sorted(package.__all__, key=lambda name: (name[0].islower(), name))
        assert all(hasattr(package, name) for name in package.__all__)


def test_nothing_imports_the_package_by_its_top() -> None:
    """`from stepscope import …` inside the package would run the top while the top runs."""
    assert [module for module, found in arrows().items() if "stepscope" in found] == []


def calls_of(name: str) -> Iterator[tuple[str, ast.Call]]:
    """The places that call something of this name."""
    for module, path in modules().items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield f"{module}:{node.lineno}", node


def beginning(text: ast.expr) -> str:
    """The words that a literal or a formatted text begins with; nothing where a value stands there."""
    if isinstance(text, ast.JoinedStr) and text.values:
        text = text.values[0]
    return str(text.value) if isinstance(text, ast.Constant) else ""


def test_an_error_ends_in_what_to_do_next() -> None:
    assert [place for place, call in calls_of("StepscopeError") if len(call.args) + len(call.keywords) < 2] == []


def test_errors_and_warnings_have_one_voice() -> None:
    """As the program's: no capital at the beginning (but for names), no full stop at the end."""
    names = ("PyTorch", "Lightning", "Keras", "JAX", "TensorFlow")
    for place, call in [*calls_of("StepscopeError"), *calls_of("warn_user")]:
        texts = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "hint")]
        for text in texts:
            start = beginning(text)
            assert not start[:1].isupper() or start.startswith(names), f"{place}: {start}"
            last = text.values[-1] if isinstance(text, ast.JoinedStr) else text
            if isinstance(last, ast.Constant) and isinstance(last.value, str):
                assert not last.value.endswith(".") or last.value.endswith("..."), f"{place}: {last.value}"
