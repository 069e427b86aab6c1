from __future__ import annotations

import pytest

from prophase.errors import FormatError, MissingFileError
from prophase.trace.prices import Prices

TOML = 'currency = "EUR"\ncore_hour = 0.5\n[gpu_hour]\nV100 = 2\ndefault = 1.0\n'
CSV = "resource,gpu_type,price,currency\ngpu,V100,2,EUR\ngpu,,1.0,\ncore,,0.5,\n"


@pytest.mark.parametrize(("name", "text"), [("p.toml", TOML), ("p.csv", CSV)])
def test_both_forms_say_the_same(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = Prices.read(tmp_path / name)
    assert found == Prices({"V100": 2.0, "default": 1.0}, core_hour=0.5, currency="EUR")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.toml", "gpu_hours = 2", "Did you mean 'gpu_hour'"),
        ("p.toml", "core_hour = -1", "core_hour is -1"),
        ("p.toml", 'gpu_hour = "two"', "a number from 0 up"),
        ("p.toml", "core_hour = nan", "a number from 0 up"),
        ("p.toml", "core_hour = 0", "all 0"),
        ("p.toml", "core_hour = ", "is not TOML"),
        ("p.csv", "gpu,price\n", "lacks the column resource"),
        ("p.csv", "resource,price\ngpu,two\n", "line 2: price is 'two'"),
        ("p.csv", "resource,price\ndisk,1\n", "line 2: resource is 'disk'"),
        ("p.csv", "", "is not CSV"),
    ],
)
def test_a_price_file_that_is_wrong_says_where_and_why(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        Prices.read(tmp_path / name)


def test_a_missing_price_file_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"p\.toml"):
        Prices.read(tmp_path / "p.toml")
