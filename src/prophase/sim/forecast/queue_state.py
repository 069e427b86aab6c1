"""The queue at one instant: what has finished, what runs where and since when, what waits.

``simulate`` has no word for "this job is on that node", but nodes have features and jobs may
demand them: each node, or small group of nodes, gets a feature that its running jobs demand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import FormatError, InputError
from prophase.sim.cluster import Cluster
from prophase.sim.feasibility import never_fit, with_types
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    GPUS,
    Floats,
    Ints,
)
from prophase.sim.simulation import simulate
from prophase.sim.workload import Workload, name_some
from prophase.trace.readers.slurm_conf import node_names
from prophase.trace.schema import JOBS

#: where each instance of a running job stands: names of nodes
HELD = "held_nodes"
#: columns that traces record it in
RECORDED = (HELD, "after_nodes", "after_node")
#: a cluster numbers at most so many features
_MOST_FEATURES = 62


def recorded_jobs(schedule: JobTimes) -> pd.DataFrame:
    """Return the jobs of a schedule as a log would record them: starts, ends, nodes.

    Examples
    --------
    >>> from prophase.sim import Workload, simulate
    >>> jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [9.0]})
    >>> found = recorded_jobs(simulate(Workload.from_jobs(jobs), Cluster.uniform(1, 1)))
    >>> found[["start_s", "end_s", "after_nodes"]].values.tolist()
    [[0.0, 9.0, 'node-0']]
    """
    attempts = schedule.attempts
    names = schedule.cluster.nodes["node_id"].astype(str).to_numpy()
    nodes = np.full(len(schedule.workload), "", object)
    for row, job in enumerate(attempts.job):
        first = attempts.first_instance[row]
        held = attempts.node[first : first + schedule.workload.asks[job, ASK_INSTANCES]]
        nodes[job] = ",".join(names[held[held >= 0]])
    asks = schedule.workload.asks
    asked = {
        "request_gpus": asks[:, ASK_GPUS] * asks[:, ASK_MILLI] / 1000,
        "request_cpu_cores": asks[:, ASK_CPU] / 1000,
        "request_memory_gib": asks[:, ASK_MEMORY] / 1024,
    }
    return schedule.workload.jobs.assign(
        # wide jobs run as gangs: what an instance asks for has changed
        **{name: values for name, values in asked.items() if name in schedule.workload.jobs},
        instances=asks[:, ASK_INSTANCES].astype(np.float64),
        submit_s=schedule.workload.submit_s,
        start_s=schedule.start_s,
        end_s=schedule.end_s,
        duration_s=schedule.workload.duration_s,
        after_nodes=nodes,
    )


def pinned(running: pd.DataFrame, cluster: Cluster) -> tuple[pd.DataFrame, Cluster, int]:
    """Tie running jobs to their nodes; return them, the cluster with the ties, and how many.

    A job on several nodes becomes one row per node: the rows end together.
    """
    groups = min(len(cluster), _MOST_FEATURES - len(cluster.features))
    if HELD not in running or groups < 1 or not len(running):
        return running, cluster, 0
    place = {str(name): row for row, name in enumerate(cluster.nodes["node_id"])}
    block = -(-len(cluster) // groups)
    rows: list[int] = []
    instances: list[float] = []
    part: list[float] = []
    ties: list[str] = []
    tied = 0
    for number, text in enumerate(running[HELD]):
        counts = _counted(text, place)
        tied += bool(counts)
        asked = float(running["instances"].iloc[number]) if "instances" in running else 1.0
        named = sum(counts.values())
        for row, count in counts.items() or [(-1, asked)]:
            rows.append(number)
            # a log may name a node once for several instances, or several nodes for one request
            instances.append(max(1.0, round(asked * count / named)) if named else asked)
            part.append(min(1.0, asked / named) if named else 1.0)
            ties.append(f"@{row // block}" if row >= 0 else "")
    if not tied:
        return running, cluster, 0
    found = running.iloc[rows].copy()
    found["instances"] = instances
    for name in ("request_gpus", "request_cpu_cores", "request_memory_gib"):
        if name in found:
            found[name] = found[name].to_numpy(np.float64, na_value=np.nan) * part
    found["attr_features"] = _joined(found.get("attr_features"), ties)
    own = [f"@{row // block}" for row in range(len(cluster))]
    nodes = cluster.nodes.assign(features=_joined(cluster.nodes.get("features"), own))
    return found, Cluster.from_nodes(nodes), tied


@dataclass(frozen=True)
class StandingJobs:
    """Running jobs as the cluster holds them, one row per job and node.

    Attributes
    ----------
    rows : DataFrame
        In the order in which they find room when each is placed as it comes.
    cluster : Cluster
        With a feature for each node, or small group of nodes, that rows demand.
    aside : float
        Share of the running jobs that find no room: they run on nodes that are not known.
    """

    rows: pd.DataFrame
    cluster: Cluster
    aside: float
    notes: tuple[str, ...]

    @classmethod
    def on(cls, running: pd.DataFrame, cluster: Cluster, place: str = "best_fit") -> Self:
        """Put running jobs where the log says; where that cannot be, where there is room.

        A log may name one node of a job that has many, or more jobs on a node than it holds.
        """
        rows, tied_cluster, tied = pinned(running, cluster)
        # the widest first: small ones fit anywhere
        rows = rows.iloc[np.argsort(-_width(rows), kind="stable")]
        stood = _finds_room(rows, tied_cluster, place)
        moved = set(rows.loc[~stood, "job_id"])
        if moved:
            # the whole job is placed anew, after those that stand where they stood
            loose = running[running["job_id"].isin(moved)]
            loose = loose.iloc[np.argsort(-_width(loose), kind="stable")]
            rows = pd.concat([rows[~rows["job_id"].isin(moved)], loose], ignore_index=True)
            stood = _finds_room(rows, tied_cluster, place)
        nowhere = set(rows.loc[~stood, "job_id"])
        notes = []
        if unknown := len(running) - tied + len(moved) - len(nowhere):
            notes.append(
                f"the nodes of {unknown:,} of {len(running):,} running jobs are not known, or "
                "cannot hold them: free room may be more scattered than simulated"
            )
        if nowhere:
            ids = rows.loc[rows["job_id"].isin(nowhere), "job_id"].drop_duplicates()
            notes.append(
                f"{len(nowhere):,} of {len(running):,} running jobs find no room on these nodes "
                f"({name_some(ids)}): they are taken to run elsewhere"
            )
        kept = rows[~rows["job_id"].isin(nowhere)]
        return cls(kept, tied_cluster, len(nowhere) / max(1, len(running)), tuple(notes))


def unfit(table: pd.DataFrame, asks: Ints, cluster: Cluster) -> NDArray[np.bool_]:
    """Tell which jobs not even the empty cluster could run; wide ones may take several nodes."""
    times = np.zeros(len(table))
    jobs, _ = Workload(table, times, times, asks, {}).spread_over(
        int(cluster.matrix[:, GPUS].max())
    )
    return never_fit(with_types(jobs, cluster), cluster)


def _width(jobs: pd.DataFrame) -> Floats:
    if "request_gpus" not in jobs:
        return np.zeros(len(jobs))
    return jobs["request_gpus"].fillna(0.0).to_numpy(np.float64)


def _finds_room(rows: pd.DataFrame, cluster: Cluster, place: str) -> NDArray[np.bool_]:
    """Tell which rows find room if they come one by one and none of them ends."""
    found = np.zeros(len(rows), np.bool_)
    if not len(rows):
        return found
    asked = rows.assign(submit_s=np.arange(len(rows), dtype=float), duration_s=1e9)
    jobs = Workload.from_jobs(asked)
    fits = ~unfit(jobs.jobs, jobs.asks, cluster)
    if fits.any():
        began = simulate(jobs.without(~fits, "fit on no node"), cluster, place=place).start_s
        found[fits] = began == jobs.submit_s[fits]
    return found


def _counted(text: object, place: dict[str, int]) -> Counter[int]:
    """Count the instances on each node; nothing if a name is not one of this cluster."""
    if not isinstance(text, str) or not text:
        return Counter()
    try:
        names = node_names(text.replace("|", ","))
    except FormatError:
        return Counter()
    if not all(name in place for name in names):
        return Counter()
    return Counter(place[name] for name in names)


def _joined(texts: pd.Series | None, more: list[str]) -> list[str]:
    old = [""] * len(more) if texts is None else texts.fillna("").astype(str)
    return ["|".join(filter(None, pair)) for pair in zip(old, more, strict=True)]


def require_starts(jobs: pd.DataFrame) -> None:
    """Refuse a job table that does not say who ran and who waited."""
    for name in ("submit_s", "start_s"):
        if name not in jobs:
            raise InputError(
                f"the job table has no {name}: who runs and who waits is not known. Give a trace "
                "with recorded starts; waits on a cluster you describe: prophase simulate."
            )


@dataclass(frozen=True)
class QueueState:
    """Jobs as they are known at ``now_s``; nothing that happens later is in here.

    Attributes
    ----------
    finished : DataFrame
        With ``duration_s`` and ``wait_s``.
    running : DataFrame
        With ``elapsed_s``, and the nodes they hold if recorded; their end is not known.
    waiting : DataFrame
        In order of submission.
    """

    now_s: float
    finished: pd.DataFrame
    running: pd.DataFrame
    waiting: pd.DataFrame

    @classmethod
    def at(cls, jobs: pd.DataFrame, now_s: float) -> Self:
        """Look at a job table as somebody would at ``now_s``.

        A job whose start is not recorded waits; one whose end is not recorded runs.

        Examples
        --------
        >>> jobs = pd.DataFrame({"job_id": list("abc"), "submit_s": [0.0, 1.0, 2.0]})
        >>> jobs["start_s"], jobs["end_s"] = [0.0, 1.0, 9.0], [5.0, 9.0, 12.0]
        >>> state = QueueState.at(jobs, 6.0)
        >>> [list(part["job_id"]) for part in (state.finished, state.running, state.waiting)]
        [['a'], ['b'], ['c']]
        """
        require_starts(jobs)
        submit, start = _times(jobs, "submit_s"), _times(jobs, "start_s")
        end = _ends(jobs, start)
        # jobs that ended without ever starting (cancelled in the queue) are gone, not waiting
        gone = np.isnan(start) & (end <= now_s)
        here = (submit <= now_s) & ~gone
        done = here & (end <= now_s)
        runs = here & ~done & (start <= now_s)
        held = next((jobs[name] for name in RECORDED if name in jobs), None)
        known = jobs.drop(columns=[name for name in jobs.columns if _is_outcome(str(name))])
        return cls(
            float(now_s),
            known[done].assign(
                duration_s=(end - start)[done], wait_s=(start - submit)[done], end_s=end[done]
            ),
            known[runs].assign(
                elapsed_s=now_s - start[runs],
                wait_s=(start - submit)[runs],
                **({} if held is None else {HELD: held[runs]}),
            ),
            known[here & ~done & ~runs].sort_values("submit_s", kind="stable"),
        )

    @property
    def waits_s(self) -> Floats:
        """Waits of all jobs that have started by now."""
        return np.concatenate([self.finished["wait_s"], self.running["wait_s"]]).astype(float)


def _times(jobs: pd.DataFrame, name: str) -> Floats:
    return jobs[name].to_numpy(np.float64, na_value=np.nan)


def _ends(jobs: pd.DataFrame, start: Floats) -> Floats:
    """Return when jobs ended; missing where they have not."""
    end = _times(jobs, "end_s") if "end_s" in jobs else np.full(len(jobs), np.nan)
    if "duration_s" in jobs:
        end = np.where(np.isnan(end), start + _times(jobs, "duration_s"), end)
    return end


def _is_outcome(name: str) -> bool:
    column = JOBS.get(name)
    return column is not None and column.known == "after"
