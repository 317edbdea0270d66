"""Being told of an import, with the import itself unchanged."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types

import pytest

from stepscope._launch.late_import import ImportWatch

NAME = "stepscope_test_late_module"


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / f"{NAME}.py").write_text("import sys\nVALUE = 1\nDURING = type(__loader__).__name__\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    yield NAME
    sys.modules.pop(NAME, None)


@pytest.fixture
def watch():
    made = []

    def make(name, imported):
        made.append(ImportWatch(name, imported))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


def test_it_is_told_once_after_the_module_has_run(module, watch):
    seen = []
    one = watch(module, lambda found: seen.append((found.__name__, found.VALUE)))
    assert one in sys.meta_path and seen == []
    imported = importlib.import_module(module)
    assert seen == [(module, 1)]
    assert one not in sys.meta_path
    assert imported.DURING == "SourceFileLoader" == type(imported.__loader__).__name__
    assert "exec_module" not in vars(imported.__loader__)
    importlib.reload(imported)
    assert len(seen) == 1


def test_a_module_that_is_there_already_is_told_at_once(watch):
    seen = []
    watch("json", seen.append)
    assert [found.__name__ for found in seen] == ["json"]


def test_looking_for_the_module_does_not_import_it(module, watch):
    seen = []
    watch(module, seen.append)
    assert importlib.util.find_spec(module) is not None
    assert seen == [] and module not in sys.modules
    importlib.import_module(module)
    assert len(seen) == 1


def test_a_module_that_is_not_there_fails_as_before(watch):
    watch("stepscope_no_such_module", lambda found: pytest.fail("told of nothing"))
    with pytest.raises(ModuleNotFoundError, match="stepscope_no_such_module"):
        importlib.import_module("stepscope_no_such_module")


def test_a_module_that_fails_is_not_told(module, watch, tmp_path):
    (tmp_path / f"{NAME}.py").write_text("raise RuntimeError('broken')\n")
    importlib.invalidate_caches()
    seen = []
    watch(module, seen.append)
    with pytest.raises(RuntimeError, match="broken"):
        importlib.import_module(module)
    assert seen == []
    (tmp_path / f"{NAME}.py").write_text("VALUE = 22\n")
    importlib.invalidate_caches()
    importlib.import_module(module)
    assert [type(found) for found in seen] == [types.ModuleType]


def test_built_in_loaders_are_not_touched(watch, monkeypatch):
    loader = sys.modules["marshal"].__spec__.loader
    before = vars(loader)["exec_module"]
    monkeypatch.delitem(sys.modules, "marshal")
    watch("marshal", lambda found: None)
    importlib.import_module("marshal")
    assert vars(loader)["exec_module"] is before
