"""Blocks of days hold the backlog; too few of them make no interval."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.measures.backlog_blocks import backlog_blocks, days_of_backlog, why_too_few
from prophase.sim.why.explanation import why

DAY = 86_400.0


def schedule(loads: list[float], gpus: int = 1):
    """A job a day that runs for so many days."""
    table = pd.DataFrame({"job_id": [f"j{i:03d}" for i in range(len(loads))]})
    table["submit_s"] = np.arange(len(loads)) * DAY
    table["duration_s"], table["request_gpus"] = np.array(loads) * DAY, 1.0
    return simulate(Workload.from_jobs(table), Cluster.parse(f"1x{gpus}"))


def test_days_that_do_not_hang_together_are_the_blocks():
    rng = np.random.default_rng(1)
    calm = schedule(rng.uniform(0.1, 0.6, 40).tolist())
    found = days_of_backlog(calm)
    assert found.all == 40
    assert backlog_blocks(calm).count <= 40
    assert found.together < 8
    assert not why_too_few(backlog_blocks(calm))


def test_a_backlog_of_weeks_makes_blocks_of_weeks():
    busy = schedule(([1.9] * 12 + [0.1] * 12) * 2)
    found = days_of_backlog(busy)
    together = found.together
    assert found.all == 48
    assert found.drawn == 8
    assert together > 7
    blocks = backlog_blocks(busy)
    assert blocks.count == -(-48 // together)
    assert blocks.unit == f"block of {together} days"


def test_one_long_backlog_has_no_interval():
    found = why(schedule([1.5] * 12).workload, Cluster.parse("1x1"))
    assert all(row["share_low_pct"] is None for row in found.causes)
    tried = [one.change_pct for one in found.effects if one.change_pct is not None]
    assert tried
    assert not any(one.known for one in tried)
    assert tried[0].reason.startswith("too short to say: ")
