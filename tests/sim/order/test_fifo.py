from __future__ import annotations


def test_jobs_go_by_submission_and_at_one_instant_by_name(replay):
    schedule = replay(jobs={"submit_s": [5.0, 0.0, 0.0]}, order="fifo")
    assert list(schedule.workload.jobs["job_id"]) == ["b", "c", "a"]
    assert list(schedule.start_s) == [0.0, 10.0, 20.0]
