"""Replay under other beginnings of the scheduler's clock.

A configuration says how often a scheduler looks at its queue and at priorities, not when it
began to. On a busy cluster that decides who is first, and one decision leads to others: a
single replay is one of many that the same configuration allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prophase.errors import ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.policies import order_policies
from prophase.sim.rules.backfill import Backfill
from prophase.sim.rules.parsing import as_rule
from prophase.sim.schedule import Schedule
from prophase.sim.simulation import simulate
from prophase.sim.workload import Workload

_USUAL = 10


def replay_clocks(
    workload: Workload, cluster: Cluster, settings: Mapping[str, Any], clocks: int
) -> list[Schedule]:
    """Replay with clocks that began at evenly spread instants before the first submission.

    0 clocks: as many as usual for a scheduler that has a clock, one for any other.
    """
    backfill = as_rule(Backfill, settings.get("backfill"), "backfill")
    has_clock = backfill is not None and backfill.every_s > 0
    clocks = clocks or (_USUAL if has_clock else 1)
    if clocks == 1:
        return [simulate(workload, cluster, **settings)]
    if backfill is None or not has_clock:
        raise ParameterError(
            f"{clocks} clocks: only a scheduler that backfills by the clock has one "
            "(backfill every=..., or the configuration of a Slurm cluster)."
        )
    order = order_policies().get(str(settings.get("order")))
    looks = dict(settings.get("order_options") or {}).get("rekey_s", order.rekey_s if order else 0)
    period = max(backfill.every_s, float(looks))
    if period > backfill.every_s:
        # or every clock would begin a whole number of passes earlier
        period += backfill.every_s
    return [
        simulate(
            workload,
            cluster,
            **{**settings, "backfill": replace(backfill, clock_s=period * place / clocks)},
        )
        for place in range(clocks)
    ]
