from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prophase.profile.predict.medians import medians_as_of
from prophase.profile.predict.memory import RECENT, Memory

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
    middle, count = medians_as_of(keys, ends, values, wanted, moments)
    for row, (key, moment) in enumerate(questions):
        before = [(end, value) for k, end, value in known if k == key and end < moment]
        before.sort(key=lambda pair: pair[0], reverse=True)
        assert found.count[row] == count[row] == len(before)
        held = min(len(before), RECENT)
        assert found.ends[row][:held].tolist() == [end for end, _ in before[:RECENT]]
        if before:
            outcomes = [value for _, value in before]
            assert middle[row] == np.median(outcomes)
            assert np.isclose(found.mean[row], np.mean(outcomes))
            if len(before) <= RECENT:
                assert found.middle()[row] == np.median(outcomes)
                assert np.isclose(found.spread()[row], np.std(outcomes))
        else:
            assert np.isnan(middle[row])
            assert np.isnan(found.middle()[row])


def test_the_median_of_all_is_the_same_with_and_without_going_through_time() -> None:
    draw = np.random.default_rng(1)
    keys = draw.integers(0, 20, 500).astype(np.uint64)
    ends, values = draw.uniform(0, 9, 500), draw.normal(size=500)
    wanted = np.arange(22, dtype=np.uint64)
    at_once = medians_as_of(keys, ends, values, wanted, np.full(22, 10.0))
    one_hidden = medians_as_of(
        np.append(keys, 99).astype(np.uint64),
        np.append(ends, 11.0),
        np.append(values, 0.0),
        wanted,
        np.full(22, 10.0),
    )
    np.testing.assert_array_equal(at_once, one_hidden)
