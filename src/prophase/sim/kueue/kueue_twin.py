"""Kueue's queues run forward: when is a Workload admitted, and what does it wait for?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import InputError, ParameterError
from prophase.sim.forecast.live_twin import LiveTwin
from prophase.sim.kueue.admission import AdmissionRun, QueuedWork, assigned
from prophase.sim.kueue.quotas import Cell, ClusterQueue
from prophase.sim.kueue.snapshot import KueueSnapshot
from prophase.sim.signatures import Floats

#: run time of a Workload of which nothing is known
_UNKNOWN_S = 86_400.0


@dataclass(frozen=True)
class KueueTwin(LiveTwin):
    """The Workloads of a cluster, and how long they run; see `LiveTwin`."""

    snapshot: KueueSnapshot

    def key_of(self, job: str) -> str:
        """Return the waiting Workload that is meant: namespace/name, its name or its Job's.

        Raises
        ------
        ParameterError
            Nothing or several are called so.
        """
        jobs = self.jobs
        short = jobs["job_id"].str.partition("/")[2]
        own = jobs["user"] + "/" + jobs["name"]
        named = (jobs["job_id"] == job) | (short == job) | (jobs["name"] == job) | (own == job)
        found = jobs.loc[named, "job_id"].tolist()
        if len(found) == 1:
            return str(found[0])
        if found:
            raise ParameterError(f"{job} may be {' or '.join(found[:4])}. Name one of them.")
        raise ParameterError(f"no Workload {job} waits or runs here.")

    def works(self) -> list[QueuedWork]:
        """Return the Workloads in the order of ``jobs``."""
        return [self.snapshot.works[str(name)] for name in self.jobs["job_id"]]

    def starts(self, left_s: Floats) -> pd.Series:
        """Return when each waiting Workload is admitted, in seconds from now."""
        return self._admitted(left_s)

    def _admitted(
        self,
        left_s: Floats,
        *,
        first: str | None = None,
        alone: bool = False,
        queues: Mapping[str, ClusterQueue] | None = None,
    ) -> pd.Series:
        """Run forward, or otherwise: one Workload first, nobody running, other rules."""
        works = self.works()
        ids = self.jobs["job_id"].astype(str)
        left = np.array(left_s, np.float64)
        if alone:
            left[: self.running] = np.minimum(left[: self.running], 1.0)
        order = np.lexsort(
            (
                [one.created_s for one in works],
                [-one.priority for one in works],
                (ids != first).to_numpy() if first is not None else np.zeros(len(works)),
            )
        )
        rank = np.empty(len(works))
        rank[order] = np.arange(len(works))
        if first is not None:
            place = int(np.flatnonzero(ids == first)[0])
            highest = max(one.priority for one in works) + 1
            works[place] = replace(works[place], priority=highest)
        used = replace(self.snapshot, queues=dict(queues or self.snapshot.queues))
        run = AdmissionRun(used.queues, used.tree(), works, left, rank)
        return pd.Series(run.run()[self.running :], self._waiting_ids)

    def why(self, job: str) -> list[dict[str, object]]:
        """Say what a Workload waits for: what is short, and what would start it when."""
        key = self.key_of(job)
        row = self.jobs[self.jobs["job_id"] == key].iloc[0]
        if row["status"] != "pending":
            raise ParameterError(f"Workload {key} does not wait: it holds quota already.")
        left = self._one_future()
        usual = float(self.starts(left)[key])
        rows: list[dict[str, object]] = []

        def add(cause: str, start_s: float, remark: str) -> None:
            rows.append(
                {"cause": cause, "start_s": start_s, "change_s": start_s - usual, "remark": remark}
            )

        add("as it is", usual, self._short_of(key))
        mine = self.jobs.iloc[self.running :]
        same = mine[mine["queue"] == row["queue"]]
        ahead = same["job_id"].tolist().index(key)
        add(
            "without the Workloads ahead",
            float(self._admitted(left, first=key)[key]),
            f"{ahead:,} wait before it in {row['queue']}",
        )
        add(
            "if all running Workloads ended now",
            float(self._admitted(left, alone=True)[key]),
            f"{self.running:,} hold quota",
        )
        queue = self.snapshot.queues[str(row["queue"])]
        for name, other, remark in _other_rules(queue):
            rules = {**self.snapshot.queues, queue.name: other}
            add(name, float(self._admitted(left, queues=rules)[key]), remark)
        return rows

    def _one_future(self) -> Floats:
        try:
            return self.left_s[:, 0]
        except InputError:
            limit = self.jobs["time_limit_s"].fillna(_UNKNOWN_S).to_numpy(np.float64)
            return np.maximum(limit - self.jobs["elapsed_s"].to_numpy(np.float64), 1.0)

    def _short_of(self, key: str) -> str:
        """Say which quota is short for a Workload now."""
        work, tree = self.snapshot.works[key], self.snapshot.tree()
        for other in self.works():
            if other.holds is not None:
                tree.use(other.queue, other.holds)
        queue = self.snapshot.queues[work.queue]
        if assigned(tree, queue, work) is not None:
            return "its quota is free: it waits for its turn"
        wanted = assigned(tree, queue, work, empty=True) or {}
        return "; ".join(
            f"{_amount(cell, amount)} of {cell[1]} in {cell[0]} asked, "
            f"{_amount(cell, max(tree.free(queue.name, cell), 0.0))} free"
            for cell, amount in wanted.items()
            if amount > tree.free(queue.name, cell) + 1e-9
        )


def _amount(cell: Cell, amount: float) -> str:
    return units.memory(amount / 2.0**30) if cell[1] == "memory" else f"{amount:g}"


def _other_rules(queue: ClusterQueue) -> list[tuple[str, ClusterQueue, str]]:
    """Return what could be set otherwise in a queue."""
    found: list[tuple[str, ClusterQueue, str]] = []
    free: dict[str, Any] = {
        cell: replace(quota, borrow=np.inf) for cell, quota in queue.quotas.items()
    }
    if queue.cohort and any(quota.borrow < np.inf for quota in queue.quotas.values()):
        found.append(
            (
                "without its limit of borrowing",
                replace(queue, quotas=free),
                f"cohort {queue.cohort}",
            )
        )
    if queue.cohort and queue.reclaim == "Never":
        found.append(
            (
                "if it took back what others borrow",
                replace(queue, reclaim="Any"),
                "reclaimWithinCohort: Any",
            )
        )
    if queue.strict:
        found.append(
            (
                "if others could pass",
                replace(queue, strict=False),
                "queueingStrategy: BestEffortFIFO",
            )
        )
    double = {
        cell: replace(quota, nominal=2 * quota.nominal) for cell, quota in queue.quotas.items()
    }
    found.append(("with twice its quota", replace(queue, quotas=double), queue.name))
    return found
