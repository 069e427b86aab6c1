from __future__ import annotations

import numpy as np

from prophase.phase.prototypes import prototypes_of
from prophase.phase.stays import stay_lengths, stays_of, transition_table
from prophase.trace.series.usage_series import Series, SeriesSet


def test_stays_do_not_run_over_from_one_series_to_the_next() -> None:
    found = stays_of([np.array([0, 0, 1]), np.array([1, 1, 0])])
    assert found.phase.tolist() == [0, 1, 1, 0]
    assert transition_table(found, 2).tolist() == [[0, 1], [1, 0]]


def test_the_last_stay_is_not_whole_and_does_not_count_in_the_lengths() -> None:
    found = stay_lengths(stays_of([np.repeat([0, 1, 0], [4, 6, 100])]), 2)
    assert found["median_samples"].tolist() == [4, 6]
    assert found["longest_samples"].tolist() == [100, 6]


def test_no_samples_give_no_stays() -> None:
    assert len(stays_of([]).phase) == 0
    assert len(stays_of([np.full(5, -1)]).phase) == 0


def test_few_prototypes_cover_executions_that_differ_in_length_only() -> None:
    rng = np.random.default_rng(0)
    alike = [np.repeat([0, 1, 2, 1], rng.integers(3, 9, 4)) for _ in range(9)]
    found = prototypes_of([*alike, np.repeat([3, 0, 3], 5)])
    assert len(found.prototypes) == 2
    assert found.prototypes[0].stands_for == tuple(range(9))
    assert found.sentence() == "1 prototype covers 90 % of 10 executions"


def test_every_execution_is_covered_by_exactly_one_prototype() -> None:
    rng = np.random.default_rng(1)
    labels = [rng.integers(0, 4, 30) for _ in range(20)]
    found = prototypes_of(labels)
    covered = sorted(number for one in found.prototypes for number in one.stands_for)
    assert covered == list(range(20))
    assert found.covered(len(found.prototypes)) == 1.0


def test_stays_last_as_long_as_the_samples_of_their_own_series() -> None:
    labels = [np.repeat([0, 1], [4, 2]), np.repeat([0, 1], [4, 2])]
    series = tuple(
        Series(name, step * np.arange(6.0), np.zeros((6, 1)), np.arange(6) == 0, np.arange(6))
        for name, step in (("a", 10.0), ("b", 60.0))
    )
    found = stay_lengths(stays_of(labels), 2, SeriesSet(series, ("cpu",), 35.0, 300.0))
    assert found["median_s"][0] == 140.0
    assert found["longest_s"].tolist() == [240.0, 120.0]
