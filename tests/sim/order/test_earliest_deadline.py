from __future__ import annotations

import pytest

from prophase.errors import InputError


@pytest.mark.parametrize("column", ["deadline_s", "attr_deadline_s"])
def test_the_earliest_deadline_goes_first_and_jobs_without_one_last(replay, column):
    schedule = replay(jobs={column: [None, 90.0, 30.0]}, order="earliest_deadline")
    assert list(schedule.start_s) == [20.0, 10.0, 0.0]


def test_another_column_can_be_named(replay):
    schedule = replay(
        jobs={"due": [2.0, 1.0]}, order="earliest_deadline", order_options={"column": "due"}
    )
    assert list(schedule.start_s) == [10.0, 0.0]


def test_a_trace_without_deadlines_is_refused(replay):
    with pytest.raises(InputError, match="needs the column deadline_s or attr_deadline_s"):
        replay(jobs={"submit_s": [0.0]}, order="earliest_deadline")
