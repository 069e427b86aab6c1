from __future__ import annotations

import numpy as np

from prophase.phase.next_phase import learn_next


def cycle(times: int, length: int = 10) -> np.ndarray:
    return np.tile(np.repeat([0, 1, 2], length), times)


def test_the_next_phase_and_the_time_to_it_are_foreseen_in_a_cycle() -> None:
    said = learn_next([cycle(6)], 3).forecast(1, elapsed=3)
    assert said is not None
    assert (said.next_phase, said.remaining.value) == (2, 7)


def test_the_phase_before_decides_where_it_was_seen_often_enough() -> None:
    # 0 goes to 2 after 1, and to 1 after 2
    labels = np.tile(np.repeat([1, 0, 2, 0], 5), 8)
    model = learn_next([labels], 3)
    assert model.forecast(0, before=1).next_phase == 2  # type: ignore[union-attr]
    assert model.forecast(0, before=2).next_phase == 1  # type: ignore[union-attr]


def test_a_stay_longer_than_any_before_is_expected_to_end_now() -> None:
    said = learn_next([cycle(6)], 3).forecast(1, elapsed=500)
    assert said is not None
    assert said.remaining.value == 1


def test_a_phase_that_was_never_left_has_no_forecast() -> None:
    assert learn_next([np.zeros(40, dtype=int)], 1).forecast(0) is None
