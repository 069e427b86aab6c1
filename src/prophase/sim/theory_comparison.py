"""Trace, simulation and formulas side by side, and which assumption of the formulas fails."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from prophase import units
from prophase.errors import InputError
from prophase.plain import finite
from prophase.plural import counted
from prophase.sim.cluster import Cluster
from prophase.sim.measures.backlog_blocks import mean_wait
from prophase.sim.queueing.assumptions import Assumption
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.ggc import ggc
from prophase.sim.queueing.mgc import mgc
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.queue_answer import QueueAnswer
from prophase.sim.queueing.trace_theory import TraceTheory, customers_of, trace_theory
from prophase.sim.queueing.typed_pools import typed_pools
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import CPU, Floats
from prophase.stats import Estimate

#: means within this factor of each other are called alike
_ALIKE = 1.5
_STATED_CPU = 1 << 40


@dataclass(frozen=True)
class WaitColumn:
    """What one view says about waiting; None where it has no answer.

    Attributes
    ----------
    queue_mean_jobs : float
        Jobs waiting, averaged over time: from the first submission to the last end for trace,
        simulation and exact pool, in the steady state for formulas.
    utilisation : float
        Busy share of the servers over that same time.
    wait_mean : Estimate
        Mean wait in seconds with its interval over blocks of days that hold the backlog; formulas
        and short traces have none.
    """

    view: str
    wait_mean: Estimate
    wait_p50_s: float | None
    wait_p90_s: float | None
    wait_p99_s: float | None
    queue_mean_jobs: float | None
    utilisation: float | None
    note: str = ""

    @property
    def wait_mean_s(self) -> float | None:
        """Mean wait; None if there is no answer."""
        mean_s: float | None = finite(self.wait_mean.value)
        return mean_s

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        low, high = self.wait_mean.ends()
        mean_s = {"wait_mean_s": self.wait_mean_s, "wait_mean_low_s": low, "wait_mean_high_s": high}
        return {name: v for name, v in self.__dict__.items() if name != "wait_mean"} | mean_s


@dataclass(frozen=True)
class TheoryComparison:
    """Views of the same jobs on the same servers, what fails, and a verdict."""

    resource: str
    servers: int
    jobs: int
    left_out: Mapping[str, int]
    columns: tuple[WaitColumn, ...]
    assumptions: tuple[Assumption, ...]
    #: whether stationary formulas may be used for these jobs
    valid: bool
    verdict: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        document = asdict(self)
        document["columns"] = [one.to_dict() for one in self.columns]
        for name in ("assumptions", "verdict"):
            document[name] = list(document[name])
        return document

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per measure, one column per view."""
        measures = [
            "wait_mean_s",
            "wait_p50_s",
            "wait_p90_s",
            "wait_p99_s",
            "queue_mean_jobs",
            "utilisation",
        ]
        return [
            {"measure": measure, **{one.view: getattr(one, measure) for one in self.columns}}
            for measure in measures
        ]


def schedule_beside_theory(schedule: Schedule) -> TheoryComparison:
    """Compare a schedule with queueing theory, and with the trace's own waits if it has them.

    The whole cluster counts as one pool of GPUs, or of cores if no job asks for a GPU. Several GPU
    types are taken apart as well, into a pool each.
    """
    workload = schedule.workload
    jobs = workload.jobs.assign(submit_s=workload.submit_s, duration_s=workload.duration_s)
    resource, servers = _pool_of(schedule.cluster, jobs)
    found = beside_theory(jobs, schedule.wait_s, servers, resource=resource)
    if resource != "gpus" or (schedule.gpus_by_type > 0).sum() < 2:
        return found
    try:
        pools = typed_pools(workload, schedule.cluster, order=schedule.order, queue=schedule.queue)
    except InputError as why:
        said = f"GPU types cannot be taken apart into pools: {why}"
        return replace(found, verdict=(*found.verdict, said))
    rows = pools.rows
    apart = _observed(
        "pools", workload.submit_s[rows], workload.duration_s[rows], workload.gpus[rows],
        pools.wait_s, servers, "exact, a pool of each GPU type, first come first served",
    )  # fmt: skip
    place = [column.view for column in found.columns].index("one_pool") + 1
    simulated = float(schedule.wait_s[rows].mean())
    near = "is" if _alike(apart.wait_mean_s, simulated) else "is not"
    said = f"{pools.verdict()} Their mean wait {near} within a factor of {_ALIKE:g} of it."
    return replace(
        found,
        columns=(*found.columns[:place], apart, *found.columns[place:]),
        verdict=(*found.verdict, said),
    )


def beside_theory(
    jobs: pd.DataFrame,
    simulated_wait_s: ArrayLike,
    servers: int,
    *,
    resource: str = "gpus",
) -> TheoryComparison:
    """Put simulated waits beside the true ones, an exact single pool, and formulas.

    Parameters
    ----------
    jobs : DataFrame
        A job table with ``submit_s`` and ``duration_s`` as they were simulated; ``wait_s``, if
        there, are the waits that really happened.
    simulated_wait_s : array of shape (jobs,)
        Wait of each row in the simulation.
    servers : int
        GPUs or cores of the cluster, taken as one pool.
    resource : {"gpus", "cores", "jobs"}
        What a server is. Jobs that ask for none of it are left out of every column.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> jobs = pd.DataFrame({"submit_s": np.cumsum(rng.exponential(1.0, 5000))})
    >>> jobs["job_id"], jobs["duration_s"] = jobs.index.astype(str), rng.exponential(8.0, 5000)
    >>> found = beside_theory(jobs, np.zeros(5000), 10, resource="jobs")
    >>> [column.view for column in found.columns]
    ['simulation', 'one_pool', 'M/M/c', 'M/G/c', 'G/G/c']
    """
    taken = customers_of(jobs, servers, resource)
    theory = trace_theory(taken.submit_s, taken.duration_s, servers, need=taken.need)
    order = np.argsort(taken.submit_s, kind="stable")
    submit, duration = taken.submit_s[order], taken.duration_s[order]
    need = taken.need[order]
    simulated = np.asarray(simulated_wait_s, np.float64)[taken.rows][order]

    def column(view: str, waits: Floats, known: Any = slice(None), note: str = "") -> WaitColumn:
        return _observed(view, submit[known], duration[known], need[known], waits, servers, note)

    columns = [column("simulation", simulated)]
    if "wait_s" in jobs and jobs.loc[taken.rows, "wait_s"].notna().any():
        true = jobs.loc[taken.rows, "wait_s"].to_numpy(np.float64, na_value=np.nan)[order]
        known = ~np.isnan(true)
        note = (
            "" if known.all() else f"{counted(int((~known).sum()), 'job')} without a recorded wait"
        )
        columns.insert(0, column("trace", true[known], known, note))
    exact = exact_waits(submit, duration, servers, need=None if (need == 1).all() else need)
    columns.append(column("one_pool", exact, note="exact, strictly first come first served"))
    columns += _formulas(theory)
    return TheoryComparison(
        resource=resource,
        servers=servers,
        jobs=theory.jobs,
        left_out=taken.left_out,
        columns=tuple(columns),
        assumptions=theory.assumptions,
        valid=theory.valid,
        verdict=tuple(_verdict(columns, theory)),
    )


def _pool_of(cluster: Cluster, jobs: pd.DataFrame) -> tuple[str, int]:
    """Return what a server is and how many there are."""

    def asked(column: str) -> bool:
        return column in jobs and bool((jobs[column].fillna(0) > 0).any())

    if cluster.gpus and asked("request_gpus"):
        return "gpus", cluster.gpus
    cores = cluster.matrix[:, CPU]
    if asked("request_cpu_cores") and (cores < _STATED_CPU).all():
        return "cores", int(cores.sum()) // 1000
    raise InputError(
        "theory needs to know what a server is: no job asks for GPUs that this cluster has, nor "
        "for cores of nodes that state theirs."
    )


def _observed(
    view: str,
    submit: Floats,
    duration: Floats,
    need: Floats,
    waits: Floats,
    servers: int,
    note: str,
) -> WaitColumn:
    p50, p90, p99 = np.percentile(waits, [50, 90, 99])
    span = float((submit + waits + duration).max() - submit.min())
    return WaitColumn(
        view,
        mean_wait(submit, duration * need, waits),
        float(p50),
        float(p90),
        float(p99),
        float(waits.sum()) / span if span > 0 else None,
        float((duration * need).sum()) / (span * servers) if span > 0 else None,
        note,
    )


def _formulas(theory: TraceTheory) -> list[WaitColumn]:
    """Return what stationary formulas say; nothing where the mean load exceeds the servers."""
    rate, service = theory.arrivals_per_s, theory.service_mean_s
    slots = theory.servers / theory.servers_per_job
    names = ("M/M/c", "M/G/c", "G/G/c")
    if rate * service >= slots:
        note = "no steady state: the mean load exceeds the servers"
        unknown, nothing = Estimate(math.nan), (None,) * 4
        return [
            WaitColumn(name, unknown, *nothing, theory.utilisation, note=note) for name in names
        ]
    answers = (
        mmc(rate, service, slots),
        mgc(rate, service, slots, theory.service_scv),
        ggc(
            rate,
            service,
            slots,
            arrival_scv=theory.arrival_scv,
            service_scv=theory.service_scv,
        ),
    )
    notes = ("Erlang C", "Whitt 1993, Poisson arrivals", "Whitt 1993, two moments of arrivals")
    return [
        _stationary(name, answer, note)
        for name, answer, note in zip(names, answers, notes, strict=True)
    ]


def _stationary(view: str, answer: QueueAnswer, note: str) -> WaitColumn:
    p50, p90, p99 = (answer.wait_quantile_s(share) for share in (0.5, 0.9, 0.99))
    return WaitColumn(
        view,
        Estimate(answer.wait_mean_s),
        p50,
        p90,
        p99,
        answer.queue_mean_jobs,
        answer.utilisation,
        note=note,
    )


def _verdict(columns: list[WaitColumn], theory: TraceTheory) -> Iterator[str]:
    mean = {one.view: one.wait_mean_s for one in columns}
    broken = [one for one in theory.assumptions if not one.holds]
    simulated = mean["simulation"]
    right = [v for v in ("M/M/c", "M/G/c", "G/G/c") if _alike(mean[v], simulated)]
    near = f"within a factor of {_ALIKE:g} of the simulated mean: {', '.join(right) or 'none'}."
    if broken:
        fails = "; ".join(f"{one.name} ({one.words})" for one in broken)
        yield f"Formulas do not apply: {fails}. Formulas {near}"
    else:
        yield f"Formulas apply: every assumption holds. Formulas {near}"
    if not _alike(mean["one_pool"], simulated):
        yield (
            f"The simulation waits {_times(simulated, mean['one_pool'])} one pool of the same size "
            "served strictly in turn: the order of the queue, nodes, GPU types and gangs make the "
            "difference."
        )
    if "trace" in mean and not _alike(mean["trace"], simulated):
        yield (
            f"The simulation waits {_times(simulated, mean['trace'])} the trace did: this cluster "
            "and policy are not what the trace ran under. Compare policies with each other."
        )
    elif "trace" in mean:
        yield f"The simulated mean wait is within a factor of {_ALIKE:g} of the trace's."


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return False
    # below a second nobody waits, in whatever ratio
    return max(one, other) <= _ALIKE * min(one, other) or max(one, other) < 1.0


def _times(one: float | None, other: float | None) -> str:
    if not one or not other:
        return f"{units.duration(one or 0)} on average, not {units.duration(other or 0)} as"
    return f"{units.number(one / other)} times as long as"
