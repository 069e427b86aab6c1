"""Would the twin have been right? Forecasts at past instants of the history, against the truth."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.forecast.past_forecasts import (
    LEAST_FORECASTS,
    held_by_others,
    settled,
    wait_of_alike,
    why_withheld,
)
from prophase.sim.forecast.start_forecast import LEAST_FINISHED, IntervalWidening
from prophase.sim.slurm.snapshot import QueueSnapshot
from prophase.sim.slurm.twin import QueueTwin
from prophase.stats import Estimate

#: starts within this time are as good as forecast
_SLACK_S = 1.0


@dataclass(frozen=True)
class TwinCheck:
    """What forecasts at past instants were worth.

    Attributes
    ----------
    forecasts, instants : int
        Forecasts made, and the instants they were made at.
    covered : float
        Share of true starts inside the intervals as the twin draws them, before ``stretch``.
    error_s, alike_error_s : float
        Median absolute error of the forecast, and of the recent waits of jobs alike.
    stretch : IntervalWidening
        How far to move both ends so that 80 % of these starts lie inside.
    held : Estimate
        Share of true starts inside intervals that were fitted to the other instants.
    """

    forecasts: int
    instants: int
    covered: float
    error_s: float
    alike_error_s: float
    stretch: IntervalWidening
    held: Estimate

    @property
    def why_withheld(self) -> str:
        """Say why forecasts like these are not given; empty: they are."""
        return why_withheld(self.forecasts, self.error_s, self.alike_error_s, self.held)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON holds them."""
        return {**asdict(self), "useful": not self.why_withheld}


def check_twin(
    history: pd.DataFrame,
    snapshot: QueueSnapshot,
    *,
    instants: int = 12,
    per_instant: int = 8,
    draws: int = 30,
    random_state: int = 0,
) -> TwinCheck:
    """Forecast jobs that waited at past instants and compare with when they started.

    Parameters
    ----------
    history : DataFrame
        Jobs of the accounting: submissions, starts, ends; what ended after the snapshot's time is
        not looked at.
    """
    known = history[history["submit_s"] <= snapshot.now_s]
    ended = np.sort(known["end_s"].dropna().to_numpy(np.float64))
    ended = ended[ended <= snapshot.now_s]
    if len(ended) <= LEAST_FINISHED:
        raise InputError(
            f"only {len(ended):,} jobs have ended by then; more than {LEAST_FINISHED} are needed"
        )
    times = np.linspace(ended[LEAST_FINISHED], snapshot.now_s, instants + 2)[:-1]
    rows: list[tuple[float, ...]] = []
    for now_s in times:
        rows += _forecasts(known, snapshot, float(now_s), per_instant, draws, random_state)
    if len(rows) < LEAST_FORECASTS:
        raise InputError(
            f"only {len(rows):,} jobs were waiting at past instants; {LEAST_FORECASTS} are needed"
        )
    table = np.array(rows)
    low, middle, high, truth, alike, when_s = table[settled(table[:, -1]), :-1].T
    inside = (truth >= low - _SLACK_S) & (truth <= high + _SLACK_S)
    instants = len(np.unique(when_s))
    return TwinCheck(
        len(truth),
        instants,
        float(inside.mean()),
        float(np.median(np.abs(middle - truth))),
        float(np.median(np.abs(alike - truth))),
        IntervalWidening.learn(low, high, truth, independent=instants),
        held_by_others(low, high, truth, when_s),
    )


def _forecasts(
    known: pd.DataFrame,
    snapshot: QueueSnapshot,
    now_s: float,
    per_instant: int,
    draws: int,
    random_state: int,
) -> list[tuple[float, ...]]:
    """Forecast some jobs that waited then: low, median, high, truth, the plain guess, when.

    Last comes the share of jobs that waited then and have started since.
    """
    then = past_snapshot(known, snapshot, now_s)
    waiting = then.waiting
    start = known.drop_duplicates("job_id").set_index("job_id")["start_s"]
    truth = start.reindex(waiting["job_id"]) - now_s
    # what still waits today has no truth yet
    asked = waiting[(truth.notna() & (start.reindex(waiting["job_id"]) <= snapshot.now_s)).values]
    if asked.empty:
        return []
    chosen = asked.iloc[np.unique(np.linspace(0, len(asked) - 1, per_instant).astype(int))]
    finished = known[known["end_s"] <= now_s]
    twin = QueueTwin(then, finished, draws=draws, random_state=random_state)
    told = twin.etas([str(name) for name in chosen["job_id"]])
    rows: list[tuple[float, ...]] = []
    began = dict(zip(start.index.astype(str), start.to_numpy(np.float64), strict=True))
    for job in chosen.to_dict("records"):
        name = str(job["job_id"])
        found = told[name]
        if found.p10_s is None or found.p50_s is None or found.p90_s is None:
            continue
        guess = wait_of_alike(known, now_s, {str(key): value for key, value in job.items()})
        told_s = (found.p10_s, found.p50_s, found.p90_s)
        rows.append((*told_s, began[name] - now_s, guess, now_s, len(asked) / len(waiting)))
    return rows


def past_snapshot(known: pd.DataFrame, snapshot: QueueSnapshot, now_s: float) -> QueueSnapshot:
    """Return the queue as it was at an instant of the history, on the nodes of today."""
    there = known[(known["submit_s"] <= now_s) & ~(known["end_s"] <= now_s)]
    runs = (there["start_s"] <= now_s).to_numpy()
    priority = -there["submit_s"].rank(method="first")
    if "after_priority" in there and there["after_priority"].nunique() > 1:
        priority = there["after_priority"].astype(float)
    held = there["after_nodes"].fillna("") if "after_nodes" in there else ""
    jobs = there.assign(
        status=np.where(runs, "running", "pending"),
        start_s=there["start_s"].where(runs),
        attr_priority=priority,
        held_nodes=np.where(runs, held, ""),
        slurm_start_s=np.nan,
    )
    return replace(snapshot, now_s=now_s, jobs=jobs, off=())
