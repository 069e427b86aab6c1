from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.result.short_names import short, short_names

STATS = [
    f"NFCORE_RNASEQ:RNASEQ:{part}:BAM_STATS_SAMTOOLS:SAMTOOLS_{end}"
    for part in ("ALIGN_STAR:BAM_SORT_SAMTOOLS", "MARK_DUPLICATES_PICARD")
    for end in ("STATS", "FLAGSTAT", "IDXSTATS")
]


@pytest.mark.parametrize("most", [24, 34, 48])
def test_names_alike_at_both_ends_stay_apart(most: int) -> None:
    shown = short_names(STATS, most)
    assert len(set(shown)) == len(STATS)
    assert all(len(name) <= most for name in shown)
    assert all(name.endswith(long[-5:]) for name, long in zip(shown, STATS, strict=True))


def test_short_names_and_repeated_names_stay_as_they_are() -> None:
    assert short_names(["sort", "align", "sort"], 8) == ["sort", "align", "sort"]
    assert short("x" * 24, 24) == "x" * 24
    assert len(short("x" * 25, 24)) == 24


@given(st.lists(st.text("ab:_", max_size=40), max_size=12, unique=True), st.integers(8, 30))
def test_no_two_names_are_shown_alike(names: list[str], most: int) -> None:
    assert len(set(short_names(names, most))) == len(names)
