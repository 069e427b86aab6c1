"""Schedulers that Helios and Tiresias compared, on Microsoft's Philly jobs.

Helios: Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU
Datacenters", SC 2021. Means per virtual cluster: repository S-Lab-System-Group/HeliosArtifact,
``framework/QSSF Service/plot/result_plot.ipynb``; rules: ``framework/QSSF Service/policies``.
Every virtual cluster has nodes of 8 GPUs for itself and holds the jobs submitted in October and
November 2017; the queue stops at the first job that does not fit.

Tiresias: Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019;
statements: README of the repository SymbioticLab/Tiresias.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.papers.claims import claim_row, verdict_on
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.signatures import Floats
from prophase.trace.trace_tables import open_trace

Rows = list[dict[str, object]]
Progress = Callable[[int, int], None]
FIFO, SJF, SRTF, QSSF, TIRESIAS = "FIFO", "SJF", "SRTF", "QSSF", "Tiresias"
#: virtual cluster -> nodes; mean completion time under FIFO, SJF, SRTF, QSSF; mean wait, in s
HELIOS: dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]] = {
    "6214e9": (64, (97501, 23337, 19532, 26022), (78659, 4494, 685, 7179)),
    "7f04ca": (32, (133826, 133271, 132980, 133941), (1412, 857, 565, 1527)),
    "11cb48": (16, (82540, 14444, 9057, 21051), (74040, 5944, 554, 12550)),
    "b436b2": (64, (28732, 28610, 28291, 28642), (544, 421, 100, 454)),
    "ee9e8c": (64, (243144, 130493, 122609, 132367), (127270, 14619, 6720, 16493)),
    "e13805": (16, (87265, 85949, 85314, 85886), (2331, 1015, 378, 953)),
    "6c71a0": (32, (31088, 31030, 31020, 31019), (220, 162, 150, 151)),
    "2869ce": (16, (70215, 56388, 53128, 58088), (21171, 7344, 4071, 9044)),
    "ed69ec": (8, (28345, 28346, 28346, 28346), (28, 28, 27, 28)),
    "103959": (8, (24743, 23283, 22735, 23219), (2391, 932, 380, 867)),
    "0e4a51": (32, (233539, 168747, 146023, 196886), (101473, 36682, 13953, 64820)),
}
#: the same over all jobs
HELIOS_ALL = ((86072, 34272, 30683, 37324), (56531, 4731, 1138, 7783))
_POLICIES = (FIFO, SJF, SRTF, QSSF)
_FROM, _TO = pd.Timestamp("2017-10-01"), pd.Timestamp("2017-11-30 23:59:00")
_GPUS = 8
#: the same jobs: mean run time within half a percent; then means have to come out within 5 %
_SAME, _NEAR = 0.005, 0.05
#: savings of other jobs: within ten points
_POINTS = 10.0
#: "comparable to perfect knowledge": at most a tenth longer
_COMPARABLE = 1.1
#: Helios draws the estimates of Philly's jobs: so many have an error from the last bound to this
_ERRORS = ((0.1, 0.1), (0.5, 0.5), (0.7, 1.0), (0.9, 10.0), (1.0, 100.0))
_DRAWS = 3
_STRICT: dict[str, Any] = {"queue": "strict", "place": "consolidate"}
#: the artifact takes 7, 30 or 60 s to stop and start a job again, by its GPUs
_STOPPING: dict[str, Any] = {"place": "consolidate", "preempt": "restart=30s"}


@dataclass(frozen=True)
class Means:
    """What a policy comes to: seconds, over all jobs."""

    jobs: int
    jct_s: float
    wait_s: float

    @classmethod
    def over(cls, parts: list[Means]) -> Means:
        """Return the means over the jobs of several clusters."""
        jobs = [part.jobs for part in parts]
        return cls(
            sum(jobs),
            float(np.average([part.jct_s for part in parts], weights=jobs)),
            float(np.average([part.wait_s for part in parts], weights=jobs)),
        )


def philly_jobs(data: Path) -> pd.DataFrame:
    """Return the jobs of the two months in the eleven virtual clusters.

    Parameters
    ----------
    data : path
        The folder above ``philly``, or one with Microsoft's log or a copy of it.
    """
    folder = data / "philly" if (data / "philly").is_dir() else data
    jobs = open_trace(folder, source="philly").jobs
    when = pd.to_datetime(jobs["submit_s"], unit="s")
    jobs = jobs[when.between(_FROM, _TO) & jobs["queue"].isin(list(HELIOS))]
    if jobs.empty:
        raise InputError(
            f"{folder}: has no job of October and November 2017 in the virtual clusters that "
            f"Helios used ({', '.join(list(HELIOS)[:3])}, ...)."
        )
    return jobs[(jobs["duration_s"] > 0) & (jobs["request_gpus"] > 0)]


def drawn_estimates(duration_s: Floats, rng: np.random.Generator) -> Floats:
    """Return run times with errors as Helios draws them for Philly; some are below zero.

    Examples
    --------
    >>> found = drawn_estimates(np.full(1000, 60.0), np.random.default_rng(0))
    >>> bool(abs(np.mean(abs(found / 60 - 1) <= 0.5) - 0.5) < 0.05)
    True
    """
    level = rng.random(len(duration_s))
    row = np.searchsorted([share for share, _ in _ERRORS], level)
    bounds = np.array([0.0, *(error for _, error in _ERRORS)])
    error = rng.uniform(bounds[row], bounds[row + 1]) * rng.choice((-1.0, 1.0), len(row))
    estimates: Floats = duration_s * (1 + error)
    return estimates


def compared(
    jobs: pd.DataFrame,
    nodes: Mapping[str, int],
    policies: tuple[str, ...],
    *,
    progress: Progress | None = None,
) -> dict[str, dict[str, Means]]:
    """Replay every virtual cluster for itself under each policy: cluster -> policy -> means."""
    found: dict[str, dict[str, Means]] = {}
    for done, (name, count) in enumerate(nodes.items()):
        if progress:
            progress(done, len(nodes))
        own = jobs[jobs["queue"] == name]
        if len(own):
            cluster = Cluster.uniform(count, _GPUS)
            found[name] = {policy: _means(own, cluster, policy) for policy in policies}
    return found


def _means(jobs: pd.DataFrame, cluster: Cluster, policy: str) -> Means:
    if policy == QSSF:
        rng = np.random.default_rng(0)
        draws = []
        for _ in range(_DRAWS):
            service = drawn_estimates(jobs["duration_s"].to_numpy(float), rng)
            ranked = jobs.assign(service=service * jobs["request_gpus"])
            draws.append(_replayed(ranked, cluster, {"order": "column:service", **_STRICT}))
        return Means.over(draws)
    settings: dict[str, dict[str, Any]] = {
        FIFO: {"order": "fifo", **_STRICT},
        SJF: {"order": "shortest", **_STRICT},
        SRTF: {"order": "shortest_remaining", **_STOPPING},
        TIRESIAS: {"order": "tiresias", **_STOPPING},
    }
    return _replayed(jobs, cluster, settings[policy])


def _replayed(jobs: pd.DataFrame, cluster: Cluster, setting: dict[str, Any]) -> Means:
    found = simulate(Workload.from_jobs(jobs), cluster, leave_out_unfit=True, **setting)
    measured = found.metrics()
    return Means(len(found.workload), float(measured["mean_jct_s"]), float(measured["mean_wait_s"]))


def as_loaded(jobs: pd.DataFrame) -> dict[str, int]:
    """Return nodes per virtual cluster with as much work for each as in Helios' replay.

    Its jobs ran for what remains of a completion time without its wait; where ours are shorter,
    nodes are fewer in proportion, and enough for the widest job.
    """
    runs = jobs.groupby("queue")["duration_s"].mean()
    widest = jobs.groupby("queue")["request_gpus"].max()
    return {
        name: max(
            1,
            int(np.ceil(widest[name] / _GPUS)),
            min(nodes, round(nodes * runs[name] / (jct[0] - wait[0]))),
        )
        for name, (nodes, jct, wait) in HELIOS.items()
        if name in runs
    }


def helios_rows(data: Path | None, *, progress: Progress | None = None) -> Rows:
    """Return what Helios printed beside our replays of Philly's jobs; without them, in kind."""
    jobs = _stand_in() if data is None else philly_jobs(data)
    printed_run = HELIOS_ALL[0][0] - HELIOS_ALL[1][0]
    run = float(jobs["duration_s"].mean())
    same = data is not None and abs(run / printed_run - 1) <= _SAME
    nodes = {name: row[0] for name, row in HELIOS.items()} if same else as_loaded(jobs)
    parts = compared(jobs, nodes, _POLICIES, progress=progress)
    every = {policy: Means.over([part[policy] for part in parts.values()]) for policy in _POLICIES}
    rows = [
        claim_row(
            "input", "mean run time of the jobs, s", f"{printed_run:,}", f"{run:,.0f}",
            "reproduced" if same else "needs data",
            "" if same else _other_jobs(len(jobs), nodes, data),
        )
    ]  # fmt: skip
    for column, policy in enumerate(_POLICIES):
        ours = every[policy]
        for words, printed, here in (
            ("mean completion time, s", HELIOS_ALL[0][column], ours.jct_s),
            ("mean wait, s", HELIOS_ALL[1][column], ours.wait_s),
        ):
            near = abs(here / printed - 1) <= _NEAR
            rows.append(
                claim_row(
                    f"Philly, {policy}", words, f"{printed:,}", f"{here:,.0f}",
                    verdict_on(near) if same else "needs data",
                )
            )  # fmt: skip
    for column, policy in list(enumerate(_POLICIES))[1:]:
        for words, row, value in (
            ("mean completion time saved against FIFO, %", HELIOS_ALL[0], "jct_s"),
            ("mean wait saved against FIFO, %", HELIOS_ALL[1], "wait_s"),
        ):
            printed_saving = _saving(row[0], row[column])
            saving = _saving(getattr(every[FIFO], value), getattr(every[policy], value))
            near = abs(saving - printed_saving) <= _POINTS
            rows.append(
                claim_row(
                    f"Philly, {policy}", words, f"{printed_saving:.0f}", f"{saving:.0f}",
                    verdict_on(near, real=same),
                )
            )  # fmt: skip
    theirs = sorted(_POLICIES, key=lambda one: HELIOS_ALL[1][_POLICIES.index(one)])
    ours_ranked = sorted(_POLICIES, key=lambda one: every[one].wait_s)
    rows.append(
        claim_row(
            "Philly, ranking", "policies by mean wait, the shortest first", ", ".join(theirs),
            ", ".join(ours_ranked), verdict_on(theirs == ours_ranked, real=same),
        )
    )  # fmt: skip
    rows.append(_better_clusters(parts, same))
    return rows


def _better_clusters(parts: dict[str, dict[str, Means]], same: bool) -> dict[str, object]:
    """Return in how many virtual clusters QSSF waits no longer than FIFO."""
    theirs = sum(wait[3] <= wait[0] for _, _, wait in HELIOS.values())
    ours = sum(part[QSSF].wait_s <= part[FIFO].wait_s for part in parts.values())
    near = abs(ours / len(parts) - theirs / len(HELIOS)) <= _POINTS / 100
    return claim_row(
        "virtual clusters", "virtual clusters in which QSSF waits no longer than FIFO",
        f"{theirs} of {len(HELIOS)}", f"{ours} of {len(parts)}", verdict_on(near, real=same),
    )  # fmt: skip


def tiresias_rows(data: Path | None, *, progress: Progress | None = None) -> Rows:
    """Return what Tiresias' authors state beside our replays of Philly's jobs."""
    jobs = _stand_in() if data is None else philly_jobs(data)
    nodes = as_loaded(jobs)
    parts = compared(jobs, nodes, (FIFO, SRTF, TIRESIAS), progress=progress)
    every = {
        policy: Means.over([part[policy] for part in parts.values()])
        for policy in (FIFO, SRTF, TIRESIAS)
    }
    where = _other_jobs(len(jobs), nodes, data)
    gains = {name: part[FIFO].jct_s / part[TIRESIAS].jct_s for name, part in parts.items()}
    best = max(gains, key=gains.__getitem__)
    overall = every[FIFO].jct_s / every[TIRESIAS].jct_s
    behind = every[TIRESIAS].jct_s / every[SRTF].jct_s
    waits = ", ".join(f"{name} {means.wait_s:,.0f} s" for name, means in every.items())
    return [
        claim_row(
            "README, against FIFO", "mean completion time, FIFO over Tiresias",
            "up to 5.5 (production scheduler)",
            f"{overall:.2f} over all jobs, {gains[best]:.2f} at best (virtual cluster {best})",
            "needs data", f"its 480 jobs of a testbed are not public; {where}",
        ),
        claim_row(
            "README, sign", "Tiresias completes jobs sooner than FIFO in the mean", "yes",
            "yes" if overall > 1 else "no", verdict_on(overall > 1, real=False),
            f"mean waits: {waits}",
        ),
        claim_row(
            "README, perfect knowledge", "mean completion time, Tiresias over SRTF",
            "comparable: taken as at most 1.1", f"{behind:.3f}",
            verdict_on(behind <= _COMPARABLE, real=False), where,
        ),
    ]  # fmt: skip


def _other_jobs(jobs: int, nodes: Mapping[str, int], data: Path | None) -> str:
    if data is None:
        return f"ours are {jobs:,} synthetic jobs on {sum(nodes.values())} nodes"
    return (
        f"ours are {jobs:,} jobs of Philly on {sum(nodes.values())} nodes of 8 GPUs instead of "
        f"{sum(row[0] for row in HELIOS.values())}, fewer where runs are shorter than Helios'; "
        "Microsoft's whole log (msr-fiddle/philly-traces, cluster_job_log) decides: --data FOLDER"
    )


def _saving(before: float, after: float) -> float:
    return 100 * (1 - after / before) if before > 0 else 0.0


def _stand_in(jobs: int = 1500, random_state: int = 0) -> pd.DataFrame:
    """Return synthetic jobs of three virtual clusters, each with as much work as Helios printed."""
    rng = np.random.default_rng(random_state)
    parts = []
    for name in ("11cb48", "e13805", "2869ce"):
        nodes, jct, wait = HELIOS[name]
        run = rng.lognormal(0.0, 2.0, jobs)
        run *= (jct[0] - wait[0]) / run.mean()
        gpus = rng.choice([1, 2, 4, 8], jobs, p=[0.8, 0.1, 0.05, 0.05])
        # somewhat more GPUs are asked for than there are
        span = float((run * gpus).sum()) / (1.1 * nodes * _GPUS)
        parts.append(
            pd.DataFrame(
                {
                    "job_id": [f"{name}-{row}" for row in range(jobs)],
                    "queue": name,
                    "submit_s": np.sort(rng.uniform(0, span, jobs)),
                    "duration_s": run,
                    "request_gpus": gpus.astype(float),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
