"""Small schedules made by hand, and the slow twin of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.oracles import fragmentation

from prophase.sim import Cluster, Schedule, Workload
from prophase.sim.attempts import Attempts

Make = Callable[..., Schedule]


@pytest.fixture(scope="session")
def fragmentation_oracle() -> ModuleType:
    return fragmentation


@pytest.fixture(scope="session")
def by_hand() -> Make:
    """Return a schedule from columns of jobs and rows (job, start, end, outcome, lost, node)."""

    def make(
        jobs: dict[str, Any], attempts: list[tuple[int, float, float, int, float, int]],
        cluster: str | Cluster = "1x1", **more: Any,
    ) -> Schedule:  # fmt: skip
        table = pd.DataFrame(jobs)
        table.insert(0, "job_id", [f"j{n}" for n in range(len(table))])
        workload = Workload.from_jobs(table)
        columns = [np.array(column) for column in zip(*attempts, strict=True)]
        job, start, end, outcome, lost, node = columns
        instances = workload.asks[job, 6]
        made = Attempts(
            job,
            start.astype(float),
            end.astype(float),
            outcome.astype(np.int8),
            np.cumsum(instances) - instances,
            np.repeat(node, instances),
            np.ones(int(instances.sum()), np.int64),
            lost_s=lost.astype(float),
        )
        machines = Cluster.parse(cluster) if isinstance(cluster, str) else cluster
        return Schedule(workload, machines, made, "fifo", "first_fit", "skip", **more)

    return make
