"""The small YAML reader: equal to PyYAML on what it reads, and a refusal with the line on what it does not."""

from __future__ import annotations

import textwrap

import pytest

from stepscope.config import simple_yaml
from stepscope.errors import StepscopeError

READ = [
    "profiling:\n  wait: 1\n  active: 3   # steps\n",
    "# head\n---\nprofiling:\n    with_stack: yes\n    gzip: Off\n    a: TRUE\n",
    "profiling: {}\n",
    "profiling:\n",
    "profiling: ~\n",
    "profiling: false\n",
    "profiling:\n  activities: [cpu, 'cuda', \"a,b\", 3,]\n",
    "profiling:\n  activities:\n  - cpu\n  - cuda # both\n  output: runs/a # b\n",
    "profiling:\n  activities:\n    - cpu\n    -   'it''s # not'\n",
    "profiling:\n  output: \"a\\tb # c\"\n  'quoted key': it's\n  url: http://x:80/#frag\n",
    "profiling:\n  a:\n    b:\n      c: 1.5\n      d: -2\n    e: .5\n  f: 1e3\n  g: 1.0e+3\n",
    "profiling:\n  a: 1_000\n  b: +4\n  c: 0\n  d: nope\n  e: null\n  f: Null\n  g: yEs\n",
    "lr: 0.1\n\nprofiling:\n\n  wait: 1\n\n  # between\n  warmup: 2\nafter: 3\n",
    "\ufeffprofiling:\n  wait: 1\n",
    "'profiling':\n  wait: 1\r\n  active: 2\r\n",
    "profiling:\n  output: a-b:c\n  x: a b  c\n  y: '#'\n  z: a#b\n",
]


@pytest.mark.parametrize("text", READ)
def test_what_is_read_equals_pyyaml(text):
    yaml = pytest.importorskip("yaml")
    whole = yaml.safe_load(text.lstrip("\ufeff"))
    assert simple_yaml.read(text, ["profiling"], "f")[0] == {"profiling": whole["profiling"]}


REFUSED = [
    ("profiling:\n  a: &x 1\n", 2),
    ("profiling:\n  a: 1\n  b: *x\n", 3),
    ("profiling:\n  <<: {a: 1}\n", 2),
    ("profiling:\n  a: !tag 1\n", 2),
    ("profiling:\n  a: |\n    text\n", 3),
    ("profiling:\n  a: {b: 1}\n", 2),
    ("profiling:\n  a: one\n    two\n", 3),
    ("profiling:\n  a: 1\n b: 2\n", 3),
    ("profiling:\n   a: 1\n  b: 2\n", 3),
    ("profiling:\n\ta: 1\n", 2),
    ("profiling:\n  a: 1\n  a: 2\n", 3),
    ("profiling:\n  a: 1\nprofiling:\n  a: 2\n", 3),
    ("profiling:\n  a: 'open\n", 2),
    ("profiling:\n  a: [1, 2\n", 2),
    ("profiling:\n  a:\n    - b: 1\n", 3),
    ("profiling:\n  just text\n", 2),
    ("profiling: {wait: 1,\n  active: 2}\n", 1),
    ("a: 1\n---\nprofiling: 1\n", 2),
    ("- a\n- b\n", 1),
    ("profiling:\n  ? a\n  : b\n", 2),
    ("profiling:\n  a: b: c\n", 2),
    ('profiling:\n  a: "\\x41"\n', 2),
]


@pytest.mark.parametrize("text, line", REFUSED)
def test_what_is_not_understood_is_refused_with_its_line(text, line):
    with pytest.raises(StepscopeError) as caught:
        simple_yaml.read(text, ["profiling"], "run.yaml")
    assert str(caught.value).startswith(f"run.yaml:{line}: "), caught.value
    assert "PyYAML" in caught.value.hint


def test_sections_nobody_asks_for_may_hold_anything():
    text = textwrap.dedent(
        """\
        base: &base {a: 1}
        model: !mine
          <<: *base
          text: |
            profiling:
              active: 99
        list:
        - a: 1
          b: [x,
              y]
        profiling:
          active: 2
        """
    )
    values, lines = simple_yaml.read(text, ["profiling"], "run.yaml")
    assert values == {"profiling": {"active": 2}}
    assert lines == {("profiling",): 11, ("profiling", "active"): 12}
