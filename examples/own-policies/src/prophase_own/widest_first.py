"""Widest first: jobs that ask for most GPUs go first, so that no stream of small ones starves them.

An order is a function that bears the name of its entry point. It takes the workload and returns
one key per job; the smallest key goes first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophase.sim import Workload
from prophase.sim.signatures import ASK_GPUS, ASK_INSTANCES, ASK_MILLI


def widest_first(workload: Workload) -> NDArray[np.float64]:
    """Rank jobs by GPUs, most first; equal ones by submission."""
    asks = workload.asks
    gpus = asks[:, ASK_GPUS] * asks[:, ASK_MILLI] * asks[:, ASK_INSTANCES] / 1000
    # keys are compared as they are: submission breaks ties and must not outweigh a thousandth GPU
    latest = max(1.0, float(np.max(workload.submit_s, initial=0.0)))
    return np.asarray(-gpus + 1e-6 * workload.submit_s / latest, np.float64)
