"""AI4DL, second walk-through: a new service appears, and old phases keep their numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.phase.detector import PhaseDetector
from prophase.phase.phase_expansion import expand

SAMPLES = 300


def usage(name: str, levels: list[float], seed: int) -> pd.DataFrame:
    """Return a series that stays at each level in turn."""
    rng = np.random.default_rng(seed)
    cores = np.repeat(levels, SAMPLES // len(levels))
    return pd.DataFrame(
        {
            "series_id": name,
            "time_s": 10.0 * np.arange(len(cores)),
            "cpu_cores": cores + rng.normal(0, 0.1, len(cores)),
        }
    )


def main() -> None:
    """Print the phases before and after the model has met the new service."""
    old, new = usage("old", [1.0, 4.0] * 3, 0), usage("new", [1.0, 9.0] * 3, 1)
    detector = PhaseDetector(n_phases=2, window=3).fit(old)
    before = detector.label(old)["phase"]
    found = expand(detector, new)
    after = detector.label(old)["phase"]
    print(f"phases: 2, then {detector.n_phases_}; phase {found.phase} was split")
    print(f"old samples that keep their phase: {100 * (before == after).mean():.0f} %")


if __name__ == "__main__":
    main()
