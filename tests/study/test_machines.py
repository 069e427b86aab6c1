from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster
from prophase.study.machines import cluster_at, machines
from prophase.trace.loading import Trace


def test_a_cluster_is_as_large_as_the_jobs_keep_busy() -> None:
    at = np.arange(300)
    jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": 860.0 * at, "duration_s": 1500.0})
    jobs["request_gpus"] = 0.5
    work = float((jobs["duration_s"] * jobs["request_gpus"]).sum())
    found = cluster_at(jobs.assign(request_gpus=16.0), 0.5)
    assert found.gpus >= 32 * work / float(np.ptp(jobs["submit_s"])) / 0.5
    assert machines(Trace({}, "csv", ""), "90%") is None
    cores = cluster_at(jobs.drop(columns="request_gpus").assign(request_cpu_cores=96.0), 0.9)
    assert isinstance(cores, Cluster)
    assert cores.gpus == 0
    with pytest.raises(ParameterError, match="90%"):
        cluster_at(jobs, 0.0)
    with pytest.raises(InputError, match="name a cluster"):
        cluster_at(jobs.drop(columns="request_gpus"), 0.9)
