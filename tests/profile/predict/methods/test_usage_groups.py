from __future__ import annotations

import numpy as np

from prophase.profile.predict.methods.usage_groups import ProfileValues


def test_values_count_from_the_moment_they_are_known() -> None:
    held = ProfileValues()
    held.add(np.array([1, 1, 2]), np.array([5.0, 1.0, 3.0]), np.array([50.0, 10.0, 7.0]))
    asked = np.array([1, 1, 1, 2, 9])
    as_of = np.array([1.0, 2.0, 9.0, 9.0, 9.0])
    found = held.ask(asked, as_of, lambda values: float(values.mean()))
    assert np.array_equal(found, [np.nan, 10.0, 30.0, 7.0, np.nan], equal_nan=True)


def test_values_added_one_by_one_are_those_added_at_once() -> None:
    draw = np.random.default_rng(0)
    profiles, ends = draw.integers(-1, 3, 200), draw.permutation(200).astype(float)
    values = draw.lognormal(5, 2, 200)
    whole, slowly = ProfileValues(), ProfileValues()
    whole.add(profiles, ends, values)
    for row in range(200):
        slowly.add(profiles[[row]], ends[[row]], values[[row]])
    asked = np.repeat([0, 1, 2], 20)
    as_of = np.tile(np.linspace(0, 210, 20), 3)
    for summary in (np.mean, np.median):
        assert np.array_equal(
            whole.ask(asked, as_of, summary), slowly.ask(asked, as_of, summary), equal_nan=True
        )
    assert -1 not in whole.of
