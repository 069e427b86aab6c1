from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sim import Cluster, Workload, simulate


def one_at_a_time() -> Workload:
    """A running job, a long one behind it, and short ones that keep coming."""
    rows = [("busy", 0.0, 100.0), ("long", 10.0, 2000.0)]
    rows += [(f"short{i:02d}", 20.0 + 100.0 * i, 100.0) for i in range(60)]
    jobs = pd.DataFrame(rows, columns=["job_id", "submit_s", "duration_s"])
    return Workload.from_jobs(jobs.assign(request_gpus=1.0, guess_s=jobs["duration_s"]))


def wait_of(job: str, **settings: object) -> float:
    schedule = simulate(one_at_a_time(), Cluster.uniform(1, 1), **settings)
    return float(schedule.wait_s[(schedule.workload.jobs["job_id"] == job).to_numpy()][0])


def test_short_jobs_pass_a_long_one_but_not_for_ever() -> None:
    fifo, ratio, shortest = (
        wait_of("long", order=order) for order in ("fifo", "response_ratio", "shortest")
    )
    assert fifo < ratio < shortest
    assert wait_of("short00", order="response_ratio") < wait_of("short00", order="fifo")


def test_run_times_come_from_the_column_that_is_named() -> None:
    told = simulate(
        one_at_a_time(), Cluster.uniform(1, 1),
        order="response_ratio", order_options={"column": "guess_s"},
    )  # fmt: skip
    true = simulate(one_at_a_time(), Cluster.uniform(1, 1), order="response_ratio")
    np.testing.assert_array_equal(told.wait_s, true.wait_s)


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no_such"):
        wait_of("long", order="response_ratio", order_options={"column": "no_such"})
