from __future__ import annotations


def test_a_job_with_less_left_to_do_pushes_out_a_longer_one(replay):
    jobs = {"duration_s": [10.0, 4.0], "submit_s": [0.0, 3.0]}
    schedule = replay(jobs=jobs, order="shortest_remaining", preempt="on")
    assert list(schedule.end_s) == [14.0, 7.0]
    assert list(schedule.attempts.job) == [0, 1, 0]


def test_what_is_left_decides_and_not_the_whole_length(replay):
    jobs = {"duration_s": [5.0, 4.0], "submit_s": [0.0, 3.0]}
    schedule = replay(jobs=jobs, order="shortest_remaining", preempt="on")
    assert list(schedule.end_s) == [5.0, 9.0]


def test_without_preemption_it_is_shortest_first(replay):
    jobs = {"duration_s": [10.0, 8.0, 2.0], "submit_s": [0.0, 1.0, 2.0]}
    schedule = replay(jobs=jobs, order="shortest_remaining")
    assert list(schedule.start_s) == list(replay(jobs=jobs, order="shortest").start_s)
