from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sim import Cluster, simulate
from prophase.sim.signatures import ASK_GPUS
from prophase.sim.workload import Workload


def workload(**columns: object) -> Workload:
    jobs = pd.DataFrame(columns)
    return Workload.from_jobs(
        jobs.assign(job_id=[f"j{i}" for i in range(len(jobs))], submit_s=0.0, duration_s=1.0)
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("object", "text"),
        ("string", "text"),
        ("str", "text"),
        ("category", "category values"),
        ("datetime64[ns]", r"datetime64\[ns\] values"),
    ],
)
def test_a_queue_cannot_be_ordered_by_words(kind, said):
    values = pd.Series(["2020-01-01", "2021-01-01"]).astype(kind)
    with pytest.raises(InputError, match=f"column user holds {said}, .* by numbers"):
        workload(user=values).key("user")


def test_a_missing_number_comes_last():
    values = pd.array([3, None, 1], dtype="Int64")
    assert workload(guess=values).key("guess").tolist() == [3.0, np.inf, 1.0]


def test_jobs_of_one_instant_are_sorted_by_their_ids_and_others_by_time():
    jobs = pd.DataFrame(
        {
            "job_id": ["d", "c", "b", "a", "e"],
            "submit_s": [1.0, 2.0, 1.0, 2.0, 0.0],
            "duration_s": [4.0, 3.0, 2.0, 1.0, 5.0],
        }
    )
    made = Workload.from_jobs(jobs)
    assert made.jobs["job_id"].tolist() == ["e", "b", "d", "a", "c"]
    assert made.duration_s.tolist() == [5.0, 2.0, 4.0, 1.0, 3.0]


def test_a_table_in_order_is_not_copied():
    times = np.arange(5.0)
    jobs = pd.DataFrame({"job_id": list("abcde"), "submit_s": times, "duration_s": times})
    made = Workload.from_jobs(jobs)
    assert np.shares_memory(made.submit_s, jobs["submit_s"].to_numpy())


def test_negative_run_times_are_refused_and_their_jobs_named():
    jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": [1.0, -1.0]})
    with pytest.raises(InputError, match=r"negative run time .*: b"):
        Workload.from_jobs(jobs)


def test_a_request_that_is_not_a_number_is_refused():
    with pytest.raises(InputError, match=r"attr_high_end of job .* Write a number"):
        workload(attr_high_end=["yes", "no"])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"request_gpus": [1.0, -2.0]}, r"1 job asking for less than nothing \(request_gpus.*: j1"),
        ({"request_cpu_cores": [-1.0, 2.0]}, "request_cpu_cores is negative.*: j0"),
        ({"request_memory_gib": [np.inf, 2.0]}, r"infinite amount \(request_memory_gib\): j0"),
        ({"request_gpus": [1e30, 1.0]}, "more than there can be.*: j0"),
        ({"instances": [1.0, np.inf]}, r"infinite amount \(instances\): j1"),
        ({"instances": [-3.0, 1.0]}, "instances is negative.*: j0"),
        ({"instances": [2.5, 1.0]}, "instances is not whole.*: j0"),
    ],
)
def test_requests_that_nobody_can_make_are_refused_and_their_jobs_named(columns, said):
    with pytest.raises(InputError, match=said):
        workload(**columns)


@pytest.mark.parametrize("column", ["submit_s", "duration_s"])
def test_infinite_times_are_refused(column):
    jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 1.0})
    jobs.loc[1, column] = np.inf
    with pytest.raises(InputError, match=f"infinite.*{column}.*: b"):
        Workload.from_jobs(jobs)
    with pytest.raises(InputError, match=f"{column} of job b is 'late'"):
        Workload.from_jobs(jobs.astype({column: object}).assign(**{column: [1.0, "late"]}))


def test_a_workload_made_by_hand_is_checked_before_a_replay():
    made, cluster = workload(request_gpus=[1.0, 1.0]), Cluster.parse("1x2")
    asks = made.asks.copy()
    asks[0, ASK_GPUS] = -1
    with pytest.raises(InputError, match="requests below 0"):
        simulate(replace(made, asks=asks), cluster)
    with pytest.raises(InputError, match="negative, infinite or not known"):
        simulate(replace(made, duration_s=np.array([1.0, np.nan])), cluster)


def test_jobs_without_a_request_are_told():
    made = workload(request_gpus=[1.0, np.nan])
    schedule = simulate(made, Cluster.parse("1x2"))
    assert "1 job states no request: it holds nothing and never waits" in schedule.notes
    counted = "requests that are not stated count as 0: request_gpus of 1 jobs"
    assert counted in schedule.notes
    assert counted in made.summary()
