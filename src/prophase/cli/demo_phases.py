"""The demo's look into running containers: which phases they go through, and what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prophase.plural import counted
from prophase.trace.places import PHASES

if TYPE_CHECKING:
    import pandas as pd

    from prophase.study.report import Finding

#: two services with three phases each
_PHASES, _WINDOW = 6, 5


def phase_finding(usage: pd.DataFrame, folder: Path, seed: int) -> Finding:
    """Find the phases of the containers, keep the model, and tell of one container."""
    from prophase.phase.detect import PhaseDetector
    from prophase.plain import finite
    from prophase.plots.phases.series import plot_series_with_phases
    from prophase.study.report import Finding, ResultTable

    detector = PhaseDetector(n_phases=_PHASES, window=_WINDOW, random_state=seed).fit(usage)
    target = folder / PHASES
    target.parent.mkdir(parents=True, exist_ok=True)
    detector.save(target)
    labelled = detector.label(usage)
    first = str(usage["series_id"].iloc[0])
    one = usage[usage["series_id"] == first]
    phases = labelled.loc[labelled["series_id"] == first, "phase"].to_numpy(int)
    metrics = [name for name in detector.metrics_ if name in one]
    figure = plot_series_with_phases(one[metrics].to_numpy(float)[: len(phases)], phases,
                                     names=metrics)  # fmt: skip
    told = ["phase", "metric", "share_pct", "mean", "q05", "q95"]
    rows = finite(detector.statistics_[told].to_dict("records"))
    containers = usage["series_id"].nunique()
    return Finding(
        "What jobs do while they run",
        [
            f"{counted(containers, 'container')} go through {detector.n_phases_} phases that come "
            "back. A phase tells what is used now and what comes next, so that an allocation can "
            "change before the use does.",
        ],
        [ResultTable(rows, "What is used in each phase", folded=True)],
        figures=[("phases", f"Container {first}: its phases above what it uses.", figure)],
    )
