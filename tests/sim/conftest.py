"""The slow, obvious twin of the event loop, and small replays that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from tests.oracles import replay as twin

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.schedule import Schedule


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    return twin


@pytest.fixture
def replay() -> Callable[..., Schedule]:
    """Replay jobs of one GPU each on one GPU, unless columns or the cluster say otherwise."""

    def run(cluster: str = "1x1", *, jobs: dict[str, list[Any]], **settings: Any) -> Schedule:
        rows = len(next(iter(jobs.values())))
        table = {
            "job_id": [chr(ord("a") + row) for row in range(rows)],
            "submit_s": [0.0] * rows,
            "duration_s": [10.0] * rows,
            "request_gpus": [1.0] * rows,
            **jobs,
        }
        return simulate(Workload.from_jobs(pd.DataFrame(table)), Cluster.parse(cluster), **settings)

    return run
