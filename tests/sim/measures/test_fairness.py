from __future__ import annotations

import numpy as np
import pytest

from prophase.sim.measures.fairness import fairness, jain_index


def test_users_of_unknown_name_and_jobs_that_never_started_are_left_out():
    user = np.array([0, 0, 1, -1, 1])
    wait = np.array([0.0, 10.0, 20.0, 999.0, np.nan])
    found = fairness(user, wait, np.ones(5), np.array([1.0, 1.0, 2.0, 9.0, 9.0]))
    assert found["users"] == 2
    assert found["max_user_wait_s"] == 20.0
    assert found["median_user_wait_s"] == 12.5
    assert found["jain_hours"] == pytest.approx(1.0)


def test_one_user_cannot_be_treated_unfairly():
    assert fairness(np.zeros(2, np.int64), np.ones(2), np.ones(2), np.ones(2)) == {"users": 1}
    assert jain_index(np.zeros(3)) is None
