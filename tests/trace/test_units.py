from __future__ import annotations

import pytest

from prophase.errors import ParameterError
from prophase.trace.units import factor_to, parse_share


@pytest.mark.parametrize(
    ("to", "unit", "factor"),
    [
        ("s", "ms", 1e-3),
        ("s", "h", 3600.0),
        ("GiB", "MB", 1e6 / 2**30),
        ("GiB", "MiB", 1 / 1024),
        ("cores", "percent", 0.01),
        ("GPUs", "milligpus", 0.001),
        ("%", "fraction", 100.0),
        ("bytes", "KiB", 1024.0),
    ],
)
def test_units_of_sources_become_units_of_the_table(to, unit, factor):
    assert factor_to(to, unit) == pytest.approx(factor)


def test_an_unknown_unit_is_refused_with_those_known():
    with pytest.raises(ParameterError, match="Known units: bytes, kb, mb"):
        factor_to("GiB", "furlong")


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0.5", 0.5), ("100%", 1.0), ("0", 0.0)])
def test_shares_are_read_with_or_without_percent(text, share):
    assert parse_share(text, name="--max-bad") == pytest.approx(share)


@pytest.mark.parametrize("text", ["1.5", "120%", "-1%", "many", ""])
def test_a_share_outside_its_range_is_refused(text):
    with pytest.raises(ParameterError, match="--max-bad"):
        parse_share(text, name="--max-bad")
