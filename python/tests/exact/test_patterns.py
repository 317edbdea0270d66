"""Names of functions as they are typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stepscope._exact import patterns

sys.path.insert(0, str(Path(__file__).parent))
import corpus


@pytest.mark.parametrize("from_text", [False, True], ids=["as it is", "from the text, as before 3.11"])
def test_names(from_text, monkeypatch):
    if from_text or sys.version_info < (3, 11):

        def looked_up(code):
            return patterns._names_in(code.co_filename)[code.co_firstlineno, code.co_name]

        monkeypatch.setattr(patterns, "_qualified_name", looked_up)
    functions = {
        "fib": corpus.fib,
        "push": corpus.Stack.push,
        "size": corpus.Thing.size.fget,
        "made": corpus.Thing.made,
    }

    def found(*names):
        return {name for name, one in functions.items() if patterns.named(list(names))(one.__code__)}

    assert found("fib") == {"fib"}
    assert found("Stack.push") == found("Stack.*") == found("pus?") == found("corpus.py:push") == {"push"}
    assert found("Thing.*", "fib") == {"size", "made", "fib"}
    assert found("exact/corpus.py:Thing.size") == {"size"}
    assert found("*") == found("corpus.py:") == set(functions)
    assert found("Stack", "other.py:*", "corpus.fib", "thing.*") == set()


def test_bodies_lambdas_and_other_peoples_code_are_left_out():
    scope = compile("class A:\n    pass\nf = lambda: 0\n", corpus.__file__, "exec")
    bodies = [scope, *(constant for constant in scope.co_consts if hasattr(constant, "co_name"))]
    assert [body.co_name for body in bodies] == ["<module>", "A", "<lambda>"]
    accepts = patterns.named(["*"])
    assert [accepts(body) for body in bodies] == [False] * 3
    assert patterns.named(["<lambda>"])(bodies[2])
    assert not accepts(Path.exists.__code__) and not accepts(patterns.named.__code__)
    assert patterns.named([f"{Path(patterns.__file__).name}:named"])(patterns.named.__code__)


def test_a_text_that_is_not_python(tmp_path):
    (tmp_path / "x.py").write_text("def (")
    assert patterns._names_in(str(tmp_path / "x.py")) == {} == patterns._names_in(str(tmp_path / "none.py"))
