from __future__ import annotations

import pytest

from prophase.errors import ParameterError


def test_a_job_falls_back_once_it_has_had_its_share_and_keeps_its_place_until_then(replay):
    """a falls back at 4, when b and then c, which came later, go before it."""
    jobs = {"duration_s": [10.0, 3.0, 1.0], "submit_s": [0.0, 1.0, 5.0]}
    schedule = replay(
        jobs=jobs,
        order="tiresias",
        order_options={"threshold_gpu_s": 4.0},
        preempt="every=1",
    )
    assert list(schedule.attempts.job) == [0, 1, 2, 0]
    assert list(schedule.end_s) == [14.0, 7.0, 8.0]


def test_a_threshold_that_everybody_has_reached_is_refused(replay):
    with pytest.raises(ParameterError, match="threshold_gpu_s=0"):
        replay(jobs={"submit_s": [0.0]}, order="tiresias", order_options={"threshold_gpu_s": 0})
