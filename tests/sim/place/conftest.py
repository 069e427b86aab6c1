"""A node and a request by hand, for tests of single scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Workload
from prophase.sim.kernels.node_resources import occupy
from prophase.sim.policies import place_policies
from prophase.sim.signatures import ASK_GPUS, ASK_HELD, ASK_MILLI, held_unit

Rate = Callable[..., float]


@pytest.fixture
def rate() -> Rate:
    """Return a function that rates a node of the cluster for a request.

    ``held`` lists what is taken already: (node, GPUs as bits, request).
    """

    def rated(policy: str, cluster: Cluster, node: int, request: dict, held: list = ()) -> float:  # type: ignore[assignment]
        requests = [request, *[taken for _, _, taken in held]]
        table = pd.DataFrame(requests).assign(submit_s=0.0, duration_s=1.0)
        table["job_id"] = [str(place) for place in range(len(table))]
        asks = np.ascontiguousarray(Workload.from_jobs(table).asks)
        asks[:, ASK_HELD] = held_unit(asks[:, ASK_GPUS], asks[:, ASK_MILLI])
        matrix = cluster.matrix.copy()
        for row, (place, bits, _) in enumerate(held, start=1):
            occupy(matrix, place, asks, row, bits)
        chosen = place_policies()[policy]
        facts = chosen.prepare(asks, cluster, 0) if chosen.prepare else np.zeros((1, 1))
        return chosen.score(matrix, node, asks, 0, facts)

    return rated
