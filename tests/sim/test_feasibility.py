from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Workload
from prophase.sim.feasibility import never_fit


@pytest.mark.parametrize(
    ("share", "instances", "fits"),
    [(0.25, 8, True), (0.25, 9, False), (0.4, 4, True), (0.4, 5, False), (1.0, 2, True)],
)
def test_instances_that_share_gpus_fit_as_often_as_shares_fit(
    share: float, instances: int, fits: bool
) -> None:
    jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [1.0]})
    jobs["request_gpus"], jobs["instances"] = share, float(instances)
    stuck = never_fit(Workload.from_jobs(jobs).asks, Cluster.uniform(1, 2))
    assert np.array_equal(stuck, [not fits])
