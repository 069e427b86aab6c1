from __future__ import annotations


def test_two_jobs_take_turns_by_what_they_have_had(replay):
    """a: 0-1, b: 1-3 (at 2 they are even), a: 3-5, b: 5-6."""
    schedule = replay(jobs={"duration_s": [3.0, 3.0]}, order="least_attained", preempt="every=1")
    assert list(schedule.attempts.job) == [0, 1, 0, 1]
    assert list(schedule.attempts.start_s) == [0.0, 1.0, 3.0, 5.0]
    assert list(schedule.end_s) == [5.0, 6.0]


def test_a_newcomer_goes_before_all_who_have_run(replay):
    jobs = {"duration_s": [100.0, 2.0], "submit_s": [0.0, 50.0]}
    schedule = replay(jobs=jobs, order="least_attained", preempt="on")
    assert list(schedule.end_s) == [102.0, 52.0]
