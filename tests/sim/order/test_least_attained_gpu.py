from __future__ import annotations


def turns(replay, order):
    """The wide job is pushed out at 2; when is the narrow one, and the wide one back?"""
    jobs = {"request_gpus": [2.0, 1.0], "duration_s": [20.0, 20.0]}
    schedule = replay("1x2", jobs=jobs, order=order, preempt="every=2")
    return list(schedule.attempts.start_s[:3])


def test_a_wide_job_uses_up_its_turn_sooner(replay):
    # after 2 s the wide job has had 4 GPU-seconds; the narrow one has more from 6 s on
    assert turns(replay, "least_attained_gpu") == [0.0, 2.0, 8.0]
    # by seconds alone, 2 against 4, it is back earlier
    assert turns(replay, "least_attained") == [0.0, 2.0, 6.0]
