"""From files and mappings to settings: kinds of source, the run folder, and errors that name every problem."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

import pytest

from stepscope.config import configure
from stepscope.errors import StepscopeError

YAML = """\
model: !mine {width: 3}
log_dir: runs/one
training:
  epochs: 3
profiling:
  wait: 0
  active: 4
  unit: epochs
  record_shapes: true
  activities: [cpu]
  monitor: 0.5
"""


@pytest.fixture
def without_yaml(monkeypatch):
    """As on a machine without PyYAML."""
    monkeypatch.setitem(sys.modules, "yaml", None)


def test_a_yaml_file(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    file = tmp_path / "run.yaml"
    file.write_text(YAML)
    profiling = configure(file)
    settings = profiling.settings
    assert profiling.enabled
    assert (settings.wait, settings.warmup, settings.active, settings.unit) == (0, 1, 4, "epochs")
    assert settings.record_shapes is True and settings.with_stack is False
    assert settings.activities == ["cpu"] and settings.monitor == 0.5
    assert profiling.output == Path("runs/one/profiler_traces")


def test_all_problems_at_once_with_their_lines(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    file = tmp_path / "run.yaml"
    file.write_text("lr: 1\nprofiling:\n  actve: 2\n  wait: -1\n  unit: batches\n  activities: [cpu, gpu]\n  zzz: 1\n")
    with pytest.raises(StepscopeError) as caught:
        configure(str(file), ["--profiling.gzip=maybe"])
    told = str(caught.value)
    assert "6 problems" in told
    assert f"{file}:3: there is no setting 'actve'; did you mean 'active'?" in told
    assert f"{file}:4: wait must be a whole number, at least 0; it is -1" in told
    assert f"{file}:5: unit must be steps or epochs" in told
    assert f"{file}:6: activities must be" in told and "'gpu'" in told
    assert f"{file}:7: there is no setting 'zzz'\n" in told
    assert "--profiling.gzip: gzip must be true or false" in told
    assert "skip_first" in caught.value.hint


def test_yaml_without_pyyaml_says_what_to_install(tmp_path, without_yaml):
    file = tmp_path / "run.yaml"
    file.write_text(YAML)
    with pytest.raises(StepscopeError, match="PyYAML is not installed") as caught:
        configure(file)
    assert "pip install 'stepscope[yaml]'" in caught.value.hint
    other = tmp_path / "run.json"
    other.write_text('{"profiling": {"active": 2}}')
    assert configure(other).settings.active == 2


def test_lines_of_merged_and_nested_keys(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    file = tmp_path / "run.yaml"
    file.write_text("base: &base\n  wait: -1\nours:\n  profiling:\n    <<: *base\n    active: x\n")
    with pytest.raises(StepscopeError) as caught:
        configure(file, section="ours.profiling")
    assert f"{file}:2: wait must be" in str(caught.value) and f"{file}:6: active must be" in str(caught.value)


def test_aliases_cost_no_more_than_the_file(tmp_path):
    """Each level names the one below it twenty times: written out it would be 20 ** 9 keys."""
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    lines = ["l0: &l0 {x: 1}"]
    for level in range(1, 10):
        inside = ", ".join(f"k{n}: *l{level - 1}" for n in range(20))
        lines.append(f"l{level}: &l{level} {{{inside}}}")
    file = tmp_path / "run.yaml"
    file.write_text(
        "\n".join([*lines, "profiling:", "  active: *l9", "  wait: *l9", "  activities: [*l9]", "  unit: *l9"])
    )
    with pytest.raises(StepscopeError) as caught:
        configure(file)
    assert f"{file}:12: active must be a whole number" in str(caught.value)
    assert len(str(caught.value)) < 4000


def test_json_and_its_lines(tmp_path):
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"output_dir": "out", "profiling": {"active": 2, "wiat": 1}}, indent=2))
    with pytest.raises(StepscopeError, match=r"run\.json:5: there is no setting 'wiat'; did you mean 'wait'"):
        configure(file)
    file.write_text(json.dumps({"output_dir": "out", "profiling": {"active": 2}}))
    assert configure(file).settings.active == 2
    assert configure(file).output == Path("out/profiler_traces")
    file.write_text('{"profiling": {"active": 2,}\n}')
    with pytest.raises(StepscopeError, match=r"run\.json:1: invalid JSON"):
        configure(file)


def test_toml(tmp_path):
    if sys.version_info < (3, 11):
        pytest.importorskip("tomli", reason="tomli is not installed")
    file = tmp_path / "run.toml"
    file.write_text('lr = 1\n\n[profiling]\nactive = 2\nactivities = ["cpu"]\nwith_stack = true\n')
    assert configure(file).settings.with_stack is True
    file.write_text("lr = 1\n\n[profiling]\nactive = true\n")
    with pytest.raises(StepscopeError, match=r"run\.toml:4: active must be a whole number"):
        configure(file)


def test_broken_files_are_told_with_a_line(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    file = tmp_path / "run.yaml"
    file.write_text("a: 1\nb: [1, 2\nprofiling:\n  wait: 1\n")
    with pytest.raises(StepscopeError, match=r"run\.yaml:\d+: invalid YAML"):
        configure(file)
    with pytest.raises(StepscopeError, match="no such configuration file"):
        configure(tmp_path / "none.yaml")
    other = tmp_path / "run.ini"
    other.write_text("")
    with pytest.raises(StepscopeError, match="run.ini is not a supported configuration file"):
        configure(other)


@pytest.mark.parametrize(
    "text",
    ["", "lr: 1\n", "profiling:\n", "profiling: null\n", "profiling: false\n", "profiling:\n  enabled: no\n"],
)
def test_off_without_a_section(tmp_path, text):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    file = tmp_path / "run.yaml"
    file.write_text(text)
    assert not configure(file)


@pytest.mark.parametrize("section", [{}, True, {"wait": None}])
def test_on_with_defaults(section):
    profiling = configure({"profiling": section})
    settings = profiling.settings
    assert profiling
    assert (settings.wait, settings.warmup, settings.active, settings.repeat) == (1, 1, 3, 1)


def test_enabled_false_holds_against_other_overrides():
    config = {"profiling": {"enabled": False}}
    assert not configure(config, ["--profiling.active", "2"])
    assert configure(config, ["--profiling.enabled", "--profiling.active", "2"])


def test_objects_with_attributes():
    @dataclasses.dataclass
    class Section:
        active: int = 2

    @dataclasses.dataclass
    class Config:
        profiling: Section = dataclasses.field(default_factory=Section)
        run_dir: str = "runs/two"

    for config in (Config(), argparse.Namespace(profiling=argparse.Namespace(active=2), run_dir="runs/two")):
        profiling = configure(config)
        assert profiling.settings.active == 2
        assert profiling.output == Path("runs/two/profiler_traces")


def test_an_omegaconf_config_with_its_interpolations():
    omegaconf = pytest.importorskip("omegaconf", reason="OmegaConf is not installed")
    config = omegaconf.OmegaConf.create(
        {"name": "x", "profiling": {"activities": ["cpu"], "output": "runs/${name}", "active": 2}}
    )
    profiling = configure(config, ["profiling.wait=0"])
    assert profiling.output == Path("runs/x")
    assert (profiling.settings.activities, profiling.settings.active, profiling.settings.wait) == (["cpu"], 2, 0)


def test_what_cannot_be_a_configuration():
    with pytest.raises(StepscopeError, match="cannot be a int"):
        configure(3)
    with pytest.raises(StepscopeError, match="profiling must hold settings"):
        configure({"profiling": [1]})


def test_the_run_folder_rule(tmp_path):
    config = {"log_dir": "c", "output_dir": "b", "run_dir": "a", "profiling": {}}
    assert configure(config, run_dir=tmp_path).output == tmp_path / "profiler_traces"
    for folder, key in (("a", "run_dir"), ("b", "output_dir"), ("c", "log_dir")):
        assert configure(config).output == Path(folder) / "profiler_traces"
        del config[key]
    assert configure(config).output == Path("profiler_traces")
    assert configure({"profiling": {"output": "mine"}}, run_dir=tmp_path).output == Path("mine")


def test_a_section_of_another_name_and_a_nested_one():
    config = {"trainer": {"profile": {"active": 2}}}
    profiling = configure(config, ["--trainer.profile.wait", "0", "--profiling.wait", "5"], section="trainer.profile")
    assert (profiling.settings.active, profiling.settings.wait) == (2, 0)
    assert profiling.remaining == ["--profiling.wait", "5"]


def test_an_unresolved_interpolation_is_not_taken_for_a_folder():
    with pytest.raises(StepscopeError, match="OmegaConf"):
        configure({"profiling": {"output": "${hydra.run.dir}/traces"}})


@pytest.mark.parametrize("word", ["true", "Yes", "ON", "1", 1, True])
def test_words_for_true(word):
    assert configure({"profiling": {"with_stack": word}}).settings.with_stack is True


@pytest.mark.parametrize("word", ["false", "No", "off", "0", 0, False])
def test_words_for_false(word):
    assert configure({"profiling": {"with_stack": word}}).settings.with_stack is False


@pytest.mark.parametrize("value", [True, 2.5, "two", "", [2], 0])
def test_active_must_be_a_whole_number_above_zero(value):
    with pytest.raises(StepscopeError, match="active must be a whole number, at least 1"):
        configure({"profiling": {"active": value}})
