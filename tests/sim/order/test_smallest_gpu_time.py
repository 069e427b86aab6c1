from __future__ import annotations

import pandas as pd

from prophase.sim import Workload
from prophase.sim.order.smallest_gpu_time import smallest_gpu_time


def test_run_time_counts_times_gpus_of_all_instances():
    jobs = pd.DataFrame(
        {
            "job_id": list("abcd"),
            "submit_s": [0.0] * 4,
            "duration_s": [10.0, 10.0, 10.0, 10.0],
            "request_gpus": [2.0, 0.5, 1.0, 0.0],
            "instances": [1.0, 1.0, 3.0, 2.0],
        }
    )
    assert list(smallest_gpu_time(Workload.from_jobs(jobs))) == [20.0, 5.0, 30.0, 10.0]


def test_a_long_but_narrow_job_passes_a_wide_one(replay):
    jobs = {"duration_s": [5.0, 10.0, 15.0], "request_gpus": [2.0, 2.0, 1.0]}
    schedule = replay("1x2", jobs=jobs, order="smallest_gpu_time")
    assert list(schedule.start_s) == [0.0, 20.0, 5.0]
