from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase import units
from prophase.errors import InputError, ParameterError
from prophase.units.parsers import factor_to

#: text -> seconds, where a bare number is seconds
DURATIONS = {
    "90": 90.0,
    "0": 0.0,
    "1.5": 1.5,
    "1e3": 1000.0,
    "90s": 90.0,
    "30m": 1800.0,
    "30min": 1800.0,
    "45 min": 2700.0,
    "45 minutes": 2700.0,
    "1.5h": 5400.0,
    "1h30m": 5400.0,
    "1h 30 min": 5400.0,
    "1H30M": 5400.0,
    "2d": 172_800.0,
    "1d12h": 129_600.0,
    "500ms": 0.5,
    "250us": 0.00025,
    "90:00": 5400.0,
    "01:02.345": 62.345,
    "1:30:00": 5400.0,
    "00:07:00": 420.0,
    "1-0": 86_400.0,
    "1-02": 93_600.0,
    "1-02:30": 95_400.0,
    "1-02:00:00": 93_600.0,
    "5-00:00:26": 432_026.0,
    " 10 s ": 10.0,
}
NO_DURATIONS = [
    "", "soon", "30x", "-5", "-1h", "1h30", "h", "1:2:3:4", "1-", "-1:00", "nan", "inf", "1e999s",
    "1-2.5", "1,5h", "1 h - 2 h",
]  # fmt: skip
#: text -> GiB at our own doors
SIZES = {
    "4": 4.0,
    "4G": 4.0,
    "4g": 4.0,
    "4Gi": 4.0,
    "4GiB": 4.0,
    "4 GB": 4.0,
    "4096M": 4.0,
    "4000M": 4000 / 1024,
    "512MiB": 0.5,
    "524288K": 0.5,
    "1T": 1024.0,
    "1.5TB": 1536.0,
    "1P": 2.0**20,
    "1073741824B": 1.0,
    "1073741824 bytes": 1.0,
    ".5G": 0.5,
}


@pytest.mark.parametrize(("text", "seconds"), DURATIONS.items())
def test_a_duration_is_read_in_every_usual_form(text, seconds):
    assert units.parse_duration(text, bare="s") == pytest.approx(seconds)


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_what_is_not_a_duration_is_refused_with_the_place_and_examples(text):
    with pytest.raises(ParameterError, match=r"--limit: '.*' is not a duration. Write 90s, 30m"):
        units.parse_duration(text, bare="s", where="--limit")


def test_the_unit_of_a_bare_number_is_what_the_caller_says():
    found = [units.parse_duration("30", bare=unit) for unit in ("ms", "s", "min", "h", "d")]
    assert found == [0.03, 30.0, 1800.0, 108_000.0, 2_592_000.0]


def test_numbers_are_read_like_their_text_but_true_is_no_number():
    assert units.parse_duration(90, bare="s") == units.parse_duration(90.0, bare="s") == 90.0
    assert units.parse_memory(2, g_is="binary", bare="GiB") == 2.0
    assert units.parse_share(0.5) == units.parse_quantity(0.5) == 0.5
    for read in (
        lambda: units.parse_duration(True, bare="s"),
        lambda: units.parse_memory(True, g_is="binary", bare="GiB"),
        lambda: units.parse_quantity(True),
        lambda: units.parse_share(True),
    ):
        with pytest.raises(ParameterError, match="True"):
            read()


def test_a_text_from_a_file_is_refused_with_the_error_of_that_file():
    with pytest.raises(InputError, match=r"^job.yaml: timeout: 'soon' is not a duration"):
        units.parse_duration("soon", bare="s", where="job.yaml: timeout", error=InputError)


@pytest.mark.parametrize(("text", "gib"), SIZES.items())
def test_memory_is_binary_at_our_own_doors(text, gib):
    assert units.parse_memory(text, g_is="binary", bare="GiB") == pytest.approx(gib)


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("4G", 4e9), ("4GB", 4e9), ("512M", 512e6), ("8k", 8e3), ("4Gi", 2**32), ("4GiB", 2**32),
     ("100", 100)],
)  # fmt: skip
def test_letters_alone_are_decimal_where_the_source_says_so(text, bytes_):
    found = units.parse_memory(text, g_is="decimal", bare="bytes")
    assert found == pytest.approx(bytes_ / 2**30)


@pytest.mark.parametrize("text", ["", "many", "4 gigs", "-4G", "4iB", "4Gib/s", "nan", "1e999"])
def test_what_is_not_memory_is_refused(text):
    with pytest.raises(ParameterError, match=r"--memory: '.*' is not an amount of memory. Write"):
        units.parse_memory(text, g_is="binary", bare="GiB", where="--memory")


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2.0), ("500m", 0.5), ("1.5", 1.5), ("100n", 1e-7), ("3k", 3e3), ("1M", 1e6),
     ("1Mi", 2**20), ("107374182400m", 107374182.4), ("1e3", 1e3), ("1E", 1e18), ("50%", 0.5)],
)  # fmt: skip
def test_a_quantity_of_kubernetes_minds_the_case_of_its_suffix(text, value):
    assert units.parse_quantity(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["two", "16GB", "16gi", "1K", "", "1 2"])
def test_what_kubernetes_would_not_take_is_no_quantity(text):
    with pytest.raises(ParameterError, match=r"is not a quantity\. Write 2, 0\.5"):
        units.parse_quantity(text)


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0.5", 0.5), ("100%", 1.0), ("0", 0.0)])
def test_shares_are_read_with_or_without_percent(text, share):
    assert units.parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["1.5", "120%", "-1%", "many", ""])
def test_a_share_outside_its_range_is_refused(text):
    with pytest.raises(ParameterError, match="--max-bad: "):
        units.parse_share(text, where="--max-bad")


def test_a_share_may_have_to_lie_below_one():
    assert units.parse_share("99%", below_one=True) == 0.99
    with pytest.raises(ParameterError, match="below 100%"):
        units.parse_share("1", below_one=True)


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


@given(st.text(max_size=20))
def test_any_text_is_read_as_a_finite_amount_or_refused_in_words(text):
    for read in (
        lambda: units.parse_duration(text, bare="s"),
        lambda: units.parse_memory(text, g_is="binary", bare="GiB"),
        lambda: abs(units.parse_quantity(text)),
        lambda: units.parse_share(text),
    ):
        with contextlib.suppress(ParameterError):
            assert 0 <= read() < math.inf


@given(st.integers(0, 10**9), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_every_form_of_the_same_duration_gives_the_same_seconds(days, hours, minutes, seconds):
    forms = [
        f"{days}-{hours}:{minutes:02d}:{seconds:02d}",
        f"{24 * days + hours}:{minutes:02d}:{seconds:02d}",
        f"{days}d{hours}h{minutes}m{seconds}s",
        f"{((days * 24 + hours) * 60 + minutes) * 60 + seconds}",
    ]
    assert len({units.parse_duration(form, bare="s") for form in forms}) == 1
