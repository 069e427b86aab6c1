from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophase.errors import ModelFileError
from prophase.profile.predict.memory import RECENT, SAMPLED, Memory, ranked

rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 9)), min_size=1, max_size=60
)
asked = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 32)), min_size=1, max_size=10)


def columns(table: list[tuple[int, ...]]) -> list[np.ndarray]:
    keys, *rest = np.array(table, dtype=float).T
    return [keys.astype(np.uint64), *rest]


@settings(max_examples=150)
@given(rows, asked, st.integers(1, 59))
def test_a_memory_recalls_what_a_plain_search_finds(
    known: list[tuple[int, ...]], questions: list[tuple[int, ...]], first: int
) -> None:
    keys, ends, values = columns(known)
    memory = Memory()
    memory.add(keys[:first], ends[:first], values[:first])
    memory._long, memory._short = memory._short, memory._long
    if first < len(keys):
        memory.add(keys[first:], ends[first:], values[first:])
    wanted, moments = columns(questions)
    found = memory.recall(wanted, moments)
    middle, count = memory.medians(wanted, moments)
    for row, (key, moment) in enumerate(questions):
        before = [(end, value) for k, end, value in known if k == key and end < moment]
        before.sort(key=lambda pair: pair[0], reverse=True)
        assert found.count[row] == count[row] == len(before)
        if before:
            assert found.newest[row] == before[0][0]
            outcomes = [value for _, value in before]
            assert middle[row] == np.median(outcomes)
            assert np.isclose(found.mean[row], np.mean(outcomes))
            if len(before) <= RECENT:
                assert found.middle()[row] == np.median(outcomes)
                assert np.isclose(found.spread()[row], np.std(outcomes))
        else:
            assert np.isnan(middle[row])
            assert np.isnan(found.middle()[row])
            assert np.isnan(found.newest[row])


def test_the_median_of_a_long_past_is_that_of_some_of_it() -> None:
    draw = np.random.default_rng(1)
    memory = Memory()
    keys = draw.integers(0, 2, 40_000).astype(np.uint64)
    values = draw.normal(size=40_000)
    memory.add(keys, np.arange(40_000.0), values)
    middle, count = memory.medians(np.arange(3, dtype=np.uint64), np.array([np.inf, 30_000.0, 9.0]))
    assert count.tolist() == [(keys == 0).sum(), (keys[:30_000] == 1).sum(), 0]
    assert np.abs(middle[:2]).max() < 0.05
    assert np.isnan(middle[2])


@settings(max_examples=100)
@given(rows, st.integers(1, 59), st.booleans())
def test_the_sample_of_a_short_past_is_all_of_it(
    known: list[tuple[int, ...]], first: int, shares: bool
) -> None:
    keys, ends, values = columns([row for row in known if row[0] < 2] or [(0, 1, 1)])
    memory = Memory()
    memory.add(keys[:first], ends[:first], values[:first])
    memory._long, memory._short = memory._short, memory._long
    if first < len(keys):
        memory.add(keys[first:], ends[first:], values[first:])
    wanted = np.unique(keys)
    found = replace(memory.recall(wanted, np.full(len(wanted), 99.0)), shares=shares)
    for row, key in enumerate(wanted):
        past = np.sort(values[keys == key])
        assert set(found.sample[row][: min(len(past), SAMPLED)]) <= set(past)
        if len(past) <= SAMPLED:
            assert found.sample[row][: len(past)].tolist() == past.tolist()
            assert found.quantile(0.0)[row] == past[0]
            assert found.quantile(1.0)[row] == past[-1]
        if shares and len(past) <= RECENT:
            assert np.isclose(found.middle()[row], past.mean())
    part = found.rows(np.array([0]))
    assert part.count[0] == found.count[0]
    assert part.shares == shares


def test_a_long_past_is_sampled_evenly_over_time() -> None:
    memory = Memory()
    ends = np.arange(1_000.0)
    memory.add(np.ones(1_000, dtype=np.uint64), ends, ends)
    found = memory.recall(np.ones(1, dtype=np.uint64), np.array([1e9]))
    assert found.quantile(0.5)[0] == pytest.approx(500, abs=25)
    assert found.sample[0, 0] < 50
    assert found.sample[0, -1] > 950


@pytest.mark.parametrize(("rows", "kinds"), [(0, 9), (1, 9), (500, 9), (5_000, 9), (90_000, 2**40)])
def test_rows_that_share_their_ends_are_sorted_as_each_alone(rows: int, kinds: int) -> None:
    draw = np.random.default_rng(rows)
    # many equal keys and ends, and some that nobody knows
    keys = draw.integers(0, kinds, rows).astype(np.uint64) * np.uint64(2**60 - 1)
    ends = draw.choice([1.0, 2.0, 3.0, np.inf, np.nan], rows)
    values = draw.normal(size=rows)
    alone, shared = Memory(), Memory()
    alone.add(keys, ends, values)
    shared.add(keys, ends, values, ranked(ends))
    order = np.lexsort((ends, keys))
    asked = np.unique(keys)[:20]
    moments = np.full(len(asked), 2.5)
    for found in (alone, shared, Memory.of_state(alone.state())):
        run = max(found._long, found._short, key=len)
        assert np.array_equal(run.order, order)
        for column, held in zip((keys, ends, values), run.as_added(), strict=True):
            assert np.array_equal(column, held, equal_nan=True)
        recalled = found.recall(asked, moments)
        before = [(keys == key) & (ends < 2.5) for key in asked]
        assert recalled.count.tolist() == [int(rows.sum()) for rows in before]
        assert np.allclose(recalled.total, [values[rows].sum() for rows in before])


def test_a_key_as_a_whole_has_the_very_sum_that_its_rows_have() -> None:
    draw = np.random.default_rng(3)
    keys, values = draw.integers(0, 9, 5_000).astype(np.uint64), draw.normal(size=5_000)
    memory = Memory()
    memory.add(keys, draw.random(5_000), values)
    asked, late = np.arange(10, dtype=np.uint64), np.full(10, 2.0)
    whole = memory.recall(asked, late)
    # one key that is asked for in part makes all of them be summed row by row
    part = memory.recall(np.append(asked, 0), np.append(late, 0.5))
    assert whole.total.tolist() == part.total[:10].tolist()
    assert "sums" in vars(memory._long)


def test_a_memory_whose_arrays_do_not_fit_together_is_refused() -> None:
    memory = Memory()
    memory.add(np.ones(3, dtype=np.uint64), np.arange(3.0), np.arange(3.0))
    state = memory.state()
    state["short"]["order"] = state["short"]["order"][:2]
    with pytest.raises(ModelFileError, match="does not fit together"):
        Memory.of_state(state)
