from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prophase.phase.next_phase import in_words, learn_next, score_forecasts


def cycle(times: int, length: int = 10) -> np.ndarray:
    return np.tile(np.repeat([0, 1, 2], length), times)


def by_rule(model_of: np.ndarray, *judged: np.ndarray) -> dict[str, dict[str, Any]]:
    rows = score_forecasts(learn_next([model_of], 3), list(judged))
    return {row["rule"]: row for row in rows}


def test_scores_stand_beside_staying_the_same_and_count_changes_only() -> None:
    rows = by_rule(cycle(6), cycle(4))
    assert rows["learnt"]["next_right_pct"] == 100
    assert rows["stays the same"]["next_right_pct"] == 0
    assert rows["stays the same"]["all_right_pct"] == pytest.approx(100 * (1 - 11 / 120))
    assert rows["learnt"]["changes"] == 11
    assert rows["learnt"]["off_factor"] == 1


def test_a_regular_change_is_warned_of_in_time_and_without_false_alarm() -> None:
    rows = by_rule(cycle(6), cycle(4))
    assert rows["learnt"]["warned_pct"] == 100
    assert rows["learnt"]["lead_samples"] == 5
    assert rows["learnt"]["false_pct"] == 0
    assert rows["stays the same"]["warned_pct"] == 0


def test_warnings_of_stays_that_last_longer_than_learned_are_false() -> None:
    rows = by_rule(cycle(6), cycle(3, length=40))
    # warned from the sixth of 40 samples on, right for the last five
    assert rows["learnt"]["false_pct"] == pytest.approx(100 * 30 / 35)
    assert rows["learnt"]["off_factor"] == pytest.approx(4)


def test_series_that_never_change_say_so() -> None:
    rows = score_forecasts(learn_next([cycle(6)], 3), [np.zeros(9, dtype=int)])
    assert rows[0]["changes"] == 0
    assert in_words(rows) == "No change of phase to judge forecasts by."


def test_changes_that_nothing_was_learned_of_are_reported_as_such() -> None:
    rows = score_forecasts(learn_next([np.zeros(40, dtype=int)], 3), [cycle(1)])
    assert in_words(rows).endswith("ever left where the phases were learned.")


def test_a_score_reads_as_a_sentence() -> None:
    rows = score_forecasts(learn_next([cycle(6)], 3), [cycle(1)])
    assert in_words(rows).startswith("Of 2 changes, the next phase was predicted at 100 % (")
