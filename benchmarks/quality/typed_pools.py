"""How near do pools by GPU type come to a replay? `queueing pools` beside `simulate`.

Invented traces of a fortnight on clusters of two and three GPU types, with gangs, at five loads,
with and without a daily pattern. A row per queue and cluster: mean wait of the pools over that of
the replay, one value per trace, for the traces whose assumptions hold and for the others; beside
it what one pool of all GPUs and M/G/c give.

    python benchmarks/quality/typed_pools.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pandas as pd

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.queueing.typed_pools import typed_pools
from prophase.sim.theory_comparison import schedule_beside_theory
from record import Measurement, record

DAYS, DAY_S = 14, 86_400.0
#: nodes; GPUs by type; GPUs that jobs ask for
CLUSTERS = {
    "two types, gangs of 1 to 4": ("10x8 A, 5x8 B", {"A": 80, "B": 40}, (1, 1, 1, 2, 4)),
    "three types, pairs": ("40x8 A, 60x4 B, 10x2 C", {"A": 320, "B": 240, "C": 20}, (1, 1, 1, 2)),
    "whole nodes": ("20x8 A, 10x4 B", {"A": 160, "B": 40}, (1, 2, 4, 8)),
}


def invented(gpus: dict[str, int], asks: tuple[int, ...], load: float, daily: bool) -> Workload:
    """Return jobs of lognormal length that keep each type busy to that load."""
    rng, parts = np.random.default_rng([5, round(100 * load), daily]), []
    for kind, owned in gpus.items():
        need = rng.choice(np.minimum(asks, 8 if kind == "A" else 4), 60_000).astype(float)
        need = np.minimum(need, owned / 10)
        lasts = np.minimum(rng.lognormal(8.2, 1.3, len(need)), 3 * DAY_S)
        count = int(np.searchsorted(np.cumsum(need * lasts), load * owned * DAYS * DAY_S))
        came = rng.uniform(0, DAYS * DAY_S, 4 * count)
        if daily:
            wave = 0.55 + 0.45 * np.sin(2 * np.pi * came / DAY_S)
            came = came[rng.random(len(came)) < wave]
        parts.append(
            pd.DataFrame({"submit_s": came[:count], "gpu_type": kind})
            .assign(duration_s=lasts[: len(came[:count])], request_gpus=need[: len(came[:count])])
        )  # fmt: skip
    table = pd.concat(parts, ignore_index=True)
    return Workload.from_jobs(table.assign(job_id=table.index.astype(str)))


def main() -> None:
    for name, (nodes, gpus, asks) in CLUSTERS.items():
        cluster = Cluster.parse(nodes)
        for queue in ("skip", "strict"):
            found: dict[bool, list[float]] = {True: [], False: []}
            others: dict[str, list[float]] = {"one_pool": [], "M/G/c": []}
            for load in (0.6, 0.8, 0.9, 1.0, 1.3):
                for daily in (True, False):
                    workload = invented(gpus, asks, load, daily)
                    schedule = simulate(workload, cluster, queue=queue)
                    waited = max(float(schedule.wait_s.mean()), 1.0)
                    pools = typed_pools(workload, cluster, queue=queue)
                    found[pools.valid].append(max(float(pools.wait_s.mean()), 1.0) / waited)
                    for one in schedule_beside_theory(schedule).columns:
                        if one.view in others and one.wait_mean_s is not None:
                            others[one.view].append(max(one.wait_mean_s, 1.0) / waited)
            told = "; ".join(
                f"{view} {min(values):.2g} to {max(values):.2g}"
                for view, values in others.items()
                if values
            )
            for valid, ratios in found.items():
                if ratios:
                    says = "hold" if valid else "fail"
                    record(
                        Measurement(
                            f"wait of pools over replay's, {name}, {queue}, assumptions {says}",
                            "x",
                            [round(ratio, 3) for ratio in ratios],
                            data="invented traces, loads 0.6 to 1.3",
                            remark=f"{min(ratios):.2f} to {max(ratios):.2f}; {told}",
                        )
                    )


if __name__ == "__main__":
    main()
