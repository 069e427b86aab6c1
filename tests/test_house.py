"""The shape of the code: no import cycles, and measures that may fall but not rise.

``python tools/house.py --all`` prints them with their places.
"""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from tools.house import House, cycles, is_interval, measure

SOURCE = Path(__file__).parents[1] / "src" / "prophase"


@pytest.fixture(scope="module")
def house() -> House:
    return measure()


#: what each measure may be at most; lower one when the code has got below it
CEILINGS = {
    "lines": 163_500,
    "files": 1_051,
    "public_names": 160,
    "any_per_1000_lines": 6.0,
}
MOST_PARAMETERS = 12
#: `stats.Estimate`, and the recommendation's share of OOM kills
MOST_INTERVAL_TYPES = 1


@pytest.mark.parametrize("measured", CEILINGS)
def test_the_house_does_not_grow(measured: str, house: House) -> None:
    assert getattr(house, measured) <= CEILINGS[measured]


def test_no_function_has_too_many_parameters(house: House) -> None:
    most, where = house.parameters[0]
    assert most <= MOST_PARAMETERS, where


def test_no_further_class_holds_an_interval_of_its_own(house: House) -> None:
    assert len(house.interval_types) <= MOST_INTERVAL_TYPES, house.interval_types


@pytest.mark.parametrize(
    ("fields", "interval"),
    [
        ("value low high", True),
        ("wait_s wait_low_s wait_high_s", True),
        ("covered_lower covered_upper", True),
        ("low high", False),
        ("value_low other_high", False),
        ("wait_low", False),
    ],
)
def test_both_ends_of_anything_make_a_class_an_interval(fields: str, interval: bool) -> None:
    made = ast.parse("class Found:\n" + "".join(f"    {name}: float\n" for name in fields.split()))
    assert is_interval(made.body[0]) is interval


def test_no_function_is_too_complex(house: House) -> None:
    assert not house.complex_functions


def test_no_modules_import_each_other_in_a_circle(house: House) -> None:
    """Imports inside functions and for type checking count, too."""
    assert not house.cycles


def test_a_cycle_is_found_with_all_its_modules() -> None:
    imported = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert cycles(imported) == [("a", "b", "c"), ("d", "e")]
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_a_class_name_means_one_thing() -> None:
    names = Counter(
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.M)
    )
    assert [name for name, count in names.items() if count > 1] == []
