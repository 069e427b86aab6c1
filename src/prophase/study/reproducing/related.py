"""Other real traces that answer in kind what a source's data at hand cannot."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from prophase.errors import ProphaseError
from prophase.sim.presets.pai import PaiResult, simulate_pai
from prophase.trace.findings import find_out
from prophase.trace.findings.figure import Figure
from prophase.trace.loading import open_trace

#: findings about waits, which the published rows of PAI leave out
_WAITS = ("mostly_waiting", "sharing_waits", "waits_by_type")
_SLOWDOWN = "slowdown of a job beside another one on the same GPU, at most"
_OPENB = "of openb, Alibaba's cluster of 2023: 8,152 pods"
#: the simulator's orders, the best first as its README has them
ORDERS = ("shortest", "group_gpu_dur", "group_dur", "user_dur", "fifo")
_PHILLY_GPUS = 600


def beside(data: Path | None, name: str) -> Path | None:
    """Return the folder of another trace beside a source's own, if it is there.

    Examples
    --------
    >>> beside(None, "openb") is None
    True
    """
    folder = None if data is None else data.resolve().parent / name
    return folder if folder is not None and folder.is_dir() else None


def answered_elsewhere(data: Path | None) -> dict[str, tuple[Figure, str]]:
    """Return figures of related traces by what they measure, each with where it is from."""
    found: dict[str, tuple[Figure, str]] = {}
    for compute in (_openb, _gavel):
        try:
            found |= compute(data)
        except ProphaseError:
            # a trace that cannot be read answers nothing; the source's own has been read
            continue
    return found


def philly_runs(data: Path | None) -> dict[str, PaiResult]:
    """Return recorded jobs of Philly under every order of the PAI simulator; empty without them."""
    if data is None:
        return {}
    path = data / "philly20k.csv.gz"
    if not path.is_file():
        return {}
    jobs = open_trace(path, source="pai-sim").jobs
    return {
        order: simulate_pai(jobs, gpus=_PHILLY_GPUS, order=order, arrival_rate=-1)
        for order in ORDERS
    }


def _openb(data: Path | None) -> dict[str, tuple[Figure, str]]:
    folder = beside(data, "openb")
    if folder is None:
        return {}
    trace = open_trace(folder)
    return {
        figure.what: (figure, _OPENB)
        for finding in find_out(trace, only=_WAITS)
        for figure in finding.figures
        if figure.here is not None
    }


def _gavel(data: Path | None) -> dict[str, tuple[Figure, str]]:
    folder = beside(data, "gavel-throughput")
    if folder is None:
        return {}
    slower = 100 * slowdowns(open_trace(folder, source="gavel").tables["throughput"])
    words = (
        f"of {len(slower):,} pairs that Gavel measured on V100 and P100, half of them below "
        f"{slower.median():.0f} %"
    )
    return {_SLOWDOWN: (Figure(_SLOWDOWN, "%", float(slower.max()), (28.0,)), words)}


def slowdowns(speeds: pd.DataFrame) -> pd.Series:
    """Return how much of its speed each job loses beside another one, as a share.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "gpu_type": "v100",
    ...         "consolidated": True,
    ...         "gpus": 1,
    ...         "batch_size": 8,
    ...         "model": "a",
    ...         "partner_model": [None, "b"],
    ...         "steps_per_s": [4.0, 3.0],
    ...     }
    ... )
    >>> slowdowns(table).tolist()
    [0.25]
    """
    single = speeds[(speeds["gpus"] == 1) & speeds["consolidated"].astype(bool)]
    keys = ["gpu_type", "model", "batch_size"]
    paired = single["partner_model"].notna()
    alone = single[~paired].groupby(keys, dropna=False)["steps_per_s"].first()
    both = single[paired].join(alone.rename("alone_per_s"), on=keys)
    lost = 1 - both["steps_per_s"] / both["alone_per_s"]
    return lost.dropna().clip(lower=0.0)
