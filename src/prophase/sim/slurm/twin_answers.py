"""Answers of the twin: why a job waits, what would start it sooner, what other rules would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.signatures import Floats
from prophase.sim.slurm.twin import QueueTwin
from prophase.stats import Estimate
from prophase.trace.readers.slurm_conf import node_names

#: futures that a comparison runs: those of ``left_s`` that come first
_DRAWS = 15


@dataclass(frozen=True)
class Option:
    """One thing that could be asked for instead, and when the job would start then."""

    change: str
    #: seconds from now; None: never, for the reason
    start: Estimate | None
    reason: str = ""

    def row(self) -> dict[str, object]:
        """Return the row of a table."""
        start = self.start
        return {
            "change": self.change,
            "start_s": None if start is None else start.value,
            "start_low_s": None if start is None else start.low,
            "start_high_s": None if start is None else start.high,
            "remark": self.reason,
        }


def sooner(twin: QueueTwin, job: str) -> list[Option]:
    """Say when a job would start if it asked for something else, the soonest first.

    Tried: every other partition that admits it, half of its nodes or cores, and shorter time
    limits. The run time is the same in all of them, at most the limit.
    """
    mine = twin.jobs[twin.jobs["job_id"].astype(str) == job]
    if mine.empty:
        raise ParameterError(f"job {job} is not in the queue.")
    row = mine.iloc[0]
    drawn = _draws(twin)
    found = [_option(twin, job, "as it is", {}, drawn)]
    for change, columns in _changes(twin, row):
        why = twin.refusal(job, columns)
        if why:
            found.append(Option(change, None, reason=f"never: {why}"))
        else:
            found.append(_option(twin, job, change, columns, drawn))
    first, rest = found[0], found[1:]
    rest.sort(key=lambda one: np.inf if one.start is None else one.start.value)
    return [first, *rest]


def _changes(twin: QueueTwin, row: pd.Series) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for name in twin.snapshot.rules.partitions:
        if name != row["queue"]:
            found.append((f"partition {name}", {"queue": name}))
    nodes, cores = float(row["instances"]), float(row["request_cpu_cores"])
    if nodes >= 2:
        found.append((f"{nodes // 2:g} nodes", {"instances": nodes // 2}))
    elif cores >= 2:
        half = cores // 2
        found.append((f"{half:g} cores", {"request_cpu_cores": half}))
    limit = float(row["time_limit_s"])
    if limit > 0:
        for share in (0.5, 0.25):
            found.append((f"time limit {share:.0%}", {"time_limit_s": limit * share}))
    return found


def _option(
    twin: QueueTwin, job: str, change: str, columns: dict[str, Any], drawn: Sequence[Floats]
) -> Option:
    place = int(np.flatnonzero(twin.jobs["job_id"].astype(str).to_numpy() == job)[0])
    limit = columns.get("time_limit_s")
    starts = []
    for left in drawn:
        mine = left.copy()
        if limit is not None:
            mine[place] = min(mine[place], limit)
        starts.append(float(twin.starts(mine, job=job, changes=columns)[job]))
    low, middle, high = (float(one) for one in np.quantile(starts, [0.1, 0.5, 0.9]))
    made = Estimate(
        middle, low, high, level=0.8, n=len(starts), blocks=len(starts), method="simulated futures"
    )
    return Option(change, made)


def what_if(
    twin: QueueTwin, *, orders: Sequence[str] = (), down: Sequence[str] = ()
) -> list[dict[str, object]]:
    """Compare the queue as it is with other orders and with nodes that take no more jobs."""
    drawn = _draws(twin)
    named = [name for text in down for name in node_names(text)]
    cases: list[tuple[str, dict[str, Any]]] = [("as it is", {})]
    cases += [(f"order {name}", {"order": name}) for name in orders]
    if named:
        cases.append((f"{len(named)} nodes down", {"down": named}))
    rows: list[dict[str, object]] = []
    usual: Floats | None = None
    for name, settings in cases:
        waits = np.array([twin.starts(left, **settings).to_numpy() for left in drawn])
        mean = waits.mean(axis=1)
        usual = mean if usual is None else usual
        change = mean - usual
        rows.append(
            {
                "case": name,
                "waiting": waits.shape[1],
                "mean_start_s": float(mean.mean()),
                "median_start_s": float(np.median(waits)),
                "last_start_s": float(waits.max(axis=1).mean()),
                "change_s": float(change.mean()),
                "change_low_s": float(np.quantile(change, 0.1)),
                "change_high_s": float(np.quantile(change, 0.9)),
            }
        )
    return rows


def why_waits(twin: QueueTwin, job: str) -> list[dict[str, object]]:
    """Say what a job waits for: what is ahead of it, what would start it, by how much."""
    ids = twin.jobs["job_id"].astype(str)
    mine = twin.jobs[ids == job]
    if mine.empty or mine.iloc[0]["status"] != "pending":
        raise ParameterError(f"job {job} does not wait in this queue.")
    row = mine.iloc[0]
    left = _draws(twin)[0]
    usual = float(twin.starts(left)[job])
    rows: list[dict[str, object]] = [
        {"cause": "as it is", "start_s": usual, "change_s": 0.0, "remark": str(row["attr_reason"])}
    ]

    def add(cause: str, start: float, remark: str) -> None:
        rows.append({"cause": cause, "start_s": start, "change_s": start - usual, "remark": remark})

    first = {"attr_priority": float(twin.jobs["attr_priority"].max()) + 1.0}
    ahead = int((twin.jobs["attr_priority"] > row["attr_priority"])[twin.running :].sum())
    add(
        "without the jobs ahead",
        float(twin.starts(left, job=job, changes=first)[job]),
        f"{ahead:,} waiting jobs rank before it",
    )
    brief = np.minimum(left, np.where(np.arange(len(left)) < twin.running, np.inf, left))
    brief[: twin.running] = np.minimum(brief[: twin.running], 1.0)
    add("if all running jobs ended now", float(twin.starts(brief)[job]), f"{twin.running:,} run")
    free = {"attr_qos": "", "queue": row["queue"], "attr_dependency": "", "attr_begin_s": np.nan}
    add(
        "without limits, dependencies and begin time",
        float(twin.starts(left, job=job, changes=free)[job]),
        str(row["attr_dependency"]) or "no dependency",
    )
    return rows


def _draws(twin: QueueTwin) -> list[Floats]:
    """Return run times of some futures; time limits, if no history is known."""
    try:
        return list(twin.left_s.T[:_DRAWS])
    except InputError:
        limit = twin.jobs["time_limit_s"].fillna(86_400.0).to_numpy(np.float64)
        elapsed = twin.jobs["elapsed_s"].to_numpy(np.float64)
        return [np.maximum(limit - elapsed, 1.0)]
