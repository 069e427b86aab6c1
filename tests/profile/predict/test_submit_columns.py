from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.predict.submit_columns import arrivals, ends, outcomes, submitted


def test_a_job_that_never_ran_has_no_run_time() -> None:
    jobs = pd.DataFrame({"duration_s": [0.0, 5.0, None], "gpu_util_mean_pct": [0.0, 1.0, None]})
    np.testing.assert_array_equal(outcomes(jobs, "duration_s"), [np.nan, 5.0, np.nan])
    np.testing.assert_array_equal(outcomes(jobs, "gpu_util_mean_pct"), [0.0, 1.0, np.nan])


def test_only_what_is_known_at_submission_is_seen() -> None:
    jobs = pd.DataFrame(
        {"user": ["a"], "attr_x": [1], "after_y": [1], "end_s": [2.0], "status": ["oom"]}
    )
    assert list(submitted(jobs)) == ["user", "attr_x"]


def test_clocks_fall_back_to_start_and_order() -> None:
    started = pd.DataFrame({"start_s": [10.0], "duration_s": [5.0]})
    assert arrivals(started)[0] == 10.0
    assert ends(started)[0] == 15.0
    ordered = pd.DataFrame({"submit_order": [3.0], "duration_s": [5.0]})
    assert arrivals(ordered)[0] == ends(ordered)[0] == 3.0


def test_nothing_is_known_of_a_job_before_it_was_submitted() -> None:
    jobs = pd.DataFrame({"submit_s": [100.0], "start_s": [0.0], "end_s": [5.0]})
    assert ends(jobs).tolist() == [100.0]
