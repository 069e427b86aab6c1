from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster
from prophase.study.cluster import cluster_at, machines
from prophase.trace.trace_tables import Trace


def test_a_cluster_is_as_large_as_the_jobs_keep_busy() -> None:
    at = np.arange(300)
    jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": 860.0 * at, "duration_s": 1500.0})
    jobs["request_gpus"] = 0.5
    wide = jobs.assign(request_gpus=16.0)
    offered = 16 * 1500.0 / 860.0
    assert offered / 0.5 - 8 <= cluster_at(wide, 0.5).gpus <= offered / 0.5 + 8
    assert cluster_at(wide, 0.9).gpus < cluster_at(wide, 0.5).gpus
    # one job that outlasts the trace needs no more than it takes while others come
    longer = wide.assign(duration_s=wide["duration_s"].where(at > 0, 1e9))
    assert cluster_at(longer, 0.9).gpus <= cluster_at(wide, 0.9).gpus + 24
    assert machines(Trace({}, "csv", ""), "90%") is None
    cores = cluster_at(jobs.drop(columns="request_gpus").assign(request_cpu_cores=96.0), 0.9)
    assert isinstance(cores, Cluster)
    assert cores.gpus == 0
    with pytest.raises(ParameterError, match="90%"):
        cluster_at(jobs, 0.0)
    with pytest.raises(InputError, match="name a cluster"):
        cluster_at(jobs.drop(columns="request_gpus"), 0.9)
