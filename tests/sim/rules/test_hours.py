"""Hours in which only short jobs start."""

from __future__ import annotations

import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.rules.hours import hours_matrix

HOURS = pd.DataFrame({"from_s": [0.0, 100.0], "to_s": [100.0, 200.0], "longest_s": [None, 30.0]})


def _starts(jobs: pd.DataFrame, **settings: object) -> list[float]:
    jobs = jobs.assign(job_id=[f"j{place}" for place in range(len(jobs))], request_gpus=1.0)
    replay = simulate(Workload.from_jobs(jobs), Cluster.uniform(2, 1), hours=HOURS, **settings)
    return [float(one) for one in replay.start_s]


@pytest.mark.parametrize("queue", ["skip", "strict", "easy"])
def test_a_job_starts_only_if_its_limit_ends_before_the_hours_do(queue):
    jobs = pd.DataFrame({"submit_s": [80.0, 81.0], "duration_s": [5.0, 5.0]})
    jobs["time_limit_s"] = [10.0, 25.0]
    assert _starts(jobs, queue=queue) == [80.0, 100.0]


def test_a_job_longer_than_the_hours_admit_waits_for_the_next_and_holds_up_nobody():
    jobs = pd.DataFrame({"submit_s": [101.0, 102.0, 103.0], "duration_s": 20.0})
    jobs["time_limit_s"] = [40.0, 20.0, 30.0]
    assert _starts(jobs, queue="easy") == [200.0, 102.0, 103.0]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.DataFrame({"from_s": [0.0]}), "to_s"),
        (pd.DataFrame({"from_s": [5.0], "to_s": [1.0]}), "no time span"),
        (pd.DataFrame({"from_s": [0.0, 5.0], "to_s": [9.0, 12.0]}), "before those before them"),
        (
            pd.DataFrame({"from_s": [0.0], "to_s": [9.0], "longest_s": [0.0]}),
            "is 0. Write a number above 0",
        ),
    ],
)
def test_hours_that_make_no_sense_are_refused(table, said):
    with pytest.raises(InputError, match=said):
        hours_matrix(table)
