"""Small fleets for tests: plateaus with spikes, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.autoscale.fleet import Fleet


def plateaus(
    *, series: int = 8, samples: int = 300, seed: int = 0, metric: str = "memory_gib"
) -> Fleet:
    rng = np.random.default_rng(seed)
    runs, names = [], []
    for number in range(series):
        levels = np.repeat(rng.uniform(2, 8, samples // 50 + 1), 50)[: samples - number % 3]
        spikes = (rng.random(len(levels)) < 0.02) * rng.uniform(0, 4, len(levels))
        runs.append(levels + spikes + rng.normal(0, 0.02, len(levels)))
        names.append(f"seed{seed}-{number}")
    return Fleet.of_runs(runs, series_id=names, metric=metric)


def usage_of(fleet: Fleet) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "series_id": name,
                "time_s": np.arange(run.stop - run.start) * fleet.step_s,
                fleet.metric: fleet.use[run],
            }
        )
        for name, run in zip(fleet.series_id, fleet.runs(), strict=True)
    ]
    return pd.concat(parts, ignore_index=True)
