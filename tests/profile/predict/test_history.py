from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict.history import History


@pytest.mark.parametrize(("days", "told"), [(2, False), (30, True)])
def test_hours_of_the_day_are_distinguished_after_a_week(days: int, told: bool) -> None:
    came = np.linspace(0.0, days * 86_400.0, 200)
    # one job of long ago does not make a history long
    came[0] = -90 * 86_400.0
    jobs = pd.DataFrame({"user": ["ann", "bob"] * 100, "submit_s": came, "duration_s": 60.0})
    hours = History(jobs).ask(jobs[1:]).numbers[:, -1]
    assert (np.ptp(hours) > 0) == told
