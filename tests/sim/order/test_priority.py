from __future__ import annotations

import pytest

from prophase.errors import InputError, ParameterError


def test_the_highest_priority_goes_first_and_none_counts_as_0(replay):
    schedule = replay(jobs={"priority": [None, 5.0, -1.0, 9.0]}, order="priority")
    assert list(schedule.start_s) == [20.0, 10.0, 30.0, 0.0]


def test_waiting_earns_priority(replay):
    """b has waited an hour longer than c: that is worth 3, against 2 of priority."""
    jobs = {
        "submit_s": [0.0, 1.0, 3601.0],
        "duration_s": [5000.0, 10.0, 10.0],
        "priority": [0.0, 0.0, 2.0],
    }
    assert list(replay(jobs=jobs, order="priority").start_s) == [0.0, 5010.0, 5000.0]
    aged = replay(jobs=jobs, order="priority", order_options={"per_hour": 3.0})
    assert list(aged.start_s) == [0.0, 5000.0, 5010.0]


def test_a_priority_pushes_out_a_lower_one(replay):
    jobs = {"submit_s": [0.0, 4.0], "priority": [1.0, 2.0]}
    assert list(replay(jobs=jobs, order="priority", preempt="on").end_s) == [20.0, 14.0]


def test_what_cannot_be_ranked_is_refused(replay):
    with pytest.raises(InputError, match="needs the column priority"):
        replay(jobs={"submit_s": [0.0]}, order="priority")
    with pytest.raises(ParameterError, match="per_hour=-1"):
        replay(jobs={"priority": [1.0]}, order="priority", order_options={"per_hour": -1})
    with pytest.raises(ParameterError, match="perhour"):
        replay(jobs={"priority": [1.0]}, order="priority", order_options={"perhour": 1})
