"""Jobs of three kinds, one of which changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from prophase.profile.drift.watch_folder import WatchFolder

HISTORY, CHANGE, ALL = 1_800, 2_000, 2_700


def jobs_of_kinds(
    count: int = ALL, *, change: int = ALL, what: str = "", seed: int = 0
) -> pd.DataFrame:
    """Three kinds of four users each; from ``change`` on kind 1 runs or uses three times more."""
    draw = np.random.default_rng(seed)
    kind = draw.integers(0, 3, count)
    user = draw.integers(0, 4, count)
    changed = np.where((kind == 1) & (np.arange(count) >= change), 3.0, 1.0)
    run = np.array([60.0, 600.0, 6000.0])[kind] * np.exp(0.3 * draw.standard_t(4, count))
    run *= changed if what == "run" else 1.0
    use = np.exp(draw.normal(0.0, 0.1, (2, count))) * (changed if what == "use" else 1.0)
    submit = 1_600_000_000.0 + 600.0 * np.arange(count)
    return pd.DataFrame(
        {
            "job_id": [f"j{number}" for number in range(count)],
            "user": [f"u{one}{each}" for one, each in zip(kind, user, strict=True)],
            "workload": np.array(["bert", "ctr", "gnn"])[kind],
            "task": draw.choice(["ps", "worker", "chief"], count),
            "submit_s": submit,
            "start_s": submit + 5,
            "end_s": submit + 5 + run,
            "duration_s": run,
            "cpu_mean_cores": np.array([1.0, 4.0, 16.0])[kind] * use[0],
            "memory_peak_gib": np.array([64.0, 16.0, 2.0])[kind] * use[1],
        }
    )


def copied(folder: WatchFolder, target: Path) -> WatchFolder:
    """Return a copy of a watch folder."""
    target.mkdir()
    for path in folder.folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return WatchFolder(target, folder.history, folder.history_hash)
