"""The value of what could not be measured must not break the program that looks at it."""

from __future__ import annotations

import copy
import json
import math
import pickle

import pytest

from stepscope.performance import Unknown, is_unknown


@pytest.mark.parametrize("spec", ["", ".1f", ".0%", ",", ",.2f", "e", "g", "d", "+.3f", "z.1f", "08.2f"])
def test_every_format_prints_unknown(spec: str) -> None:
    assert format(Unknown(), spec).strip() == "unknown"


def test_the_width_is_kept_so_that_tables_stay_in_line() -> None:
    assert f"[{Unknown():>10.1f}]" == "[   unknown]"
    assert f"[{Unknown():<10}]" == "[unknown   ]"
    assert f"[{Unknown():*^11.2f}]" == "[**unknown**]"
    assert f"[{Unknown():10.1f}]" == "[   unknown]"


def test_every_comparison_is_false() -> None:
    value = Unknown("no sensor")
    assert not value < 70 and not value > 70 and not value <= 70 and not value >= 70 and not value == 70
    assert not value
    assert max({"a": 1.0, "b": 2.0}, key={"a": 1.0, "b": 2.0}.get) == "b"


def test_what_is_worked_out_from_it_is_unknown_for_the_same_reason() -> None:
    value = Unknown("no sensor")
    for result in (value + 1, 1 + value, value * 2.0, 2 / value, value / 2, -value, abs(value), 3 - value, value**2):
        assert is_unknown(result)
        assert result.reason == "no sensor"
    assert is_unknown(round(value, 2)) and is_unknown(sum([1.0, value]))


def test_it_is_no_whole_number() -> None:
    with pytest.raises(ValueError, match="no sensor"):
        int(Unknown("no sensor"))


def test_it_survives_copies_and_pickles() -> None:
    value = Unknown("no sensor")
    for other in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert is_unknown(other) and other.reason == "no sensor"


def test_other_libraries_take_it_for_a_nan() -> None:
    assert math.isnan(Unknown())
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"a": {"time": 1.0, "flops": Unknown()}, "b": {"time": 2.0, "flops": 5.0}}).T
    assert frame["flops"].isna().tolist() == [True, False]
    assert frame["time"].sum() == 3.0


def test_known_zero_is_not_unknown() -> None:
    assert not is_unknown(0.0) and not is_unknown(float("nan")) and is_unknown(None)
    assert json.dumps({"x": 0.0}) == '{"x": 0.0}'
